//! Options of `plan`.

use clap::{Args, ValueEnum};

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// A record of the machine to plan for, or reference:NAME; - is standard input; without, or with a dot: this machine,
    /// with the newest figures of its records that are not in doubt
    pub record: Option<String>,
    /// So many processes; without: one a node, or with --threads as many as there is room for
    #[arg(long, value_name = "N")]
    pub processes: Option<u32>,
    /// So many threads in each process; without: as many as its CPUs allow
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,
    /// What the layout is to be good for
    #[arg(long = "for", value_name = "WHAT", default_value = "throughput")]
    pub purpose: Purpose,
    /// Only the lines to paste of this tool: numactl, taskset, systemd, docker, kubernetes
    #[arg(long = "as", value_name = "TOOL", value_parser = clap::builder::PossibleValuesParser::new(diagnose::TOOLS),
          conflicts_with = "json")]
    pub tool: Option<String>,
    /// Run the command both ways, as planned and unbound, in turn, and say what the layout really gives
    // That it goes with neither a record nor --as is told by the command: clap's usage line would show the record.
    #[arg(long)]
    pub verify: bool,
    /// Rounds of --verify; an interval needs 6
    #[arg(short, long, value_name = "N", default_value = "10", requires = "verify",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
    /// The longest that one run of --verify may take, for instance 30s or 5m
    #[arg(long, value_name = "TIME", requires = "verify")]
    pub timeout: Option<String>,
    /// The command that --verify runs: once for each process when {threads}, {process}, {cpus} or {node} stands in it, else
    /// a copy for each thread
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// What a layout is to be good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// The most work in a given time
    Throughput,
    /// The same for programs that wait for memory: siblings are judged by memory's workloads alone
    Memory,
    /// Short and even answers: a core for each thread, interrupts on cores of their own
    Latency,
}

impl From<Purpose> for record::plan::Purpose {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Throughput => record::plan::Purpose::Throughput,
            Purpose::Memory => record::plan::Purpose::Memory,
            Purpose::Latency => record::plan::Purpose::Latency,
        }
    }
}

pub(super) const PLAN_HELP: &str = "\
--json prints the plan as JSON, --output FILE writes that (with --as the lines) to a file. --cpus LIST keeps the plan on \
these CPUs. Gains are modelled from the measured matrices (linespeed run numa).

--verify does the same work both ways: as many copies, of as many threads each, bound as planned and unbound. In the \
command {threads} is a process's number of threads, {process} its number from 0, {cpus} its CPUs and {node} its nodes; \
of the unbound ones {cpus} and {node} are all. Its output is dropped.";
