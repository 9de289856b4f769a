//! The speed of each subject relative to the baseline, row by row: a dot and its interval on one scale.

use record::Comparison;
use record::comparison::{Cell, Row};

use super::{COLUMNS, label};
use crate::chart::SUBJECTS;
use crate::chart::bars::{Bar, Bars, Fill, Form, Piece};
use crate::contents::figures::times;
use crate::text::range;

/// Maximum number of rows in the plot; the tables contain all rows.
const MOST: usize = 40;
/// Minimum factor that the scale covers on either side.
const LEAST: f64 = 1.25;
/// Maximum factor of the scale; larger factors are drawn at the end.
const FURTHEST: f64 = 50.0;
/// Factors that are labeled below the plot if there is room.
const TICKS: [f64; 19] = [
    0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0,
    1e4,
];
/// Minimum distance between two labels.
const APART: f64 = 0.14;

/// A speed relative to the baseline and its interval, if both sides have results. A speed above 1 means that the subject is faster, even
/// if lower values of the result are better.
fn speed(row: &Row, cell: &Cell) -> Option<(f64, Option<(f64, f64)>)> {
    let usable = |value: &f64| *value > 1e-6 && *value < 1e6;
    let (ratio, interval) = row.speed(cell).filter(|(ratio, _)| row.better.is_some() && usable(ratio))?;
    let interval = interval.filter(|(low, high)| usable(low) && usable(high));
    Some((ratio, interval))
}

/// The plot; without rows if nothing is comparable.
pub(crate) fn forest(c: &Comparison) -> Bars {
    let others: Vec<usize> = (0..c.subjects.len()).filter(|index| *index != c.baseline).collect();
    let mut bars = Bars::default();
    if others.len() >= COLUMNS {
        return bars;
    }
    let known = |row: &&Row| row.cells.get(c.baseline).is_none_or(|base| !base.withheld);
    let mut rows: Vec<(&Row, Vec<(usize, &Cell)>)> = c
        .rows
        .iter()
        .filter(known)
        .map(|row| {
            let cells = others.iter().filter_map(|other| Some((*other, row.cells.get(*other)?)));
            let cells = cells.filter(|(_, cell)| !cell.withheld && speed(row, cell).is_some());
            (row, cells.collect::<Vec<_>>())
        })
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    // Rows with a resolved difference come first, and the largest differences come first among them.
    let effect = |(row, cells): &(&Row, Vec<(usize, &Cell)>)| {
        let each = cells
            .iter()
            .filter_map(|(_, cell)| Some((cell.slower.is_some(), speed(row, cell)?.0.ln().abs())));
        each.fold((false, 0.0), |a, b| if (a.0, a.1) < b { b } else { a })
    };
    rows.sort_by(|a, b| effect(b).partial_cmp(&effect(a)).unwrap_or(std::cmp::Ordering::Equal));
    let all = rows.len();
    rows.truncate(MOST);
    let speeds = rows.iter().flat_map(|(row, cells)| cells.iter().filter_map(|(_, cell)| speed(row, cell)));
    let most = speeds.fold(LEAST, |most, (ratio, interval)| {
        let (low, high) = interval.unwrap_or((ratio, ratio));
        most.max(ratio)
            .max(1.0 / ratio)
            .max(high.min(ratio * ratio))
            .max((1.0 / low).min(1.0 / (ratio * ratio)))
    });
    // The margin leaves room for a complete dot at the end of the scale.
    let most = (most * 1.05).min(FURTHEST);
    let at = |factor: f64| factor.ln() / (2.0 * most.ln()) + 0.5;
    for (row, cells) in rows {
        let per = row.per.map_or_else(String::new, |per| format!(", per {}", per.word()));
        let mut bar = Bar { name: format!("{}: {}{per}", row.group, row.what), ..Bar::default() };
        let mut figures = Vec::new();
        for (other, cell) in cells {
            let Some((ratio, interval)) = speed(row, cell) else { continue };
            let fill = match (cell.slower, others.len()) {
                (None, _) => Fill::Same,
                (Some(_), 1) => Fill::Plain,
                _ => Fill::Series(SUBJECTS[other % SUBJECTS.len()]),
            };
            let base = row.cells.get(c.baseline);
            let unreliable = [Some(cell), base].into_iter().flatten().any(|cell| cell.doubt.is_some());
            let mark = if unreliable { "?" } else { "" };
            let between = interval.map_or_else(String::new, |(low, high)| {
                format!(", 95 % CI {}", range(&times(low), &times(high)))
            });
            let says = format!("{}: {}{mark} as fast{between}", label(c, other), times(ratio));
            let piece = |form, low, high| Piece {
                form,
                unreliable,
                ..Piece::new(at(low), at(high), fill, says.clone())
            };
            bar.pieces.extend(interval.map(|(low, high)| piece(Form::Line, low, high)));
            bar.pieces.push(piece(Form::Dot, ratio, ratio));
            figures.push((times(ratio), mark));
        }
        // A single result needs no mark here, because the renderer adds the mark of its bar.
        bar.figure = match figures.as_slice() {
            [(only, _)] => only.clone(),
            several => {
                several.iter().map(|(ratio, mark)| format!("{ratio}{mark}")).collect::<Vec<_>>().join(" ")
            }
        };
        bars.rows.push(bar);
    }
    let mut ticks = vec![(0.5, times(1.0))];
    for factor in TICKS.into_iter().filter(|factor| (1.0 / most..=most).contains(factor)) {
        if ticks.iter().all(|(place, _)| (place - at(factor)).abs() >= APART) {
            ticks.push((at(factor), times(factor)));
        }
    }
    bars.ticks = ticks;
    if !bars.rows.is_empty() {
        let base = label(c, c.baseline);
        let shown = if all > MOST { format!("; the {MOST} largest of {all} shown") } else { String::new() };
        bars.title = format!("Speed compared with {base} (slower left of 1×, faster right of it){shown}");
        bars.legend.push((Fill::Same, "no difference resolved, or measured only once".to_owned()));
        match others.as_slice() {
            [other] => bars.legend.push((Fill::Plain, format!("{} differs", label(c, *other)))),
            several => bars.legend.extend(several.iter().map(|other| {
                (Fill::Series(SUBJECTS[*other % SUBJECTS.len()]), format!("{} differs", label(c, *other)))
            })),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Better;

    #[test]
    fn faster_is_to_the_right_whichever_direction_is_better() {
        let cell = |ratio, slower| Cell {
            ratio: Some(ratio),
            interval: Some((ratio * 0.9, ratio * 1.1)),
            slower,
            ..Cell::default()
        };
        let row = |better, ratio, slower| Row {
            group: "core".to_owned(),
            what: "figure".into(),
            code: String::new(),
            metric: "core.clock".into(),
            unit: "Hz".to_owned(),
            better: Some(better),
            labels: record::Labels::new(),
            per: None,
            cells: vec![Cell::default(), cell(ratio, slower)],
        };
        let rows = [
            row(Better::Higher, 2.0, Some(false)),
            row(Better::Lower, 2.0, Some(true)),
            row(Better::Higher, 1.0, None),
        ];
        let subject = |name: &str| serde_json::json!({ "name": name });
        let mut c: Comparison = serde_json::from_value(serde_json::json!({
            "comparison": 1, "tool": { "name": "linespeed", "version": "0" }, "subjects": [subject("a"), subject("b")],
            "baseline": 0, "relation": "machines", "differences": [], "rows": [], "figures": [], "refused": [],
            "explanations": [], "what_if": []
        }))
        .unwrap();
        c.rows = rows.to_vec();
        let bars = forest(&c);
        let dots: Vec<(bool, Fill)> =
            bars.rows.iter().map(|row| (row.pieces[1].from > 0.5, row.pieces[1].fill)).collect();
        assert_eq!(dots, [(true, Fill::Plain), (false, Fill::Plain), (false, Fill::Same)]);
        assert!(
            bars.rows
                .iter()
                .all(|row| row.pieces[0].from < row.pieces[1].from && row.pieces[1].from < row.pieces[0].to)
        );
        assert_eq!((bars.rows[1].figure.as_str(), bars.ticks[0].0), ("0.5×", 0.5));
        c.rows[1].cells[0].doubt = Some("too noisy".into());
        assert!(
            forest(&c).rows[1].figure == "0.5×"
                && forest(&c).rows[1].pieces.iter().all(|piece| piece.unreliable)
        );
        // The largest difference comes first, and omitted rows are counted.
        c.rows.splice(0..0, std::iter::repeat_n(row(Better::Higher, 1.001, None), MOST));
        c.rows.push(row(Better::Higher, 3.0, Some(false)));
        let bars = forest(&c);
        assert_eq!((bars.rows[0].figure.as_str(), bars.rows.len()), ("3.00×", MOST));
        assert!(bars.title.ends_with("the 40 largest of 44 shown"), "{}", bars.title);
    }
}
