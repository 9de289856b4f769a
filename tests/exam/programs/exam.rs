//! What every Rust program of the exam has in common: PROGRAM [SECONDS [SIZE]], as exam.h has it.

use std::time::Instant;

/// The size in elements, or the usual one.
pub fn size(usual: usize) -> usize {
    let Some(text) = std::env::args().nth(2) else { return usual };
    let number = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match text.as_bytes().last() {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        _ => 0,
    };
    number.parse::<usize>().unwrap_or(usual) << shift
}

/// The next of a series that no prefetcher guesses.
pub fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// CPU time of this process, seconds, as the kernel counts it for the scheduler.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Calls work, which returns how many operations it did, until the time is over.
pub fn measure(mut work: impl FnMut() -> u64) {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3.0);
    println!("ready");
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let mut operations = 0;
    while wall.elapsed().as_secs_f64() < seconds {
        operations += work();
    }
    let each = 1e9 / operations as f64;
    println!("cpu_ns {:.3}\nwall_ns {:.3}", (cpu_seconds() - cpu) * each, wall.elapsed().as_secs_f64() * each);
}
