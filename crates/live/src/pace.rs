//! Limits the rate of expensive work: each source has a budget as a share of one CPU.

use std::time::{Duration, Instant};

/// Determines when the work may be done again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The share of one CPU that may be used for the work.
    share: f64,
    next: Option<Instant>,
}

impl Pace {
    /// Creates a limit with this share of one CPU.
    pub(crate) fn new(share: f64) -> Self {
        Self { share, next: None }
    }

    /// Runs the work if it is allowed again, or required.
    pub(crate) fn run<T>(&mut self, must: bool, work: impl FnOnce() -> T) -> Option<T> {
        let from = Instant::now();
        if !must && self.next.is_some_and(|next| from < next) {
            return None;
        }
        // This is based on CPU time: if other processes use the CPU, the work takes longer but does not cost
        // more.
        let cpu = || os::thread_cpu_ns().unwrap_or(0.0);
        let before = cpu();
        let done = work();
        self.next =
            Some(from + Duration::from_secs_f64(((cpu() - before) / 1e9 / self.share).clamp(0.0, 3600.0)));
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dear_waits_and_what_must_be_does_not() {
        let mut pace = Pace::new(1e-9);
        assert_eq!(pace.run(false, || std::hint::black_box((0..1000u64).sum::<u64>())), Some(499_500));
        assert_eq!(pace.run(false, || 1), None);
        assert_eq!(pace.run(true, || 2), Some(2));
        let mut free = Pace::new(f64::INFINITY);
        assert_eq!((free.run(false, || 1), free.run(false, || 2)), (Some(1), Some(2)));
    }
}
