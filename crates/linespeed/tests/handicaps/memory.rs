//! Memory that is slower than it could be: huge pages refused, bandwidth that a neighbour takes.

use record::Label;
use std::time::{Duration, Instant};

use kernels::stream::{self, Op, Stores};
use kernels::{Variant, chase};
use record::Record;

use crate::cpus::allowed;
use crate::support::confine::Confine;
use crate::support::linespeed;
use crate::trial::{ROUNDS_IN_A_ROW, Side, Trial, median, one_at_a_time, record_of, wanted};
use crate::worker::{Running, Worker, together};

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
pub fn walk(bytes: usize) -> impl FnMut() -> f64 {
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
        let began = Instant::now();
        // SAFETY: every line holds the address of another one of the cycle.
        at = unsafe { chase::chase(at, HOPS) };
        HOPS as f64 / began.elapsed().as_secs_f64()
    }
}

/// So long after memory was given back a hypervisor may take it from the guest (free page reporting: the kernel waits 2 s,
/// PAGE_REPORTING_DELAY of mm/page_reporting.c, and goes on in bursts). Who uses it next gets other memory of the host's,
/// whose walks cost something else.
const TAKEN_BACK: Duration = Duration::from_secs(4);

/// Sets that linespeed draws of the largest size.
const SETS: usize = 3;

/// Walks as many sets as linespeed draws, one after the other; the loads in a second of the middle one.
fn walk_each(bytes: usize) -> impl FnMut() -> f64 {
    let mut sets: Vec<_> = (0..SETS).map(|_| walk(bytes)).collect();
    move || median(sets.iter_mut().map(|walk| walk()).collect())
}

/// Bytes of each array, several times what its CPU has of caches, and of what is walked at once.
const ARRAY: usize = 64 << 20;
const CHUNK: usize = 512 << 10;
/// Many turns of the scheduler.
const ROUND: Duration = Duration::from_millis(300);

/// Triad over arrays of its own for so long; bytes in a second.
pub fn triad(lasts: Duration) -> impl FnMut() -> f64 {
    let widest = Variant::usable_vectors().filter_map(|v| stream::find(Op::Triad, Stores::Regular, v)).last();
    let triad = widest.expect("every CPU has vectors");
    let all = memory(3 * ARRAY);
    let array = move |index: usize, offset: usize| all.wrapping_add(index * ARRAY + offset).cast::<f64>();
    for at in 0..3 * ARRAY / 8 {
        // SAFETY: within the mapping.
        unsafe { all.cast::<f64>().add(at).write(1.0) };
    }
    move || {
        let (began, mut bytes, mut at) = (Instant::now(), 0, 0);
        while began.elapsed() < lasts {
            // SAFETY: three chunks of this process's own memory, aligned to pages.
            unsafe { (triad.run)(array(0, at), array(1, at), array(2, at), CHUNK) };
            bytes += 3 * CHUNK;
            at = (at + CHUNK) % ARRAY;
        }
        bytes as f64 / began.elapsed().as_secs_f64()
    }
}

#[test]
fn a_neighbour_that_takes_memory_bandwidth() {
    const TEST: &str = "a_neighbour_that_takes_memory_bandwidth";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    let cpus = allowed();
    let neighbour = Worker::default().on_cpu(cpus.iter().last().unwrap()).start(|| triad(Duration::MAX));
    neighbour.begin();
    let team: Vec<Running> =
        cpus.iter().map(|cpu| Worker::default().on_cpu(cpu).start(|| triad(ROUND))).collect();
    let trial = Trial {
        name: TEST,
        rule: "other-load",
        needs: &["bandwidth of the other threads"],
        run: &|| {
            neighbour.resume();
            // Not quick: where memory is handed out slowly, arrays would end within the caches.
            record_of(linespeed(["run", "bandwidth", "--json"]))
        },
        work: &|| {
            Box::new(|side| {
                if side == Side::Held {
                    neighbour.resume()
                } else {
                    neighbour.pause()
                };
                together(&team)
            })
        },
    };
    trial.is_named_first();
}

/// More than what a guest usually gets of a cache.
const BEYOND_CACHES: usize = 64 << 20;

/// Bytes of the largest working set on small pages.
fn largest_walked(record: &Record) -> usize {
    let small = record.measurements_of("load.latency").filter(|m| m.labels.word(Label::Page) == Some("4KiB"));
    small.filter_map(|m| m.labels.count(Label::Bytes)).max().unwrap_or(0) as usize
}

#[test]
fn huge_pages_refused() {
    const TEST: &str = "huge_pages_refused";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    // Where memory is handed out slowly, a quick run's small pages end within the caches, where their walks cost nothing.
    let quick = largest_walked(&record_of(linespeed(["run", "latency", "--quick", "--json"])));
    let words: &[&str] = if quick < BEYOND_CACHES {
        &["run", "latency", "--json"]
    } else {
        &["run", "latency", "--quick", "--json"]
    };
    let bytes = if quick < BEYOND_CACHES { largest_walked(&record_of(linespeed(words))) } else { quick };
    let team = || {
        let free = Worker::default().start(|| walk(bytes));
        (free, Worker::default().without_huge_pages().start(|| walk_each(bytes)))
    };
    let trial = Trial {
        name: TEST,
        rule: "huge-pages-refused",
        needs: &[],
        run: &|| {
            // As long after the team gave its memory back as the next team takes its own.
            std::thread::sleep(TAKEN_BACK);
            record_of(linespeed(words).without_huge_pages())
        },
        work: &|| {
            // What a walk costs depends on which pages are free, so a team takes what the one before gave back, as
            // linespeed does, whose largest sets are drawn at the end of its run. Were the first team kept, linespeed
            // would get the pages that it left.
            let (mut made, mut rounds) = (None, 0);
            Box::new(move |side| {
                let (free, refused) = made.get_or_insert_with(|| {
                    std::thread::sleep(TAKEN_BACK);
                    team()
                });
                let rate = if side == Side::Held { refused.round() } else { free.round() };
                rounds += 1;
                if rounds % ROUNDS_IN_A_ROW == 0 {
                    drop(made.take());
                }
                rate
            })
        },
    };
    trial.is_named_first();
}
