//! Memory bandwidth that a program loses because other processes run on its CPUs.

use super::prelude::*;
use super::steal_time;
use crate::resources::{Walk, beyond, walked};

/// The share of the all-CPU bandwidth that is lost to other processes. If possible, it is measured by alternating between rounds with and
/// without them.
///
/// Otherwise, it is modelled from the other processes' CPU time: a thread transfers nothing while another task uses its CPU, so the lost
/// share of bandwidth equals that task's share of all CPUs' time. The loss is smaller if fewer CPUs saturate memory, and larger if the
/// other processes use memory bandwidth themselves.
pub(crate) const RULE: Rule = Rule { name: "bandwidth-shared", find };

/// The finding if the best result shows that the load of other processes was not constant.
pub(crate) const AT_TIMES: Template = Template::new(
    "bandwidth-shared-at-times",
    "other tasks sometimes reduce triad bandwidth by {lost} ({stores} stores)",
);

/// If the overall result is this many times the result of the rounds with other processes, the load of these processes was not constant.
const UNDISTURBED: f64 = 1.25;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let found = match turns(case) {
        Some(turns) => by_turns(turns)?,
        None => by_time(case)?,
    };
    Some(vec![found.mend(remedy(case))])
}

/// The result of alternating rounds with and without other processes.
pub(super) fn turns<'a>(case: &Case<'a>) -> Option<(&'a Measurement, Verdict)> {
    in_memory(case).into_iter().find_map(|measurement| {
        let of = |key| measurement.detail.get(key);
        let (low, high) = (of(detail::TAKEN_BY_OTHERS_LOW)?, of(detail::TAKEN_BY_OTHERS_HIGH)?);
        let loss = verdict(of(detail::TAKEN_BY_OTHERS)?, (low - RESOLUTION, high + RESOLUTION));
        Some((measurement, loss))
    })
}

fn remedy(case: &Case) -> Vec<Remedy> {
    let several = case.record.machine.counts.nodes.unwrap_or(1) > 1;
    let mut all = remedies(if several { "bandwidth-shared nodes" } else { RULE.name });
    // This remedy requires hardware counters.
    if !case.record.coverage.iter().any(Coverage::is_about_counters) {
        all.extend(remedies("bandwidth-shared counters"));
    }
    all.extend(remedies("bandwidth-shared resctrl"));
    all
}

fn by_turns((m, loss): (&Measurement, Verdict)) -> Option<Finding> {
    let loss = costs(loss)?;
    // The labels of a single result are not cited, because that result is unreliable due to other tasks; their effect was measured in
    // alternating rounds.
    let keys = [Label::Op, Label::Stores, Label::Threads]
        .map(|key| m.labels.get(key).map(|value| format!(" {key}={value}")));
    let from = format!("{}{}", m.metric, keys.into_iter().flatten().collect::<String>());
    let stores = m.labels.word(Label::Stores).unwrap_or("regular").to_owned();
    let share = share_of(&loss);
    let lost = lost_share(&loss);
    // This result and the alternating rounds were measured at different times during the run.
    let beside = m.detail.get(detail::ALONE_BYTES_PER_SECOND).map(|alone| alone * (1.0 - share));
    let at_times = beside.is_some_and(|beside| m.value() > beside * UNDISTURBED);
    let in_turns = text!(
        "other tasks reduce triad bandwidth by {lost} ({stores} stores; runs with and without tasks alternated)",
        stores = stores.clone(),
        lost = lost.clone()
    );
    let what = if at_times {
        text!(AT_TIMES, lost, stores)
    } else {
        text!("bandwidth-shared-taken", "other tasks reduce triad bandwidth by {lost} ({stores} stores)")
    };
    let threads = m.labels.count(Label::Threads).filter(|threads| *threads > 0);
    let mut found = RULE
        .report_loss(loss, what)
        .locate(threads.map(|threads| text!(ON_CPUS, cpus = threads)))
        .cite(in_turns, from.clone());
    if let Some(rounds) = m.detail.get(detail::TAKEN_BY_OTHERS_ROUNDS) {
        found = found.cite(text!("{rounds} rounds, each with and without other tasks"), from.clone());
    }
    if at_times {
        let says = text!("at another time in this run, triad reached {m}: the load of other tasks varies");
        found = Finding { confidence: Confidence::Medium, ..found.cite(says, from) };
    }
    Some(found)
}

const ON_CPUS: Template = Template::new("bandwidth-shared-cpus", "{cpus} CPUs");

/// Bandwidths measured beyond the caches, with bytes counted as in STREAM.
fn in_memory<'a>(case: &Case<'a>) -> Vec<&'a Measurement> {
    let least = beyond(case.record, case.levels(), Walk::Arrays);
    let is_in_memory = |m: &&Measurement| {
        has_labels(m, &[(Label::BytesCounted, "stream")]) && (walked(m) == 0 || walked(m) >= least)
    };
    case.figures_of(metrics::MEMORY_BANDWIDTH).filter(is_in_memory).collect()
}

fn by_time(case: &Case) -> Option<Finding> {
    let stolen = steal_time::by_others(case)?;
    // The best triad with the most threads, as in the headline.
    let best = in_memory(case).into_iter().max_by(|a, b| {
        let place =
            |m: &Measurement| (m.labels.count(Label::Threads), has_labels(m, &[(Label::Op, "triad")]));
        place(a).cmp(&place(b)).then(a.value().total_cmp(&b.value()))
    })?;
    let (share, cpus) = stolen.of_all;
    let loss = costs(verdict(share, stolen.between)).filter(|_| share >= RESOLUTION)?;
    let what = text!(
        "judging by CPU time, other tasks reduce memory bandwidth by about {lost}",
        lost = lost_share(&loss)
    );
    let found = RULE
        .report_model(loss, what)
        .locate(text!(ON_CPUS, cpus))
        .felt_by(Relevance::Some)
        .cite(text!("best memory bandwidth with the maximum thread count: {best}"), best)
        .cite_all(stolen.evidence());
    Some(Finding { confidence: Confidence::Low, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured, stolen};
    use record::diagnosis::Severity;
    use record::{Labels, Record};

    fn record_with(shares: [f64; 2]) -> Record {
        let mut record = stolen("os", shares);
        let place = Labels::new()
            .with_label(Label::Op, "triad")
            .with_label(Label::BytesCounted, "stream")
            .with_label(Label::Threads, 2u32);
        record.measurements.push(measured("memory.bandwidth", place, 59e9));
        record
    }

    #[test]
    fn a_neighbour_takes_bandwidth_with_its_time() {
        let finding = &found(&record_with([0.05, 0.52]), RULE)[0];
        assert!((share_of(&finding.loss) - 0.285).abs() < 1e-3, "{finding:?}");
        assert!(!finding.measured && finding.severity == record::diagnosis::Severity::Warning, "{finding:?}");
    }

    /// A record with a result from alternating rounds, which is unreliable because of other processes.
    fn in_turns(share: f64) -> Record {
        let mut record = machine(2);
        let place = Labels::new()
            .with_label(Label::Op, "triad")
            .with_label(Label::BytesCounted, "stream")
            .with_label(Label::Threads, 2u32);
        let mut m = measured("memory.bandwidth", place, 40e9)
            .with_detail(detail::TAKEN_BY_OTHERS, share)
            .with_detail(detail::TAKEN_BY_OTHERS_LOW, share - 0.03)
            .with_detail(detail::TAKEN_BY_OTHERS_HIGH, share + 0.03)
            .with_detail(detail::TAKEN_BY_OTHERS_ROUNDS, 6);
        m.doubt = Some("too noisy: something else ran on the CPU".into());
        record.measurements.push(m);
        record
    }

    #[test]
    fn what_turns_with_and_without_others_show_is_a_measured_loss() {
        let finding = &crate::diagnose(&in_turns(0.36)).findings[0];
        assert_eq!((finding.rule.as_str(), finding.measured), (RULE.name, true));
        assert_eq!(
            (finding.severity, finding.confidence),
            (Severity::Serious, Confidence::High),
            "{finding:?}"
        );
        assert!((share_of(&finding.loss) - 0.36).abs() < 1e-9, "{finding:?}");
        assert_eq!(
            (finding.what.code(), figure_in(&finding.what, "lost")),
            (Some("bandwidth-shared-taken"), 0.36)
        );
        assert_eq!(found(&in_turns(0.02), RULE), [], "not resolved");
    }

    #[test]
    fn what_comes_and_goes_is_reported_so_and_is_no_step_of_the_figure_without_it() {
        let mut record = in_turns(0.36);
        record.machine.memory_devices =
            ["A", "B", "C", "D"].map(|channel| crate::samples::device(channel, channel, 16)).into();
        let alone = |record: &mut Record, rate: f64| {
            let detail = &mut record.measurements[0].detail;
            detail.set(detail::ARRAY_BYTES, 1u64 << 30);
            detail.set(detail::ALONE_BYTES_PER_SECOND, rate);
        };
        // The rounds with other processes reached 40 GB/s.
        alone(&mut record, 62.5e9);
        let reported = crate::diagnose(&record);
        assert_eq!(reported.findings[0].what.code(), Some("bandwidth-shared-taken"));
        let breakdown = &reported.loss_breakdowns[0];
        let step = &breakdown.steps[0];
        assert_eq!((step.rule.as_deref(), step.measured), (Some(RULE.name), true), "{breakdown:?}");
        // Both report the same quantity: 36 % of the bandwidth without other processes.
        let share = step.takes / (step.takes + breakdown.delivered);
        assert!((share - share_of(&reported.findings[0].loss)).abs() < 1e-9, "{breakdown:?}");
        // 40 GB/s is nearly the maximum, so no other processes ran during the measurement.
        alone(&mut record, 42e9);
        let reported = crate::diagnose(&record);
        let finding = &reported.findings[0];
        assert_eq!((finding.what.code(), figure_in(&finding.what, "lost")), (Some(AT_TIMES.code), 0.36));
        assert_eq!(reported.loss_breakdowns[0].steps, []);
        assert_eq!(finding.confidence, Confidence::Medium);
    }

    #[test]
    fn the_turns_stand_before_the_model() {
        let mut record = in_turns(0.02);
        record.measurements.extend(crate::samples::stolen("os", [0.0, 0.5]).measurements);
        assert_eq!(found(&record, RULE), [], "the model would predict more than was measured");
    }

    #[test]
    fn a_quiet_machine_is_silence_and_unmeasured_bandwidth_is_missing() {
        assert_eq!(found(&record_with([0.004, 0.003]), RULE), []);
        let mut quota = record_with([0.75, 0.76]);
        quota.machine.limits.cpu_quota = Some(0.5);
        quota.conditions.before.quota_throttled = Some(1);
        quota.conditions.after = Some(record::Snapshot { quota_throttled: Some(9), ..Default::default() });
        assert_eq!(found(&quota, RULE), [], "a quota is not another process");
        assert_eq!(missing(&machine(2), RULE), Some("memory bandwidth"));
        let mut alone = record_with([0.5, 0.5]);
        alone.measurements.retain(|m| m.metric == "memory.bandwidth");
        assert_eq!(missing(&alone, RULE), Some("stolen time"));
    }
}
