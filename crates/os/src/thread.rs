//! The kernel's data on the calling thread: CPU, context switches, page faults, timer slack, scheduling class. Each function returns
//! the kernel's error as [`std::io::Error`].

use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use record::{Text, text};

pub(crate) fn check_result(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// The CPU on which the calling thread runs now.
pub fn current_cpu() -> Option<u32> {
    // SAFETY: the call takes no arguments and touches no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The calling thread's TID.
pub fn thread_id() -> i32 {
    // SAFETY: the call takes no arguments and touches no memory.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as i32
}

/// The resource usage of the calling thread (`RUSAGE_THREAD`) or of this process (`RUSAGE_SELF`) so far.
pub(crate) fn read_usage(who: libc::c_int) -> Option<libc::rusage> {
    // SAFETY: rusage is plain data for which all zeros is a valid value, and getrusage fills it.
    let (code, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(who, &mut usage), usage)
    };
    (code == 0).then_some(usage)
}

/// Involuntary and voluntary context switches of the calling thread until now; `None` if the kernel does not report them.
pub fn switches() -> Option<(u64, u64)> {
    read_usage(libc::RUSAGE_THREAD).map(|usage| (usage.ru_nivcsw as u64, usage.ru_nvcsw as u64))
}

/// Minor page faults of the calling thread so far.
pub fn minor_faults() -> Option<u64> {
    Some(read_usage(libc::RUSAGE_THREAD)?.ru_minflt as u64)
}

/// CPU time of the calling thread until now, ns; `None` if the kernel does not report it.
pub fn thread_cpu_ns() -> Option<f64> {
    cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Like [`thread_cpu_ns`], for all threads of this process, including exited ones.
pub fn process_cpu_ns() -> Option<f64> {
    cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_ns(clock: libc::clockid_t) -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the timespec.
    let code = unsafe { libc::clock_gettime(clock, &mut time) };
    (code == 0).then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
}

/// Sets the calling thread's timer slack in ns, for the lifetime of the thread.
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes a number and touches no memory.
    check_result(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0) }.into())
        .map(drop)
}

/// The calling thread's timer slack in ns.
pub fn timer_slack() -> Option<u64> {
    // SAFETY: PR_GET_TIMERSLACK takes no arguments and touches no memory.
    u64::try_from(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }).ok()
}

/// Sets the calling thread to SCHED_FIFO with `priority`, until the thread ends.
pub fn set_fifo(priority: i32) -> io::Result<()> {
    set_policy(libc::SCHED_FIFO, priority)
}

fn set_policy(policy: libc::c_int, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    check_result(unsafe { libc::sched_setscheduler(0, policy, &parameters) }.into()).map(drop)
}

/// Calls `work` under SCHED_FIFO, if permitted; threads started by `work` inherit the policy. The argument of `work` is `true` if
/// these threads have priority over ordinary threads. Afterwards, even if `work` panics, the calling thread has its former policy. If its
/// former policy has a priority or a flag, the policy is not changed, because it could not be restored.
pub fn with_fifo<T>(priority: i32, work: impl FnOnce(bool) -> T) -> T {
    // SAFETY: the call takes a number and touches no memory; 0 is the calling thread.
    let before = unsafe { libc::sched_getscheduler(0) };
    let is_ordinary = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&before);
    let is_set = is_ordinary && set_fifo(priority).is_ok();
    let is_first = is_set || [libc::SCHED_FIFO, libc::SCHED_RR].contains(&before);
    let done = catch_unwind(AssertUnwindSafe(|| work(is_first)));
    let _restored = is_set.then(|| set_policy(before, 0));
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The remedy if SCHED_FIFO is refused. With CONFIG_RT_GROUP_SCHED, a new v1 cgroup has no real-time budget, and the
/// kernel then refuses SCHED_FIFO even to root (sched-rt-group.rst).
pub fn fifo_remedy() -> Text {
    if crate::is_root() {
        text!(
            "the cpu cgroup has no real-time budget (cpu.rt_runtime_us is 0), or the container lacks CAP_SYS_NICE: run \
             outside that cgroup, or add the capability to the container"
        )
    } else {
        text!("run as root, or raise RLIMIT_RTPRIO (ulimit -r 80)")
    }
}

/// Sets the calling thread to the highest weight of ordinary threads, until the thread ends.
pub fn set_highest_weight() -> io::Result<()> {
    // SAFETY: the call only takes integers; 0 is the calling thread.
    check_result(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) }.into()).map(drop)
}

/// Disables all idle states with an exit latency of more than this many microseconds while the file is open: closing
/// it, even by exiting, ends the request (Documentation/power/pm_qos_interface.rst).
pub fn hold_idle_states(us: i32) -> io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&us.to_ne_bytes())?;
    Ok(file)
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
    fn a_real_time_policy_ends_with_the_work() {
        // SAFETY: the call takes a number and touches no memory.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let within = with_fifo(1, |is_first| {
            let inner = with_fifo(2, |still| (policy(), still));
            (is_first, policy(), std::thread::spawn(policy).join().unwrap(), inner)
        });
        // Without permission, the policy stays the same.
        let fifo = libc::SCHED_FIFO;
        let is_known =
            within == (true, fifo, fifo, (fifo, true)) || within == (false, before, before, (before, false));
        assert!(is_known, "{within:?}");
        assert_eq!(policy(), before);
        let ended = std::panic::catch_unwind(|| with_fifo(1, |_| panic!("expected by this test")));
        assert!(ended.is_err());
        assert_eq!(policy(), before);
    }

    #[test]
    fn a_policy_that_could_not_be_restored_stays() {
        let within = std::thread::spawn(|| {
            // SAFETY: the call takes a number and touches no memory.
            let policy = || unsafe { libc::sched_getscheduler(0) };
            set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0).unwrap();
            (with_fifo(1, |is_first| (is_first, policy())), policy())
        });
        let flagged = libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK;
        assert_eq!(within.join().unwrap(), ((false, flagged), flagged));
    }
}
