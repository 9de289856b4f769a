//! The charts and tables of the page.

use std::collections::BTreeSet;

use maud::{Markup, html};
use record::glossary::Term;
use record::metrics;
use record::{Record, State};

use super::{bars, prose, section};
use crate::chart::heat::{self, Heat};
use crate::chart::{Chart, svg};
use crate::contents::block::{Block, Part, Room};
use crate::contents::blocks::blocks;
use crate::contents::rest::generic;
use crate::contents::{Section, conditions as condition_contents, inventory as inventory_contents};
use crate::table::{Table, Weight};
use crate::text::keep_units;
use record::phrase::count_noun;

/// Rows of a table of CPUs before only the worst are shown; all are in the tables at the page's end.
const MOST: usize = 12;
/// Room on the page.
const ROOM: Room = Room { rows: MOST, workloads: usize::MAX, placements: usize::MAX };
/// Rows that a table may have below a drawing of the same figures before it waits to be opened.
const SHORT: usize = 12;
/// Columns of a matrix that fit on paper.
const PAPER: usize = 20;
/// Letters from which a cell of words may be broken; shorter ones stay on one line.
const LONG: usize = 28;

/// A section for each kind of figure: what it is, then its charts, maps and tables.
pub(super) fn sections(record: &Record) -> Markup {
    html! {
        @for (number, block) in blocks(record, ROOM).iter().enumerate() {
            (figure_section(record, &format!("figures-{number}"), block))
        }
    }
}

fn figure_section(record: &Record, id: &str, block: &Block) -> Markup {
    let word = block.word.as_deref();
    let bars = word == Some("memory.bandwidth");
    let drawn = bars || block.parts.iter().any(|part| matches!(part, Part::Chart(_)));
    let inside = html! {
        @if let Some(word) = word.and_then(explained) { p class="quiet what" { (prose(&word.what)) } }
        @for (number, part) in block.parts.iter().enumerate() {
            @let id = format!("{id}-{number}");
            @match part {
                Part::Says(text) => p { (prose(text)) },
                Part::Facts(section) => (facts(section)),
                Part::Chart(chart) => (drawing(chart, &id)),
                Part::Heat(heat) | Part::Condensed { full: heat, .. } => (map(heat, &id)),
                Part::Folded(heat) => details { summary { (heat.title) } (map(heat, &id)) },
                Part::Table(details) => {
                    @if bars { (bars::bandwidth(record)) }
                    @if details.title != block.title { h3 { (details.title) } }
                    @if drawn && details.rows.len() > SHORT {
                        details { summary { "The figures as a table" } (table(details)) }
                    } @else {
                        (table(details))
                    }
                }
            }
        }
    };
    section(id, &block.title, inside)
}

/// Facts, one a line.
pub(super) fn facts(section: &Section) -> Markup {
    html! { dl { @for fact in &section.facts { div { dt { (fact.key) } dd { (keep_units(&fact.value)) } } } } }
}

/// A matrix as a map in a box that scrolls, with its legend, and as a table for who cannot tell the shades.
fn map(heat: &Heat, id: &str) -> Markup {
    html! {
        figure {
            figcaption { (heat.heading()) " " span class="quiet" { "(" (heat.axes()) ")" } }
            div class="scroll" role="region" tabindex="0" aria-label=(heat.title) { (heat::svg::draw(heat, id)) }
            (heat::svg::legend(heat))
        }
        @for note in &heat.notes { p class="quiet what" { (note) } }
        details { summary { "The figures as a table" } (matrix(heat)) }
    }
}

/// The figures of a matrix, its first column the names of the rows.
fn matrix(heat: &Heat) -> Markup {
    let all = heat.table();
    // Paper does not scroll: a table wider than it is left to the map.
    let class = if all.columns.len() > PAPER { "scroll screen" } else { "scroll" };
    html! {
        div class=(class) role="region" tabindex="0" aria-label=(all.title) {
            table {
                thead { tr { @for column in &all.columns { th scope="col" class="n" { (column.head) } } } }
                tbody {
                    @for row in &all.rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 { th scope="row" class="n" { (cell) } } @else { td class="n" { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A chart, drawn for a desktop and for a phone; the style sheet shows one of them.
fn drawing(chart: &Chart, id: &str) -> Markup {
    html! {
        figure {
            figcaption { (chart.title) }
            (svg::draw(chart, svg::WIDE, &format!("{id}-w")))
            (svg::draw(chart, svg::NARROW, &format!("{id}-n")))
            (svg::legend(chart))
        }
    }
}

/// A table in a box of its own, which scrolls where the table is wider than the page.
pub(super) fn table(table: &Table) -> Markup {
    html! {
        div class="scroll" role="region" tabindex="0" aria-label=(table.title) {
            table {
                thead {
                    tr { @for column in &table.columns { th scope="col" class=[class(column.figures, "")] { (column.head) } } }
                }
                tbody {
                    @for (number, row) in table.rows.iter().enumerate() {
                        tr class=[weight(table.weight(number))] {
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

fn weight(weight: Weight) -> Option<&'static str> {
    match weight {
        Weight::Plain => None,
        Weight::Worse => Some("worse"),
        Weight::Better => Some("better"),
    }
}

fn class(figures: bool, cell: &str) -> Option<&'static str> {
    match figures {
        true => Some("n"),
        false => (cell.chars().nth(LONG).is_some()).then_some("long"),
    }
}

/// The whole inventory.
pub(super) fn inventory(record: &Record) -> Markup {
    let sections = inventory_contents::sections(record);
    let inside = html! {
        @for part in sections.iter().filter(|part| part.title != "Conditions") {
            details {
                summary { (part.title) }
                (facts(part))
            }
        }
    };
    section("inventory", "Inventory", inside)
}

/// The conditions before and after.
pub(super) fn conditions(record: &Record) -> Markup {
    let conditions = condition_contents::table(&record.conditions);
    let inside = html! { @if !conditions.is_empty() { (table(&conditions)) } };
    section("conditions", "Conditions", inside)
}

/// What was measured, and how well.
pub(super) fn coverage(record: &Record) -> Markup {
    let mut all = Table::new("Coverage", Some("coverage"), ["what", "state", "reason", "what would help"]);
    for item in &record.coverage {
        all.row(vec![
            item.what.clone(),
            item.state.word().to_owned(),
            item.why(),
            item.remedy.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    let full = record.coverage.iter().filter(|item| item.state == State::Measured).count();
    let inside = html! {
        @if !all.is_empty() {
            p { (full) " of " (count_noun(record.coverage.len(), "thing")) " measured in full." }
            (table(&all.finished()))
        }
    };
    section("coverage", "Coverage", inside)
}

/// Which outputs the figures of an imported record were read from.
pub(super) fn provenance(record: &Record) -> Markup {
    let inside = html! {
        @if let Some(outputs) = crate::contents::provenance::outputs(record) { (table(&outputs)) }
    };
    section("stood", crate::contents::provenance::STOOD, inside)
}

/// Every measurement, in a table a metric.
pub(super) fn all(record: &Record) -> Markup {
    let inside = html! {
        @for metric in metrics_of(record) {
            @let measurements: Vec<_> = record.measurements_of(metric).collect();
            details {
                summary { (metric) " " span class="quiet" { (count_noun(measurements.len(), "figure")) } }
                (table(&generic(metric, &measurements, most_of(metric))))
            }
        }
    };
    section("all", "All measurements", inside)
}

/// So many figures of a metric are listed. All, but of pairs of CPUs, of which 256 CPUs make 60,000 that stand in their
/// matrix already: with each in a row no mail would carry the page.
fn most_of(metric: &str) -> usize {
    if metric == "core_to_core.latency" { 1024 } else { usize::MAX }
}

fn metrics_of(record: &Record) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    record.measurements.iter().map(|m| m.metric.as_str()).filter(|metric| seen.insert(*metric)).collect()
}

/// What a metric means.
fn explained(metric: &str) -> Option<Term> {
    metrics::find(metric).map(|metric| Term::parse(metric.name, "Metrics", metric.glossary))
}

/// What each metric of this record means.
pub(super) fn glossary(record: &Record) -> Markup {
    let words: Vec<Term> = metrics_of(record).into_iter().filter_map(explained).collect();
    let inside = html! {
        @for word in words {
            details {
                summary { (word.name) }
                p { (prose(&word.what)) }
                @for (label, text) in [("How", &word.how), ("Usual", &word.usual), ("Moves", &word.moves)] {
                    @if let Some(text) = text { p { b { (label) ": " } (prose(text)) } }
                }
            }
        }
    };
    section("words", "What the figures mean", inside)
}
