//! Checks a comparison for losses beyond a bound: the regression gate.

use record::comparison::{Cell, Comparison, Row, Subject};
use record::difference::{Verdict, WORTH_TELLING};
use record::gate::{Gate, Held, Outcome, Terms};
use record::phrase::count_noun;
use record::text::Value;
use record::turns::Turns;
use record::{Metric, Template, Text, metrics, text};

/// The minimum bound, since smaller losses cannot be resolved.
pub const LEAST_BOUND: f64 = WORTH_TELLING;

/// The note on results that the comparison includes but the gate skips.
const LEFT_OUT: Template =
    Template::new("gate-left-out", "Not compared (time lost to other processes): {figures}.");

/// The note on results that only one record has, for example because the other run did not measure them.
const ONLY_IN: Template = Template::new("gate-only-in", "Only in {name}: {figures}.");

/// The metric of a command's time.
const TIME: Metric = metrics::WORKLOAD_TIME;

/// Why a gate has nothing to compare.
#[derive(Clone, Debug, PartialEq)]
pub enum Ungated {
    /// All records are the same record.
    SameRecord,
    /// The records share no result for which higher or lower is better, or none of the requested metrics.
    NothingShared {
        /// The most frequent reason why shared results cannot be compared, if any.
        why: Option<Text>,
    },
    /// No shared result has enough samples on both sides for an interval.
    NoInterval {
        /// The number of results without an interval.
        figures: usize,
    },
}

/// Checks each shared result of each record except the baseline against `terms`.
///
/// A result fails only if the whole 95 % CI of its loss exceeds the bound. Results per CPU, core or package are redundant and
/// therefore skipped. Time lost to other processes is also skipped, because it is not the speed under test, unless one of its metrics is
/// requested.
///
/// # Errors
///
/// [`Ungated`] if nothing was compared; such a gate has not passed.
pub fn gate(comparison: &Comparison, terms: Terms) -> Result<Gate, Ungated> {
    if comparison.relation == record::comparison::Relation::SameRecord {
        return Err(Ungated::SameRecord);
    }
    let mut held = Vec::new();
    for (number, row) in comparison.rows.iter().enumerate().filter(|(_, row)| is_held(row, &terms.metrics)) {
        let doubtful_base = row.cells.get(comparison.baseline).is_some_and(|cell| cell.doubt.is_some());
        for (subject, cell) in row.cells.iter().enumerate() {
            let Some(verdict) = &cell.verdict else { continue };
            let lost = find_loss(row, cell, verdict);
            let unreliable = doubtful_base || cell.doubt.is_some();
            let outcome = judge(lost.and_then(|(_, interval)| interval), verdict, terms.bound, unreliable);
            held.push(Held {
                subject,
                row: number,
                metric: row.metric,
                what: row.what.clone(),
                outcome,
                unreliable,
                loss: lost.map(|(loss, _)| loss),
                interval: lost.and_then(|(_, interval)| interval),
            });
        }
    }
    let left_out = comparison.rows.iter().filter(|row| is_of_others(row, &terms.metrics));
    let left_out = left_out.flat_map(|row| &row.cells).filter(|cell| cell.verdict.is_some()).count();
    let why = comparison.refused.first().map(|refusal| refusal.why.clone());
    let mut gate = summarize_held(held, terms, why)?;
    if left_out > 0 {
        gate.says.push(text!(LEFT_OUT, figures = count_noun(left_out, "result")));
    }
    for Subject { name, alone, .. } in &comparison.subjects {
        let alone = alone.iter().filter(|metric| is_asked(**metric, &gate.terms.metrics)).count();
        let only = text!(ONLY_IN, figures = count_noun(alone, "result"), name = &**name);
        gate.says.push(if alone > 0 { only } else { Text::default() });
    }
    Ok(gate)
}

/// The overall outcome; `why` is the most frequent reason why results could not be compared.
fn summarize_held(mut held: Vec<Held>, terms: Terms, why: Option<Text>) -> Result<Gate, Ungated> {
    if held.is_empty() {
        return Err(Ungated::NothingShared { why });
    }
    if held.iter().all(|held| held.interval.is_none()) {
        return Err(Ungated::NoInterval { figures: held.len() });
    }
    let loss = |held: &Held| held.loss.unwrap_or(f64::NEG_INFINITY);
    held.sort_by(|a, b| a.outcome.cmp(&b.outcome).then(loss(b).total_cmp(&loss(a))));
    let passed = !held.iter().any(|held| terms.fails(held.outcome));
    let says = summarize(&held, &terms);
    Ok(Gate { terms, passed, says, held })
}

/// Checks the time of each alternately run command except the first against `terms`, whose metrics are ignored.
///
/// A result fails only if the difference is also resolved beyond noise.
///
/// # Errors
///
/// [`Ungated`] if no round ran two of the commands, or if there were too few such rounds.
pub fn gate_turns(turns: &Turns, terms: Terms) -> Result<Gate, Ungated> {
    let compared = turns.commands.iter().enumerate();
    let compared =
        compared.filter_map(|(number, command)| Some((number, command, command.against_first.as_ref()?)));
    let held = compared.map(|(number, command, against)| {
        let interval = against.interval.map(|(low, high)| (1.0 - 1.0 / low, 1.0 - 1.0 / high));
        let resolved = matches!(against.verdict, Verdict::Costs { .. });
        let outcome = match judge(interval, &against.verdict, terms.bound, false) {
            Outcome::Slower if !resolved => Outcome::Noisy,
            outcome => outcome,
        };
        Held {
            subject: number,
            row: 0,
            metric: TIME.to_owned(),
            what: text!("time of {command}", command = &command.workload),
            outcome,
            unreliable: false,
            loss: Some(1.0 - 1.0 / against.ratio),
            interval,
        }
    });
    summarize_held(held.collect(), terms, None)
}

/// Whether a metric is one of those requested. If none was requested, these are all except the time lost to other processes.
fn is_asked(metric: Metric, metrics: &[String]) -> bool {
    metrics.iter().any(|name| metric.is_called(name)) || metrics.is_empty() && metric.family() != "stolen"
}

fn is_held(row: &Row, metrics: &[String]) -> bool {
    row.per.is_none() && row.better.is_some() && is_asked(row.metric, metrics)
}

/// Whether a row is skipped only because it is time lost to other processes and no metric was requested.
fn is_of_others(row: &Row, metrics: &[String]) -> bool {
    row.per.is_none() && row.better.is_some() && metrics.is_empty() && !is_held(row, metrics)
}

/// The loss of speed and its interval. For results that are shares of time, only the verdict contains these values.
fn find_loss(row: &Row, cell: &Cell, verdict: &Verdict) -> Option<(f64, Option<(f64, f64)>)> {
    if let Some((speed, interval)) = row.speed(cell) {
        return Some((1.0 - speed, interval.map(|(low, high)| (1.0 - high, 1.0 - low))));
    }
    match (verdict, cell.slower) {
        (Verdict::Costs { share, interval }, Some(true)) => Some((*share, Some(*interval))),
        // The gain is computed from the baseline's loss relative to this result.
        (Verdict::Costs { share, interval: (low, high) }, _) => {
            let gain = |lost: f64| 1.0 - 1.0 / (1.0 - lost);
            Some((gain(*share), Some((gain(*high), gain(*low)))))
        }
        (Verdict::NotResolved { smaller_than }, _) => Some((0.0, Some((-smaller_than, *smaller_than)))),
        _ => None,
    }
}

/// The interval of an unreliable result is too narrow, so only a resolved verdict counts.
fn judge(interval: Option<(f64, f64)>, verdict: &Verdict, bound: f64, doubtful: bool) -> Outcome {
    let Some((least, most)) = interval else { return Outcome::Noisy };
    if doubtful && !matches!(verdict, Verdict::Costs { .. }) {
        return Outcome::Noisy;
    }
    if least >= bound {
        Outcome::Slower
    } else if most >= bound {
        Outcome::Noisy
    } else {
        Outcome::Within
    }
}

fn summarize(held: &[Held], terms: &Terms) -> Text {
    let count = |outcome: Outcome| held.iter().filter(|held| held.outcome == outcome).count();
    let (slower, noisy) = (count(Outcome::Slower), count(Outcome::Noisy));
    let figures = count_noun(held.len(), "result");
    let bound = terms.bound_in_percent();
    let failed = [
        (terms.slower && slower > 0).then(|| text!("{slower} slower")),
        (terms.noisy && noisy > 0).then(|| text!("{noisy} too noisy to rule out a slowdown")),
    ];
    let failed: Vec<Text> = failed.into_iter().flatten().collect();
    let undecided = (noisy > 0 && !terms.noisy).then(|| {
        let figures = figures.as_str();
        text!(
            "Undecided: {noisy} of {figures}, too noisy or unreliable (--fail-on noisy would fail).",
            figures
        )
    });
    let outcome = match failed.is_empty() {
        false => {
            text!("Gate FAILED: {failed} by {bound} or more (of {figures}).", failed = Value::List(failed))
        }
        true => {
            let outcome = if terms.slower { "detected" } else { "hidden by noise" };
            text!("Gate passed: {figures} compared, no loss of {bound} or more {outcome}.")
        }
    };
    Text::sequence([outcome].into_iter().chain(undecided))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::machine;
    use crate::{Extent, Side, compare};
    use record::document::Tool;
    use record::{Label, Labels, Measurement, Record};

    /// A result with eight samples that scatter by this share.
    fn figure(metric: impl Into<Metric>, value: f64, scatter: f64) -> Measurement {
        let samples = [-1.0, -0.6, -0.2, 0.0, 0.1, 0.3, 0.7, 1.0].map(|at| value * (1.0 + at * scatter));
        Measurement::new(metric, Labels::new().with_label(Label::Cpu, 0u32), samples.to_vec())
    }

    fn record(figures: Vec<Measurement>) -> Record {
        let mut record = machine(2);
        record.measurements = figures;
        record
    }

    fn terms(bound: f64) -> Terms {
        Terms { bound, metrics: Vec::new(), slower: true, noisy: false }
    }

    fn held(base: Vec<Measurement>, new: Vec<Measurement>, terms: Terms) -> Result<Gate, Ungated> {
        let (base, new) = (record(base), record(new));
        let side = |name, record| Side { name, source: name, record };
        let tool = Tool { name: "linespeed".to_owned(), version: "0.0.0".to_owned() };
        gate(&compare(&[side("base", &base), side("new", &new)], 0, tool, Extent::Summary), terms)
    }

    fn outcomes(gate: &Gate) -> Vec<Outcome> {
        gate.held.iter().map(|held| held.outcome).collect()
    }

    #[test]
    fn a_loss_fails_where_the_whole_interval_does() {
        let syscall = |value, scatter| vec![figure("cost.syscall", value, scatter)];
        // 20 % longer means a loss of one sixth.
        let gate = held(syscall(100.0, 0.01), syscall(120.0, 0.01), terms(0.05)).unwrap();
        assert!(!gate.passed);
        let one = &gate.held[0];
        let (least, most) = one.interval.unwrap();
        assert!((one.loss.unwrap() - (1.0 - 100.0 / 120.0)).abs() < 1e-9, "{one:?}");
        assert!(0.05 < least && least < one.loss.unwrap() && one.loss.unwrap() < most, "{one:?}");
        // In the other direction, this is a gain; with a higher bound, the loss is within the bound.
        assert_eq!(
            outcomes(&held(syscall(120.0, 0.01), syscall(100.0, 0.01), terms(0.05)).unwrap()),
            [Outcome::Within]
        );
        assert!(held(syscall(100.0, 0.01), syscall(120.0, 0.01), terms(0.3)).unwrap().passed);
        // An interval that contains the bound is inconclusive.
        let gate = held(syscall(100.0, 0.2), syscall(120.0, 0.2), terms(0.05)).unwrap();
        assert_eq!((gate.passed, outcomes(&gate)), (true, vec![Outcome::Noisy]));
        let noisy = Terms { noisy: true, ..terms(0.05) };
        assert!(!held(syscall(100.0, 0.2), syscall(120.0, 0.2), noisy.clone()).unwrap().passed);
        // A gate can be set to fail only because of noise.
        let noise_alone = Terms { slower: false, ..noisy };
        let gate = held(syscall(100.0, 0.01), syscall(120.0, 0.01), noise_alone).unwrap();
        assert_eq!((gate.passed, outcomes(&gate)), (true, vec![Outcome::Slower]));
    }

    #[test]
    fn a_rate_is_lost_where_it_falls() {
        let clock = |value| vec![figure("memory.bandwidth", value, 0.01)];
        let gate = held(clock(10e9), clock(8e9), terms(0.1)).unwrap();
        assert_eq!(outcomes(&gate), [Outcome::Slower]);
        assert!((gate.held[0].loss.unwrap() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn doubt_makes_a_narrow_interval_decide_nothing() {
        let mut new = figure("cost.syscall", 112.0, 0.01);
        new.doubt = Some("too noisy: something else ran".into());
        let base = figure("cost.syscall", 100.0, 0.01);
        assert_eq!(
            outcomes(&held(vec![base.clone()], vec![new.clone()], terms(0.05)).unwrap()),
            [Outcome::Noisy]
        );
        // Even with an equal median, an unreliable result does not show that there is no loss.
        new.summary.median = 100.0;
        new.samples = base.samples.clone();
        assert_eq!(outcomes(&held(vec![base], vec![new], terms(0.05)).unwrap()), [Outcome::Noisy]);
    }

    #[test]
    fn what_others_took_is_held_only_by_name() {
        let figures =
            |syscall, taken| vec![figure("cost.syscall", syscall, 0.01), figure("stolen.share", taken, 0.01)];
        let gate = held(figures(100.0, 0.01), figures(100.0, 0.4), terms(0.05)).unwrap();
        assert_eq!(gate.held.iter().map(|held| held.metric).collect::<Vec<_>>(), ["cost.syscall"]);
        // Results that the comparison includes but the gate skips are mentioned.
        let left_out = gate.says.sentences().iter().find(|text| text.is(&LEFT_OUT)).unwrap();
        assert!(left_out.to_string().contains("1 result"), "{left_out}");
        for name in ["stolen", "stolen.share"] {
            let named = Terms { metrics: vec![name.to_owned()], ..terms(0.05) };
            let gate = held(figures(100.0, 0.01), figures(100.0, 0.4), named).unwrap();
            assert_eq!((gate.held.len(), gate.held[0].metric), (1, "stolen.share".into()));
            assert!(gate.held[0].loss.is_some_and(|loss| loss > 0.3), "{:?}", gate.held);
        }
    }

    #[test]
    fn figures_that_only_one_record_has_are_counted() {
        let (syscall, read) = (figure("cost.syscall", 100.0, 0.01), figure("cost.clock_read", 20.0, 0.01));
        let stolen = figure("stolen.share", 0.01, 0.01);
        let both = vec![syscall.clone(), read, stolen];
        let only = |gate: Gate| {
            let all = gate.says.sentences().iter().filter(|text| text.is(&ONLY_IN));
            all.map(|text| text.to_string()).collect::<Vec<_>>()
        };
        let gate = held(both.clone(), vec![syscall.clone()], terms(0.05)).unwrap();
        assert!(gate.passed && only(gate.clone())[0].contains("base: 1 result"), "{:?}", gate.says);
        assert_eq!(only(gate).len(), 1);
        // Metrics that were not requested are not missed.
        let named = Terms { metrics: vec!["cost.syscall".to_owned()], ..terms(0.05) };
        assert_eq!(only(held(both, vec![syscall], named).unwrap()), [""; 0]);
    }

    #[test]
    fn a_gate_that_compared_nothing_has_not_passed() {
        let (a, b) = (vec![figure("cost.syscall", 100.0, 0.01)], vec![figure("cost.clock_read", 20.0, 0.01)]);
        assert_eq!(held(a.clone(), b, terms(0.05)), Err(Ungated::NothingShared { why: None }));
        assert_eq!(held(a.clone(), a.clone(), terms(0.05)), Err(Ungated::SameRecord));
        let other = Terms { metrics: vec!["load".to_owned()], ..terms(0.05) };
        assert_eq!(
            held(a, vec![figure("cost.syscall", 90.0, 0.01)], other),
            Err(Ungated::NothingShared { why: None })
        );
        let single = |value| {
            let place = Labels::new().with_label(Label::Cpu, 0u32);
            vec![Measurement::new("cost.syscall", place, vec![value])]
        };
        assert_eq!(held(single(100.0), single(200.0), terms(0.05)), Err(Ungated::NoInterval { figures: 1 }));
    }

    #[test]
    fn commands_in_turn_are_held_by_their_time() {
        let turns = |rounds: Vec<(f64, f64)>| {
            let mut record = machine(2);
            for (name, samples) in [
                ("old", rounds.iter().map(|round| round.0).collect()),
                ("new", rounds.iter().map(|round| round.1).collect::<Vec<f64>>()),
            ] {
                let place = Labels::new().with_label(Label::Workload, name);
                let turn = record.measurements.len() as u64;
                let time = Measurement::new("workload.time", place, samples);
                record.measurements.push(time.with_detail(record::detail::TURN, turn));
            }
            crate::turns(&record).unwrap()
        };
        let scattered = |factor: f64| -> Vec<(f64, f64)> {
            (0..20u32)
                .map(|round| 1.0 + f64::from(round * 7 % 5) * 0.002)
                .map(|time| (time, time * factor))
                .collect()
        };
        let gate = gate_turns(&turns(scattered(1.25)), terms(0.05)).unwrap();
        assert_eq!((gate.passed, outcomes(&gate)), (false, vec![Outcome::Slower]));
        assert!((gate.held[0].loss.unwrap() - 0.2).abs() < 1e-6, "{:?}", gate.held);
        assert_eq!(outcomes(&gate_turns(&turns(scattered(0.8)), terms(0.05)).unwrap()), [Outcome::Within]);
        assert_eq!(outcomes(&gate_turns(&turns(scattered(1.02)), terms(0.05)).unwrap()), [Outcome::Within]);
        let two = scattered(1.25)[..2].to_vec();
        assert_eq!(gate_turns(&turns(two), terms(0.05)), Err(Ungated::NoInterval { figures: 1 }));
    }
}
