//! The results of a gate, one by one.

use record::gate::{Gate, Held};
use record::units;

use crate::table::Table;
use crate::text::range;

/// A loss as a change of speed: `-5 %` is a loss of 5 %, and a gain has a plus sign.
pub(crate) fn loss(loss: f64) -> String {
    if loss == 0.0 { "0 %".to_owned() } else { units::signed_percent(-loss) }
}

/// The interval of the change in speed, worst end first.
fn interval(held: &Held) -> Option<String> {
    held.interval.map(|(least, most)| range(&loss(most), &loss(least)))
}

/// The reason why a result fails or is skipped, for a test report.
pub(crate) fn reason(gate: &Gate, held: &Held) -> String {
    let known = held.loss.map(|lost| format!("speed {}", loss(lost)));
    let interval = interval(held)
        .map_or("too few samples for an interval".to_owned(), |interval| format!("95 % CI {interval}"));
    let known = known.map_or(String::new(), |known| format!("{known}, "));
    let mark = if held.unreliable { " (unreliable)" } else { "" };
    format!("{}: {known}{interval}{mark}; bound -{}", held.outcome.word(), gate.terms.bound_in_percent())
}

/// The checked results, with a column of names if `name` provides them.
pub(crate) fn table<'a>(
    gate: &Gate,
    held: impl Iterator<Item = &'a Held>,
    name: Option<&dyn Fn(usize) -> String>,
) -> Table {
    let heads = ["result"].into_iter().chain(name.map(|_| "record"));
    let mut table = Table::new("Gate", None, heads.chain(["#speed", "#95 % CI", "verdict"]));
    for held in held {
        let mut cells = vec![held.what.to_string()];
        cells.extend(name.map(|name| name(held.subject)));
        cells.push(held.loss.map_or("-".to_owned(), loss));
        let mark = if held.unreliable { "?" } else { "" };
        cells.push(interval(held).map_or("-".to_owned(), |interval| format!("{interval}{mark}")));
        cells.push(held.outcome.word().to_owned());
        table.weigh_row(gate.terms.fails(held.outcome).then_some(true));
        table.row(cells);
    }
    table
}

/// The failures, at most this many, and the number of others; `None` if nothing failed.
pub(crate) fn failed(gate: &Gate, most: usize, name: Option<&dyn Fn(usize) -> String>) -> Option<Table> {
    let all = gate.held.iter().filter(|held| gate.terms.fails(held.outcome));
    let count = all.clone().count();
    let mut table = table(gate, all.take(most), name);
    if count > most {
        table.note(&format!("{} more fail; --all lists them", count - most));
    }
    (count > 0).then_some(table)
}
