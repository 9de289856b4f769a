//! The command line. Each flag is defined once; help, completions and man pages are generated from these definitions.

use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use record::CpuList;
use report::view::Form;

use crate::failure::Failure;

mod check;
#[cfg(test)]
mod documents_tests;
mod fail_on;
mod fix;
mod fleet;
mod history;
mod live;
mod overhead;
mod plan;
mod quiet;
mod reading;
mod records;
mod scale;
mod stat;
mod taken;

pub use check::{Check, Exit};
pub use fix::Fix;
pub use fleet::Fleet;
pub use history::History;
pub use live::Live;
pub use overhead::{Overhead, Vm};
pub use plan::Plan;
pub use quiet::Quiet;
pub use reading::{Asked, definition, manual_sections, parse};
pub use record::fail_on::FailOn;
pub use records::{
    Compare, Import, Inspect, Records, RecordsAction, Reference, Show, WakeupForms, WakeupOptions,
};
pub use scale::Scale;
pub use stat::Stat;

use taken::{is_taken, limited_flags};

/// Measure how far this machine runs below its hardware's speed, and find out why
///
/// Without a command, linespeed inspects the machine and measures its clock, caches, memory, scaling, wake-ups, and the cost of system
/// calls and other basic operations in about a minute. It reports speed losses with their remedies, and saves a record (JSON) and a page
/// (HTML).
#[derive(Debug, Parser)]
#[command(name = "linespeed", version = env!("LINESPEED_VERSION"))]
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
    /// Show hardware and settings, without measuring
    Inspect(Inspect),
    /// Run some measurements, or all
    Run(Run),
    /// List the measurements with availability and duration
    #[command(hide = true)]
    List,
    /// Measure a command or recipe on 1 to all CPUs: throughput, speed-up, SMT yield
    Scale(Scale),
    /// Show what a command waits for, or compare commands: OLD ::: NEW
    Stat(Stat),
    /// Show what limits the running machine or a service, once per second
    Live(Live),
    /// Compare this machine with a baseline, in one line
    Check(Check),
    /// Plan the best layout of a program: processes, threads, CPUs, memory
    Plan(Plan),
    /// List sources of measurement noise, or disable them for a command
    Quiet(Quiet),
    /// Apply a finding's fix, measure its gain, then revert it
    Fix(Fix),
    /// Measure the overhead of interrupts, migration and virtualization
    Overhead(Overhead),
    /// Show a record on the terminal or as a page
    Show(Show),
    /// List, label or remove saved records
    #[command(alias = "ls")]
    Records(Records),
    /// Compare records: what differs, by how much, and why
    Compare(Compare),
    /// Find the slow machines among many, and explain why they are slow
    Fleet(Fleet),
    /// Show how this machine's results changed over time
    History(History),
    /// Convert the output of other tools into a record
    Import(Import),
    /// Show published results of other machines, or compare with them
    Reference(Reference),
    /// Explain a metric, finding or term: meaning, method, typical values
    Explain {
        /// A metric (load.latency), a measurement (wakeup) or a term (governor)
        name: Vec<String>,
    },
    /// Print the JSON Schema of a record, or of a command's --json
    #[command(hide = true)]
    Schema {
        /// The command [default: the schema of a record]
        #[arg(value_parser = record::schema::COMMANDS.map(|(name, _)| name))]
        of: Option<String>,
    },
    /// Print completions for a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages to a directory, or print the main page
    #[command(hide = true)]
    Man {
        /// The directory
        folder: Option<PathBuf>,
    },
}

/// A list of CPUs. Two consecutive commas are an error, because it is unclear what the user meant.
fn cpu_list(text: &str) -> Result<CpuList, String> {
    if text.contains(',') && text.split(',').any(|part| part.trim().is_empty()) {
        return Err("a number is missing next to a comma; use a list such as 0-3,8".to_owned());
    }
    text.parse().map_err(|error: record::cpu_list::CpuListError| error.to_string())
}

/// A time above 0.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = record::units::parse_seconds(text).map_err(|error| error.to_string())?;
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| "use a time above 0, for instance 30s or 5m".to_owned())
}

/// A file written in addition to the printed output.
fn file(name: &str) -> Result<PathBuf, String> {
    if name == "-" { Err("use /dev/stdout for standard output".to_owned()) } else { Ok(name.into()) }
}

/// A label.
fn label(name: &str) -> Result<String, String> {
    let words = || "use letters, digits and -_.+@, starting with a letter or digit".to_owned();
    record::store::is_label(name).then(|| name.to_owned()).ok_or_else(words)
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Measurements [default: all]; linespeed list shows them
    #[arg(value_name = "MEASUREMENT")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub wakeups: WakeupOptions,
    #[command(flatten)]
    pub forms: WakeupForms,
}

/// Maximum number of wake-ups per thread, to limit memory use.
const MOST_WAKEUPS: f64 = 2e7;

impl Run {
    /// The first specified option that applies only to wake-ups, if any.
    pub fn about_wakeups(&self) -> Option<&'static str> {
        let given = [
            (self.forms.cyclictest, "--cyclictest"),
            (self.forms.histogram, "--histogram"),
            (self.wakeups.time.is_some(), "--for"),
            (self.wakeups.interval.is_some(), "--interval"),
            (self.wakeups.priority.is_some(), "--priority"),
        ];
        given.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }

    /// How wake-ups are measured.
    pub fn wakeups(&self) -> measure::Wakeups {
        let usual = measure::Wakeups::USUAL;
        measure::Wakeups {
            interval_ns: self.wakeups.interval.map_or(usual.interval_ns, |us| us * 1000),
            priority: self.wakeups.priority.unwrap_or(usual.priority),
            seconds: self.wakeups.time.map(|time| time.as_secs_f64()),
            as_cyclictest: self.forms.any(),
        }
    }

    /// Rejects wake-up options if wake-ups are not measured, and rejects too many wake-ups.
    fn check(&self) -> Result<(), Failure> {
        let wakeups = self.wakeups();
        let count = wakeups.seconds.unwrap_or(0.0) * 1e9 / f64::from(wakeups.interval_ns);
        if count > MOST_WAKEUPS {
            let words = format!(
                "{count:.0} wake-ups per CPU are too many (at most {MOST_WAKEUPS:.0}): use a longer --interval or a shorter --for"
            );
            return Err(Failure::Usage(words));
        }
        let Some(form) = self.about_wakeups() else { return Ok(()) };
        if self.names.is_empty() || self.names.iter().any(|name| name == "wakeup") {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{form} applies to wake-up latency, which is not among {}: add wakeup or omit {form}",
            self.names.join(", ")
        )))
    }
}

/// How to measure; shared by the measuring commands.
#[derive(Debug, Args)]
pub struct Measuring {
    /// Take about 10 s instead of a minute
    #[arg(long, global = true, conflicts_with = "full")]
    pub quick: bool,
    /// Take several minutes, for narrower intervals
    #[arg(long, global = true)]
    pub full: bool,
    /// Use only these CPUs, such as 0-3,8
    #[arg(long, global = true, value_name = "LIST", value_parser = cpu_list)]
    pub cpus: Option<CpuList>,
    /// Quiet the machine during the run
    #[arg(long, global = true)]
    pub quiet_machine: bool,
    /// Exit with 1 on findings: note, warning or serious
    #[arg(long, global = true, value_name = "LEVEL", value_parser = FailOn::parse)]
    pub fail_on: Vec<FailOn>,
}

/// The format and destination of the result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Out {
    /// Output JSON (measuring commands: the record)
    #[arg(long, global = true, group = "form")]
    pub json: bool,
    /// Output CSV, one result per line
    #[arg(long, global = true, group = "form")]
    pub csv: bool,
    /// Output the report as Markdown
    #[arg(long, global = true, group = "form")]
    pub markdown: bool,
    /// Output the page as HTML
    #[arg(long, global = true, group = "form")]
    pub html: bool,
    /// Write to FILE, in the format of its extension
    #[arg(short, long, global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write Prometheus text to FILE
    #[arg(long, global = true, value_name = "FILE", value_parser = file)]
    pub prom: Option<PathBuf>,
    /// Replace names with pseudonyms in all output
    #[arg(long, global = true)]
    pub redact: bool,
    /// Label the record; NAME then works as its path
    #[arg(long, global = true, value_name = "NAME", value_parser = label)]
    pub label: Option<String>,
    /// Print every table before the summary
    #[arg(short, long, global = true)]
    pub all: bool,
    /// Print long reports without a pager
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Print neither report nor progress
    #[arg(short, long, global = true)]
    pub quiet_output: bool,
    /// Print each step and its duration to stderr
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Use color: auto, always, never [default: auto]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub color: ColorChoice,
}

impl Out {
    /// The requested format; `None` for the report.
    pub fn form(&self) -> Option<Form> {
        let asked = [
            (self.json, Form::Json),
            (self.csv, Form::Csv),
            (self.markdown, Form::Markdown),
            (self.html, Form::Page),
        ];
        asked.into_iter().find_map(|(asked, form)| asked.then_some(form))
    }

    /// The format of the file specified with `--output`.
    pub fn form_of_file(&self) -> Form {
        self.form().unwrap_or(self.output.as_deref().map_or(Form::Json, Form::of_file))
    }
}

impl Measuring {
    /// How thorough the measurements are.
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

impl Options {
    /// Rejects global flags that do not apply to this command and would be ignored.
    fn check(&self, matches: &clap::ArgMatches) -> Result<(), Failure> {
        // Without a command, linespeed does the same as `run`.
        let Some((name, given)) = matches.subcommand() else { return self.measuring.check_fail_on("run") };
        match &self.command {
            Some(Command::Run(run)) => run.check()?,
            Some(Command::Stat(stat)) => self.measuring.check_junit(stat.junit.as_ref())?,
            Some(Command::Compare(compare)) => self.measuring.check_junit(compare.junit.as_ref())?,
            _ => {}
        }
        let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
        let idle = limited_flags().find(|id| is_given(id) && !is_taken(id, name));
        let Some(id) = idle else { return self.measuring.check_fail_on(name) };
        let flag = format!("--{}", id.replace('_', "-"));
        let way_out = match id {
            "output" if name == "man" => "specify a directory: linespeed man FOLDER".to_owned(),
            "output" => format!("redirect standard output with linespeed {name} … >FILE"),
            _ => "omit it".to_owned(),
        };
        Err(Failure::Usage(format!("linespeed {name} does not support {flag}; {way_out}")))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_consistent() {
        super::definition().debug_assert();
    }

    fn refusal(line: &str) -> Option<String> {
        let words = line.split(' ').map(std::ffi::OsString::from).collect::<Vec<_>>();
        let read = super::reading::read(words);
        let (options, matches) = read.unwrap_or_else(|error| panic!("{line}: {error}"));
        options.check(&matches).err().map(|failure| failure.to_string())
    }

    #[test]
    fn a_flag_that_would_be_ignored_is_refused_with_the_way_out() {
        let reported = refusal("linespeed run clock --cyclictest").unwrap_or_default();
        assert!(reported.contains("not among clock: add wakeup"), "{reported}");
        for good in ["run clock wakeup --cyclictest", "run --histogram", "run wakeup --histogram"] {
            assert_eq!(refusal(&format!("linespeed {good}")), None);
        }
        assert!(
            refusal("linespeed import a.txt --cpus 0").is_some_and(|reported| reported.contains("--cpus"))
        );
        let gate = refusal("linespeed stat --junit gate.xml -- old ::: new");
        assert!(gate.is_some_and(|reported| reported.contains("add --fail-on")));
        // A flag before the command applies to the command.
        assert!(
            refusal("linespeed stat --quick -- true").is_some_and(|reported| reported.contains("--quick"))
        );
        assert!(
            refusal("linespeed --quick stat -- true").is_some_and(|reported| reported.contains("--quick"))
        );
    }

    #[test]
    fn no_command_and_no_measurement_is_a_name_that_is_taken_out() {
        let commands = super::definition();
        // The page of options is not a command that can create a record.
        let commands =
            commands.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "options");
        let words = commands.chain(measure::MEASUREMENTS.iter().map(|one| one.name));
        let names: Vec<&str> = words.filter(|word| !record::redaction::is_own_word(word)).collect();
        assert!(names.is_empty(), "add these to redaction/words.rs: {names:?}");
    }

    #[test]
    fn a_line_of_commands_in_quotes_is_refused_without_them() {
        let (options, _) =
            super::reading::read(["linespeed", "stat", "--", "old 1 ::: new 2"].map(Into::into).to_vec())
                .unwrap();
        let Some(super::Command::Stat(stat)) = options.command else { panic!("no stat") };
        let refused = stat.commands(false).err().map(|failure| failure.to_string());
        assert!(refused.is_some_and(|words| words.ends_with("linespeed stat -- old 1 ::: new 2")));
    }

    #[test]
    fn a_command_is_not_offered_flags_that_it_would_refuse() {
        let mut definition = super::definition();
        let names: Vec<String> = definition.get_subcommands().map(|c| c.get_name().to_owned()).collect();
        for name in names.iter().filter(|name| *name != "help") {
            let command = definition.find_subcommand_mut(name).unwrap_or_else(|| panic!("{name}"));
            let help = command.render_long_help().to_string();
            for id in super::limited_flags() {
                let flag = format!("--{}", id.replace('_', "-"));
                let offered = |line: &str| line.split([' ', ',']).any(|word| word == flag);
                let options = help.lines().filter(|line| line.trim_start().starts_with('-'));
                assert_eq!(
                    options.into_iter().any(offered),
                    super::is_taken(id, name),
                    "{name} {flag}: {help}"
                );
            }
            // The parser still accepts the flag, so that the error message can suggest an alternative.
            if name != "stat" && name != "man" && name != "completions" {
                let words = ["linespeed", name, "--full"].map(std::ffi::OsString::from);
                let kind = super::reading::read(words.to_vec()).err().map(|error| error.kind());
                assert_ne!(kind, Some(clap::error::ErrorKind::UnknownArgument), "{name}");
            }
        }
    }
}
