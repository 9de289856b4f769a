//! The labels of a measurement: where it was taken.

use std::fmt;

macro_rules! labels {
    ($($(#[doc = $meaning:literal])+ $label:ident = $name:literal,)+) => {
        /// A label of a measurement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Label {
            $($(#[doc = $meaning])+ $label,)+
        }

        impl Label {
            /// All of them, by their names.
            pub const ALL: &[Label] = &[$(Label::$label),+];

            /// Its name in records.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Label::$label => $name,)+
                }
            }
        }
    };
}

labels! {
    /// How many cores worked: `one`, `all`.
    Active = "active",
    /// What the load beside it moved, B/s.
    Bandwidth = "bandwidth",
    /// What a routine was bound to: `none`, `cpu 3`.
    Bound = "bound",
    /// Size of the working set or block, bytes.
    Bytes = "bytes",
    /// Which bytes a bandwidth counts: `stream` (what the loop moves), `bus` (with the lines that stores read).
    BytesCounted = "bytes_counted",
    /// A category of top-down analysis: `retiring`.
    Category = "category",
    /// What took the CPU: `os`, `hypervisor`.
    Cause = "cause",
    /// Chases that run at once.
    Chains = "chains",
    /// The kernel's clock source.
    Clocksource = "clocksource",
    /// A physical core, by its number.
    Core = "core",
    /// Whether the tick of the clock is taken out (coordinated omission).
    Corrected = "corrected",
    /// A logical CPU, by its number.
    Cpu = "cpu",
    /// Several CPUs, as a list, or how many.
    Cpus = "cpus",
    /// A counter's event, by its name in perf.
    Event = "event",
    /// The node or CPU that asks.
    From = "from",
    /// How a line goes from core to core; see [`Handover`](crate::Handover).
    Handover = "handover",
    /// The node of the memory that a line lies in.
    Home = "home",
    /// Interrupts `on` or `off`.
    Interrupts = "interrupts",
    /// A kind of what the metric names.
    Kind = "kind",
    /// A layer of the machine: `user`, `kernel`.
    Layer = "layer",
    /// The node of the memory.
    Node = "node",
    /// A loop over memory: `read`, `triad`.
    Op = "op",
    /// Page size: `4KiB`, `2MiB`.
    Page = "page",
    /// The order in which CPUs were taken: `cores-first`.
    Placement = "placement",
    /// A scheduling policy: `other`, `fifo`.
    Policy = "policy",
    /// A real-time priority.
    Priority = "priority",
    /// The node of the reader.
    ReaderNode = "reader_node",
    /// What one figure was taken over: `node`, `package`.
    Scope = "scope",
    /// `as-is` or `tuned`.
    Setting = "setting",
    /// Load beside it, as a share of the most.
    ShareOfPeak = "share_of_peak",
    /// Where a count comes from: `pmu`, `declared`.
    Source = "source",
    /// A state of a thread or a CPU: `user`, `runnable`.
    State = "state",
    /// `regular` or `streaming`.
    Stores = "stores",
    /// A thread, by its name.
    Thread = "thread",
    /// Threads or copies at work.
    Threads = "threads",
    /// The node or CPU that is asked.
    To = "to",
    /// The CPU that is asked.
    ToCpu = "to_cpu",
    /// Vector work beside it: `scalar`, `256`, `512`.
    Vector = "vector",
    /// A workload by its name; `command` for a command of the user.
    Workload = "workload",
    /// The node of the writer.
    WriterNode = "writer_node",
}

impl Label {
    /// The label of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|label| label.name() == name)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
/// A workload's name as people read it: memory bandwidth has triads of other stores.
pub fn name_workload(name: &str) -> &str {
    if name == "triad" { "triad (regular stores)" } else { name }
}
