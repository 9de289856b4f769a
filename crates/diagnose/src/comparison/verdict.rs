//! The answer in a few sentences: who is how much faster, what explains it, what to try, what to expect. It says nothing
//! that the explanations, what-ifs, orders and rows do not hold.

use record::comparison::{
    Cell, Claim, Comparison, Difference, Explanation, FactKind, Order, Rank, Relation, Row, Support, WhatIf,
};
use record::phrase::count_noun;
use record::statistics::Verdict;
use record::text::Value;
use record::units::figure;
use record::{Better, Template, Text, text};

use super::explain::{NEIGHBOURS, words};
use super::facts::OTHER_WORK;

/// Results that are told of two machines.
const MOST_RESULTS: usize = 3;
/// Results nearer than this are alike, on the scale of logarithms.
const ALIKE: f64 = 0.05;
/// The share of figures that did not change and whose 95 % interval says that they did.
const BY_CHANCE: f64 = 0.05;
/// Changes larger than the width of their 95 % interval, which is four times the deviation, are no work of chance among
/// any number of figures that a record has.
const SURE: f64 = 1.0;
/// Causes of a result that are told.
const MOST_CAUSES: usize = 3;
/// Figures, settings and records that are told of a longer list.
const MOST_LISTED: usize = 3;

/// What some of two machines' figures did.
pub(super) const CHANGED: Template = Template {
    code: "comparison-changed",
    words: "Slower beyond noise: {slower} of {figures}; faster: {faster}.",
};
/// What none of them did.
pub(super) const NONE_CHANGED: Template =
    Template { code: "comparison-none-changed", words: "No change beyond noise in {figures}." };
/// As many changes as chance makes.
pub(super) const BY_CHANCE_ALONE: Template = Template {
    code: "comparison-by-chance",
    words: "That is no more than the {by_chance} expected by chance.",
};
/// Changes that are the furthest from chance.
pub(super) const MOST_CERTAIN: Template =
    Template { code: "comparison-most-certain", words: "Most certain: {changes}." };
/// Results of many records by their order.
pub(super) const RANKED: Template =
    Template { code: "comparison-ranked", words: "{result}, best first: {places}." };

/// The answer, a paragraph a result; empty where the records are the same one.
pub(super) fn state_verdict(c: &Comparison) -> Vec<Text> {
    match (c.relation, c.subjects.len()) {
        (Relation::SameRecord, _) | (_, 0 | 1) => Vec::new(),
        (Relation::SameMachine, 2) => since(c),
        (_, 2) => pair(c),
        _ => many(c),
    }
}

fn name(c: &Comparison, subject: usize) -> &str {
    c.subjects.get(subject).map_or("", |subject| &subject.name)
}

/// The first of several, and how many more there are.
fn first_of(mut all: Vec<Text>) -> Vec<Text> {
    let more = all.len().saturating_sub(MOST_LISTED);
    all.truncate(MOST_LISTED);
    if more > 0 {
        all.push(text!("comparison-more", "{more} more", more));
    }
    all
}

/// Two machines: the greatest difference, the greatest the other way round, and what programs see that wait for memory.
fn pair(c: &Comparison) -> Vec<Text> {
    let held = c.explanations.iter().find(|e| e.held_back.is_some());
    let mut reported: Vec<&Explanation> = held.into_iter().collect();
    let memory = |e: &&Explanation| !e.adds_up;
    if held.is_none() {
        let first = c.explanations.first();
        reported.extend(first);
        let opposite = first.and_then(|first| {
            c.explanations.iter().find(|e| (e.speed > 1.0) != (first.speed > 1.0) && !memory(e))
        });
        reported.extend(opposite);
        reported.extend(c.explanations.iter().find(memory).filter(|e| !reported.iter().any(|had| had == e)));
        reported.truncate(MOST_RESULTS);
    }
    let mut said: Vec<Text> = reported.iter().map(|e| result(c, e)).collect();
    if said.is_empty() {
        said.extend(apart(c));
    }
    let slower: Vec<usize> = reported.iter().map(|e| slower(c, e)).collect();
    for subject in 0..c.subjects.len() {
        if slower.contains(&subject) {
            said.extend(to_try(c, subject));
        }
    }
    said
}

/// Which of the two is the one to be helped: the slower one, or the one whose cores do no more.
fn slower(c: &Comparison, e: &Explanation) -> usize {
    let more_cores = e.causes.iter().any(|cause| cause.despite && cause.factor > 1.0);
    let this = if e.held_back.is_some() { more_cores } else { e.speed <= 1.0 };
    if this { e.subject } else { c.baseline }
}

/// One result with its causes, and what is held for a cause without being one.
fn result(c: &Comparison, e: &Explanation) -> Text {
    let mut said = match &e.held_back {
        Some(held) => {
            let work = &held.work;
            let mut said = text!("comparison-held-back-work", "{work}: {says}", work, says = &held.says);
            said.push(words::list_limits(&e.causes, MOST_CAUSES, words::with_figures));
            said
        }
        // Alike in the whole and not in its parts.
        None if e.speed.ln().abs() < ALIKE && !e.adds_up => e.says.clone(),
        None => {
            let mut said = words::describe_speed(&e.result, name(c, e.subject), name(c, c.baseline), e.speed);
            said.push(words::list_causes(e, MOST_CAUSES, words::with_figures));
            said
        }
    };
    said.push(judged(&e.claims));
    said
}

/// Claims by whether the figures carry them.
fn judged(claims: &[Claim]) -> Text {
    let mut claims: Vec<&Claim> = claims.iter().collect();
    claims.sort_by_key(|claim| claim.support);
    Text::sequence(claims.iter().map(|claim| claim.support.judge(&claim.claim, &claim.why)))
}

/// What the slower one could do about it.
fn to_try(c: &Comparison, subject: usize) -> Option<Text> {
    let mut of: Vec<&WhatIf> = c.what_if.iter().filter(|what| what.subject == subject).collect();
    let together = of.iter().position(|what| what.together);
    let together = together.map(|at| of.remove(at));
    let each: Vec<Text> = of.iter().map(|what| with_gain(what)).collect();
    let mut said = Text::default();
    if !each.is_empty() {
        said = text!(
            "comparison-to-try",
            "{who} could gain (modelled) from {settings}.",
            who = name(c, subject).to_owned(),
            settings = first_of(each)
        );
    }
    if let Some(together) = together {
        said.push(together.says.clone());
    }
    (!said.is_empty()).then_some(said)
}

/// A setting and what it gains.
fn with_gain(what: &WhatIf) -> Text {
    let (setting, then, now, gain) = (&what.setting, &what.then, &what.now, Value::Factor(what.gain));
    if what.at_most {
        text!(
            "comparison-gain-at-most",
            "{setting} ({then} instead of {now}: at most {gain})",
            setting,
            then,
            now,
            gain
        )
    } else {
        text!("comparison-gain", "{setting} ({then} instead of {now}: {gain})", setting, then, now, gain)
    }
}

/// Without a result to explain: the figures that differ most.
fn apart(c: &Comparison) -> Option<Text> {
    let other = (0..c.subjects.len()).find(|index| *index != c.baseline)?;
    let mut rows: Vec<(&Row, f64)> = c
        .rows
        .iter()
        .filter(|row| row.per.is_none() && row.better.is_some())
        .filter_map(|row| Some((row, row.cells.get(other)?.ratio?)))
        .filter(|(_, ratio)| ratio.is_finite() && *ratio > 0.0)
        .collect();
    if rows.is_empty() {
        return None;
    }
    rows.sort_by(|a, b| b.1.ln().abs().total_cmp(&a.1.ln().abs()));
    let rows: Vec<Text> =
        rows.iter().take(MOST_LISTED).filter_map(|(row, _)| against(c, row, other)).collect();
    Some(text!(
        "comparison-largest-differences",
        "No shared result has an explanation. Largest differences: {rows}.",
        rows
    ))
}

/// `load from memory 120 ns against 90.0 ns (1.33×)`.
fn against(c: &Comparison, row: &Row, other: usize) -> Option<Text> {
    let (here, there) = (row.cells.get(other)?, row.cells.get(c.baseline)?);
    Some(text!(
        "comparison-row-against",
        "{row} {this} against {base} ({ratio})",
        row = &row.what,
        this = figure(here.value?, &row.unit),
        base = figure(there.value?, &row.unit),
        ratio = Value::Factor(here.ratio?)
    ))
}

/// Two records of one machine: what its figures and its settings did meanwhile.
fn since(c: &Comparison) -> Vec<Text> {
    let Some(other) = (0..c.subjects.len()).find(|index| *index != c.baseline) else { return Vec::new() };
    let rows: Vec<(&Row, &Cell)> = c
        .rows
        .iter()
        .filter(|row| row.per.is_none())
        .filter_map(|row| Some((row, row.cells.get(other)?)))
        .filter(|(_, cell)| cell.verdict.is_some())
        .collect();
    let mut said = changes(c, &rows, other);
    let noisy =
        rows.iter().filter(|(_, cell)| matches!(cell.verdict, Some(Verdict::TooNoisy { .. }))).count();
    if noisy > 0 {
        said.push(text!("comparison-too-noisy", "Too noisy to tell: {noisy}.", noisy));
    }
    vec![said, settings(c, other)]
}

/// Figures that changed beyond noise.
fn changes(c: &Comparison, rows: &[(&Row, &Cell)], other: usize) -> Text {
    let figures = count_noun(rows.len(), "figure");
    let mut changed: Vec<&(&Row, &Cell)> =
        rows.iter().filter(|(_, cell)| cell.slower.is_some() && cell.ratio.is_some()).collect();
    if changed.is_empty() {
        return text!(NONE_CHANGED, figures);
    }
    // By how much figures in doubt changed is not told.
    let doubtful = |row: &Row| row.cells.iter().any(|cell| cell.doubt.is_some());
    let effect = |cell: &Cell| cell.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    // The surest first: far from 1 for the width of its interval.
    let sureness = |cell: &Cell| {
        let width = cell.interval.map_or(f64::INFINITY, |(low, high)| (high / low).ln());
        effect(cell) / width.max(f64::MIN_POSITIVE)
    };
    changed.sort_by(|a, b| sureness(b.1).total_cmp(&sureness(a.1)));
    let count = |slower: bool| changed.iter().filter(|(_, cell)| cell.slower == Some(slower)).count();
    let mut said = text!(CHANGED, slower = count(true), figures, faster = count(false));
    let by_chance = (rows.len() as f64 * BY_CHANCE).round() as usize;
    let slight = changed.iter().all(|(_, cell)| sureness(cell) < SURE);
    if changed.len() <= by_chance && slight {
        said.push(text!(BY_CHANCE_ALONE, by_chance));
    }
    let sure = changed.iter().filter(|(row, _)| !doubtful(row));
    let most: Vec<Text> = sure.take(MOST_LISTED).filter_map(|(row, _)| against(c, row, other)).collect();
    if !most.is_empty() {
        said.push(text!(MOST_CERTAIN, changes = most));
    }
    let in_doubt = changed.iter().filter(|(row, _)| doubtful(row)).count();
    if in_doubt > 0 {
        said.push(text!("comparison-changes-in-doubt", "Of these in doubt: {in_doubt}.", in_doubt));
    }
    said
}

/// Nothing in the inventory changed.
pub(super) const SAME_SETTINGS: Template = Template {
    code: "comparison-same-settings",
    words: "Same hardware, kernel and settings, as far as both records show.",
};
/// What changed in the inventory.
pub(super) const CHANGED_SETTINGS: Template =
    Template { code: "comparison-changed-settings", words: "Changed on the machine: {changes}." };

/// Settings that changed, hardware first, and other work, which changes figures as a setting does.
fn settings(c: &Comparison, other: usize) -> Text {
    let values = |difference: &Difference| {
        let value = |at: usize| match difference.values.get(at).cloned().flatten() {
            Some(value) => Text::from(value),
            None => text!("comparison-not-recorded", "not recorded"),
        };
        (difference.what.clone(), value(other), value(c.baseline))
    };
    let changes: Vec<Text> = c
        .differences
        .iter()
        .filter(|difference| difference.kind != FactKind::State)
        .map(|difference| {
            let (what, now, before) = values(difference);
            text!("comparison-change", "{what} ({now} instead of {before})", what, now, before)
        })
        .collect();
    let mut said = match changes.is_empty() {
        true => text!(SAME_SETTINGS),
        false => text!(CHANGED_SETTINGS, changes = first_of(changes)),
    };
    if let Some(work) = c.differences.iter().find(|difference| difference.code == OTHER_WORK.code) {
        let (what, now, before) = values(work);
        said.push(text!("comparison-changed-load", "{what}: {now} instead of {before}.", what, now, before));
    }
    said
}

/// Many records: who lies far from the others, the order of the result that most of them have, and what was refused.
fn many(c: &Comparison) -> Vec<Text> {
    let mut said = Vec::new();
    let far: Vec<Text> = c.orders.iter().filter_map(|order| outliers(c, order)).collect();
    if !far.is_empty() {
        said.push(text!("comparison-outliers", "Outliers: {results}.", results = first_of(far)));
    }
    // Of orders with as many records the first.
    let most = c.orders.iter().map(|order| order.ranks.len()).max().unwrap_or(0);
    if let Some(order) = c.orders.iter().find(|order| order.ranks.len() == most) {
        said.extend(ranked(c, order));
    }
    let neighbours: Vec<&Claim> =
        c.explanations.iter().flat_map(|e| &e.claims).filter(|claim| claim.code == NEIGHBOURS.code).collect();
    if neighbours.len() + 1 >= c.subjects.len()
        && neighbours.iter().all(|claim| claim.support == Support::NotSupported)
    {
        said.push(text!(
            "comparison-no-neighbours",
            "Not supported by the figures: time taken by {neighbours}.",
            neighbours = text!(NEIGHBOURS)
        ));
    }
    if let Some(refused) = c.refused.iter().find(|refusal| refusal.system_wide) {
        let of = refused.subjects.iter().map(|subject| Text::from(name(c, *subject))).collect();
        said.push(text!(
            "comparison-not-comparable",
            "Not comparable: {metrics} of {subjects} ({why}).",
            metrics = refused.metrics.join(", "),
            subjects = first_of(of),
            why = &refused.why
        ));
    }
    said
}

/// A record with its figure.
fn place(c: &Comparison, order: &Order, rank: &Rank) -> Text {
    let value = figure(rank.value, &order.unit);
    text!("comparison-place", "{who} ({value})", who = name(c, rank.subject).to_owned(), value)
}

fn outliers(c: &Comparison, order: &Order) -> Option<Text> {
    let of: Vec<Text> =
        order.ranks.iter().filter(|rank| rank.outlier).map(|rank| place(c, order, rank)).collect();
    let middle = order.ranks.get(order.ranks.len() / 2)?;
    (!of.is_empty()).then(|| {
        text!(
            "comparison-outliers-of",
            "{result}, {outliers}, median {median}",
            result = &order.result,
            outliers = first_of(of),
            median = figure(middle.value, &order.unit)
        )
    })
}

/// The best, the others in their order, and how far the last is behind.
fn ranked(c: &Comparison, order: &Order) -> Option<Text> {
    let (first, last) = (order.ranks.first()?, order.ranks.last()?);
    let row = c.rows.iter().find(|row| row.metric == order.metric && row.per.is_none());
    let lower = row.and_then(|row| row.better) == Some(Better::Lower);
    let ratio = if lower { last.value / first.value } else { first.value / last.value };
    let all = || order.ranks.iter().map(|rank| place(c, order, rank));
    let places: Vec<Text> = if order.ranks.len() <= MOST_LISTED * 2 {
        all().collect()
    } else {
        let mut ends: Vec<Text> = all().take(MOST_LISTED).collect();
        let more = order.ranks.len() - MOST_LISTED - 1;
        ends.push(text!("comparison-more-places", "… {more} more …", more));
        ends.push(place(c, order, last));
        ends
    };
    let mut said = text!(RANKED, result = &order.result, places);
    if ratio.is_finite() && ratio > 1.0 {
        let times = Value::Factor(ratio);
        said.push(text!("comparison-first-to-last", "The first is {times} as fast as the last.", times));
    }
    said.push(order.says.clone());
    Some(said)
}
