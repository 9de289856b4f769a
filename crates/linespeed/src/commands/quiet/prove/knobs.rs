//! The machine's noise before and after each knob, and all together.

use std::time::Duration;

use ::quiet::audit::{AuditRow, audit};
use ::quiet::files::Tree;
use ::quiet::knob::ProcessSetting;
use ::quiet::tuned_session::read_boot_id;
use ::quiet::tuning_plan::{Purpose, TuningPlan, prepare_context};
use machine::Root;
use measure::noise::{self, Block};
use os::Stop;
use os::pin;
use record::CpuList;
use record::paired_comparison::Scale;

use super::figure::{Compared, Figure, Unit, names};
use super::{Findings, Rounds};
use crate::commands::quiet::noise_estimate::{Measured, floor as noise_floor};
use crate::commands::quiet::proof_cache::{ProofCache, Proven};
use crate::commands::quiet::tuned_session;
use crate::failure::Failure;
use crate::options::Options;
use crate::{output, signals};

/// Rounds beyond the fewest that give an interval: so that one odd round does not decide.
const SPARE_ROUNDS: usize = 3;
/// How long a block takes with what is before and after it.
const BLOCK: f64 = 0.34;
/// A governor's or a sleep state's change is in force by then. Each block comes after as long a rest, set or not.
const SETTLING: Duration = Duration::from_millis(20);
/// A share that is worth knowing: a point.
const WORTH: Scale = Scale::Difference { worth: 0.01 };
/// What stands for nothing set, and for everything.
const NOTHING: &str = "nothing";
const ALL: &str = "all of them";

const fn figure(name: &'static str, unit: Unit, scale: Scale) -> Figure {
    Figure { name, unit, scale, less_is_better: true }
}

type BlockFigure = fn(&Block) -> Option<f64>;

/// What is looked at in each block. Whose the taken time was is told where /proc/interrupts tells it.
fn figures(hypervisor: Option<&str>) -> [(Figure, BlockFigure); 6] {
    let below = if hypervisor == Some("none") { names::FIRMWARE } else { names::STEAL };
    let untold: BlockFigure = |block| if block.taken_by_os.is_none() { block.taken } else { None };
    [
        (figure(names::WORK, Unit::Ratio, Scale::Ratio), |block| block.work_p95),
        (figure(names::OS, Unit::Share, WORTH), |block| block.taken_by_os),
        (figure(below, Unit::Share, WORTH), |block| block.taken_below),
        (figure(names::ANYBODY, Unit::Share, WORTH), untold),
        (figure(names::WAKEUP, Unit::Seconds, Scale::Ratio), |block| block.wakeup_p99.map(|ns| ns / 1e9)),
        (figure(names::CLOCK, Unit::Share, WORTH), |block| block.clock_spread),
    ]
}

/// Figures of one comparison that have values: whose the taken time was is either told or not.
const TOLD: usize = 5;

/// One state that is compared with the machine as it is.
struct Trial {
    name: &'static str,
    knobs: Vec<&'static str>,
    rounds: Vec<(Block, Block)>,
    refused: Option<String>,
}

/// Measures and prints; the exit code.
pub fn run(options: &Options, names: &[&'static str], wanted: Option<u32>) -> Result<u8, Failure> {
    let stop = signals::install();
    let Turnable { knobs, left: mut missing } = turnable(options, names, Purpose::Measuring)?;
    let mut trials = trials(knobs);
    let cpus = cpus(options);
    let rounds =
        wanted.map_or_else(|| super::rounds((trials.len() - 1).max(1) * TOLD, SPARE_ROUNDS), |n| n as usize);
    let seconds = (rounds * trials.len() * 2) as f64 * BLOCK;
    if !options.out.quiet_output {
        output::complain(&format!(
            "{} of {} blocks in turn: about {}",
            report::plural(rounds, "round"),
            trials.len() * 2,
            record::units::figure(seconds, "s")
        ));
    }
    let mut done = 0;
    for round in 0..rounds {
        for (at, trial) in trials.iter_mut().enumerate() {
            if stop.signal().is_none() && trial.refused.is_none() {
                trial.round(options, &cpus, (round + at) % 2 == 0, stop);
            }
        }
        if stop.signal().is_some() {
            break;
        }
        done += 1;
    }
    let mut found = Findings {
        title: "Noise before and after, in turn",
        head: "turned",
        rounds: done,
        interrupted: stop.signal(),
        ..Findings::default()
    };
    let figures = figures(machine::inspect(&Root::live()).machine.virtualization.hypervisor.as_deref());
    let mut same = (NOTHING.to_owned(), Rounds::new());
    let mut others = Vec::new();
    for trial in trials {
        let told = of_figures(&trial.rounds, &figures);
        match trial.refused {
            Some(why) => missing.push((trial.name.to_owned(), why)),
            None if trial.knobs.is_empty() => same.1 = told,
            None => others.push((trial.name.to_owned(), told)),
        }
    }
    found.judge(same, others);
    found.missing = missing;
    let list: CpuList = cpus.iter().copied().collect();
    if found.interrupted.is_none()
        && let Err(why) = proof_cache(&found, &list, noise_floor(&cpus, stop)).write()
        && !options.out.quiet_output
    {
        output::complain(&format!("linespeed quiet will not know of this: {why}"));
    }
    found.remarks.push(format!(
        "On CPU {list}, the worst of them. p95 of same work: over its median. Clock's movement: the 5th to the 95th \
         percentile of the core clock over its median."
    ));
    found.tell(options)
}

/// What the audit is to know of it.
fn proof_cache(found: &Findings, cpus: &CpuList, floor: Option<f64>) -> ProofCache {
    let as_it_is = |name: &str| {
        let row = found.compared.iter().find(|(tuned, figure, _)| tuned == NOTHING && figure.name == name);
        row.map(|(_, _, compared)| compared.gain.before)
    };
    let proven = |(tuned, figure, compared): &(String, Figure, Compared)| Proven {
        knob: tuned.clone(),
        figure: figure.name.to_owned(),
        verdict: compared.gain.verdict.clone(),
        words: figure.result(&compared.gain),
    };
    let of_knobs = found.compared.iter().filter(|(tuned, ..)| tuned != NOTHING && tuned != ALL);
    ProofCache {
        boot_id: read_boot_id(),
        cpus: cpus.to_string(),
        measured: Measured {
            floor,
            taken_by_os: as_it_is(names::OS),
            taken_below: as_it_is(names::STEAL).or_else(|| as_it_is(names::FIRMWARE)),
            taken: as_it_is(names::ANYBODY),
            wakeup_p99: as_it_is(names::WAKEUP),
            clock_spread: as_it_is(names::CLOCK),
        },
        proven: of_knobs.map(proven).collect(),
        ..ProofCache::default()
    }
}

fn of_figures(rounds: &[(Block, Block)], figures: &[(Figure, BlockFigure)]) -> Rounds {
    let of = |value: BlockFigure| rounds.iter().filter_map(|(a, b)| Some((value(a)?, value(b)?))).collect();
    figures.iter().map(|(figure, value)| (*figure, of(*value))).collect()
}

/// CPUs that are measured: those that are to be quiet, or all that this process may use.
pub fn cpus(options: &Options) -> Vec<u32> {
    let chosen = options.measuring.cpus.clone().or_else(pin::allowed).unwrap_or_default();
    let online = Root::live().cpu_list("/sys/devices/system/cpu/online");
    online.map_or(chosen.clone(), |online| chosen.intersection(&online)).iter().collect()
}

/// Knobs that can be set here, and those that cannot, with the reason.
#[derive(Debug, Default)]
pub struct Turnable {
    /// Names, in the order of writing.
    pub knobs: Vec<Named>,
    /// What cannot be set, and why.
    pub left: Vec<(String, String)>,
}

/// A knob that can be set.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// From what to what, in a person's words.
    pub change: String,
    /// What a process holds for it.
    pub setting: Option<ProcessSetting>,
}

/// Which of these knobs, or of all, can be set for this purpose.
pub fn turnable(options: &Options, names: &[&'static str], purpose: Purpose) -> Result<Turnable, Failure> {
    let root = Root::live();
    let tree = Tree::new(&root);
    let context = prepare_context(&root, &tree, options.measuring.cpus.as_ref(), Purpose::Command)?;
    let rows = audit(&context, names);
    let plan = TuningPlan::from_audit(&rows, !names.is_empty(), purpose, &tree);
    let mut left: Vec<(String, String)> =
        plan.not_set.iter().map(|(name, why)| ((*name).to_owned(), why.clone())).collect();
    let tuned = |name: &str| {
        plan.changes.iter().any(|change| change.knob == name)
            || plan.settings.iter().any(|(held, _)| *held == name)
            || plan.compound_changes.iter().any(|(compound_applied, _)| *compound_applied == name)
    };
    let told = |row: &AuditRow| Named {
        name: row.knob.name(),
        change: format!(
            "{}, then {}",
            row.inspection.now,
            row.inspection.steadier.as_deref().unwrap_or("steadier")
        ),
        setting: plan
            .settings
            .iter()
            .find(|(name, _)| *name == row.knob.name())
            .map(|(_, setting)| setting.clone()),
    };
    let knobs: Vec<Named> = rows.iter().filter(|row| tuned(row.knob.name())).map(told).collect();
    // Who names a knob hears of it.
    for row in rows.iter().filter(|row| names.contains(&row.knob.name())) {
        let name = row.knob.name();
        if !knobs.iter().any(|knob| knob.name == name) && !left.iter().any(|(said, _)| said == name) {
            left.push((name.to_owned(), format!("it is steady already: {}", row.inspection.now)));
        }
    }
    Ok(Turnable { knobs, left })
}

/// Nothing set, each knob, and all of them.
fn trials(knobs: Vec<Named>) -> Vec<Trial> {
    let trial = |name, knobs| Trial { name, knobs, rounds: Vec::new(), refused: None };
    let mut trials = vec![trial(NOTHING, Vec::new())];
    trials.extend(knobs.iter().map(|knob| trial(knob.name, vec![knob.name])));
    if knobs.len() > 1 {
        trials.push(trial(ALL, knobs.iter().map(|knob| knob.name).collect()));
    }
    trials
}

impl Trial {
    /// A block as the machine is and one with the knobs set, in this order or the other.
    fn round(&mut self, options: &Options, cpus: &[u32], plain_first: bool, stop: &Stop) {
        let plain = || {
            std::thread::sleep(SETTLING);
            noise::block(cpus, stop)
        };
        let first = plain_first.then(plain);
        match self.tuned(options, cpus, stop) {
            Ok(after) => {
                let before = first.unwrap_or_else(plain);
                if stop.signal().is_none() {
                    self.rounds.push((before, after));
                }
            }
            Err(why) => self.refused = Some(why),
        }
    }

    fn tuned(&self, options: &Options, cpus: &[u32], stop: &Stop) -> Result<Block, String> {
        let tuned = match self.knobs.is_empty() {
            true => None,
            false => Some(
                tuned_session::begin(options, &self.knobs, Purpose::Measuring)
                    .map_err(|why| why.to_string())?,
            ),
        };
        std::thread::sleep(SETTLING);
        let block = noise::block(cpus, stop);
        if let Some(tuned) = tuned {
            tuned.end();
        }
        Ok(block)
    }
}
