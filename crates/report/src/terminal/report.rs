//! The first screen of a report, and the details below it.

use record::diagnosis::{Finding, Severity};
use record::{Record, Remedy};

use super::room::ITEMS;
use super::screen::Screen;
use super::{answer, markdown};
use crate::chart;
use crate::chart::heat::Heat;
use crate::contents::block::{Block, Item, Part, Room};
use crate::contents::blocks::blocks;
use crate::contents::{conditions, finding, loss_breakdown, provenance, summary};
use crate::paint::{Span, Tone};
use crate::table::Table;
use crate::text::width;

/// The maximum numbers of rows, workloads and placements on a terminal. A normal run does not measure the scaling of more than this many
/// workloads.
pub(super) const ROOM: Room = Room { rows: 16, workloads: 3, placements: 1 };

/// The report: the machine, noise, distance from line speed, findings, missing measurements, and the results in
/// detail. `shown_by`: the name that `linespeed show` accepts for this record, if known.
pub fn write(screen: &mut Screen, record: &Record, shown_by: Option<&str>) {
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
        screen.say(quiet);
    }
    block(screen, &noise(record), false);
    block(screen, &provenance::contradictions(record), false);
    if !(record.diagnosis.resources.is_empty() && record.diagnosis.not_reached.is_empty()) {
        screen.heading("Distance from line speed");
        answer::headlines(screen, record, true);
        for resource in &record.diagnosis.resources {
            let why = resource.doubt.iter().map(|doubt| format!("{} unreliable: {doubt}", resource.name));
            why.for_each(|why| screen.hanging("  ", "    ", why));
        }
    }
    // A command has its own verdict.
    if record.diagnosis.bound.is_none() || !record.diagnosis.findings.is_empty() {
        findings(screen, record, shown_by);
    }
    unseen(screen, record);
    block(screen, &loss_breakdown::block(record), false);
    evidence(screen, record);
    figures(screen, record);
    block(screen, &provenance::outputs(record), false);
}

/// The full report, followed by the answer.
pub(super) fn above_answer(screen: &mut Screen, record: &Record, all: bool, shown_by: Option<&str>) {
    if all {
        write(screen, record, shown_by);
    }
    screen.begin_answer(all);
}

/// A finding's tone: an unresolved loss is never colored.
fn tone(finding: &Finding) -> Tone {
    match finding.severity {
        _ if !finding::resolved(&finding.loss) => Tone::Plain,
        Severity::Note => Tone::Plain,
        Severity::Warning => Tone::Warning,
        Severity::Serious => Tone::Serious,
    }
}

/// The findings, each with its loss and remedies.
pub(super) fn findings(screen: &mut Screen, record: &Record, shown_by: Option<&str>) {
    let findings = &record.diagnosis.findings;
    screen.heading("What costs speed");
    if findings.is_empty() {
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, summary::nothing(record, usize::MAX));
    }
    for (number, finding) in findings.iter().enumerate() {
        let first = [Span::plain(format!("{:>3}. ", number + 1))];
        let place = finding::place(finding).map(|place| format!(" ({place})")).unwrap_or_default();
        screen.paragraph(&first, Tone::Strong, format!("{}{place}", finding.what));
        let severity = Span::new(tone(finding), format!("     {}: ", finding.severity));
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
        // If text and command do not fit on one line, the command is written below the text.
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
    screen.heading("Not seen");
    for item in unseen {
        let first = [Span::quiet(format!("  {:<10}  ", item.state.word()))];
        let remedy = item.remedy.map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        screen.paragraph(&first, Tone::Plain, format!("{}: {}{remedy}", item.what.join(", "), item.reason));
    }
}

pub(super) fn noise(record: &Record) -> Block {
    Block::new("Noise", None, summary::noise(record).into_iter().map(Part::Says).collect())
}

/// The evidence for the findings, and how to undo their remedies.
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

/// The results, block by block; charts come last in each block.
pub(super) fn figures(screen: &mut Screen, record: &Record) {
    blocks(record, ROOM).iter().for_each(|one| block(screen, one, false));
}

/// The parts below one heading. Charts come last and are shown only with `--all`. If `spaced` is set, the parts are separated by empty
/// lines.
pub(super) fn block(screen: &mut Screen, block: &Block, spaced: bool) {
    if block.is_empty() {
        return;
    }
    screen.blank();
    if !block.title.is_empty() {
        screen.heading(&block.title);
    }
    let charts = |part: &&Part| matches!(part, Part::Chart(_));
    for (number, part) in block.parts.iter().filter(|part| !charts(part)).enumerate() {
        if number > 0 && spaced {
            screen.blank();
        }
        match part {
            Part::Table(table) => titled(screen, &block.title, table),
            Part::Heat(heat) => map(screen, heat),
            Part::Facts(facts) => screen.facts(&facts.facts, "  ", 0, usize::MAX),
            Part::Says(text) => screen.paragraph(&[Span::plain("  ")], Tone::Plain, text),
            Part::Items(all) => items(screen, all),
            Part::Commands(all) => {
                let most = screen.most(ITEMS, all.len());
                all.iter().take(most).for_each(|one| screen.command(&[Span::quiet("  $ ")], one));
                screen.and_more(all.len() - most, "--all");
            }
            Part::Chart(_) | Part::Bars(_) => {}
        }
    }
    for part in &block.parts {
        if let (Part::Chart(chart), true) = (part, screen.shows_all()) {
            draw(screen, chart);
        }
    }
}

fn items(screen: &mut Screen, all: &[Item]) {
    let most = screen.most(ITEMS, all.len());
    for item in &all[..most] {
        let others = if item.below.is_empty() { "    " } else { "      " };
        item.heads.iter().for_each(|head| screen.hanging("  ", others, head));
        let more = item.more.iter().filter(|_| screen.shows_all());
        let below: Vec<&String> = item.below.iter().chain(more).collect();
        below.into_iter().for_each(|line| screen.hanging("      ", "      ", line));
    }
    screen.and_more(all.len() - most, "--all");
}

/// A table, with its own title unless it is the only part of a section.
fn titled(screen: &mut Screen, heading: &str, table: &Table) {
    // A title that repeats the heading of the first column is omitted.
    if !heading.is_empty()
        && table.title != heading
        && table.columns.first().is_none_or(|column| column.head != table.title)
    {
        screen.blank();
        screen.paragraph(&[Span::plain("  ")], Tone::Plain, &table.title);
    }
    screen.table(table, 2);
}

/// A matrix with its legend or, if the terminal is too narrow, a description of the matrix in words.
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

/// A chart's lines in characters, as wide as the terminal allows.
fn draw(screen: &mut Screen, chart: &chart::Chart) {
    screen.blank();
    screen.paragraph(&[Span::plain("  ")], Tone::Plain, &chart.title);
    let columns = screen.width().saturating_sub(BESIDE_CURVE).clamp(8, 60);
    screen.table(&chart::spark::table(chart, columns), 2);
}

/// Width of a curve's name and of the values at its ends.
const BESIDE_CURVE: usize = 60;
