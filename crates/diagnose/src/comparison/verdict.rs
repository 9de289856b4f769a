//! The answer in a few sentences: the faster machine and by how much, the causes, possible fixes, and the expected gain. It only restates
//! the explanations, projections, rankings and rows.

use record::comparison::{
    Cell, Claim, Comparison, Difference, Explanation, FactKind, Order, Rank, Relation, Row, Support, WhatIf,
};
use record::difference::{MUCH, Verdict};
use record::phrase::count_noun;
use record::text::Value;
use record::units::figure;
use record::{Template, Text, text};

use super::explain::{NEIGHBOURS, Speed, words};
use super::facts::OTHER_WORK;
use super::order::{certain_loss, disagree, effect, is_doubtful};
use super::projection::is_measured;

/// Share of unchanged results whose 95 % CI shows a change by chance.
const BY_CHANCE: f64 = 0.05;
/// A change larger than the width of its 95 % CI (four standard deviations) is not due to chance, no matter how many results a record
/// contains.
const SURE: f64 = 1.0;
/// Maximum number of causes listed for a result.
const MOST_CAUSES: usize = 3;
/// Maximum number of results, settings and records shown from a list.
const MOST_LISTED: usize = 3;

/// The number of results that are too noisy to decide.
pub const TOO_NOISY: Template = Template::new("comparison-too-noisy", "Results too noisy to judge: {noisy}.");
/// The largest slowdowns, ranked by the part that is certain, which is the end of the interval that is closer to 1.
pub(super) const SLOWER_MOST: Template =
    Template::new("comparison-slower-most", "Largest slowdowns: {changes}.");
/// The largest speedups, ranked in the same way.
pub(super) const FASTER_MOST: Template =
    Template::new("comparison-faster-most", "Largest speedups: {changes}.");

/// The answer, one paragraph per result; empty if all are the same record. `one_sided` are facts that not all records contain.
pub(super) fn state_verdict(c: &Comparison, one_sided: &[Text]) -> Vec<Text> {
    let other = (0..c.subjects.len()).find(|index| *index != c.baseline);
    match (c.relation, other) {
        (Relation::SameRecord, _) | (_, None) => Vec::new(),
        _ if c.subjects.len() > 2 => state_many(c),
        (Relation::SameMachine, Some(other)) => state_changes_since(c, other, one_sided),
        (_, Some(other)) => state_pair(c, other),
    }
}

fn subject_name(c: &Comparison, subject: usize) -> &str {
    c.subjects.get(subject).map_or("", |subject| &subject.name)
}

/// The first few items of a list, and the number of remaining items.
fn first_of(mut all: Vec<Text>) -> Vec<Text> {
    let more = all.len().saturating_sub(MOST_LISTED);
    all.truncate(MOST_LISTED);
    all.extend((more > 0).then(|| text!("{more} more")));
    all
}

/// The answer for two machines: the largest difference, the largest difference in the opposite direction, and the effect on memory-bound
/// programs.
fn state_pair(c: &Comparison, other: usize) -> Vec<Text> {
    let reported = select_explanations(&c.explanations);
    let mut said: Vec<Text> = reported.iter().map(|e| state_result(c, e)).collect();
    // A result is unexplained only if it differs by more than each measured cause, for example the core clock.
    let causes = reported.iter().flat_map(|e| &e.causes).filter(|cause| cause.measured);
    let causes = causes.flat_map(|c| std::iter::once(c).chain(&c.parts)).map(|c| c.factor);
    match reported.iter().map(|e| e.speed).chain(causes).map(|factor| factor.ln().abs()).reduce(f64::max) {
        None => said.extend(state_largest_differences(c, other)),
        Some(explained) => said.extend(state_larger_differences(c, other, explained)),
    }
    said.extend(state_wrappers(c, other));
    let slower: Vec<usize> = reported.iter().map(|e| find_slower(c, e)).collect();
    let slower = (0..c.subjects.len()).filter(|subject| slower.contains(subject));
    said.extend(slower.filter_map(|subject| state_what_to_try(c, subject)));
    said
}

/// The different wrappers of the two commands.
fn state_wrappers(c: &Comparison, other: usize) -> Option<Text> {
    let under = c.differences.iter().find(|one| one.code == "comparison-fact-run-under")?;
    let of = |subject: usize| under.values.get(subject).cloned().flatten();
    let (this, that, here, there) =
        (subject_name(c, c.baseline), subject_name(c, other), of(c.baseline)?, of(other)?);
    Some(text!("comparison-run-under", "Command run under: {here} ({this}), {there} ({that})."))
}

/// The explanations in the answer: only one if it explains why a machine does not benefit from more cores, otherwise a few of different
/// kinds.
fn select_explanations(all: &[Explanation]) -> Vec<&Explanation> {
    if let Some(held) = all.iter().find(|e| e.held_back.is_some()) {
        return vec![held];
    }
    let Some(first) = all.first() else { return Vec::new() };
    let opposite = all.iter().find(|e| (e.speed > 1.0) != (first.speed > 1.0) && e.adds_up);
    let mut selected: Vec<&Explanation> = [first].into_iter().chain(opposite).collect();
    let memory = all.iter().find(|e| !e.adds_up).filter(|e| !selected.contains(e));
    selected.extend(memory);
    selected
}

/// The machine that needs improvement: the slower one, or the one whose additional cores do not increase throughput.
fn find_slower(c: &Comparison, e: &Explanation) -> usize {
    let more_cores = e.causes.iter().any(|cause| cause.despite && cause.factor > 1.0);
    let this = if e.held_back.is_some() { more_cores } else { e.speed <= 1.0 };
    if this { e.subject } else { c.baseline }
}

/// Describes one result, its causes, and refuted causes.
fn state_result(c: &Comparison, e: &Explanation) -> Text {
    let mut said = match &e.held_back {
        Some(held) => {
            let work = &held.work;
            let mut said = text!("{work}: {says}", says = &held.says);
            said.push(words::list_limits(&e.causes, MOST_CAUSES, words::with_figures));
            said.push(words::state_limits_rest(e));
            said
        }
        // The machines are equal overall, but differ in individual causes.
        None if e.speed.ln().abs() < MUCH && !e.adds_up => e.says.clone(),
        None => {
            let (this, base) = (&c.subjects[e.subject].name, &c.subjects[c.baseline].name);
            let mut said = words::describe_speed(
                &e.result,
                this,
                base,
                Speed { factor: e.speed, unreliable: e.unreliable },
            );
            said.push(words::list_causes(e, MOST_CAUSES, words::with_figures));
            said.push(e.sizes.clone().unwrap_or_default());
            said
        }
    };
    said.push(state_claims(&e.claims));
    said
}

/// Lists claims, grouped by whether the results support them.
fn state_claims(claims: &[Claim]) -> Text {
    let mut claims: Vec<&Claim> = claims.iter().collect();
    claims.sort_by_key(|claim| claim.support);
    Text::sequence(claims.iter().map(|claim| claim.support.judge(&claim.claim, &claim.why)))
}

/// Possible fixes for the slower machine.
fn state_what_to_try(c: &Comparison, subject: usize) -> Option<Text> {
    let of_subject = c.what_if.iter().filter(|what| what.subject == subject);
    let (together, each): (Vec<&WhatIf>, Vec<&WhatIf>) = of_subject.partition(|what| what.together);
    let settings: Vec<Text> = each.into_iter().map(describe_gain).collect();
    let mut said = Text::default();
    if !settings.is_empty() {
        let (who, settings) = (subject_name(c, subject).to_owned(), first_of(settings));
        said = text!("comparison-to-try", "{who} could gain: {settings}.");
    }
    said.push(together.first().map(|what| what.says.clone()).unwrap_or_default());
    (!said.is_empty()).then_some(said)
}

/// The affected result, its gain and the setting; the setting comes last because narrow terminals truncate the line.
fn describe_gain(what: &WhatIf) -> Text {
    let (setting, then, now, acts_on) = (&what.setting, &what.then, &what.now, &what.acts_on);
    let most = if what.at_most { "at most " } else { "" };
    text!(
        "{acts_on} {gain} as fast with {setting} ({then} instead of {now}, {how})",
        gain = format!("{most}{}", Value::Factor(what.gain)),
        how = if is_measured(what) { "measured here" } else { "modelled" }
    )
}

/// The results before division by cores or CPUs, each with the other subject's cell.
fn find_whole_rows(c: &Comparison, other: usize) -> impl Iterator<Item = (&Row, &Cell)> {
    let whole = c.rows.iter().filter(|row| row.per.is_none());
    whole.filter_map(move |row| Some((row, row.cells.get(other)?)))
}

/// Smaller differences, on a logarithmic scale, are negligible.
const NOTED: f64 = 0.02;

/// Results of the machine itself, not of workloads or counters, that reliably differ by more than any explained result or its causes.
fn state_larger_differences(c: &Comparison, other: usize, explained: f64) -> Option<Text> {
    let is_of_machine = |row: &Row| !matches!(row.metric.family(), "workload" | "counter");
    let mut rows: Vec<(&Row, &Cell)> = find_whole_rows(c, other)
        .filter(|(row, of)| is_of_machine(row) && of.slower.is_some() && !is_doubtful(row))
        .filter(|(_, cell)| effect(cell) > explained + NOTED)
        .collect();
    rows.sort_by(|a, b| effect(b.1).total_cmp(&effect(a.1)));
    let rows = describe_first(c, &rows, other);
    (!rows.is_empty()).then(|| text!("Larger, unexplained differences: {rows}."))
}

/// The results that differ most, if no result could be explained.
fn state_largest_differences(c: &Comparison, other: usize) -> Option<Text> {
    let has_ratio = |cell: &Cell| cell.ratio.is_some_and(|ratio| ratio.is_finite() && ratio > 0.0);
    let rows: Vec<(&Row, &Cell)> = find_whole_rows(c, other).filter(|(_, cell)| has_ratio(cell)).collect();
    // Counts are listed only if there is nothing else, because they do not indicate speed.
    let (judged, counts): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(row, _)| row.better.is_some());
    let mut rows = if judged.is_empty() { counts } else { judged };
    // Certain differences come first, then doubtful ones, then negligible ones.
    let rank = |(row, cell): &(&Row, &Cell)| match is_doubtful(row) {
        false if effect(cell) >= NOTED => 0,
        true if matches!(cell.verdict, Some(Verdict::Costs { .. })) => 1,
        _ => 2,
    };
    rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then(effect(b.1).total_cmp(&effect(a.1))));
    (!rows.is_empty()).then(|| {
        let rows = describe_first(c, &rows, other);
        text!(
            "comparison-largest-differences",
            "No difference could be explained. Largest differences: {rows}."
        )
    })
}

fn describe_first(c: &Comparison, rows: &[(&Row, &Cell)], other: usize) -> Vec<Text> {
    rows.iter().take(MOST_LISTED).filter_map(|(row, _)| describe_row(c, row, other)).collect()
}

/// `load from memory 120 ns instead of 90.0 ns (0.75× as fast)`.
fn describe_row(c: &Comparison, row: &Row, other: usize) -> Option<Text> {
    let (here, there) = (row.cells.get(other)?, row.cells.get(c.baseline)?);
    let (this, base) = (figure(here.value?, &row.unit), figure(there.value?, &row.unit));
    // The speed, as in the plot: above 1, this subject is faster.
    let (speed, mark) = (Value::Factor(row.speed(here)?.0), if is_doubtful(row) { "?" } else { "" });
    let ratio = format!("{speed}{mark}{}", if row.better.is_some() { " as fast" } else { "" });
    Some(text!("{row} {this} instead of {base} ({ratio})", row = &row.what))
}

/// The answer for two records of one machine: changes in its results and settings.
fn state_changes_since(c: &Comparison, other: usize, one_sided: &[Text]) -> Vec<Text> {
    let rows = find_whole_rows(c, other).filter(|(_, cell)| cell.verdict.is_some());
    let (rows, mut others): (Vec<_>, Vec<_>) = rows.partition(|(_, cell)| is_judged(cell));
    let mut said = rows.first().map_or_else(Text::default, |_| state_changed_figures(c, &rows, other));
    let noisy = others.extract_if(.., |(_, of)| matches!(of.verdict, Some(Verdict::TooNoisy { .. }))).count();
    said.push(if noisy > 0 { text!(TOO_NOISY, noisy) } else { Text::default() });
    said.push(state_unjudged(c, others, other).unwrap_or_default());
    let said = [said, state_changed_settings(c, other, one_sided)];
    said.into_iter().filter(|text| !text.is_empty()).collect()
}

/// Whether samples show that there is a difference, or how large it is at most.
fn is_judged(cell: &Cell) -> bool {
    matches!(cell.verdict, Some(Verdict::Costs { .. } | Verdict::NotResolved { .. }))
}

/// The results that cannot be judged, such as single samples, and those that differ most among them.
fn state_unjudged(c: &Comparison, mut rows: Vec<(&Row, &Cell)>, other: usize) -> Option<Text> {
    rows.sort_by(|a, b| effect(b.1).total_cmp(&effect(a.1)));
    rows.first()?;
    let figures = count_noun(rows.len(), "result");
    let mut said = text!("comparison-unjudged", "Not judged: {figures} (single samples, or results of 0).");
    rows.retain(|(_, cell)| effect(cell) >= NOTED);
    let most = describe_first(c, &rows, other);
    let most = (!most.is_empty()).then(|| text!("Largest differences: {most}."));
    most.into_iter().for_each(|most| said.push(most));
    Some(said)
}

/// Describes results that changed beyond noise.
fn state_changed_figures(c: &Comparison, rows: &[(&Row, &Cell)], other: usize) -> Text {
    let figures = count_noun(rows.len(), "result");
    let mut changed: Vec<&(&Row, &Cell)> =
        rows.iter().filter(|(_, cell)| cell.slower.is_some() && cell.ratio.is_some()).collect();
    if changed.is_empty() {
        return text!("No change beyond noise in {figures}.");
    }
    // The certainty of a change: its distance from 1 relative to the width of its interval.
    let sureness = |cell: &Cell| {
        let width = cell.interval.map_or(f64::INFINITY, |(low, high)| (high / low).ln());
        effect(cell) / width.max(f64::MIN_POSITIVE)
    };
    // The change whose certain part is largest is listed first.
    changed.sort_by(|a, b| certain_loss(b.1).total_cmp(&certain_loss(a.1)));
    let count = |slower: bool| changed.iter().filter(|(_, cell)| cell.slower == Some(slower)).count();
    let (slower, faster) = (count(true), count(false));
    let mut said =
        text!("comparison-changed", "Changes beyond noise: {slower} of {figures} slower, {faster} faster.");
    let by_chance = (rows.len() as f64 * BY_CHANCE).round() as usize;
    if changed.len() <= by_chance && changed.iter().all(|(_, cell)| sureness(cell) < SURE) {
        said.push(text!("comparison-by-chance", "This is no more than the {by_chance} expected by chance."));
    }
    // The size of a change is not shown for unreliable results.
    let (unreliable, sure): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(row, _)| is_doubtful(row));
    // Slower results come first.
    for (slower, template) in [(true, SLOWER_MOST), (false, FASTER_MOST)] {
        let of_these = sure.iter().copied().filter(|(_, cell)| cell.slower == Some(slower));
        let most = describe_first(c, &of_these.collect::<Vec<_>>(), other);
        said.push(if most.is_empty() { Text::default() } else { text!(template, changes = most) });
    }
    let unsure = unreliable.len();
    let unsure = (unsure > 0).then(|| text!("Unreliable results among these: {unsure}."));
    unsure.into_iter().for_each(|unsure| said.push(unsure));
    said
}

/// Describes changes to the hardware, to settings, and to the load of other processes, which affects results like a setting. Facts that only
/// one record contains may have changed.
fn state_changed_settings(c: &Comparison, other: usize, one_sided: &[Text]) -> Text {
    let change = |difference: &Difference| {
        let value = |at: usize| difference.values.get(at).cloned().flatten();
        let [now, before] = [other, c.baseline].map(|at| value(at).unwrap_or_else(|| "not recorded".into()));
        (difference.what.clone(), format!("{now} instead of {before}"))
    };
    let settings = c.differences.iter().filter(|difference| difference.kind != FactKind::State).map(change);
    let changes: Vec<Text> = settings.map(|(what, change)| text!("{what} ({change})")).collect();
    let mut said = match changes.is_empty() {
        true if one_sided.is_empty() => text!("Both records show the same hardware, kernel and settings."),
        true => Text::default(),
        false => text!("Changes on the machine: {changes}.", changes = first_of(changes)),
    };
    if !one_sided.is_empty() {
        let facts = first_of(one_sided.to_vec());
        said.push(text!("comparison-one-sided", "Recorded in only one of the records: {facts}."));
    }
    if let Some(work) = c.differences.iter().find(|difference| difference.code == OTHER_WORK.code) {
        let (what, change) = change(work);
        said.push(text!("{what}: {change}."));
    }
    said
}

/// The answer for many records: outliers, the ranking by the result in which they differ most, the first ranking in another order, and
/// refused comparisons.
fn state_many(c: &Comparison) -> Vec<Text> {
    let mut said = Vec::new();
    let results: Vec<Text> = c.orders.iter().filter_map(|order| describe_outliers(c, order)).collect();
    said.extend((!results.is_empty()).then(|| text!("Outliers: {results}.", results = first_of(results))));
    let order = c.orders.first();
    said.extend(order.and_then(|order| state_order(c, order)));
    // The first result that ranks the same records in another order.
    let other = c.orders.iter().find(|other| order.is_some_and(|order| disagree(order, other)));
    let other = other.and_then(|other| state_order(c, other));
    said.extend(other.map(|other| text!("In another order: {other}")));
    let judged = c.rows.iter().filter(|row| row.per.is_none() && row.cells.iter().any(is_judged)).count();
    if said.is_empty() && judged > 0 {
        let figures = count_noun(judged, "result");
        said.push(text!("comparison-no-difference", "No difference beyond noise in {figures}."));
    }
    let claims = c.explanations.iter().flat_map(|e| &e.claims);
    let of_neighbours: Vec<&Claim> = claims.filter(|claim| claim.code == NEIGHBOURS.code).collect();
    let shown = of_neighbours.iter().any(|claim| claim.support != Support::NotSupported);
    if !shown && of_neighbours.len() + 1 >= c.subjects.len() {
        let neighbours = text!(NEIGHBOURS);
        said.push(text!("Not supported by the results: interference from {neighbours}."));
    }
    if let Some(refused) = c.refused.iter().find(|refusal| refusal.system_wide) {
        let subjects = refused.subjects.iter().map(|subject| Text::from(subject_name(c, *subject)));
        let (subjects, metrics) = (first_of(subjects.collect()), refused.metrics.join(", "));
        said.push(text!("Not comparable: {metrics} of {subjects} ({why}).", why = &refused.why));
    }
    said
}

/// Describes a record with its result.
fn describe_rank(c: &Comparison, order: &Order, rank: &Rank) -> Text {
    let value = figure(rank.value, &order.unit);
    text!("{who} ({value})", who = subject_name(c, rank.subject).to_owned())
}

fn describe_outliers(c: &Comparison, order: &Order) -> Option<Text> {
    let of: Vec<Text> =
        order.ranks.iter().filter(|rank| rank.outlier).map(|rank| describe_rank(c, order, rank)).collect();
    let median = figure(order.ranks.get(order.ranks.len() / 2)?.value, &order.unit);
    let (result, is_none, outliers) = (&order.result, of.is_empty(), first_of(of));
    (!is_none).then(|| text!("{result}, {outliers}, median {median}"))
}

/// Lists the records in order, best first, and compares the first with the last.
fn state_order(c: &Comparison, order: &Order) -> Option<Text> {
    let (first, last) = (order.ranks.first()?, order.ranks.last()?);
    let ratio = (first.value / last.value).max(last.value / first.value);
    let mut places: Vec<Text> = order.ranks.iter().map(|rank| describe_rank(c, order, rank)).collect();
    if places.len() > MOST_LISTED * 2 {
        let more = places.len() - MOST_LISTED - 1;
        places.splice(MOST_LISTED..MOST_LISTED + more, [text!("… {more} more …")]);
    }
    let mut said = text!("{result}, best first: {places}.", result = &order.result);
    if ratio.is_finite() && ratio > 1.0 {
        let times = Value::Factor(ratio);
        said.push(text!("The first is {times} as fast as the last."));
    }
    said.push(order.says.clone());
    Some(said)
}
