//! Memory for arrays: anonymous mappings with a requested page size, which is verified afterwards.

use std::io;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::error::OsError;

/// The size of a transparent huge page on x86-64 and on aarch64 with 4 KiB base pages.
pub const HUGE: usize = 2 << 20;

/// The pages that back a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    /// Base pages (4 KiB on x86-64; 4, 16 or 64 KiB on aarch64).
    Base,
    /// Huge pages: transparent huge pages, or reserved huge pages if THP is off.
    Huge,
    /// Whatever pages the kernel provides if huge pages are requested. This is used for bandwidth, which hardly depends on
    /// the page size.
    Any,
}

impl Page {
    /// The value of a record's `page` key.
    pub fn word(self) -> String {
        match self {
            Page::Base => size_word(base_page()),
            Page::Huge => size_word(HUGE as u64),
            Page::Any => "any".to_owned(),
        }
    }

    /// Size of a page, bytes; the minimum if any page size is allowed.
    pub fn bytes(self) -> usize {
        match self {
            Page::Base | Page::Any => base_page() as usize,
            Page::Huge => HUGE,
        }
    }
}

/// `4KiB`, `2MiB`: sizes in the format of the record's `page` key.
pub fn size_word(bytes: u64) -> String {
    record::units::bytes(bytes).replace(' ', "")
}

/// The kernel's base page size in bytes.
pub fn base_page() -> u64 {
    rustix::param::page_size() as u64
}

/// An anonymous private mapping, aligned to 2 MiB, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
    base: *mut u8,
    whole: usize,
    page: Page,
    reserved: bool,
}

// SAFETY: a mapping is plain memory; callers that divide it among threads must ensure that no two threads write to the
// same part.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference only gives access to the address.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` (rounded up to 2 MiB) of zero memory, not yet touched.
    pub fn new(bytes: usize, page: Page) -> io::Result<Self> {
        let bytes = bytes.max(1).checked_next_multiple_of(HUGE).ok_or(io::ErrorKind::InvalidInput)?;
        if page == Page::Huge && !transparent_huge_pages_allowed() {
            return Self::reserved_huge(bytes);
        }
        let whole = bytes.checked_add(HUGE).ok_or(io::ErrorKind::InvalidInput)?;
        let base = map_anonymous(whole, MapFlags::NORESERVE)?;
        let start = base.map_addr(|address| address.next_multiple_of(HUGE));
        let advice = if page == Page::Base { Advice::LinuxNoHugepage } else { Advice::LinuxHugepage };
        // SAFETY: the range is within the fresh mapping. A kernel built without huge pages fails with EINVAL;
        // `huge_share` then shows 0.
        let _ = unsafe { madvise(start.cast(), bytes, advice) };
        Ok(Self { start, bytes, base, whole, page, reserved: false })
    }

    /// Maps pages from the pool of reserved huge pages: as many as are free, from one to the requested number.
    fn reserved_huge(bytes: usize) -> io::Result<Self> {
        let free = std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
            .ok()
            .and_then(|text| text.trim().parse::<usize>().ok())
            .unwrap_or(0);
        let bytes = bytes.min(free.saturating_mul(HUGE));
        if bytes == 0 {
            return Err(OsError::NoHugePages.into());
        }
        let base = map_anonymous(bytes, MapFlags::HUGETLB | MapFlags::HUGE_2MB)?;
        Ok(Self { start: base, bytes, base, whole: bytes, page: Page::Huge, reserved: true })
    }

    /// Allocates every page of a mapping of reserved huge pages, or fails. Otherwise, touching a page that is unavailable because the pool
    /// of its node is empty would kill the process. Other mappings do not need this.
    pub fn secure(&self) -> io::Result<()> {
        if !self.reserved {
            return Ok(());
        }
        // SAFETY: populating does not change contents; kernels before 5.14 fail with EINVAL.
        Ok(unsafe { madvise(self.start.cast(), self.bytes, Advice::LinuxPopulateWrite) }?)
    }

    /// The address of the first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Always false, because a mapping has at least the size of one huge page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether the mapping is from the pool of reserved huge pages.
    pub fn reserved(&self) -> bool {
        self.reserved
    }

    /// The requested pages.
    pub fn page(&self) -> Page {
        self.page
    }

    /// Writes one byte to every base page, which backs the first `bytes` with memory of the caller's node.
    pub fn touch(&self, bytes: usize) {
        let step = base_page() as usize;
        for offset in (0..bytes.min(self.bytes)).step_by(step) {
            // SAFETY: the offset is within the mapping. The write is volatile, so that the compiler does not remove it.
            unsafe { self.start.add(offset).write_volatile(1) };
        }
    }

    /// Excludes the mapping from child processes: otherwise, the kernel would copy the mapping's page tables for each
    /// child, and free the copies during the child's run time.
    pub fn keep_from_children(&self) {
        // SAFETY: the call only changes what fork copies. If it fails, child processes are slower, but still correct.
        let _ = unsafe { madvise(self.base.cast(), self.whole, Advice::LinuxDontFork) };
    }

    /// The share of the touched memory on huge pages, from /proc/self/smaps; `None` if that file cannot be read.
    pub fn huge_share(&self) -> Option<f64> {
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        huge_share_in(&smaps, self.start as u64, self.bytes as u64)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is owned by this object, and its address is no longer in use.
        let _ = unsafe { munmap(self.base.cast(), self.whole) };
    }
}

fn map_anonymous(bytes: usize, flags: MapFlags) -> io::Result<*mut u8> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, at an address chosen by the kernel.
    let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE | flags) }?;
    Ok(start.cast())
}

/// Whether the kernel provides transparent huge pages on request.
pub fn transparent_huge_pages_allowed() -> bool {
    std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .is_ok_and(|text| !text.contains("[never]"))
}

/// Sums the resident memory and the huge-page memory of those areas in `smaps` that begin within the range.
fn huge_share_in(smaps: &str, start: u64, bytes: u64) -> Option<f64> {
    let (mut inside, mut rss, mut huge, mut reserved) = (false, 0u64, 0u64, 0u64);
    for line in smaps.lines() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        if let Some((from, to)) = key.split_once('-') {
            if let (Ok(from), Ok(to)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16)) {
                inside = from < start.saturating_add(bytes) && to > start;
            }
            continue;
        }
        if !inside {
            continue;
        }
        let kib = || rest.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        match key {
            "Rss:" => rss += kib(),
            "AnonHugePages:" => huge += kib(),
            "Private_Hugetlb:" | "Shared_Hugetlb:" => reserved += kib(),
            _ => {}
        }
    }
    let all = rss + reserved;
    (all > 0).then(|| (huge + reserved) as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use proptest::prelude::*;

    #[test]
    fn base_pages_are_base_pages() {
        let mapping = Mapping::new(8 << 20, Page::Base).unwrap();
        mapping.touch(8 << 20);
        assert_eq!(mapping.start() as usize % HUGE, 0);
        if let Some(share) = mapping.huge_share() {
            assert_eq!(share, 0.0);
        }
    }

    #[test]
    fn smaps_counts_the_area_of_the_mapping_alone() {
        let smaps = "10000-20000 rw-p 0 00:00 0\nRss:    64 kB\nAnonHugePages:  0 kB\n\
                     200000-600000 rw-p 0 00:00 0\nRss:  4096 kB\nAnonHugePages:  2048 kB\n";
        assert_eq!(huge_share_in(smaps, 0x200000, 0x400000), Some(0.5));
        assert_eq!(huge_share_in(smaps, 0x10000, 0x1000), Some(0.0));
        assert_eq!(huge_share_in("", 0, 4096), None);
    }

    #[test]
    fn what_is_kept_from_children_is_not_in_them() {
        // User-mode emulators do not support these calls.
        if !crate::child::become_subreaper() {
            let name = "what_is_kept_from_children_is_not_in_them";
            let _ = writeln!(std::io::stderr(), "skipped {name}: the emulator drops MADV_DONTFORK");
            return;
        }
        let mapping = Mapping::new(2 << 20, Page::Base).unwrap();
        mapping.touch(2 << 20);
        let is_in_child = || {
            let mut status = 0;
            // SAFETY: the child queries the state of one page and exits; if the page does not exist, ENOMEM is
            // returned.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    let mut state = [0u8; 1];
                    libc::_exit(libc::mincore(mapping.start().cast(), 1, state.as_mut_ptr().cast()) + 1);
                }
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
            }
            libc::WEXITSTATUS(status) == 1
        };
        assert!(is_in_child());
        mapping.keep_from_children();
        assert!(!is_in_child());
    }

    #[test]
    fn an_absurd_size_is_an_error() {
        assert!(Mapping::new(usize::MAX - 5, Page::Base).is_err());
    }

    proptest! {
        #[test]
        fn no_smaps_panics(text in "[ -~\n]{0,400}") {
            let _ = huge_share_in(&text, 0x1000, u64::MAX);
        }
    }
}
