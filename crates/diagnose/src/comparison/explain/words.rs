//! What the causes of a result make of it, in words, from the side of the faster one.

use record::comparison::{Cause, Explanation};
use record::phrase::{agree, join_list};
use record::units::significant;

use super::{MUCH_LEFT, NO_CAUSE, differs};

/// Causes that make less than this share of a difference, on the scale of logarithms, explain little of it.
const LITTLE: f64 = 0.25;

/// A factor as it is from the side of the faster one.
fn towards_faster(e: &Explanation, factor: f64) -> f64 {
    if e.speed < 1.0 { 1.0 / factor } else { factor }
}

/// The share of the difference that causes explain which multiply up to it, on the scale of logarithms.
fn explained(e: &Explanation) -> f64 {
    let left = e.unexplained.unwrap_or(1.0);
    (e.speed / left).ln() / e.speed.ln()
}

/// Whether causes explain so little that they are no answer.
pub(crate) fn is_little(e: &Explanation) -> bool {
    let against = e.causes.iter().any(|cause| cause.despite);
    e.adds_up && !e.causes.is_empty() && !against && (0.0..LITTLE).contains(&explained(e))
}

/// What causes leave that multiply up: ` A factor of 1.14 stays unexplained.`; nothing where it is little.
pub(crate) fn left(e: &Explanation) -> String {
    let Some(left) = e.unexplained.filter(|left| left.ln().abs() >= MUCH_LEFT && !e.causes.is_empty()) else {
        return String::new();
    };
    let said = significant(towards_faster(e, left));
    if explained(e) > 1.0 {
        format!(" That is more than the difference: a factor of {said} stays unexplained.")
    } else {
        format!(" A factor of {said} stays unexplained.")
    }
}

/// Of causes that stand beside each other: the first where it alone makes the whole factor, and the others.
pub(crate) fn lead(e: &Explanation) -> (Option<&Cause>, &[Cause]) {
    match e.causes.split_first() {
        Some((first, rest)) if differs(e.speed) && (first.factor / e.speed).ln().abs() < NO_CAUSE => {
            (Some(first), rest)
        }
        _ => (None, &e.causes),
    }
}

/// Causes that stand beside the factor, by the side that they speak for; `say` tells one.
pub(crate) fn beside(rest: &[Cause], led: bool, say: impl Fn(&Cause) -> String) -> String {
    let sides: Vec<String> = [(false, "for the faster one"), (true, "for the slower one")]
        .into_iter()
        .filter_map(|(despite, who)| {
            let of: Vec<String> = rest.iter().filter(|cause| cause.despite == despite).map(&say).collect();
            let verb = agree(of.len(), "speaks", "speak");
            (!of.is_empty()).then(|| format!("{} {verb} {who}", join_list(&of)))
        })
        .collect();
    let begin = match (sides.is_empty(), led) {
        (true, _) => return String::new(),
        (false, true) => "Beside it, and no part of that factor",
        (false, false) => "What each of these does to it was not measured",
    };
    format!(" {begin}: {}.", sides.join("; "))
}

/// Causes one after the other, and what speaks against them: ` The first cause is memory latency (0.74×), then …`.
fn in_turn(causes: &[Cause], say: impl Fn(&Cause) -> String) -> String {
    let of = |despite: bool| -> Vec<String> {
        causes.iter().filter(|cause| cause.despite == despite).map(&say).collect()
    };
    let (for_it, despite) = (of(false), of(true));
    let mut words = match for_it.as_slice() {
        [] if despite.is_empty() => return String::new(),
        [] => " It is so".to_owned(),
        [one] => format!(" The cause is {one}"),
        [first, rest @ ..] => format!(" The first cause is {first}, then {}", rest.join(", then ")),
    };
    if !despite.is_empty() {
        words.push_str(if for_it.is_empty() { " despite " } else { "; despite " });
        words.push_str(&despite.join(", "));
    }
    words + "."
}

/// What holds back the one with more cores, each cause with its factor from that one's side.
pub(crate) fn held_back(causes: &[Cause]) -> String {
    in_turn(causes, |cause| format!("{} ({}×)", cause.name, significant(cause.factor)))
}

/// What the causes make of a result, each with its factor.
pub(crate) fn factors(e: &Explanation) -> String {
    let say = |cause: &Cause| format!("{} ({}×)", cause.name, significant(towards_faster(e, cause.factor)));
    if !e.adds_up {
        let (lead, rest) = lead(e);
        let first = lead.map_or(String::new(), |lead| format!(" The cause is {}.", say(lead)));
        return first + &beside(rest, lead.is_some(), say);
    }
    let words = match e.causes.as_slice() {
        [] => return " Nothing in these figures explains it.".to_owned(),
        [one] if is_little(e) => format!(" Of that {} makes little.", say(one)),
        all if is_little(e) => {
            format!(" Of that {} make little.", join_list(&all.iter().map(say).collect::<Vec<_>>()))
        }
        all => in_turn(all, say),
    };
    words + &left(e)
}
