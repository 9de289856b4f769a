//! The charts and tables of the page.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use maud::{Markup, html};
use record::glossary::{Glossary, Group, Term};
use record::{Record, metrics};

use super::table::{letters, table};
use super::{Section, bars, heat, link, prose, section, slug};
use crate::chart::{Chart, svg};
use crate::contents::block::{Block, Item, Part, Room};
use crate::contents::blocks::blocks;
use crate::contents::rest::generic;
use crate::contents::verdict::headline_metric;
use crate::contents::{conditions as condition_contents, inventory as inventory_contents, summary};
use crate::terminal::is_scale;
use crate::text::keep_units;
use record::phrase::count_noun;

/// Maximum number of rows of a table of CPUs; if there are more, only the worst are shown. The tables at the end of the page contain all
/// rows.
const MOST: usize = 12;
/// The limits on rows, workloads and placements on the page.
const ROOM: Room = Room { rows: MOST, workloads: usize::MAX, placements: usize::MAX };
/// Maximum number of rows of a table below a chart of the same results; longer tables are collapsed.
const SHORT: usize = 12;
/// Maximum width, in characters, at which two tables fit side by side on a wide screen.
const NARROW: usize = 100;
const INVENTORY: &str = "Inventory";
const CONDITIONS: &str = "Noise and conditions";

/// The sections of results, each with its anchor on the page.
pub(super) struct Figures {
    blocks: Vec<(String, Block)>,
    /// The section of each metric's results.
    places: HashMap<String, usize>,
    has_conditions: bool,
    has_inventory: bool,
}

impl Figures {
    pub(super) fn from_record(record: &Record) -> Self {
        let mut taken = BTreeSet::new();
        let blocks: Vec<(String, Block)> = blocks(record, ROOM)
            .into_iter()
            .map(|block| {
                let slug = slug(block.word.as_deref().unwrap_or(&block.title));
                let ids = (1..).map(|n| if n == 1 { format!("of-{slug}") } else { format!("of-{slug}-{n}") });
                let id = ids.into_iter().find(|id| taken.insert(id.clone())).unwrap_or_default();
                (id, block)
            })
            .collect();
        let mut places = HashMap::new();
        for (number, (_, block)) in blocks.iter().enumerate() {
            if let Some(word) = &block.word {
                places.entry(word.clone()).or_insert(number);
            }
        }
        for (number, (_, block)) in blocks.iter().enumerate() {
            let shown = block.shown_figures();
            for m in record.measurements.iter().filter(|m| shown.has(m)) {
                places.entry(m.metric.to_string()).or_insert(number);
            }
        }
        Self {
            blocks,
            places,
            has_conditions: !conditions(record).is_empty(),
            has_inventory: !inventory_contents::sections(record).is_empty(),
        }
    }

    /// The section of a result cited as evidence: its id and title.
    pub(super) fn place(&self, from: &str) -> Option<(&str, &str)> {
        let metric = from.split(' ').next().unwrap_or_default();
        match metric.split('.').next() {
            Some("conditions") => return self.has_conditions.then_some(("conditions", CONDITIONS)),
            Some("machine") => return self.has_inventory.then_some(("inventory", INVENTORY)),
            _ => {}
        }
        let (id, block) = self.blocks.get(*self.places.get(metric)?)?;
        Some((id, &block.title))
    }

    /// A link to the explanation of a headline's metric.
    pub(super) fn headline_link(&self, resource: &str) -> Option<Markup> {
        let metric = headline_metric(resource)?.name();
        let is_there = self.places.contains_key(metric) && explained(metric).is_some();
        is_there.then(|| link(&word_id(metric), "explanation"))
    }

    /// A section for each kind of result: its description, then its charts, maps and tables. The flag is `true` if the
    /// command is about this kind of result only.
    pub(super) fn sections(&self, record: &Record) -> Vec<(bool, Section)> {
        let asked = |block: &Block| {
            let layers =
                !summary::is_whole(record) && block.word.as_deref() == Some(metrics::LAYER_TIME.name());
            layers || (block.is_of_a_workload && is_scale(record))
        };
        // The caption of a metric is shown only with its first block.
        let mut seen = BTreeSet::new();
        let section = |(id, block): &(String, Block)| {
            let repeated = block.word.as_ref().is_some_and(|word| !seen.insert(word.clone()));
            let word = block.word.clone().filter(|_| !repeated);
            (asked(block), block_section(id, &Block { word, ..block.clone() }, ""))
        };
        self.blocks.iter().map(section).collect()
    }
}

/// The contents of one section. `set_off`: as for [`table`].
pub(super) fn block_section(id: &str, block: &Block, set_off: &str) -> Section {
    if block.is_empty() {
        return section(id, &block.title, html! {});
    }
    let drawn = block.parts.iter().any(|part| matches!(part, Part::Chart(_) | Part::Bars(_)));
    let inside = html! {
        @if let Some(word) = block.word.as_deref().and_then(explained) {
            p class="quiet what" { (prose(word.brief().trim_end_matches('.'))) ". " (link(&word_id(word.name), "More")) }
        }
        div class="flow" {
            @for (number, part) in block.parts.iter().enumerate() {
                @let id = format!("{id}-{number}");
                @match part {
                    Part::Says(text) => p { (prose(text)) },
                    Part::Facts(section) => (facts(section)),
                    Part::Chart(chart) => (drawing(chart, &id)),
                    Part::Bars(bars) => (bars::draw(bars)),
                    Part::Heat(heat) => (heat::draw(heat)),
                    Part::Items(all) => (items(all)),
                    Part::Commands(all) => pre { @for line in all { (line) "\n" } },
                    Part::Table(of) => div {
                        @if of.title != block.title { h3 { (of.title) } }
                        @if drawn && of.rows.len() > SHORT {
                            details { summary { "As a table" } (table(of, set_off)) }
                        } @else {
                            (table(of, set_off))
                        }
                    }
                }
            }
        }
    };
    let small = match &block.parts[..] {
        [Part::Table(table)] => letters(table) < NARROW,
        [Part::Says(_)] => true,
        _ => false,
    };
    Section { small, ..section(id, &block.title, inside) }
}

/// Maximum number of items of one kind on a page.
const ITEMS: usize = 100;

/// A list of items, each with its details collapsed.
fn items(all: &[Item]) -> Markup {
    html! {
        ul {
            @for item in all.iter().take(ITEMS) {
                li {
                    @for head in &item.heads { p { (prose(head)) } }
                    @for below in &item.below { p class="quiet" { (prose(below)) } }
                    @match item.more.as_slice() {
                        [] => {},
                        [one] => p class="quiet" { (prose(one)) },
                        more => details { summary { "More" } ul { @for one in more { li { (prose(one)) } } } },
                    }
                }
            }
        }
        @if all.len() > ITEMS { p class="quiet" { "… and " (all.len() - ITEMS) " more." } }
    }
}

/// The anchor of a metric's explanation.
fn word_id(metric: &str) -> String {
    format!("word-{}", slug(metric))
}

/// Facts, one per line.
pub(super) fn facts(section: &crate::contents::Section) -> Markup {
    html! { dl { @for fact in &section.facts { div { dt { (fact.key) } dd { (keep_units(&fact.value)) } } } } }
}

/// A chart, drawn for desktops and for phones; the style sheet shows one of the two.
fn drawing(chart: &Chart, id: &str) -> Markup {
    html! {
        figure {
            figcaption { (chart.title) }
            (svg::legend(chart))
            (svg::draw(chart, svg::WIDE, &format!("{id}-w")))
            (svg::draw(chart, svg::NARROW, &format!("{id}-n")))
        }
    }
}

/// The complete inventory; expanded if it was requested.
pub(super) fn inventory(record: &Record, open: bool) -> Section {
    let sections = inventory_contents::sections(record);
    let inside = html! {
        @if !sections.is_empty() {
            div class="facts" {
                @for part in sections.iter().filter(|part| part.title != "Conditions") {
                    @if open {
                        div { h3 { (part.title) } (facts(part)) }
                    } @else {
                        details { summary { (part.title) } (facts(part)) }
                    }
                }
            }
        }
    };
    section("inventory", INVENTORY, inside)
}

/// The noise, and the conditions before and after the run.
pub(super) fn conditions(record: &Record) -> Block {
    let noise = summary::noise(record).into_iter().map(Item::from).collect();
    let conditions = condition_contents::table(&record.conditions);
    Block::new(CONDITIONS, None, vec![Part::Items(noise), Part::Table(conditions)])
}

/// Every measurement, in one table per metric.
pub(super) fn all(record: &Record) -> Section {
    // All results are listed, except for most pairs of CPUs. 256 CPUs form 65,000 pairs, which the matrix already shows
    // and which would make the page too large for an email.
    let most = |metric| if metrics::CORE_TO_CORE_LATENCY == metric { 1024 } else { usize::MAX };
    let inside = html! {
        @for metric in metrics_of(record) {
            @let measurements: Vec<_> = record.measurements_of(metric).collect();
            details {
                summary { (metric) " " span class="quiet" { (count_noun(measurements.len(), "result")) } }
                (table(&generic(metric, &measurements, most(metric)), ""))
            }
        }
    };
    section("all", "All measurements", inside)
}

fn metrics_of(record: &Record) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    record.measurements.iter().map(|m| m.metric.name()).filter(|metric| seen.insert(*metric)).collect()
}

/// The explanation of a metric.
fn explained(metric: &str) -> Option<Term> {
    let mut all = Group::metrics().entries.into_iter();
    all.find(|(name, _)| *name == metric).map(|(name, text)| Term::parse(name, "Metrics", text))
}

/// The anchor of a rule's explanation.
fn rule_id(rule: &str) -> String {
    format!("rule-{}", slug(rule))
}

/// Every entry to which a rule's name may link.
static ENTRIES: LazyLock<Glossary> = LazyLock::new(|| {
    let rules = Group::new("Findings", diagnose::GLOSSARY);
    Glossary::new([rules, Group::inventory(), Group::metrics(), Group::words()])
});

/// The explanation of a rule: its own entry, otherwise the entry of the metric with the same name as the rule.
fn rule_entry(rule: &str) -> Option<&'static Term> {
    ENTRIES.find(rule).or_else(|| ENTRIES.find(&rule.replace('-', ".")))
}

/// A link to the explanation of a rule; plain text if there is none.
pub(super) fn rule_link(rule: &str, words: &str) -> Markup {
    html! { @if rule_entry(rule).is_some() { (link(&rule_id(rule), words)) } @else { (words) } }
}

/// Explanations of each rule with a finding and of each metric of this record. An explanation expands when a link to it is
/// followed.
pub(super) fn glossary(record: &Record, figures: &Figures) -> Section {
    let mut seen = BTreeSet::new();
    let findings = record.diagnosis.findings.iter();
    let rules = findings.map(|finding| finding.rule.as_str()).filter(|rule| seen.insert(*rule));
    let rules: Vec<(&str, &Term)> = rules.filter_map(|rule| Some((rule, rule_entry(rule)?))).collect();
    let blocks = figures.blocks.iter().filter_map(|(_, block)| block.word.as_deref());
    let names = metrics_of(record).into_iter().chain(blocks).filter(|name| seen.insert(*name));
    let words: Vec<Term> = names.filter_map(explained).collect();
    let inside = html! {
        @for (rule, entry) in &rules { (explanation(rule, &rule_id(rule), entry, figures)) }
        @for word in &words { (explanation(word.name, &word_id(word.name), word, figures)) }
    };
    section("words", "Explanations", inside)
}

fn explanation(name: &str, id: &str, entry: &Term, figures: &Figures) -> Markup {
    html! {
        details {
            summary { (name) }
            div id=(id) {
                p {
                    (prose(&entry.what))
                    @if let Some((id, title)) = figures.place(name) { " → " (link(id, title)) }
                }
                @for (label, text) in [("How", &entry.how), ("Usual", &entry.usual), ("Influences", &entry.moves)] {
                    @if let Some(text) = text { p { b { (label) ": " } (prose(text)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_and_each_headline_has_an_explanation() {
        let missing =
            diagnose::RULES.iter().filter(|rule| rule_entry(rule.name).is_none_or(|of| of.what.is_empty()));
        assert_eq!(missing.map(|rule| rule.name).collect::<Vec<_>>(), [""; 0]);
        let headlines = ["core", "memory bandwidth", "memory latency", "wake-up"];
        assert!(headlines.iter().all(|name| explained(headline_metric(name).unwrap().name()).is_some()));
    }
}
