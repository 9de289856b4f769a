//! Time for which the measuring threads were ready to run but had no CPU. This shows the effect of other processes on
//! their CPUs.

use std::sync::atomic::{AtomicU64, Ordering};

/// The sum over ended threads, ns.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Adds the calling thread's waiting time when dropped at the end of the thread.
#[derive(Debug)]
pub(crate) struct NoteAtEnd;

impl Drop for NoteAtEnd {
    fn drop(&mut self) {
        let ns = std::fs::read_to_string("/proc/thread-self/schedstat").ok().and_then(|text| delay_ns(&text));
        ENDED.fetch_add(ns.unwrap_or(0), Ordering::Relaxed);
    }
}

/// Total delay of the first thread and all ended threads so far, seconds; `None` if the kernel does not report it
/// (CONFIG_SCHED_INFO). Steal time is not included.
pub fn total_seconds() -> Option<f64> {
    let first = delay_ns(&std::fs::read_to_string("/proc/self/schedstat").ok()?)?;
    Some(first.saturating_add(ENDED.load(Ordering::Relaxed)) as f64 / 1e9)
}

/// Run-queue delay from a schedstat file, ns.
fn delay_ns(schedstat: &str) -> Option<u64> {
    os::procfs::schedstat(schedstat).map(|(_, ready, _)| ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_on_one_cpu_wait_for_each_other() {
        assert_eq!(delay_ns("12345 678 9\n"), Some(678));
        assert_eq!(delay_ns("12345"), None);
        let Some(before) = total_seconds() else { return };
        let cpu = os::current_cpu().unwrap();
        // Runs until each thread has had some CPU time, so one thread must have waited while the other ran, regardless of delays.
        crate::thread_group::run(&[cpu, cpu], |member| {
            member.wait();
            let enough = std::time::Duration::from_millis(30);
            let busy = || {
                let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
                text.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap()
            };
            while u128::from(busy()) < enough.as_nanos() {}
        });
        assert!(total_seconds().unwrap() - before > 0.01, "{} {before}", total_seconds().unwrap());
    }
}
