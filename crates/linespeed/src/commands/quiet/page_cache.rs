//! The page cache before a command: dropped, warmed.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use machine::Root;

use crate::failure::{Failure, shown};
use crate::output;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
const DROP: &str = "/proc/sys/vm/drop_caches";

/// Drops what the kernel keeps of files, of the whole machine, and says so.
pub fn drop_all() -> Result<(), Failure> {
    drop_silently()?;
    output::complain(
        "the page cache of the whole machine was dropped; that cannot be put back, and others read their files anew",
    );
    Ok(())
}

/// Drops it. What was not written yet is written first, since only clean pages can be dropped.
pub fn drop_silently() -> Result<(), Failure> {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(DROP, "3\n").map_err(|error| {
        let why = match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EROFS) => {
                "only root may do that, outside of a container".to_owned()
            }
            _ => error.to_string(),
        };
        Failure::Cannot(format!("--drop-caches: {DROP}: {why}"))
    })
}

/// Drops what the kernel keeps of these files, and of no others: it needs no root. What was not written yet is written first, since
/// only clean pages can be dropped; pages that a running program has mapped stay. Files that cannot be opened are passed over.
pub fn drop_files(files: &[PathBuf]) {
    for file in files.iter().filter_map(|path| File::open(path).ok()) {
        let _ = file.sync_data();
        // SAFETY: a descriptor that is open; a length of 0 means to the end.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }
}

/// Reads files from beginning to end, so that they lie in the page cache. Bytes read.
pub fn warm(files: &[PathBuf]) -> Result<u64, Failure> {
    let mut piece = vec![0u8; PIECE];
    let mut bytes = 0u64;
    for path in files {
        bytes = bytes.saturating_add(read(path, &mut piece)?);
    }
    let available = Root::live().text("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    if let Some(kib) = available.filter(|kib| kib.saturating_mul(1024) < bytes) {
        output::complain(&format!(
            "--warm: {} were read and only {} of memory are free: the first of them may be gone again",
            record::units::bytes(bytes),
            record::units::bytes(kib.saturating_mul(1024))
        ));
    }
    Ok(bytes)
}

fn read(path: &Path, piece: &mut [u8]) -> Result<u64, Failure> {
    let refused = |why: String| Failure::Cannot(format!("--warm {}: {why}", shown(path)));
    let metadata = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
    if metadata.is_dir() {
        return Err(refused("it is a folder; name the files in it".to_owned()));
    }
    if !metadata.is_file() {
        return Err(refused("it is no regular file, so there is nothing to keep of it".to_owned()));
    }
    let mut file = File::open(path).map_err(|error| refused(error.to_string()))?;
    let mut bytes = 0u64;
    loop {
        match file.read(piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes += count as u64,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(refused(error.to_string())),
        }
    }
}
