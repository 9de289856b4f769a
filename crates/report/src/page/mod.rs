//! A record as one HTML page: no outside reference, no script; opens from a mail, prints, follows light and dark,
//! and is readable on a phone.

mod bars;
mod compare;
mod figures;
mod fleet;
mod heat;
mod shape;
mod summary;
mod table;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::{Comparison, Record, Tool};
use reference::claims::JudgedClaim;

use self::figures::block_section;
use crate::contents::{self, Block, Part, claims, command, provenance, turns};
use crate::text::{clean_page, keep_units};

const STYLE: &str = include_str!("style.css");

/// Nothing may be loaded or run, whatever a string of the machine manages to look like.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The whole page: what was asked for first, then the headlines, what costs speed, what could not be seen, and the evidence.
pub fn html(record: &Record) -> String {
    kept(record, None)
}

/// The same of a record that `linespeed show` takes this name for, where there is one.
pub fn kept(record: &Record, shown_by: Option<&str>) -> String {
    whole(record, &[], shown_by)
}

/// The same of a reference machine, with what its documents claim.
pub fn reference(record: &Record, answers: &[JudgedClaim]) -> String {
    whole(record, answers, None)
}

fn whole(record: &Record, answers: &[JudgedClaim], shown_by: Option<&str>) -> String {
    let name = contents::summary::host_name(&record.machine).unwrap_or("a machine");
    let figures = figures::Figures::from_record(record);
    // Without figures the inventory is the answer.
    let inventory_alone = record.measurements.is_empty() && record.import.is_none() && record.watch.is_none();
    let mut inventory = vec![figures::inventory(record, inventory_alone), shape::section(&record.machine)];
    let mut sections = vec![
        block_section("in-two-ways", &provenance::contradictions(record), ""),
        block_section("claims", &claims::block(answers), "worse"),
        block_section("command", &command::verdict(record), ""),
        block_section("turns", &turns::verdict(record), ""),
    ];
    if let Some(watched) = &record.watch {
        let mut blocks = contents::watch::blocks(record, watched);
        let says = Part::Says(contents::watch::summary(watched));
        blocks.iter_mut().take(1).for_each(|first| first.parts.insert(0, says.clone()));
        sections.extend(blocks.iter().map(own_section));
    }
    if inventory_alone {
        sections.append(&mut inventory);
    }
    let (asked, others): (Vec<_>, Vec<_>) =
        figures.sections(record).into_iter().partition(|(asked, _)| *asked);
    sections.extend(asked.into_iter().map(|(_, section)| section));
    // Of a watch nothing was measured in which a rule could find anything, and a command has its verdict.
    let has_verdict = record.watch.is_some() || record.diagnosis.bound.is_some();
    let findings = match has_verdict && record.diagnosis.findings.is_empty() {
        true => section("findings", "", html! {}),
        false => summary::findings(record, &figures, shown_by),
    };
    // A plan has parts that its heading on a page joins.
    let parts = record.diagnosis.plan.iter().flat_map(|plan| {
        let parts = contents::plan::blocks(plan).into_iter().flat_map(|block| block.parts);
        std::iter::once(Part::Says(plan.summary.to_string())).chain(parts)
    });
    let plan = Block::new("How to lay a program out", None, parts.collect());
    sections.extend([
        summary::resources(record, &figures),
        findings,
        block_section("plan", &plan, ""),
        summary::unseen(record),
        summary::losses(record),
    ]);
    sections.extend(others.into_iter().map(|(_, section)| section));
    sections.append(&mut inventory);
    sections.extend([
        block_section("conditions", &figures::conditions(record), ""),
        block_section("stood", &provenance::outputs(record), ""),
        figures::all(record),
        figures::glossary(record, &figures),
    ]);
    page(name, &record.tool, &summary::header(record), &sections)
}

/// Records side by side as a page; `records` are those of the comparison, in its order.
pub fn comparison<'a>(comparison: &Comparison, records: impl Iterator<Item = &'a Record>) -> String {
    let title = contents::compare::title(comparison);
    page(
        &title,
        &comparison.tool,
        &compare::header(comparison),
        &compare::sections(comparison, &records.collect::<Vec<_>>()),
    )
}

/// A fleet as a page.
pub fn fleet(of: &record::fleet::Fleet) -> String {
    let header = header("linespeed fleet", &contents::fleet::title(of));
    page("fleet", &of.tool, &header, &fleet::sections(of))
}

/// Columns of a sparkline in the table of a history.
const SPARK: usize = 24;

/// A machine's history as a page.
pub fn history(of: &record::history::History) -> String {
    let [figures, changes, notes] = contents::history::blocks(of, SPARK);
    let figures = Block { title: "Figures".to_owned(), ..figures };
    let curves = contents::history::charts(of).into_iter().map(Part::Chart).collect();
    let curves = Block::new("Over time", None, curves);
    let header = header("linespeed history", &contents::history::title(of));
    page("history", &of.tool, &header, &[changes, curves, figures, notes].each_ref().map(own_section))
}

/// What a page begins with: the command, and the answer in a line.
fn header(kind: &str, title: &str) -> Markup {
    html! { header { p class="kind" { (kind) } h1 { (keep_units(title)) } } }
}

/// A block by its own title.
fn own_section(block: &Block) -> Section {
    block_section(&slug(&block.title), block, "")
}

/// What stands below one heading.
struct Section {
    /// Where links lead; no two on a page are alike.
    id: String,
    title: String,
    inside: Markup,
    /// Whether two of it fit beside one another on a wide screen.
    small: bool,
}

/// A section; one without anything in it is left out.
fn section(id: &str, title: &str, inside: Markup) -> Section {
    Section { id: id.to_owned(), title: title.to_owned(), inside, small: false }
}

/// A page around its contents.
fn page(name: &str, tool: &Tool, header: &Markup, sections: &[Section]) -> String {
    let sections: Vec<&Section> = sections.iter().filter(|section| !section.inside.0.is_empty()).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { "linespeed: " (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if sections.len() > 1 {
                    nav aria-label="Contents" {
                        ul class="scroll" { @for section in &sections { li { (link(&section.id, &section.title)) } } }
                    }
                }
                main {
                    (header)
                    @for section in &sections {
                        section id=(section.id) class=[section.small.then_some("small")]
                            aria-labelledby=(format!("{}-h", section.id)) {
                            h2 id=(format!("{}-h", section.id)) { (section.title) }
                            (section.inside)
                        }
                    }
                }
                footer { "Made by " (tool.name) " " (tool.version) ". One file: it loads nothing." }
            }
        }
    };
    clean_page(&page.into_string())
}

/// A link to another place of the page.
fn link(id: &str, words: &str) -> Markup {
    html! { a href=(format!("#{id}")) { (words) } }
}

/// A name as a part of an id.
fn slug(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().take(60).map(letter).collect()
}

/// Prose with `names` between backticks set as code, and figures kept with their units.
fn prose(text: impl std::fmt::Display) -> Markup {
    html! {
        @for (number, part) in text.to_string().split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (keep_units(part)) }
        }
    }
}
