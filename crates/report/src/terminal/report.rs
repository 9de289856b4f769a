//! The first screen of a report, and the details below it.

use record::diagnosis::{Finding, Resource, Severity};
use record::{Record, Remedy};

use super::markdown;
use super::screen::Screen;
use crate::chart;
use crate::chart::heat::Heat;
use crate::contents::block::{Block, Part, Room};
use crate::contents::blocks::blocks;
use crate::contents::conditions;
use crate::contents::figures::share_of_line_speed;
use crate::contents::finding;
use crate::contents::provenance;
use crate::contents::summary;
use crate::paint::{Span, Tone};
use crate::table::Table;
use crate::text::{clean, pad_left, pad_right, width};

/// Characters of the bar that shows how much of line speed is delivered.
const BAR: usize = 12;
/// Narrowest screen with bars.
const WITH_BARS: usize = 64;
/// Rows of a table of CPUs before only the worst are shown.
const MOST: usize = 16;
/// Workloads whose steps are shown; a normal run scales no more.
const WORKLOADS: usize = 3;

/// The report. `shown_by`: what `linespeed show` takes for this record, where that is known.
pub(super) fn write(screen: &mut Screen, record: &Record, shown_by: Option<&str>) {
    if let Some(banner) = summary::banner(record) {
        let tone = if record.import.is_some() { Tone::Strong } else { Tone::Serious };
        screen.paragraph(&[], tone, &banner);
        screen.blank();
    }
    for (number, line) in summary::machine(record).iter().enumerate() {
        screen.paragraph(&[], if number == 0 { Tone::Strong } else { Tone::Plain }, line);
    }
    screen.paragraph(&[], Tone::Quiet, summary::origin(record));
    if let Some(quiet) = conditions::quiet(&record.conditions) {
        screen.paragraph(&[], Tone::Plain, quiet);
    }
    noise(screen, record);
    contradictions(screen, record);
    resources(screen, record);
    // A command has its verdict.
    if record.diagnosis.bound.is_none() || !record.diagnosis.findings.is_empty() {
        findings(screen, record, shown_by);
    }
    unseen(screen, record);
    super::loss_breakdown::write(screen, record);
    evidence(screen, record);
    figures(screen, record);
    if let Some(table) = provenance::outputs(record) {
        screen.heading(provenance::STOOD);
        screen.table(&table, 2);
    }
}

/// What the texts of an imported record say in two ways.
pub(super) fn contradictions(screen: &mut Screen, record: &Record) {
    let said = provenance::contradictions(record);
    if !said.is_empty() {
        screen.heading(provenance::IN_TWO_WAYS);
    }
    for says in said {
        screen.hanging("  - ", "    ", &says);
    }
}

fn resources(screen: &mut Screen, record: &Record) {
    let resources = &record.diagnosis.resources;
    let not_reached = &record.diagnosis.not_reached;
    if resources.is_empty() && not_reached.is_empty() {
        return;
    }
    screen.heading("How far from line speed");
    let names = resources.iter().map(|r| width(&clean(&r.name))).max().unwrap_or(0).min(screen.width() / 2);
    for resource in resources {
        let name = pad_right(&clean(&resource.name), names);
        let (bar, share) = bar(resource);
        let mut first =
            vec![Span::plain(format!("  {name}  ")), Span::strong(format!("{}  ", pad_left(&share, 5)))];
        if screen.width() >= WITH_BARS {
            first.insert(1, Span::new(Tone::Series(0), format!("{bar} ")));
        }
        screen.paragraph(&first, Tone::Plain, summary::delivered(record, resource));
    }
    for line in not_reached {
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, line);
    }
}

/// The share of line speed as a bar and as a figure.
fn bar(resource: &Resource) -> (String, String) {
    match resource.share.filter(|share| share.is_finite()) {
        None => ("·".repeat(BAR), "-".to_owned()),
        Some(share) => {
            let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
            (format!("{}{}", "█".repeat(full), "░".repeat(BAR - full)), share_of_line_speed(share))
        }
    }
}

/// A finding's tone: a loss that may be none is never coloured.
fn tone(finding: &Finding) -> Tone {
    match finding.severity {
        _ if !finding::resolved(&finding.loss) => Tone::Plain,
        Severity::Note => Tone::Plain,
        Severity::Warning => Tone::Warning,
        Severity::Serious => Tone::Serious,
    }
}

/// What costs speed, each with its loss and what to do.
pub(super) fn findings(screen: &mut Screen, record: &Record, shown_by: Option<&str>) {
    let findings = &record.diagnosis.findings;
    screen.heading("What costs speed");
    if findings.is_empty() {
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, summary::nothing(record));
    }
    for (number, finding) in findings.iter().enumerate() {
        let first = [Span::plain(format!("{:>3}. ", number + 1))];
        let place = finding::place(finding).map(|place| format!(" ({place})")).unwrap_or_default();
        screen.paragraph(&first, Tone::Strong, format!("{}{place}", finding.what));
        let severity = Span::new(tone(finding), format!("     {}: ", finding::severity(finding.severity)));
        screen.paragraph(&[severity], tone(finding), finding::loss(finding));
        for remedy in &finding.remedy {
            advice(screen, "     do:   ", remedy);
        }
        if let Some(knob) = finding.knob() {
            screen.command(&[Span::quiet("     fix:  ")], &finding::fix_command(number + 1, knob, shown_by));
        }
    }
}

fn advice(screen: &mut Screen, first: &str, remedy: &Remedy) {
    let whole = remedy.to_string();
    match (&remedy.text, &remedy.command) {
        (None, Some(command)) => screen.command(&[Span::quiet(first)], command),
        (Some(text), Some(command)) if !screen.is_terminal() => {
            let words = format!("{text}: {}", markdown::code(&screen.typed(command)));
            screen.paragraph(&[Span::quiet(first)], Tone::Plain, words);
        }
        // Long ones stand below their words.
        (Some(text), Some(command)) if width(first) + width(&whole) > screen.width() => {
            screen.paragraph(&[Span::quiet(first)], Tone::Plain, format!("{text}:"));
            screen.command(&[Span::plain(" ".repeat(width(first) + 2))], command);
        }
        _ => screen.paragraph(&[Span::quiet(first)], Tone::Plain, screen.typed(&whole)),
    }
}

pub(super) fn unseen(screen: &mut Screen, record: &Record) {
    let unseen = summary::unseen(record);
    if unseen.is_empty() {
        return;
    }
    screen.heading("What could not be seen");
    for item in unseen {
        let first = [Span::quiet(format!("  {:<10}  ", item.state.word()))];
        let remedy = item.remedy.map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        screen.paragraph(&first, Tone::Plain, format!("{}: {}{remedy}", item.what.join(", "), item.reason));
    }
}

pub(super) fn noise(screen: &mut Screen, record: &Record) {
    let lines = summary::noise(record);
    if lines.is_empty() {
        return;
    }
    screen.heading("Noise");
    for line in lines {
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, &line);
    }
}

/// What stands behind the findings, and how to undo their remedies.
pub(super) fn evidence(screen: &mut Screen, record: &Record) {
    let findings = &record.diagnosis.findings;
    if findings.iter().all(|finding| finding.evidence.is_empty() && finding.undo.is_empty()) {
        return;
    }
    screen.heading("Evidence");
    for (number, finding) in findings.iter().enumerate() {
        let first = [Span::plain(format!("{:>3}. ", number + 1))];
        screen.paragraph(&first, Tone::Strong, &finding.rule);
        for evidence in &finding.evidence {
            let text = format!("{} ({})", evidence.says, evidence.from);
            screen.paragraph(&[Span::plain("     ")], Tone::Plain, &text);
        }
        for undo in &finding.undo {
            advice(screen, "     undo: ", undo);
        }
    }
}

/// How much of the figures a terminal has room for.
pub(super) fn room() -> Room {
    Room { rows: MOST, workloads: WORKLOADS, placements: 1, steps: 3 }
}

/// The figures, block by block; charts come last in theirs.
pub(super) fn figures(screen: &mut Screen, record: &Record) {
    for shown in blocks(record, room()) {
        block(screen, &shown, false);
    }
}

/// What stands below one heading: charts last. `spaced`: with an empty line between its parts.
pub(super) fn block(screen: &mut Screen, block: &Block, spaced: bool) {
    screen.heading(&block.title);
    let charts = |part: &&Part| matches!(part, Part::Chart(_));
    for (number, part) in block.parts.iter().filter(|part| !charts(part)).enumerate() {
        if number > 0 && spaced {
            screen.blank();
        }
        match part {
            Part::Table(table) => titled(screen, &block.title, table),
            Part::Heat(heat) => map(screen, heat),
            Part::Facts(facts) => pairs(screen, &facts.facts),
            Part::Says(text) => screen.paragraph(&[Span::plain("  ")], Tone::Plain, text),
            Part::Chart(_) | Part::Bars(_) => {}
        }
    }
    for part in &block.parts {
        if let Part::Chart(chart) = part {
            draw(screen, chart);
        }
    }
}

/// A table, below its own title where it is not the only thing below a heading.
fn titled(screen: &mut Screen, heading: &str, table: &Table) {
    // One that its first column says already is not said again.
    if table.title != heading && table.columns.first().is_none_or(|column| column.head != table.title) {
        screen.blank();
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, &table.title);
    }
    screen.table(table, 2);
}

/// A matrix with its legend; in words where the terminal is too narrow for it.
fn map(screen: &mut Screen, heat: &Heat) {
    screen.blank();
    screen.paragraph(&[Span::plain("  ")], Tone::Plain, format!("{} ({})", heat.heading(), heat.axes()));
    match chart::heat::terminal::draw(heat, screen.width() - 2) {
        Some(lines) => {
            screen.picture(lines);
            let legend = chart::heat::terminal::legend(heat);
            if !legend.is_empty() {
                screen.paragraph(&[Span::quiet("  ")], Tone::Quiet, &legend);
            }
        }
        None => screen.paragraph(&[Span::plain("  ")], Tone::Plain, heat.description()),
    }
    for note in &heat.notes {
        screen.paragraph(&[Span::quiet("  ")], Tone::Quiet, note);
    }
}

pub(super) fn draw(screen: &mut Screen, chart: &chart::Chart) {
    // Wider than this a curve gains nothing and the eye loses its names.
    let columns = (screen.width() - 2).min(110);
    screen.blank();
    screen.paragraph(&[Span::plain("  ")], Tone::Plain, &chart.title);
    match chart::terminal::draw(chart, columns) {
        Some(lines) => {
            screen.picture(lines);
        }
        None => {
            screen.paragraph(&[Span::plain("  ")], Tone::Plain, chart.description());
        }
    }
}

/// The widest key that leaves room for what stands behind it.
const WIDEST_KEY: usize = 32;

pub(super) fn pairs(screen: &mut Screen, facts: &[crate::contents::Fact]) {
    let at = facts.iter().map(|fact| width(&clean(&fact.key)) + 4).max().unwrap_or(0);
    for fact in facts {
        if at > WIDEST_KEY.min(screen.width() * 2 / 5) {
            screen.hanging("  ", "      ", format!("{}: {}", fact.key, fact.value));
        } else {
            screen.pair(&format!("  {}", fact.key), &fact.value, at.max(8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(share: Option<f64>) -> Resource {
        Resource {
            name: "core".to_owned(),
            unit: "Hz".to_owned(),
            ceiling: Some(4e9),
            source: None,
            delivered: 3e9,
            share,
            repeatability: None,
            usual: None,
            beside: None,
            meaning: String::new().into(),
            doubt: None,
        }
    }

    #[test]
    fn a_bar_says_its_share_in_figures_too() {
        assert_eq!(bar(&resource(Some(0.75))), ("█████████░░░".to_owned(), "75 %".to_owned()));
        assert_eq!(bar(&resource(Some(f64::NAN))).1, "-");
        assert_eq!(bar(&resource(Some(7.0))).0, "█".repeat(BAR));
    }
}
