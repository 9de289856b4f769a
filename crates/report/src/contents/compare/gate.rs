//! What a gate held, figure by figure.

use record::gate::{Gate, Held};
use record::{Comparison, units};

use super::{label, name};
use crate::contents::{Block, Part};
use crate::table::{Table, Weight};
use crate::text::range;

/// A loss in words; a gain has a plus.
pub(crate) fn loss(loss: f64) -> String {
    if loss < 0.0 { format!("+{}", units::percent(-loss)) } else { format!("-{}", units::percent(loss)) }
}

/// The interval of the speed's change, the worst end first.
fn interval(held: &Held) -> Option<String> {
    held.interval.map(|(least, most)| range(&loss(most), &loss(least)))
}

/// Why a figure fails or is skipped, for a test's report.
pub(crate) fn reason(gate: &Gate, held: &Held) -> String {
    let known = held.loss.map(|lost| format!("speed {}", loss(lost)));
    let interval = interval(held)
        .map_or("too few samples for an interval".to_owned(), |interval| format!("95 % interval {interval}"));
    let known = known.map_or(String::new(), |known| format!("{known}, "));
    let mark = if held.unreliable { " (unreliable)" } else { "" };
    format!("{}: {known}{interval}{mark}; bound -{}", held.outcome.word(), gate.terms.bound_in_percent())
}

fn table_of<'a>(c: &Comparison, gate: &Gate, held: impl Iterator<Item = &'a Held>) -> Table {
    let several = c.subjects.len() > 2;
    let heads = ["figure"].into_iter().chain(several.then_some("record"));
    let mut table = Table::new("Gate", None, heads.chain(["#speed", "#95 % interval", "result"]));
    for held in held {
        let mut cells = vec![held.what.to_string()];
        cells.extend(several.then(|| label(c, held.subject)));
        cells.push(held.loss.map_or("-".to_owned(), loss));
        let mark = if held.unreliable { "?" } else { "" };
        cells.push(interval(held).map_or("-".to_owned(), |interval| format!("{interval}{mark}")));
        cells.push(held.outcome.word().to_owned());
        table.row(cells);
        let fails = gate.terms.fails(held.outcome);
        table.weigh_row(if fails { Weight::Worse } else { Weight::Plain });
    }
    table
}

/// What failed; where nothing did, what is undecided. At most so many, and how many more there are.
pub(crate) fn failed(c: &Comparison, gate: &Gate, most: usize) -> Option<Table> {
    let all = gate.held.iter().filter(|held| gate.terms.fails(held.outcome));
    let count = all.clone().count();
    let mut table = table_of(c, gate, all.take(most));
    if count > most {
        table.note(&format!("{} more fail: --all", count - most));
    }
    (count > 0).then_some(table)
}

/// All that was held.
pub(crate) fn block(c: &Comparison) -> Option<Block> {
    let gate = c.gate.as_ref()?;
    let mut block = Block::new("Gate", Some("gate"));
    block.parts.push(Part::Table(table_of(c, gate, gate.held.iter())));
    Some(block)
}

/// What a test's report calls one record against the baseline.
pub(crate) fn suite(c: &Comparison, subject: usize) -> String {
    format!("{} against {}", name(c, subject), name(c, c.baseline))
}
