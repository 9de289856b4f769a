//! Runs the routine in a guest directly on `/dev/kvm`, without QEMU: a virtual machine with one page table and the
//! routine's page, in user mode and in kernel mode.
//!
//! The kind of KVM is determined by running guests, because some kinds interpret a guest's kernel mode, and some never
//! return from running a guest. Each guest has a separate thread, pinned to its CPU. The caller waits for the thread
//! with a timeout, can interrupt the guest with a signal, and leaves nothing behind.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod device;
mod kind;
mod machine;
mod running;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as processor;
#[cfg(target_arch = "x86_64")]
use x86_64 as processor;

use record::text;
use record::text::Value;

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::layer_thread::{LayerThread, Patience};
use super::{Layer, LayerName, Layers, Pass, Ticks, Unavailable};
use os::Stop;

pub use device::PATH;
pub use kind::Kind;
use running::{Running, Trial};

/// The processor mode in which the guest runs the routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// CPL3 or EL0.
    User,
    /// CPL0 or EL1.
    Kernel,
}

impl Mode {
    /// The name of this mode's layer on `cpu`. The interrupts of the machine, outside the guest, are enabled in this layer.
    pub fn name(self, cpu: u32) -> LayerName {
        let layer = match self {
            Mode::User => "guest user",
            Mode::Kernel => "guest kernel",
        };
        LayerName { layer, bound: Some(cpu), interrupts: true }
    }
}

/// The way in which the guest signals that the routine has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitWay {
    /// The guest writes to a port.
    Port,
    /// The guest stores to an address outside its memory.
    Store,
}

/// The result of a guest's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    /// Whether the guest ended normally; otherwise, the values are meaningless.
    ended: bool,
    exit: machine::Exit,
    primes: u64,
    /// The counter values that the guest read right before the routine and right after it.
    from: u64,
    to: u64,
    /// The address at which the routine ran.
    routine: u64,
}

/// The first range to try, and the number of primes in it.
const TRIAL: Range<u64> = 0..2000;
const TRIAL_PRIMES: u64 = 303;
/// The time limit of the trial. The trial takes 0.3 s if KVM interprets the guest, and 20 µs if the processor runs it.
const TRIAL_LIMIT: Duration = Duration::from_secs(4);
/// The time limit of the routine after the trial: a hundred times the duration of a complete pass on a slow processor.
const LIMIT: Duration = Duration::from_secs(60);
/// A guest that is slower than user mode by this factor is interpreted, because no hypervisor has such overhead. The
/// measured factors are 1.0 to 1.3 if the processor runs the guest, and 500 to 20,000 otherwise.
const INTERPRETED: f64 = 20.0;

/// The result of trying to run guests.
#[derive(Debug)]
pub struct Found {
    /// The kind of KVM.
    pub kind: Kind,
    /// The guest in user mode, or the reason why it is unavailable.
    pub user: Result<Guest, Unavailable>,
    /// The guest in kernel mode, or the reason why it is unavailable.
    pub kernel: Result<Guest, Unavailable>,
}

impl Found {
    /// Both guests, as layers that run on this CPU.
    pub fn into_layers(self, cpu: u32) -> Layers {
        let mut layers = Layers::default();
        for (mode, guest) in [(Mode::User, self.user), (Mode::Kernel, self.kernel)] {
            layers.push(mode.name(cpu), guest);
        }
        layers
    }
}

/// Tries to run guests on this CPU, with the device at `path` ([`PATH`]). `hypervisor` is the hypervisor under which
/// this machine runs; `none` means bare metal. The trial takes at most one second if KVM responds, and at most ten
/// seconds otherwise. A stop signal in `stop` ends a hanging guest.
pub fn probe(
    path: &Path,
    cpu: u32,
    hypervisor: Option<&str>,
    (ticks, stop): (Ticks, &'static Stop),
) -> Found {
    let user = Guest::start(path, cpu, Mode::User, (ticks, stop));
    let kernel = match &user {
        // Without a device, trying kernel mode is pointless.
        Err(tried @ Tried { ended: TriedUntil::Made, .. }) => Err(tried.clone()),
        _ => Guest::start(path, cpu, Mode::Kernel, (ticks, stop)),
    };
    let ended = [user.as_ref().err(), kernel.as_ref().err()].map(|tried| tried.map(|tried| tried.ended));
    Found {
        kind: Kind::of_guests(ended, hypervisor, Path::new("/sys/module/kvm_pvm").exists()),
        user: user.map_err(|tried| tried.failure),
        kernel: kernel.map_err(|tried| tried.failure),
    }
}

/// A failed guest.
#[derive(Clone, Debug)]
struct Tried {
    failure: Unavailable,
    ended: TriedUntil,
}

/// The point that a failed guest reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TriedUntil {
    /// The guest could not be created.
    Made,
    /// The guest does not run, or does not end normally.
    Run,
    /// The guest is far slower than the same code outside a guest.
    Interpreted,
}

/// A guest that runs the routine at the processor's speed.
#[derive(Debug)]
pub struct Guest {
    mode: Mode,
    cpu: u32,
    thread: LayerThread<Running>,
    patience: Patience,
    way: ExitWay,
}

impl Guest {
    fn start(
        path: &Path,
        cpu: u32,
        mode: Mode,
        (ticks, stop): (Ticks, &'static Stop),
    ) -> Result<Self, Tried> {
        let tried = |ended| move |failure| Tried { failure, ended };
        let what = format!("KVM ({})", path.display());
        let patience = Patience { what, limit: TRIAL_LIMIT, stop, interrupt: machine::INTERRUPT };
        let device = path.to_owned();
        let mut thread = LayerThread::start(Some(&patience), move || Running::make(device, cpu, mode, ticks))
            .map_err(tried(TriedUntil::Made))?;
        let trial = thread.run(Some(&patience), Running::try_out).map_err(tried(TriedUntil::Run))?;
        if trial.times >= INTERPRETED {
            return Err(tried(TriedUntil::Interpreted)(interpreted(mode, &trial)));
        }
        let patience = Patience { limit: LIMIT, ..patience };
        Ok(Self { mode, cpu, thread, patience, way: trial.way })
    }
}

/// The reason for omitting an interpreted mode: its time does not show a hypervisor's overhead.
fn interpreted(mode: Mode, trial: &Trial) -> Unavailable {
    let mode = match mode {
        Mode::User => "user",
        Mode::Kernel => "kernel",
    };
    text!(
        "KVM emulates the guest's {mode} mode, so its time does not show hypervisor overhead: counting the \
         primes below {end} took {time}, {times} the time outside the guest",
        end = TRIAL.end,
        time = Value::Figure(trial.seconds, "s"),
        times = Value::Factor(trial.times)
    )
    .with_remedy(text!(
        "measure where KVM uses hardware virtualization: on bare metal or with nested virtualization"
    ))
}

impl Layer for Guest {
    fn name(&self) -> LayerName {
        self.mode.name(self.cpu)
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
        let way = self.way;
        self.thread.run(Some(&self.patience), move |guest| guest.pass(way, &range))
    }
}

#[cfg(test)]
mod tests;
