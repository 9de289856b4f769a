//! The CPUs on which this thread may run, asked of the kernel.

use record::CpuList;

/// The affinity mask of this thread. `None` where a sandbox denies the question.
pub(crate) fn read_affinity() -> Option<CpuList> {
    // One bit for every CPU number that a list may hold: the kernel refuses a mask that is shorter than its own.
    let mut mask = [0u64; (record::cpu_list::MAX_CPU as usize + 1) / 64];
    // SAFETY: the pointer and the size are those of `mask`, which is plain data, large and aligned enough for the
    // array of words that the call fills; the call keeps nothing.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if result != 0 {
        return None;
    }
    let bits = (0u32..).step_by(64).zip(mask);
    Some(
        bits.flat_map(|(base, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| base + bit)
        })
        .collect(),
    )
}
