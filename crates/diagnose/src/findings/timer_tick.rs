//! Timers that have only the resolution of the kernel's tick, so that sleeping threads wake up at the next tick.

use super::prelude::*;
use super::steal_time::{cite_quickest, quickest};
use crate::resources::DEFAULT_SLACK_NS;

/// Wake-up latencies that are spread evenly over a tick, as is the case without high-resolution timers.
///
/// The gain is modelled: with high-resolution timers, an ordinary thread is delayed only by its timer slack of 50 µs.
/// The interval allows for half to twice this delay.
pub(super) const RULE: Rule = Rule { name: "timer-tick", find };

/// Wake-ups spread over a tick have a median near half a tick, and none is delayed by much more than one tick.
const MIDDLE: std::ops::RangeInclusive<f64> = 0.25..=0.75;
const LATEST: f64 = 1.25;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let kernel = &case.record.machine.kernel;
    // The timers of an emulator depend on the host.
    (case.record.machine.virtualization.emulated != Some(true)).then_some(())?;
    let hz = kernel.hz.filter(|hz| *hz > 0)?;
    let tick = 1e9 / f64::from(hz);
    let wakeups = quickest(case)?;
    let late = wakeups.summary.p99.unwrap_or(wakeups.summary.max);
    if !MIDDLE.contains(&(wakeups.value() / tick)) || late > tick * LATEST {
        return None;
    }
    let share = |slack: f64| 1.0 - slack / wakeups.value();
    let loss =
        verdict(share(DEFAULT_SLACK_NS), (share(DEFAULT_SLACK_NS * 2.0), share(DEFAULT_SLACK_NS / 2.0)));
    let (late, tick) = (Value::Figure(late, "ns"), Value::Figure(tick, "ns"));
    let what = text!(
        "no high-resolution timers: sleeping threads wake up only at the timer tick, every {tick}",
        tick = tick.clone()
    );
    let off = kernel.options.iter().find(|option| *option == "highres=off");
    let source = case.record.conditions.before.clocksource.as_ref();
    let finding = RULE
        .report_model(loss, what)
        .felt_by(Relevance::Some)
        .locate_cpus(&cpus_of([wakeups]))
        .cite_all([cite_quickest(wakeups)])
        .cite(text!("99th percentile: {late}"), wakeups)
        .cite(text!("timer tick: {tick} ({hz} Hz)"), "machine.kernel.hz")
        .cite_some(off, "machine.kernel.options", |option| text!("kernel command line: {option}"))
        .cite_some(source, "conditions.before.clocksource", |source| text!("clocksource: {source}"));
    Some(vec![if off.is_some() { finding.mend_as("timer-tick option") } else { finding }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{add_wakeups, code_of, machine};
    use record::Record;

    fn record_with(median: f64, p99: f64, hz: u32) -> Record {
        let mut record = machine(2);
        record.machine.kernel.hz = Some(hz);
        for policy in ["fifo", "other"] {
            add_wakeups(&mut record, policy, "as-is", [median; 2]);
        }
        for m in &mut record.measurements {
            m.summary.p99 = Some(p99);
        }
        record
    }

    #[test]
    fn wakeups_spread_over_a_tick_are_found() {
        let mut record = record_with(2e6, 3.96e6, 250);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.value("tick"), Some(&Value::Figure(4e6, "ns")));
        assert!((crate::figures::share_of(&finding.loss) - 0.975).abs() < 1e-9, "{finding:?}");
        assert_eq!(code_of(&finding.remedy[0]), "timer-tick-dmesg");
        record.machine.kernel.options.push("highres=off".to_owned());
        assert_eq!(code_of(&found(&record, RULE)[0].remedy[0]), "timer-tick-remove");
    }

    #[test]
    fn quick_wakeups_and_long_tails_are_silence() {
        assert_eq!(found(&record_with(60e3, 80e3, 250), RULE), []);
        assert_eq!(found(&record_with(2e6, 3e7, 250), RULE), [], "the delay has another cause");
        let mut emulated = record_with(2e6, 3.96e6, 250);
        emulated.machine.virtualization.emulated = Some(true);
        assert_eq!(found(&emulated, RULE), []);
    }

    #[test]
    fn an_unreported_tick_or_no_wakeups_are_missing() {
        let mut record = record_with(2e6, 3.96e6, 250);
        record.machine.kernel.hz = None;
        assert_eq!(missing(&record, RULE), Some("the kernel's tick rate (HZ)"));
        assert_eq!(missing(&machine(1), RULE), Some("wake-up latency"));
    }
}
