//! A reference machine on one screen: its description, its results by metric, and the claims of the document, refuted ones first.

use std::collections::BTreeMap;

use record::phrase::{count_noun, quote_word};
use record::{Measurement, Metric, Record, metrics, units};
use reference::claims::{JudgedClaim, Verdict};

use super::screen::Screen;
use super::{answer, report};
use crate::contents::claims;
use crate::paint::{Span, Tone};
use crate::text::{pad_right, width};

/// Maximum number of metrics whose results are summarized.
const METRICS: usize = 5;

/// `linespeed reference NAME`: the answer on one screen (the description, the results, and as many of the claims as fit). If `all` is set,
/// every table and every claim is shown above the answer.
pub fn reference(screen: &mut Screen, record: &Record, answers: &[JudgedClaim], all: bool, shown_by: &str) {
    let all = all || !screen.is_terminal();
    if all {
        report::write(screen, record, None);
        every(screen, answers);
    }
    screen.begin_answer(all);
    answer::begin(screen, record);
    figures(screen, record);
    screen.blank();
    if !answers.is_empty() {
        screen.line(&[Span::strong(claims::counted(answers))]);
    }
    let end = screen.lines().saturating_add(screen.left(1));
    let mut shown = 0;
    for one in claims::worst_first(answers) {
        let tone = if one.verdict == Verdict::DoesNotHold { Tone::Warning } else { Tone::Plain };
        let id = Span::plain(format!("  {}  ", pad_right(&one.id, 3)));
        let verdict = Span::new(tone, pad_right(claims::verdict(one), 15));
        let figures = claims::figures(one).map(|figures| format!(": {figures}")).unwrap_or_default();
        let before = screen.lines();
        screen.paragraph(&[id, verdict], Tone::Plain, format!("{}{figures}", one.says));
        if screen.lines() > end {
            screen.keep(before);
            break;
        }
        shown += 1;
    }
    let more = match answers.len().saturating_sub(shown) {
        0 => "tables, evidence".to_owned(),
        more => format!("{}, tables", count_noun(more, "more claim")),
    };
    screen.more(&format!("linespeed reference {} --all ({more})", quote_word(shown_by)));
}

/// Every claim with its verdict and the results.
fn every(screen: &mut Screen, answers: &[JudgedClaim]) {
    let Some(first) = answers.first() else { return };
    screen.heading(&claims::counted(answers));
    screen.hanging("  of ", "  ", &first.document);
    for answer in claims::worst_first(answers) {
        let id = format!("  {}  ", pad_right(&answer.id, 3));
        let words = format!("{}: {}; {}", answer.says, claims::verdict(answer), claims::why(answer));
        screen.hanging(&id, "       ", words);
        for figure in &answer.evidence {
            screen.hanging("       - ", "         ", claims::evidence(figure));
        }
    }
}

/// A metric's results in one line: their number and range.
fn figures(screen: &mut Screen, record: &Record) {
    let mut of: BTreeMap<Metric, Vec<&Measurement>> = BTreeMap::new();
    for m in record.measurements.iter().filter(|m| m.metric != metrics::COUNTER_COUNT) {
        of.entry(m.metric).or_default().push(m);
    }
    let names = of.keys().map(|name| width(name.name())).max().unwrap_or(0);
    for (name, all) in of.iter().take(METRICS) {
        let least = all.iter().map(|m| m.value()).fold(f64::INFINITY, f64::min);
        let most = all.iter().map(|m| m.value()).fold(f64::NEG_INFINITY, f64::max);
        let unit = all.first().map_or("", |m| m.unit.as_str());
        let [least, most] = [least, most].map(|value| units::figure(value, unit));
        let reach = match (all.len(), least.split_once(' '), most.split_once(' ')) {
            (1, ..) => most.clone(),
            (several, Some((number, one)), Some((_, other))) if one == other => {
                format!("{number} to {most} ({several} results)")
            }
            (several, ..) => format!("{least} to {most} ({several} results)"),
        };
        screen.line(&[Span::plain(format!("  {}  {reach}", pad_right(name.name(), names)))]);
    }
}
