//! Why the kernel refuses to count an event, and what would change that, in one line each.

use std::io;
use std::sync::OnceLock;

use machine::Root;

use super::attr;
use super::pmu::{self, Pmu};

/// An event that this PMU lacks.
pub(super) const NOT_COUNTED: &str = "this CPU's PMU does not count it";

/// What decides about a refusal's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// `kernel.perf_event_paranoid`, where it can be read.
    pub paranoid: Option<i64>,
    /// The cores' counting units; `None` where sysfs does not tell.
    pub units: Option<Vec<Pmu>>,
    /// Whether a hypervisor stands below.
    pub virtual_machine: bool,
    /// Whether the kernel lacks the system call.
    pub no_call: bool,
}

/// What was to be counted, as far as the words depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The calling thread.
    Own,
    /// Another process.
    Process(i32),
    /// All that runs on a CPU.
    Cpu(u32),
}

/// A refusal in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What and why, one line.
    pub reason: String,
    /// The way out, where there is one.
    pub remedy: Option<String>,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: None }
    }

    fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// Those of the machine that we run on, read once.
pub(super) fn surroundings() -> &'static Surroundings {
    static HERE: OnceLock<Surroundings> = OnceLock::new();
    HERE.get_or_init(|| Surroundings { no_call: !attr::exists(), ..surroundings_of(&Root::live()) })
}

/// Those of the machine below `root`.
pub(super) fn surroundings_of(root: &Root) -> Surroundings {
    let units = pmu::core_units(root);
    // Only a missing PMU is explained by a hypervisor.
    let virtual_machine = units.as_ref().is_some_and(Vec::is_empty) && has_hypervisor(root);
    let paranoid = root.number("/proc/sys/kernel/perf_event_paranoid");
    Surroundings { paranoid, units, virtual_machine, no_call: false }
}

fn has_hypervisor(root: &Root) -> bool {
    #[cfg(target_arch = "x86_64")]
    if root.is_live() {
        // Leaf 1, ECX bit 31: set by every hypervisor, and a hundred times quicker to read than the files.
        return core::arch::x86_64::__cpuid(1).ecx >> 31 == 1;
    }
    let mut machine =
        record::Machine { architecture: std::env::consts::ARCH.to_owned(), ..Default::default() };
    machine::virtualization::read(root, &mut machine, &mut Vec::new());
    machine.virtualization.hypervisor.is_some_and(|word| word != "none")
}

impl Surroundings {
    /// Why there are no events at all, where the kernel lacks the call.
    pub(super) fn without_call(&self) -> Option<Refusal> {
        self.no_call.then(|| {
            Refusal::new(
                "this kernel has no perf_event_open (built without it, or an emulator of user programs)",
            )
        })
    }

    /// Why there are no hardware events at all, where the CPUs show no counting unit.
    pub(super) fn without_unit(&self) -> Option<Refusal> {
        if self.no_call {
            return self.without_call();
        }
        if !self.units.as_ref()?.is_empty() {
            return None;
        }
        let what = "this machine shows no performance counters";
        Some(if self.virtual_machine {
            Refusal::new(format!("{what} (a virtual machine without a PMU)")).with_remedy(
                "give the guest a virtual PMU (QEMU: -cpu host,pmu=on), or measure on bare metal",
            )
        } else {
            Refusal::new(format!("{what} (the kernel has no driver for the PMU, or the firmware hides it)"))
        })
    }

    /// Why opening an event failed with `error`, when user mode alone was refused too.
    pub(super) fn explain(&self, error: &io::Error, scope: Scope) -> Refusal {
        if let Some(refusal) = self.without_call() {
            return refusal;
        }
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => self.denied(scope),
            Some(libc::ENOENT | libc::EOPNOTSUPP | libc::EINVAL | libc::ENODEV | libc::ENXIO) => {
                self.without_unit().unwrap_or_else(|| Refusal::new(NOT_COUNTED))
            }
            Some(libc::EMFILE | libc::ENFILE) => {
                Refusal::new("no file descriptor is left").with_remedy("raise the limit: ulimit -n 4096")
            }
            Some(libc::EBUSY) => Refusal::new("another program holds the PMU for itself"),
            Some(libc::ESRCH) => Refusal::new("the process has ended"),
            _ => Refusal::new(format!("perf_event_open: {error}")),
        }
    }

    fn denied(&self, scope: Scope) -> Refusal {
        let setting = "kernel.perf_event_paranoid";
        let remedy = |level: i64| format!("sudo sysctl {setting}={level}, or run with CAP_PERFMON");
        match (self.paranoid, scope) {
            // Debian and Ubuntu have levels above the kernel's own highest, 2, at which nothing is left.
            (Some(level @ 3..), _) => {
                Refusal::new(format!("{setting} is {level}: only privileged users may count events"))
                    .with_remedy(remedy(1))
            }
            (Some(level @ 1..), Scope::Cpu(_)) => Refusal::new(format!(
                "{setting} is {level}: counting a whole CPU is left to privileged users"
            ))
            .with_remedy(remedy(0)),
            (_, Scope::Process(pid)) => Refusal::new(format!(
                "process {pid} may not be looked into: it has other rights than this one"
            ))
            .with_remedy("count it as its own user, or with CAP_PERFMON and CAP_SYS_PTRACE"),
            (level, _) => {
                let level = level.map_or_else(
                    || format!("{setting} cannot be read"),
                    |level| format!("{setting} is {level}, which would allow it"),
                );
                Refusal::new(format!(
                    "perf_event_open is denied by a seccomp filter or security module ({level})"
                ))
                .with_remedy("in a container: allow perf_event_open, as with --cap-add PERFMON")
            }
        }
    }

    /// Why an event of the kernel's own cannot be counted where only user mode may be.
    pub(super) fn user_mode_only(&self) -> Refusal {
        let level = self
            .paranoid
            .map_or_else(String::new, |level| format!("kernel.perf_event_paranoid is {level}: "));
        Refusal::new(format!("{level}only user mode may be counted, and this happens in the kernel"))
            .with_remedy("sudo sysctl kernel.perf_event_paranoid=1, or run with CAP_PERFMON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(paranoid: Option<i64>, errno: i32, scope: Scope) -> Refusal {
        let unit = Pmu { name: "cpu".to_owned(), kind: 4, cpus: None };
        let here = Surroundings { paranoid, units: Some(vec![unit]), virtual_machine: false, no_call: false };
        here.explain(&io::Error::from_raw_os_error(errno), scope)
    }

    #[test]
    fn the_setting_that_forbids_is_named_with_its_value_and_the_way_out() {
        let refusal = refused(Some(3), libc::EACCES, Scope::Own);
        assert!(refusal.reason.starts_with("kernel.perf_event_paranoid is 3:"), "{}", refusal.reason);
        assert!(refusal.remedy.unwrap().starts_with("sudo sysctl kernel.perf_event_paranoid=1"));
        let refusal = refused(Some(2), libc::EACCES, Scope::Cpu(3));
        assert!(
            refusal.reason.contains("is 2") && refusal.reason.contains("whole CPU"),
            "{}",
            refusal.reason
        );
        assert!(refusal.remedy.unwrap().contains("paranoid=0"));
    }

    #[test]
    fn a_container_is_not_reported_to_change_a_setting_that_is_not_at_fault() {
        let refusal = refused(Some(1), libc::EPERM, Scope::Own);
        assert!(refusal.reason.contains("seccomp") && refusal.reason.contains("is 1"), "{}", refusal.reason);
        assert!(!refusal.remedy.unwrap().contains("sysctl"));
        let other = refused(Some(1), libc::EACCES, Scope::Process(42));
        assert!(other.reason.contains("process 42"), "{}", other.reason);
    }

    #[test]
    fn a_guest_without_a_pmu_is_reported_so_and_a_host_is_not_called_one() {
        let guest =
            Surroundings { units: Some(Vec::new()), virtual_machine: true, ..Surroundings::default() };
        let host = Surroundings { virtual_machine: false, ..guest.clone() };
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(
            guest.explain(&missing, Scope::Own).reason,
            "this machine shows no performance counters (a virtual machine without a PMU)"
        );
        assert!(!host.explain(&missing, Scope::Own).reason.contains("virtual"));
        // Nothing else is worth saying where there is no call.
        let emulated = Surroundings { no_call: true, ..guest.clone() };
        assert!(emulated.explain(&missing, Scope::Own).reason.contains("no perf_event_open"));
        assert!(emulated.without_unit().unwrap().reason.contains("no perf_event_open"));
        // Where there is a PMU the event is at fault, not the machine.
        assert_eq!(refused(Some(-1), libc::ENOENT, Scope::Own).reason, "this CPU's PMU does not count it");
    }

    #[test]
    fn every_refusal_is_one_line() {
        for errno in 1..134 {
            for scope in [Scope::Own, Scope::Process(1), Scope::Cpu(0)] {
                for paranoid in [None, Some(-1), Some(2), Some(4), Some(i64::MAX), Some(i64::MIN)] {
                    let refusal = refused(paranoid, errno, scope);
                    assert!(!refusal.reason.is_empty() && !refusal.reason.contains('\n'));
                }
            }
        }
        assert!(refused(None, libc::EMFILE, Scope::Own).remedy.unwrap().contains("ulimit -n"));
    }
}
