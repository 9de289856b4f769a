//! What is known of a run of `perf stat`.

/// What is known of the run as a whole.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The command as runs of it are compared.
    pub workload: Option<String>,
    /// Whether the whole machine was counted.
    pub system: bool,
    /// Whether nothing tells if it was the whole machine or one process.
    pub unknown: bool,
    /// Runs that the figures are means of.
    pub runs: Option<u64>,
    /// The CPUs that were counted, where not all were.
    pub cpus: Option<String>,
    /// The process or thread that was counted, where it ran already.
    pub attached: Option<String>,
}
