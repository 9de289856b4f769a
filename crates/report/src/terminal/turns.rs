//! What `linespeed stat` says of several commands that were run in turn.

use record::in_turn::alone;
use record::turns::{CommandInTurn, Turns};
use record::{Coverage, Record};

use super::screen::Screen;
use super::{Style, answer, brief, report, stat};
use crate::contents::conditions;
use crate::contents::summary;
use crate::contents::turns::{describe_rounds, table};
use crate::paint::{Span, Tone};
use crate::text::clean;

/// Lines of how a command stands against the first, of what else differs, and of what bound one.
const SAYS: usize = 2;
const EXPLAINED: usize = 2;
const BOUND: usize = 2;
/// Of more commands each has one line.
const FEW: usize = 3;
/// Characters of a command in the table.
const NAME: usize = 20;

/// Which is faster and what bounds each, on one screen. Above it, where `all` is asked for, the report of each command.
pub(super) fn turns_answer(
    record: &Record,
    turns: &Turns,
    all: bool,
    shown_by: &str,
    style: &Style,
) -> String {
    let whole = || {
        Screen::draw(style, |screen| {
            for one in &turns.commands {
                let mut own = alone(record, &one.workload);
                own.diagnosis.bound.clone_from(&one.bound);
                stat::write(screen, &own);
                screen.blank();
            }
            report::write(screen, record);
        })
    };
    brief::above(all, style, whole, |screen| write_answer(screen, record, turns, shown_by))
}

fn write_answer(screen: &mut Screen, record: &Record, turns: &Turns, shown_by: &str) {
    let short = |most: usize| if turns.commands.len() > FEW { 1 } else { most };
    let against = || turns.commands.iter().filter_map(|one| one.against_first.as_ref());
    for one in against() {
        screen.paragraph(&[], Tone::Strong, &one.says);
    }
    answer::cut(screen, &[Span::plain(describe_rounds(record))]);
    if let Some(floor) = &turns.floor_says {
        screen.short(SAYS, "", "  ", floor);
    }
    screen.short(SAYS, "", "  ", summary::noise_in_a_line(record));
    if let Some(quiet) = conditions::quiet(&record.conditions) {
        answer::cut(screen, &[Span::plain(quiet)]);
    }
    screen.blank();
    let mut table = table(record, turns);
    for row in &mut table.rows {
        if let Some(name) = row.get_mut(1) {
            *name = crate::text::cut(&clean(name), NAME);
        }
    }
    screen.table(&table.without_notes(), 2);
    screen.blank();
    for one in against().filter(|one| !one.explained.is_empty()) {
        let says: Vec<String> = one.explained.iter().map(ToString::to_string).collect();
        screen.short(short(EXPLAINED), "", "  ", says.join(" "));
    }
    for (at, one) in turns.commands.iter().enumerate() {
        if let Some(bound) = bound(at, one) {
            screen.short(short(BOUND), "", "  ", bound);
        }
    }
    let lost: Vec<&Coverage> = stat::lost(record).map(|(of, _)| of).collect();
    let lost: Vec<(String, String)> = lost.into_iter().map(|of| (of.what.clone(), of.why())).collect();
    answer::unseen_why(screen, &lost);
    answer::more(screen, record, shown_by, 0);
}

/// What bounds a command, by its number.
fn bound(at: usize, one: &CommandInTurn) -> Option<String> {
    let bound = one.bound.as_ref()?;
    Some(format!("{}: bound by {}: {}", at + 1, bound.by.name(), bound.says))
}
