//! A record as one HTML page, without external references; its only script sorts tables. The page can be opened from an email and printed;
//! it supports light and dark mode and is readable on phones.

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
use crate::contents::{self, Block, Part, claims, command, provenance, turns, verdict};
use crate::text::{clean, clean_page, cut, keep_units};

const STYLE: &str = include_str!("style.css");

/// Sorts a table by the clicked column heading. Pages also work without this script.
const SCRIPT: &str = include_str!("sort.js");

/// Whatever strings the record contains, the page may load nothing, and may run only the script with this SHA-256.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
                      script-src 'sha256-T3mVxBJylcKBl8tVKPsit5vG2SUHLQW3XBHde306puU='";

/// Maximum length of the verdict in the window title, in characters.
const TITLE: usize = 120;

/// The complete page of a record: the verdict, the requested results, the headlines, the findings, the evidence, and missing measurements.
pub fn html(record: &Record) -> String {
    of_record(record, &[], None)
}

/// Like [`html()`], but with the claims of a reference machine's documents, and with the name that `linespeed show` accepts for the record,
/// if there is one.
pub fn of_record(record: &Record, answers: &[JudgedClaim], shown_by: Option<&str>) -> String {
    let figures = figures::Figures::from_record(record);
    // Without results, the inventory is the answer.
    let inventory_alone = record.measurements.is_empty() && record.import.is_none() && record.watch.is_none();
    let mut inventory = vec![figures::inventory(record, inventory_alone), shape::section(&record.machine)];
    let mut sections = vec![
        block_section("in-two-ways", &provenance::contradictions(record), ""),
        block_section("claims", &claims::block(answers), "worse"),
        block_section("command", &command::verdict(record), ""),
        block_section("turns", &turns::verdict(record), ""),
    ];
    if let Some(watched) = &record.watch {
        sections.extend(contents::watch::blocks(record, watched).iter().map(own_section));
    }
    if inventory_alone {
        sections.append(&mut inventory);
    }
    let (asked, others): (Vec<_>, Vec<_>) =
        figures.sections(record).into_iter().partition(|(asked, _)| *asked);
    sections.extend(asked.into_iter().map(|(_, section)| section));
    // A recording or a command has its own verdict, so its section of findings is empty if there are no findings.
    let has_verdict = record.watch.is_some() || record.diagnosis.bound.is_some();
    let findings = match has_verdict && record.diagnosis.findings.is_empty() {
        true => section("findings", "", html! {}),
        false => summary::findings(record, &figures, shown_by),
    };
    // On a page, one heading combines the parts of a plan.
    let parts = record.diagnosis.plan.iter().flat_map(|plan| {
        let parts = contents::plan::blocks(plan).into_iter().flat_map(|block| block.parts);
        std::iter::once(Part::Says(plan.summary.to_string())).chain(parts)
    });
    let plan = Block::new("Program placement", None, parts.collect());
    sections.extend([
        summary::resources(record, &figures),
        findings,
        block_section("plan", &plan, ""),
        summary::losses(record),
    ]);
    sections.extend(others.into_iter().map(|(_, section)| section));
    sections.append(&mut inventory);
    sections.extend([
        block_section("conditions", &figures::conditions(record), ""),
        block_section("stood", &provenance::outputs(record), ""),
        figures::all(record),
        figures::glossary(record, &figures),
        summary::unseen(record),
    ]);
    let head = (verdict::Kind::command(record), verdict::verdict(record));
    page((&head.0, &head.1), &record.tool, &summary::header(record), &sections)
}

/// A comparison as a page. `records` are the compared records, in the order of the comparison.
pub fn comparison<'a>(comparison: &Comparison, records: impl Iterator<Item = &'a Record>) -> String {
    page(
        ("linespeed compare", &contents::compare::title(comparison)),
        &comparison.tool,
        &compare::header(comparison),
        &compare::sections(comparison, &records.collect::<Vec<_>>()),
    )
}

/// The only command whose page has sortable tables.
const FLEET: &str = "linespeed fleet";

/// A fleet as a page.
pub fn fleet(of: &record::fleet::Fleet) -> String {
    page((FLEET, &contents::fleet::title(of)), &of.tool, &html! {}, &fleet::sections(of))
}

/// Width of a sparkline in the table of a history, in characters.
const SPARK: usize = 24;

/// A machine's history as a page.
pub fn history(of: &record::history::History) -> String {
    let [figures, changes, notes] = contents::history::blocks(of, SPARK);
    let figures = Block { title: "Results".to_owned(), ..figures };
    let curves = contents::history::charts(of).into_iter().map(Part::Chart).collect();
    let curves = Block::new("Over time", None, curves);
    let head = ("linespeed history", &*contents::history::title(of));
    page(head, &of.tool, &html! {}, &[changes, curves, figures, notes].each_ref().map(own_section))
}

/// A section for a block, with the block's own title.
fn own_section(block: &Block) -> Section {
    block_section(&slug(&block.title), block, "")
}

/// The contents of one section.
struct Section {
    /// The section's anchor, unique on the page.
    id: String,
    title: String,
    inside: Markup,
    /// Whether two such sections fit side by side on a wide screen.
    small: bool,
}

/// A section; empty sections are omitted.
fn section(id: &str, title: &str, inside: Markup) -> Section {
    Section { id: id.to_owned(), title: title.to_owned(), inside, small: false }
}

/// The complete page: its contents, the command that creates such a page, and the answer in a sentence.
fn page((command, says): (&str, &str), tool: &Tool, below: &Markup, sections: &[Section]) -> String {
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
                title { (command) ": " (cut(&clean(says), TITLE)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if sections.len() > 1 {
                    nav aria-label="Contents" {
                        ul class="scroll" { @for section in &sections { li { (link(&section.id, &section.title)) } } }
                    }
                }
                main {
                    header {
                        p class="kind" { (command) }
                        h1 { (keep_units(says)) }
                        (below)
                    }
                    @for section in &sections {
                        section id=(section.id) class=[section.small.then_some("small")]
                            aria-labelledby=(format!("{}-h", section.id)) {
                            h2 id=(format!("{}-h", section.id)) { (section.title) }
                            (section.inside)
                        }
                    }
                }
                @if command == FLEET { script { (PreEscaped(SCRIPT)) } }
                footer { "Made by " (tool.name) " " (tool.version) ". Self-contained: loads no external resources." }
            }
        }
    };
    clean_page(&page.into_string())
}

/// A link to another place on the page.
fn link(id: &str, words: &str) -> Markup {
    html! { a href=(format!("#{id}")) { (words) } }
}

/// A name in the form in which it can be part of an id.
fn slug(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().take(60).map(letter).collect()
}

/// Prose in which `names` in backticks are set as code, and values stay on the same line as their units.
fn prose(text: impl std::fmt::Display) -> Markup {
    html! {
        @for (number, part) in text.to_string().split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (keep_units(part)) }
        }
    }
}
