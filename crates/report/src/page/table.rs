//! A table as part of the page.

use maud::{Markup, html};

use crate::table::{Table, Weight};
use crate::text::width;

/// Maximum number of columns that fit on paper.
const PAPER: usize = 20;
/// Maximum width of a table on a phone, in characters; wider tables show a hint that they scroll.
const PHONE: usize = 40;
/// Minimum length at which a text cell may wrap; shorter ones stay on one line.
const LONG: usize = 28;

/// The hint on a phone that the table continues to the right.
pub(super) fn hint() -> Markup {
    html! { p class="hint" aria-hidden="true" { "wider than the screen: scrolls sideways →" } }
}

/// The width of a table's rows in characters: the sum of the widths of the columns, each as wide as its widest cell.
pub(super) fn letters(table: &Table) -> usize {
    let column = |at: usize, head: &str| {
        let cells = table.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell).min(LONG));
        cells.chain([width(head)]).max().unwrap_or(0) + 2
    };
    table.columns.iter().enumerate().map(|(at, of)| column(at, &of.head)).sum()
}

/// A table in its own box, which scrolls if the table is wider than the page. `set_off` is the class of rows with a
/// gain or a loss. If it is empty, these rows have the class `better` or `worse`.
pub(super) fn table(table: &Table, set_off: &str) -> Markup {
    html! {
        @if letters(table) > PHONE { (hint()) }
        // Paper does not scroll, so a table wider than the paper is omitted in favor of the map next to it.
        div class=(if table.columns.len() > PAPER { "scroll screen" } else { "scroll" }) role="region" tabindex="0" aria-label=(table.title) {
            table {
                thead {
                    tr { @for column in &table.columns { th scope="col" class=[class(column.figures, "")] { (column.head) } } }
                }
                tbody {
                    @for (number, row) in table.rows.iter().enumerate() {
                        tr class=[weight(table.weight(number), set_off)] {
                            @for (cell, column) in row.iter().zip(&table.columns) {
                                td class=[class(column.figures, cell)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
        @if !table.notes.is_empty() {
            ol class="notes" { @for note in &table.notes { li { (note) } } }
        }
        @for remark in &table.remarks {
            p class="quiet what" { (remark) }
        }
    }
}

fn weight(weight: Weight, set_off: &str) -> Option<&str> {
    match weight {
        Weight::Plain => None,
        _ if !set_off.is_empty() => Some(set_off),
        Weight::Worse => Some("worse"),
        Weight::Better => Some("better"),
    }
}

fn class(figures: bool, cell: &str) -> Option<&'static str> {
    if figures { Some("n") } else { cell.chars().nth(LONG).is_some().then_some("long") }
}
