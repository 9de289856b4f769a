//! Claims made in documents about a reference machine, and verdicts on these claims.

use record::phrase::{join_list, join_most};
use record::units::{self, significant, thousands};
use reference::claims::{Figure, Gap, JudgedClaim, Relation, Verdict};

use super::block::Block;
use super::listed;
use crate::table::Table;

const TITLE: &str = "Claims in the document";
/// Maximum number of results or missing measurements named per claim.
const NAMED: usize = 3;

/// One line with the number of claims that the results confirm.
pub(crate) fn counted(answers: &[JudgedClaim]) -> String {
    let part = |verdict: Verdict, one: &str, several: &str| {
        let count = answers.iter().filter(|answer| answer.verdict == verdict).count();
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { several }))
    };
    let counts = listed([
        part(Verdict::Holds, "holds", "hold"),
        part(Verdict::InPart, "partly holds", "partly hold"),
        part(Verdict::DoesNotHold, "does not", "do not"),
        part(Verdict::CannotTell, "inconclusive", "inconclusive"),
    ]);
    format!("{TITLE}: {counts}")
}

/// The verdict in one to three words.
pub(crate) fn verdict(answer: &JudgedClaim) -> &'static str {
    match answer.verdict {
        Verdict::Holds => "holds",
        Verdict::InPart => "partly holds",
        Verdict::DoesNotHold => "does not hold",
        Verdict::CannotTell => "inconclusive",
    }
}

/// Claims that do not hold come first, then claims that partly hold or are undecided.
pub(crate) fn worst_first(answers: &[JudgedClaim]) -> Vec<&JudgedClaim> {
    let mut sorted: Vec<&JudgedClaim> = answers.iter().collect();
    sorted.sort_by_key(|answer| answer.verdict);
    sorted
}

/// The results, with the claimed value if the claim does not hold; empty if undecided.
pub(crate) fn figures(answer: &JudgedClaim) -> Option<String> {
    match answer.verdict {
        Verdict::Holds => Some(why(answer)),
        Verdict::DoesNotHold | Verdict::InPart => Some(refute(answer)),
        Verdict::CannotTell => None,
    }
}

fn refute(answer: &JudgedClaim) -> String {
    let refuted: Vec<&Gap> = answer.compared.iter().filter(|gap| !gap.met).collect();
    let same = |a: &&Gap, b: &&Gap| (a.relation, a.claimed, &a.unit) == (b.relation, b.claimed, &b.unit);
    refuted.chunk_by(same).map(against).collect::<Vec<_>>().join("; ")
}

/// Why the claim has this verdict: the results, or the measurement that is needed for a verdict, followed by a note if there is one.
pub(crate) fn why(answer: &JudgedClaim) -> String {
    let words = match answer.verdict {
        Verdict::Holds => join_most(&answer.compared.iter().map(found).collect::<Vec<_>>(), NAMED),
        Verdict::DoesNotHold | Verdict::InPart => {
            let met: Vec<String> = answer.compared.iter().filter(|gap| gap.met).map(found).collect();
            let against = refute(answer);
            match met.len() {
                0 => against,
                1 => format!("{against} ({} holds)", join_list(&met)),
                _ => format!("{against} ({} hold)", join_list(&met)),
            }
        }
        Verdict::CannotTell => {
            let by = answer.measured_by.as_ref().map(|command| format!(": {command}")).unwrap_or_default();
            format!("needs {}{by}", join_most(&answer.needs, NAMED))
        }
    };
    let Some(note) = &answer.note else { return words };
    format!("{words}; {note}")
}

/// The result that contradicts a claimed value.
fn against(gaps: &[&Gap]) -> String {
    let Some(gap) = gaps.first() else { return String::new() };
    let mut claimed = amount(gap.claimed, &gap.unit);
    let mut all: Vec<String> = gaps.iter().map(|gap| found(gap)).collect();
    // If both values look the same with the usual number of digits, more digits are printed to show the difference.
    if all.contains(&claimed) {
        let exact = |number: f64| format!("{number:.4} {}", gap.unit);
        claimed = exact(gap.claimed);
        all = gaps.iter().map(|gap| exact(gap.found)).collect();
    }
    let sign = match gap.relation {
        Relation::Equal | Relation::About => "",
        Relation::Below => "under ",
        Relation::Above => "over ",
    };
    format!("{}, not {sign}{}", join_list(&all), claimed)
}

fn found(gap: &Gap) -> String {
    amount(gap.found, &gap.unit)
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

/// A result with its place.
pub(crate) fn evidence(figure: &Figure) -> String {
    let line = figure.line.map(|line| format!(", line {line}")).unwrap_or_default();
    let value = match figure.unit.as_str() {
        "count" => amount(figure.value, ""),
        unit => units::figure(figure.value, unit),
    };
    format!("{value} ({}{line})", figure.figure)
}

/// Every claim with its verdict and evidence.
pub(crate) fn block(answers: &[JudgedClaim]) -> Block {
    let mut table = Table::new(TITLE, None, ["claim", "says", "verdict", "found", "?evidence"]);
    for answer in worst_first(answers) {
        let figures: Vec<String> = answer.evidence.iter().map(evidence).collect();
        table.weigh_row((answer.verdict == Verdict::DoesNotHold).then_some(true));
        let row = [&answer.id, &answer.says, verdict(answer), &why(answer), &figures.join("; ")];
        table.row(row.map(|cell: &str| cell.to_owned()).to_vec());
    }
    table.into()
}
