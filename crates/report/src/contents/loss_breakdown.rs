//! The breakdown of a resource as rows: its ceiling, each loss, the part that nobody explains, what is delivered.

use record::diagnosis::CeilingSource;
use record::loss_breakdown::{LossBreakdown, LossStep};
use record::{Better, Record, units};

use super::block::{Block, Part};
use super::figures::{digits_beside_ceiling, share_of_line_speed};
use crate::chart::bars::{Bar, Bars, Fill, Piece};
use crate::table::Table;
use crate::text::range;

/// The heading above them.
pub(crate) const TITLE: &str = "From line speed down to delivered speed";

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The fastest that the hardware could go.
    Ceiling,
    /// The loss by one cause.
    Loss,
    /// What no cause explains.
    Unexplained,
    /// What is left.
    Delivered,
}

/// The breakdowns of a record as bars that fall.
pub(crate) fn bars(record: &Record) -> Vec<Bars> {
    let draw = |found: &LossBreakdown| {
        let resource = record.diagnosis.resources.iter().find(|resource| resource.name == found.resource);
        let doubt = resource.and_then(|resource| resource.doubt.as_ref());
        let title =
            doubt.map_or(found.resource.clone(), |doubt| format!("{}: unreliable, {doubt}", found.resource));
        let digits = resource.map(|resource| digits_beside_ceiling(record, resource));
        Bars {
            title,
            rows: rows(found, digits.unwrap_or((DIGITS, DIGITS)), doubt.is_some()),
            ..Bars::default()
        }
    };
    record.diagnosis.loss_breakdowns.iter().map(draw).collect()
}

/// The same as tables.
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

/// Digits of what no interval shows about.
const DIGITS: usize = 3;

/// The rows of a breakdown, from the ceiling down, each with its part of a bar that is as long as the larger of ceiling and delivered,
/// of which what is delivered and the ceiling have so many digits.
fn rows(breakdown: &LossBreakdown, (of_delivered, of_ceiling): (usize, usize), unreliable: bool) -> Vec<Bar> {
    let whole = breakdown.ceiling.max(breakdown.delivered);
    let at = |value: f64| (value / whole).clamp(0.0, 1.0);
    let row = |kind, label: &str, value: f64, how: String, ends: (f64, f64), digits: usize| {
        let figure = figure(breakdown, kind, value, digits);
        // The share of the headline, and what a finding of this cause costs.
        let beside = match kind {
            Kind::Ceiling | Kind::Delivered => share_of_line_speed(value / whole),
            Kind::Loss | Kind::Unexplained => units::percent_to(value.abs() / whole, digits),
        };
        let fill = match kind {
            Kind::Ceiling | Kind::Delivered => Fill::Plain,
            Kind::Loss => Fill::Lost,
            Kind::Unexplained => Fill::Nobody,
        };
        let (from, to) = (at(ends.0.min(ends.1)), at(ends.0.max(ends.1)));
        let strong = kind == Kind::Delivered;
        let piece = Piece::new(from, to, fill, format!("{label}: {figure}"));
        let pieces = vec![Piece { unreliable: unreliable && strong, ..piece }];
        Bar { name: label.to_owned(), how, pieces, figure, beside, strong }
    };
    let source = match breakdown.source {
        CeilingSource::Parts => "parts",
        CeilingSource::Family => "family",
        CeilingSource::Measured => "measured",
    };
    let mut rows = vec![row(
        Kind::Ceiling,
        &breakdown.ceiling_is.to_string(),
        breakdown.ceiling,
        source.to_owned(),
        (0.0, breakdown.ceiling),
        of_ceiling,
    )];
    let mut level = breakdown.ceiling;
    for step in &breakdown.steps {
        rows.push(row(
            Kind::Loss,
            &step.cause.to_string(),
            step.takes,
            how(breakdown, step),
            (level, step.leaves),
            digits_of(step),
        ));
        level = step.leaves;
    }
    if !units::is_negligible(breakdown.unexplained / whole) {
        let label = match breakdown.steps.len() {
            _ if breakdown.unexplained > 0.0 => "unexplained",
            0 | 1 => "unexplained gain",
            _ => "these causes overlap",
        };
        rows.push(row(
            Kind::Unexplained,
            label,
            breakdown.unexplained,
            String::new(),
            (level, breakdown.delivered),
            DIGITS,
        ));
    }
    rows.push(row(
        Kind::Delivered,
        &breakdown.delivered_is.to_string(),
        breakdown.delivered,
        String::new(),
        (0.0, breakdown.delivered),
        of_delivered,
    ));
    rows
}

/// As many digits as the interval of what a cause takes leaves.
fn digits_of(step: &LossStep) -> usize {
    units::digits_within(step.takes, step.interval.filter(|_| step.measured))
}

/// A result; losses carry the sign that takes them from the row above to the one below.
fn figure(breakdown: &LossBreakdown, kind: Kind, value: f64, digits: usize) -> String {
    let adds = (value >= 0.0) == (breakdown.better == Better::Lower);
    let sign = match kind {
        Kind::Ceiling => "",
        Kind::Delivered => "= ",
        Kind::Loss | Kind::Unexplained if adds => "+ ",
        Kind::Loss | Kind::Unexplained => "− ",
    };
    format!("{sign}{}", units::figure_to(value.abs(), &breakdown.unit, digits))
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
