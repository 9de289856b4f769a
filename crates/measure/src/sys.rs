//! System calls that no crate wraps well: memory policy, page placement, timer slack. Each returns the kernel's
//! error as [`std::io::Error`].

use std::io;

/// `mbind` mode: allocate on the given nodes only.
const MPOL_BIND: libc::c_long = 2;

/// `set_mempolicy` mode: page by page over the given nodes.
const MPOL_INTERLEAVE: libc::c_long = 3;

/// The mode of a memory policy: over nodes in turn, or from them alone.
pub(crate) fn mode_of(interleave: bool) -> libc::c_int {
    (if interleave { MPOL_INTERLEAVE } else { MPOL_BIND }) as libc::c_int
}

fn result(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// Binds the pages of a mapping that were not yet touched to `node`.
pub fn bind_to_node(mapping: &crate::mapping::Mapping, node: u32) -> io::Result<()> {
    let (start, bytes) = (mapping.start(), mapping.len());
    let bits = usize::BITS;
    let mut mask = vec![0 as libc::c_ulong; (node / bits) as usize + 1];
    mask[(node / bits) as usize] |= 1 << (node % bits);
    // The kernel reads maxnode - 1 bits.
    let maxnode = mask.len() * bits as usize + 1;
    // SAFETY: mbind only changes the policy of the range; the mask outlives the call and holds maxnode - 1 bits.
    result(unsafe { libc::syscall(libc::SYS_mbind, start, bytes, MPOL_BIND, mask.as_ptr(), maxnode, 0) })
        .map(drop)
}

/// The node of each page that an address of `pages` lies in; a negative number is the kernel's error for that page
/// (`-ENOENT`: not touched).
pub fn nodes_of_pages(pages: &[*const u8]) -> io::Result<Vec<i32>> {
    let mut status = vec![0i32; pages.len()];
    // SAFETY: with a null list of target nodes move_pages moves nothing and fills `status`, one i32 for each page.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            pages.len(),
            pages.as_ptr(),
            std::ptr::null::<i32>(),
            status.as_mut_ptr(),
            0,
        )
    };
    result(done)?;
    Ok(status)
}

/// The CPU on which the calling thread runs now.
pub fn current_cpu() -> Option<u32> {
    // SAFETY: no arguments, no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The calling thread's kernel id.
pub fn thread_id() -> i32 {
    // SAFETY: no arguments, no memory.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as i32
}

/// Involuntary and voluntary context switches of the calling thread so far; `None` where the kernel does not tell.
pub fn switches() -> Option<(u64, u64)> {
    // SAFETY: rusage is plain data for which all zeros is a value, and getrusage fills it.
    let (code, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_THREAD, &mut usage), usage)
    };
    (code == 0).then_some((usage.ru_nivcsw as u64, usage.ru_nvcsw as u64))
}

/// Time that the calling thread has spent on a CPU so far, ns; `None` where the kernel does not tell.
pub fn thread_cpu_ns() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the timespec.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (code == 0).then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
}

/// Page faults of the calling thread so far, minor ones.
pub fn minor_faults() -> Option<u64> {
    // SAFETY: as in `switches`.
    let (code, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_THREAD, &mut usage), usage)
    };
    (code == 0).then_some(usage.ru_minflt as u64)
}

/// Sets the calling thread's timer slack in ns; the slack ends with the thread.
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes a number and touches no memory.
    result(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0) }.into()).map(drop)
}

/// The calling thread's timer slack in ns.
pub fn timer_slack() -> Option<u64> {
    // SAFETY: PR_GET_TIMERSLACK takes and touches nothing.
    u64::try_from(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }).ok()
}

/// Gives the calling thread SCHED_FIFO at `priority`; it ends with the thread.
pub fn set_fifo(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) }.into()).map(drop)
}

/// The way out where SCHED_FIFO is refused. With CONFIG_RT_GROUP_SCHED a cgroup of version 1 starts without any
/// real-time time, and then the kernel refuses it to root, too (sched-rt-group.rst).
pub fn fifo_remedy() -> &'static str {
    if is_root() {
        "root is refused by its cpu cgroup, which has no real-time time (cpu.rt_runtime_us is 0), or by a container: run outside \
         of it, or give it CAP_SYS_NICE"
    } else {
        "run as root, or raise RLIMIT_RTPRIO: ulimit -r 80"
    }
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    // SAFETY: geteuid takes and touches nothing.
    unsafe { libc::geteuid() == 0 }
}

/// Gives the calling thread the highest weight that ordinary threads may have; it ends with the thread.
pub fn set_highest_weight() -> io::Result<()> {
    // SAFETY: takes numbers; 0 is the calling thread.
    result(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) }.into()).map(drop)
}

/// MemAvailable of /proc/meminfo in bytes.
pub fn memory_available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Memory that this process has in RAM, bytes.
pub fn memory_used() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages = text.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    pages.checked_mul(crate::mapping::base_page())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_the_threads_own() {
        let outside = timer_slack();
        let inside = std::thread::spawn(|| {
            set_timer_slack(1).unwrap();
            timer_slack()
        })
        .join()
        .unwrap();
        assert_eq!(inside, Some(1));
        assert_eq!(timer_slack(), outside);
    }

    #[test]
    fn a_touched_page_has_a_node_and_an_untouched_one_has_not() {
        let page = vec![1u8; 8192];
        match nodes_of_pages(&[page.as_ptr()]) {
            Ok(nodes) => assert!(nodes[0] >= 0, "{nodes:?}"),
            // A kernel without NUMA support, or a sandbox, has no such call.
            Err(error) => assert!(
                matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)),
                "unexpected error {error}"
            ),
        }
    }
}
