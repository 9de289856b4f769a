//! What a layer is: its place, a pass over the routine, and why it cannot be had.

use std::fmt;
use std::ops::Range;

use record::Unavailable;
use serde::{Deserialize, Serialize};

/// The layer that is the user program once more: what differs from it is noise.
pub const AGAIN: &str = "user again";
/// What the names of a guest's layers begin with.
const GUEST: &str = "guest";
/// The user program with real-time priority.
pub const REAL_TIME: &str = "user real-time";

/// Where in its page an address lies; pages of 4 KiB, the least that any machine has.
pub fn page_offset(address: u64) -> u16 {
    (address % 4096) as u16
}

/// One portion of the routine, as a layer ran it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Primes in the range that was asked for.
    pub primes: u64,
    /// How long it took, by the invariant counter ([`crate::Ticks`]): the same clock for all layers.
    pub seconds: f64,
    /// The core's clock by dependent adds on the CPU that ran it, right before and after: their mean, Hz.
    pub clock: f64,
    /// How far those two lie apart: a share of their mean.
    pub clock_moved: f64,
    /// CRC-32 ([`crate::crc32`]) of the routine's bytes where they ran.
    pub crc: u32,
    /// Where in its page the routine began.
    pub page_offset: u16,
    /// The CPU at the start. A guest's own is none of the host's.
    #[serde(skip)]
    pub cpu_from: Option<u32>,
    /// The CPU at the end.
    #[serde(skip)]
    pub cpu_to: Option<u32>,
    /// What disturbed it.
    pub disturbed: Disturbed,
}

/// What happened during a portion; `None` where it cannot be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbed {
    /// Interrupts of its CPU, the timer's among them.
    pub interrupts: Option<u64>,
    /// Softirqs of its CPU.
    pub softirqs: Option<u64>,
    /// Context switches that the thread did not ask for.
    pub involuntary: Option<u64>,
    /// Context switches that it asked for.
    pub voluntary: Option<u64>,
    /// Moves from CPU to CPU.
    pub migrations: Option<u64>,
    /// Time that the hypervisor took from its CPU, seconds; the kernel counts it in steps of 10 ms.
    #[serde(skip)]
    pub stolen: Option<f64>,
}

/// A layer's place: the keys of `layer.time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerName {
    /// `user`, `user again` (the same once more, for the noise floor), `user real-time`, `kernel`, `guest user`,
    /// `guest kernel`, `guest OS user`.
    pub layer: &'static str,
    /// The CPU that it is bound to; `None` where the scheduler places it.
    pub bound: Option<u32>,
    /// Whether interrupts reach it.
    pub interrupts: bool,
}

impl LayerName {
    /// Whether it is one of a guest.
    pub fn is_guest(&self) -> bool {
        self.layer.starts_with(GUEST)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.layer)?;
        match self.bound {
            None => f.write_str(", not bound")?,
            Some(cpu) => write!(f, ", bound to CPU {cpu}")?,
        }
        if self.interrupts { Ok(()) } else { f.write_str(", interrupts off") }
    }
}

/// A place where the routine can run. Everything that it set up is put back when it is dropped.
pub trait Layer {
    /// Its place.
    fn name(&self) -> LayerName;

    /// Counts the primes of a range there, some milliseconds to some tenths of a second of work. The caller sleeps
    /// while the layer's own thread works.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from running; the layer is then left out, with this reason.
    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable>;
}

/// Layers that were tried: those that run, and those that cannot be had.
#[derive(Default)]
pub struct Layers {
    /// Those that run.
    pub running: Vec<Box<dyn Layer>>,
    /// Those that cannot be had, each with its reason.
    pub missing: Vec<(LayerName, Unavailable)>,
}

impl Layers {
    /// Adds a layer, or why it cannot be had.
    pub fn push(&mut self, name: LayerName, layer: Result<Box<dyn Layer>, Unavailable>) {
        match layer {
            Ok(layer) => self.running.push(layer),
            Err(why) => self.missing.push((name, why)),
        }
    }

    /// Adds others.
    pub fn extend(&mut self, others: Layers) {
        self.running.extend(others.running);
        self.missing.extend(others.missing);
    }
}
