//! Ordinary threads wake late because somebody raised the timer slack above Linux's default.

use record::statistics::Summary;

use super::prelude::*;
use crate::resources::{DEFAULT_SLACK_NS, WAKE_UP, wake_up_cpu};

/// SCHED_OTHER wake-up latency as the machine is, against the same with 1 ns of slack.
pub(super) const RULE: Rule = Rule {
    name: "timer-slack",
    resource: Some(WAKE_UP),
    needs: &[
        needs::WAKE_UP,
        Need::new("wake-up latency without timer slack", |case| has_both(case, "other")),
    ],
    find,
};

fn find(case: &Case) -> Option<Vec<Finding>> {
    // Tuning holds off idle states too. Real-time threads have no slack, so theirs is that share of the difference.
    let idle = gains(case, "fifo", NOTHING).map(|gain| gain.between.with_least(0.0));
    let gain = gains(case, "other", idle.unwrap_or(NOTHING))?;
    let known = gain.as_is.detail.get(detail::TIMER_SLACK_NS);
    let delay = gain.between.ns - idle.map_or(0.0, |idle| idle.ns);
    // Everybody has the default: no loss of this machine.
    let raised = match known {
        Some(ns) => ns > DEFAULT_SLACK_NS,
        // By a quarter: what the default leaves on an idle machine differs that much from its 50 µs.
        None => idle.is_some() && delay > DEFAULT_SLACK_NS * 1.25,
    };
    if !raised {
        return None;
    }
    // Slack delays no wake-up by more than it is; what is beyond it is something else's.
    let slack = known.map_or(delay, |ns| delay.min(ns));
    let gain = gains(case, "other", Between::from_ns(gain.between.ns - slack))?;
    let saved = Value::Figure(slack, "ns");
    let what = text!("timer slack raised to about {saved} delays wake-ups of ordinary threads");
    let latency = gain.as_is;
    let as_is = text!("median wake-up of an ordinary thread: {latency}");
    let latency = gain.tuned;
    let tuned = match held_off(case) {
        true => {
            text!("without timer slack and deep idle states: {latency}")
        }
        false => text!("without timer slack: {latency}"),
    };
    let process = text!("a running process");
    let default = Value::Figure(DEFAULT_SLACK_NS, "ns");
    let finding = RULE
        .report_loss(costs(gain.loss)?, what)
        .locate_cpus(&gain.cpus)
        .cite(as_is, gain.as_is)
        .cite(tuned, gain.tuned)
        .cite(text!("above the kernel's default of {default}"), gain.as_is)
        .advise(text!("in the program: prctl(PR_SET_TIMERSLACK, 1) in each sleeping thread"))
        .mend([Remedy { text: Some(process), ..set_slack("1") }])
        .advise(text!("a service: TimerSlackNSec=1 in its [Service] section"))
        .undo([set_slack("0")])
        .cite_some(idle.filter(|idle| idle.ns > 0.0), "wakeup.latency policy=fifo", |idle| {
            let part = Value::Figure(idle.ns, "ns");
            text!("part of idle states: {part} (from real-time wake-ups)")
        });
    Some(vec![finding])
}

/// A command that sets the slack of a process, ns; 0 is the default.
fn set_slack(ns: &str) -> Remedy {
    let write = write_command(ns, "/proc/${t##*/}/timerslack_ns");
    Remedy::command(format!("for t in /proc/$PID/task/*; do {write}; done"))
}

/// Whether what was measured tuned had idle states held off.
fn held_off(case: &Case) -> bool {
    let refused = |coverage: &Coverage| {
        coverage.what == Coverage::TUNED_WAKEUP && coverage.is_for(&Coverage::IDLE_STATES_NOT_HELD)
    };
    !case.record.coverage.iter().any(refused)
}

/// A difference of two medians, ns, and between what their intervals allow it to lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between {
    /// The difference.
    pub ns: f64,
    low: f64,
    high: f64,
}

/// No difference.
pub(super) const NOTHING: Between = Between { ns: 0.0, low: 0.0, high: 0.0 };

impl Between {
    fn from_summaries(as_is: &Summary, tuned: &Summary) -> Self {
        let ((low, high), (tuned_low, tuned_high)) = (spread(as_is), spread(tuned));
        Self { ns: as_is.median - tuned.median, low: low - tuned_high, high: high - tuned_low }
    }

    fn from_ns(ns: f64) -> Self {
        Self { ns, low: ns, high: ns }
    }

    fn with_least(self, least: f64) -> Self {
        Self { ns: self.ns.max(least), low: self.low.max(least), high: self.high.max(least) }
    }
}

/// What tuning gains for one scheduling policy on [`wake_up_cpu`].
#[derive(Debug)]
pub(super) struct Gain<'a> {
    /// The machine as it is.
    pub as_is: &'a Measurement,
    /// The same CPU tuned.
    pub tuned: &'a Measurement,
    /// What one is longer than the other.
    pub between: Between,
    /// The loss from one to the other.
    pub loss: Verdict,
    /// The CPU.
    pub cpus: CpuList,
}

/// The CPU and the priority of wake-ups.
fn thread(m: &Measurement) -> (Option<u64>, Option<u64>) {
    (m.labels.count(Label::Cpu), m.labels.count(Label::Priority))
}

/// Whether the wake-up latency of `policy` was measured as-is and tuned.
pub(super) fn has_both(case: &Case, policy: &str) -> bool {
    ["as-is", "tuned"].iter().all(|setting| {
        case.figures_of(metrics::WAKEUP_LATENCY)
            .any(|m| has_labels(m, &[(Label::Policy, policy), (Label::Setting, setting)]))
    })
}

/// The wake-up latency of `policy` as-is against tuned, whose latency is taken as `more` longer.
pub(super) fn gains<'a>(case: &Case<'a>, policy: &str, more: Between) -> Option<Gain<'a>> {
    let on = wake_up_cpu(case.index);
    let tuned = case.wakeups(policy, "tuned");
    let mut as_is = case.wakeups(policy, "as-is").filter(|m| m.labels.count(Label::Cpu) == on);
    let (as_is, tuned) =
        as_is.find_map(|as_is| Some((as_is, tuned.clone().find(|tuned| thread(tuned) == thread(as_is))?)))?;
    let between = Between::from_summaries(&as_is.summary, &tuned.summary);
    let loss = loss(&as_is.summary, &longer(&tuned.summary, more), Better::Lower);
    Some(Gain { as_is, tuned, between, loss, cpus: cpus_of([as_is]) })
}

/// The summary of samples that all lasted `more` longer.
fn longer(summary: &Summary, more: Between) -> Summary {
    let (low, high) = spread(summary);
    Summary {
        min: summary.min + more.low,
        median: summary.median + more.ns,
        max: summary.max + more.high,
        interval: Some((low + more.low, high + more.high)),
        ..summary.clone()
    }
}

#[cfg(test)]
mod tests {
    use record::Record;
    use record::diagnosis::Severity;

    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_wakeups, figure_in, machine};

    /// Wake-ups of ordinary threads with and without slack, and of real-time threads, who have none.
    fn slack_of(as_is: f64, tuned: f64) -> Record {
        let mut record = machine(2);
        for (policy, [as_is, tuned]) in [("other", [as_is, tuned]), ("fifo", [20e3, 20e3])] {
            add_wakeups(&mut record, policy, "as-is", [as_is; 2]);
            add_wakeups(&mut record, policy, "tuned", [tuned; 2]);
        }
        record
    }

    #[test]
    fn the_default_is_no_loss_of_the_machine_and_more_is() {
        assert_eq!(found(&slack_of(71e3, 21e3), RULE), []);
        let finding = &found(&slack_of(1021e3, 21e3), RULE)[0];
        assert_eq!(finding.severity, Severity::Serious);
        assert!((share_of(&finding.loss) - 1000.0 / 1021.0).abs() < 0.01, "{finding:?}");
        assert!((figure_in(&finding.what, "saved") - 1e6).abs() < 1.0, "{finding:?}");
        assert_eq!(finding.place, Some("CPU 0".into()));
        assert_eq!(
            finding.evidence[0].from,
            "wakeup.latency cpu=0 policy=other setting=as-is corrected=false"
        );
    }

    #[test]
    fn no_wake_up_is_delayed_by_more_slack_than_there_is() {
        for (slack, delays) in [(50_000, None), (60_000, Some(60e3)), (1_000_000, Some(90e3))] {
            let mut record = slack_of(140e3, 50e3);
            for measurement in &mut record.measurements {
                measurement.detail.set(detail::TIMER_SLACK_NS, slack);
            }
            let found = found(&record, RULE);
            assert_eq!(found.first().map(|found| figure_in(&found.what, "saved")), delays, "{slack} ns");
            let share = found.first().map(|found| (share_of(&found.loss) * 140.0).round());
            assert_eq!(share, delays.map(|delays| delays / 1e3));
        }
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
