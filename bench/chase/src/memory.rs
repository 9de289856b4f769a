//! Memory on huge pages, and the CPU to run on.

use std::io::{BufRead, BufReader};

/// The huge page of x86-64 and of aarch64 with 4 KiB pages.
const HUGE: usize = 2 << 20;

/// Mapped memory that begins at the boundary of a huge page; unmapped when dropped.
pub struct Region {
    mapping: *mut u8,
    mapped: usize,
    start: *mut u8,
    bytes: usize,
}

impl Region {
    /// Maps `bytes` of memory, requests huge pages for it, and writes it once.
    pub fn new(bytes: usize) -> Result<Self, String> {
        let whole = bytes.checked_next_multiple_of(HUGE).ok_or("the working set is too large")?;
        let mapped = whole.checked_add(HUGE).ok_or("the working set is too large")?;
        // SAFETY: a new private anonymous mapping does not affect existing memory.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(format!("cannot map {mapped} bytes: {}", std::io::Error::last_os_error()));
        }
        let mapping = mapping.cast::<u8>();
        let start = mapping.wrapping_add(mapping.align_offset(HUGE));
        // SAFETY: `whole` bytes from `start` are inside the mapping, which is longer by HUGE. The call is only a hint;
        // `huge_share` reads whether the kernel followed it.
        unsafe { libc::madvise(start.cast(), whole, libc::MADV_HUGEPAGE) };
        // SAFETY: these bytes are writable, and nothing else uses them.
        unsafe { start.write_bytes(1, whole) };
        Ok(Self { mapping, mapped, start, bytes: whole })
    }

    /// The address `offset` bytes from the start.
    pub fn address(&self, offset: usize) -> *const u8 {
        self.start.wrapping_add(offset)
    }

    /// Writes `value` at `offset`, a multiple of 8 inside the region.
    pub fn store(&self, offset: usize, value: u64) {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes);
        // SAFETY: the assertion ensures that the write is aligned and inside the region; no reference points into the region.
        unsafe { self.start.add(offset).cast::<u64>().write(value) };
    }

    /// The share of the region on huge pages, according to `/proc/self/smaps`. The kernel may have split the mapping or merged
    /// it with adjacent ones, so every mapping that begins in the region is counted.
    pub fn huge_share(&self) -> Result<f64, String> {
        let file =
            std::fs::File::open("/proc/self/smaps").map_err(|error| format!("/proc/self/smaps: {error}"))?;
        let (first, last) = (self.mapping as usize, self.mapping as usize + self.mapped);
        let (mut inside, mut huge_kib) = (false, 0usize);
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|error| format!("/proc/self/smaps: {error}"))?;
            if let Some((from, to)) = range(&line) {
                inside = from < last && to > first;
            } else if inside && let Some(rest) = line.strip_prefix("AnonHugePages:") {
                huge_kib += rest.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0);
            }
        }
        Ok(((huge_kib << 10) as f64 / self.bytes as f64).min(1.0))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs only to this value, and nothing points into it anymore.
        unsafe { libc::munmap(self.mapping.cast(), self.mapped) };
    }
}

/// The addresses in the first line of a mapping in smaps, `7f00-7f80 rw-p …`; `None` for its other lines.
fn range(line: &str) -> Option<(usize, usize)> {
    let (from, to) = line.split(' ').next()?.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

/// Pins this thread to `cpu`.
pub fn pin(cpu: usize) -> Result<(), String> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(format!("CPU {cpu} is above the maximum, {}", libc::CPU_SETSIZE - 1));
    }
    // SAFETY: a CPU set consists of bits, for which zeros are valid; `cpu` is within its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the call reads only the set.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } != 0 {
        return Err(format!("cannot run on CPU {cpu}: {}", std::io::Error::last_os_error()));
    }
    Ok(())
}
