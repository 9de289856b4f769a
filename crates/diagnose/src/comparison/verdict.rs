//! The answer in a few sentences: who is how much faster, what explains it, what to try, what to expect. It says nothing
//! that the explanations, what-ifs, orders and rows do not hold.

use record::Better;
use record::comparison::{
    Cause, Claim, Comparison, Difference, Explanation, FactKind, Order, Relation, Row, Support, WhatIf,
};
use record::phrase::{agree, join_most};
use record::statistics::Verdict;
use record::units::{figure, significant};

use super::explain::words;
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

/// The answer, a paragraph a result; empty where the records are the same one.
pub(super) fn state_verdict(c: &Comparison) -> Vec<String> {
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

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Two machines: the greatest difference, the greatest the other way round, and what programs see that wait for memory.
fn pair(c: &Comparison) -> Vec<String> {
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
    let mut said: Vec<String> = reported.iter().map(|e| result(c, e)).collect();
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
fn result(c: &Comparison, e: &Explanation) -> String {
    let (this, base) = (name(c, e.subject), name(c, c.baseline));
    let (fast, slow, times) =
        if e.speed >= 1.0 { (this, base, e.speed) } else { (base, this, 1.0 / e.speed) };
    let held = e.held_back.is_some();
    let mut said = match &e.held_back {
        Some(held) => {
            format!(
                "{}: {}; it is held back",
                capital(&held.work),
                held.says.to_string().trim_end_matches('.')
            )
        }
        // Alike in the whole and not in its parts.
        None if e.speed.ln().abs() < ALIKE && !e.adds_up => return e.says.to_string() + &judged(&e.claims),
        None => format!(
            "{}: {fast} is {} times as fast as {slow}",
            capital(&e.result.to_string()),
            significant(times)
        ),
    };
    let say = |despite: bool| -> Vec<String> {
        let of = e.causes.iter().filter(|cause| cause.despite == despite).take(MOST_CAUSES);
        of.map(|cause| format!("{} ({})", cause.name, cause.says)).collect()
    };
    if !e.adds_up && !held {
        let reported = |cause: &Cause| format!("{} ({})", cause.name, cause.says);
        let (lead, rest) = words::lead(e);
        said.push_str(&lead.map_or(String::new(), |lead| format!(", by {}", reported(lead))));
        let rest = &rest[..rest.len().min(MOST_CAUSES)];
        return said + "." + &words::beside(rest, lead.is_some(), reported) + &judged(&e.claims);
    }
    let (causes, despite) = (say(false), say(true));
    match causes.as_slice() {
        [] if held => said.push_str(" by what these figures do not tell"),
        [] if despite.is_empty() => said.push_str("; nothing in these figures explains it"),
        [] => {}
        all if words::is_little(e) => {
            let verb = agree(all.len(), "makes", "make");
            said.push_str(&format!("; of that {} {verb} little", join_most(all, MOST_CAUSES)));
        }
        [one] => said.push_str(&format!(", by {one}")),
        [first, rest @ ..] => said.push_str(&format!(", first by {first}, then {}", rest.join(", then "))),
    }
    if !held && !despite.is_empty() {
        said.push_str(&format!("; despite {}", join_most(&despite, MOST_CAUSES)));
    }
    said + "." + &words::left(e) + &judged(&e.claims)
}

/// Claims by whether the figures carry them.
fn judged(claims: &[Claim]) -> String {
    let mut words = String::new();
    for support in [Support::Supported, Support::Contradicted, Support::NotSupported] {
        let of: Vec<String> = claims
            .iter()
            .filter(|claim| claim.support == support)
            .map(|claim| format!("{} ({})", claim.claim, claim.why))
            .collect();
        if !of.is_empty() {
            words.push_str(&format!(" {}: {}.", capital(support.words()), of.join("; ")));
        }
    }
    words
}

/// What the slower one could do about it.
fn to_try(c: &Comparison, subject: usize) -> Option<String> {
    let mut of: Vec<&WhatIf> = c.what_if.iter().filter(|what| what.subject == subject).collect();
    let together = of.iter().position(|what| what.together);
    let together = together.map(|at| of.remove(at));
    let each: Vec<String> = of
        .iter()
        .map(|what| {
            let most = if what.at_most { "at most " } else { "" };
            format!(
                "{} ({} instead of {}: {most}{}×)",
                what.setting,
                what.then,
                what.now,
                significant(what.gain)
            )
        })
        .collect();
    let first = (!each.is_empty()).then(|| {
        format!("{} can do better (modelled) with {}.", name(c, subject), join_most(&each, MOST_LISTED))
    });
    match (first, together) {
        (Some(first), Some(together)) => Some(format!("{first} {}", together.says)),
        (first, together) => first.or(together.map(|together| together.says.to_string())),
    }
}

/// Without a result to explain: the figures that differ most.
fn apart(c: &Comparison) -> Option<String> {
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
    let said: Vec<String> =
        rows.iter().take(MOST_LISTED).filter_map(|(row, _)| against(c, row, other)).collect();
    Some(format!("No result that both have is explained. What differs most: {}.", said.join("; ")))
}

/// `load from memory 120 ns against 90.0 ns (1.33×)`.
fn against(c: &Comparison, row: &Row, other: usize) -> Option<String> {
    let (here, there) = (row.cells.get(other)?, row.cells.get(c.baseline)?);
    Some(format!(
        "{} {} against {} ({}×)",
        row.what,
        figure(here.value?, &row.unit),
        figure(there.value?, &row.unit),
        significant(here.ratio?)
    ))
}

/// Two records of one machine: what its figures and its settings did meanwhile.
fn since(c: &Comparison) -> Vec<String> {
    let Some(other) = (0..c.subjects.len()).find(|index| *index != c.baseline) else { return Vec::new() };
    let rows: Vec<(&Row, &record::comparison::Cell)> = c
        .rows
        .iter()
        .filter(|row| row.per.is_none())
        .filter_map(|row| Some((row, row.cells.get(other)?)))
        .filter(|(_, cell)| cell.verdict.is_some())
        .collect();
    let mut changed: Vec<&(&Row, &record::comparison::Cell)> =
        rows.iter().filter(|(_, cell)| cell.slower.is_some() && cell.ratio.is_some()).collect();
    // By how much figures in doubt changed is not told.
    let doubtful = |row: &Row| row.cells.iter().any(|cell| cell.doubt.is_some());
    let effect = |cell: &record::comparison::Cell| cell.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    // The surest first: far from 1 for the width of its interval.
    let sureness = |cell: &record::comparison::Cell| {
        let width = cell.interval.map_or(f64::INFINITY, |(low, high)| (high / low).ln());
        effect(cell) / width.max(f64::MIN_POSITIVE)
    };
    changed.sort_by(|a, b| sureness(b.1).total_cmp(&sureness(a.1)));
    let count = |slower: bool| changed.iter().filter(|(_, cell)| cell.slower == Some(slower)).count();
    let noisy =
        rows.iter().filter(|(_, cell)| matches!(cell.verdict, Some(Verdict::TooNoisy { .. }))).count();
    let figures = agree(rows.len(), "figure", "figures");
    let mut words = if changed.is_empty() {
        format!("Of {} {figures} none changed beyond noise", rows.len())
    } else {
        let sure = changed.iter().filter(|(row, _)| !doubtful(row));
        let most: Vec<String> =
            sure.take(MOST_LISTED).filter_map(|(row, _)| against(c, row, other)).collect();
        let mut words = format!(
            "Of {} {figures} {} became slower beyond noise, {} faster",
            rows.len(),
            count(true),
            count(false)
        );
        let by_chance = (rows.len() as f64 * BY_CHANCE).round() as usize;
        let slight = changed.iter().all(|(_, cell)| sureness(cell) < SURE);
        if changed.len() <= by_chance && slight {
            words.push_str(&format!(", no more than the {by_chance} that chance alone makes"));
        }
        if !most.is_empty() {
            words.push_str(&format!("; the surest: {}", most.join("; ")));
        }
        match changed.iter().filter(|(row, _)| doubtful(row)).count() {
            0 => {}
            all if all == changed.len() => words.push_str(", all of them figures in doubt"),
            some => words.push_str(&format!("; {some} of these are figures in doubt")),
        }
        words
    };
    words.push_str(&match noisy {
        0 => ".".to_owned(),
        noisy => format!("; {noisy} are too noisy to tell."),
    });
    vec![words, settings(c, other)]
}

/// Settings that changed, hardware first, and other work, which changes figures as a setting does.
fn settings(c: &Comparison, other: usize) -> String {
    let reported = |difference: &&Difference| difference.kind != FactKind::State;
    let instead = |difference: &Difference| {
        let value =
            |at: usize| difference.values.get(at).cloned().flatten().unwrap_or_else(|| "not told".to_owned());
        format!("{} instead of {}", value(other), value(c.baseline))
    };
    let changed = |difference: &Difference| format!("{} ({})", difference.what, instead(difference));
    let all: Vec<String> = c.differences.iter().filter(reported).map(changed).collect();
    let others = c.differences.iter().find(|difference| difference.what == OTHER_WORK);
    let others = others.map(|work| format!(" {OTHER_WORK}: {}.", instead(work))).unwrap_or_default();
    if all.is_empty() {
        return format!("Nothing that both tell of the machine and its settings changed.{others}");
    }
    format!("What changed on the machine: {}.{others}", join_most(&all, MOST_LISTED))
}

/// Many records: who lies far from the others, the order of the result that most of them have, and what was refused.
fn many(c: &Comparison) -> Vec<String> {
    let mut said = Vec::new();
    let far: Vec<String> = c.orders.iter().filter_map(|order| outliers(c, order)).collect();
    if !far.is_empty() {
        said.push(format!("Far from the others: {}.", join_most(&far, MOST_LISTED)));
    }
    // Of orders with as many records the first.
    let most = c.orders.iter().map(|order| order.ranks.len()).max().unwrap_or(0);
    if let Some(order) = c.orders.iter().find(|order| order.ranks.len() == most) {
        said.push(ranked(c, order));
    }
    let neighbours: Vec<&Claim> = c
        .explanations
        .iter()
        .flat_map(|e| &e.claims)
        .filter(|claim| claim.claim == super::explain::NEIGHBOURS.into())
        .collect();
    if neighbours.len() + 1 >= c.subjects.len()
        && neighbours.iter().all(|claim| claim.support == Support::NotSupported)
    {
        said.push(format!(
            "That {} take time is {}.",
            super::explain::NEIGHBOURS,
            Support::NotSupported.words()
        ));
    }
    if let Some(refused) = c.refused.iter().find(|refusal| refusal.system_wide) {
        let of: Vec<String> = refused.subjects.iter().map(|subject| name(c, *subject).to_owned()).collect();
        said.push(format!(
            "Refused: {} of {}: {}.",
            refused.metrics.join(", "),
            join_most(&of, MOST_LISTED),
            refused.why
        ));
    }
    said
}

fn outliers(c: &Comparison, order: &Order) -> Option<String> {
    let of: Vec<String> = order
        .ranks
        .iter()
        .filter(|rank| rank.outlier)
        .map(|rank| format!("{} ({})", name(c, rank.subject), figure(rank.value, &order.unit)))
        .collect();
    let middle = order.ranks.get(order.ranks.len() / 2)?;
    (!of.is_empty()).then(|| {
        format!(
            "{}, {}, half of them {}",
            order.result,
            join_most(&of, MOST_LISTED),
            figure(middle.value, &order.unit)
        )
    })
}

/// The best, the others in their order, and how far the last is behind.
fn ranked(c: &Comparison, order: &Order) -> String {
    let (Some(first), Some(last)) = (order.ranks.first(), order.ranks.last()) else { return String::new() };
    let row = c.rows.iter().find(|row| row.metric == order.metric && row.per.is_none());
    let lower = row.and_then(|row| row.better) == Some(Better::Lower);
    let ratio = if lower { last.value / first.value } else { first.value / last.value };
    let reported = |rank: &record::comparison::Rank| {
        format!("{} ({})", name(c, rank.subject), figure(rank.value, &order.unit))
    };
    let places: Vec<String> = if order.ranks.len() <= MOST_LISTED * 2 {
        order.ranks.iter().map(reported).collect()
    } else {
        let mut ends: Vec<String> = order.ranks.iter().take(MOST_LISTED).map(reported).collect();
        ends.push(format!("… {} more …", order.ranks.len() - MOST_LISTED - 1));
        ends.push(reported(last));
        ends
    };
    let mut words = format!("{}, the best first: {}", capital(&order.result.to_string()), places.join(", "));
    if ratio.is_finite() && ratio > 1.0 {
        words.push_str(&format!("; the first is {} times as fast as the last", significant(ratio)));
    }
    words.push('.');
    if !order.says.is_empty() {
        words.push_str(&format!(" {}", order.says));
    }
    words
}
