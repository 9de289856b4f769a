//! The coverage of observations on this machine: a line for each source, with a remedy if the source is missing,
//! refused or doubtful.

use machine::Root;
use record::{Coverage, Text, text};

use crate::look::Look;
use crate::sources::quota;
use crate::sources::sensors::{Heat, has_fans_or_temperatures};

/// The files of a process that belongs to another user: the first process, which exists on every machine.
const OTHER: &str = "/proc/1";
/// The link to the initial PID namespace, which contains all processes (PROC_PID_INIT_INO in linux/include/linux/proc_ns.h).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// What was available at the start of an observation.
pub(crate) struct Found<'a> {
    pub(crate) look: &'a Look,
    pub(crate) heat: &'a Heat,
    /// The first online CPU.
    pub(crate) cpu: u32,
    /// Whether memory latency is probed.
    pub(crate) probed: bool,
    /// Whether the kernel counts run-queue delay.
    pub(crate) delay: bool,
}

fn unless(what: &str, seen: bool, reason: Text) -> Coverage {
    if seen { Coverage::measured(what) } else { Coverage::impossible(what, reason) }
}

/// A line for each source, with the reason if it is not available.
pub(crate) fn of(root: &Root, found: &Found) -> Vec<Coverage> {
    let not_shown = || text!("live-not-told", "the kernel does not expose it");
    let mut all: Vec<Coverage> =
        found.look.shown().map(|(what, seen)| unless(what, seen, not_shown())).collect();
    let pressure = unless("pressure", found.look.pressure.iter().any(Option::is_some), not_shown());
    let without = pressure.reason.is_some();
    all.push(if without { pressure.with_remedy("boot with psi=1 (CONFIG_PSI)") } else { pressure });
    all.push(processes(root));
    let no_delay = text!(
        "live-no-schedstat",
        "/proc/schedstat is missing (CONFIG_SCHEDSTATS); /proc/loadavg is sampled instead"
    );
    all.push(match found.delay {
        true => Coverage::measured("run-queue delay"),
        false => Coverage::degraded("run-queue delay", no_delay),
    });
    let no_delay = text!("live-no-thread-schedstat", "/proc/PID/schedstat is missing (CONFIG_SCHED_INFO)");
    all.push(unless("run-queue delay of threads", root.exists("/proc/self/schedstat"), no_delay));
    let no_probe =
        text!("live-no-flush", "this CPU cannot flush a cache line in user mode, or no memory is available");
    all.push(unless("memory probe", found.probed, no_probe));
    all.extend(others_waits(root));
    let no_quotas = text!("live-no-quotas", "no cgroup hierarchy with CPU accounting is mounted");
    all.push(unless("cgroup quotas", quota::are_shown(root), no_quotas));
    let no_clock = text!("live-no-clock", "no CPPC or cpufreq; measured only on the probe's CPU");
    all.push(unless("clock of all CPUs", found.look.tells_the_clock(), no_clock));
    let throttle = format!("/sys/devices/system/cpu/cpu{}/thermal_throttle", found.cpu);
    let no_throttle = text!("live-no-throttle", "no thermal_throttle in sysfs (Intel only)");
    all.push(unless("heat throttling", root.exists(&throttle), no_throttle));
    let no_hwmon = text!("live-no-hwmon", "no temperature or fan sensor in /sys/class/hwmon");
    all.push(unless("sensors", has_fans_or_temperatures(root), no_hwmon));
    all.push(power(root, found.heat));
    all
}

fn power(root: &Root, heat: &Heat) -> Coverage {
    let what = "power";
    if heat.counts_energy() {
        return Coverage::measured(what);
    }
    match root.try_text("/sys/class/powercap/intel-rapl:0/energy_uj") {
        Err(unreadable) if !unreadable.is_missing() => {
            let reason = text!("live-rapl-refused", "RAPL energy_uj is readable only by root");
            Coverage::impossible(what, reason).with_remedy("run as root")
        }
        _ => Coverage::impossible(what, text!("live-no-rapl", "no RAPL in /sys/class/powercap")),
    }
}

/// Whether all processes of the machine are visible. The CPU time of hidden processes is included in the shares
/// in any case.
fn processes(root: &Root) -> Coverage {
    let what = "processes";
    if !root.exists(&format!("{OTHER}/stat")) {
        let reason = text!("live-hidden", "/proc hides other users' processes (hidepid)");
        return Coverage::degraded(what, reason).with_remedy("run as root");
    }
    let namespace = std::fs::read_link(root.path().join("proc/self/ns/pid"));
    if namespace.is_ok_and(|name| name.as_os_str() != FIRST_NAMESPACE) {
        let reason = text!("live-pid-namespace", "processes outside this PID namespace are not visible");
        return Coverage::degraded(what, reason).with_remedy("run on the host, or with --pid=host");
    }
    Coverage::measured(what)
}

/// Whether the waits of other users' threads are readable; `None` if these processes are hidden.
fn others_waits(root: &Root) -> Option<Coverage> {
    let what = "waits of other users' threads";
    if !root.exists(&format!("{OTHER}/stat")) {
        return None;
    }
    let call = root.try_text(&format!("{OTHER}/syscall"));
    let function = root.text(&format!("{OTHER}/wchan")).filter(|name| name != "0" && !name.is_empty());
    if call.is_ok() || function.is_some() {
        return Some(Coverage::measured(what));
    }
    let reason = match call {
        Err(unreadable) if unreadable.is_missing() => {
            text!("live-no-waits", "the kernel lacks /proc/*/wchan and syscall (CONFIG_HAVE_ARCH_TRACEHOOK)")
        }
        _ => text!("live-waits-refused", "wchan and syscall of other users' processes are not readable"),
    };
    Some(Coverage::degraded(what, reason).with_remedy("run as root with all capabilities"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept_files::KeptFiles;
    use crate::made_up::Tree;
    use record::{CpuList, State};

    /// The lines of a tree: what, how well, and the reason's code.
    fn lines(tree: &Tree, probed: bool, delay: bool) -> Vec<(String, State, String)> {
        let (root, cpus) = (tree.root(), "0".parse::<CpuList>().unwrap());
        let (look, heat) =
            (Look::now(&root, &mut KeptFiles::default(), &cpus, &[0, 1], &[]), Heat::look(&root, &cpus));
        let found = Found { look: &look, heat: &heat, cpu: 0, probed, delay };
        let code = |one: &Coverage| one.reason.as_ref().and_then(Text::code).unwrap_or("").to_owned();
        of(&root, &found).into_iter().map(|one| (one.what.clone(), one.state, code(&one))).collect()
    }

    fn code_of(tree: &Tree, what: &str) -> (State, String) {
        let all = lines(tree, true, true);
        all.into_iter().find(|(name, ..)| name == what).map(|(_, state, code)| (state, code)).unwrap()
    }

    fn full() -> Tree {
        Tree::new()
            .file("proc/stat", "cpu  1 0 0 100 0 0 0 0 0 0\ncpu0 1 0 0 100 0 0 0 0 0 0\n")
            .file("proc/vmstat", "pgfault 1\nnuma_hit 5\nnuma_local 4\nnuma_other 1\n")
            .file("proc/pressure/cpu", "some avg10=0 total=1\n")
            .file("proc/1/stat", "1 (init) S")
            .file("proc/1/syscall", "0 0x1")
            .link("proc/self/ns/pid", "pid:[4026531836]")
            .file("proc/self/schedstat", "1 2 3")
            .file("proc/self/cgroup", "0::/\n")
            .file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("sys/fs/cgroup/cpu.stat", "usage_usec 5\n")
            .file("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n")
            .file("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_total_time_ms", "0")
            .file("sys/class/hwmon/hwmon0/temp1_input", "61000\n")
            .file("sys/class/powercap/intel-rapl:0/name", "package-0\n")
            .file("sys/class/powercap/intel-rapl:0/energy_uj", "7")
    }

    #[test]
    fn each_source_that_is_seen_has_a_line() {
        let all = lines(&full(), true, true);
        assert!(all.iter().all(|(_, state, _)| *state == State::Measured), "{all:?}");
        let what: std::collections::BTreeSet<&str> = all.iter().map(|(what, ..)| what.as_str()).collect();
        assert_eq!((what.len(), all.len()), (14, 14), "{all:?}");
    }

    #[test]
    fn each_source_that_is_missing_says_why() {
        let all = lines(&Tree::new(), false, false);
        let unseen: Vec<(&str, &str)> =
            all.iter().map(|(what, _, code)| (what.as_str(), code.as_str())).collect();
        assert_eq!(
            unseen,
            [
                ("CPU times", "live-not-told"),
                ("vmstat", "live-not-told"),
                ("remote pages", "live-not-told"),
                ("pressure", "live-not-told"),
                ("processes", "live-hidden"),
                ("run-queue delay", "live-no-schedstat"),
                ("run-queue delay of threads", "live-no-thread-schedstat"),
                ("memory probe", "live-no-flush"),
                ("cgroup quotas", "live-no-quotas"),
                ("clock of all CPUs", "live-no-clock"),
                ("heat throttling", "live-no-throttle"),
                ("sensors", "live-no-hwmon"),
                ("power", "live-no-rapl"),
            ]
        );
    }

    #[test]
    fn what_a_container_hides_is_said() {
        assert_eq!(code_of(&full(), "processes"), (State::Measured, String::new()));
        let own = full().link("proc/self/ns/pid", "pid:[4026532201]");
        assert_eq!(code_of(&own, "processes"), (State::Degraded, "live-pid-namespace".to_owned()));
        let hidden = full().without("proc/1");
        assert_eq!(code_of(&hidden, "processes"), (State::Degraded, "live-hidden".to_owned()));
        // What the kernel reports to users without permission: 0 for wchan, and no text for syscall.
        let what = "waits of other users' threads";
        let blind = full().without("proc/1/syscall").file("proc/1/wchan", "0");
        assert_eq!(code_of(&blind, what), (State::Degraded, "live-no-waits".to_owned()));
        let refused = full().without("proc/1/syscall").folder("proc/1/syscall");
        assert_eq!(code_of(&refused, what), (State::Degraded, "live-waits-refused".to_owned()));
        let shown = full().without("proc/1/syscall").file("proc/1/wchan", "futex_wait_queue");
        assert_eq!(code_of(&shown, what).0, State::Measured);
        // The energy counter of RAPL, which only root may read.
        let energy = "sys/class/powercap/intel-rapl:0/energy_uj";
        let power = full().without(energy).folder(energy);
        assert_eq!(code_of(&power, "power"), (State::Impossible, "live-rapl-refused".to_owned()));
    }
}
