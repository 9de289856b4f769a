//! Wake-up delays of ordinary threads because the timer slack was raised above Linux's default.

use record::statistics::Summary;

use super::prelude::*;
use crate::resources::{DEFAULT_SLACK_NS, wake_up_cpu};

/// SCHED_OTHER wake-up latency with current settings, compared with the latency at 1 ns of timer slack.
pub(super) const RULE: Rule = Rule { name: "timer-slack", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    // Tuning also disables deep idle states. Real-time threads have no slack, so the change in their latency is the
    // part caused by idle states.
    let idle = Gain::find(case, "fifo").map(|gain| gain.ns.max(0.0));
    let gain = Gain::find(case, "other")?;
    // The default slack is not a loss of this machine.
    let raised = gain.as_is.detail.get(detail::TIMER_SLACK_NS).filter(|ns: &f64| *ns > DEFAULT_SLACK_NS)?;
    // Slack delays no wake-up by more than its own length; any further delay has another cause.
    let slack = (gain.ns - idle.unwrap_or(0.0)).min(raised);
    let saved = Value::Figure(slack, "ns");
    let what = text!("timer slack raised to about {saved} delays wake-ups of ordinary threads");
    let latency = gain.as_is;
    let as_is = text!("median wake-up of an ordinary thread: {latency}");
    let latency = gain.tuned;
    let tuned = match held_off(case) {
        true => text!("without timer slack and deep idle states: {latency}"),
        false => text!("without timer slack: {latency}"),
    };

    let default = Value::Figure(DEFAULT_SLACK_NS, "ns");
    let finding = RULE
        .report_loss(costs(gain.loss_beside(gain.ns - slack))?, what)
        .locate_cpus(&cpus_of([gain.as_is]))
        .cite(as_is, gain.as_is)
        .cite(tuned, gain.tuned)
        .cite(text!("above the kernel's default of {default}"), gain.as_is)
        .cite_some(idle.filter(|idle| *idle > 0.0), "wakeup.latency policy=fifo", |idle| {
            let part = Value::Figure(idle, "ns");
            text!("part caused by idle states: {part} (from real-time wake-ups)")
        });
    Some(vec![finding])
}

/// Whether idle states were disabled during the tuned measurement.
fn held_off(case: &Case) -> bool {
    let refused = |coverage: &Coverage| {
        coverage.what == Coverage::TUNED_WAKEUP && coverage.is_for(&Coverage::IDLE_STATES_NOT_HELD)
    };
    !case.record.coverage.iter().any(refused)
}

/// The gain from tuning for one scheduling policy, on [`wake_up_cpu`].
#[derive(Debug)]
pub(super) struct Gain<'a> {
    /// The result with current settings.
    pub as_is: &'a Measurement,
    /// The result for the same CPU after tuning.
    pub tuned: &'a Measurement,
    /// The difference between the two medians, ns.
    pub ns: f64,
}

impl<'a> Gain<'a> {
    /// Finds the gain for `policy`.
    pub(super) fn find(case: &Case<'a>, policy: &str) -> Option<Self> {
        let on = wake_up_cpu(case.index);
        let thread = |m: &Measurement| (m.labels.count(Label::Cpu), m.labels.count(Label::Priority));
        let tuned_as = |as_is| case.wakeups(policy, "tuned").find(|tuned| thread(tuned) == thread(as_is));
        let mut as_is = case.wakeups(policy, "as-is").filter(|m| m.labels.count(Label::Cpu) == on);
        let (as_is, tuned) = as_is.find_map(|as_is| Some((as_is, tuned_as(as_is)?)))?;
        Some(Self { as_is, tuned, ns: as_is.summary.median - tuned.summary.median })
    }

    /// The current loss, minus `other` ns that are due to another cause.
    pub(super) fn loss_beside(&self, other: f64) -> Verdict {
        let (low, high) = spread(&self.tuned.summary);
        let could_be = Summary {
            median: self.tuned.summary.median + other,
            interval: Some((low + other, high + other)),
            ..self.tuned.summary.clone()
        };
        loss(&self.as_is.summary, &could_be, Better::Lower)
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

    /// Wake-ups of ordinary threads with and without slack, and of real-time threads, which have none.
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
        assert_eq!(found(&slack_of(1021e3, 21e3), RULE), [], "the amount of slack is unknown");
        let mut record = slack_of(1021e3, 21e3);
        record.measurements.iter_mut().for_each(|m| m.detail.set(detail::TIMER_SLACK_NS, 1e6));
        let finding = &found(&record, RULE)[0];
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
