//! The contents of a machine's history: its results in a table with sparklines, its changes in words, its curves.

use std::collections::HashSet;

use record::comparison::Difference;
use record::history::{Change, History, Line, Point};
use record::phrase::{count_noun, join_most};
use record::statistics::{Summary, is_unknown};
use record::units::{digits_within, figure, figure_to, significant};

use super::block::{Block, Item, Part};
use super::figures::{MARK, WITHHELD, times};
use super::fleet::describe_files;
use crate::chart::{Axis, Band, Chart, Look, Scale, Series, bounds, spark, unit_of};
use crate::table::Table;
use crate::text::range;

/// Minimum range of a sparkline, as a share of its maximum.
const LEAST_SPAN: f64 = 0.1;
/// Maximum number of differences named for a change.
const MOST_DIFFERENCES: usize = 4;
/// If a value is longer than this, only the part that differs is shown.
const LONG_VALUE: usize = 60;

/// The answer in one line.
pub(crate) fn title(of: &History) -> String {
    let records = count_noun(of.records.len(), "record");
    let changes: usize = of.lines.iter().map(|line| line.changes.len()).sum();
    let needs = of.lines.iter().all(|line| line.needs.is_some());
    let host = if of.machine.is_empty() { "this machine" } else { of.machine.as_str() };
    let said = match changes {
        0 if of.records.is_empty() => "no records".to_owned(),
        0 if needs => "too few to detect a change".to_owned(),
        0 => "no significant change".to_owned(),
        _ => count_noun(changes, "change"),
    };
    let ends = of.records.first().zip(of.records.last());
    let days = ends.map(|(first, last)| format!(", {} to {}", day(&first.started), day(&last.started)));
    format!("{host}: {records}{}: {said}", days.unwrap_or_default())
}

fn day(started: &str) -> &str {
    started.get(..10).unwrap_or(started)
}

/// A sparkline of at most `columns` characters. The last one shows the newest point, and each of the others shows the
/// median of an equal share of the earlier points. The scale covers at least [`LEAST_SPAN`] of the maximum, so that pure noise stays flat.
pub(crate) fn sparkline(line: &Line, columns: usize) -> String {
    let values: Vec<f64> = line.points.iter().map(|point| point.value).collect();
    let Some((newest, earlier)) = values.split_last() else { return String::new() };
    let columns = columns.saturating_sub(1).min(earlier.len());
    let middles = (0..columns).filter_map(|column| {
        let share = earlier.get(column * earlier.len() / columns..(column + 1) * earlier.len() / columns)?;
        Some(Summary::from_samples(share).median)
    });
    let middles: Vec<f64> = middles.chain([*newest]).collect();
    let (low, high) = middles.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let span = (high - low).max(high.abs() * LEAST_SPAN);
    let share = |value: &f64| {
        if span > 0.0 { 0.5 + (value - f64::midpoint(low, high)) / span } else { 0.5 }
    };
    spark::line(middles.iter().map(share))
}

/// Every result with its sparkline, which has this many columns.
fn table(of: &History, columns: usize) -> Table {
    let heads = ["result", "over time", "?#first", "#newest", "?#min – max", "changes"];
    let mut table = Table::new("Results over time", None, heads);
    for line in &of.lines {
        let points = || line.points.iter();
        let show = |point: Option<&Point>| point.map_or(String::new(), |point| show_point(point, &line.unit));
        let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
        let changes = match (line.changes.len(), line.needs) {
            (_, Some(least)) => format!("needs {least}"),
            (0, None) => "none".to_owned(),
            (changes, None) => changes.to_string(),
        };
        table.weigh_row(line.changes.last().and_then(|change| change.slower));
        table.row(vec![
            line.what.to_string(),
            sparkline(line, columns),
            show(points().next()),
            show(points().next_back()),
            show_range(points().min_by(by_value), points().max_by(by_value), &line.unit),
            changes,
        ]);
        let since = points().next_back().and_then(|newest| of.records.get(newest.record..)?.split_first());
        if let Some((newest, later @ [_, ..])) = since {
            let (day, later) = (day(&newest.started), count_noun(later.len(), "later record"));
            table.note(&format!("{}: newest result from {day}, none in {later}", line.what));
        }
    }
    if of.lines.iter().any(|line| line.needs.is_some()) {
        table.note("\"needs N\": N records are needed to detect a change");
    }
    if table.rows.iter().flatten().any(|cell| cell == "-") {
        table.note(WITHHELD);
    }
    table.finished()
}

/// A result with the digits that its interval allows, with a mark if it is unreliable; `-` if its interval is wider
/// than ±100 %.
fn show_point(point: &Point, unit: &str) -> String {
    if point.interval.is_some_and(|interval| is_unknown(point.value, interval)) {
        return "-".to_owned();
    }
    let mark = if point.in_doubt { MARK } else { "" };
    format!("{}{mark}", figure_to(point.value, unit, digits_within(point.value, point.interval)))
}

/// The minimum and the maximum, with a single unit if both have the same one, and a single mark if either is
/// unreliable.
fn show_range(least: Option<&Point>, greatest: Option<&Point>, unit: &str) -> String {
    let (Some(least), Some(greatest)) = (least, greatest) else { return String::new() };
    let [low, high] = [least, greatest].map(|point| show_point(&Point { in_doubt: false, ..*point }, unit));
    let known = [(least, &low), (greatest, &high)].into_iter().filter(|(_, shown)| *shown != "-");
    let mark = if known.into_iter().any(|(point, _)| point.in_doubt) { MARK } else { "" };
    format!("{}{mark}", range(&low, &high))
}

/// The results with sparklines of this many columns, the changes, and notes.
pub(crate) fn blocks(of: &History, columns: usize) -> [Block; 3] {
    [
        Block::new("", None, vec![Part::Table(table(of, columns))]),
        Block::items("Changes, newest first", changes(of)),
        Block::items("Notes", remarks(of)),
    ]
}

/// All changes, newest first: the change of the result between two records, and the records' differences.
fn changes(of: &History) -> Vec<Item> {
    let mut all: Vec<(&Line, &Change)> =
        of.lines.iter().flat_map(|line| line.changes.iter().map(move |change| (line, change))).collect();
    all.sort_by_key(|(_, change)| std::cmp::Reverse((change.after, change.before)));
    let together =
        all.chunk_by(|(_, one), (_, other)| (one.before, one.after) == (other.before, other.after));
    let item = |of_two: &[(&Line, &Change)]| Item {
        heads: of_two.iter().map(|(line, change)| describe(of, line, change)).collect(),
        below: of_two.first().map(|(_, change)| describe_differences(change)).into_iter().collect(),
        more: Vec::new(),
    };
    together.map(item).collect()
}

fn describe(of: &History, line: &Line, change: &Change) -> String {
    let time = |at: usize| {
        let started = of.records.get(at).map_or("", |record| record.started.as_str());
        started.get(..16).unwrap_or(started).replacen('T', " ", 1)
    };
    let way = match change.slower {
        Some(true) => "slower",
        Some(false) => "faster",
        None => "changed",
    };
    let interval = change
        .interval
        .map_or(String::new(), |(low, high)| format!(", 95 % CI {}", range(&times(low), &times(high))));
    format!(
        "{} {way} between {} and {}: {} to {} ({}{interval})",
        line.what,
        time(change.before),
        time(change.after),
        figure(change.from, &line.unit),
        figure(change.to, &line.unit),
        times(change.ratio)
    )
}

fn describe_differences(change: &Change) -> String {
    if change.differences.is_empty() {
        return "hardware and settings are the same in these two records".to_owned();
    }
    let one = |Difference { what, values, .. }: &Difference| match values.as_slice() {
        [Some(from), Some(to)] => format!("{what} {}", describe_values(from, to)),
        [Some(_), _] => format!("{what} no longer recorded"),
        _ => format!("{what} not recorded before"),
    };
    let named: Vec<String> = change.differences.iter().map(one).collect();
    format!("differences between the records: {}", join_most(&named, MOST_DIFFERENCES))
}

/// Two values; if they are long, only the words that differ.
fn describe_values(from: &str, to: &str) -> String {
    let only = |of: &str, other: &str| {
        let known: HashSet<&str> = other.split_whitespace().collect();
        of.split_whitespace().filter(|word| !known.contains(word)).collect::<Vec<_>>().join(" ")
    };
    let (gone, new) = (only(from, to), only(to, from));
    let is_long = from.len().max(to.len()) > LONG_VALUE;
    match (is_long, gone.is_empty(), new.is_empty()) {
        (true, false, false) => format!("without {gone}, with {new}"),
        (true, false, true) => format!("without {gone}"),
        (true, true, false) => format!("with {new}"),
        _ => format!("{from} to {to}"),
    }
}

/// Notes, including the numbers of records that were not read or were skipped.
fn remarks(of: &History) -> Vec<String> {
    let older = (of.older > 0).then(|| count_noun(of.older, "older record"));
    let older = older.map(|records| format!("{records} of this machine not read; use --last N to read more"));
    let others =
        (of.others > 0).then(|| format!("{} of other machines skipped", count_noun(of.others, "record")));
    let changed = of.lines.iter().any(|line| !line.changes.is_empty());
    let by_chance = "by chance alone, one in twenty runs of this command reports a change";
    let by_chance = changed.then(|| by_chance.to_owned());
    let places = of.places.iter().map(ToString::to_string);
    places
        .chain([older, others, by_chance].into_iter().flatten())
        .chain(of.remarks.iter().map(describe_files))
        .collect()
}

/// A chart for each result, with its interval and the periods in which it changed. All charts have the same time axis.
pub(crate) fn charts(of: &History) -> Vec<Chart> {
    let at = |record: usize| of.records.get(record).map_or(0.0, |of| of.at as f64);
    let Some(ends) = bounds(of.records.iter().map(|record| record.at as f64)) else { return Vec::new() };
    let chart = |line: &Line| {
        let name = line.what.to_string();
        let points = line.points.iter().map(|point| (at(point.record), point.value)).collect();
        let width = |point: &Point| point.interval.map(|(low, high)| (at(point.record), low, high));
        let unit = unit_of(&line.unit);
        let measured = Series::line(name.clone(), points).with_look(Look::Measured);
        let band = |change: &Change| Band {
            ends: (at(change.before), at(change.after)),
            name: format!("× {}", significant(change.ratio)),
            says: describe(of, line, change),
        };
        let title = format!("{name} (shaded: 95 % CI and level shifts)");
        let y = Axis::new(if unit.is_empty() { &line.unit } else { &name }, Scale::Linear, unit);
        let series = vec![Series { interval: line.points.iter().filter_map(width).collect(), ..measured }];
        let bands = line.changes.iter().map(band).collect();
        Some(Chart { bands, ..Chart::of_lines(&title, Axis::time(ends), y, series)? })
    };
    of.lines.iter().filter_map(chart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_the_digits_that_its_interval_leaves_and_a_mark_in_doubt() {
        let shown =
            |interval, in_doubt| show_point(&Point { record: 0, value: 13.3e9, interval, in_doubt }, "B/s");
        assert_eq!(shown(None, false), "13.3 GB/s");
        assert_eq!(shown(Some((13.2e9, 13.4e9)), true), format!("13.3 GB/s{MARK}"));
        assert_eq!(shown(Some((9e9, 19e9)), true), format!("13 GB/s{MARK}"));
        assert_eq!(shown(Some((1e9, 40e9)), true), "-");
    }

    #[test]
    fn least_and_greatest_stand_together_with_their_unit_once() {
        let point = |value, interval, in_doubt| Point { record: 0, value, interval, in_doubt };
        let shown = |low: &Point, high: &Point| show_range(Some(low), Some(high), "B/s");
        let (low, high) = (point(9.1e9, None, false), point(13.3e9, None, false));
        assert_eq!(shown(&low, &high), "9.10 – 13.3 GB/s");
        assert_eq!(shown(&low, &low), "9.10 GB/s");
        assert_eq!(shown(&point(910e6, None, false), &high), "910 MB/s – 13.3 GB/s");
        assert_eq!(shown(&low, &point(13.3e9, None, true)), format!("9.10 – 13.3 GB/s{MARK}"));
        assert_eq!(shown(&low, &point(13.3e9, Some((1e9, 40e9)), true)), "9.10 GB/s – -");
        assert_eq!(show_range(None, None, "B/s"), "");
    }

    #[test]
    fn a_sparkline_of_noise_is_flat_and_of_a_change_reaches_from_end_to_end() {
        let within = |values: &[f64], columns: usize| {
            let point = |(record, value): (usize, &f64)| Point {
                record,
                value: *value,
                interval: None,
                in_doubt: false,
            };
            let line = Line {
                what: "x".to_owned().into(),
                name: "x".to_owned(),
                unit: "B/s".to_owned(),
                better: None,
                points: values.iter().enumerate().map(point).collect(),
                changes: Vec::new(),
                needs: None,
            };
            sparkline(&line, columns)
        };
        let drawn = |values: &[f64]| within(values, 8);
        assert_eq!(drawn(&[100.0, 101.0, 100.0]), "▄▅▄");
        assert_eq!(drawn(&[100.0, 150.0, 200.0]), "▁▅█");
        assert_eq!(drawn(&[0.0, 0.0]), "▅▅");
        // The newest point is shown by itself, even if a character shows several of the others.
        let long: Vec<f64> = (0..14).map(|at| if at == 13 { 50.0 } else { 100.0 }).collect();
        assert_eq!(drawn(&long), "███████▁");
        assert_eq!((within(&long, 1), drawn(&[])), ("▅".to_owned(), String::new()));
    }

    #[test]
    fn differences_that_only_one_record_shows_are_marked() {
        let difference = |what: &str, values: [Option<&str>; 2]| Difference {
            kind: record::comparison::FactKind::Setting,
            what: what.to_owned().into(),
            code: String::new(),
            from: String::new(),
            values: values.map(|value| value.map(str::to_owned)).to_vec(),
        };
        let differences = vec![
            difference("THP", [Some("never"), Some("always")]),
            difference("Kernel", [Some("6.1"), None]),
            difference("Microcode", [None, Some("0x1")]),
        ];
        let change = Change {
            before: 0,
            after: 1,
            from: 1.0,
            to: 0.5,
            ratio: 0.5,
            interval: None,
            chance: 0.0,
            slower: Some(true),
            differences,
        };
        insta::assert_snapshot!(describe_differences(&change), @"differences between the records: THP never to always, Kernel no longer recorded and Microcode not recorded before");
    }

    #[test]
    fn of_long_values_only_what_differs_is_named() {
        let options = |more: &str| {
            format!("{} {more}", "quiet psi=1 page_reporting.page_reporting_order=11 haltpoll.force=1")
        };
        let said = |from: &str, to: &str| describe_values(from, to);
        assert_eq!(said("6.1", "6.2"), "6.1 to 6.2");
        assert_eq!(said(&options("a=1"), &options("a=2 b")), "without a=1, with a=2 b");
        assert_eq!(said(&options(""), &options("b")), "with b");
        assert_eq!(said(&options("b"), &options("")), "without b");
        // The same words in another order, and a value without any words.
        let (one, other) = (options("b"), format!("b {}", options("")));
        assert_eq!(said(&one, &other), format!("{one} to {other}"));
        assert_eq!(said("unknown", "b"), "unknown to b");
    }
}
