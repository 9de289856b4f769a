//! The breakdown of a resource as rows: its ceiling, each loss, the unexplained part, the delivered result.

use record::diagnosis::CeilingSource;
use record::loss_breakdown::{LossBreakdown, LossStep};
use record::{Better, Record, units};

use super::figures::{digits_beside_ceiling, share_of_line_speed};
use super::{Block, Part};
use crate::chart::bars::{Bar, Bars, Fill, Piece};
use crate::table::Table;
use crate::text::range;

/// The heading above the breakdowns.
pub(crate) const TITLE: &str = "From line speed down to delivered speed";

/// The breakdowns of a record as waterfall bars.
pub(crate) fn bars(record: &Record) -> Vec<Bars> {
    let draw = |found: &LossBreakdown| {
        let resource = record.diagnosis.resources.iter().find(|resource| resource.name == found.resource);
        let doubt = resource.and_then(|resource| resource.doubt.as_ref());
        let title =
            doubt.map_or(found.resource.clone(), |doubt| format!("{}: unreliable, {doubt}", found.resource));
        let digits = resource.map(|resource| digits_beside_ceiling(record, resource));
        let rows = rows(found, digits.unwrap_or((DIGITS, DIGITS)), doubt.is_some());
        Bars { title, rows, ..Bars::default() }
    };
    record.diagnosis.loss_breakdowns.iter().map(draw).collect()
}

/// The breakdowns of a record as tables.
pub(crate) fn block(record: &Record) -> Block {
    let table = |bars: Bars| {
        let mut table = Table::new(&bars.title, None, ["#result", "#share", "part"]);
        for Bar { name, how, figure, beside, .. } in bars.rows {
            let how = if how.is_empty() { how } else { format!(", {how}") };
            table.row(vec![figure, beside, name + &how]);
        }
        Part::Table(table)
    };
    Block::new(TITLE, None, bars(record).into_iter().map(table).collect())
}

/// Digits of values without an interval.
const DIGITS: usize = 3;

/// The rows of a breakdown, from the ceiling down. Each row has its part of a bar whose full length represents the ceiling or the
/// delivered value, whichever is larger. Both values are printed with the given numbers of digits.
fn rows(breakdown: &LossBreakdown, (of_delivered, of_ceiling): (usize, usize), unreliable: bool) -> Vec<Bar> {
    let whole = breakdown.ceiling.max(breakdown.delivered);
    let at = |value: f64| (value / whole).clamp(0.0, 1.0);
    let row = |fill, label: &dyn ToString, ends: (f64, f64), value: f64, sign: &str, digits| {
        let (from, to) = (at(ends.0.min(ends.1)), at(ends.0.max(ends.1)));
        let figure = format!("{sign}{}", units::figure_to(value.abs(), &breakdown.unit, digits));
        let name = label.to_string();
        let pieces = vec![Piece::new(from, to, fill, format!("{name}: {figure}"))];
        Bar { name, pieces, figure, ..Bar::default() }
    };
    // The ceiling or the delivered value, with its share of line speed.
    let total = |label: &dyn ToString, value: f64, sign: &str, digits| Bar {
        beside: share_of_line_speed(value / whole),
        ..row(Fill::Plain, label, (0.0, value), value, sign, digits)
    };
    // A loss, with the sign of the change from the row above, and the share of speed that is lost. The share is printed
    // in the same way as the cost in the corresponding finding.
    let loss = |fill, label: &dyn ToString, ends, value: f64, digits| {
        let adds = (value >= 0.0) == (breakdown.better == Better::Lower);
        let beside = units::percent_to(value.abs() / whole, digits);
        Bar { beside, ..row(fill, label, ends, value, if adds { "+ " } else { "− " }, digits) }
    };
    let source = match breakdown.source {
        CeilingSource::Parts => "parts",
        CeilingSource::Family => "family",
        CeilingSource::Measured => "measured",
    };
    let ceiling = total(&breakdown.ceiling_is, breakdown.ceiling, "", of_ceiling);
    let mut rows = vec![Bar { how: source.to_owned(), ..ceiling }];
    let mut level = breakdown.ceiling;
    for step in &breakdown.steps {
        let bar = loss(Fill::Lost, &step.cause, (level, step.leaves), step.takes, digits_of(step));
        rows.push(Bar { how: how(breakdown, step), ..bar });
        level = step.leaves;
    }
    if !units::is_negligible(breakdown.unexplained / whole) {
        let label = match breakdown.steps.len() {
            _ if breakdown.unexplained > 0.0 => "unexplained",
            0 | 1 => "unexplained gain",
            _ => "these causes overlap",
        };
        rows.push(loss(Fill::Nobody, &label, (level, breakdown.delivered), breakdown.unexplained, DIGITS));
    }
    let mut delivered = total(&breakdown.delivered_is, breakdown.delivered, "= ", of_delivered);
    delivered.strong = true;
    delivered.pieces.iter_mut().for_each(|piece| piece.unreliable = unreliable);
    rows.push(delivered);
    rows
}

/// The digits that the interval of a cause's loss allows.
fn digits_of(step: &LossStep) -> usize {
    units::digits_within(step.takes, step.interval.filter(|_| step.measured))
}

fn how(breakdown: &LossBreakdown, step: &LossStep) -> String {
    if !step.measured {
        return "modelled".to_owned();
    }
    let shown = |value: f64| units::figure_to(value, &breakdown.unit, digits_of(step));
    match step.interval {
        Some((low, high)) if high > low => format!("measured [{}]", range(&shown(low), &shown(high))),
        _ => "measured".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breakdown() -> LossBreakdown {
        LossBreakdown {
            resource: "core".to_owned(),
            unit: "Hz".to_owned(),
            better: Better::Higher,
            ceiling: 4e9,
            source: CeilingSource::Parts,
            ceiling_is: "the highest clock".into(),
            steps: vec![LossStep {
                cause: "all cores at work".into(),
                rule: None,
                takes: 1e9,
                interval: Some((0.9e9, 1.1e9)),
                leaves: 3e9,
                measured: true,
            }],
            unexplained: 0.5e9,
            delivered: 2.5e9,
            delivered_is: "median clock".into(),
        }
    }

    #[test]
    fn rows_lead_from_the_ceiling_to_what_is_delivered() {
        let rows = rows(&breakdown(), (3, 3), false);
        let figures: Vec<&str> = rows.iter().map(|row| row.figure.as_str()).collect();
        assert_eq!(figures, ["4.00 GHz", "− 1.0 GHz", "− 500 MHz", "= 2.50 GHz"]);
        assert_eq!((rows[1].pieces[0].from, rows[1].pieces[0].to), (0.75, 1.0));
        assert_eq!((rows[2].pieces[0].from, rows[2].pieces[0].to), (0.625, 0.75));
        assert_eq!(rows[1].how, "measured [900 MHz – 1.1 GHz]");
    }

    #[test]
    fn causes_overlap_only_where_there_are_several() {
        let name = |causes: usize| {
            let steps = vec![breakdown().steps.remove(0); causes];
            let all = LossBreakdown { steps, unexplained: -0.5e9, delivered: 3.5e9, ..breakdown() };
            rows(&all, (3, 3), false)[causes + 1].name.clone()
        };
        assert_eq!([0, 1, 2].map(name), ["unexplained gain", "unexplained gain", "these causes overlap"]);
    }

    #[test]
    fn latencies_climb() {
        let up = LossBreakdown {
            better: Better::Lower,
            unit: "ns".to_owned(),
            ceiling: 80.0,
            steps: Vec::new(),
            unexplained: 20.0,
            delivered: 100.0,
            ..breakdown()
        };
        let rows = rows(&up, (3, 3), false);
        assert_eq!(
            (rows[1].figure.as_str(), rows[1].pieces[0].from, rows[1].pieces[0].to),
            ("+ 20.0 ns", 0.8, 1.0)
        );
        assert_eq!(rows[0].beside, "80 %");
    }
}
