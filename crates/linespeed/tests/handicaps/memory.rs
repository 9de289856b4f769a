//! Memory that is slower than it could be: huge pages refused.

use kernels::chase;

use crate::support::confine::Confine;
use crate::support::linespeed;
use crate::trial::{Side, Trial, one_at_a_time, record_of, wanted};
use crate::worker::Worker;

const LINE: usize = 64;
/// Loads a round.
const HOPS: u64 = 500_000;
const HUGE: usize = 2 << 20;

/// Memory of its own on 2 MiB pages where they are to be had; it goes with the process.
fn memory(bytes: usize) -> *mut u8 {
    // SAFETY: a new mapping; the advice is on it alone.
    unsafe {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let all = libc::mmap(std::ptr::null_mut(), bytes + HUGE, protection, flags, -1, 0);
        assert_ne!(all, libc::MAP_FAILED, "no memory");
        let start = all.cast::<u8>().add(all.align_offset(HUGE));
        libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE);
        start
    }
}

/// Follows one random cycle through all lines of so many bytes; loads in a second.
fn walk(bytes: usize) -> impl FnMut() -> f64 {
    let lines = bytes / LINE;
    let start = memory(bytes);
    // SAFETY: within the mapping, aligned, and of this process alone.
    let line = |index: usize| unsafe { &mut *start.add(index * LINE).cast::<usize>() };
    (0..lines).for_each(|index| *line(index) = index);
    // Sattolo's shuffle: one cycle through all.
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    for index in (1..lines).rev() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let other = (seed % index as u64) as usize;
        let (a, b) = (*line(index), *line(other));
        (*line(index), *line(other)) = (b, a);
    }
    (0..lines).for_each(|index| *line(index) = start as usize + *line(index) * LINE);
    let mut at: *const u8 = start;
    move || {
        let began = std::time::Instant::now();
        // SAFETY: every line holds the address of another one of the cycle.
        at = unsafe { chase::chase(at, HOPS) };
        HOPS as f64 / began.elapsed().as_secs_f64()
    }
}

#[test]
fn huge_pages_refused() {
    const TEST: &str = "huge_pages_refused";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    let trial = Trial {
        name: TEST,
        rule: "huge-pages-refused",
        run: &|| record_of(linespeed(["run", "latency", "--json"]).without_huge_pages()),
        work: &|record| {
            let sizes = record.of("load.latency").filter_map(|m| m.place.count("bytes"));
            let bytes = sizes.max().unwrap_or(0) as usize;
            let free = Worker::default().start(|| walk(bytes));
            let held = Worker::default().without_huge_pages().start(|| walk(bytes));
            Box::new(move |side| if side == Side::Held { held.round() } else { free.round() })
        },
    };
    trial.is_named_first();
}
