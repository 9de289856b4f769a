//! Groups items, arranges the results for each place side by side, and selects the worst of many results.

use std::collections::HashMap;
use std::hash::Hash;

use record::Measurement;

use super::figures::{remarks, value};
use crate::table::{Field, Table};

/// The items grouped by key, in the order of each group's first item.
pub(crate) fn group_by<K: Clone + Eq + Hash, T>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    let mut numbers: HashMap<K, usize> = HashMap::new();
    for item in items {
        let key = key(&item);
        let number = *numbers.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(number) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// A row of results: its place, and one result per column.
pub(crate) type Row<'a, K, const COLUMNS: usize> = (K, [Option<&'a Measurement>; COLUMNS]);

/// Arranges results side by side, with one row per place, in the order of the places' first results. `cell` returns the place and column of
/// a result. If several results belong in one cell, only the first is included; the others are shown in a separate table.
pub(crate) fn side_by_side<'a, K: Clone + Eq + Hash, const COLUMNS: usize>(
    figures: impl IntoIterator<Item = &'a Measurement>,
    mut cell: impl FnMut(&'a Measurement) -> Option<(K, usize)>,
) -> Vec<Row<'a, K, COLUMNS>> {
    let placed = figures.into_iter().filter_map(|m| cell(m).map(|(place, column)| (place, column, m)));
    let places = group_by(placed, |(place, _, _)| place.clone()).into_iter();
    let row = |(place, figures): (K, Vec<(K, usize, &'a Measurement)>)| {
        let mut row = [None; COLUMNS];
        for (_, column, m) in figures {
            if let Some(free @ None) = row.get_mut(column) {
                *free = Some(m);
            }
        }
        (place, row)
    };
    places.map(row).collect()
}

/// The finished table with a row for each place, at most `most` rows in total: the place, its results as `cell` returns them, and the
/// notes on them.
pub(crate) fn finish_with_places<'a, K: IntoIterator<Item = String>, const COLUMNS: usize>(
    mut table: Table,
    rows: Vec<Row<'a, K, COLUMNS>>,
    most: usize,
    cell: fn(Option<&Measurement>) -> String,
) -> Table {
    rows.iter().flat_map(|(_, figures)| figures).flatten().for_each(|m| table.tells(m));
    for (place, figures) in table.first(rows, most) {
        table.note_row(figures.iter().flatten().flat_map(|m| remarks(m)));
        table.row(place.into_iter().chain(figures.map(cell)).collect());
    }
    table.finished()
}

/// The value of the result; empty if there is none.
pub(crate) fn cell(m: Option<&Measurement>) -> String {
    m.map_or(String::new(), value)
}

/// The worst results of each kind, in their original order: at most `most` in total, but at least one per kind. If
/// results are omitted, a note below the table states how many of them are shown.
pub(crate) fn worst<'a>(
    table: &mut Table,
    all: Vec<&'a Measurement>,
    most: usize,
    kind: fn(&Measurement) -> String,
    badness: fn(&Measurement) -> f64,
) -> Vec<&'a Measurement> {
    let count = all.len();
    all.iter().for_each(|m| table.tells(m));
    let kinds = group_by(all, |m| kind(m));
    let (several, each) = (kinds.len() > 1, (most / kinds.len().max(1)).max(1));
    let worst_of = |(_, group): (String, Vec<&'a Measurement>)| {
        let mut order: Vec<usize> = (0..group.len()).collect();
        order.sort_by(|a, b| badness(group[*b]).total_cmp(&badness(group[*a])));
        order.truncate(each);
        order.sort_unstable();
        order.into_iter().map(move |at| group[at])
    };
    let shown: Vec<&Measurement> = kinds.into_iter().flat_map(worst_of).collect();
    if shown.len() < count {
        let worst =
            if several { format!("the worst {each} of each kind, ") } else { "the worst ".to_owned() };
        table.note(&format!("{worst}{} of {count}; the record contains all", shown.len()));
    }
    shown
}

/// The finished table with a row for each of the worst results, and the notes on them.
pub(crate) fn finish_with_worst(
    mut table: Table,
    fields: &[Field<Measurement>],
    all: Vec<&Measurement>,
    most: usize,
    kind: fn(&Measurement) -> String,
    badness: fn(&Measurement) -> f64,
) -> Table {
    for m in worst(&mut table, all, most, kind, badness) {
        table.note_row(remarks(m));
        table.item(fields, m);
    }
    table.finished()
}

/// Assigns all results to a single kind.
pub(crate) fn one_kind(_: &Measurement) -> String {
    String::new()
}
