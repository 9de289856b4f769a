//! Layers: their names, the slices that they run, and the reasons why some are unavailable.

use std::fmt;
use std::ops::Range;

use record::Unavailable;
use serde::{Deserialize, Serialize};

/// The layer that runs the user program a second time; any difference from the first run is noise.
pub const AGAIN: &str = "user again";
/// The prefix of the names of guest layers.
const GUEST: &str = "guest";
/// The layer that runs the user program with real-time priority.
pub const REAL_TIME: &str = "user real-time";

/// The offset of an address in its page. The page size is assumed to be 4 KiB, the smallest page size of any machine.
pub fn page_offset(address: u64) -> u16 {
    (address % 4096) as u16
}

/// One slice of the routine, as run by a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// The number of primes found in the requested range.
    pub primes: u64,
    /// The duration, seconds, measured with the invariant counter ([`crate::Ticks`]) that all layers use.
    pub seconds: f64,
    /// The core's clock, Hz: the mean of two readings, taken on the same CPU right before and right after the slice. A
    /// reading times a chain of dependent adds.
    pub clock: f64,
    /// The difference between these two readings, relative to their mean.
    pub clock_moved: f64,
    /// CRC-32 ([`crate::crc32`]) of the routine's bytes as executed.
    pub crc: u32,
    /// The routine's offset in its page.
    pub page_offset: u16,
    /// The CPU at the start of the slice. A guest's CPU numbers are unrelated to those of the host.
    #[serde(skip)]
    pub cpu_from: Option<u32>,
    /// The CPU at the end of the slice.
    #[serde(skip)]
    pub cpu_to: Option<u32>,
    /// Events that disturbed the slice.
    pub disturbed: Disturbed,
}

/// Events during a slice; `None` if they cannot be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbed {
    /// Interrupts on the CPU, including timer interrupts.
    pub interrupts: Option<u64>,
    /// Softirqs on the CPU.
    pub softirqs: Option<u64>,
    /// Involuntary context switches.
    pub involuntary: Option<u64>,
    /// Voluntary context switches.
    pub voluntary: Option<u64>,
    /// Migrations between CPUs.
    pub migrations: Option<u64>,
    /// Steal time of the CPU, seconds. The kernel counts steal time in steps of 10 ms.
    #[serde(skip)]
    pub stolen: Option<f64>,
}

/// A layer's name, which consists of the labels of its `layer.time` result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerName {
    /// `user`, `user again` (a repetition of `user`, for the noise floor), `user real-time`, `kernel`, `guest user`,
    /// `guest kernel`, `guest OS user`, `guest OS kernel`.
    pub layer: &'static str,
    /// The CPU to which the layer is pinned; `None` if the scheduler places it.
    pub bound: Option<u32>,
    /// Whether interrupts are enabled.
    pub interrupts: bool,
}

impl LayerName {
    /// Whether the layer belongs to a guest.
    pub fn is_guest(&self) -> bool {
        self.layer.starts_with(GUEST)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.layer)?;
        match self.bound {
            None => f.write_str(", unpinned")?,
            Some(cpu) => write!(f, ", pinned to CPU {cpu}")?,
        }
        if self.interrupts { Ok(()) } else { f.write_str(", interrupts off") }
    }
}

/// A layer in which the routine can run. Dropping the value undoes the layer's setup.
pub trait Layer {
    /// The layer's name.
    fn name(&self) -> LayerName;

    /// Counts the primes in a range in this layer. This takes milliseconds to tenths of a second; the caller sleeps
    /// while the layer's thread works.
    ///
    /// # Errors
    ///
    /// The reason why the layer cannot run; the layer is then omitted with this reason.
    fn pass(&mut self, range: Range<u64>) -> Result<Pass, Unavailable>;
}

/// All attempted layers: those that are running and those that are unavailable.
#[derive(Default)]
pub struct Layers {
    /// The running layers.
    pub running: Vec<Box<dyn Layer>>,
    /// The unavailable layers, each with the reason.
    pub missing: Vec<(LayerName, Unavailable)>,
}

impl Layers {
    /// Adds a layer, or the reason why it is unavailable.
    pub fn push<L: Layer + 'static>(&mut self, name: LayerName, layer: Result<L, Unavailable>) {
        match layer {
            Ok(layer) => self.running.push(Box::new(layer)),
            Err(why) => self.missing.push((name, why)),
        }
    }

    /// Adds other layers.
    pub fn extend(&mut self, others: Layers) {
        self.running.extend(others.running);
        self.missing.extend(others.missing);
    }
}
