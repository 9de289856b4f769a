//! The labels of a measurement, which specify where and how it was made.

/// A label of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Label {
    /// Number of active cores: `one`, `all`.
    Active,
    /// The bandwidth of the concurrent load, B/s.
    Bandwidth,
    /// The CPU to which a routine is bound: `none`, `cpu 3`.
    Bound,
    /// Size of the working set or block, bytes.
    Bytes,
    /// Which bytes a bandwidth includes: `stream` (those that the loop moves) or `bus` (also the lines that stores
    /// read).
    BytesCounted,
    /// A category of top-down analysis: `retiring`.
    Category,
    /// What used the CPU: `os`, or `below` for the hypervisor or the firmware.
    Cause,
    /// Number of simultaneous pointer chases.
    Chains,
    /// The kernel's clock source.
    Clocksource,
    /// A physical core, by its number.
    Core,
    /// Whether the result is corrected for missed wake-ups (coordinated omission).
    Corrected,
    /// A logical CPU, by its number.
    Cpu,
    /// Several CPUs: a list of CPUs, or only their number.
    Cpus,
    /// The event of a counter, by its name in perf.
    Event,
    /// The requesting node or CPU.
    From,
    /// How a cache line is passed from core to core; see [`Handover`](crate::Handover).
    Handover,
    /// The node whose memory contains the cache line.
    Home,
    /// Interrupts `on` or `off`.
    Interrupts,
    /// A variant of the metric.
    Kind,
    /// A layer of the machine: `user`, `kernel`.
    Layer,
    /// The node of the memory.
    Node,
    /// A loop over memory: `read`, `triad`.
    Op,
    /// Page size: `4KiB`, `2MiB`.
    Page,
    /// The order in which CPUs were added: `cores-first`.
    Placement,
    /// A scheduling policy: `other`, `fifo`.
    Policy,
    /// A real-time priority.
    Priority,
    /// The node of the reader.
    ReaderNode,
    /// The scope of one result: `node`, `package`.
    Scope,
    /// `as-is`, `awake` or `tuned`.
    Setting,
    /// The concurrent load, as a share of the maximum.
    ShareOfPeak,
    /// The source of a count: `pmu`, `declared`.
    Source,
    /// A state of a thread or a CPU: `user`, `runnable`.
    State,
    /// `regular` or `streaming`.
    Stores,
    /// A thread, by its name.
    Thread,
    /// Number of threads or copies.
    Threads,
    /// The target node or CPU.
    To,
    /// The target CPU.
    ToCpu,
    /// Concurrent vector work: `scalar`, `256`, `512`.
    Vector,
    /// A workload by its name; `command` for a user's command.
    Workload,
    /// The node of the writer.
    WriterNode,
}

impl Label {
    /// The label's name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The label with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// The display name of a workload: the workload `triad` must not be confused with the triad of `memory.bandwidth`.
pub fn name_workload(name: &str) -> &str {
    if name == "triad" { "triad (regular stores)" } else { name }
}
