//! The labels of a measurement, which specify where and how it was made.

/// A label of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Label {
    /// Number of active cores: `one`, `all`.
    Active,
    /// The bandwidth of the concurrent load, B/s.
    Bandwidth,
    /// The binding of a routine: `none`, `cpu 3`.
    Bound,
    /// Size of the working set or block, bytes.
    Bytes,
    /// The bytes that a bandwidth counts: `stream` (bytes moved by the loop) or `bus` (including lines read by stores).
    BytesCounted,
    /// A category of top-down analysis: `retiring`.
    Category,
    /// The user of the CPU: `os`, `hypervisor`.
    Cause,
    /// Number of simultaneous pointer chases.
    Chains,
    /// The kernel's clock source.
    Clocksource,
    /// A physical core, by its number.
    Core,
    /// Whether missed ticks are corrected (coordinated omission).
    Corrected,
    /// A logical CPU, by its number.
    Cpu,
    /// Several CPUs, as a list or a number.
    Cpus,
    /// A counter's event, by its name in perf.
    Event,
    /// The requesting node or CPU.
    From,
    /// How a line is passed from core to core; see [`Handover`](crate::Handover).
    Handover,
    /// The node of the memory that contains a line.
    Home,
    /// Interrupts `on` or `off`.
    Interrupts,
    /// A subkind of the metric.
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
    /// `as-is` or `tuned`.
    Setting,
    /// Concurrent load, as a share of the peak.
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
    /// A workload by its name; `command` for a command of the user.
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

/// A workload's display name, which distinguishes it from the triads of memory bandwidth.
pub fn name_workload(name: &str) -> &str {
    if name == "triad" { "triad (regular stores)" } else { name }
}
