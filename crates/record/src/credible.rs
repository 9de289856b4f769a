//! Which figures of a record that was read can be what they say.

use crate::{Coverage, Measurement, metrics, units};

/// How far a median may lie outside of the least and the greatest: distributions are rounded to their buckets.
const ROUNDED: f64 = 1.1;

/// The unit of what may be counted in any other.
const ANY_WORK: &str = "work/s";

/// Takes figures out that no run and no import would have put in, and returns what the coverage is to say of each. A file
/// that was edited or damaged may hold anything; metrics that are not known here are a newer program's, and stay.
pub(crate) fn withhold(measurements: &mut Vec<Measurement>) -> Vec<Coverage> {
    let mut withheld = Vec::new();
    measurements.retain(|measurement| match doubt(measurement) {
        Some(why) => {
            let reason = crate::text!(Coverage::CHANGED_OR_DAMAGED, why = why);
            withheld.push(Coverage::degraded(measurement.metric.clone(), reason));
            false
        }
        None => true,
    });
    withheld
}

/// Why it cannot be what it says.
fn doubt(measurement: &Measurement) -> Option<String> {
    let metric = metrics::find(&measurement.metric)?;
    if measurement.unit != metric.unit && metric.unit != ANY_WORK {
        return Some(format!(
            "its unit is {:?}, and that of {} is {}",
            &*measurement.unit, metric.name, metric.unit
        ));
    }
    let (low, high) = metric.plausible;
    let value = measurement.value();
    if !(low..=high).contains(&value) {
        return Some(format!(
            "{} is outside what any hardware can do ({} to {})",
            units::figure(value, metric.unit),
            units::figure(low, metric.unit),
            units::figure(high, metric.unit)
        ));
    }
    let summary = &measurement.summary;
    let around = |low: f64, high: f64| low <= high && low <= value * ROUNDED && value <= high * ROUNDED;
    let ordered = around(summary.min, summary.max)
        && summary.mad >= 0.0
        && summary.interval.is_none_or(|(low, high)| around(low, high));
    (!ordered).then(|| "its median, least, greatest and spread contradict each other".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;
    use crate::{Labels, Record};

    fn read(change: impl Fn(&mut Measurement)) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let place = || Labels::new().with_label(Label::Cpu, 0u32);
        record.measurements.push(Measurement::new("cost.syscall", place(), vec![80.0, 90.0, 100.0]));
        let mut other = Measurement::new("load.latency", place(), vec![1.25, 1.5, 1.25, 1.25, 1.5, 1.25]);
        change(&mut other);
        record.measurements.push(other);
        Record::from_json(record.to_json().unwrap().as_bytes()).unwrap()
    }

    #[test]
    fn a_figure_that_was_not_changed_stays() {
        assert_eq!(read(|_| ()).measurements.len(), 2);
        assert_eq!(read(|m| m.metric = "metric.of.the.future".into()).measurements.len(), 2);
    }

    #[test]
    fn what_cannot_be_is_withheld_and_reported() {
        let withheld = |change: fn(&mut Measurement), says: &str| {
            let record = read(change);
            assert_eq!(record.measurements.len(), 1, "{says}");
            assert_eq!(&*record.measurements[0].metric, "cost.syscall");
            let [line] = &record.coverage[..] else { panic!("{:?}", record.coverage) };
            let reason = line.why();
            assert!(line.what == "load.latency" && reason.contains(says), "{line:?}");
        };
        withheld(|m| m.unit = "bananas".into(), "its unit is \"bananas\", and that of load.latency is ns");
        withheld(|m| m.summary.median = -3.0, "outside what any hardware can do");
        withheld(|m| m.summary.median = 1e300, "outside what any hardware can do");
        withheld(|m| m.summary.max = 0.5, "contradict each other");
        withheld(|m| m.summary.mad = -1.0, "contradict each other");
        withheld(|m| m.summary.interval = Some((7.0, 9.0)), "contradict each other");
    }
}
