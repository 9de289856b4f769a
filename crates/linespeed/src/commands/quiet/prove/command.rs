//! A command's own time before and after: boost, affinity, priority, page cache.

use ::quiet::audit::audit;
use ::quiet::files::Tree;
use ::quiet::holds::process;
use ::quiet::knob::{State, Way};
use ::quiet::turn::Purpose;
use diagnose::gain::{Scale, least_rounds};
use machine::Root;
use measure::child::{Exit, Guard, Process};
use measure::command::{self, Job, Run};
use measure::{Stop, pin};
use record::{CpuList, units};

use super::Findings;
use super::figure::{Figure, Unit};
use crate::commands::quiet::caches;
use crate::commands::quiet::turned::Turned;
use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::{output, signals};

/// The nice value of the comparison of priorities, as the field's examples have it.
const NICE: i32 = -5;
/// Rounds where they fit into [`WORTH_WAITING`] seconds; otherwise the fewest that give an interval.
const ROUNDS: usize = 12;
const WORTH_WAITING: f64 = 120.0;

const FIGURES: [Figure; 4] = [
    Figure { name: "wall time", unit: Unit::Seconds, scale: Scale::Ratio, less_is_better: true },
    Figure { name: "core clock", unit: Unit::Hertz, scale: Scale::Ratio, less_is_better: false },
    Figure { name: "context switches", unit: Unit::Count, scale: Scale::Difference, less_is_better: true },
    Figure { name: "migrations", unit: Unit::Count, scale: Scale::Difference, less_is_better: true },
];

/// What one run showed, in the order of [`FIGURES`].
type Figures = [Option<f64>; 4];

/// How the command is run.
#[derive(Clone, Debug, Default)]
struct Setting {
    boost_off: bool,
    cpus: Option<CpuList>,
    nice: bool,
    cold: bool,
}

/// Two settings that differ in one thing.
struct Comparison {
    name: String,
    before: Setting,
    after: Setting,
    rounds: Vec<(Figures, Figures)>,
    refused: Option<String>,
}

/// Runs the command in all settings in turn and prints; the exit code.
pub fn run(options: &Options, quiet: &Quiet) -> Result<u8, Failure> {
    let stop = signals::install();
    let (mut comparisons, missing) = comparisons(options, quiet)?;
    let mut runner = Runner { options, quiet, stop, failed: None, clock: None };
    if !quiet.warm.is_empty() {
        caches::warm(&quiet.warm)?;
    }
    // Also what warms the caches.
    let trial = runner.once(&Setting::default());
    if let Some(failed) = runner.failed {
        return Err(failed);
    }
    let trial = trial.map_err(Failure::Cannot)?;
    let seconds = trial.and_then(|figures| figures[0]).unwrap_or(0.0);
    let fewest = least_rounds(comparisons.len());
    let time = |rounds: usize| (rounds * comparisons.len() * 2) as f64 * seconds;
    let rounds = if time(ROUNDS) <= WORTH_WAITING { ROUNDS.max(fewest) } else { fewest };
    if !options.out.quiet_output && stop.signal().is_none() {
        output::complain(&format!(
            "{} runs of about {} each, in turn, their output dropped: about {}",
            rounds * comparisons.len() * 2,
            units::figure(seconds, "s"),
            units::figure(time(rounds), "s")
        ));
    }
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
    let together = comparisons.len();
    for comparison in comparisons {
        if let Some(why) = comparison.refused {
            found.missing.push((comparison.name, why));
            continue;
        }
        for (at, figure) in FIGURES.into_iter().enumerate() {
            let rounds = comparison.rounds.iter().filter_map(|(a, b)| Some((a[at]?, b[at]?))).collect();
            let compared = figure.compare(rounds, together);
            found.compared.extend(compared.map(|compared| (comparison.name.clone(), figure, compared)));
        }
    }
    found.remarks.push(Findings::how(done, together));
    found.remarks.extend(runner.clock.map(|how| format!("Core clock: {how}.")));
    found.tell(options)
}

/// What can be compared here, and what not, with the reason.
#[allow(clippy::type_complexity)]
fn comparisons(
    options: &Options,
    quiet: &Quiet,
) -> Result<(Vec<Comparison>, Vec<(String, String)>), Failure> {
    let mut all = Vec::new();
    let mut missing = Vec::new();
    let comparison = |name: String, before: Setting, after: Setting| Comparison {
        name,
        before,
        after,
        rounds: Vec::new(),
        refused: None,
    };
    let plain = Setting::default;
    match why_no_boost(options)? {
        None => all.push(comparison(
            "boost on, then off".to_owned(),
            plain(),
            Setting { boost_off: true, ..plain() },
        )),
        Some(why) => missing.push(("boost".to_owned(), why)),
    }
    let bound = bound(options);
    let at = || Setting { cpus: bound.clone(), ..plain() };
    match &bound {
        Some(cpus) => {
            all.push(comparison(format!("unbound, then on CPU {cpus}"), plain(), at()));
        }
        None => missing.push(("affinity".to_owned(), "this process may use one CPU only".to_owned())),
    }
    if process::own().lowest_nice <= NICE {
        let name = match &bound {
            Some(cpus) => format!("on CPU {cpus}, then with nice {NICE}"),
            None => format!("as it is, then with nice {NICE}"),
        };
        all.push(comparison(name, at(), Setting { nice: true, ..at() }));
    } else {
        missing.push(("priority".to_owned(), format!("nice {NICE} needs root")));
    }
    let cold = "cold cache, then warm".to_owned();
    if quiet.drop_caches {
        all.push(comparison(cold, Setting { cold: true, ..plain() }, plain()));
    } else {
        let why = "it drops the page cache of the whole machine, which cannot be put back: --drop-caches asks for it";
        missing.push(("cold cache".to_owned(), why.to_owned()));
    }
    Ok((all, missing))
}

/// Why boost cannot be switched here.
fn why_no_boost(options: &Options) -> Result<Option<String>, Failure> {
    let root = Root::live();
    let tree = Tree::new(&root);
    let scene = crate::commands::quiet::scene(options, &root, &tree, Purpose::ForACommand)?;
    let rows = audit(&scene, &["boost"]);
    let Some(row) = rows.first() else { return Ok(Some("there is no such knob".to_owned())) };
    Ok(match (&row.look.state, &row.look.way, &row.needs) {
        (State::Absent(why) | State::Unseen(why), ..) => Some(why.clone()),
        (State::Steady, ..) => Some("it is off already".to_owned()),
        (_, _, Some(needs)) => Some(format!("it needs {needs}")),
        (_, Way::Write(_), None) => None,
        _ => Some("nothing here switches it".to_owned()),
    })
}

/// The CPUs that the command is bound to: those of `--cpus`, or the last that may be used; `None` where there is one only.
fn bound(options: &Options) -> Option<CpuList> {
    let allowed = pin::allowed()?;
    if allowed.len() < 2 {
        return None;
    }
    options.measuring.cpus.clone().or_else(|| Some(allowed.iter().last().into_iter().collect()))
}

impl Comparison {
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
}

impl Runner<'_> {
    /// One run in a setting; `None` where a signal ended it or the command failed, an error where the setting cannot be had.
    fn once(&mut self, setting: &Setting) -> Result<Option<Figures>, String> {
        if self.stop.signal().is_some() {
            return Ok(None);
        }
        if setting.cold {
            caches::drop_silently().map_err(|why| why.to_string())?;
        }
        let turned = match setting.boost_off {
            true => Some(
                Turned::begin(self.options, &["boost"], Purpose::ForMeasuring)
                    .map_err(|why| why.to_string())?,
            ),
            false => None,
        };
        let nice = setting.nice.then(|| process::own().nice);
        if nice.is_some() {
            // The command inherits it.
            process::set_nice(0, NICE)?;
        }
        let guard = Guard::new(None);
        let env = [guard.variable()];
        let job = Job { argv: &self.quiet.command, cpus: setting.cpus.as_ref(), env: &env };
        let run = command::run_silent(&job, self.stop, &mut |_: &[Process]| {});
        drop(guard);
        if let Some(nice) = nice {
            process::set_nice(0, nice)?;
        }
        if let Some(turned) = turned {
            turned.end();
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
            Exit::Code(0) => return Ok(Some(self.figures(&run))),
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
