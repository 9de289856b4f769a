//! The labels of a measurement: where it was taken.

/// A label of a measurement.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::IntoStaticStr,
    strum::Display,
    strum::EnumString,
)]
#[strum(serialize_all = "snake_case")]
pub enum Label {
    /// How many cores worked: `one`, `all`.
    Active,
    /// What the load beside it moved, B/s.
    Bandwidth,
    /// What a routine was bound to: `none`, `cpu 3`.
    Bound,
    /// Size of the working set or block, bytes.
    Bytes,
    /// Which bytes a bandwidth counts: `stream` (what the loop moves), `bus` (with the lines that stores read).
    BytesCounted,
    /// A category of top-down analysis: `retiring`.
    Category,
    /// What took the CPU: `os`, `hypervisor`.
    Cause,
    /// Chases that run at once.
    Chains,
    /// The kernel's clock source.
    Clocksource,
    /// A physical core, by its number.
    Core,
    /// Whether the tick of the clock is taken out (coordinated omission).
    Corrected,
    /// A logical CPU, by its number.
    Cpu,
    /// Several CPUs, as a list, or how many.
    Cpus,
    /// A counter's event, by its name in perf.
    Event,
    /// The node or CPU that asks.
    From,
    /// How a line goes from core to core; see [`Handover`](crate::Handover).
    Handover,
    /// The node of the memory that a line lies in.
    Home,
    /// Interrupts `on` or `off`.
    Interrupts,
    /// A kind of what the metric names.
    Kind,
    /// A layer of the machine: `user`, `kernel`.
    Layer,
    /// The node of the memory.
    Node,
    /// A loop over memory: `read`, `triad`.
    Op,
    /// Page size: `4KiB`, `2MiB`.
    Page,
    /// The order in which CPUs were taken: `cores-first`.
    Placement,
    /// A scheduling policy: `other`, `fifo`.
    Policy,
    /// A real-time priority.
    Priority,
    /// The node of the reader.
    ReaderNode,
    /// What one figure was taken over: `node`, `package`.
    Scope,
    /// `as-is` or `tuned`.
    Setting,
    /// Load beside it, as a share of the most.
    ShareOfPeak,
    /// Where a count comes from: `pmu`, `declared`.
    Source,
    /// A state of a thread or a CPU: `user`, `runnable`.
    State,
    /// `regular` or `streaming`.
    Stores,
    /// A thread, by its name.
    Thread,
    /// Threads or copies at work.
    Threads,
    /// The node or CPU that is asked.
    To,
    /// The CPU that is asked.
    ToCpu,
    /// Vector work beside it: `scalar`, `256`, `512`.
    Vector,
    /// A workload by its name; `command` for a command of the user.
    Workload,
    /// The node of the writer.
    WriterNode,
}

impl Label {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The label of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// A workload's name as people read it: memory bandwidth has triads of other stores.
pub fn name_workload(name: &str) -> &str {
    if name == "triad" { "triad (regular stores)" } else { name }
}
