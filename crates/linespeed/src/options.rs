//! The command line: each flag is defined once; help, completions and man page come from here.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use record::CpuList;
use record::diagnosis::Severity;

use crate::failure::Failure;

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 a finding at or above --fail-on; 2 wrong usage; 3 could not do it; \
128+n on signal n, after writing what was measured so far.";

/// How far this machine runs below the speed of its own hardware, and what takes the rest.
///
/// Without a command: inspect, measure, diagnose and report, in about a minute; leaves a record (JSON) and a page
/// (HTML) in $XDG_STATE_HOME/linespeed.
#[derive(Debug, Parser)]
#[command(name = "linespeed", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Options {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub out: Out,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What this machine is and how it is set up; measures nothing
    Inspect(Inspect),
    /// Measure only these: clock, latency, parallelism, loaded-latency, bandwidth, workloads, scaling, smt-yield, numa,
    /// core-to-core, wakeup, stolen, costs
    Run(Run),
    /// What can be measured here, what not and why, and how long each takes
    List,
    /// A command or a recipe on 1 to all CPUs, placement by placement: throughput, speed-up, IPC, the yield of siblings
    #[command(after_help = SCALE_HELP)]
    Scale(Scale),
    /// What a command is bound by, against what this machine can do
    #[command(after_help = STAT_HELP)]
    Stat(Stat),
    /// How to lay a program out on this machine, or on that of a record: processes, threads, CPUs, memory, as lines to
    /// paste
    #[command(after_help = PLAN_HELP)]
    Plan(Plan),
    /// What makes measurements noisy here, and how to turn it off: for a command, or until it is put back
    #[command(after_help = QUIET_HELP, override_usage = QUIET_USAGE)]
    Quiet(Quiet),
    /// What the kernel, interrupts and migration take of a CPU's speed: one routine, the same bytes, in each layer in turn
    #[command(after_help = OVERHEAD_HELP)]
    Overhead(Overhead),
    /// A record again, on the terminal or as a page
    Show(Show),
    /// Records side by side: what differs, by how much, and which differences explain it
    #[command(after_help = COMPARE_HELP)]
    Compare(Compare),
    /// Other tools' output as a record: lscpu, numactl, dmidecode, perf, cyclictest and more, also pasted together
    #[command(after_help = IMPORT_HELP)]
    Import(Import),
    /// The machines that ship with linespeed, or one of them: published figures, each with its source
    #[command(after_help = REFERENCE_HELP)]
    Reference(Reference),
    /// What a metric, a measurement or a word means: how it is measured, what is usual, what moves it
    Explain {
        /// A metric (load.latency), a measurement (wakeup) or a word (governor); without: all of them
        name: Option<String>,
    },
    /// The JSON Schema of a record, or of a comparison
    Schema {
        /// That of what compare --json prints
        #[arg(long)]
        comparison: bool,
    },
    /// Completions for a shell, to be sourced or installed
    Completions {
        /// The shell
        shell: Shell,
    },
    /// The manual pages, into a folder, or the main one to standard output
    Man {
        /// The folder
        folder: Option<PathBuf>,
    },
}

/// Options of `stat`.
#[derive(Debug, Args)]
pub struct Stat {
    /// Run it this many times: the median, and from 6 on its 95 % interval (all runs read the same standard input)
    #[arg(short, long, value_name = "N", default_value = "1", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: u32,
    /// Run it this many times before, uncounted
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,
    /// Print the counts as perf stat does; with --output, into that file
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text", conflicts_with = "json")]
    pub perf_format: Option<PerfFormat>,
    /// The same as fields, with this between them, as perf stat -x (\t is a tab)
    #[arg(short = 'x', value_name = "SEPARATOR", value_parser = separator, conflicts_with_all = ["perf_format", "json"])]
    pub separator: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// perf stat's layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PerfFormat {
    /// For people
    Text,
    /// Comma-separated fields, as perf stat -x,
    Csv,
}

/// A list of CPUs. Two commas in a row are a slip, of which nobody knows what was meant.
fn cpu_list(text: &str) -> Result<CpuList, String> {
    if text.contains(',') && text.split(',').any(|part| part.trim().is_empty()) {
        return Err("a number is missing beside a comma; write a list such as 0-3,8".to_owned());
    }
    text.parse().map_err(|error: record::cpu_list::CpuListError| error.to_string())
}

/// What stands between fields. perf takes `\t` for a tab and nothing else for anything but itself.
fn separator(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(if text == "\\t" { "\t" } else { text }.to_owned())
}

const STAT_HELP: &str = "\
Standard output and standard error stay the command's own. The report follows it on standard error; --json prints the \
record on standard error in the report's place, --output FILE writes the record to a file beside the report. --cpus LIST binds the command.

Exit codes: the command's own; 128+n when signal n ended it, or linespeed; 127 it was not found; 126 it cannot be run; \
2 wrong usage; 3 a file cannot be written.";

const SCALE_HELP: &str = "\
A command stands after --: linespeed scale -- COMMAND. It should do a fixed amount of work: the time of a run is its score. \
Of a program that runs for a fixed time a recipe reads the score that it prints.

Exit codes: 0 done; 1 a finding at or above --fail-on; 2 wrong usage; 3 could not do it, or every run failed; 127 the \
command was not found; 126 it cannot be run; 128+n on signal n, after writing what was measured so far.";

const IMPORT_HELP: &str = "\
Machines: prompts that name their host (root@db1:~#) tell machines apart. With --split files each file is a machine. With \
--split headings the heading above an output names its machine, and so does the first cell of a table's row. With a regular \
expression each line that matches it begins a machine; its first group is the machine's name, and lines with the same name \
are one machine: --split '(?i)^#+ (intel|arm)'.

Several machines give one record each, in the state folder or in the folder that --output names; one whose name ends in / \
is made.

What is not told stays unknown. Figures that cannot be true are kept as text only. Lines that belong to no tool's output \
are counted; -v prints them.";

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Read a captured tree of another machine (a folder with its /proc and /sys)
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// The machine's shape as a picture, and how CPU numbers lie on it
    #[arg(long)]
    pub tree: bool,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Which measurements (see `linespeed list`); without: all
    #[arg(value_name = "MEASUREMENT")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub forms: WakeupForms,
}

/// Options of `scale`.
#[derive(Debug, Args)]
pub struct Scale {
    /// A recipe: a name that --list tells, or a file (see docs/recipes.md)
    #[arg(long, value_name = "NAME|FILE")]
    pub recipe: Option<String>,
    /// Set something of a recipe, for instance algorithm=aes-256-gcm
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// The recipes: what they measure, what can be set, what they lack here
    #[arg(long)]
    pub list: bool,
    /// Numbers of CPUs to measure, for instance 1,2,4-8; without: 1, 2, 4 … all, and where cores, nodes and packages end
    #[arg(long, value_name = "LIST")]
    pub steps: Option<CpuList>,
    /// Which CPUs are taken first: cores-first, siblings-first, node-compact, node-spread; without: all that differ here
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// Runs of each step, in interleaved rounds; without: 3 (1 with --quick, 6 with --full)
    #[arg(short, long, value_name = "N")]
    pub repeat: Option<usize>,
    /// The longest that one run may take, for instance 30s or 5m
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Count runs of a command that fails, too
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// The command: a copy is pinned to each CPU; with {threads} in it, one command has all CPUs of the step
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// A record of the machine to plan for, or reference:NAME; - is standard input; without, or with a dot: this machine,
    /// with the figures of its newest records
    pub record: Option<String>,
    /// So many processes; without: one a node
    #[arg(long, value_name = "N")]
    pub processes: Option<u32>,
    /// So many threads in each process; without: as many as its CPUs allow
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,
    /// What the layout is to be good for
    #[arg(long = "for", value_name = "WHAT", default_value = "throughput")]
    pub purpose: Purpose,
    /// Only the lines to paste of this tool: numactl, taskset, systemd, docker, kubernetes
    #[arg(long = "as", value_name = "TOOL", value_parser = clap::builder::PossibleValuesParser::new(diagnose::plan::TOOLS),
          conflicts_with = "json")]
    pub tool: Option<String>,
    /// Run the command both ways, as planned and unbound, in turn, and say what the layout really gives
    #[arg(long, conflicts_with_all = ["record", "tool"])]
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

const PLAN_HELP: &str = "\
--json prints the plan as JSON, --output FILE writes that (with --as the lines) to a file. --cpus LIST keeps the plan on \
these CPUs. Gains are modelled from the measured matrices (linespeed run numa).

--verify does the same work both ways: as many copies, of as many threads each, bound as planned and unbound. In the \
command {threads} is a process's number of threads, {process} its number from 0, {cpus} its CPUs and {node} its nodes; \
of the unbound ones {cpus} and {node} are all. Its output is dropped.";

/// Options of `quiet`.
#[derive(Debug, Args)]
pub struct Quiet {
    /// Only these knobs, as the table names them; without: all, and of those that are set by hand on some machines for good
    /// reason none
    #[arg(value_name = "KNOB")]
    pub knobs: Vec<String>,
    /// Set them, and leave them so until --restore
    #[arg(long, conflicts_with_all = ["restore", "status", "command"])]
    pub apply: bool,
    /// Say what would be written, and write nothing
    #[arg(long, conflicts_with_all = ["restore", "status"])]
    pub dry_run: bool,
    /// Put back what was set
    #[arg(long, conflicts_with_all = ["status", "knobs", "command"])]
    pub restore: bool,
    /// What is set, and by whom
    #[arg(long, conflicts_with_all = ["knobs", "command"])]
    pub status: bool,
    /// Measure what each knob gains here, before and after in turn; with a command what boost, affinity, priority and the page
    /// cache (or the knobs named) do to its own time
    #[arg(long, conflicts_with_all = ["apply", "dry_run", "restore", "status"])]
    pub prove: bool,
    /// Rounds of --prove; without: as many as an interval needs, and some to spare
    #[arg(long, value_name = "N", requires = "prove", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Look at a captured tree of another machine (a folder with its /proc and /sys)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["apply", "prove", "restore", "status", "command", "warm", "drop_caches"])]
    pub root: Option<PathBuf>,
    /// Read these files into the page cache before the command
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "command", conflicts_with_all = ["apply", "restore", "status"])]
    pub warm: Vec<PathBuf>,
    /// Drop the page cache of the whole machine before the command (before --warm): cannot be put back, needs root
    #[arg(long, requires = "command", conflicts_with_all = ["apply", "restore", "status"])]
    pub drop_caches: bool,
    /// Run this command while they are set, and put them back
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

const QUIET_USAGE: &str = "\
linespeed quiet [--cpus LIST] [KNOB]...
       linespeed quiet [--dry-run] [--cpus LIST] [KNOB]... [--drop-caches] [--warm FILE...] -- COMMAND...
       linespeed quiet --apply|--dry-run [--cpus LIST] [KNOB]...
       linespeed quiet --restore|--status
       linespeed quiet --prove [--rounds N] [--cpus LIST] [KNOB]... [-- COMMAND...]
       linespeed quiet --root DIR [--dry-run] [--cpus LIST] [KNOB]...";

const QUIET_HELP: &str = "\
Without --apply, --restore and a command nothing is changed, and no root is needed. --cpus LIST names the CPUs that are to be \
quiet: interrupts, the kernel's own work and other tasks go to the others, and a command is bound to them.

What is set is written down before (root: in /var/lib/linespeed, others: in the state folder), and a process of its own puts it \
back when this one is killed. What somebody else has changed since is left alone and named. One session stands at a time: a \
command below another one's, or after --apply, runs as it is and is told what that leaves open.

The audit shows what adds noise and names the rest; -v tells all. What a knob can be worth here it knows from the last --prove of \
this boot (noise.json in the state folder), or it measures for half a second. --prove -- COMMAND runs the command several dozen times, \
and once under ptrace to see which files it opens.

With a command --json tells what was set, how it ended and why it did not run on standard error, or in the file that --output \
names: standard output is the command's own.

Exit codes: 0 quiet, or done; 1 not quiet, or not all of it could be set or put back; 2 wrong usage; 3 could not do it. With a \
command its own (1 where that is 0 and not all could be put back); 128+n when signal n ended it; 127 it was not found; 126 it cannot be run.";

/// Options of `overhead`.
#[derive(Debug, Args)]
pub struct Overhead {
    /// Passes of each layer, in turn; without: as many as fit 15 seconds (6 with --quick, 60 with --full)
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=measure::layers::MOST_ROUNDS as i64))]
    pub rounds: Option<u32>,
    /// The CPU that layers are bound to; without: of the fastest ones one that has few interrupts
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Kernel threads too, with interrupts and without: a kernel module is built for the running kernel, loaded, and unloaded
    /// at the end; needs root, the kernel's headers, make and a compiler
    #[arg(long)]
    pub kernel: bool,
    /// The same with a module that this linespeed has built for this kernel before
    #[arg(long, value_name = "FILE")]
    pub kernel_module: Option<PathBuf>,
    /// Guests: none; raw, of KVM with no other software; full, a whole operating system under QEMU beside those
    /// [without: raw]
    #[arg(long, value_enum, value_name = "GUESTS")]
    pub vm: Option<Vm>,
    /// The kernel that the whole guest boots, and --vm full; without: the one that runs here
    #[arg(long, value_name = "FILE")]
    pub vm_kernel: Option<PathBuf>,
}

/// Which guests are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Vm {
    /// None
    None,
    /// Of raw KVM, in user mode and in kernel mode
    Raw,
    /// Those, and a whole one: a kernel under QEMU, with linespeed as its first process
    Full,
}

impl Overhead {
    /// The guests that are asked for.
    ///
    /// # Errors
    ///
    /// A kernel for a guest that is not asked for.
    pub fn guests(&self) -> Result<Vm, Failure> {
        match (self.vm, &self.vm_kernel) {
            (None, Some(_)) => Ok(Vm::Full),
            (Some(Vm::None | Vm::Raw), Some(_)) => Err(Failure::Usage(
                "--vm-kernel names the kernel of the whole guest; it goes with --vm full".to_owned(),
            )),
            (vm, _) => Ok(vm.unwrap_or(Vm::Raw)),
        }
    }
}

const OVERHEAD_HELP: &str = "\
A pass counts the primes below 1,000,000 by trial division, in portions of some 20 ms; the layers take turns portion by \
portion. Times are in cycles of the core's own clock, which is measured beside each portion. --cpus LIST is where a program \
that is not bound may run.

The kernel module is unloaded however linespeed ends, killed or not. The whole guest needs QEMU; where KVM does not run it at the \
processor's speed, it counts the primes once, and its times are withheld.

Exit codes: 0 done; 2 wrong usage; 3 could not do it, or layers did not do the same work; 128+n on signal n, after writing \
the passes that were whole.";

/// Options of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// A record that linespeed wrote; - is standard input
    pub record: PathBuf,
    /// As a page (HTML), to --output or standard output
    #[arg(long)]
    pub html: bool,
    #[command(flatten)]
    pub forms: WakeupForms,
}

const REFERENCE_HELP: &str = "\
Where a record's file may stand, so may reference:NAME: linespeed compare . reference:kunpeng-920-4826. --json without a \
name lists the machines; with one it prints the record, in which each figure names the line that it was read from.";

/// Options of `reference`.
#[derive(Debug, Args)]
pub struct Reference {
    /// One of them
    pub name: Option<String>,
    /// As a page (HTML), to --output or standard output
    #[arg(long, requires = "name")]
    pub html: bool,
    /// The published output and figures themselves, as they were imported
    #[arg(long, requires = "name", conflicts_with = "html")]
    pub text: bool,
}

const COMPARE_HELP: &str = "\
The first record is the baseline, unless --baseline says otherwise. --json and --csv hold every figure that two records \
share; the terminal and the page sum them up over CPUs and working sets.";

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Records that linespeed wrote; . is the newest of this machine, reference:NAME a machine that ships with linespeed,
    /// - standard input
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<String>,
    /// Which of them the others are held against, counted from 1
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub baseline: usize,
    /// As a page (HTML), to --output or standard output
    #[arg(long)]
    pub html: bool,
    /// As comma-separated values, a line a figure and record
    #[arg(long, conflicts_with_all = ["html", "json"])]
    pub csv: bool,
}

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Texts with other tools' output, or tables of dmidecode --dump-bin; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What tells machines apart, beside the host names of prompts: files, headings, or a regular expression
    #[arg(long, value_name = "files|headings|REGEX")]
    pub split: Option<String>,
    /// Only this machine: its host name or heading as printed, or its number in the order of the text
    #[arg(long, value_name = "NAME|N")]
    pub only: Option<String>,
}

/// Wake-up latency as cyclictest prints it.
#[derive(Debug, Args, Default)]
pub struct WakeupForms {
    /// Print wake-up latency in cyclictest's lines
    #[arg(long)]
    pub cyclictest: bool,
    /// Print wake-up latency as cyclictest's histogram (-h)
    #[arg(long)]
    pub histogram: bool,
}

/// How to measure; for the main job and `run`.
#[derive(Debug, Args)]
pub struct Measuring {
    /// About 10 seconds instead of a minute
    #[arg(long, global = true, conflicts_with = "full")]
    pub quick: bool,
    /// Minutes instead of a minute: more samples, narrower intervals
    #[arg(long, global = true)]
    pub full: bool,
    /// Measure on these CPUs only, for instance 0-3,8
    #[arg(long, global = true, value_name = "LIST", value_parser = cpu_list)]
    pub cpus: Option<CpuList>,
    /// Make the machine quiet while it measures, as linespeed quiet does, and put everything back
    #[arg(long, global = true)]
    pub quiet_machine: bool,
    /// Exit with 1 when there is a finding at or above this level
    #[arg(long, global = true, value_name = "LEVEL")]
    pub fail_on: Option<Level>,
}

/// Levels of findings.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Level {
    /// Anything
    Note,
    /// What costs speed
    Warning,
    /// What costs much speed or makes figures wrong
    Serious,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Note => Severity::Note,
            Level::Warning => Severity::Warning,
            Level::Serious => Severity::Serious,
        }
    }
}

/// Where results go.
#[derive(Debug, Args)]
pub struct Out {
    /// The record (JSON) on standard output, and nothing else there; stat and quiet print it on standard error where a command
    /// has standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Where the record goes (with `show --html`: the page); - is standard output
    #[arg(short, long, global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No report and no progress: only the record's file
    #[arg(short, long, global = true)]
    pub quiet_output: bool,
    /// Say on standard error what is done and how long it took
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Measuring {
    /// How thorough.
    pub fn depth(&self) -> measure::Depth {
        if self.quick {
            measure::Depth::Quick
        } else if self.full {
            measure::Depth::Full
        } else {
            measure::Depth::Normal
        }
    }
}

/// Flags that all commands take and that mean nothing to some: these refuse them, and their help leaves them out.
const IDLE: &[(&str, &[&str])] = &[
    ("inspect", &["--quick", "--full", "--cpus", "--fail-on", "--quiet-machine"]),
    ("list", &["--quick", "--full", "--fail-on", "--output", "--quiet-machine"]),
    ("stat", &["--quick", "--full", "--fail-on"]),
    ("plan", &["--quick", "--full", "--fail-on"]),
    ("quiet", &["--quick", "--full", "--fail-on", "--quiet-machine"]),
    ("overhead", &["--fail-on"]),
    ("import", &["--quiet-machine"]),
    ("compare", &["--quick", "--full", "--cpus", "--fail-on", "--quiet-machine"]),
    ("show", &["--quick", "--full", "--cpus", "--quiet-machine"]),
    ("reference", &["--quick", "--full", "--cpus", "--fail-on", "--quiet-machine"]),
    ("explain", &["--quick", "--full", "--cpus", "--fail-on", "--output", "--quiet-machine"]),
    ("schema", &["--quick", "--full", "--cpus", "--fail-on", "--output", "--quiet-machine"]),
    ("completions", &["--quick", "--full", "--cpus", "--fail-on", "--json", "--output", "--quiet-machine"]),
    ("man", &["--quick", "--full", "--cpus", "--fail-on", "--json", "--output", "--quiet-machine"]),
];

impl Options {
    /// Refuses flags that all commands take and that mean nothing to this one: it would ignore them.
    pub fn check(&self) -> Result<(), Failure> {
        let name = match &self.command {
            Some(Command::Inspect(_)) => "inspect",
            Some(Command::List) => "list",
            Some(Command::Stat(_)) => "stat",
            Some(Command::Plan(_)) => "plan",
            Some(Command::Quiet(_)) => "quiet",
            Some(Command::Overhead(_)) => "overhead",
            Some(Command::Import(_)) => "import",
            Some(Command::Compare(_)) => "compare",
            Some(Command::Show(_)) => "show",
            Some(Command::Reference(_)) => "reference",
            Some(Command::Explain { .. }) => "explain",
            Some(Command::Schema { .. }) => "schema",
            Some(Command::Completions { .. }) => "completions",
            Some(Command::Man { .. }) => "man",
            _ => return Ok(()),
        };
        let idle = IDLE.iter().find(|(command, _)| *command == name).map_or(&[][..], |(_, flags)| *flags);
        let given = [
            ("--quick", self.measuring.quick),
            ("--full", self.measuring.full),
            ("--cpus", self.measuring.cpus.is_some()),
            ("--fail-on", self.measuring.fail_on.is_some()),
            ("--quiet-machine", self.measuring.quiet_machine),
            ("--json", self.out.json),
            ("--output", self.out.output.is_some()),
        ];
        let Some((flag, _)) = given.into_iter().find(|(flag, given)| *given && idle.contains(flag)) else {
            return Ok(());
        };
        let way_out = match flag {
            "--output" if name == "man" => "name a folder: linespeed man FOLDER".to_owned(),
            "--output" => format!("redirect standard output: linespeed {name} … >FILE"),
            _ => "leave it out".to_owned(),
        };
        Err(Failure::Usage(format!("{flag} means nothing to linespeed {name}; {way_out}")))
    }
}

/// What the command line asks for.
pub enum Asked {
    /// Help, or the version: a text for standard output.
    Text(String),
    /// Something to do.
    Do(Box<Options>),
}

/// Reads the command line.
pub fn parse() -> Result<Asked, Failure> {
    use std::io::IsTerminal;
    match read(std::env::args_os()) {
        Ok(options) => options.check().map(|()| Asked::Do(Box::new(options))),
        Err(mut error) if error.use_stderr() => {
            add_way_out(&mut error);
            let text = error.render().to_string();
            Err(Failure::Usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()))
        }
        Err(error) if std::io::stdout().is_terminal() => Ok(Asked::Text(error.render().ansi().to_string())),
        Err(error) => Ok(Asked::Text(error.render().to_string())),
    }
}

/// Reads arguments, of which the first is the program.
fn read(arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Options, clap::Error> {
    let mut definition = definition();
    let matches = definition.try_get_matches_from_mut(arguments)?;
    Options::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
}

/// Adds to the complaint about a command without `--` before it what to write instead.
fn add_way_out(error: &mut clap::Error) {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let (Some(ContextValue::String(word)), Some(ContextValue::StyledStr(usage))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::Usage))
    else {
        return;
    };
    if error.kind() != ErrorKind::UnknownArgument || word.starts_with('-') {
        return;
    }
    if !usage.to_string().contains("linespeed scale") {
        return;
    }
    let mut words: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let begin = words.iter().position(|arg| arg == "scale").unwrap_or(0);
    let Some(at) = words.iter().skip(begin + 1).position(|arg| arg == word).map(|at| begin + 1 + at) else {
        return;
    };
    let way_out = if measure::recipes::BUILT_IN.iter().any(|(name, _)| name == word) {
        words.insert(at, "--recipe".to_owned());
        "to run the recipe"
    } else {
        words.insert(at, "--".to_owned());
        "a command stands after --"
    };
    let words: Vec<String> = words.iter().map(|word| report::terminal::quoted(word)).collect();
    let tip = format!("{way_out}: linespeed {}", words.join(" "));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// The whole definition, for completions and man pages.
pub fn definition() -> clap::Command {
    let mut all = Options::command();
    // Only then have the commands the flags that all take.
    all.build();
    IDLE.iter().fold(all, |all, (name, flags)| {
        let is_idle = |arg: &clap::Arg| {
            arg.get_long().is_some_and(|long| flags.iter().any(|flag| flag.strip_prefix("--") == Some(long)))
        };
        all.mut_subcommand(name, |command| {
            command.mut_args(|arg| if is_idle(&arg) { arg.hide(true) } else { arg })
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_consistent() {
        super::definition().debug_assert();
    }

    #[test]
    fn a_command_is_not_offered_flags_that_it_would_refuse() {
        let mut definition = super::definition();
        for (name, flags) in super::IDLE {
            let command = definition.find_subcommand_mut(name).unwrap_or_else(|| panic!("{name}"));
            let help = command.render_long_help().to_string();
            for flag in *flags {
                let offered = |line: &str| line.split([' ', ',']).any(|word| word == *flag);
                let options = help.lines().filter(|line| line.trim_start().starts_with('-'));
                assert!(!options.into_iter().any(offered), "{name} {flag}: {help}");
            }
            // Still understood, so that the refusal can say what to do.
            if *name != "stat" && *name != "man" && *name != "completions" {
                let words = ["linespeed", name, "--full"].map(std::ffi::OsString::from);
                let kind = super::read(words.into_iter()).err().map(|error| error.kind());
                assert_ne!(kind, Some(clap::error::ErrorKind::UnknownArgument), "{name}");
            }
        }
    }
}
