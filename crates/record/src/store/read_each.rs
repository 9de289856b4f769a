//! Reads many files with several threads.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reads files with at most this many threads, with fewer if threads cannot be created. The results are in the order of
/// the files.
pub fn read_each<T: Send>(files: &[PathBuf], threads: usize, read: impl Fn(&Path) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(at) else { return done };
            done.push((at, read(path)));
        }
    };
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let more = threads.min(files.len()).saturating_sub(1);
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (0..more).map_while(start).collect();
        let own = work();
        let join = |worker: std::thread::ScopedJoinHandle<_>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).chain(own).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, made)| made).collect()
}
