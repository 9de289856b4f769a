//! Sets up the requested layers, runs them in rounds, and reverts the setup.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use os::Stop;
use record::units::significant;
use record::{Coverage, CpuList, Machine, Measurement, Snapshot, Unavailable, text};

use crate::figures;
use crate::kernel_module::{self, BuildDirectory, Source};
use crate::kvm_guest;
use crate::layer::{LayerName, Layers};
use crate::rounds::{self, Effort, Mismatch, Timings};
use crate::ticks::Ticks;
use crate::user::{User, UserMode};
use crate::whole_guest::{self, WholeGuest};

/// The guests to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guests<'a> {
    /// No guests.
    None,
    /// Guests directly on KVM, without QEMU or a guest operating system.
    Kvm,
    /// Guests directly on KVM, and a guest with its own operating system under QEMU.
    Whole {
        /// The guest's kernel; if `None`, the kernel that runs on this machine.
        kernel: Option<&'a Path>,
        /// The module for the guest's kernel. If `None`, the module is built, provided that the module for the running
        /// kernel is also requested.
        module: Option<&'a Path>,
    },
}

/// The request for a session.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The machine on which the session runs.
    pub machine: &'a Machine,
    /// The CPUs on which an unpinned program may run.
    pub cpus: &'a CpuList,
    /// The CPU to which layers are pinned.
    pub cpu: u32,
    /// The source of the kernel module, if kernel threads are requested.
    pub kernel: Option<Source<'a>>,
    /// Whether to build a module for the kernel of the guest under QEMU if no module is specified.
    pub build_for_guest: bool,
    /// The requested guests.
    pub guests: Guests<'a>,
    /// The number of passes to run.
    pub effort: Effort,
    /// The stop request that ends the session.
    pub stop: &'static Stop,
}

/// The smallest quota, in CPUs, with which a slice can run without being throttled (a quota period is 100 ms by
/// default).
const LEAST_QUOTA: f64 = 0.2;

/// The progress of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The kernel module is being built and loaded.
    LoadingModule,
    /// The guest under QEMU is booting.
    BootingGuest,
    /// All layers are set up, and the rounds begin.
    RoundsBegin,
    /// The number of completed slices, and the total number of slices.
    Portions(usize, usize),
}

/// The outcome of a session.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The results of every layer that ran.
    pub measurements: Vec<Measurement>,
    /// The coverage entries of layers that are unavailable or were not requested, with the reasons.
    pub coverage: Vec<Coverage>,
    /// The signal that interrupted the session.
    pub interrupted: Option<i32>,
    /// Unavailable layers, each with its reason.
    pub missing: Vec<(LayerName, Unavailable)>,
    /// CPU time of the kernel module's threads.
    thread_time: Duration,
}

/// Sets up the layers, runs them in rounds, and undoes the setup.
///
/// # Errors
///
/// A layer did not do the same work as the other layers.
pub fn run(request: &Request, hear: &mut dyn FnMut(Event)) -> Result<Outcome, Mismatch> {
    let ticks = Ticks::calibrate();
    let mut layers = start_user_layers(request, ticks);
    let build_directory = Arc::new(BuildDirectory::default());
    let (mut kvm, mut thread_ns) = (None, Arc::default());
    if let Some(source) = request.kernel {
        hear(Event::LoadingModule);
        let (kernel, ns) =
            kernel_module::load_layers(source, &build_directory, ticks, request.cpu, request.stop);
        thread_ns = ns;
        layers.extend(kernel);
    }
    if request.guests != Guests::None && request.stop.signal().is_none() {
        let hypervisor = request.machine.virtualization.hypervisor.as_deref();
        let by = (ticks, request.stop);
        let guests = kvm_guest::probe(Path::new(kvm_guest::PATH), request.cpu, hypervisor, by);
        let kind = *kvm.insert(guests.kind);
        layers.extend(guests.into_layers(request.cpu));
        if let Guests::Whole { kernel, module } = request.guests {
            hear(Event::BootingGuest);
            let build = request.build_for_guest.then_some(Source::Build);
            // This thread starts QEMU: QEMU is killed when the thread that started it ends, and this thread lives
            // longer than QEMU is needed.
            layers.extend(whole_guest::boot_layers(&WholeGuest {
                kernel,
                module: module.map(Source::File).or(build),
                build_directory: &build_directory,
                program: Path::new("/proc/self/exe"),
                cpu: request.cpu,
                other: find_second_cpu(request).ok(),
                kvm: kind,
                stop: request.stop,
            }));
        }
    }
    hear(Event::RoundsBegin);
    let Layers { running, missing } = layers;
    let mut timings = rounds::run_rounds(running, request.effort, request.stop, &mut |done, all| {
        hear(Event::Portions(done, all));
    })?;
    timings.missing.extend(missing);
    let measurements = figures::measurements(&timings, kvm);
    let mut coverage = figures::coverage(&timings);
    coverage.extend(request.kernel.is_none().then(kernel_not_asked_for));
    let Timings { missing, interrupted, .. } = timings;
    let thread_time = Duration::from_nanos(thread_ns.load(Ordering::Relaxed));
    Ok(Outcome { measurements, coverage, interrupted, missing, thread_time })
}

impl Outcome {
    /// Adds the CPU time of the kernel module's threads to the CPU time of this process. These threads belong to no process.
    pub fn add_thread_time(&self, after: &mut Snapshot) {
        if let Some(own) = &mut after.own_cpu_seconds {
            // Rounded to two decimals, like the kernel's counts.
            *own = ((*own + self.thread_time.as_secs_f64()) * 100.0).round() / 100.0;
        }
    }
}

/// Checks whether a quota throttles every slice. In this case, no layer can be timed on this machine: a run that
/// normally takes seconds would take minutes and measure only the throttling.
///
/// # Errors
///
/// The quota, and the remedy.
pub fn check_quota(machine: &Machine) -> Result<(), Unavailable> {
    match machine.limits.cpu_quota.filter(|quota| *quota < LEAST_QUOTA) {
        None => Ok(()),
        Some(quota) => Err(text!(
            "overhead-quota-too-small",
            "a quota of {quota} CPUs interrupts each 20 ms slice",
            quota = significant(quota)
        )
        .with_remedy(text!(
            "allow at least {least} CPUs (cpu.max of the cgroup, docker --cpus)",
            least = significant(LEAST_QUOTA)
        ))),
    }
}

/// The layers of user programs that can run here, and those that are unavailable.
fn start_user_layers(request: &Request, ticks: Ticks) -> Layers {
    let cpu = request.cpu;
    let mut modes = vec![UserMode::Unbound(request.cpus.clone()), UserMode::Bound(cpu), UserMode::Again(cpu)];
    let mut layers = Layers::default();
    match find_second_cpu(request) {
        Ok(other) => modes.push(UserMode::Bound(other)),
        Err((other, why)) => layers.missing.push((UserMode::Bound(other).name(), why)),
    }
    modes.push(UserMode::RealTime(cpu));
    for mode in modes {
        layers.push(mode.name(), User::start(mode, ticks));
    }
    layers
}

/// The first CPU other than the one to which layers are pinned. The first CPU is used because low-numbered CPUs usually
/// handle the most interrupts. It must have the same core type, so that interrupts are the only difference between the
/// two CPUs.
fn find_second_cpu(request: &Request) -> Result<u32, (u32, Unavailable)> {
    let cpu = request.cpu;
    let kind = |id: u32| request.machine.cpu(id).map(|cpu| (cpu.kind.clone(), cpu.capacity));
    let alike = |other: &u32| *other != cpu && kind(*other) == kind(cpu);
    if let Some(other) = request.cpus.iter().find(alike) {
        return Ok(other);
    }
    let first = request.cpus.iter().find(|other| *other != cpu);
    Err(match first {
        Some(other) => (
            other,
            Unavailable::new(text!("core type differs from CPU {cpu}, so results are not comparable")),
        ),
        None => (
            u32::from(cpu == 0),
            text!("this process is allowed to use only one CPU").with_remedy(crate::MORE_CPUS),
        ),
    })
}

/// The coverage entry for kernel layers that were not requested, with the requirements of these layers. A kernel
/// without module support is reported only on request.
fn kernel_not_asked_for() -> Coverage {
    let why = kernel_module::find_missing_support(Path::new("/")).unwrap_or_else(|| {
        text!("not requested; --kernel loads a kernel module and requires root")
            .with_remedy("sudo linespeed overhead --kernel")
    });
    Coverage { remedy: why.remedy, ..Coverage::skipped("overhead (kernel)", why.reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_a_quota_that_a_portion_does_not_fit_into_nothing_is_timed() {
        let with = |cpu_quota| {
            let mut machine = Machine::default();
            machine.limits.cpu_quota = cpu_quota;
            check_quota(&machine)
        };
        assert_eq!([with(None), with(Some(0.2)), with(Some(1.5))], [Ok(()), Ok(()), Ok(())]);
        let refused = with(Some(0.05)).unwrap_err();
        assert_eq!(refused.reason.code(), Some("overhead-quota-too-small"));
        assert!(refused.remedy.is_some());
    }

    #[test]
    fn what_no_thread_of_the_kernel_used_changes_nothing() {
        let outcome = Outcome::default();
        let mut after = Snapshot { own_cpu_seconds: Some(2.5), ..Snapshot::default() };
        outcome.add_thread_time(&mut after);
        assert_eq!(after, Snapshot { own_cpu_seconds: Some(2.5), ..Snapshot::default() });
        let mut unknown = Snapshot::default();
        outcome.add_thread_time(&mut unknown);
        assert_eq!(unknown.own_cpu_seconds, None);
    }
}
