//! Threads on several CPUs that start together, with a start deadline instead of a barrier.

use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::run_queue_delay::NoteAtEnd;
use os::pin::Pinned;

/// One member of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The member's index in the group, from 0.
    pub index: usize,
    /// The member's CPU.
    pub cpu: u32,
    /// Whether the thread could be pinned to its CPU.
    pub pinned: bool,
    /// The common start time. Spin until then with [`Member::wait`].
    pub start: Instant,
}

impl Member {
    /// Spins until the group's start. Spinning, unlike sleeping, keeps the core's clock high.
    pub(crate) fn wait(&self) {
        while Instant::now() < self.start {
            std::hint::spin_loop();
        }
    }

    /// Whether the calling thread, which is this member, runs on a different CPU than its own.
    pub(crate) fn has_moved(&self) -> bool {
        os::current_cpu().is_some_and(|cpu| cpu != self.cpu)
    }
}

/// Stack size of a group's threads, which is small because there may be hundreds and each needs little.
const STACK: usize = 256 << 10;

/// Runs `work` on one thread pinned to each of `cpus`, all at the same time, and returns the results in order. The
/// result of a thread that could not be started or that panicked is `None`.
pub(crate) fn run<T: Send>(cpus: &[u32], work: impl Fn(Member) -> T + Sync) -> Vec<Option<T>> {
    // Threads start and pin themselves before the deadline, which allows 3 ms plus 60 µs per thread.
    run_after(Duration::from_micros(3_000 + 60 * cpus.len() as u64), cpus, work)
}

/// Like [`run`], but allows the time `lead` for all threads to start. Threads that have started spin until then.
pub(crate) fn run_after<T: Send>(
    lead: Duration,
    cpus: &[u32],
    work: impl Fn(Member) -> T + Sync,
) -> Vec<Option<T>> {
    let start = Instant::now() + lead;
    let work = &work;
    std::thread::scope(|scope| {
        let thread = |(index, cpu): (usize, &u32)| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            spawn_pinned(scope, thread, Member { index, cpu: *cpu, pinned: false, start }, work)
        };
        let threads: Vec<_> = cpus.iter().enumerate().map(thread).collect();
        threads.into_iter().map(|thread| thread?.join().ok()).collect()
    })
}

/// Runs `work` on a thread pinned to `cpu`; the caller sleeps until the thread has finished, to avoid disturbance.
pub(crate) fn run_on<T: Send>(cpu: u32, work: impl FnOnce(Member) -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let member = Member { index: 0, cpu, pinned: false, start: Instant::now() };
        spawn_pinned(scope, std::thread::Builder::new(), member, work)?.join().ok()
    })
}

fn spawn_pinned<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    thread: std::thread::Builder,
    member: Member,
    work: impl FnOnce(Member) -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let pinned = move || {
        let _noted = NoteAtEnd;
        let pin = Pinned::to(member.cpu);
        work(Member { pinned: pin.is_ok(), ..member })
    };
    thread.name(format!("linespeed/{}", member.cpu)).spawn_scoped(scope, pinned).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_in_the_order_of_the_cpus() {
        let cpu = os::current_cpu().unwrap();
        let results = run(&[cpu, cpu, cpu], |member| {
            member.wait();
            (member.index, Instant::now() >= member.start)
        });
        assert_eq!(results, [Some((0, true)), Some((1, true)), Some((2, true))]);
    }

    #[test]
    fn a_thread_that_panics_costs_only_its_own_result() {
        let cpu = os::current_cpu().unwrap();
        let results = run(&[cpu, cpu], |member| {
            assert!(member.index != 0, "expected by this test");
            member.index
        });
        assert_eq!(results, [None, Some(1)]);
    }
}
