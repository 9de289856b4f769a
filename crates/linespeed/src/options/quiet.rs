//! Options of `quiet`.

use std::path::PathBuf;

use clap::Args;

/// Options of `quiet`.
#[derive(Debug, Args)]
pub struct Quiet {
    /// Only these knobs, as the table names them [without: all but those marked as set only when named]
    #[arg(value_name = "KNOB")]
    pub knobs: Vec<String>,
    /// Set the knobs until --restore
    #[arg(long, conflicts_with_all = ["restore", "status", "command", "all"])]
    pub apply: bool,
    /// Print what would be written, and write nothing
    #[arg(long, conflicts_with_all = ["restore", "status", "all"])]
    pub dry_run: bool,
    /// Restore the original values
    #[arg(long, conflicts_with_all = ["status", "knobs", "command", "all"])]
    pub restore: bool,
    /// Show what is set, and by whom
    #[arg(long, conflicts_with_all = ["knobs", "command", "all"])]
    pub status: bool,
    /// Measure what each knob gains, before and after in turn; with a command, what boost, affinity, priority and the page
    /// cache (or the knobs named) change in its time
    #[arg(long, conflicts_with_all = ["apply", "dry_run", "restore", "status", "all"])]
    pub prove: bool,
    /// Rounds of --prove [without: as many as an interval needs, and some to spare]
    #[arg(long, value_name = "N", requires = "prove", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Read a captured tree of another machine (a folder with its /proc and /sys)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["apply", "prove", "restore", "status", "command", "drop_caches"])]
    pub root: Option<PathBuf>,
    /// Drop the whole machine's page cache before the command; requires root, cannot be restored
    #[arg(long, requires = "command", conflicts_with_all = ["apply", "restore", "status"])]
    pub drop_caches: bool,
    /// Run this command with the knobs set, then restore them
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "all")]
    pub command: Vec<std::ffi::OsString>,
}

pub(super) const QUIET_USAGE: &str = "\
linespeed quiet [--cpus LIST] [KNOB]...
       linespeed quiet [--dry-run] [--cpus LIST] [KNOB]... [--drop-caches] -- COMMAND...
       linespeed quiet --apply|--dry-run [--cpus LIST] [KNOB]...
       linespeed quiet --restore|--status
       linespeed quiet --prove [--rounds N] [--cpus LIST] [KNOB]... [-- COMMAND...]
       linespeed quiet --root DIR [--dry-run] [--cpus LIST] [KNOB]...";

pub(super) const QUIET_HELP: &str = "\
Without --apply, --restore or a command nothing is changed and root is not required. --cpus LIST names the CPUs to keep \
quiet: interrupts, kernel work and other tasks move to the other CPUs, and a command is bound to the quiet ones.

Original values are saved first (root: in /var/lib/linespeed, others: in the state folder), and a guardian process restores \
them if linespeed is killed. Values changed by somebody else since are left alone and named. Only one session sets knobs of \
the machine: within another session, or after --apply, a command gets only the settings that end with it (nice, affinity, \
idle states held off), and what stays unset is printed.

The audit lists the knobs that add noise and names the rest; --all describes all. What a knob can gain at most here is known \
from the last --prove of this boot (noise.json in the state folder), or measured for half a second. --prove -- COMMAND runs \
the command several dozen times, and once under ptrace to see which files it opens.

With a command, --json prints what was set, how the command ended or why it did not run, to standard error or to --output: \
standard output is the command's own.

Exit codes: 0 done; 1 something adds noise and --fail-on warning or note was given, or not everything could be set or restored; with --status 0 nothing is set, 1 \
something is; 2 wrong usage; 3 failed. With a command its own (1 if that is 0 and not everything could be restored); 128+n \
for signal n; 127 command not found; 126 command cannot be run.";
