//! Measures a command's time before and after a change: boost, affinity, priority, page cache.

use std::ffi::OsString;
use std::time::Instant;

use machine::Root;
use measure::command::{self, Job, Run, SharedInput};
use os::child::{Exit, Guard, Process};
use os::pin;
use quiet::knob::ProcessSetting;
use quiet::knobs::{lowest_nice_value, nice_scope_limit};
use quiet::page_cache;
use quiet::process_settings::{self, process};
use quiet::tuning_plan::Purpose;
use record::difference::Scale;
use record::text::Value;
use record::{CpuList, Text, text};

use super::comparison::{TWICE, run_rounds};
use super::figure::{Figure, FigureOf, Unit, names};
use super::knobs::{SettableKnob, find_settable};
use super::{Proof, ProofError, ProofRequest};

/// The command under test.
#[derive(Clone, Copy, Debug)]
pub struct ProvenCommand<'a> {
    /// The command.
    pub argv: &'a [OsString],
    /// Whether the command also runs with an empty page cache. The cache of the whole machine is dropped.
    pub drop_caches: bool,
}

/// The default number of rounds, if these take at most [`MOST_SECONDS`]; otherwise, the default is the minimum for an interval.
const ROUNDS: usize = 12;
const MOST_SECONDS: f64 = 120.0;

/// The results of one run, in the order of [`FIGURES`].
type Figures = [Option<f64>; 4];

const FIGURES: [FigureOf<Figures>; 4] = [
    (Figure::new(names::TIME, Unit::Of("s"), Scale::Ratio, true), |all| all[0]),
    (Figure::new(names::CORE, Unit::Of("Hz"), Scale::Ratio, false), |all| all[1]),
    (Figure::new(names::SWITCHES, Unit::Count, Scale::Count, true), |all| all[2]),
    (Figure::new(names::MIGRATIONS, Unit::Count, Scale::Count, true), |all| all[3]),
];

/// The setting in which the command runs.
#[derive(Clone, Debug, Default)]
struct Setting {
    /// The knob that is set for the run.
    knob: Option<&'static str>,
    cpus: Option<CpuList>,
    /// The process setting with which the command starts.
    setting: Option<ProcessSetting>,
    /// Whether the machine's page cache is empty when the command starts.
    cold: bool,
}

/// Comparison of the command under two settings.
type Comparison = super::comparison::Comparison<Setting, Figures>;

/// The names of the comparisons.
const BOOST: &str = "boost";
const AFFINITY: &str = "affinity";
const PRIORITY: &str = "nice";
const COLD: &str = "cold cache";
/// Settings that affect only the command, and therefore cannot be tested by a proof without a command.
const THE_COMMANDS: [&str; 3] = ["fifo", "ionice", "aslr"];

/// Runs the command alternately in all settings.
pub fn prove_command(request: ProofRequest, command: ProvenCommand) -> Result<Proof, ProofError> {
    let stop = request.stop;
    let (mut comparisons, missing) = plan_comparisons(request, command)?;
    let mut runner = Runner { request, command, clock: None, cold_reads: Vec::new() };
    let began = Instant::now();
    // This run also serves to warm the caches.
    runner.run_once(&Setting::default())?;
    // This time includes the overhead before and after the command itself.
    let each = began.elapsed().as_secs_f64();
    let rounds = fit_rounds(request.rounds, comparisons.len(), each);
    let what = "alternating runs, with output discarded";
    let done = run_rounds(request, &mut comparisons, (rounds, each), what, |one| runner.run_once(one))?;
    let mut found = Proof {
        title: "The command before and after each change (alternating runs)",
        head: "comparison",
        rounds: done,
        missing,
        interrupted: stop.signal(),
        ..Proof::default()
    };
    let sets_nice = |one: &Comparison| matches!(one.after.setting, Some(ProcessSetting::Nice(_)));
    let nice_limit = comparisons.iter().any(sets_nice).then(|| nice_scope_limit(&Root::live()));
    found.judge(comparisons, &FIGURES);
    found.remarks.extend(runner.describe_cold());
    let nice_limit = nice_limit.flatten();
    found.remarks.extend(nice_limit.map(|limit| text!("Nice: {limit}.")));
    found.remarks.extend(runner.clock.map(|how| text!("Core clock: {how}.")));
    Ok(found)
}

/// The requested number of rounds; by default, as many as fit into a reasonable time, but at least the minimum for an
/// interval.
fn fit_rounds(asked: Option<usize>, comparisons: usize, each: f64) -> usize {
    let fewest = super::choose_rounds((comparisons - 1).max(1) * FIGURES.len(), 0);
    let fits = (ROUNDS * comparisons * 2) as f64 * each <= MOST_SECONDS;
    asked.unwrap_or(if fits { ROUNDS.max(fewest) } else { fewest })
}

/// Possible comparisons, and impossible ones with the reasons.
type Comparisons = (Vec<Comparison>, Vec<(Text, Text)>);

/// Plans the comparisons that are possible here; the first one compares the command with itself. If the request has no
/// names, the others test boost, affinity, priority and the page cache.
fn plan_comparisons(request: ProofRequest, command: ProvenCommand) -> Result<Comparisons, ProofError> {
    let names = request.names;
    let plain = Setting::default;
    let mut all = vec![Comparison::new(TWICE, plain(), plain())];
    let mut missing = Vec::new();
    let asked = |name: &str| names.is_empty() || names.contains(&name);
    let (commands, others): (Vec<&'static str>, Vec<_>) =
        names.iter().partition(|name| THE_COMMANDS.contains(name));
    // Machine-wide settings are applied in the same way as for other measurements.
    let mut machines: Vec<_> =
        others.into_iter().filter(|name| ![AFFINITY, PRIORITY].contains(name)).collect();
    if names.is_empty() {
        machines.push(BOOST);
    }
    if !machines.is_empty() {
        let (knobs, left) = find_settable(request, &machines, Purpose::Measuring)?;
        let set = |knob: &SettableKnob| Setting { knob: Some(knob.name), ..plain() };
        all.extend(knobs.iter().map(|knob| Comparison::new(knob.change.clone(), plain(), set(knob))));
        missing.extend(left);
    }
    let bound = choose_cpus(request.cpus);
    let at = || Setting { cpus: bound.clone(), ..plain() };
    if asked(AFFINITY) {
        match &bound {
            Some(cpus) => {
                let name = text!("unpinned, then on CPU {cpus}");
                all.push(Comparison::new(name, plain(), at()));
            }
            None => missing.push((AFFINITY.into(), text!("this process may use only one CPU"))),
        }
    }
    if asked(PRIORITY) {
        let own = process::read_attributes();
        let nice = lowest_nice_value(&own);
        if own.lowest_nice < own.nice {
            let how = bound.as_ref().map_or("as it is".to_owned(), |cpus| format!("on CPU {cpus}"));
            let name = text!("{how}, then with nice {nice}", nice = nice.to_string());
            let with = Setting { setting: Some(ProcessSetting::Nice(nice)), ..at() };
            all.push(Comparison::new(name, at(), with));
        } else {
            let why = match own.nice <= nice {
                true => text!("already {nice}", nice = own.nice.to_string()),
                false => text!("nice {nice} needs root", nice = nice.to_string()),
            };
            missing.push((PRIORITY.into(), why));
        }
    }
    if !commands.is_empty() {
        let (knobs, left) = find_settable(request, &commands, Purpose::Command)?;
        let hold = |knob: SettableKnob| {
            Comparison::new(knob.change, plain(), Setting { setting: knob.setting, ..plain() })
        };
        all.extend(knobs.into_iter().map(hold));
        missing.extend(left);
    }
    if command.drop_caches {
        let name = text!("cold page cache, then warm");
        all.push(Comparison::new(name, Setting { cold: true, ..plain() }, plain()));
    } else if names.is_empty() {
        missing.push((COLD.into(), text!("use --drop-caches as root; it drops the machine's page cache")));
    }
    Ok((all, missing))
}

/// The CPUs to which the command is pinned: those of `--cpus`, or the last allowed CPU; `None` if only one CPU is
/// allowed.
fn choose_cpus(quiet: Option<&CpuList>) -> Option<CpuList> {
    let allowed = pin::allowed().filter(|allowed| allowed.len() > 1)?;
    quiet.cloned().or_else(|| Some(allowed.iter().last().into_iter().collect()))
}

/// Runs the command.
struct Runner<'a> {
    request: ProofRequest<'a>,
    command: ProvenCommand<'a>,
    /// The source of the clock.
    clock: Option<&'static str>,
    /// Bytes that cold runs read from disks.
    cold_reads: Vec<f64>,
}

impl Runner<'_> {
    /// Describes the disk reads of runs with a cold cache.
    fn describe_cold(&mut self) -> Option<Text> {
        self.cold_reads.sort_by(f64::total_cmp);
        let bytes = record::statistics::median_of_sorted(&self.cold_reads) as u64;
        (!self.cold_reads.is_empty()).then(|| {
            let read = Value::Bytes(bytes);
            text!("Cold: the page cache of the whole machine was dropped. A run then read {read} from disk.")
        })
    }

    /// Runs the command once in a setting. Returns `None` if a signal ended the run, and an error if the command failed or the setting is
    /// impossible.
    fn run_once(&mut self, setting: &Setting) -> Result<Option<Figures>, ProofError> {
        if self.request.stop.signal().is_some() {
            return Ok(None);
        }
        if setting.cold {
            page_cache::drop_all()?;
        }
        let tuned = setting.knob.map(|name| (self.request.begin_session)(&[name])).transpose()?;
        let guard = Guard::new(None);
        let env = [guard.variable()];
        let job = Job {
            argv: self.command.argv,
            cpus: setting.cpus.as_ref(),
            env: &env,
            events: true,
            samples: None,
            guard: None,
        };
        let run =
            || command::run_silent(&job, &mut SharedInput::Other, self.request.stop, &mut |_: &[Process]| {});
        let run = match &setting.setting {
            Some(setting) => process_settings::run_with_setting(setting, run)?,
            None => run(),
        };
        drop(guard);
        drop(tuned);
        let run = run.map_err(ProofError::CannotStart)?;
        if self.request.stop.signal().is_some() {
            return Ok(None);
        }
        if run.ended.exit != Exit::Code(0) {
            return Err(ProofError::CommandFailed(run.ended.exit));
        }
        if setting.cold {
            self.cold_reads.push(run.ended.usage.read_bytes as f64);
        }
        Ok(Some(self.read_figures(&run)))
    }

    fn read_figures(&mut self, run: &Run) -> Figures {
        let usage = &run.ended.usage;
        let count = |event: &str| run.reading.get(event).map(|count| count.value);
        let switches = || (usage.voluntary_switches + usage.involuntary_switches) as f64;
        self.clock = self.clock.or(run.clock.map(|(_, how)| how));
        [
            Some(run.ended.wall.as_secs_f64()),
            run.clock.map(|(hz, _)| hz),
            Some(count("context-switches").unwrap_or_else(switches)),
            count("cpu-migrations"),
        ]
    }
}
