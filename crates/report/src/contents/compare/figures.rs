//! Figures of several records side by side: a column each for a few, the spread for many.

use record::comparison::{Cell, Row};
use record::phrase::count_noun;
use record::statistics::Verdict;
use record::{Better, Comparison, units};

use super::{COLUMNS, label as called, name};
use crate::contents::figures::{WITHHELD, figure_within, times};
use crate::contents::{Block, Part};
use crate::table::Table;
use crate::text::{capitalized, range};

/// A block a group of figures.
pub(super) fn blocks(c: &Comparison) -> Vec<Block> {
    c.rows
        .chunk_by(|a, b| a.group == b.group)
        .map(|rows| {
            let title = capitalized(&rows[0].group);
            let rows: Vec<&Row> = rows.iter().collect();
            let table = match c.subjects.len() {
                _ if is_of_watches(c) => changes(c, &title, &rows),
                2 => pair(c, &title, &rows),
                count if count <= COLUMNS => few(c, &title, &rows),
                _ => many(c, &title, &rows),
            };
            let mut block = Block::new(&title, None);
            block.parts.push(Part::Table(table));
            block
        })
        .collect()
}

fn label(row: &Row) -> String {
    row.per.map_or_else(|| row.what.to_string(), |per| format!("- per {}", per.word()))
}

fn value(row: &Row, cell: &Cell) -> String {
    let mark = if cell.doubt.is_some() { "?" } else { "" };
    cell.value
        .filter(|_| !cell.withheld)
        .map_or("-".to_owned(), |value| format!("{}{mark}", value_text(row, value, cell.value_interval)))
}

/// What this figure is to the baseline's; of figures that are not printed there is no ratio either.
fn ratio(c: &Comparison, row: &Row, cell: &Cell) -> String {
    let withheld = cell.withheld || row.cells.get(c.baseline).is_some_and(|base| base.withheld);
    match cell.ratio {
        Some(_) if withheld => "-".to_owned(),
        Some(ratio) => times(ratio),
        None => String::new(),
    }
}

/// A value of a row with as many digits as its interval leaves; of what the row's name says already, no unit.
fn value_text(row: &Row, value: f64, interval: Option<(f64, f64)>) -> String {
    match row.metric.as_str() {
        "core.ipc" => units::figure_to(value, "ratio", units::digits_within(value, interval)),
        _ => figure_within(&row.metric, &row.unit, value, interval),
    }
}

/// Notes of a row: what stands against its figures.
fn notes(table: &mut Table, row: &Row) {
    let doubts = row.cells.iter().filter_map(|cell| cell.doubt.as_ref()).map(ToString::to_string);
    let withheld = row.cells.iter().any(|cell| cell.withheld).then(|| WITHHELD.to_owned());
    table.note_row(withheld.into_iter().chain(doubts));
}

/// Heads that are names of records: their own signs are no marks of a column.
fn head(mark: &str, name: &str) -> String {
    format!("{mark}{}", name.trim_start_matches(['#', '?']))
}

/// Two records: both figures, their ratio with its interval, and what can be said of it.
fn pair(c: &Comparison, title: &str, rows: &[&Row]) -> Table {
    let (base, other) = (c.baseline, 1 - c.baseline);
    let heads = [
        "figure".to_owned(),
        head("#", &called(c, base)),
        head("#", &called(c, other)),
        "#ratio".to_owned(),
        "?#95 % interval".to_owned(),
        "difference".to_owned(),
    ];
    let mut table = Table::new(title, None, heads);
    for row in rows {
        let (Some(here), Some(there)) = (row.cells.get(base), row.cells.get(other)) else { continue };
        notes(&mut table, row);
        table.row(vec![
            label(row),
            value(row, here),
            value(row, there),
            ratio(c, row, there),
            there
                .interval
                .filter(|_| !here.withheld && !there.withheld)
                .map_or(String::new(), |(low, high)| range(&times(low), &times(high))),
            verdict(c, row, there, &called(c, base), &called(c, other)),
        ]);
    }
    table.finished()
}

/// What can be said of a difference: who is faster, and by how much.
fn verdict(c: &Comparison, row: &Row, cell: &Cell, base: &str, other: &str) -> String {
    let who = if cell.slower == Some(true) { base } else { other };
    match (&cell.verdict, cell.slower) {
        // A figure in doubt does not show by how much.
        (Some(Verdict::Costs { .. }), _) if row.cells.iter().any(|cell| cell.doubt.is_some()) => {
            format!("{who} faster?")
        }
        (Some(Verdict::Costs { share, .. }), _) => format!("{who} faster {}", times(1.0 / (1.0 - share))),
        (Some(Verdict::NotResolved { smaller_than }), _) => {
            format!("same (±{})", percent(units::bound(*smaller_than)))
        }
        // Nobody can add samples to what another tool printed.
        (Some(Verdict::TooNoisy { rounds_needed: Some(more) }), _)
            if !c.subjects.iter().any(|subject| subject.imported) =>
        {
            format!("unreliable (+{})", count_noun(*more as usize, "sample"))
        }
        (Some(Verdict::TooNoisy { .. }), _) => "unreliable".to_owned(),
        (Some(Verdict::NotMeasurable { reason }), _) => reason.to_string(),
        (None, _) if row.better.is_none() && cell.ratio.is_some() => "neither is better".to_owned(),
        (None, _) => String::new(),
    }
}

/// Whether watches are compared.
pub(crate) fn is_of_watches(c: &Comparison) -> bool {
    c.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.change.is_some())
}

/// Watches: the mean of each, and how far the others lie from the baseline, with the interval of that.
fn changes(c: &Comparison, title: &str, rows: &[&Row]) -> Table {
    let others: Vec<usize> = (0..c.subjects.len()).filter(|index| *index != c.baseline).collect();
    let mut heads = vec!["figure".to_owned(), head("#", &called(c, c.baseline))];
    for other in &others {
        let interval = if others.len() == 1 { "#95 % interval" } else { "?#95 % interval" };
        heads.extend([
            head("#", &called(c, *other)),
            "#change".to_owned(),
            interval.to_owned(),
            // Beside one other it is what a reader looks for first: names are broken before it goes.
            if others.len() == 1 { String::new() } else { "?".to_owned() },
        ]);
    }
    let mut table = Table::new(title, None, heads);
    for row in rows {
        let show = |value: f64| match row.unit.as_str() {
            "share" => format!("{:.1} %", value * 100.0),
            "threads" => format!("{value:.2}"),
            _ => value_text(row, value, None),
        };
        let by = |by: f64| match row.unit.as_str() {
            "share" => format!("{:+.1}", by * 100.0),
            _ => format!("{by:+.2}"),
        };
        let unit = if row.unit == "share" { " points" } else { "" };
        let value = |cell: &Cell| cell.value.map_or("-".to_owned(), show);
        let mut cells = vec![label(row), row.cells.get(c.baseline).map_or(String::new(), value)];
        for cell in others.iter().filter_map(|other| row.cells.get(*other)) {
            let change = cell.change.as_ref();
            let changed = cell.ratio.map(times).or(change.map(|change| by(change.by) + unit));
            let as_ratio = cell.interval.map(|(low, high)| range(&times(low), &times(high)));
            let interval = change.and_then(|change| change.interval).filter(|_| cell.ratio.is_none());
            let interval = as_ratio.or(interval.map(|(low, high)| range(&by(low), &by(high))));
            let resolved = match change.and_then(|change| change.resolved) {
                Some(true) => "changed",
                Some(false) => "not resolved",
                None => "",
            };
            let words = [changed.unwrap_or_default(), interval.unwrap_or_default(), resolved.to_owned()];
            cells.push(value(cell));
            cells.extend(words);
        }
        table.row(cells);
    }
    table
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A few records: a column each, with the ratio to the baseline.
fn few(c: &Comparison, title: &str, rows: &[&Row]) -> Table {
    let mut heads = vec!["figure".to_owned(), head("#", &called(c, c.baseline))];
    let others: Vec<usize> = (0..c.subjects.len()).filter(|index| *index != c.baseline).collect();
    for other in &others {
        heads.push(head("#", &called(c, *other)));
        heads.push("#ratio".to_owned());
    }
    let mut table = Table::new(title, None, heads);
    let mut signs = false;
    for row in rows {
        notes(&mut table, row);
        let mut cells =
            vec![label(row), row.cells.get(c.baseline).map_or(String::new(), |cell| value(row, cell))];
        for other in &others {
            let Some(cell) = row.cells.get(*other) else { continue };
            cells.push(value(row, cell));
            signs |= cell.ratio.is_some() && cell.slower.is_some();
            cells
                .push(cell.ratio.map_or(String::new(), |_| format!("{}{}", ratio(c, row, cell), sign(cell))));
        }
        table.row(cells);
    }
    if signs {
        table.note("▲ faster, ▼ slower than the baseline beyond noise; unmarked: no difference resolved, or single figures");
    }
    table.finished()
}

fn sign(cell: &Cell) -> &'static str {
    match cell.slower {
        Some(true) => " ▼",
        Some(false) => " ▲",
        None => "  ",
    }
}

/// Many records: where the baseline stands among them.
fn many(c: &Comparison, title: &str, rows: &[&Row]) -> Table {
    let heads = ["figure", &head("#", &called(c, c.baseline)), "?#median", "best", "worst", "#▲", "#▼"];
    let mut table = Table::new(title, None, heads);
    for row in rows {
        let mut all: Vec<(f64, usize)> = row
            .cells
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| Some((cell.value.filter(|value| value.is_finite())?, index)))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let values: Vec<f64> = all.iter().map(|(value, _)| *value).collect();
        let (Some(least), Some(most)) = (all.first(), all.last()) else { continue };
        let (best, worst) = if row.better == Some(Better::Higher) { (most, least) } else { (least, most) };
        // Single figures have a ratio and no noise to hold it against.
        let judged = |cell: &Cell| {
            !matches!(cell.verdict, None | Some(Verdict::NotMeasurable { .. })) || cell.slower.is_some()
        };
        let any = row.cells.iter().any(judged);
        let count = |slower| match row.cells.iter().filter(|cell| cell.slower == Some(slower)).count() {
            _ if !any => "-".to_owned(),
            count => count.to_string(),
        };
        let interval = |index: usize| row.cells.get(index).and_then(|cell| cell.value_interval);
        let by = |of: &(f64, usize)| format!("{}, {}", value_text(row, of.0, interval(of.1)), name(c, of.1));
        table.row(vec![
            label(row),
            row.cells.get(c.baseline).map_or(String::new(), |cell| value(row, cell)),
            value_text(row, record::statistics::median_of_sorted(&values), None),
            by(best),
            by(worst),
            count(false),
            count(true),
        ]);
    }
    table.note(
        "▲ and ▼: number of records faster and slower than the baseline beyond noise; - for single figures",
    );
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_no_more_digits_than_its_interval_leaves() {
        let shown = |metric: &str, unit: &str, value: f64, interval: Option<(f64, f64)>| {
            let row = Row {
                group: String::new(),
                what: "figure".into(),
                code: String::new(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                better: None,
                labels: record::Labels::new(),
                per: None,
                cells: Vec::new(),
            };
            super::value(&row, &Cell { value: Some(value), value_interval: interval, ..Cell::default() })
        };
        assert_eq!(shown("memory.bandwidth", "B/s", 41.37e9, Some((41.3e9, 41.4e9))), "41.4 GB/s");
        assert_eq!(shown("memory.bandwidth", "B/s", 41.37e9, Some((35e9, 48e9))), "41 GB/s");
        assert_eq!(shown("memory.bandwidth", "B/s", 41.37e9, None), "41.4 GB/s");
        assert_eq!(shown("core.ipc", "ratio", 4.123, Some((3.2, 5.0))), "4.1");
    }
}
