//! What cannot be seen here: each source that is missing, refused or doubtful, with what would change that.

use machine::Root;
use record::{Coverage, CpuList, Text, text};

use crate::look::Look;
use crate::sources::sensors::{Heat, has_fans_or_temperatures};

/// The kernel's files of another process, the first that every machine has.
const OTHER: &str = "/proc/1";

/// What these looks do not tell. `probed`: whether memory's latency is heard; `delay`: whether the kernel counts run-queue delay.
pub(crate) fn unseen(
    root: &Root,
    look: &Look,
    heat: &Heat,
    cpus: &CpuList,
    (probed, delay): (bool, bool),
) -> Vec<Coverage> {
    let mut all: Vec<Coverage> = look
        .missing()
        .map(|what| {
            let missing = Coverage::impossible(what, text!("live-not-told", "the kernel does not show it"));
            match what {
                "pressure" => missing.with_remedy("boot with psi=1 (CONFIG_PSI)"),
                _ => missing,
            }
        })
        .collect();
    if !delay {
        let reason = text!(
            "live-no-schedstat",
            "/proc/schedstat is missing (CONFIG_SCHEDSTATS); sampled from /proc/loadavg instead"
        );
        all.push(Coverage::degraded("run-queue delay", reason));
    }
    if !root.exists("/proc/self/schedstat") {
        let reason = text!("live-no-thread-schedstat", "/proc/PID/schedstat is missing (CONFIG_SCHED_INFO)");
        all.push(Coverage::impossible("run-queue delay of threads", reason));
    }
    if !probed {
        let reason =
            text!("live-no-flush", "this CPU cannot flush a cache line in user mode, or no memory is left");
        all.push(Coverage::impossible("memory probe", reason));
    }
    all.extend(others_waits(root));
    let mut missing = |what: &str, seen: bool, reason: Text| {
        if !seen {
            all.push(Coverage::impossible(what, reason));
        }
    };
    let clock =
        text!("live-no-clock", "neither CPPC nor cpufreq tells it; the probe's adds do, of its own CPU");
    missing("clock of all CPUs", look.tells_the_clock(), clock);
    let first = cpus.iter().next().unwrap_or(0);
    let counted = root.exists(&format!("/sys/devices/system/cpu/cpu{first}/thermal_throttle"));
    missing(
        "heat throttling",
        counted,
        text!("live-no-throttle", "no thermal_throttle in sysfs (Intel's alone has it)"),
    );
    missing(
        "sensors",
        has_fans_or_temperatures(root),
        text!("live-no-hwmon", "no temperature or fan in /sys/class/hwmon"),
    );
    if !heat.counts_energy() {
        let reason = match root.try_text("/sys/class/powercap/intel-rapl:0/energy_uj") {
            Err(unreadable) if !unreadable.is_missing() => Coverage::impossible(
                "power",
                text!("live-rapl-refused", "energy_uj of RAPL is readable by root alone"),
            )
            .with_remedy("run as root"),
            _ => Coverage::impossible("power", text!("live-no-rapl", "no RAPL in /sys/class/powercap")),
        };
        all.push(reason);
    }
    all
}

/// What threads of others wait in: hidden, refused, or told.
fn others_waits(root: &Root) -> Option<Coverage> {
    let what = "waits of other users' threads";
    if !root.exists(&format!("{OTHER}/stat")) {
        let reason = text!("live-hidden", "/proc hides other users' processes (hidepid)");
        return Some(Coverage::degraded(what, reason).with_remedy("run as root"));
    }
    let call = root.try_text(&format!("{OTHER}/syscall"));
    let function = root.text(&format!("{OTHER}/wchan")).filter(|name| name != "0" && !name.is_empty());
    if call.is_ok() || function.is_some() {
        return None;
    }
    let reason = match call {
        Err(unreadable) if unreadable.is_missing() => {
            text!("live-no-waits", "the kernel has neither wchan nor syscall (CONFIG_HAVE_ARCH_TRACEHOOK)")
        }
        _ => text!("live-waits-refused", "wchan and syscall of others are refused"),
    };
    Some(Coverage::degraded(what, reason).with_remedy("run as root"))
}
