//! Plausibility checks of the results in a loaded record.

use crate::text::Value;
use crate::{Coverage, Measurement, Text, text};

/// The factor by which a median may exceed the maximum or fall below the minimum: values in distributions are rounded
/// to buckets.
const ROUNDED: f64 = 1.1;

/// The unit in a metric's definition that stands for any unit of work.
const ANY_WORK: &str = "work/s";

/// Removes results that no run or import could have written, and returns a coverage entry for each. An edited or
/// damaged file may contain anything. Unknown metrics belong to a newer version and are not removed.
pub(crate) fn withhold(measurements: &mut Vec<Measurement>) -> Vec<Coverage> {
    let mut withheld = Vec::new();
    measurements.retain(|measurement| match doubt(measurement) {
        Some(why) => {
            let reason = text!(Coverage::CHANGED_OR_DAMAGED, why);
            withheld.push(Coverage::degraded(measurement.metric, reason));
            false
        }
        None => true,
    });
    withheld
}

/// Why the result is not credible.
fn doubt(measurement: &Measurement) -> Option<Text> {
    let metric = measurement.metric.definition()?;
    if measurement.unit != metric.unit && metric.unit != ANY_WORK {
        return Some(text!(
            "record-wrong-unit",
            "its unit is {unit}, but {metric} uses {expected}",
            unit = format!("{:?}", measurement.unit),
            metric = metric.name,
            expected = metric.unit
        ));
    }
    let (low, high) = metric.plausible;
    let value = measurement.value();
    if !(low..=high).contains(&value) {
        return Some(text!(
            "record-implausible",
            "{value} is outside the plausible range, {low} to {high}",
            value = Value::Figure(value, metric.unit),
            low = Value::Figure(low, metric.unit),
            high = Value::Figure(high, metric.unit)
        ));
    }
    let summary = &measurement.summary;
    // The median is checked even if the mean represents the result: a burst can move the mean outside the median's interval.
    let median = summary.median;
    // The tolerance is based on the absolute value, because values may be negative.
    let room = |value: f64| value.abs() * (ROUNDED - 1.0);
    let around =
        |low: f64, high: f64| low <= high && low <= median + room(median) && median <= high + room(high);
    let ordered = around(summary.min, summary.max)
        && summary.mad >= 0.0
        && summary.interval.is_none_or(|(low, high)| around(low, high));
    (!ordered)
        .then(|| text!("record-inconsistent", "its median, minimum, maximum and spread are inconsistent"))
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
    fn a_figure_below_zero_stays() {
        let below = [-0.6, -0.58, -0.62, -0.6, -0.61, -0.59, -0.6].to_vec();
        let avoided = Measurement::new("memory.write_allocate_avoided", Labels::new(), below);
        assert_eq!(read(|m| *m = avoided.clone()).measurements.len(), 2);
    }

    #[test]
    fn a_share_of_time_with_a_burst_stays() {
        let mut shares = vec![0.01, 0.011, 0.009, 0.01, 0.01, 0.011, 0.01, 0.009];
        shares.push(0.3);
        let bursty = Measurement::new("stolen.share", Labels::new().with_label(Label::Cpu, 0u32), shares);
        let (_, high) = bursty.summary.interval.unwrap();
        assert!(bursty.value() > 2.0 * high, "{bursty:?}");
        assert_eq!(read(|m| *m = bursty.clone()).measurements.len(), 2);
    }

    #[test]
    fn what_cannot_be_is_withheld_and_reported() {
        let withheld = |change: fn(&mut Measurement), code: &str| {
            let record = read(change);
            assert_eq!(record.measurements.len(), 1, "{code}");
            assert_eq!(record.measurements[0].metric, "cost.syscall");
            let [line] = &record.coverage[..] else { panic!("{:?}", record.coverage) };
            let why = line.reason.as_ref().and_then(|reason| reason.value("why"));
            let Some(Value::Sentence(why)) = why else { panic!("{line:?}") };
            assert!(line.what == "load.latency" && why.code() == Some(code), "{line:?}");
        };
        withheld(|m| m.unit = "bananas".into(), "record-wrong-unit");
        withheld(|m| m.summary.median = -3.0, "record-implausible");
        withheld(|m| m.summary.median = 1e300, "record-implausible");
        withheld(|m| m.summary.max = 0.5, "record-inconsistent");
        withheld(|m| m.summary.mad = -1.0, "record-inconsistent");
        withheld(|m| m.summary.interval = Some((7.0, 9.0)), "record-inconsistent");
    }
}
