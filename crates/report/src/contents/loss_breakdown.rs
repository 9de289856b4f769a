//! The breakdown of a resource as rows: its ceiling, each loss, the part that nobody explains, what is delivered.

use record::diagnosis::CeilingSource;
use record::loss_breakdown::{LossBreakdown, LossStep};
use record::{Better, Doubt, Record, units};

use crate::text::range;

/// What a row tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The fastest that the hardware could go.
    Ceiling,
    /// What one cause takes.
    Loss,
    /// What no cause explains.
    Unexplained,
    /// What is left.
    Delivered,
}

/// One row. `from` and `to` are its part of a bar from 0 to 1, which is as long as the larger of ceiling and delivered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// What it tells.
    pub kind: Kind,
    /// The cause, or what the figure is.
    pub label: String,
    /// The figure with its unit; losses with their sign.
    pub figure: String,
    /// The figure's share of the whole bar.
    pub share: String,
    /// Where it comes from: `measured 1.2 to 1.4 GHz`, `modelled`, `parts`; empty where that is plain.
    pub how: String,
    /// Where its part of the bar begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// The rows of a breakdown, from the ceiling down.
pub(crate) fn rows(breakdown: &LossBreakdown) -> Vec<Row> {
    let whole = breakdown.ceiling.max(breakdown.delivered);
    let at = |value: f64| (value / whole).clamp(0.0, 1.0);
    let row = |kind, label: &str, value: f64, how: String, ends: (f64, f64)| Row {
        kind,
        label: label.to_owned(),
        figure: figure(breakdown, kind, value),
        share: units::percent(value.abs() / whole),
        how,
        from: at(ends.0.min(ends.1)),
        to: at(ends.0.max(ends.1)),
    };
    let source = match breakdown.source {
        CeilingSource::Parts => "parts",
        CeilingSource::Measured => "measured",
    };
    let mut rows = vec![row(
        Kind::Ceiling,
        &breakdown.ceiling_is.to_string(),
        breakdown.ceiling,
        source.to_owned(),
        (0.0, breakdown.ceiling),
    )];
    let mut level = breakdown.ceiling;
    for step in &breakdown.steps {
        rows.push(row(
            Kind::Loss,
            &step.cause.to_string(),
            step.takes,
            how(breakdown, step),
            (level, step.leaves),
        ));
        level = step.leaves;
    }
    if breakdown.unexplained != 0.0 {
        let label = if breakdown.unexplained > 0.0 { "unexplained" } else { "these causes overlap" };
        rows.push(row(
            Kind::Unexplained,
            label,
            breakdown.unexplained,
            String::new(),
            (level, breakdown.delivered),
        ));
    }
    rows.push(row(
        Kind::Delivered,
        &breakdown.delivered_is.to_string(),
        breakdown.delivered,
        String::new(),
        (0.0, breakdown.delivered),
    ));
    rows
}

/// A figure; losses carry the sign that takes them from the row above to the one below.
fn figure(breakdown: &LossBreakdown, kind: Kind, value: f64) -> String {
    let adds = (value >= 0.0) == (breakdown.better == Better::Lower);
    let sign = match kind {
        Kind::Ceiling => "",
        Kind::Delivered => "= ",
        Kind::Loss | Kind::Unexplained if adds => "+ ",
        Kind::Loss | Kind::Unexplained => "− ",
    };
    format!("{sign}{}", units::figure(value.abs(), &breakdown.unit))
}

fn how(breakdown: &LossBreakdown, step: &LossStep) -> String {
    if !step.measured {
        return "modelled".to_owned();
    }
    let shown = |value: f64| units::figure(value, &breakdown.unit);
    match step.interval {
        Some((low, high)) if high > low => format!("measured [{}]", range(&shown(low), &shown(high))),
        _ => "measured".to_owned(),
    }
}

/// Why the figures of a breakdown should not be leaned on, where its resource says so.
pub(crate) fn doubt<'a>(record: &'a Record, breakdown: &LossBreakdown) -> Option<&'a Doubt> {
    record.diagnosis.resources.iter().find(|resource| resource.name == breakdown.resource)?.doubt.as_ref()
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
        let rows = rows(&breakdown());
        let figures: Vec<&str> = rows.iter().map(|row| row.figure.as_str()).collect();
        assert_eq!(figures, ["4.00 GHz", "− 1.00 GHz", "− 500 MHz", "= 2.50 GHz"]);
        assert_eq!((rows[1].from, rows[1].to), (0.75, 1.0));
        assert_eq!((rows[2].from, rows[2].to), (0.625, 0.75));
        assert_eq!(rows[1].how, "measured [900 MHz – 1.10 GHz]");
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
        let rows = rows(&up);
        assert_eq!((rows[1].figure.as_str(), rows[1].from, rows[1].to), ("+ 20.0 ns", 0.8, 1.0));
        assert_eq!(rows[0].share, "80.0 %");
    }
}
