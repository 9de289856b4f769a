//! How many files may be open.

/// Open files that a copy needs here: gate, report, outputs, its end, counters.
const FILES_A_COPY: u64 = 10;

/// Lets this process have the files open that so many copies need, as far as it may. Commands inherit it, which no program minds: it is what
/// a larger `ulimit -n` is.
pub fn raise_file_limit(copies: usize) {
    let needed = copies as u64 * FILES_A_COPY;
    // SAFETY: the kernel fills and reads the limit, which outlives both calls.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < needed + 256 {
            limit.rlim_cur = limit.rlim_max.min(needed + 256);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
