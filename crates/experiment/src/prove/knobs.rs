//! Measures the machine's noise before and after setting each knob, and all knobs together.

use machine::Root;
use measure::os_noise::{self, Block};
use os::pin;
use quiet::audit::{audit, audit_value};
use quiet::knob::ProcessSetting;
use quiet::tuned_session::read_boot_id;
use quiet::tuning_plan::{Purpose, TuningPlan, prepare_context};
use record::difference::{Scale, WORTH_TELLING};
use record::{CpuList, Text, text};

use super::comparison::run_with_knobs;
use super::figure::{Compared, Figure, Unit, names};
use super::{Proof, ProofError, ProofRequest};
use crate::proof_cache::{ProofCache, Proven, measure_floor};

/// Rounds in addition to the minimum for an interval, so that a single outlier does not determine the result.
const SPARE_ROUNDS: usize = 3;
/// Duration of a block including its overhead.
const BLOCK: f64 = 0.34;
/// The smallest relevant share: one percentage point.
const POINTS: Scale = Scale::Difference { worth: WORTH_TELLING };
/// The names of two comparisons: the one without any knob, and the one with all knobs.
const NOTHING: &str = "nothing";
const ALL: &str = "all of them";

type BlockFigure = fn(&Block) -> Option<f64>;

/// The results of each block. The cause of lost time is included if it can be determined from /proc/interrupts.
fn list_figures(hypervisor: Option<&str>) -> [(Figure, BlockFigure); 6] {
    let below = if hypervisor == Some("none") { names::FIRMWARE } else { names::STEAL };
    let unreported: BlockFigure = |block| if block.taken_by_os.is_none() { block.taken } else { None };
    [
        (Figure::new(names::WORK, Unit::Ratio, Scale::Ratio, true), |block| block.work_p95),
        (Figure::new(names::OS, Unit::Share, POINTS, true), |block| block.taken_by_os),
        (Figure::new(below, Unit::Share, POINTS, true), |block| block.taken_below),
        (Figure::new(names::ANYBODY, Unit::Share, POINTS, true), unreported),
        (Figure::new(names::WAKEUP, Unit::Of("s"), Scale::Ratio, true), |block| block.wakeup_p99),
        (Figure::new(names::CLOCK, Unit::Share, POINTS, true), |block| block.clock_spread),
    ]
}

/// Maximum number of results that have values in one comparison. Lost time has either two results by cause or one
/// without a cause, so there are never values for all six.
const REPORTED: usize = 5;

/// The unchanged machine, and the machine with these knobs set.
type Comparison = super::comparison::Comparison<Vec<&'static str>, Block>;

/// Measures the machine's noise with and without each knob. Also returns the data for the audit, unless interrupted.
pub fn prove_knobs(request: ProofRequest) -> Result<(Proof, Option<ProofCache>), ProofError> {
    let stop = request.stop;
    let (knobs, missing) = find_settable(request, request.names, Purpose::Measuring)?;
    let cpus = measured_cpus(request.cpus);
    let comparisons = plan_comparisons(&knobs);
    let rounds = request
        .rounds
        .unwrap_or_else(|| super::choose_rounds((comparisons.len() - 1).max(1) * REPORTED, SPARE_ROUNDS));
    let hypervisor = machine::inspect(&Root::live()).machine.virtualization.hypervisor;
    let mut found = Proof::of_blocks(
        request,
        ["Noise before and after each change (alternating blocks)", "turned"],
        comparisons,
        (rounds, BLOCK),
        &list_figures(hypervisor.as_deref()),
        |knobs| run_with_knobs(request, knobs, || os_noise::sample_block(&cpus, stop)),
    )?;
    found.missing.splice(0..0, missing);
    let list: CpuList = cpus.iter().copied().collect();
    let cache = found.interrupted.is_none().then(|| collect_cache(&found, &list, measure_floor(&cpus, stop)));
    found.remarks.push(text!(
        "Measured on CPU {list}; each result is from the worst CPU. \"p95 of same work\" is p95 ÷ median. \
         \"clock's movement\" is the 95th minus the 5th percentile of the core clock, divided by its median."
    ));
    Ok((found, cache))
}

/// The data for the audit.
fn collect_cache(found: &Proof, cpus: &CpuList, floor: Option<f64>) -> ProofCache {
    let (same, others): (Vec<_>, Vec<_>) =
        found.compared.iter().partition(|(tuned, ..)| *tuned == NOTHING.into());
    let as_it_is = |name: &str| {
        let row = same.iter().find(|(_, figure, _)| figure.name == name);
        row.map(|(_, _, compared)| compared.comparison.before)
    };
    let proven = |(tuned, figure, compared): &(Text, Figure, Compared)| Proven {
        knob: tuned.to_string(),
        figure: figure.name.to_owned(),
        verdict: compared.comparison.verdict.clone(),
        words: figure.result(&compared.comparison),
    };
    ProofCache {
        boot_id: read_boot_id(),
        cpus: cpus.to_string(),
        measured: Block {
            floor,
            taken_by_os: as_it_is(names::OS),
            taken_below: as_it_is(names::STEAL).or_else(|| as_it_is(names::FIRMWARE)),
            taken: as_it_is(names::ANYBODY),
            wakeup_p99: as_it_is(names::WAKEUP),
            clock_spread: as_it_is(names::CLOCK),
            ..Block::default()
        },
        proven: others.into_iter().filter(|(tuned, ..)| *tuned != ALL.into()).map(proven).collect(),
        ..ProofCache::default()
    }
}

/// The CPUs to measure: the CPUs to be kept quiet, or all CPUs that this process may use.
pub fn measured_cpus(quiet: Option<&CpuList>) -> Vec<u32> {
    let chosen = quiet.cloned().or_else(pin::allowed).unwrap_or_default();
    let online = Root::live().cpu_list("/sys/devices/system/cpu/online");
    online.map_or(chosen.clone(), |online| chosen.intersection(&online)).iter().collect()
}

/// A knob that can be set.
#[derive(Clone, Debug)]
pub(super) struct SettableKnob {
    /// The knob's name.
    pub(super) name: &'static str,
    /// The change: the old and the new value.
    pub(super) change: Text,
    /// The process setting that applies the knob.
    pub(super) setting: Option<ProcessSetting>,
}

/// Knobs that can be set, and those that cannot, with the reasons.
type Settable = (Vec<SettableKnob>, Vec<(Text, Text)>);

/// Determines which of these knobs can be set for this purpose, and which cannot, with the reasons. If `names` is
/// empty, all knobs are considered.
pub(super) fn find_settable(
    request: ProofRequest,
    names: &[&'static str],
    purpose: Purpose,
) -> Result<Settable, ProofError> {
    let root = Root::live();
    let context = prepare_context(&root, request.cpus, Purpose::Command)?;
    let rows = match request.value {
        Some(value) => audit_value(&context, value).into_iter().collect(),
        None => audit(&context, names),
    };
    let plan = TuningPlan::from_audit(&rows, !names.is_empty(), purpose, &root);
    let mut left: Vec<(Text, Text)> =
        plan.not_set.iter().map(|(name, why)| (Text::from(*name), why.clone())).collect();
    let mut knobs = Vec::new();
    for row in &rows {
        let (name, now) = (row.knob.name, row.inspection.now.to_string());
        let setting =
            plan.settings.iter().find(|(held, _)| *held == name).map(|(_, setting)| setting.clone());
        if setting.is_some()
            || plan.changes.iter().any(|change| change.knob == name)
            || plan.compound_changes.iter().any(|(changed, _)| *changed == name)
        {
            let then = row.inspection.steadier.as_ref().map_or("steadier".to_owned(), ToString::to_string);
            let change = text!("{name} {now}, then {then}");
            knobs.push(SettableKnob { name, change, setting });
        } else if names.contains(&name) && !plan.not_set.iter().any(|(said, _)| *said == name) {
            // A knob named by the user is always reported.
            left.push((name.into(), text!("already steady: {now}")));
        }
    }
    Ok((knobs, left))
}

/// Plans the comparisons: no knob, each knob, and all knobs.
fn plan_comparisons(knobs: &[SettableKnob]) -> Vec<Comparison> {
    let compare = |name, knobs| Comparison::new(name, Vec::new(), knobs);
    let mut all = vec![compare(NOTHING, Vec::new())];
    all.extend(knobs.iter().map(|knob| compare(knob.name, vec![knob.name])));
    if knobs.len() > 1 {
        all.push(compare(ALL, knobs.iter().map(|knob| knob.name).collect()));
    }
    all
}
