//! The scale of an axis, and its labels.

use std::time::{Duration, UNIX_EPOCH};

use record::{date, units};

use super::Axis;
use crate::text::without_zeros;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Logarithmic, marked at powers of two.
    Binary,
    /// Logarithmic, marked at 1, 2 and 5 of each power of ten.
    Decades,
    /// Linear from 0.
    FromZero,
    /// Linear; starts at 0 only if the highest value is more than twice the lowest.
    Linear,
    /// Seconds since 1970, marked at whole minutes, hours and days.
    Time,
}

/// The unit of times that are in seconds since 1970.
pub(crate) const DATE: &str = "date";
const DAY: f64 = 86_400.0;
/// Intervals between marks of a time axis, in seconds: seconds, minutes, hours, days, weeks, four weeks, and 13 times
/// four weeks (about a year).
const TIMES: [u32; 20] = [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
    2_419_200, 31_449_600,
];

impl Scale {
    /// Whether the axis can show this value. No machine produces values beyond 1e±30; within this range, logarithms and
    /// differences do not overflow.
    pub(crate) fn shows(self, value: f64) -> bool {
        let size = value.abs();
        match self {
            Scale::FromZero | Scale::Linear | Scale::Time => value == 0.0 || (value > 1e-30 && size < 1e30),
            Scale::Binary | Scale::Decades => value > 1e-30 && value < 1e30,
        }
    }

    fn place(self, value: f64) -> f64 {
        match self {
            Scale::FromZero | Scale::Linear | Scale::Time => value,
            Scale::Binary | Scale::Decades => value.max(1e-300).log2(),
        }
    }
}

/// The visible part of an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    scale: Scale,
    unit: &'static str,
    low: f64,
    high: f64,
}

impl Span {
    /// Exactly these bounds, except that an axis with [`Scale::FromZero`] begins at 0.
    pub(crate) fn tight(axis: &Axis, (low, high): (f64, f64)) -> Self {
        let low = if axis.scale == Scale::FromZero { 0.0 } else { low };
        // A value that never changes is drawn near the middle.
        let beyond = if axis.scale == Scale::Linear { 1.05 } else { 2.0 };
        let high = if high > low { high } else { low * beyond + f64::from(axis.scale == Scale::FromZero) };
        Self { scale: axis.scale, unit: axis.unit, low, high }
    }

    /// These bounds widened to the next round values.
    pub(crate) fn round(axis: &Axis, bounds: (f64, f64)) -> Self {
        let mut span = Self::tight(axis, bounds);
        match axis.scale {
            Scale::FromZero | Scale::Linear => {
                // Values that differ by less than a tenth should appear as an almost flat line.
                let room = (span.high - span.low).max(span.high * 0.1);
                let from = if axis.scale == Scale::FromZero || span.high > 2.0 * span.low {
                    0.0
                } else {
                    span.high - room
                };
                let step = nice_step(span.high - from, 8);
                span.low = (from / step).floor() * step;
                span.high = (span.high / step).ceil() * step;
            }
            Scale::Binary | Scale::Time => {}
            Scale::Decades => {
                let steps: Vec<f64> = decades(span.low / 10.0, span.high * 10.0, &[1.0, 2.0, 5.0]);
                let low = steps.iter().copied().filter(|v| *v <= span.low * 1.0001).fold(f64::MIN, f64::max);
                let high =
                    steps.iter().copied().filter(|v| *v >= span.high * 0.9999).fold(f64::MAX, f64::min);
                if low > 0.0 && high < f64::MAX && low < high {
                    (span.low, span.high) = (low, high);
                }
            }
        }
        span
    }

    /// The position of a value on the axis, from 0 to 1.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let (low, high) = (self.scale.place(self.low), self.scale.place(self.high));
        let position = (self.scale.place(value) - low) / (high - low);
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The labeled values of the axis, at most `most` (and at least one), with their text.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let most = most.max(2);
        let powers = |every: i32| -> Vec<f64> {
            let (low, high) = (self.low.log2().ceil() as i32, self.high.log2().floor() as i32);
            (low..=high).filter(|p| p.rem_euclid(every) == 0).map(|p| 2f64.powi(p)).collect()
        };
        let few = |steps: &[f64]| decades(self.low, self.high, steps);
        let tens = |every: i32| -> Vec<f64> {
            let keep = |v: &f64| (v.log10().round() as i32).rem_euclid(every) == 0;
            few(&[1.0]).into_iter().filter(keep).collect()
        };
        // The possible sets of marks, from the smallest to the largest interval.
        let own: Vec<Vec<f64>> = match self.scale {
            Scale::FromZero | Scale::Linear => vec![self.steps(most - 1)],
            Scale::Time => return self.times(most),
            Scale::Binary => [1, 2, 3, 5, 10, 20, 40].map(powers).to_vec(),
            Scale::Decades => [few(&[1.0, 2.0, 5.0]), few(&[1.0, 3.0])]
                .into_iter()
                .chain([1, 2, 3, 6, 12].map(tens))
                .collect(),
        };
        // If the range is too short for two marks of the axis's own scale, equal steps are used, because a single mark
        // shows no distance.
        let close = (2..=most).map(|parts| self.steps(parts));
        let written = |values: &Vec<f64>| -> Vec<(f64, String)> {
            values.iter().map(|value| (*value, label(*value, self.unit))).collect()
        };
        let tells = |ticks: &Vec<(f64, String)>| {
            let differ = ticks.windows(2).all(|pair| pair[0].1 != pair[1].1);
            (2..=most).contains(&ticks.len()) && differ
        };
        let first = own.iter().find(|values| !values.is_empty()).map(&written);
        let chosen = own.into_iter().chain(close).map(|values| written(&values)).find(tells);
        chosen.unwrap_or_else(|| first.into_iter().flatten().take(most).collect())
    }

    /// Labels at whole seconds, minutes, hours or days. They show the time within a day, the day and time, or the date,
    /// depending on range and step.
    fn times(&self, most: usize) -> Vec<(f64, String)> {
        let range = self.high - self.low;
        let step = TIMES.map(f64::from).into_iter().find(|step| range / step < most as f64).unwrap_or(range);
        let first = (self.low / step).ceil();
        let all = (0..most).map(|number| (first + number as f64) * step).filter(|at| *at <= self.high);
        let write = |at: f64| {
            let moment = label(at, DATE);
            let part = match () {
                () if step >= DAY => 0..10,
                () if range > DAY => 5..16,
                () if step >= 60.0 => 11..16,
                () => 11..19,
            };
            moment.get(part).unwrap_or_default().to_owned()
        };
        all.map(|at| (at, write(at))).collect()
    }

    /// Values at equal steps that divide the axis into at most this many parts.
    fn steps(&self, parts: usize) -> Vec<f64> {
        let range = self.high - self.low;
        let step = match self.scale {
            Scale::Binary => (range / parts as f64).log2().ceil().exp2(),
            _ => nice_step(range, parts),
        };
        // Only whole numbers of threads are labeled.
        let step = if self.unit == "count" { step.max(1.0) } else { step };
        let first = (self.low / step - 1e-9).ceil();
        let all = (0..=parts).map(|i| (first + i as f64) * step);
        all.filter(|v| *v <= self.high + step * 1e-6).collect()
    }
}

/// The multiples of powers of ten between two bounds.
fn decades(low: f64, high: f64, steps: &[f64]) -> Vec<f64> {
    let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (from..=to)
        .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|v| *v >= low * 0.9999 && *v <= high * 1.0001)
        .collect()
}

/// A step of 1, 2 or 5 times a power of ten that divides `high` into at most `parts`.
fn nice_step(high: f64, parts: usize) -> f64 {
    let least = high / parts.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= least * 0.9999);
    step.filter(|step| step.is_finite() && *step > 0.0).unwrap_or(1.0)
}

/// A label of an axis: `32 KiB`, `200 ns`, `0.1 %`, without meaningless digits.
pub(crate) fn label(value: f64, unit: &str) -> String {
    if unit == "B" {
        return units::bytes(value.round().max(0.0) as u64);
    }
    if unit == DATE {
        let moment = UNIX_EPOCH + Duration::from_secs(value.clamp(0.0, 1e11) as u64);
        return date::rfc3339(moment).replace('T', " ").trim_end_matches('Z').to_owned();
    }
    // Zero needs no prefix.
    let text = if unit == "s" && value == 0.0 {
        "0 s".to_owned()
    } else if unit == "share" {
        format!("{} %", units::significant(value * 100.0))
    } else {
        units::figure(value, unit)
    };
    // A speed-up has a times sign instead of a unit, without a space.
    without_zeros(&text).replace(" ×", "×")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_marked_at_powers_of_two_and_times_at_round_numbers() {
        let bytes = Span::tight(&Axis::new("", Scale::Binary, "B"), (4096.0, 1073741824.0));
        let texts: Vec<String> = bytes.ticks(8).into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["4 KiB", "32 KiB", "256 KiB", "2 MiB", "16 MiB", "128 MiB", "1 GiB"]);
        let ns = Span::round(&Axis::new("", Scale::Decades, "ns"), (1.3, 131.0));
        let texts: Vec<String> = ns.ticks(8).into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["1 ns", "2 ns", "5 ns", "10 ns", "20 ns", "50 ns", "100 ns", "200 ns"]);
        let linear = Span::round(&Axis::new("", Scale::FromZero, "B/s"), (1e9, 2.13e10));
        assert_eq!(linear.ticks(6).last().unwrap().1, "25 GB/s");
        let flat = Span::round(&Axis::new("", Scale::Linear, "ns"), (152.0, 161.0));
        let texts: Vec<String> = flat.ticks(8).into_iter().map(|tick| tick.1).collect();
        assert_eq!((texts[0].as_str(), texts.last().unwrap().as_str()), ("140 ns", "165 ns"));
        let still = Span::round(&Axis::new("", Scale::Linear, "Hz"), (3.69e9, 3.69e9));
        assert!(still.high < 4.2e9, "the line is at the bottom of the chart: {}", still.high);
        assert_eq!(Span::round(&Axis::new("", Scale::Linear, "ns"), (60.0, 161.0)).ticks(8)[0].0, 0.0);
    }

    #[test]
    fn an_axis_of_less_than_a_power_has_two_ticks() {
        let ticks = |scale, unit, bounds, most| -> Vec<String> {
            let span = Span::tight(&Axis::new("", scale, unit), bounds);
            span.ticks(most).into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(ticks(Scale::Decades, "ns", (45e3, 80e3), 8), ["60 µs", "80 µs"]);
        assert_eq!(ticks(Scale::Decades, "ns", (21.0, 49.0), 4), ["30 ns", "40 ns"]);
        assert_eq!(ticks(Scale::Binary, "B", (40960.0, 61440.0), 8), ["40 KiB", "48 KiB", "56 KiB"]);
    }

    proptest! {
        #[test]
        fn any_values_lie_on_the_axis_and_few_are_written(
            a in 1e-12f64..1e15, b in 1e-12f64..1e15, v in 1e-12f64..1e15, most in 2usize..12
        ) {
            for scale in [Scale::Binary, Scale::Decades, Scale::FromZero, Scale::Linear, Scale::Time] {
                let axis = Axis::new("", scale, "ns");
                for span in [Span::tight(&axis, (a.min(b), a.max(b))), Span::round(&axis, (a.min(b), a.max(b)))] {
                    prop_assert!((0.0..=1.0).contains(&span.position(v)));
                    prop_assert!(span.ticks(most).len() <= most, "{:?}", span.ticks(most));
                }
            }
        }
    }
}
