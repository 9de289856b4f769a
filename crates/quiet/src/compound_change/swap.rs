//! Disables swap temporarily.

use std::ffi::CString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use machine::text::bytes_field;
use record::units;
use serde::{Deserialize, Serialize};

use super::{CompoundError, is_plain};

/// In the flags of `swapon(2)`, the priority is in the lower bits.
const SWAP_FLAG_PREFER: i32 = 0x8000;
const SWAP_FLAG_PRIO_MASK: i32 = 0x7fff;

/// The free memory that is required before all swapped-out data can be read back, relative to the size of that data.
const ROOM: f64 = 1.1;

/// The previously enabled swap areas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapAreas(pub Vec<SwapArea>);

/// A swap device or file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapArea {
    /// The path of the device or file.
    pub path: String,
    /// The priority; the kernel assigns priorities below 0 automatically.
    pub priority: i32,
}

impl fmt::Display for SwapAreas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<&str> = self.0.iter().map(|area| area.path.as_str()).collect();
        f.write_str(&paths.join(", "))
    }
}

impl SwapAreas {
    /// Parses the text of `/proc/swaps`.
    pub fn parse(text: &str) -> Self {
        // Filename, Type, Size, Used, Priority.
        let area = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let path = machine::text::unescape(words.next()?);
            Some(SwapArea { path, priority: words.nth(3)?.parse().ok()? })
        };
        Self(text.lines().skip(1).filter_map(area).collect())
    }

    /// A path that cannot be that of a swap area, because the path is relative or the file is neither a device nor a
    /// file owned by root.
    pub fn foreign_path(&self) -> Option<&str> {
        let is_swap = |path: &str| match fs::metadata(path) {
            Ok(there) => there.file_type().is_block_device() || there.is_file() && there.uid() == 0,
            Err(_) => true,
        };
        let foreign = |path: &&str| !is_plain(path) || !is_swap(path);
        self.0.iter().map(|area| area.path.as_str()).find(foreign)
    }

    fn read_current() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/swaps").unwrap_or_default())
    }

    /// Disables all swap areas; the kernel reads their contents back.
    pub fn switch_off(&self) -> Result<(), CompoundError> {
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let bytes = ["SwapTotal", "SwapFree", "MemAvailable"].map(|key| bytes_field(&meminfo, key));
        if let [Some(all), Some(free_swap), Some(free)] = bytes {
            let used = all.saturating_sub(free_swap);
            if used as f64 * ROOM > free as f64 {
                let (used, free) = (units::bytes(used), units::bytes(free));
                let why = format!("{used} of memory is swapped out, but only {free} is free");
                return Err(CompoundError(why));
            }
        }
        self.0.iter().try_for_each(|area| {
            let path = c_string(&area.path)?;
            // SAFETY: the string ends with a zero byte and outlives the call.
            check_result(unsafe { libc::swapoff(path.as_ptr()) }, &area.path)
        })
    }

    /// Enables the disabled areas.
    pub fn switch_on(&self) -> Result<(), CompoundError> {
        let now = Self::read_current();
        let off = |area: &&SwapArea| !now.0.iter().any(|on| on.path == area.path);
        self.0.iter().filter(off).try_for_each(|area| {
            let path = c_string(&area.path)?;
            let own = SWAP_FLAG_PREFER | (area.priority & SWAP_FLAG_PRIO_MASK);
            let flags = if area.priority >= 0 { own } else { 0 };
            // SAFETY: as above.
            check_result(unsafe { libc::swapon(path.as_ptr(), flags) }, &area.path)
        })
    }
}

fn c_string(path: &str) -> Result<CString, CompoundError> {
    CString::new(path).map_err(|_| CompoundError(format!("{path:?} contains a NUL byte")))
}

fn check_result(code: i32, path: &str) -> Result<(), CompoundError> {
    if code == 0 { Ok(()) } else { Err(CompoundError::at(path, &io::Error::last_os_error())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_read_with_their_priority_and_with_blanks_in_their_names() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/dm-1                               partition\t8388604\t\t0\t\t-2\n\
                    /my\\040swap                             file\t\t1048572\t\t12\t\t5\n";
        let area = |path: &str, priority| SwapArea { path: path.to_owned(), priority };
        assert_eq!(SwapAreas::parse(text).0, [area("/dev/dm-1", -2), area("/my swap", 5)]);
        let foreign = |path: &str| SwapAreas(vec![area(path, 0)]).foreign_path().map(str::to_owned);
        for path in ["swap", "/dev/../swap", "/dev/null", "/proc/1", "/"] {
            assert_eq!(foreign(path).as_deref(), Some(path));
        }
        assert_eq!(foreign("/no/such/device"), None);
        assert!(SwapAreas::parse("").0.is_empty() && SwapAreas::parse("a\nb").0.is_empty());
    }
}
