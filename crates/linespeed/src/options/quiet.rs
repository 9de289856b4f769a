//! Options of `quiet`.

use std::path::PathBuf;

use clap::Args;

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

pub(super) const QUIET_USAGE: &str = "\
linespeed quiet [--cpus LIST] [KNOB]...
       linespeed quiet [--dry-run] [--cpus LIST] [KNOB]... [--drop-caches] [--warm FILE...] -- COMMAND...
       linespeed quiet --apply|--dry-run [--cpus LIST] [KNOB]...
       linespeed quiet --restore|--status
       linespeed quiet --prove [--rounds N] [--cpus LIST] [KNOB]... [-- COMMAND...]
       linespeed quiet --root DIR [--dry-run] [--cpus LIST] [KNOB]...";

pub(super) const QUIET_HELP: &str = "\
Without --apply, --restore and a command nothing is changed, and no root is needed. --cpus LIST names the CPUs that are to be \
quiet: interrupts, the kernel's own work and other tasks go to the others, and a command is bound to them.

What is set is written down before (root: in /var/lib/linespeed, others: in the state folder), and a process of its own puts it \
back when this one is killed. What somebody else has changed since is left alone and named. One session stands at a time: \
below another one's, or after --apply, nothing more is set on the machine. A command is given what ends with it all the same \
(nice, affinity, idle states held off), and is told what stays open.

The audit shows what adds noise and names the rest; -v tells all. What a knob can be worth here it knows from the last --prove of \
this boot (noise.json in the state folder), or it measures for half a second. --prove -- COMMAND runs the command several dozen times, \
and once under ptrace to see which files it opens.

With a command --json tells what was set, how it ended and why it did not run on standard error, or in the file that --output \
names: standard output is the command's own.

Exit codes: 0 quiet, or done; 1 not quiet, or not all of it could be set or put back; with --status 0 nothing is set, 1 \
something is; 2 wrong usage; 3 could not do it. With a command its own (1 where that is 0 and not all could be put back); 128+n when signal n ended it; 127 it was not found; 126 it cannot be run.";
