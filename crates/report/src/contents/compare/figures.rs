//! Results of several records side by side: one column each for a few records, the spread for many.

use record::comparison::{Cell, Row};
use record::difference::Verdict;
use record::phrase::count_noun;
use record::{Better, Comparison, metrics, units};

use super::{COLUMNS, label as called, name};
use crate::contents::figures::{WITHHELD, figure_within, times};
use crate::contents::{Block, Part};
use crate::table::Table;
use crate::text::{capitalized, range};

/// One block per group of results.
pub(super) fn blocks(c: &Comparison) -> Vec<Block> {
    c.rows
        .chunk_by(|a, b| a.group == b.group)
        .map(|rows| {
            let title = capitalized(&rows[0].group);
            let rows: Vec<&Row> = rows.iter().collect();
            let table = match c.subjects.len() {
                count if count <= COLUMNS || is_of_watches(c) => few(c, &title, &rows),
                _ => many(c, &title, &rows),
            };
            Block::new(&title, None, vec![Part::Table(table)])
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

/// The speed relative to the baseline (above 1 is faster), with its interval; if neither direction is better, the ratio
/// of the results. `-` if either result is withheld; empty without a ratio.
fn speed(c: &Comparison, row: &Row, cell: &Cell) -> [String; 2] {
    let withheld = cell.withheld || row.cells.get(c.baseline).is_some_and(|base| base.withheld);
    match row.speed(cell) {
        Some(_) if withheld => ["-".to_owned(), String::new()],
        Some((ratio, interval)) => {
            let between = interval.map(|(low, high)| range(&times(low), &times(high)));
            [times(ratio), between.unwrap_or_default()]
        }
        None => Default::default(),
    }
}

/// A value of a row with as many digits as its interval allows, and without a unit if the row's name contains the unit.
fn value_text(row: &Row, value: f64, interval: Option<(f64, f64)>) -> String {
    match row.metric {
        metrics::CORE_IPC => units::figure_to(value, "ratio", units::digits_within(value, interval)),
        _ => figure_within(row.metric, &row.unit, value, interval),
    }
}

/// Notes of a row: doubts about its results.
fn notes(table: &mut Table, row: &Row) {
    let doubts = row.cells.iter().filter_map(|cell| cell.doubt.as_ref()).map(|why| why.gist().to_string());
    let withheld = row.cells.iter().any(|cell| cell.withheld).then(|| WITHHELD.to_owned());
    table.note_row(withheld.into_iter().chain(doubts));
}

/// A column heading that is the name of a record. Special characters at its beginning must not be mistaken for column
/// marks.
fn head(mark: &str, name: &str) -> String {
    format!("{mark}{}", name.trim_start_matches(['#', '?']))
}

/// A table of a few records, one column each, with the ratio to the baseline. With two records, and for recordings, the interval of the ratio
/// and the verdict are added.
fn few(c: &Comparison, title: &str, rows: &[&Row]) -> Table {
    let others: Vec<usize> = (0..c.subjects.len()).filter(|index| *index != c.baseline).collect();
    let (watches, single) = (is_of_watches(c), others.len() == 1);
    let mut heads = vec!["result".to_owned(), head("#", &called(c, c.baseline))];
    let is_speed = rows.iter().any(|row| row.better.is_some());
    let ratio = ["ratio", "speed", "change"][if watches { 2 } else { usize::from(is_speed) }];
    for other in &others {
        heads.extend([head("#", &called(c, *other)), format!("#{ratio}")]);
        if watches || single {
            // If two records or recordings are compared, readers look for the verdict first. If there is too little
            // room, long names are therefore wrapped before the verdict is omitted.
            let mark = |is_optional| if is_optional { "?" } else { "" };
            let words = if watches { "" } else { "difference" };
            heads.push(format!("{}#95 % CI", mark(!(watches && single))));
            heads.push(format!("{}{words}", mark(!single)));
        }
    }
    let mut table = Table::new(title, None, heads);
    let mut signs = false;
    for row in rows {
        notes(&mut table, row);
        let show = |cell: &Cell| if watches { of_watch(row, cell) } else { value(row, cell) };
        let base = row.cells.get(c.baseline);
        let mut cells = vec![label(row), base.map_or(String::new(), show)];
        for (other, cell) in others.iter().filter_map(|other| Some((*other, row.cells.get(*other)?))) {
            cells.push(show(cell));
            if watches {
                cells.extend(change(row, cell));
            } else if single {
                cells.extend(speed(c, row, cell));
                cells.push(verdict(c, row, cell, &called(c, c.baseline), &called(c, other)));
            } else {
                signs |= cell.ratio.is_some() && cell.slower.is_some();
                let [speed, _] = speed(c, row, cell);
                cells.push(if speed.is_empty() { speed } else { speed + sign(cell) });
            }
        }
        table.row(cells);
    }
    if signs {
        table.note(
            "▲ faster or ▼ slower than the baseline by more than noise; results without a mark show no \
             resolved difference or were measured only once",
        );
    }
    table.finished()
}

/// The verdict on a difference: the faster side, and the size of the difference.
fn verdict(c: &Comparison, row: &Row, cell: &Cell, base: &str, other: &str) -> String {
    let who = if cell.slower == Some(true) { base } else { other };
    match (&cell.verdict, cell.slower) {
        // An unreliable result does not show the size of a difference.
        (Some(Verdict::Costs { .. }), _) if row.cells.iter().any(|cell| cell.doubt.is_some()) => {
            format!("{who} faster?")
        }
        (Some(Verdict::Costs { share, .. }), _) => format!("{who} faster {}", times(1.0 / (1.0 - share))),
        (Some(Verdict::NotResolved { smaller_than }), _) => {
            format!("same (±{})", percent(units::bound(*smaller_than)))
        }
        // For another tool's output, linespeed cannot take more samples, so their number is omitted.
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

/// Whether recordings are compared.
pub(crate) fn is_of_watches(c: &Comparison) -> bool {
    c.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.change.is_some())
}

/// The mean of a recording.
fn of_watch(row: &Row, cell: &Cell) -> String {
    cell.value.map_or("-".to_owned(), |value| match row.unit.as_str() {
        "share" => format!("{:.1} %", value * 100.0),
        "threads" => format!("{value:.2}"),
        _ => value_text(row, value, None),
    })
}

/// The difference between the mean of a recording and the baseline's, with its interval and whether it is resolved.
fn change(row: &Row, cell: &Cell) -> [String; 3] {
    let (scale, digits, unit) = if row.unit == "share" { (100.0, 1, " points") } else { (1.0, 2, "") };
    let by = |by: f64| format!("{:+.digits$}", by * scale);
    let change = cell.change.as_ref();
    let changed = cell.ratio.map(times).or(change.map(|change| by(change.by) + unit));
    let interval = match cell.ratio {
        Some(_) => cell.interval.map(|(low, high)| range(&times(low), &times(high))),
        None => change.and_then(|change| change.interval).map(|(low, high)| range(&by(low), &by(high))),
    };
    let resolved = match change.and_then(|change| change.resolved) {
        Some(true) => "changed",
        Some(false) => "not resolved",
        None => "",
    };
    [changed.unwrap_or_default(), interval.unwrap_or_default(), resolved.to_owned()]
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

fn sign(cell: &Cell) -> &'static str {
    match cell.slower {
        Some(true) => " ▼",
        Some(false) => " ▲",
        None => "  ",
    }
}

/// Many records: the baseline's result next to the median, the best and the worst result.
fn many(c: &Comparison, title: &str, rows: &[&Row]) -> Table {
    let heads = ["result", &head("#", &called(c, c.baseline)), "?#median", "best", "worst", "#▲", "#▼"];
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
        // Results with a single sample have a ratio, but no estimate of noise with which the ratio could be compared.
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
        "▲ and ▼ are the numbers of records that are faster and slower than the baseline by more than noise \
         (- if measured only once, because the noise is then unknown)",
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
                metric: metric.into(),
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
