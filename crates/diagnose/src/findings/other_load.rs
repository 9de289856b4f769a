//! Other processes that ran on the machine while it was measured.

use super::prelude::*;
use super::{quota, steal_time};
use crate::cpu_accounting::{CpuAccounting, LEAST_SECONDS};
use crate::culprits;

/// The CPU time of other processes during the run. If the record lacks this, the load average at the start of the run is used, which may
/// include processes that have exited.
///
/// The loss is modelled: if n threads and L other threads share n CPUs fairly, the n threads get n ÷ (n + L) of the time. Other processes
/// that were delayed by the measurement used less CPU time than they requested. Therefore, if no CPU was idle and the load average is known
/// both before and after the run, L is the load average minus the measurement's share. If the run-queue delay of the measuring threads is
/// known, this delay is the loss, but at most as much as other processes can have caused. A command may also wait for other reasons, so its
/// delay is at most its on-CPU time × L ÷ n.
pub(super) const RULE: Rule = Rule { name: "other-load", find };

/// A load average below this share of the CPUs hardly disturbs a run.
const LITTLE: f64 = 0.05;

/// If the idle time is below this share of the busy time, no CPU was free for other processes.
const IDLE: f64 = 0.1;

/// The error of a CPU's accounted time, in seconds: one tick at each end of the run.
const TICKS: f64 = 0.02;

/// [`used_meanwhile`], if the run was long enough for tick accounting.
pub(super) fn used(case: &Case) -> Option<Used> {
    used_meanwhile(case).filter(|used| used.seconds >= LEAST_SECONDS)
}

/// The mean number of CPUs that other processes used during the run, and the number that they would have used without waiting.
fn used_meanwhile(case: &Case) -> Option<Used> {
    let (before, after) = (&case.record.conditions.before, case.record.conditions.after.as_ref()?);
    let accounting = CpuAccounting::from_record(case.record)?;
    let used = accounting.by_others();
    let CpuAccounting { seconds, own, busy } = accounting;
    let idle = after
        .cpu_seconds
        .get("idle")
        .zip(before.cpu_seconds.get("idle"))
        .map(|(after, before)| after - before);
    let full = idle.is_some_and(|idle| idle < IDLE * busy);
    let stood = before.load.zip(after.load).map(|(before, after)| before[0].min(after[0] - own / seconds));
    // Other processes take no time from a busy program if they use only idle CPU time (nice 19, SCHED_IDLE) or have exited. The load
    // average is ignored in that case.
    let wanted = stood.filter(|load| full && *load > used && !give_way(case)).unwrap_or(used);
    let of_commands = is_of_commands(case);
    // Other processes cannot have caused more delay than the CPU time that they used. During the rest of the delay, linespeed's threads
    // waited for each other.
    let ready = after.own_ready_seconds.filter(|_| !of_commands).map(|ready| ready.min(used * seconds));
    let waited = ready.filter(|ready| *ready >= 0.0 && own > 0.0).map(|ready| ready / (ready + own));
    let own = of_commands.then_some((own / seconds).max(0.0));
    used.is_finite().then_some(Used { used, wanted, own, waited, seconds })
}

/// The share of all CPUs' time used by other processes, if the run was long enough for tick accounting.
pub(super) fn used_share(case: &Case) -> Option<f64> {
    let cpus = case.record.machine.counts.cpus_online.filter(|cpus| *cpus > 0)?;
    Some((used(case)?.used / f64::from(cpus)).clamp(0.0, 1.0))
}

/// Whether only commands were measured. Unlike benchmarks, commands may sleep.
fn is_of_commands(case: &Case) -> bool {
    let measured = &case.record.measurements;
    measured.iter().all(|m| m.metric.family() == "workload")
        && measured.iter().any(|m| m.detail.has(detail::COMMAND))
}

/// Whether time lost to other processes was measured and is negligible.
fn give_way(case: &Case) -> bool {
    yielded(case).is_some()
}

/// The CPU time that the most affected busy thread lost to other tasks and interrupts, if this was measured and is negligible.
fn yielded<'a>(case: &Case<'a>) -> Option<&'a Measurement> {
    let of_others = case.figures_of(metrics::STOLEN_SHARE).filter(|m| has_labels(m, &[(Label::Cause, "os")]));
    let most = of_others.max_by(|a, b| a.value().total_cmp(&b.value()))?;
    (steal_time::is_known(case) && most.value() < RESOLUTION).then_some(most)
}

/// CPUs used by other processes.
pub(super) struct Used {
    /// CPUs used on average during the run.
    used: f64,
    /// Number of CPUs that these processes would have used without waiting, if known; otherwise, the number that they used.
    wanted: f64,
    /// CPUs that the commands used, if only commands were measured.
    own: Option<f64>,
    /// The share of the run for which the measuring threads waited for a CPU used by other processes, if known.
    waited: Option<f64>,
    /// Duration of the run.
    seconds: f64,
}

impl Used {
    /// The share lost to `load` other threads on `cpus` CPUs.
    fn share(&self, load: f64, cpus: u32) -> f64 {
        let cpus = f64::from(cpus);
        let never_stops = load / (load + cpus);
        self.own.map_or(never_stops, |own| never_stops.min(own / cpus * load / cpus))
    }
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let average = case.record.conditions.before.load.map(|load| load[0]);
    let average = average.filter(|load| load.is_finite() && *load >= 0.0 && !give_way(case));
    let cpus = case.record.machine.counts.cpus_online.filter(|cpus| *cpus > 0)?;
    let found = match used(case) {
        Some(used) => find_during(case, &used, average, cpus)?,
        None => find_before(case, average?, cpus)?,
    };
    let named = culprits::beside(case.record, &culprits::bandwidths(case.record));
    let found = match named {
        Some(named) => found.cite_all([cite_fact(text!("{named}", named), "conditions.beside")]),
        None => found.mend_as("other-load unnamed"),
    };
    Some(vec![found.mend_as(RULE.name)])
}

/// The finding based on the CPU time of other processes during the run.
fn find_during(case: &Case, used: &Used, average: Option<f64>, cpus: u32) -> Option<Finding> {
    let (loss, mut seen) = weigh(used, average, cpus)?;
    if let Some(pressure) = case.record.conditions.before.pressure.get("cpu") {
        let share = Value::Share(*pressure);
        let says = text!("CPU pressure (PSI) before the run: {share}");
        seen.push(cite_fact(says, "conditions.before.pressure.cpu"));
    }
    if let Some(most) = yielded(case) {
        seen.push(cite_fact(
            text!("other processes took {share} of a busy thread's time", share = most),
            most,
        ));
    }
    let what = text!(USED, used = Value::Figure(used.used, "CPUs"), cpus);
    let found = match (used.waited.is_some(), used.own.is_some()) {
        (true, _) => RULE.report_loss(loss, what),
        // It is unknown which steps of the command were affected, and at what cost.
        (false, true) => RULE.report_fact_as("other-load commands", severity(share_of(&loss)), what),
        (false, false) => RULE.report_model(loss, what),
    };
    // The time that busy loops lost to other processes was measured, so no model is needed.
    let is_reported = used.waited.is_none() && steal_time::is_known(case);
    let is_felt = !is_reported && !is_elsewhere(case);
    let relevance = if is_felt { Relevance::All } else { Relevance::None };
    Some(found.felt_by(relevance).cite_all(seen))
}

/// The finding based only on the load average, which shows nothing about the run itself.
fn find_before(case: &Case, average: f64, cpus: u32) -> Option<Finding> {
    let over = used_meanwhile(case).is_some_and(|u| u.used + TICKS * f64::from(cpus) / u.seconds < 0.5);
    if average < (LITTLE * f64::from(cpus)).max(1.0) || over || case.record.measurements.is_empty() {
        return None;
    }
    let load = cite_load(average);
    let what = text!(
        "other-load-before",
        "the load average was {average} on {cpus} CPUs in the minute before the run; other processes may have kept running",
        average = Value::Figure(average, "ratio")
    );
    Some(RULE.report_fact_as("other-load before", Severity::Note, what).cite_all([load]))
}

/// Whether other processes may have used resources that are not available to this process: CPUs outside its cpuset, or CPU time beyond its
/// quota.
fn is_elsewhere(case: &Case) -> bool {
    let counts = &case.record.machine.counts;
    let part = counts.cpus_allowed.zip(counts.cpus_online).is_some_and(|(allowed, online)| allowed < online);
    part || quota::stopped_share(case).is_some()
}

fn cite_load(average: f64) -> Evidence {
    let average = Value::Figure(average, "ratio");
    cite_fact(text!("1-minute load average before the run: {average}"), "conditions.before.load")
}

/// The CPU use of other processes during the run.
const USED: Template =
    Template::new("other-load-used", "other processes used {used} of {cpus}; all results are degraded");

/// The loss caused by other processes, and the evidence.
fn weigh(used: &Used, average: Option<f64>, cpus: u32) -> Option<(Verdict, Vec<Evidence>)> {
    let others = Value::Figure(used.used, "CPUs");
    let busy = text!("busy CPUs, excluding those used by this run: {others}");
    let by_others = cite_fact(busy, "conditions.after.cpu_seconds and .own_cpu_seconds");
    if let Some(waited) = used.waited {
        let share = Value::Share(waited);
        let says = text!("run-queue delay of the measuring threads: {share} of their time");
        let delay = cite_fact(says, "conditions.after.own_ready_seconds and .own_cpu_seconds");
        // All CPUs together lose no more time than other processes used, but a single CPU for which a thread waited may lose more.
        let loss = waited.min(used.used / f64::from(cpus));
        return (loss >= RESOLUTION).then(|| (verdict(loss, (loss, loss)), vec![delay, by_others]));
    }
    let least = used.share(used.used, cpus);
    if least < RESOLUTION {
        return None;
    }
    let usual = used.share(used.wanted, cpus);
    // The maximum demand of other processes is estimated from their demand before the run.
    let most = average.map_or(usual, |average| used.share(average, cpus)).max(usual);
    let seen = [by_others].into_iter().chain(average.map(cite_load)).collect();
    Some((verdict(usual, (least, most)), seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured, ran};

    fn record_with(load: f64) -> record::Record {
        let mut record = machine(4);
        record.conditions.before.load = Some([load, 0.0, 0.0]);
        record.measurements.push(measured("cost.syscall", record::Labels::new(), 100.0));
        record
    }

    #[test]
    fn a_machine_that_was_busy_before_a_run_that_tells_nothing_of_others_is_a_note() {
        let mut record = record_with(3.0);
        let finding = &found(&record, RULE)[0];
        assert!(finding.severity == Severity::Note && share_of(&finding.loss) == 0.0, "{finding:?}");
        assert_eq!(finding.what.code(), Some("other-load-before"));
        assert_eq!((figure_in(&finding.what, "average"), figure_in(&finding.what, "cpus")), (3.0, 4.0));
        // A short run without other processes: those that ran before have exited.
        ran(&mut record, 0.4, 0.4);
        record.conditions.after.as_mut().unwrap().uptime_seconds = Some(100.4);
        assert_eq!(found(&record, RULE), []);
        record.conditions.after.as_mut().unwrap().uptime_seconds = Some(100.02);
        assert_eq!(found(&record, RULE).len(), 1, "a run of two ticks does not measure the load");
    }

    #[test]
    fn a_competitor_is_reported_by_what_it_used_though_the_load_average_lags() {
        let mut record = record_with(0.1);
        ran(&mut record, 20.0, 10.0);
        let finding = &found(&record, RULE)[0];
        assert!((share_of(&finding.loss) - 0.2).abs() < 1e-9, "{finding:?}");
        assert!(finding.what.is(&USED) && figure_in(&finding.what, "cpus") == 4.0, "{finding:?}");
        assert!((figure_in(&finding.what, "used") - 1.0).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn what_the_measuring_itself_waited_is_the_loss() {
        let mut record = record_with(12.0);
        ran(&mut record, 40.0, 10.0);
        let after = record.conditions.after.as_mut().unwrap();
        after.own_ready_seconds = Some(2.5);
        let finding = &found(&record, RULE)[0];
        assert!((share_of(&finding.loss) - 0.2).abs() < 1e-9 && finding.measured, "{finding:?}");
        // One thread at a time competed with other processes for one of four CPUs; in total, the four CPUs lost a quarter of their time.
        let mut one = record_with(1.0);
        ran(&mut one, 20.0, 10.0);
        one.conditions.after.as_mut().unwrap().own_ready_seconds = Some(10.0);
        assert!((share_of(&found(&one, RULE)[0].loss) - 0.25).abs() < 1e-9);
        // The thread had its CPU all the time; other processes used the other CPUs.
        record.conditions.after.as_mut().unwrap().own_ready_seconds = Some(0.01);
        assert_eq!(found(&record, RULE), []);
        // Threads that take turns on one CPU wait for each other.
        let mut alone = record_with(0.0);
        ran(&mut alone, 10.0, 10.0);
        alone.conditions.after.as_mut().unwrap().own_ready_seconds = Some(5.0);
        assert_eq!(found(&alone, RULE), []);
    }

    #[test]
    fn a_command_that_hardly_ran_lost_no_more_than_it_could() {
        let mut record = machine(2);
        let place = record::Labels::new().with_label(Label::Workload, "command");
        let run = measured("workload.throughput", place, 1.0).with_detail(detail::COMMAND, "sleep");
        record.measurements.push(run);
        // For ten seconds, both CPUs are busy, either only with other processes or half of the time with the command.
        ran(&mut record, 20.0, 0.02);
        assert_eq!(found(&record, RULE), []);
        ran(&mut record, 20.0, 10.0);
        let finding = &found(&record, RULE)[0];
        assert!(matches!(finding.loss, Verdict::NotMeasurable { .. }), "{finding:?}");
        assert_eq!(finding.severity, Severity::Serious, "{finding:?}");
        record.measurements.push(measured("cost.syscall", record::Labels::new(), 100.0));
        assert!((share_of(&found(&record, RULE)[0].loss) - 1.0 / 3.0).abs() < 1e-9, "never stops");
    }

    #[test]
    fn on_a_full_machine_the_load_average_tells_what_others_wanted() {
        let mut record = record_with(12.0);
        ran(&mut record, 40.0, 10.0);
        for state in
            [Some(&mut record.conditions.before), record.conditions.after.as_mut()].into_iter().flatten()
        {
            state.load = Some([12.0; 3]);
            state.cpu_seconds.insert("idle".to_owned(), 1000.0);
        }
        let finding = &found(&record, RULE)[0];
        assert!((share_of(&finding.loss) - 11.0 / 15.0).abs() < 1e-9, "{finding:?}");
        assert!(finding.what.is(&USED) && figure_in(&finding.what, "cpus") == 4.0, "{finding:?}");
        assert!((figure_in(&finding.what, "used") - 3.0).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn a_build_that_had_just_ended_is_no_competitor() {
        let mut record = record_with(4.0);
        ran(&mut record, 10.1, 10.0);
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn where_its_steal_was_measured_the_model_is_a_note() {
        let mut record = record_with(0.1);
        ran(&mut record, 20.0, 10.0);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Warning);
        record.measurements.extend(crate::samples::stolen("os", [0.0, 0.5]).measurements);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note);
    }

    #[test]
    fn others_that_give_way_are_a_note_whatever_they_wanted() {
        let mut record = record_with(12.0);
        ran(&mut record, 40.0, 30.0);
        for state in
            [Some(&mut record.conditions.before), record.conditions.after.as_mut()].into_iter().flatten()
        {
            state.load = Some([12.0; 3]);
            state.cpu_seconds.insert("idle".to_owned(), 1000.0);
        }
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious, "no evidence of low priority");
        record.measurements.extend(crate::samples::stolen("os", [0.002, 0.0]).measurements);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.severity, Severity::Note);
        assert!((share_of(&finding.loss) - 0.2).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn work_on_cpus_or_in_time_that_are_not_ours_is_a_note() {
        let mut record = record_with(0.1);
        ran(&mut record, 40.0, 10.0);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious);
        let mut part = record.clone();
        part.machine.counts.cpus_allowed = Some(2);
        assert_eq!(found(&part, RULE)[0].severity, Severity::Note);
        record.machine.limits.cpu_quota = Some(2.0);
        record.conditions.before.quota_throttled = Some(1);
        record.conditions.after.as_mut().unwrap().quota_throttled = Some(9);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note);
    }

    #[test]
    fn an_idle_machine_is_silence_and_an_inventory_misses_a_run() {
        assert_eq!(found(&record_with(0.4), RULE), []);
        let mut inventory = record_with(3.0);
        inventory.measurements.clear();
        assert_eq!(missing(&inventory, RULE), Some("a run of measurements"));
        let mut unreported = record_with(3.0);
        unreported.conditions.before.load = None;
        assert_eq!(
            missing(&unreported, RULE),
            Some("CPU time during the run, or the load average before it")
        );
    }
}
