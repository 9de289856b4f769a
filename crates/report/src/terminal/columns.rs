//! The widths of a table's columns, and the columns that fit.

use std::borrow::Cow;

use crate::table::Table;
use crate::text::{clean, width, wrap};

/// Spaces between the columns of a table.
pub(super) const GAP: usize = 2;
/// Minimum width of a text column; below it, the table is written row by row.
pub(super) const LEAST_COLUMN: usize = 12;
/// Maximum number of lines per row for the text of an optional column; if the text needs more, the column is omitted.
const MOST_LINES: usize = 2;

/// How the headings of a table are laid out.
#[derive(Clone, Copy, PartialEq)]
enum Heads {
    /// The heading is on one line.
    Whole,
    /// The heading may take several lines, so that a column is only as wide as its widest cell or the longest word of its heading.
    Wrapped,
}

/// How a narrow column may break its words.
#[derive(Clone, Copy, PartialEq)]
enum Words {
    /// No word is broken, so that names can be read, searched and copied.
    Whole,
    Broken,
}

/// The part of a table that fits into `room` columns, with the widths of its columns; `None` if the table does not fit.
pub(super) fn fitting(table: &Table, room: usize) -> Option<(Cow<'_, Table>, Vec<usize>)> {
    for heads in [Heads::Whole, Heads::Wrapped] {
        let mut shown = Some(Cow::Borrowed(table));
        while let Some(table) = shown {
            if let Some(broken) = column_widths(&table, room, heads, Words::Broken) {
                let whole = [heads, Heads::Wrapped]
                    .iter()
                    .find_map(|heads| column_widths(&table, room, *heads, Words::Whole));
                return Some((table, whole.unwrap_or(broken)));
            }
            shown = table.narrower().map(Cow::Owned);
        }
    }
    None
}

fn column_widths(table: &Table, room: usize, heads: Heads, words: Words) -> Option<Vec<usize>> {
    let columns = table.columns.len();
    let longest_word = |text: &str| clean(text).split(' ').map(width).max().unwrap_or(0);
    let natural = |at: usize| {
        let cells = table.rows.iter().map(|row| width(&clean(&row[at])));
        let head = clean(&table.columns[at].head);
        let head = match heads {
            Heads::Whole => width(&head),
            Heads::Wrapped => longest_word(&head),
        };
        cells.chain([head]).max().unwrap_or(0)
    };
    let least = |at: usize| match words {
        Words::Whole => table.rows.iter().map(|row| longest_word(&row[at])).fold(LEAST_COLUMN, usize::max),
        Words::Broken => LEAST_COLUMN,
    };
    let mut widths: Vec<usize> = (0..columns).map(natural).collect();
    let least: Vec<usize> = (0..columns).map(least).collect();
    let room = room.checked_sub(GAP * columns.saturating_sub(1))?;
    while widths.iter().sum::<usize>() > room {
        let excess = widths.iter().sum::<usize>() - room;
        let widest = (0..columns)
            .filter(|at| !table.columns[*at].figures && widths[*at] > least[*at])
            .max_by_key(|at| widths[*at])?;
        widths[widest] = widths[widest].saturating_sub(excess).max(least[widest]).max(widths[widest] / 2);
    }
    let is_long = |at: usize| {
        table.columns[at].optional
            && table.rows.iter().any(|row| wrap(&clean(&row[at]), widths[at]).len() > MOST_LINES)
    };
    (!(0..columns).any(is_long)).then_some(widths)
}
