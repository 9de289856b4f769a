//! CPUs that are busy but stalled: they wait for memory or for each other, and CPU time does not show such waits.

use std::collections::BTreeMap;

use super::prelude::*;
use super::{other_load, steal_time};
use crate::cpu_accounting::{DISTURBED, used_by_others};
use record::phrase::join_list;

/// Instructions per cycle of the same work on many cores compared with one core; for a command, the stalled issue slots counted by the
/// core.
pub(super) const RULE: Rule = Rule { name: "busy-stalled", find };

/// The workload label of results of `linespeed stat`.
const COMMAND: &str = "command";

fn find(case: &Case) -> Option<Vec<Finding>> {
    let stalled = steps(case).into_iter().filter_map(|step| find_stalled_step(case, step));
    let worst = stalled.max_by(|a, b| share_of(&a.loss).total_cmp(&share_of(&b.loss)));
    Some(worst.into_iter().chain(find_stalled_command(case)).collect())
}

/// A workload, its placement, and the source of its instructions per cycle.
type Work<'a> = (&'a str, &'a str, &'a str);

/// The same work on one CPU, and on the largest number of CPUs on separate cores.
type Step<'a> = (&'a Measurement, &'a Measurement);

/// Whether the record contains the stalled issue slots of a command, or instructions per cycle for work with several thread counts.
pub(super) fn is_counted(case: &Case) -> bool {
    !steps(case).is_empty() || slots(case, "backend-bound").is_some()
}

fn steps<'a>(case: &Case<'a>) -> Vec<Step<'a>> {
    let counts = &case.record.machine.counts;
    let cores = u64::from(counts.cores.or(counts.cpus_online).unwrap_or(u32::MAX));
    let mut all: BTreeMap<Work, Vec<(u64, &Measurement)>> = BTreeMap::new();
    for m in case.figures_of(metrics::CORE_IPC).filter(|m| m.value() > 0.0) {
        let word = |key| m.labels.word(key).unwrap_or("");
        if let Some(threads) = m.labels.count(Label::Threads).filter(|threads| *threads <= cores) {
            let work = (word(Label::Workload), word(Label::Placement), word(Label::Source));
            all.entry(work).or_default().push((threads, m));
        }
    }
    let both_ends = |steps: Vec<(u64, &'a Measurement)>| {
        let one = steps.iter().find(|(threads, _)| *threads == 1)?;
        let most = steps.iter().max_by_key(|(threads, _)| *threads).filter(|(threads, _)| *threads > 1)?;
        Some((one.1, most.1))
    };
    all.into_values().filter_map(both_ends).collect()
}

fn find_stalled_step(case: &Case, (one, many): Step) -> Option<Finding> {
    // If IPC is computed from a declared instruction count and time, CPU time of other tasks is counted as cycles of the work, so a
    // disturbed run shows nothing about the work.
    let declared = many.labels.word(Label::Source) != Some("pmu");
    let beside = used_by_others(case.record).is_some_and(|used| used >= DISTURBED);
    if beside || (declared && [one, many].iter().any(|m| m.doubt.is_some())) {
        return None;
    }
    if declared && (!other_load::RULE.findings(case).is_empty() || steal_time::by_others(case).is_some()) {
        return None;
    }
    let loss = costs(loss(&many.summary, &one.summary, Better::Higher))?;
    let workload = many.labels.word(Label::Workload).unwrap_or("the work").to_owned();
    let threads = many.labels.count(Label::Threads).unwrap_or(0);
    let what = text!(
        "{workload} is busy on {threads} CPUs but stalled: {many} instructions per cycle instead of {one}",
        workload = &workload,
        many = Value::Figure(many.value(), ""),
        one = Value::Figure(one.value(), "")
    );
    // The threads of linespeed's own loops share no data, so the machine itself must slow them down. Another tool's result comes from an
    // ordinary program, whose threads may share data.
    let own = workload != COMMAND && many.origin.is_none();
    let finding = RULE
        .report_loss(loss, what)
        .felt_by(Relevance::Some)
        .locate(text!("{workload} with {threads} threads"))
        .cite(text!("{many} with {threads} threads, one per core"), many)
        .cite(text!("{one} with one thread"), one);
    let shared = shared_after(case, many);
    let finding = match own || shared.is_some() {
        true => advise_own(case, finding, shared),
        false => finding.mend_as("busy-stalled program"),
    };
    Some(Finding { confidence: if declared { Confidence::Medium } else { Confidence::High }, ..finding })
}

/// CPUs that share a core although Linux shows separate cores, detected by the placement check right after the measurement.
fn shared_after(case: &Case, m: &Measurement) -> Option<Text> {
    let after = case.shape()?.states.get(*m.looks.last()? as usize)?.as_ref()?;
    let hidden = |core: &&CpuList| case.shape().is_some_and(|shape| shape.hides(core));
    let cores: Vec<String> = after.cores.iter().filter(hidden).map(ToString::to_string).collect();
    (!cores.is_empty()).then(|| {
        text!(
            "CPUs {cpus} shared a core in the placement check right after this measurement",
            cpus = join_list(&cores)
        )
    })
}

/// The advice for a loop whose threads share no data: if it is stalled, its CPUs must share a hardware resource.
fn advise_own(case: &Case, finding: Finding, shared: Option<Text>) -> Finding {
    if let Some(says) = shared {
        return finding.cite(says, "diagnosis.shape.states").mend_as("busy-stalled shared");
    }
    let busy = case.shape().and_then(|shape| shape.sharing_busy);
    match busy {
        Some(share) if share.count > 0 => finding
            .cite(
                text!(
                    "CPUs shared a core in {share} of the placement checks after all-CPU work",
                    share = Value::Share(share.share)
                ),
                "diagnosis.shape.sharing_busy",
            )
            .mend_as("busy-stalled shared"),
        Some(share) => finding
            .cite(
                text!(
                    "no CPUs shared a core in placement checks after all-CPU work (95 % CI: up to {share})",
                    share = Value::Share(share.high)
                ),
                "diagnosis.shape.sharing_busy",
            )
            .mend_as("busy-stalled unexplained"),
        None => finding.mend_as("busy-stalled loop"),
    }
}

/// A category of a command's issue slots.
fn slots<'a>(case: &Case<'a>, category: &str) -> Option<&'a Measurement> {
    case.figures_of(metrics::COUNTER_SHARE).find(|m| {
        has_labels(m, &[(Label::Workload, COMMAND), (Label::Category, category)])
            && m.labels.get(Label::Threads).is_none()
    })
}

fn find_stalled_command(case: &Case) -> Option<Finding> {
    let waited = slots(case, "backend-bound")?;
    // The command counts as stalled if more issue slots wait than retire.
    let worked = slots(case, "retiring")?;
    let (low, high) = spread(&waited.summary);
    if low <= spread(&worked.summary).1 {
        return None;
    }
    let loss = costs(verdict(waited.value(), (low - RESOLUTION, high + RESOLUTION)))?;
    let what = text!(
        "busy-stalled-command",
        "the command is busy but stalled: {share} of its issue slots are back-end bound",
        share = Value::Share(waited.value())
    );
    let mut finding = RULE
        .report_loss(loss, what)
        .felt_by(Relevance::Some)
        .locate(text!("the command"))
        .cite(text!("{waited} of the issue slots back-end bound"), waited)
        .cite(text!("{worked} of the issue slots retiring"), worked)
        .mend_as("busy-stalled command");
    if let Some(m) = case.figures_of(metrics::CORE_IPC).find(|m| has_labels(m, &[(Label::Workload, COMMAND)]))
    {
        let ipc = Value::Figure(m.value(), "");
        finding = finding.cite(text!("{ipc} instructions per cycle"), m);
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured};
    use record::{Labels, Record};

    fn scaled(one: f64, many: f64) -> Record {
        let mut record = machine(8);
        record.machine.counts.cores = Some(8);
        for (threads, ipc) in [(1u32, one), (4, (one + many) / 2.0), (8, many), (16, 0.1)] {
            let place = Labels::new()
                .with_label(Label::Workload, "command")
                .with_label(Label::Threads, threads)
                .with_label(Label::Placement, "cores-first")
                .with_label(Label::Source, "pmu");
            record.measurements.push(measured("core.ipc", place, ipc));
        }
        record
    }

    #[test]
    fn a_shared_core_seen_in_the_same_second_explains_it() {
        let of_own = |one, many, look: Option<u32>| {
            let mut record = scaled(one, many);
            for m in &mut record.measurements {
                m.labels = m.labels.clone().with_label(Label::Workload, "primes");
                m.looks = look.into_iter().collect();
            }
            record
        };
        // CPUs share cores only in the second half of the placement checks.
        let place = |look: u32, cpu: u32| (0, 0, if look < 6 { cpu } else { cpu / 2 });
        let looks = crate::shape::samples::looks_at(8, 12, place);
        let cites = |record: &Record| {
            let finding = found(record, RULE).remove(0);
            assert!(!finding.remedy.iter().any(|one| format!("{one:?}").contains("c2c")), "{finding:?}");
            finding.evidence.iter().any(|of| of.from == "diagnosis.shape.states")
        };
        let with = |look| crate::shape::samples::record_with(of_own(2.0, 1.05, look), looks.clone());
        assert!(cites(&with(Some(8))) && !cites(&with(Some(2))) && !cites(&with(None)));
        assert!(!cites(&of_own(2.0, 1.05, None)));
        // Shared cores also explain a command's stalls, and are considered before locks.
        let mut command = crate::shape::samples::record_with(scaled(2.0, 1.05), looks.clone());
        command.measurements.iter_mut().for_each(|m| m.looks = vec![8]);
        assert!(cites(&command));
    }

    #[test]
    fn work_that_stalls_on_many_cores_is_found_with_its_loss() {
        let finding = &found(&scaled(2.0, 0.5), RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 0.75).abs() < 0.01, "{finding:?}");
        assert_eq!([figure_in(&finding.what, "many"), figure_in(&finding.what, "one")], [0.5, 2.0]);
    }

    #[test]
    fn a_command_that_waits_more_than_it_works_is_found() {
        let slots = |waited: f64, worked: f64| {
            let mut record = machine(1);
            for (category, share) in [("backend-bound", waited), ("retiring", worked)] {
                let place =
                    Labels::new().with_label(Label::Category, category).with_label(Label::Workload, COMMAND);
                record.measurements.push(measured("counter.share", place, share));
            }
            record
        };
        let finding = &found(&slots(0.7, 0.2), RULE)[0];
        assert_eq!(
            (finding.what.code(), figure_in(&finding.what, "share")),
            (Some("busy-stalled-command"), 0.7)
        );
        assert_eq!(found(&slots(0.3, 0.6), RULE), []);
    }

    #[test]
    fn work_that_keeps_its_pace_is_silence_and_no_counters_are_missing() {
        assert_eq!(found(&scaled(2.0, 1.99), RULE), []);
        assert_eq!(
            missing(&machine(1), RULE),
            Some(
                "instructions per cycle of a command, or at several thread counts (PMU, linespeed stat or scale)"
            )
        );
    }
}
