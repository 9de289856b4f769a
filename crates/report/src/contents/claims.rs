//! What documents claim of a reference machine, and what the figures say of it.

use record::phrase::{join_list, join_most};
use record::units::{self, significant, thousands};
use reference::expression::{Atom, Relation};
use reference::judge::{Answer, Figure, Gap, Verdict};

use super::listed;
use crate::table::{Table, Weight};

pub(crate) const TITLE: &str = "Claims of the document";
/// Figures that are named where they are missing or many.
const NAMED: usize = 3;

/// How many hold, in one line.
pub(crate) fn counted(answers: &[Answer]) -> String {
    let (mut holds, mut fails, mut untold) = (0, 0, 0);
    for answer in answers {
        *match answer.verdict {
            Verdict::Holds => &mut holds,
            Verdict::DoesNotHold(_) => &mut fails,
            Verdict::CannotTell { .. } => &mut untold,
        } += 1;
    }
    let part = |count: usize, words: String| (count > 0).then_some(words);
    let counts = listed([
        part(holds, format!("{holds} {}", if holds == 1 { "holds" } else { "hold" })),
        part(fails, format!("{fails} {} not", if fails == 1 { "does" } else { "do" })),
        part(untold, format!("{untold} cannot be told")),
    ]);
    format!("{TITLE}: {counts}")
}

/// The verdict in a word or three.
pub(crate) fn verdict(answer: &Answer) -> &'static str {
    match answer.verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold(_) => "does not hold",
        Verdict::CannotTell { .. } => "cannot tell",
    }
}

/// Those that do not hold first, then those that cannot be told.
pub(crate) fn worst_first(answers: &[Answer]) -> Vec<&Answer> {
    let mut sorted: Vec<&Answer> = answers.iter().collect();
    sorted.sort_by_key(|answer| match answer.verdict {
        Verdict::DoesNotHold(_) => 0,
        Verdict::CannotTell { .. } => 1,
        Verdict::Holds => 2,
    });
    sorted
}

/// What was found, in place of what where it does not hold; nothing where the figures do not tell.
pub(crate) fn figures(answer: &Answer) -> Option<String> {
    match &answer.verdict {
        Verdict::Holds => Some(why(answer)),
        Verdict::DoesNotHold(refuted) => Some(refute(refuted)),
        Verdict::CannotTell { .. } => None,
    }
}

fn refute(refuted: &[Gap]) -> String {
    refuted.chunk_by(same_claim).map(against).collect::<Vec<_>>().join("; ")
}

/// By how much it does not hold, or what would tell.
pub(crate) fn why(answer: &Answer) -> String {
    match &answer.verdict {
        Verdict::Holds => join_most(&answer.compared.iter().map(found).collect::<Vec<_>>(), NAMED),
        Verdict::DoesNotHold(refuted) => {
            let met: Vec<String> =
                answer.compared.iter().filter(|gap| !refuted.contains(gap)).map(found).collect();
            let against = refute(refuted);
            match met.len() {
                0 => against,
                1 => format!("{against} ({} holds)", join_list(&met)),
                _ => format!("{against} ({} hold)", join_list(&met)),
            }
        }
        Verdict::CannotTell { needs } => {
            let named = join_most(&needs.iter().map(Atom::to_string).collect::<Vec<_>>(), NAMED);
            match &answer.claim.measured_by {
                Some(command) => format!("needs {named}: {command}"),
                None => format!("needs {named}"),
            }
        }
    }
}

fn same_claim(one: &Gap, other: &Gap) -> bool {
    (one.relation, one.claimed, one.unit) == (other.relation, other.claimed, other.unit)
}

/// What was found in place of one claimed value.
fn against(gaps: &[Gap]) -> String {
    let all: Vec<String> = gaps.iter().map(found).collect();
    let Some(gap) = gaps.first() else { return String::new() };
    let sign = match gap.relation {
        Relation::About => "",
        Relation::Below => "under ",
        Relation::Above => "over ",
    };
    format!("{}, not {sign}{}", join_list(&all), amount(gap.claimed, gap.unit))
}

fn found(gap: &Gap) -> String {
    amount(gap.found, gap.unit)
}

fn amount(number: f64, unit: &str) -> String {
    let whole = number.fract() == 0.0 && number.abs() < 1000.0;
    let digits = if whole { thousands(number) } else { significant(number) };
    match unit {
        "" if number.fract() == 0.0 => thousands(number),
        "" => digits,
        "x" => format!("{digits}×"),
        "us" => format!("{digits} µs"),
        "ns" | "s" | "Hz" | "B" | "B/s" | "work/s" | "cycles" => units::figure(number, unit),
        _ => format!("{digits} {unit}"),
    }
}

/// A figure with its place.
pub(crate) fn evidence(figure: &Figure) -> String {
    let line = figure.line.map(|line| format!(", line {line}")).unwrap_or_default();
    let value = match figure.unit.as_str() {
        "count" => amount(figure.value, ""),
        unit => units::figure(figure.value, unit),
    };
    format!("{value} ({}{line})", figure.atom)
}

/// Every claim with its verdict and evidence.
pub(crate) fn table(answers: &[Answer]) -> Option<Table> {
    let mut table = Table::new(TITLE, None, ["claim", "says", "verdict", "found", "?evidence"]);
    for answer in worst_first(answers) {
        let figures: Vec<String> = answer.evidence.iter().map(evidence).collect();
        let row = [&answer.claim.id, &answer.claim.says, verdict(answer), &why(answer), &figures.join("; ")];
        table.row(row.map(|cell: &str| cell.to_owned()).to_vec());
        let refuted = matches!(answer.verdict, Verdict::DoesNotHold(_));
        table.weights.push(if refuted { Weight::Worse } else { Weight::Plain });
    }
    (!answers.is_empty()).then_some(table)
}
