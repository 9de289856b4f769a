//! The heap of a command that keeps much: on huge pages where the kernel gives them.

/// The least that is asked for, and the most: addresses, of which the kernel backs what is used.
const LEAST: usize = 64 << 20;
const MOST: usize = 1 << 30;

/// By how much the heap grows at a time afterwards. The C library's own 128 KiB ask the kernel too often.
const GROWS_BY: libc::c_int = 8 << 20;

/// What is taken to have the heap grow: more than is left at its end, less than would lie in a mapping of its own.
const FIRST: usize = 1 << 20;

/// A shorter text is read before a huge page would be cleared.
const SHORT: u64 = 256 << 10;

/// Has the C library's heap grow at once by as much as a text of `bytes` becomes in memory, and asks the kernel for huge
/// pages there: page faults on 4 KiB are a sixth of the time that it takes to read a text dense with figures. Where any
/// of it cannot be had, the heap grows as it always does.
pub fn expects(bytes: u64) {
    // Addresses that are counted are none to ask for ahead of time.
    if bytes < SHORT || is_limited(libc::RLIMIT_AS) || is_limited(libc::RLIMIT_DATA) {
        return;
    }
    let wanted = usize::try_from(bytes).unwrap_or(MOST).saturating_mul(8).clamp(LEAST, MOST);
    let Ok(pad) = libc::c_int::try_from(wanted) else { return };
    // SAFETY: mallopt takes any values; sbrk(0) only tells where the heap ends.
    let before = unsafe {
        // Setting one stops the library from moving the others with what is freed: this is as far as it would.
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        // What is not used yet must not be given back at the first occasion.
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, pad);
        libc::sbrk(0) as usize
    };
    let mut first = Vec::<u8>::new();
    let grew = std::hint::black_box(&mut first).try_reserve_exact(FIRST).is_ok();
    // SAFETY: as above; madvise on addresses between two ends of the heap changes on what pages it lies and nothing that
    // is in them.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, GROWS_BY);
        let after = libc::sbrk(0) as usize;
        let start = before.next_multiple_of(2 << 20);
        if grew && before != usize::MAX && after > start {
            libc::madvise(start as *mut libc::c_void, after - start, libc::MADV_HUGEPAGE);
        }
    }
}

fn is_limited(resource: libc::__rlimit_resource_t) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is this function's own.
    let told = unsafe { libc::getrlimit(resource, &mut limit) };
    told != 0 || limit.rlim_cur != libc::RLIM_INFINITY
}
