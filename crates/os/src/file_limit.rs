//! How many files this process may have open.

/// Lets it have so many open beside what it has, as far as it may. Commands inherit it, which no program minds: it is what a larger
/// `ulimit -n` is.
pub fn raise_file_limit(needed: u64) {
    let needed = needed.saturating_add(256);
    // SAFETY: the kernel fills and reads the limit, which outlives both calls.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < needed {
            limit.rlim_cur = limit.rlim_max.min(needed);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
