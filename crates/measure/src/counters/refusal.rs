//! Explains why the kernel refuses to count an event, with the remedy, in one line each.

use std::io;
use std::sync::OnceLock;

use machine::Root;
use record::{Template, Text, Unavailable, text};

use super::attr;
use super::pmu::{self, Pmu};

/// An event that this PMU lacks.
pub(super) const NOT_COUNTED: Template =
    Template::new("counters-no-such-event", "not supported by this CPU's PMU");

/// A kernel without the system call.
const NO_CALL: Template = Template::new(
    "counters-no-perf-event-open",
    "this kernel lacks perf_event_open (not built in, or user-mode emulation)",
);

/// A guest whose host does not provide a PMU.
const NO_VIRTUAL_PMU: Template =
    Template::new("counters-no-virtual-pmu", "no performance counters: the virtual machine has no PMU");

/// The facts that determine the wording of a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// `kernel.perf_event_paranoid`, if readable.
    pub paranoid: Option<i64>,
    /// The cores' PMUs; `None` if sysfs has no information.
    pub units: Option<Vec<Pmu>>,
    /// Whether a hypervisor is present.
    pub virtual_machine: bool,
    /// Whether the kernel lacks the system call.
    pub no_call: bool,
}

/// The scope of counting; only differences that affect the wording are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The calling thread.
    Own,
    /// Another process.
    Process(i32),
    /// Whole CPUs, or units outside the cores.
    Machine,
}

/// The facts of the current machine, read once.
pub(super) fn surroundings() -> &'static Surroundings {
    static HERE: OnceLock<Surroundings> = OnceLock::new();
    HERE.get_or_init(|| Surroundings { no_call: !attr::exists(), ..read_surroundings(&Root::live()) })
}

/// The facts of the machine below `root`.
pub(super) fn read_surroundings(root: &Root) -> Surroundings {
    let units = pmu::core_units(root);
    // A hypervisor only matters as the explanation for a missing PMU.
    let virtual_machine = units.as_ref().is_none_or(Vec::is_empty) && has_hypervisor(root);
    let paranoid = root.number("/proc/sys/kernel/perf_event_paranoid");
    Surroundings { paranoid, units, virtual_machine, no_call: false }
}

fn has_hypervisor(root: &Root) -> bool {
    #[cfg(target_arch = "x86_64")]
    if root.is_live() {
        // Leaf 1, ECX bit 31: set by every hypervisor, and a hundred times faster to read than the files.
        return core::arch::x86_64::__cpuid(1).ecx >> 31 == 1;
    }
    let mut machine =
        record::Machine { architecture: std::env::consts::ARCH.to_owned(), ..Default::default() };
    machine::virtualization::read(root, &mut machine, &mut Vec::new());
    machine.virtualization.hypervisor.is_some_and(|word| word != "none")
}

impl Surroundings {
    /// The reason why no events are available, if the kernel lacks the system call.
    pub(super) fn without_call(&self) -> Option<Unavailable> {
        self.no_call.then(|| Unavailable::new(NO_CALL))
    }

    /// The reason why no hardware events are available, if the CPUs have no PMU.
    pub(super) fn without_unit(&self) -> Option<Unavailable> {
        if self.no_call {
            return self.without_call();
        }
        if !self.units.as_ref()?.is_empty() {
            return None;
        }
        Some(if self.virtual_machine {
            Unavailable::new(NO_VIRTUAL_PMU).with_remedy(text!(
                "give the guest a virtual PMU (QEMU: -cpu host,pmu=on), or measure on bare metal"
            ))
        } else {
            text!(
                "counters-no-pmu",
                "no performance counters: the kernel has no driver for the PMU, or the firmware hides it"
            )
            .into()
        })
    }

    /// The reason why opening an event failed with `error`, after counting only user mode was also refused.
    pub(super) fn explain(&self, error: &io::Error, scope: Scope) -> Unavailable {
        if let Some(refusal) = self.without_call() {
            return refusal;
        }
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => self.denied(scope),
            Some(libc::ENOENT | libc::EOPNOTSUPP | libc::EINVAL | libc::ENODEV | libc::ENXIO) => {
                // Without /sys, the PMUs are unknown. A guest in which an event is refused most likely has no PMU.
                let unknown =
                    || Unavailable::new(if self.virtual_machine { NO_VIRTUAL_PMU } else { NOT_COUNTED });
                self.without_unit().unwrap_or_else(unknown)
            }
            Some(libc::EMFILE | libc::ENFILE) => text!("counters-no-descriptor", "no free file descriptors")
                .with_remedy(text!("counters-raise-descriptors", "raise the limit: ulimit -n 4096")),
            Some(libc::EBUSY) => text!("another program has exclusive use of the PMU").into(),
            Some(libc::ESRCH) => text!("the process has exited").into(),
            _ => text!("perf_event_open: {error}").into(),
        }
    }

    fn denied(&self, scope: Scope) -> Unavailable {
        match (self.paranoid, scope) {
            (Some(level @ 1..), Scope::Machine) => text!(
                "counters-need-machine-privilege",
                "kernel.perf_event_paranoid is {level}: counting whole CPUs requires 0 or CAP_PERFMON",
                level = level.unsigned_abs()
            )
            .with_remedy(lower_to(0)),
            // The kernel's highest level is 2. Debian and Ubuntu have higher ones, at which nothing is allowed.
            (Some(level @ 3..), _) => text!(
                "counters-need-privilege",
                "kernel.perf_event_paranoid is {level}: only privileged users may count events",
                level = level.unsigned_abs()
            )
            .with_remedy(lower_to(1)),
            (_, Scope::Process(pid)) => text!(
                "no permission to count events of process {pid}, which has different privileges",
                pid = pid.unsigned_abs()
            )
            .with_remedy(text!("run as the user of that process, or with CAP_PERFMON and CAP_SYS_PTRACE")),
            (level, _) => {
                let denied = match level {
                    None => text!(
                        "perf_event_open is blocked by a seccomp filter or security module \
                         (kernel.perf_event_paranoid cannot be read)"
                    ),
                    Some(level) => text!(
                        "counters-denied",
                        "perf_event_open is blocked by a seccomp filter or security module \
                         (kernel.perf_event_paranoid is {level}, which would allow it)",
                        level = level.to_string()
                    ),
                };
                Unavailable::new(denied).with_remedy(text!(
                    "counters-allow-in-container",
                    "in a container: allow perf_event_open, for example with --cap-add PERFMON"
                ))
            }
        }
    }

    /// The reason why a kernel event cannot be counted if only user mode is allowed.
    pub(super) fn user_mode_only(&self) -> Unavailable {
        let reason = match self.paranoid {
            Some(level) => text!(
                "kernel.perf_event_paranoid is {level}: only user-mode events may be counted, and this is a kernel event",
                level = level.to_string()
            ),
            None => text!("only user-mode events may be counted, and this is a kernel event"),
        };
        Unavailable::new(reason).with_remedy(lower_to(1))
    }
}

/// The command that permits this user to count more.
fn lower_to(level: u64) -> Text {
    text!("sudo sysctl kernel.perf_event_paranoid={level}, or run with CAP_PERFMON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::text::Value::Count;

    fn refused(paranoid: Option<i64>, errno: i32, scope: Scope) -> Unavailable {
        let unit = Pmu { name: "cpu".to_owned(), kind: 4 };
        let here = Surroundings { paranoid, units: Some(vec![unit]), virtual_machine: false, no_call: false };
        here.explain(&io::Error::from_raw_os_error(errno), scope)
    }

    #[test]
    fn the_setting_that_forbids_is_named_with_its_value_and_the_way_out() {
        let refusal = refused(Some(3), libc::EACCES, Scope::Own);
        assert_eq!(
            (refusal.reason.code(), refusal.reason.value("level")),
            (Some("counters-need-privilege"), Some(&Count(3)))
        );
        assert_eq!(
            refusal.remedy.unwrap().to_string(),
            "sudo sysctl kernel.perf_event_paranoid=1, or run with CAP_PERFMON"
        );
    }

    #[test]
    fn a_container_is_not_reported_to_change_a_setting_that_is_not_at_fault() {
        let refusal = refused(Some(1), libc::EPERM, Scope::Own);
        assert_eq!(
            (refusal.reason.code(), refusal.reason.value("level")),
            (Some("counters-denied"), Some(&"1".into()))
        );
        assert_eq!(refusal.remedy.unwrap().code(), Some("counters-allow-in-container"));
        let machine = refused(Some(4), libc::EACCES, Scope::Machine);
        assert_eq!(machine.reason.code(), Some("counters-need-machine-privilege"));
        let other = refused(Some(1), libc::EACCES, Scope::Process(42));
        assert_eq!(other.reason.value("pid"), Some(&Count(42)));
    }

    #[test]
    fn a_guest_without_a_pmu_is_reported_so_and_a_host_is_not_called_one() {
        let guest =
            Surroundings { units: Some(Vec::new()), virtual_machine: true, ..Surroundings::default() };
        let host = Surroundings { virtual_machine: false, ..guest.clone() };
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        assert!(guest.explain(&missing, Scope::Own).reason.is(&NO_VIRTUAL_PMU));
        assert_eq!(host.explain(&missing, Scope::Own).reason.code(), Some("counters-no-pmu"));
        let without_sys = Surroundings { units: None, ..guest.clone() };
        assert!(without_sys.explain(&missing, Scope::Own).reason.is(&NO_VIRTUAL_PMU));
        // If the system call is missing, no other reason is relevant.
        let emulated = Surroundings { no_call: true, ..guest.clone() };
        assert!(emulated.explain(&missing, Scope::Own).reason.is(&NO_CALL));
        assert!(emulated.without_unit().unwrap().reason.is(&NO_CALL));
        // If there is a PMU, it is the event that is unsupported, not counting as a whole.
        assert!(refused(Some(-1), libc::ENOENT, Scope::Own).reason.is(&NOT_COUNTED));
    }

    #[test]
    fn every_refusal_is_one_line() {
        for errno in 1..134 {
            for scope in [Scope::Own, Scope::Process(1), Scope::Machine] {
                for paranoid in [None, Some(-1), Some(2), Some(4), Some(i64::MAX), Some(i64::MIN)] {
                    let refusal = refused(paranoid, errno, scope);
                    let words = refusal.reason.to_string();
                    assert!(!words.is_empty() && !words.contains('\n'));
                }
            }
        }
        let full = refused(None, libc::EMFILE, Scope::Own);
        assert_eq!(full.remedy.unwrap().code(), Some("counters-raise-descriptors"));
    }
}
