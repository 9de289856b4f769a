//! Ordinary threads wake late because the kernel may delay their timers by the timer slack.

use std::collections::HashMap;

use record::diagnosis::{Finding, Severity};
use record::statistics::{Summary, Verdict};
use record::units::figure;
use record::{Better, Coverage, Measurement};

use super::{Case, Rule, costs, finding, inputs, lines};
use crate::figures::{cpus_of, cpus_text, evidence, is_at, loss, severity, told};
use crate::resources::WAKE_UP;

/// SCHED_OTHER wake-up latency as the machine is, against the same with 1 ns of slack.
pub const RULE: Rule = Rule { name: "timer-slack", resource: Some(WAKE_UP), missing, find };

/// The kernel's default slack, ns (`init_task`: 50 µs), which every ordinary thread has unless somebody changed it.
const DEFAULT_NS: f64 = 50e3;

fn missing(case: &Case) -> Option<&'static str> {
    inputs::wakeup(case).or_else(|| inputs::told(both(case, "other"), "wake-up latency without timer slack"))
}

fn find(case: &Case) -> Vec<Finding> {
    one(case).into_iter().collect()
}

fn one(case: &Case) -> Option<Finding> {
    // Tuning holds off idle states too. Real-time threads have no slack, so theirs is that share of the difference.
    let idle_of = |on: Option<u64>| {
        gains_of(case, "fifo", 0.0, on).or_else(|| gains(case, "fifo", 0.0)).map(|gain| gain.ns.max(0.0))
    };
    // Of the same CPU: what one has gained says nothing of another.
    let on = gains(case, "other", 0.0)?.as_is.place.count("cpu");
    let idle = idle_of(on);
    let gain = gains_of(case, "other", idle.unwrap_or(0.0), on)?;
    let slack = gain.ns - idle.unwrap_or(0.0);
    let saved = figure(slack, "ns");
    let loss = costs(gain.loss)?;
    let raised = match gain.as_is.detail.get("timer_slack_ns").and_then(|ns| ns.as_f64()) {
        Some(ns) => ns > DEFAULT_NS,
        // By a quarter: what the default leaves on an idle machine differs that much from its 50 µs.
        None => idle.is_some() && slack > DEFAULT_NS * 1.25,
    };
    let slack_alone = idle.is_some() || !held_off(case);
    let mut seen = vec![
        evidence(gain.as_is, "an ordinary thread wakes, in the median, after"),
        evidence(
            gain.tuned,
            if !held_off(case) {
                "without timer slack after"
            } else {
                "without timer slack and deep idle states after"
            },
        ),
    ];
    if let Some(idle) = idle.filter(|idle| *idle > 0.0) {
        let says =
            format!("idle states, by real-time threads, cost {} of the difference", figure(idle, "ns"));
        seen.push(told(says, "wakeup.latency policy=fifo"));
    }
    let what = if raised {
        let default = figure(DEFAULT_NS, "ns");
        seen.push(told(
            format!("the kernel's default is {default}: somebody raised it"),
            crate::figures::place(gain.as_is),
        ));
        format!("timer slack raised to about {saved} delays the wake-up of ordinary threads")
    } else if slack_alone {
        format!("timer slack delays the wake-up of ordinary threads by {saved}")
    } else {
        format!("timer slack and idle states delay the wake-up of ordinary threads by {saved}")
    };
    Some(Finding {
        // Everybody has the default, and it costs only programs that sleep and must wake on time.
        severity: if raised { severity(&loss) } else { Severity::Note },
        place: cpus_text(&gain.cpus),
        evidence: seen,
        remedy: lines([
            "in the program: prctl(PR_SET_TIMERSLACK, 1) in each thread that sleeps",
            "a running process: for t in /proc/$PID/task/*; do echo 1 | sudo tee /proc/${t##*/}/timerslack_ns; done",
            "a service: TimerSlackNSec=1 in its [Service] section",
        ]),
        undo: lines(["for t in /proc/$PID/task/*; do echo 0 | sudo tee /proc/${t##*/}/timerslack_ns; done"]),
        ..finding(&RULE, loss, what)
    })
}

/// Whether what was measured tuned had idle states held off.
fn held_off(case: &Case) -> bool {
    let refused = |coverage: &Coverage| {
        let why = coverage.reason.as_deref().unwrap_or_default();
        coverage.what == "wakeup tuned" && why.starts_with("idle states cannot be held off")
    };
    !case.record.coverage.iter().any(refused)
}

/// What tuning gains for one scheduling policy.
#[derive(Debug)]
pub(super) struct Gain<'a> {
    /// The machine as it is, on the CPU whose gain is in the middle; of two the lesser.
    pub as_is: &'a Measurement,
    /// The same CPU tuned.
    pub tuned: &'a Measurement,
    /// Difference of their medians, ns.
    pub ns: f64,
    /// The loss from one to the other.
    pub loss: Verdict,
    /// All CPUs compared.
    pub cpus: record::CpuList,
}

/// The CPU and the priority of wake-ups.
fn thread(m: &Measurement) -> (Option<u64>, Option<u64>) {
    (m.place.count("cpu"), m.place.count("priority"))
}

/// Whether the wake-up latency of `policy` was measured as-is and tuned.
pub(super) fn both(case: &Case, policy: &str) -> Option<()> {
    let at =
        |setting| case.of("wakeup.latency").any(|m| is_at(m, &[("policy", policy), ("setting", setting)]));
    (at("as-is") && at("tuned")).then_some(())
}

/// The wake-up latency of `policy` as-is against tuned, whose latency is taken as `more` ns longer.
pub(super) fn gains<'a>(case: &Case<'a>, policy: &str, more: f64) -> Option<Gain<'a>> {
    gains_of(case, policy, more, None)
}

/// The same, for one CPU where one is named.
fn gains_of<'a>(case: &Case<'a>, policy: &str, more: f64, on: Option<u64>) -> Option<Gain<'a>> {
    let tuned: HashMap<_, &Measurement> = case.wakeups(policy, "tuned").map(|m| (thread(m), m)).collect();
    let as_is = case.wakeups(policy, "as-is");
    let pairs: Vec<(&Measurement, &Measurement)> =
        as_is.filter_map(|as_is| Some((as_is, *tuned.get(&thread(as_is))?))).collect();
    let cpus = cpus_of(pairs.iter().map(|pair| pair.0));
    // What one CPU has gained says nothing of another.
    let mut by_gain: Vec<_> = pairs.into_iter().filter(|pair| gained(pair).is_finite()).collect();
    by_gain.sort_by(|one, other| gained(one).total_cmp(&gained(other)));
    by_gain.retain(|(as_is, _)| on.is_none() || as_is.place.count("cpu") == on);
    let (as_is, tuned) = *by_gain.get(by_gain.len().checked_sub(1)? / 2)?;
    let loss = loss(&as_is.summary, &longer(&tuned.summary, more), Better::Lower);
    Some(Gain { as_is, tuned, ns: as_is.value() - tuned.value(), loss, cpus })
}

fn gained((as_is, tuned): &(&Measurement, &Measurement)) -> f64 {
    as_is.value() - tuned.value()
}

/// The summary of samples that all lasted `more` ns longer.
fn longer(summary: &Summary, more: f64) -> Summary {
    Summary {
        min: summary.min + more,
        median: summary.median + more,
        max: summary.max + more,
        interval: summary.interval.map(|(low, high)| (low + more, high + more)),
        ..summary.clone()
    }
}

#[cfg(test)]
mod tests {
    use record::Record;

    use super::*;
    use crate::figures::share_of;
    use crate::samples::{add_wakeups, found, machine, missing};

    #[test]
    fn fifty_microseconds_of_slack_are_found() {
        let mut record = machine(2);
        add_wakeups(&mut record, "other", "as-is", [71e3; 2]);
        add_wakeups(&mut record, "other", "tuned", [21e3; 2]);
        let finding = &found(&record, RULE)[0];
        assert!((share_of(&finding.loss) - 50.0 / 71.0).abs() < 0.01, "{finding:?}");
        assert!(
            finding.what.contains("50.0 µs") && finding.place.as_deref() == Some("CPUs 0-1"),
            "{finding:?}"
        );
        assert_eq!(
            finding.evidence[0].from,
            "wakeup.latency cpu=0 policy=other setting=as-is corrected=false"
        );
    }

    #[test]
    fn what_is_saved_is_the_difference_of_the_two_figures_shown() {
        let mut record = machine(2);
        add_wakeups(&mut record, "other", "as-is", [75.3e3, 110.0e3]);
        add_wakeups(&mut record, "other", "tuned", [24.1e3, 32.0e3]);
        let finding = &found(&record, RULE)[0];
        assert!(finding.evidence[0].says.contains("75.3 µs") && finding.evidence[1].says.contains("24.1 µs"));
        assert!(finding.what.contains("51.2 µs"), "{finding:?}");
    }

    #[test]
    fn slack_that_somebody_raised_is_serious() {
        let mut record = machine(2);
        let fifo = |record: &mut Record| {
            add_wakeups(record, "fifo", "as-is", [20e3; 2]);
            add_wakeups(record, "fifo", "tuned", [20e3; 2]);
        };
        add_wakeups(&mut record, "other", "as-is", [71e3; 2]);
        add_wakeups(&mut record, "other", "tuned", [21e3; 2]);
        fifo(&mut record);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note, "everybody has the default");
        let mut raised = machine(2);
        add_wakeups(&mut raised, "other", "as-is", [1021e3; 2]);
        add_wakeups(&mut raised, "other", "tuned", [21e3; 2]);
        fifo(&mut raised);
        let finding = &found(&raised, RULE)[0];
        assert_eq!(finding.severity, Severity::Serious);
        assert!(finding.what.contains("raised to about 1.00 ms"), "{finding:?}");
    }

    #[test]
    fn whether_it_was_raised_is_told_by_the_kernel() {
        for (slack, severity) in [(50_000, Severity::Note), (1_000_000, Severity::Serious)] {
            let mut record = machine(2);
            add_wakeups(&mut record, "other", "as-is", [140e3; 2]);
            add_wakeups(&mut record, "other", "tuned", [50e3; 2]);
            for measurement in &mut record.measurements {
                measurement.detail.insert("timer_slack_ns".to_owned(), slack.into());
            }
            assert_eq!(found(&record, RULE)[0].severity, severity, "{slack} ns");
        }
    }

    #[test]
    fn without_real_time_threads_the_slack_alone_is_not_blamed() {
        let mut record = machine(2);
        add_wakeups(&mut record, "other", "as-is", [140e3; 2]);
        add_wakeups(&mut record, "other", "tuned", [50e3; 2]);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.severity, Severity::Note);
        assert!(finding.what.starts_with("timer slack and idle states delay"), "{finding:?}");
        // Who may not hold idle states off has measured the slack alone.
        let why = "idle states cannot be held off: /dev/cpu_dma_latency: Permission denied (os error 13)";
        record.coverage.push(record::Coverage::degraded("wakeup tuned", why));
        let finding = &found(&record, RULE)[0];
        assert!(finding.what.starts_with("timer slack delays"), "{finding:?}");
        assert!(finding.evidence[1].says.starts_with("without timer slack after"), "{finding:?}");
    }

    #[test]
    fn what_idle_states_cost_is_not_blamed_on_the_slack() {
        let mut record = machine(2);
        add_wakeups(&mut record, "other", "as-is", [100e3; 2]);
        add_wakeups(&mut record, "other", "tuned", [20e3; 2]);
        add_wakeups(&mut record, "fifo", "as-is", [90e3; 2]);
        add_wakeups(&mut record, "fifo", "tuned", [10e3; 2]);
        assert_eq!(found(&record, RULE), []);
        assert_eq!(found(&record, super::super::idle_states::RULE).len(), 1);
    }

    #[test]
    fn without_a_difference_or_without_both_settings_it_is_silent() {
        let mut record = machine(2);
        add_wakeups(&mut record, "other", "as-is", [20.1e3; 2]);
        assert_eq!(missing(&record, RULE), Some("wake-up latency without timer slack"));
        add_wakeups(&mut record, "other", "tuned", [20e3; 2]);
        assert_eq!(found(&record, RULE), []);
    }
}
