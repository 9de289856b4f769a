//! Ordinary threads wake late because the kernel may delay their timers by the timer slack.

use record::diagnosis::Finding;
use record::statistics::{Summary, Verdict};
use record::units::figure;
use record::{Better, Measurement, Record};

use super::{Case, Rule, at_most_warning, costs, finding, lines};
use crate::figures::{cpus_of, cpus_text, evidence, is_at, loss, same_but, share_of, told};

/// SCHED_OTHER wake-up latency as the machine is, against the same with 1 ns of slack.
pub const RULE: Rule = Rule { name: "timer-slack", find };

fn find(case: &Case) -> Vec<Finding> {
    one(case.record).into_iter().collect()
}

fn one(record: &Record) -> Option<Finding> {
    // Tuning holds off idle states too. Real-time threads have no slack, so theirs is that share of the difference.
    let idle = gains(record, "fifo", 0.0).map_or(0.0, |gain| gain.ns.max(0.0));
    let gain = gains(record, "other", idle)?;
    let saved = figure(gain.ns - idle, "ns");
    let loss = costs(gain.loss)?;
    let mut seen = vec![
        evidence(gain.as_is, "an ordinary thread wakes, in the median, after"),
        evidence(gain.tuned, "without timer slack and deep idle states after"),
    ];
    if idle > 0.0 {
        let says =
            format!("idle states, by real-time threads, cost {} of the difference", figure(idle, "ns"));
        seen.push(told(says, "wakeup.latency policy=fifo"));
    }
    Some(Finding {
        severity: at_most_warning(&loss),
        place: cpus_text(&gain.cpus),
        evidence: seen,
        remedy: lines([
            "in the program: prctl(PR_SET_TIMERSLACK, 1) in each thread that sleeps",
            "a running process: for t in /proc/$PID/task/*; do echo 1 | sudo tee /proc/${t##*/}/timerslack_ns; done",
            "a service: TimerSlackNSec=1 in its [Service] section",
        ]),
        undo: lines(["for t in /proc/$PID/task/*; do echo 0 | sudo tee /proc/${t##*/}/timerslack_ns; done"]),
        ..finding(&RULE, loss, format!("timer slack delays the wake-up of ordinary threads by {saved}"))
    })
}

/// What tuning gains for one scheduling policy.
pub(super) struct Gain<'a> {
    /// The CPU with the median loss as the machine is, and tuned.
    pub as_is: &'a Measurement,
    /// The same CPU tuned.
    pub tuned: &'a Measurement,
    /// Difference of its medians, ns.
    pub ns: f64,
    /// The loss on that CPU.
    pub loss: Verdict,
    /// All CPUs compared.
    pub cpus: record::CpuList,
}

/// The wake-up latency of `policy` as-is against tuned, whose latency is taken as `more` ns longer.
pub(super) fn gains<'a>(record: &'a Record, policy: &str, more: f64) -> Option<Gain<'a>> {
    let at = |setting: &'static str| {
        let words = [("policy", policy.to_owned()), ("setting", setting.to_owned())];
        record.of("wakeup.latency").filter(move |m| {
            words.iter().all(|(key, word)| is_at(m, &[(key, word)]))
                && m.place.switch("corrected") != Some(true)
        })
    };
    let mut pairs: Vec<(&Measurement, &Measurement, Verdict)> = at("as-is")
        .filter_map(|as_is| {
            let tuned = at("tuned").find(|tuned| same_but(as_is, tuned, "setting"))?;
            Some((as_is, tuned, loss(&as_is.summary, &longer(&tuned.summary, more), Better::Lower)))
        })
        .collect();
    pairs.sort_by(|a, b| share_of(&a.2).total_cmp(&share_of(&b.2)));
    let cpus = cpus_of(pairs.iter().map(|pair| pair.0));
    let (as_is, tuned, loss) = pairs.get(pairs.len().saturating_sub(1) / 2)?.clone();
    Some(Gain { as_is, tuned, ns: as_is.value() - tuned.value(), loss, cpus })
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
    use super::*;
    use crate::samples::{found, machine, measured};
    use record::Where;

    fn wakeup(record: &mut Record, policy: &str, setting: &str, ns: f64) {
        for cpu in 0..2u32 {
            let place = Where::new().with("cpu", cpu).with("policy", policy).with("setting", setting);
            record.measurements.push(measured("wakeup.latency", place.with("corrected", false), ns));
        }
    }

    #[test]
    fn fifty_microseconds_of_slack_are_found() {
        let mut record = machine(2);
        wakeup(&mut record, "other", "as-is", 71e3);
        wakeup(&mut record, "other", "tuned", 21e3);
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
        for (cpu, as_is, tuned) in [(0u32, 75.3e3, 24.1e3), (1, 110.0e3, 32.0e3)] {
            for (setting, ns) in [("as-is", as_is), ("tuned", tuned)] {
                let place = Where::new().with("cpu", cpu).with("policy", "other").with("setting", setting);
                record.measurements.push(measured("wakeup.latency", place.with("corrected", false), ns));
            }
        }
        let finding = &found(&record, RULE)[0];
        assert!(finding.evidence[0].says.contains("75.3 µs") && finding.evidence[1].says.contains("24.1 µs"));
        assert!(finding.what.contains("51.2 µs"), "{finding:?}");
    }

    #[test]
    fn what_idle_states_cost_is_not_blamed_on_the_slack() {
        let mut record = machine(2);
        wakeup(&mut record, "other", "as-is", 100e3);
        wakeup(&mut record, "other", "tuned", 20e3);
        wakeup(&mut record, "fifo", "as-is", 90e3);
        wakeup(&mut record, "fifo", "tuned", 10e3);
        assert_eq!(found(&record, RULE), []);
        assert_eq!(found(&record, super::super::idle_states::RULE).len(), 1);
    }

    #[test]
    fn without_a_difference_or_without_both_settings_it_is_silent() {
        let mut record = machine(2);
        wakeup(&mut record, "other", "as-is", 20.1e3);
        assert_eq!(found(&record, RULE), []);
        wakeup(&mut record, "other", "tuned", 20e3);
        assert_eq!(found(&record, RULE), []);
    }
}
