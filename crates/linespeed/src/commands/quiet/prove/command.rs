//! A command's own time before and after: boost, affinity, priority, page cache.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ::quiet::files::Tree;
use ::quiet::knob::ProcessSetting;
use ::quiet::knobs::{lowest_nice_value, nice_scope_limit};
use ::quiet::process_settings::{self, process};
use ::quiet::tuning_plan::Purpose;
use machine::Root;
use measure::command::{self, Job, Run};
use measure::file_trace;
use os::Stop;
use os::child::{Exit, Guard, Process};
use os::pin;
use record::paired_comparison::Scale;
use record::{CpuList, units};

use super::figure::{Figure, Unit, names};
use super::knobs::{self, Turnable};
use super::{Findings, Rounds};
use crate::commands::quiet::tuned_session;
use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::{output, signals};
use ::quiet::page_cache;

/// Rounds where they fit into [`WORTH_WAITING`] seconds; otherwise the fewest that give an interval.
const ROUNDS: usize = 12;
const WORTH_WAITING: f64 = 120.0;

/// A promise that was so many seconds off, and by such a factor, is corrected.
const WORTH_TELLING: (f64, f64) = (2.0, 1.3);

const FIGURES: [Figure; 4] = [
    Figure { name: names::TIME, unit: Unit::Seconds, scale: Scale::Ratio, less_is_better: true },
    Figure { name: names::CORE, unit: Unit::Hertz, scale: Scale::Ratio, less_is_better: false },
    Figure { name: names::SWITCHES, unit: Unit::Count, scale: Scale::Count, less_is_better: true },
    Figure { name: names::MIGRATIONS, unit: Unit::Count, scale: Scale::Count, less_is_better: true },
];

/// What one run showed, in the order of [`FIGURES`].
type Figures = [Option<f64>; 4];

/// What the page cache is to lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cold {
    /// The files that the command opens.
    Files,
    /// All files of the machine.
    Machine,
}

/// How the command is run.
#[derive(Clone, Debug, Default)]
struct Setting {
    /// Turned for the run.
    knob: Option<&'static str>,
    cpus: Option<CpuList>,
    /// What it begins with beside that.
    setting: Option<ProcessSetting>,
    cold: Option<Cold>,
}

/// Two settings that differ in one thing.
struct Comparison {
    name: String,
    before: Setting,
    after: Setting,
    rounds: Vec<(Figures, Figures)>,
    refused: Option<String>,
}

/// The comparisons, by what is set.
const BOOST: &str = "boost";
const AFFINITY: &str = "affinity";
const PRIORITY: &str = "nice";
/// What the command alone is given, and a proof without a command cannot turn.
const THE_COMMANDS: [&str; 3] = ["fifo", "ionice", "aslr"];
/// The command as it is, against itself.
const TWICE: &str = "as it is, twice";

/// Runs the command in all settings in turn and prints; the exit code.
pub fn run(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<u8, Failure> {
    let stop = signals::install();
    let (mut comparisons, mut missing) = comparisons(options, quiet, names)?;
    let mut runner =
        Runner { options, quiet, stop, failed: None, clock: None, files: Vec::new(), cold_reads: Vec::new() };
    if !quiet.warm.is_empty() {
        crate::commands::quiet::command::warm(quiet)?;
    }
    let began = Instant::now();
    // Also what warms the caches.
    let trial = runner.once(&Setting::default());
    if let Some(failed) = runner.failed {
        return Err(failed);
    }
    let trial = trial.map_err(Failure::Cannot)?;
    let seconds = trial.and_then(|figures| figures[0]).unwrap_or(0.0);
    // With what is before and after the command's own time.
    let each = began.elapsed().as_secs_f64();
    if names.is_empty() && !quiet.drop_caches && stop.signal().is_none() {
        match runner.look_at_files(seconds) {
            Ok(()) => comparisons.push(cold(Cold::Files)),
            Err(why) => missing.push((COLD.to_owned(), why)),
        }
    }
    let fewest = super::rounds((comparisons.len() - 1).max(1) * FIGURES.len(), 0);
    let time = |rounds: usize| (rounds * comparisons.len() * 2) as f64 * each;
    let rounds = match quiet.rounds {
        Some(rounds) => rounds as usize,
        None if time(ROUNDS) <= WORTH_WAITING => ROUNDS.max(fewest),
        None => fewest,
    };
    if !options.out.quiet_output && stop.signal().is_none() {
        output::complain(&format!(
            "{} runs of about {} each, in turn, their output dropped: about {}",
            rounds * comparisons.len() * 2,
            units::figure(each, "s"),
            units::figure(time(rounds), "s")
        ));
    }
    let promised = time(rounds);
    let began = Instant::now();
    let mut done = 0;
    'all: for round in 0..rounds {
        for (at, comparison) in comparisons.iter_mut().enumerate() {
            if comparison.refused.is_none() {
                comparison.round(&mut runner, (round + at) % 2 == 0);
            }
            if stop.signal().is_some() || runner.failed.is_some() {
                break 'all;
            }
        }
        done += 1;
        // One run as it is tells nothing of a bound one's, or of a cold one's.
        if done == 1
            && !options.out.quiet_output
            && let Some(left) = corrected(promised, began.elapsed().as_secs_f64(), rounds)
        {
            let left = units::figure(left, "s");
            output::complain(&format!("the first round took another time than that: about {left} more"));
        }
    }
    if let Some(failed) = runner.failed {
        return Err(failed);
    }
    let mut found = Findings {
        title: "The command before and after, in turn",
        head: "comparison",
        rounds: done,
        missing,
        interrupted: stop.signal(),
        ..Findings::default()
    };
    let mut same = (TWICE.to_owned(), Rounds::new());
    let mut others = Vec::new();
    let held: Vec<ProcessSetting> =
        comparisons.iter().filter_map(|comparison| comparison.after.setting.clone()).collect();
    for comparison in comparisons {
        let told = of_figures(&comparison.rounds);
        let refused = match comparison.before.cold {
            Some(Cold::Files) => comparison.refused.or_else(|| runner.why_not_cold()),
            _ => comparison.refused,
        };
        match refused {
            Some(why) => found.missing.push((comparison.name, why)),
            None if comparison.name == TWICE => same.1 = told,
            None => others.push((comparison.name, told)),
        }
    }
    found.judge(same, others);
    found.remarks.extend(runner.told_of_files());
    if held.iter().any(|setting| matches!(setting, ProcessSetting::Nice(_))) {
        let limits = nice_scope_limit(&Tree::new(&Root::live()));
        found.remarks.extend(limits.map(|limits| format!("Nice: {limits}.")));
    }
    found.remarks.extend(runner.clock.map(|how| format!("Core clock: {how}.")));
    found.tell(options)
}

/// What remains by the first round, in seconds, where that is far from what was promised of all.
fn corrected(promised: f64, round: f64, rounds: usize) -> Option<f64> {
    let all = round * rounds as f64;
    let far = (all - promised).abs() > WORTH_TELLING.0 && (all / promised).ln().abs() > WORTH_TELLING.1.ln();
    (rounds > 1 && far).then_some(all - round)
}

fn of_figures(rounds: &[(Figures, Figures)]) -> Rounds {
    let of = |at: usize| rounds.iter().filter_map(|(a, b)| Some((a[at]?, b[at]?))).collect();
    FIGURES.into_iter().enumerate().map(|(at, figure)| (figure, of(at))).collect()
}

/// What can be compared here, the command with itself first, and what not, with the reason. Without names: boost, affinity,
/// priority, page cache.
#[allow(clippy::type_complexity)]
fn comparisons(
    options: &Options,
    quiet: &Quiet,
    names: &[&'static str],
) -> Result<(Vec<Comparison>, Vec<(String, String)>), Failure> {
    let comparison = Comparison::of;
    let plain = Setting::default;
    let mut all = vec![comparison(TWICE.to_owned(), plain(), plain())];
    let mut missing = Vec::new();
    let asked = |name: &str| names.is_empty() || names.contains(&name);
    // Those that concern the machine are set as for any measuring.
    let of_machine: Vec<&'static str> = match names {
        [] => vec![BOOST],
        names => {
            let its_own =
                |name: &&'static str| [AFFINITY, PRIORITY].contains(name) || THE_COMMANDS.contains(name);
            names.iter().copied().filter(|name| !its_own(name)).collect()
        }
    };
    if !of_machine.is_empty() {
        let Turnable { knobs, left } = knobs::turnable(options, &of_machine, Purpose::Measuring)?;
        for knob in knobs {
            let name = format!("{} {}", knob.name, knob.change);
            all.push(comparison(name, plain(), Setting { knob: Some(knob.name), ..plain() }));
        }
        missing.extend(left);
    }
    let bound = bound(options);
    let at = || Setting { cpus: bound.clone(), ..plain() };
    if asked(AFFINITY) {
        match &bound {
            Some(cpus) => {
                all.push(comparison(format!("unbound, then on CPU {cpus}"), plain(), at()));
            }
            None => missing.push((AFFINITY.to_owned(), "this process may use one CPU only".to_owned())),
        }
    }
    if asked(PRIORITY) {
        let own = process::read_attributes();
        let nice = lowest_nice_value(&own);
        if own.lowest_nice < own.nice {
            let from = bound.as_ref().map_or("as it is".to_owned(), |cpus| format!("on CPU {cpus}"));
            let name = format!("{from}, then with nice {nice}");
            all.push(comparison(name, at(), Setting { setting: Some(ProcessSetting::Nice(nice)), ..at() }));
        } else if own.nice <= nice {
            missing.push((PRIORITY.to_owned(), format!("it is {} already", own.nice)));
        } else {
            missing.push((PRIORITY.to_owned(), format!("nice {nice} needs root")));
        }
    }
    let its_own: Vec<&'static str> =
        names.iter().copied().filter(|name| THE_COMMANDS.contains(name)).collect();
    if !its_own.is_empty() {
        let Turnable { knobs, left } = knobs::turnable(options, &its_own, Purpose::Command)?;
        for knob in knobs {
            let name = format!("{} {}", knob.name, knob.change);
            all.push(comparison(name, plain(), Setting { setting: knob.setting, ..plain() }));
        }
        missing.extend(left);
    }
    if quiet.drop_caches {
        all.push(cold(Cold::Machine));
    }
    Ok((all, missing))
}

/// The CPUs that the command is bound to: those of `--cpus`, or the last that may be used; `None` where there is one only.
fn bound(options: &Options) -> Option<CpuList> {
    let allowed = pin::allowed()?;
    if allowed.len() < 2 {
        return None;
    }
    options.measuring.cpus.clone().or_else(|| Some(allowed.iter().last().into_iter().collect()))
}

/// The command with a page cache that lacks something, then with it.
fn cold(what: Cold) -> Comparison {
    let name = match what {
        Cold::Files => "cold cache of its files, then warm",
        Cold::Machine => "cold cache of the machine, then warm",
    };
    Comparison::of(name.to_owned(), Setting { cold: Some(what), ..Setting::default() }, Setting::default())
}

impl Comparison {
    fn of(name: String, before: Setting, after: Setting) -> Self {
        Self { name, before, after, rounds: Vec::new(), refused: None }
    }

    fn round(&mut self, runner: &mut Runner, before_first: bool) {
        let (first, second) =
            if before_first { (&self.before, &self.after) } else { (&self.after, &self.before) };
        let runs = runner.once(first).and_then(|one| Ok((one, runner.once(second)?)));
        match runs {
            Ok((Some(first), Some(second))) => {
                self.rounds.push(if before_first { (first, second) } else { (second, first) });
            }
            Ok(_) => {}
            Err(why) => self.refused = Some(why),
        }
    }
}

/// Runs the command.
struct Runner<'a> {
    options: &'a Options,
    quiet: &'a Quiet,
    stop: &'a Stop,
    failed: Option<Failure>,
    /// How the clock is known.
    clock: Option<&'static str>,
    /// The files that the command opens.
    files: Vec<PathBuf>,
    /// Bytes that cold runs read from disks.
    cold_reads: Vec<f64>,
}

/// The comparison that is about the page cache, where it is not made.
const COLD: &str = "cold cache";
/// A run that is followed takes longer than one that is not: so many seconds at least are waited for, and so many times as long.
const FOLLOWED: (f64, f64) = (30.0, 20.0);

impl Runner<'_> {
    /// Runs the command once more to see which files it opens. An error says why there is nothing to drop.
    fn look_at_files(&mut self, seconds: f64) -> Result<(), String> {
        let all = "drops the page cache of the whole machine as root";
        let limit = Duration::from_secs_f64(FOLLOWED.0 + FOLLOWED.1 * seconds);
        match file_trace::by(&self.quiet.command, limit, self.stop) {
            Ok(files) if files.is_empty() => Err("the command opens no file of a disk".to_owned()),
            Ok(files) => {
                self.files = files;
                Ok(())
            }
            Err(why) => {
                Err(format!("which files the command opens is not known: {why}; --drop-caches {all}"))
            }
        }
    }

    /// Why runs were not cold though the cache was dropped; `None` where they read from a disk.
    fn why_not_cold(&self) -> Option<String> {
        let any = self.cold_reads.is_empty() || self.cold_reads.iter().any(|bytes| *bytes > 0.0);
        (!any).then(|| {
            "nothing was read from a disk after its files were dropped from the cache: running programs have them mapped, or \
             they lie in memory"
                .to_owned()
        })
    }

    /// Which files were dropped.
    fn told_of_files(&self) -> Option<String> {
        if self.cold_reads.is_empty() {
            return None;
        }
        let mut reads = self.cold_reads.clone();
        reads.sort_by(f64::total_cmp);
        let read = units::bytes(record::statistics::median_of_sorted(&reads) as u64);
        if self.files.is_empty() {
            return Some(format!(
                "Cold: the page cache of the whole machine was dropped; a run then read {read} from disks."
            ));
        }
        let bytes =
            self.files.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|data| data.len()).sum();
        let many = self.files.len();
        Some(format!(
            "Cold: before the run the {many} {} that the command opens ({}) were dropped from the page cache, as far as no running \
             program has them mapped; a run then read {read} from disks. Folders and other files stay cached: --drop-caches \
             drops all, of the whole machine.",
            if many == 1 { "file" } else { "files" },
            units::bytes(bytes)
        ))
    }

    /// One run in a setting; `None` where a signal ended it or the command failed, an error where the setting cannot be had.
    fn once(&mut self, setting: &Setting) -> Result<Option<Figures>, String> {
        if self.stop.signal().is_some() {
            return Ok(None);
        }
        match setting.cold {
            Some(Cold::Machine) => page_cache::drop_all().map_err(|why| why.to_string())?,
            Some(Cold::Files) => page_cache::drop_files(&self.files),
            None => {}
        }
        let tuned = match setting.knob {
            Some(name) => Some(
                tuned_session::begin(self.options, &[name], Purpose::Measuring)
                    .map_err(|why| why.to_string())?,
            ),
            None => None,
        };
        let guard = Guard::new(None);
        let env = [guard.variable()];
        let job = Job {
            argv: &self.quiet.command,
            cpus: setting.cpus.as_ref(),
            env: &env,
            events: true,
            guard: None,
        };
        let run = || command::run_silent(&job, self.stop, &mut |_: &[Process]| {});
        let run = match &setting.setting {
            Some(setting) => {
                process_settings::run_with_setting(setting, run).map_err(|why| why.to_string())?
            }
            None => run(),
        };
        drop(guard);
        if let Some(tuned) = tuned {
            tuned.end();
        }
        let run = match run {
            Ok(run) => run,
            Err(refused) => {
                self.failed = Some(Failure::Refused(refused));
                return Ok(None);
            }
        };
        if self.stop.signal().is_some() {
            return Ok(None);
        }
        let how = match run.ended.exit {
            Exit::Code(0) => {
                if setting.cold.is_some() {
                    self.cold_reads.push(run.ended.usage.read_bytes as f64);
                }
                return Ok(Some(self.figures(&run)));
            }
            Exit::Code(code) => format!("ended with code {code}"),
            Exit::Signal(signal) | Exit::Stopped(signal) => format!("was ended by signal {signal}"),
            Exit::TimedOut => "took too long".to_owned(),
        };
        self.failed = Some(Failure::Cannot(format!("the command {how}: runs that fail cannot be compared")));
        Ok(None)
    }

    fn figures(&mut self, run: &Run) -> Figures {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_that_was_far_off_is_corrected_by_the_first_round() {
        assert_eq!(corrected(6.0, 1.6, 10), Some(14.4));
        assert_eq!(corrected(16.0, 0.6, 10), Some(5.4));
        for (promised, round, rounds) in [(6.0, 0.7, 10), (0.1, 0.1, 12), (6.0, 60.0, 1), (60.0, 6.5, 10)] {
            assert_eq!(corrected(promised, round, rounds), None);
        }
    }
}
