//! Work on several things at once, as there are CPUs.

use std::sync::Mutex;

/// What `work` makes of each, in the order of `all`; as many at once as there are CPUs.
pub fn side_by_side<T: Send, R: Send>(all: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get()).min(all.len());
    if cpus < 2 {
        return all.into_iter().map(work).collect();
    }
    let waiting = Mutex::new(all.into_iter().enumerate());
    let next = || waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            while let Some((at, one)) = next() {
                done.push((at, work(one)));
            }
            done
        };
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
