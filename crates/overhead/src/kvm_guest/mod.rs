//! The routine in a guest of raw `/dev/kvm`, with no other software: a virtual machine of one page table and the
//! routine's page, in user mode and in kernel mode.
//!
//! What KVM there is, is found out by running: some run a guest's kernel mode by interpreting it, some do not answer
//! at all. A guest has a thread of its own, bound to its CPU; the caller waits for it with a time-out, takes it out
//! of the guest with a signal, and leaves nothing behind.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod abi;
mod device;
mod kind;
mod machine;
mod worker;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as processor;
#[cfg(target_arch = "x86_64")]
use x86_64 as processor;

use record::text;
use record::text::Value;

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::{Bound, Layer, LayerName, Layers, Pass, Ticks, Unavailable};
use os::Stop;

pub use device::PATH;
pub use kind::Kind;
use worker::Worker;

/// Which of the processor's modes the guest runs the routine in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// CPL3 or EL0.
    User,
    /// CPL0 or EL1.
    Kernel,
}

impl Mode {
    /// The layer's place, on this CPU. The machine's interrupts reach it.
    pub fn name(self, cpu: u32) -> LayerName {
        let layer = match self {
            Mode::User => "guest user",
            Mode::Kernel => "guest kernel",
        };
        LayerName { layer, bound: Bound::Cpu(cpu), interrupts: true }
    }
}

/// How the guest says that the routine has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitWay {
    /// It writes to a port.
    Port,
    /// It stores to an address that has no memory.
    Store,
}

impl fmt::Display for ExitWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExitWay::Port => "a write to a port",
            ExitWay::Store => "a store to an address without memory",
        })
    }
}

/// What came out of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    /// Whether it ended as it should; otherwise the figures mean nothing.
    ended: bool,
    exit: machine::Exit,
    primes: u64,
    /// The counter as the guest read it, right before the routine and right after.
    from: u64,
    to: u64,
    /// Where it ran.
    routine: u64,
}

/// The numbers that are tried first, and the primes below it.
const TRIAL: Range<u64> = 0..2000;
const TRIAL_PRIMES: u64 = 303;
/// How long the trial may take. A KVM that interprets takes 0.3 s, a processor 20 µs.
const TRIAL_LIMIT: Duration = Duration::from_secs(4);
/// How long the routine may take for what is asked of it afterwards: a hundred times what a whole pass takes on a slow
/// processor.
const LIMIT: Duration = Duration::from_secs(60);
/// So many times as long as outside of the guest cannot be a hypervisor's cost: it is interpreted. Seen: 1.0 to 1.3
/// where a processor runs it, 500 to 20,000 where it does not.
const INTERPRETED: f64 = 20.0;

/// What was found by running a guest.
#[derive(Debug)]
pub struct Found {
    /// What KVM it is.
    pub kind: Kind,
    /// The guest in user mode, or why it cannot be had.
    pub user: Result<Guest, Unavailable>,
    /// The guest in kernel mode, or why it cannot be had.
    pub kernel: Result<Guest, Unavailable>,
}

impl Found {
    /// Both guests as layers on this CPU.
    pub fn into_layers(self, cpu: u32) -> Layers {
        let mut layers = Layers::default();
        for (mode, guest) in [(Mode::User, self.user), (Mode::Kernel, self.kernel)] {
            layers.push(mode.name(cpu), guest.map(|guest| Box::new(guest) as Box<dyn Layer>));
        }
        layers
    }
}

/// Tries guests on this CPU, with the device at `path` ([`PATH`]). `hypervisor` is what this machine runs below itself,
/// `none` where it is hardware. It takes a second at most where KVM answers, and at most ten where it does not.
/// A signal that `stop` tells ends a guest that hangs.
pub fn probe(
    path: &Path,
    cpu: u32,
    hypervisor: Option<&str>,
    (ticks, stop): (Ticks, &'static Stop),
) -> Found {
    let user = Guest::start(path, cpu, Mode::User, (ticks, stop));
    let kernel = match &user {
        // Without a device there is nothing more to try.
        Err(tried) if tried.times.is_none() && tried.before_running => Err(tried.clone()),
        _ => Guest::start(path, cpu, Mode::Kernel, (ticks, stop)),
    };
    Found {
        kind: kind::classify(&user, &kernel, hypervisor, Path::new("/sys/module/kvm_pvm").exists()),
        user: user.map_err(|tried| tried.failure),
        kernel: kernel.map_err(|tried| tried.failure),
    }
}

/// A guest that could not be had.
#[derive(Clone, Debug)]
struct Tried {
    failure: Unavailable,
    /// How many times as long as outside the trial took in it.
    times: Option<f64>,
    /// Whether there was no guest at all.
    before_running: bool,
}

/// A guest that runs the routine at the processor's speed.
#[derive(Debug)]
pub struct Guest {
    mode: Mode,
    cpu: u32,
    worker: Worker,
    way: ExitWay,
    times: f64,
}

impl Guest {
    fn start(path: &Path, cpu: u32, mode: Mode, by: (Ticks, &'static Stop)) -> Result<Self, Tried> {
        let before = |failure| Tried { failure, times: None, before_running: true };
        let mut worker = Worker::start(path, cpu, mode, by, TRIAL_LIMIT).map_err(before)?;
        let tried = |failure| Tried { failure, times: None, before_running: false };
        let trial = worker.try_out(TRIAL_LIMIT).map_err(tried)?;
        if trial.times >= INTERPRETED {
            let failure = interpreted(mode, &trial);
            return Err(Tried { failure, times: Some(trial.times), before_running: false });
        }
        Ok(Self { mode, cpu, worker, way: trial.way, times: trial.times })
    }

    /// How the guest says that the routine has ended.
    pub fn way(&self) -> ExitWay {
        self.way
    }

    /// How many times as long as outside of the guest the trial took, its best run against the best one.
    pub fn times(&self) -> f64 {
        self.times
    }
}

/// What is told of a mode that is interpreted: its time is not a hypervisor's cost.
fn interpreted(mode: Mode, trial: &worker::Trial) -> Unavailable {
    let mode = match mode {
        Mode::User => "user",
        Mode::Kernel => "kernel",
    };
    Unavailable::new(text!(
        "KVM emulates the guest's {mode} mode: counting the primes below {end} took {time}, {times} of the time outside; \
         this is not a hypervisor's cost",
        mode,
        end = TRIAL.end,
        time = Value::Figure(trial.seconds, "s"),
        times = Value::Factor(trial.times)
    ))
    .with_remedy(text!(
        "measure where KVM uses the processor's virtualization: on the hardware itself, or with nested virtualization"
    ))
}

impl Layer for Guest {
    fn name(&self) -> LayerName {
        self.mode.name(self.cpu)
    }

    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable> {
        self.worker.pass(range, LIMIT)
    }
}

#[cfg(test)]
mod tests;
