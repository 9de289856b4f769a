//! Differences that explain the results, projected speeds with another machine's best setting, and the rankings.

use record::Comparison;
use record::comparison::{Cause, Explanation, WhatIf};

use super::{COLUMNS, MOST_NAMES, name, names, paragraph};
use crate::contents::figures::{figure_of, times};
use crate::contents::{Block, Part, Section};

/// Maximum number of explanations shown; the rest is in the JSON.
const MOST: usize = 8;
/// Maximum number of projected speeds shown.
const MOST_WHAT_IF: usize = 12;
/// Maximum number of rankings shown.
const MOST_ORDERS: usize = 12;
/// Maximum number of positions in a ranking that is shown in full; of a longer one, only the first and the last positions are shown.
const MOST_RANKS: usize = 8;

/// Why the results differ.
pub(super) fn explanations(c: &Comparison) -> Block {
    let mut parts = Vec::new();
    for explanation in c.explanations.iter().take(MOST) {
        let mut claims = Section::new("Claims");
        for claim in &explanation.claims {
            claims.add(&claim.claim, format!("{}: {}", claim.support.word(), claim.why));
        }
        parts.push(Part::Says(paragraph(&explanation.says)));
        parts.extend([Part::Facts(causes(explanation)), Part::Facts(claims)]);
    }
    if c.explanations.len() > MOST {
        let more = c.explanations.len() - MOST;
        parts.push(Part::Says(format!("{more} more explanations in the JSON.")));
    }
    Block::new("Explanations", None, parts)
}

/// Whether an explanation is written from the baseline's point of view. This is the case if the baseline is faster, or
/// has more cores without more throughput.
fn from_baseline(explanation: &Explanation) -> bool {
    let first = explanation.causes.first();
    let slower = first.is_some_and(|first| (first.factor > 1.0) == first.despite);
    // Causes of a lower speed per core come first.
    slower != explanation.held_back.is_some()
}

/// The causes. Each is shown with its effect (as a factor in the same direction as in the sentence that compares the
/// records), with its origin (measured or modelled), and with the underlying results.
fn causes(explanation: &Explanation) -> Section {
    let inverse = from_baseline(explanation);
    let effect = |factor: f64| times(if inverse { 1.0 / factor } else { factor });
    let mut section = Section::new("Causes");
    let mut add = |cause: &Cause, part: &str| {
        let how = if cause.measured { "measured" } else { "modelled" };
        let despite = if cause.despite { ", has the opposite effect" } else { "" };
        section.add(
            format!("{part}{} {}", effect(cause.factor), cause.name),
            format!("{} ({how}{despite})", cause.says),
        );
    };
    for cause in &explanation.causes {
        add(cause, "");
        // Parts of a cause have no parts of their own.
        cause.parts.iter().for_each(|part| add(part, "- "));
    }
    if let Some(left) =
        explanation.unexplained.filter(|_| explanation.adds_up && !explanation.causes.is_empty())
    {
        section.add(format!("{} not explained", effect(left)), "remainder");
    }
    section
}

/// The projected speed of each subject with the best setting of another subject.
pub(super) fn what_if(c: &Comparison) -> Block {
    let says = c.what_if.iter().take(MOST_WHAT_IF).map(|what| {
        let most = if what.at_most { "at most " } else { "" };
        let WhatIf { setting, then, now, acts_on, says, .. } = what;
        let (name, gain) = (name(c, what.subject), times(what.gain));
        format!("{name}, {setting} {then} instead of {now}: {acts_on} {most}{gain}. {says}")
    });
    let more = c.what_if.len().saturating_sub(MOST_WHAT_IF);
    let more = (more > 0).then(|| format!("{more} more in the JSON."));
    let title = "With better settings (modelled, unless measured here)";
    Block::new(title, None, says.chain(more).map(Part::Says).collect())
}

/// The positions in the rankings.
pub(super) fn orders(c: &Comparison) -> Block {
    // A single ranking would repeat the answer.
    if c.orders.len() == 1 && !c.answer.is_empty() {
        return Block::default();
    }
    let mut section = Section::new("Rankings");
    // For many records, the interesting rankings are those with outliers.
    let far = |order: &&record::comparison::Order| order.ranks.iter().any(|rank| rank.outlier);
    let many = c.subjects.len() > COLUMNS;
    let shown: Vec<_> = c.orders.iter().filter(far).chain(c.orders.iter().filter(|one| !far(one))).collect();
    for order in shown.iter().take(if many { MOST_ORDERS } else { MOST_ORDERS / 2 }) {
        let reported = |rank: &record::comparison::Rank| {
            let figure = figure_of(order.metric, &order.unit, rank.value);
            format!("{} ({figure})", name(c, rank.subject))
        };
        let count = order.ranks.len();
        let mut said: Vec<String> = Vec::new();
        if count <= MOST_RANKS {
            said.extend(order.ranks.iter().map(reported));
        } else {
            said.extend(order.ranks.iter().take(MOST_NAMES).map(reported));
            said.push(format!("… {} more …", count - 2 * MOST_NAMES));
            said.extend(order.ranks.iter().skip(count - MOST_NAMES).map(reported));
        }
        let outliers: Vec<usize> = order.ranks.iter().filter(|of| of.outlier).map(|of| of.subject).collect();
        let mut text = said.join(", ");
        if !outliers.is_empty() {
            text.push_str(&format!("; outliers: {}", names(c, &outliers)));
        }
        if !order.says.is_empty() {
            text.push_str(&format!(". {}", order.says));
        }
        section.add(order.result.clone(), text);
    }
    let more = c.orders.len().saturating_sub(section.facts.len());
    if more > 0 {
        section.add("more", format!("{more} more in the JSON"));
    }
    Block::new("Ranking, best first", None, vec![Part::Facts(section)])
}
