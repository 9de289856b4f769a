//! Sentences about the causes of a result, from the perspective of the faster machine.

use record::comparison::{Cause, Explanation};
use record::text::Value;
use record::{Template, Text, text};

use super::{MUCH_LEFT, NO_CAUSE, Speed, differs};

/// Causes explain little of a difference if they account for less than this share, on a logarithmic scale.
const LITTLE: f64 = 0.25;

/// A single cause.
const CAUSE: Template = Template::new("comparison-cause", "Cause: {cause}.");
/// The part of the difference that the causes do not explain.
pub(crate) const REST: Template = Template::new("comparison-rest", "Unexplained: {factor}.");
/// The rest if the causes add up to more than the difference.
pub(crate) const OVERSHOT: Template = Template::new(
    "comparison-overshot",
    "The causes add up to more than the difference (unexplained factor: {factor}).",
);
/// The faster machine and the size of the difference.
const FASTER: Template = Template::new("comparison-faster", "{result}: {fast} is {times} as fast as {slow}.");
/// The faster machine and the size of the difference, marked as unreliable.
pub(crate) const FASTER_UNRELIABLE: Template = Template::new(
    "comparison-faster-unreliable",
    "{result}: {fast} is {times}? as fast as {slow} (based on an unreliable result).",
);

/// `primes: B is 1.3× as fast as A.`, or the reverse.
pub(crate) fn describe_speed(result: &Text, this: &String, base: &String, speed: Speed) -> Text {
    let (fast, slow, times) =
        if speed.factor >= 1.0 { (this, base, speed.factor) } else { (base, this, 1.0 / speed.factor) };
    let template = if speed.unreliable { FASTER_UNRELIABLE } else { FASTER };
    text!(template, result, fast, times = Value::Factor(times), slow)
}

/// Converts a factor to the perspective of the faster machine.
fn towards_faster(e: &Explanation, factor: f64) -> f64 {
    if e.speed < 1.0 { 1.0 / factor } else { factor }
}

/// The share of the difference explained by multiplying causes, on a logarithmic scale.
fn explained_share(e: &Explanation) -> f64 {
    let left = e.unexplained.unwrap_or(1.0);
    (e.speed / left).ln() / e.speed.ln()
}

/// The unexplained rest after multiplying all causes; empty if it is small.
fn state_rest(e: &Explanation) -> Text {
    let Some(left) = e.unexplained.filter(|left| left.ln().abs() >= MUCH_LEFT && !e.causes.is_empty()) else {
        return Text::default();
    };
    let template = if explained_share(e) > 1.0 { OVERSHOT } else { REST };
    text!(template, factor = Value::Factor(towards_faster(e, left)))
}

/// Splits independent causes into the first cause, if that explains the entire factor, and the others.
fn split_lead(e: &Explanation) -> (Option<&Cause>, &[Cause]) {
    match e.causes.split_first() {
        Some((first, rest)) if differs(e.speed) && (first.factor / e.speed).ln().abs() < NO_CAUSE => {
            (Some(first), rest)
        }
        _ => (None, &e.causes),
    }
}

/// Lists at most `most` causes that favor the slower machine (`despite`) or the faster one.
fn list_side(causes: &[Cause], despite: bool, most: usize, say: impl Fn(&Cause) -> Text) -> Vec<Text> {
    causes.iter().filter(|cause| cause.despite == despite).take(most).map(say).collect()
}

/// Lists the limits of the machine with more cores.
pub(crate) fn list_limits(causes: &[Cause], most: usize, say: impl Fn(&Cause) -> Text) -> Text {
    let causes = list_side(causes, false, most, say);
    if causes.is_empty() {
        text!("These results do not identify the limit.")
    } else {
        text!("Likely limits, largest first: {causes}.")
    }
}

/// The part that the limits of the machine with more cores do not explain. Limits overlap, so their joint effect is at most
/// their product.
pub(crate) fn state_limits_rest(e: &Explanation) -> Text {
    let product = |despite: bool| {
        let side = e.causes.iter().filter(|cause| cause.despite == despite);
        side.map(|cause| cause.factor.ln().abs()).sum::<f64>().exp()
    };
    let (promised, limits) = (product(true), product(false));
    let rest = promised / limits;
    if limits <= 1.0 || rest.ln() < MUCH_LEFT {
        return Text::default();
    }
    let [promised, limits, rest] = [promised, limits, rest].map(Value::Factor);
    text!(
        "Cores and clock would allow {promised}; these limits reduce it by at most {limits}. \
         Unexplained: at least {rest}."
    )
}

/// Lists the causes that have the opposite effect.
pub(crate) fn list_opposing(causes: &[Cause], most: usize, say: impl Fn(&Cause) -> Text) -> Text {
    let causes = list_side(causes, true, most, say);
    if causes.is_empty() { Text::default() } else { text!("Opposite effects: {causes}.") }
}

/// A cause with its factor as stored, that is, from the perspective of the leading side.
pub(crate) fn with_own_factor(cause: &Cause) -> Text {
    with_factor(cause, cause.factor)
}

fn with_factor(cause: &Cause, factor: f64) -> Text {
    let factor = Value::Factor(factor);
    text!("{cause} ({factor})", cause = &cause.name)
}

/// A cause with its results.
pub(crate) fn with_figures(cause: &Cause) -> Text {
    text!("{cause} ({figures})", cause = &cause.name, figures = &cause.says)
}

/// Lists the causes of a result with their factors.
pub(crate) fn list_factors(e: &Explanation) -> Text {
    list_causes(e, usize::MAX, |cause| with_factor(cause, towards_faster(e, cause.factor)))
}

/// Describes the causes of a result, at most this many of each kind.
pub(crate) fn list_causes(e: &Explanation, most: usize, say: impl Fn(&Cause) -> Text) -> Text {
    if !e.adds_up {
        let (lead, others) = split_lead(e);
        let others = &others[..others.len().min(most)];
        // The other causes are not part of the factor, because the first cause explains it or because their effect is unknown.
        let beside = if lead.is_some() { "not included in this factor" } else { "effect not measured" };
        let of_side = |(slower, side): (bool, &'static str)| {
            let causes = list_side(others, slower, most, &say);
            (!causes.is_empty()).then(|| text!("Causes that favor the {side} machine ({beside}): {causes}."))
        };
        let sides = [(false, "faster"), (true, "slower")].into_iter().filter_map(of_side);
        return Text::sequence(lead.map(|lead| text!(CAUSE, cause = say(lead))).into_iter().chain(sides));
    }
    let mut causes = list_side(&e.causes, false, most, &say);
    let against = e.causes.iter().any(|cause| cause.despite);
    let is_little =
        e.adds_up && !e.causes.is_empty() && !against && (0.0..LITTLE).contains(&explained_share(e));
    let main = match causes.len() {
        0 if e.causes.is_empty() => {
            return text!("comparison-unexplained", "These results do not explain the difference.");
        }
        0 => Text::default(),
        _ if is_little => text!("comparison-little", "These causes explain only a small part: {causes}."),
        1 => text!(CAUSE, cause = causes.remove(0)),
        _ => text!("Causes, largest first: {causes}."),
    };
    Text::sequence([main, list_opposing(&e.causes, most, say), state_rest(e)])
}
