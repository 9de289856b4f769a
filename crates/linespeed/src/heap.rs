//! The heap of a command that keeps much: its pages are made by another CPU ahead of their use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use machine::Root;

/// A shorter text is read before a thread has begun.
const SHORT: u64 = 1 << 20;

/// What a text dense with figures becomes in memory, in times its length.
const TIMES: usize = 5;

/// The most that is made ready: a text may have few figures.
const MOST: usize = 64 << 20;

/// It is at most this part of the memory that there is.
const SHARE: u64 = 4;

/// By how much the heap grows at a time afterwards. The C library's own 128 KiB ask the kernel too often.
const GROWS_BY: libc::c_int = 8 << 20;

/// What is taken to have the heap grow: more than is left at its end, less than would lie in a mapping of its own.
const FIRST: usize = 1 << 20;

/// Pages are made so many bytes at a time.
const STEP: usize = 1 << 20;

/// Pages of the heap that a thread makes until this is dropped.
pub struct Ahead {
    enough: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Has the C library's heap grow at once by as much as a text of `bytes` becomes in memory, and its pages made while the
/// text is read: who reads it would wait for them a sixth of the time. They are small ones: huge ones are faster still where
/// they are at hand, and much slower in a guest whose host has taken its free memory back and gives each anew. Where any of it
/// cannot be had, the heap grows as it always does.
pub fn expects(bytes: u64) -> Option<Ahead> {
    // Addresses that are counted are none to ask for ahead of time.
    if bytes < SHORT || is_limited(libc::RLIMIT_AS) || is_limited(libc::RLIMIT_DATA) {
        return None;
    }
    if thread::available_parallelism().map_or(1, |cpus| cpus.get()) == 1 {
        return None;
    }
    let wanted = usize::try_from(bytes).unwrap_or(MOST).saturating_mul(TIMES).min(MOST);
    // Where memory is short, none is to be taken that may not be needed.
    machine::memory_left(&Root::live()).filter(|left| left / SHARE > wanted as u64)?;
    let pad = libc::c_int::try_from(wanted).ok()?;
    // SAFETY: mallopt takes any values; sbrk(0) only tells where the heap ends.
    let before = unsafe {
        // Setting one stops the library from moving the others with what is freed: this is as far as it would.
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        // What is made ready must not be given back at the first occasion.
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, pad);
        libc::sbrk(0) as usize
    };
    let mut first = Vec::<u8>::new();
    let grew = std::hint::black_box(&mut first).try_reserve_exact(FIRST).is_ok();
    // SAFETY: as above.
    let after = unsafe {
        libc::mallopt(libc::M_TOP_PAD, GROWS_BY);
        libc::sbrk(0) as usize
    };
    let start = before.next_multiple_of(STEP);
    (grew && before != usize::MAX && after > start).then(|| Ahead::of(start, after))
}

impl Ahead {
    /// From `start` to `end`, addresses of the heap, which stay its own.
    fn of(start: usize, end: usize) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let is_enough = Arc::clone(&enough);
        let make = move || {
            for at in (start..end).step_by(STEP) {
                // SAFETY: this makes pages of the heap, of which nothing is given back, as writing there would, and changes
                // nothing that is in them.
                let made = unsafe {
                    libc::madvise(at as *mut libc::c_void, STEP.min(end - at), libc::MADV_POPULATE_WRITE)
                };
                // Kernels before 5.14 do not know it, and where memory is short it had better be left.
                if made != 0 || is_enough.load(Ordering::Relaxed) {
                    return;
                }
            }
        };
        Self { enough, thread: thread::Builder::new().name("heap".to_owned()).spawn(make).ok() }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

fn is_limited(resource: libc::__rlimit_resource_t) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is this function's own.
    let told = unsafe { libc::getrlimit(resource, &mut limit) };
    told != 0 || limit.rlim_cur != libc::RLIM_INFINITY
}
