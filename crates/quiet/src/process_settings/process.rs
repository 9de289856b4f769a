//! Settings of a process: CPUs, priorities, memory layout.

use std::fmt;
use std::io;

use record::CpuList;
use rustix::process::{Resource, getrlimit};

/// For `ioprio_set(2)`: the target type (a process), the shift that places the class above the bits of the level, and the
/// "best effort" class (include/uapi/linux/ioprio.h).
const IOPRIO_WHO_PROCESS: i32 = 1;
const IOPRIO_CLASS_SHIFT: i32 = 13;
pub(crate) const IOPRIO_CLASS_BE: i32 = 2;

/// The settings of a process that the kernel reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessAttributes {
    /// Nice value.
    pub nice: i32,
    /// Scheduling policy (sched(7)).
    pub policy: i32,
    /// The I/O class and level; class 0 means that no class was set.
    pub io: Option<(i32, i32)>,
    /// The lowest nice value that the process may set.
    pub lowest_nice: i32,
    /// The highest real-time priority that the process may set; 0 for none.
    pub highest_priority: i32,
    /// CPUs on which the process may run; empty if unknown.
    pub affinity: CpuList,
    /// The current value of `/dev/cpu_dma_latency`, microseconds.
    pub latency_us: Option<u32>,
}

/// `CAP_SYS_NICE` (capabilities(7)).
const CAP_SYS_NICE: u32 = 23;

/// The settings of this process.
pub fn read_attributes() -> ProcessAttributes {
    // SAFETY: the calls only take integers; errno belongs to this thread.
    let (nice, policy, io) = unsafe {
        (
            libc::getpriority(libc::PRIO_PROCESS, 0),
            libc::sched_getscheduler(0),
            libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) as i32,
        )
    };
    let limit = |w| getrlimit(w).current.map_or(i32::MAX, |limit| i32::try_from(limit).unwrap_or(i32::MAX));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |key: &str| machine::text::field(&status, key);
    let capabilities = field("CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let may = capabilities.is_some_and(|mask| mask >> CAP_SYS_NICE & 1 == 1);
    let affinity = field("Cpus_allowed_list").and_then(|list| list.parse().ok());
    ProcessAttributes {
        nice,
        policy: policy.max(0),
        io: (io >= 0).then_some((io >> IOPRIO_CLASS_SHIFT, io & ((1 << IOPRIO_CLASS_SHIFT) - 1))),
        // RLIMIT_NICE counts from 1 (nice 19) to 40 (nice -20), getrlimit(2).
        lowest_nice: if may { -20 } else { (20 - limit(Resource::Nice).min(40)).min(nice) },
        highest_priority: if may { 99 } else { limit(Resource::Rtprio).min(99) },
        affinity: affinity.unwrap_or_default(),
        latency_us: super::dma_latency::read_latency_in_force(),
    }
}

/// The reason why a process cannot have a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRefusal {
    /// The intended setting.
    what: String,
    /// The system's error.
    errno: i32,
}

impl fmt::Display for SettingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        match self.errno {
            libc::EPERM | libc::EACCES => {
                write!(f, "{what} requires root (CAP_SYS_NICE), or is blocked by a sandbox")
            }
            libc::EINVAL => write!(f, "the kernel does not accept {what}"),
            libc::ESRCH => f.write_str("the process has exited"),
            errno => write!(f, "{what}: {}", io::Error::from_raw_os_error(errno)),
        }
    }
}

impl std::error::Error for SettingRefusal {}

/// Converts a call's result; a negative value is an error.
fn check_result(result: i64, what: &str) -> Result<(), SettingRefusal> {
    if result >= 0 {
        return Ok(());
    }
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or_default();
    Err(SettingRefusal { what: what.to_owned(), errno })
}

/// Pins a process to CPUs.
pub fn set_affinity(pid: i32, cpus: &CpuList) -> Result<(), SettingRefusal> {
    os::pin::bind_thread(pid, cpus).map_err(|error| SettingRefusal {
        what: format!("CPU {cpus}"),
        errno: error.raw_os_error().unwrap_or_default(),
    })
}

/// Sets a process's nice value.
pub fn set_nice(pid: i32, nice: i32) -> Result<(), SettingRefusal> {
    // SAFETY: the call only takes integers.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, pid as libc::id_t, nice) };
    check_result(i64::from(result), &format!("nice {nice}"))
}

/// Runs a few milliseconds of work at the highest priority, if allowed, so that a busy machine does not remain
/// partially configured for long. Children that the work starts inherit the priority. The only such child is a
/// guardian, whose work is just as short.
pub fn run_before_others<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the call only takes integers.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let before = nice > FIRST && set_nice(0, FIRST).is_ok();
    let done = work();
    if before {
        // Lowering a priority is always permitted.
        let _ = set_nice(0, nice);
    }
    done
}

/// The nice value with the highest weight.
const FIRST: i32 = -20;

/// Sets a process's scheduling policy.
pub fn set_policy(pid: i32, policy: i32, priority: i32) -> Result<(), SettingRefusal> {
    // SAFETY: all zeros is a valid value of the structure, which outlives the call.
    let result = unsafe {
        let mut param: libc::sched_param = std::mem::zeroed();
        param.sched_priority = priority;
        libc::syscall(libc::SYS_sched_setscheduler, pid, policy, &raw const param)
    };
    let name = match policy {
        libc::SCHED_FIFO => "SCHED_FIFO".to_owned(),
        other => format!("scheduling policy {other}, priority"),
    };
    check_result(result, &format!("{name} {priority}"))
}

/// Sets a process's I/O class and level; class 0 has no level.
pub fn set_io_class(pid: i32, class: i32, level: i32) -> Result<(), SettingRefusal> {
    let value = class << IOPRIO_CLASS_SHIFT | level;
    // SAFETY: the call only takes integers.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, pid, value) };
    check_result(result, &format!("ionice -c {class} -n {level}"))
}

/// Calls `start`. Programs that `start` runs get fixed addresses. Also returns whether the kernel accepted the setting.
pub fn with_fixed_addresses<T>(start: impl FnOnce() -> T) -> (T, Result<(), SettingRefusal>) {
    /// This call only queries the current value (personality(2)).
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: the call takes an integer; it only affects programs that are started later, not the running one.
    let before = unsafe { libc::personality(ASK) };
    if before < 0 {
        let why = check_result(i64::from(before), "personality");
        return (start(), why);
    }
    // SAFETY: as above.
    let set =
        unsafe { libc::personality(before as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    let done = check_result(i64::from(set), "personality");
    let result = start();
    // SAFETY: as above.
    unsafe { libc::personality(before as libc::c_ulong) };
    (result, done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_what_it_may_have_and_hears_what_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        let status = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let first: CpuList = machine::Root::live().cpu_list("/sys/devices/system/cpu/online").unwrap();
        let first: CpuList = first.iter().take(1).collect();
        set_affinity(pid, &first).unwrap();
        let listed = status();
        assert!(listed.contains(&format!("Cpus_allowed_list:\t{first}\n")), "{listed}");
        assert_eq!(os::pin::affinity(pid), Some(first));
        set_io_class(pid, IOPRIO_CLASS_BE, 0).unwrap();
        set_nice(pid, 5).unwrap();
        assert!(set_policy(pid, libc::SCHED_FIFO, 1000).unwrap_err().to_string().contains("SCHED_FIFO 1000"));
        let beyond: CpuList = "65000".parse().unwrap();
        assert!(set_affinity(pid, &beyond).unwrap_err().to_string().contains("65000"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(set_nice(pid, 0).unwrap_err().to_string(), "the process has exited");
    }

    #[test]
    fn who_went_before_others_is_as_nice_as_ever_afterwards() {
        let nice = || read_attributes().nice;
        let (was, within) = (nice(), run_before_others(nice));
        assert_eq!(nice(), was);
        assert!(within == FIRST || within == was, "{within}");
    }

    #[test]
    fn what_begins_within_has_what_was_held_and_this_thread_has_it_no_more() {
        use super::super::run_with_setting;
        use crate::knob::ProcessSetting;
        let field = |at: usize| {
            let output = std::process::Command::new("cat").arg("/proc/self/stat").output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            // The name in parentheses is the second field (proc_pid_stat(5)).
            text.rsplit_once(") ").unwrap().1.split(' ').nth(at - 3).unwrap().parse::<i32>().unwrap()
        };
        let before = read_attributes();
        // Without permission, the kernel refuses, and nothing remains changed.
        for (setting, at, is) in
            [(ProcessSetting::Nice(before.nice - 1), 19, before.nice - 1), (ProcessSetting::Fifo(1), 41, 1)]
        {
            match run_with_setting(&setting, || field(at)) {
                Ok(had) => assert_eq!(had, is, "{setting:?}"),
                Err(why) => assert!(why.to_string().contains("CAP_SYS_NICE"), "{why}"),
            }
        }
        let (io, affinity) = (|| read_attributes().io, before.affinity.iter().take(1).collect::<CpuList>());
        if let Ok(had) = run_with_setting(&ProcessSetting::IoPriority(0), io) {
            assert_eq!(had, Some((2, 0)));
        }
        // A process's status shows the values of its first thread, and this is a different thread.
        let (cpus, one) = (|| os::pin::affinity(0).unwrap(), affinity.clone());
        let all = cpus();
        assert_eq!(run_with_setting(&ProcessSetting::Affinity(affinity), cpus), Ok(one));
        assert_eq!(cpus(), all);
        assert_eq!(
            ProcessAttributes { latency_us: None, ..read_attributes() },
            ProcessAttributes { latency_us: None, ..before }
        );
    }

    #[test]
    fn addresses_are_fixed_for_what_begins_within_and_only_there() {
        let maps = || {
            let output = std::process::Command::new("cat").arg("/proc/self/personality").output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let before = maps();
        let (within, done) = with_fixed_addresses(maps);
        if done.is_ok() && !within.is_empty() {
            let bits = u64::from_str_radix(&within, 16).unwrap();
            assert_ne!(bits & libc::ADDR_NO_RANDOMIZE as u64, 0, "{within}");
        }
        assert_eq!(maps(), before);
    }
}
