//! A runner's passport: shows whether results of this machine are comparable with those of another machine.

use record::baseline::ClassBaseline;
use record::comparison::Cell;
use record::{Doubt, Label, Record, Text, metrics, text};
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::class::{facts, tell_facts};
use crate::comparison::{Extent, Side, compare};
use crate::cores;
use crate::cpu_accounting::disturbance;

/// The variation of the clock within one processor model, between boots and between individual processors.
const CLOCKS_ALIKE: f64 = 0.02;

/// Whether results of two machines are comparable, the best outcome first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comparable {
    /// Comparable without conversion.
    Comparable,
    /// Comparable after conversion with the ratio of the clocks, if the program is core-bound.
    Convertible,
    /// Not comparable.
    No,
}

/// The comparability of two machines.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Passport {
    /// Whether the two machines' results may be compared.
    pub outcome: Comparable,
    /// The design of both processors, if both are known to have the same design.
    pub design: Option<String>,
    /// This machine's clock divided by the baseline's clock. To convert a time measured on this machine to a time on the baseline, multiply
    /// it by this ratio.
    pub clock_ratio: Option<f64>,
    /// The 95 % CI of the ratio; absent if it is unknown.
    pub interval: Option<(f64, f64)>,
    /// The reasons why the results are not comparable.
    pub reasons: Vec<Text>,
}

/// This machine's passport relative to a baseline's record; both records contain clock results.
pub fn passport(here: &Record, baseline: &Record) -> Passport {
    let (design, mut reasons) = designs(here, baseline);
    reasons.extend(shapes(here, baseline));
    for (record, what) in [(here, "the clock was measured"), (baseline, "the baseline was measured")] {
        reasons
            .extend(disturbance(record).map(|disturbed| text!("{disturbed} while {what}", disturbed, what)));
    }
    let mut clocks = None;
    if reasons.is_empty() {
        match clock_ratio(here, baseline) {
            Ok(ratio) => clocks = Some(ratio),
            Err(why) => reasons.push(why),
        }
    }
    let outcome = match clocks {
        None => Comparable::No,
        // The tolerance equals the clock difference that two machines of one model may have.
        Some((ratio, interval)) if (ratio - 1.0).abs() <= CLOCKS_ALIKE || includes_one(interval) => {
            Comparable::Comparable
        }
        Some(_) => Comparable::Convertible,
    };
    Passport {
        outcome,
        design,
        clock_ratio: clocks.map(|(ratio, _)| ratio),
        interval: clocks.and_then(|(_, interval)| interval),
        reasons,
    }
}

/// The passport relative to the most similar of several baselines; `None` if there are no baselines.
pub fn nearest_passport(here: &Record, classes: &[ClassBaseline]) -> Option<Passport> {
    let all = classes.iter().map(|class| passport(here, &class.record));
    all.min_by_key(|passport| (passport.outcome, passport.reasons.len()))
}

/// The design that both machines share, or the reason why there is none.
fn designs(here: &Record, baseline: &Record) -> (Option<String>, Vec<Text>) {
    let design = |record: &Record| {
        let processor = &record.machine.processor;
        let known = cores::of_machine(&record.machine).map(|core| core.name.clone());
        known.or_else(|| processor.microarchitecture.clone()).or_else(|| processor.model_name.clone())
    };
    // Models of one design may have different numbers of dies and different clocks; the comparisons of topology and clock show such
    // differences.
    match (design(here), design(baseline)) {
        (Some(one), Some(other)) if one == other => (Some(one), Vec::new()),
        (Some(one), Some(other)) => {
            (None, vec![text!("passport-other-design", "{one} here, {other} in the baseline")])
        }
        _ => (None, vec![text!("a record does not name its processor")]),
    }
}

/// The differences between the machines' topologies.
fn shapes(here: &Record, baseline: &Record) -> Vec<Text> {
    let values = facts().iter().zip(tell_facts(here)).zip(tell_facts(baseline));
    let of_shape = values.filter(|((fact, own), other)| fact.is("shape") && own != other);
    let mut differ = Vec::new();
    for ((fact, own), other) in of_shape {
        // A fact that is unknown for one machine is not a difference.
        let (Some(own), Some(other)) = (own, other) else { continue };
        differ.push(text!(
            "passport-other-shape",
            "{what}: {own} here, {other} in the baseline",
            what = fact.what.clone()
        ));
    }
    differ
}

/// A ratio and its interval, if the interval is known.
type Ratio = (f64, Option<(f64, f64)>);

fn includes_one(interval: Option<(f64, f64)>) -> bool {
    interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
}

/// This machine's clock divided by the baseline's clock. The ratios with one core busy and with all cores busy must agree, and a wide interval
/// that includes 1 decides nothing.
fn clock_ratio(here: &Record, baseline: &Record) -> Result<Ratio, Text> {
    let clocks = |record: &Record| Record {
        measurements: record.measurements_of(metrics::CORE_CLOCK).cloned().collect(),
        ..record.clone()
    };
    let (base, own) = (clocks(baseline), clocks(here));
    let side = |name, record| Side { name, source: name, record };
    let sides = [side("baseline", &base), side("here", &own)];
    let comparison = compare(&sides, 0, here.tool.clone(), Extent::Summary);
    let mut doubt: Option<Doubt> = None;
    let mut ratio_of = |active: &str| -> Option<Ratio> {
        let row = comparison.rows.iter().find(|row| {
            row.metric == metrics::CORE_CLOCK
                && row.labels.word(Label::Active) == Some(active)
                && row.labels.word(Label::Vector).is_none_or(|vector| vector == "scalar")
        })?;
        let [baseline, Cell { ratio, interval, doubt: own, .. }] = row.cells.as_slice() else { return None };
        doubt = doubt.take().or_else(|| own.clone()).or_else(|| baseline.doubt.clone());
        Some(((*ratio)?, *interval))
    };
    let (one, all) = (ratio_of("one"), ratio_of("all"));
    if let Some(doubt) = doubt {
        return Err(text!(
            "passport-unsure",
            "the clock result is unreliable: {doubt}",
            doubt = doubt.text()
        ));
    }
    match (one, all) {
        (Some(one), Some(all)) if (one.0 / all.0 - 1.0).abs() > 2.0 * CLOCKS_ALIKE => {
            let [one, all] = [one.0, all.0].map(|ratio| format!("{ratio:.3}"));
            Err(text!(
                "passport-two-ratios",
                "no common ratio: the clock is {one} of the baseline's with one core busy, {all} with all cores"
            ))
        }
        // CI programs usually use all cores of a small runner.
        (_, Some((ratio, interval))) | (Some((ratio, interval)), None) => match interval {
            Some((low, high)) if includes_one(interval) && high - low > 2.0 * CLOCKS_ALIKE => {
                let [low, high] = [low, high].map(|end| format!("{end:.3}"));
                Err(text!("passport-wide", "the clock ratio is uncertain, from {low} to {high}"))
            }
            _ => Ok((ratio, interval)),
        },
        (None, None) => Err(text!(
            "passport-no-clock",
            "the baseline has no clock result; measure one with linespeed run clock"
        )),
    }
}

#[cfg(test)]
mod tests {
    use record::Labels;

    use super::*;
    use crate::samples::{machine, measured};

    fn runner(model: u32, name: &str, [one, all]: [f64; 2]) -> Record {
        let mut record = machine(4);
        let processor = &mut record.machine.processor;
        processor.vendor = Some("AuthenticAMD".to_owned());
        (processor.family, processor.model) = (Some(25), Some(model));
        processor.model_name = Some(name.to_owned());
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        for (active, hz, cpus) in [("one", one, 1u32), ("all", all, 4)] {
            for cpu in 0..cpus {
                let place = Labels::new()
                    .with_label(Label::Cpu, cpu)
                    .with_label(Label::Active, active)
                    .with_label(Label::Vector, "scalar");
                record.measurements.push(measured("core.clock", place, hz));
            }
        }
        record
    }

    fn milan(clocks: [f64; 2]) -> Record {
        runner(1, "AMD EPYC 7763 64-Core Processor", clocks)
    }

    fn codes(passport: &Passport) -> Vec<&str> {
        passport.reasons.iter().filter_map(Text::code).collect()
    }

    #[test]
    fn one_model_at_one_clock_is_comparable() {
        let found = passport(&milan([3.24e9, 3.21e9]), &milan([3.25e9, 3.2e9]));
        assert_eq!((found.outcome, codes(&found)), (Comparable::Comparable, vec![]), "{found:?}");
        assert_eq!(found.design.as_deref(), Some("AMD Zen 3 (Milan)"));
    }

    #[test]
    fn another_clock_of_one_design_is_a_ratio_with_its_interval() {
        let found = passport(&milan([2.9e9, 2.88e9]), &runner(1, "AMD EPYC 7B13", [3.25e9, 3.2e9]));
        assert_eq!(found.outcome, Comparable::Convertible, "{found:?}");
        let (ratio, (low, high)) = (found.clock_ratio.unwrap(), found.interval.unwrap());
        assert!((ratio - 0.9).abs() < 0.005 && low <= ratio && ratio <= high && high < 1.0, "{found:?}");
    }

    #[test]
    fn a_wide_interval_around_one_decides_nothing() {
        let baseline = milan([3.25e9, 3.2e9]);
        for ratio in [0.96, 1.0] {
            let mut wide = milan([3.25e9 * ratio, 3.2e9 * ratio]);
            for m in &mut wide.measurements {
                let samples: Vec<f64> =
                    (0..9).map(|step| m.value() * (0.76 + 0.06 * f64::from(step))).collect();
                *m = record::Measurement::new(metrics::CORE_CLOCK, m.labels.clone(), samples);
            }
            let found = passport(&wide, &baseline);
            assert_eq!((found.outcome, codes(&found)), (Comparable::No, vec!["passport-wide"]), "{found:?}");
        }
    }

    #[test]
    fn a_single_sample_has_a_ratio_and_no_interval() {
        let single = |clocks| {
            let mut record = milan(clocks);
            record.measurements.truncate(1);
            for m in &mut record.measurements {
                *m = record::Measurement::new(metrics::CORE_CLOCK, m.labels.clone(), vec![m.value()]);
            }
            record
        };
        let found = passport(&single([2.9e9, 2.88e9]), &single([3.25e9, 3.2e9]));
        assert_eq!((found.outcome, found.interval), (Comparable::Convertible, None), "{found:?}");
    }

    #[test]
    fn a_comparable_baseline_precedes_a_convertible_one() {
        let class =
            |record: Record| ClassBaseline { name: String::new(), machines: 5, record, figures: Vec::new() };
        let classes = [class(milan([2.9e9, 2.88e9])), class(milan([3.25e9, 3.2e9]))];
        let found = nearest_passport(&milan([3.25e9, 3.2e9]), &classes).map(|found| found.outcome);
        assert_eq!(found, Some(Comparable::Comparable));
    }

    #[test]
    fn another_design_another_shape_or_two_ratios_are_not_comparable() {
        let baseline = milan([3.25e9, 3.2e9]);
        let genoa = runner(17, "AMD EPYC 9V74 80-Core Processor", [3.25e9, 3.2e9]);
        let found = passport(&genoa, &baseline);
        assert_eq!(
            (found.outcome, codes(&found)),
            (Comparable::No, vec!["passport-other-design"]),
            "{found:?}"
        );
        let mut smaller = milan([3.25e9, 3.2e9]);
        smaller.machine.counts.cpus_online = Some(2);
        assert_eq!(codes(&passport(&smaller, &baseline)), ["passport-other-shape"]);
        let mut limited = milan([3.25e9, 3.2e9]);
        limited.machine.limits.cpu_quota = Some(1.5);
        assert_eq!(codes(&passport(&limited, &baseline)), ["passport-other-shape"]);
        assert_eq!(codes(&passport(&milan([3.25e9, 2.6e9]), &baseline)), ["passport-two-ratios"]);
        let mut metal = milan([3.25e9, 3.2e9]);
        metal.machine.virtualization.hypervisor = Some("none".to_owned());
        for (here, base) in [(&metal, &baseline), (&baseline, &metal)] {
            assert_eq!(codes(&passport(here, base)), ["passport-other-shape"]);
        }
        let mut disturbed = milan([3.25e9, 3.2e9]);
        disturbed.conditions.after = Some(record::Snapshot { steal_share: Some(0.3), ..Default::default() });
        for (here, base) in [(&disturbed, &baseline), (&baseline, &disturbed)] {
            assert_eq!(passport(here, base).outcome, Comparable::No);
        }
    }

    #[test]
    fn without_a_clock_or_with_one_in_doubt_nothing_is_comparable() {
        let baseline = milan([3.25e9, 3.2e9]);
        let mut without = baseline.clone();
        without.measurements.clear();
        assert_eq!(codes(&passport(&baseline, &without)), ["passport-no-clock"]);
        let mut unsure = baseline.clone();
        unsure.measurements.iter_mut().for_each(|m| m.doubt = Some("too noisy: no cause seen".into()));
        assert_eq!(codes(&passport(&unsure, &baseline)), ["passport-unsure"]);
    }
}
