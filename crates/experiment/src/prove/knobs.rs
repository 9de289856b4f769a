//! The machine's noise before and after each knob, and all together.

use std::time::Duration;

use machine::Root;
use measure::os_noise::{self, Block};
use os::{Stop, pin};
use quiet::audit::{AuditRow, audit};
use quiet::files::Tree;
use quiet::knob::ProcessSetting;
use quiet::tuned_session::read_boot_id;
use quiet::tuning_plan::{Purpose, TuningPlan, prepare_context};
use record::CpuList;
use record::paired_comparison::Scale;

use super::figure::{Compared, Figure, Unit, names};
use super::{Notice, Proof, ProofError, ProofRequest, Rounds};
use crate::noise_estimate::{Measured, measure_floor};
use crate::proof_cache::{ProofCache, Proven};
use crate::rounds::run_comparisons;

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
    let unreported: BlockFigure = |block| if block.taken_by_os.is_none() { block.taken } else { None };
    [
        (figure(names::WORK, Unit::Ratio, Scale::Ratio), |block| block.work_p95),
        (figure(names::OS, Unit::Share, WORTH), |block| block.taken_by_os),
        (figure(below, Unit::Share, WORTH), |block| block.taken_below),
        (figure(names::ANYBODY, Unit::Share, WORTH), unreported),
        (figure(names::WAKEUP, Unit::Seconds, Scale::Ratio), |block| block.wakeup_p99.map(|ns| ns / 1e9)),
        (figure(names::CLOCK, Unit::Share, WORTH), |block| block.clock_spread),
    ]
}

/// Figures of one comparison that have values: whose the taken time was is either told or not.
const REPORTED: usize = 5;

/// One state that is compared with the machine as it is.
struct Trial<'a> {
    request: ProofRequest<'a>,
    cpus: &'a [u32],
    name: &'static str,
    knobs: Vec<&'static str>,
    rounds: Vec<(Block, Block)>,
    refused: Option<String>,
}

/// Measures the machine's noise with each knob set and without; what the audit is to know of it, unless it was interrupted.
pub fn prove_knobs(request: ProofRequest) -> Result<(Proof, Option<ProofCache>), ProofError> {
    let stop = request.stop;
    let SettableKnobs { knobs, left: mut missing } =
        find_settable(request.names, request.cpus, Purpose::Measuring)?;
    let cpus = measured_cpus(request.cpus);
    let mut trials = plan_trials(request, &cpus, knobs);
    let rounds = request
        .rounds
        .unwrap_or_else(|| super::choose_rounds((trials.len() - 1).max(1) * REPORTED, SPARE_ROUNDS));
    let blocks = trials.len() * 2;
    (request.tell)(Notice::Blocks { rounds, blocks, seconds: (rounds * blocks) as f64 * BLOCK });
    let run_pair = |_: &mut (), trial: &mut Trial, plain_first| {
        if trial.refused.is_none() {
            trial.run_pair(plain_first);
        }
    };
    let done = run_comparisons(&mut (), &mut trials, rounds, run_pair, |()| stop.signal().is_some(), |_| {});
    let mut found = Proof {
        title: "Noise before and after, in turn",
        head: "turned",
        rounds: done,
        interrupted: stop.signal(),
        ..Proof::default()
    };
    let figures = figures(machine::inspect(&Root::live()).machine.virtualization.hypervisor.as_deref());
    let mut same = (NOTHING.to_owned(), Rounds::new());
    let mut others = Vec::new();
    for trial in trials {
        let rounds = collect_figures(&trial.rounds, &figures);
        match trial.refused {
            Some(why) => missing.push((trial.name.to_owned(), why)),
            None if trial.knobs.is_empty() => same.1 = rounds,
            None => others.push((trial.name.to_owned(), rounds)),
        }
    }
    found.judge(same, others);
    found.missing = missing;
    let list: CpuList = cpus.iter().copied().collect();
    let cache = found.interrupted.is_none().then(|| collect_cache(&found, &list, measure_floor(&cpus, stop)));
    found.remarks.push(format!(
        "On CPU {list}, the worst of them. p95 of same work: over its median. Clock's movement: the 5th to the 95th \
         percentile of the core clock over its median."
    ));
    Ok((found, cache))
}

/// What the audit is to know of it.
fn collect_cache(found: &Proof, cpus: &CpuList, floor: Option<f64>) -> ProofCache {
    let as_it_is = |name: &str| {
        let row = found.compared.iter().find(|(tuned, figure, _)| tuned == NOTHING && figure.name == name);
        row.map(|(_, _, compared)| compared.comparison.before)
    };
    let proven = |(tuned, figure, compared): &(String, Figure, Compared)| Proven {
        knob: tuned.clone(),
        figure: figure.name.to_owned(),
        verdict: compared.comparison.verdict.clone(),
        words: figure.result(&compared.comparison),
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

fn collect_figures(rounds: &[(Block, Block)], figures: &[(Figure, BlockFigure)]) -> Rounds {
    let of = |value: BlockFigure| rounds.iter().filter_map(|(a, b)| Some((value(a)?, value(b)?))).collect();
    figures.iter().map(|(figure, value)| (*figure, of(*value))).collect()
}

/// CPUs that are measured: those that are to be quiet, or all that this process may use.
pub fn measured_cpus(quiet: Option<&CpuList>) -> Vec<u32> {
    let chosen = quiet.cloned().or_else(pin::allowed).unwrap_or_default();
    let online = Root::live().cpu_list("/sys/devices/system/cpu/online");
    online.map_or(chosen.clone(), |online| chosen.intersection(&online)).iter().collect()
}

/// Knobs that can be set here, and those that cannot, with the reason.
#[derive(Debug, Default)]
pub(super) struct SettableKnobs {
    /// Names, in the order of writing.
    pub knobs: Vec<SettableKnob>,
    /// What cannot be set, and why.
    pub left: Vec<(String, String)>,
}

/// A knob that can be set.
#[derive(Clone, Debug)]
pub(super) struct SettableKnob {
    /// Its name.
    pub name: &'static str,
    /// From what to what, in a person's words.
    pub change: String,
    /// What a process holds for it.
    pub setting: Option<ProcessSetting>,
}

/// Which of these knobs, or of all, can be set for this purpose.
pub(super) fn find_settable(
    names: &[&'static str],
    cpus: Option<&CpuList>,
    purpose: Purpose,
) -> Result<SettableKnobs, ProofError> {
    let root = Root::live();
    let tree = Tree::new(&root);
    let context = prepare_context(&root, &tree, cpus, Purpose::Command)?;
    let rows = audit(&context, names);
    let plan = TuningPlan::from_audit(&rows, !names.is_empty(), purpose, &tree);
    let mut left: Vec<(String, String)> =
        plan.not_set.iter().map(|(name, why)| ((*name).to_owned(), why.to_string())).collect();
    let tuned = |name: &str| {
        plan.changes.iter().any(|change| change.knob == name)
            || plan.settings.iter().any(|(held, _)| *held == name)
            || plan.compound_changes.iter().any(|(compound_applied, _)| *compound_applied == name)
    };
    let settable = |row: &AuditRow| SettableKnob {
        name: row.knob.name(),
        change: format!(
            "{}, then {}",
            row.inspection.now,
            row.inspection.steadier.as_ref().map_or("steadier".to_owned(), ToString::to_string)
        ),
        setting: plan
            .settings
            .iter()
            .find(|(name, _)| *name == row.knob.name())
            .map(|(_, setting)| setting.clone()),
    };
    let knobs: Vec<SettableKnob> = rows.iter().filter(|row| tuned(row.knob.name())).map(settable).collect();
    // Who names a knob hears of it.
    for row in rows.iter().filter(|row| names.contains(&row.knob.name())) {
        let name = row.knob.name();
        if !knobs.iter().any(|knob| knob.name == name) && !left.iter().any(|(said, _)| said == name) {
            left.push((name.to_owned(), format!("it is steady already: {}", row.inspection.now)));
        }
    }
    Ok(SettableKnobs { knobs, left })
}

/// Nothing set, each knob, and all of them.
fn plan_trials<'a>(request: ProofRequest<'a>, cpus: &'a [u32], knobs: Vec<SettableKnob>) -> Vec<Trial<'a>> {
    let trial = |name, knobs| Trial { request, cpus, name, knobs, rounds: Vec::new(), refused: None };
    let mut trials = vec![trial(NOTHING, Vec::new())];
    trials.extend(knobs.iter().map(|knob| trial(knob.name, vec![knob.name])));
    if knobs.len() > 1 {
        trials.push(trial(ALL, knobs.iter().map(|knob| knob.name).collect()));
    }
    trials
}

impl Trial<'_> {
    /// A block as the machine is and one with the knobs set, in this order or the other.
    fn run_pair(&mut self, plain_first: bool) {
        let plain = || settled_block(self.cpus, self.request.stop);
        let first = plain_first.then(plain);
        match self.tuned_block() {
            Ok(after) => {
                let before = first.unwrap_or_else(plain);
                if self.request.stop.signal().is_none() {
                    self.rounds.push((before, after));
                }
            }
            Err(why) => self.refused = Some(why.to_string()),
        }
    }

    fn tuned_block(&self) -> Result<Block, ProofError> {
        let tuned = match self.knobs.is_empty() {
            true => None,
            false => Some((self.request.begin_session)(&self.knobs)?),
        };
        let block = settled_block(self.cpus, self.request.stop);
        if let Some(tuned) = tuned {
            tuned.end();
        }
        Ok(block)
    }
}

fn settled_block(cpus: &[u32], stop: &Stop) -> Block {
    std::thread::sleep(SETTLING);
    os_noise::sample_block(cpus, stop)
}
