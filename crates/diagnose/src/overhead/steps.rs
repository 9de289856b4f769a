//! Steps between two layers that differ in one property, and the cost of each step per counted event.

use record::diagnosis::LayerStep;
use record::difference::Verdict;
use record::text::Value;
use record::units::{self, digits_within, significant};
use record::{DetailKey, Text, detail, text};

use super::rows::{Row, Rows, Together};
use crate::tables::{rows, template};

/// Maximum CPU time of one interrupt, including its softirqs. A higher cost must have another cause.
const LONGEST_INTERRUPT: f64 = 100e-6;

/// Slices per pass; `--rounds` counts passes.
const PORTIONS_PER_PASS: u64 = 16;

/// The table of steps.
const STEPS: &str = include_str!("steps.txt");

/// The events by which the cost of a step is divided: the name in the details, and the displayed name.
type Events = (DetailKey<f64>, &'static str);
const EVENTS: [Events; 3] = [
    (detail::INTERRUPTS_PER_S, "interrupts"),
    (detail::INVOLUNTARY_SWITCHES_PER_S, "involuntary switches"),
    (detail::MIGRATIONS_PER_S, "migrations"),
];

/// A possible step.
struct Pair<'a> {
    what: Text,
    with: &'a Row<'a>,
    without: &'a Row<'a>,
    events: Option<Events>,
}

/// The cost of every step for which both layers were timed.
pub(super) fn steps<'a>(layers: &'a Rows<'a>, together: Together) -> Vec<LayerStep> {
    pairs(layers).iter().map(|pair| step(pair, together)).collect()
}

/// The number of simultaneous comparisons, including the comparison of a layer with itself.
pub(super) fn comparisons(layers: &Rows) -> usize {
    pairs(layers).len() + 1
}

fn pairs<'a>(layers: &'a Rows<'a>) -> Vec<Pair<'a>> {
    let pair = |row: Vec<&'static str>| {
        let [words, with, without, events @ ..] = row.as_slice() else { return None };
        let words = template(words);
        let (is_elsewhere, with) = (*with == ELSEWHERE, find(layers, with)?);
        let without = without.split(" or ").find_map(|layer| find(layers, layer))?;
        let what = match (with.cpu, layers.cpu()) {
            (Some(other), Some(here)) if is_elsewhere => text!(words, other, here),
            _ => words.into(),
        };
        let events = EVENTS.into_iter().find(|(_, name)| events.first() == Some(name));
        Some(Pair { what, with, without, events })
    };
    rows(STEPS, "steps").into_iter().filter_map(pair).collect()
}

const ELSEWHERE: &str = "user elsewhere";

/// The layer specified by a row of the table.
pub(super) fn find<'a>(layers: &'a Rows<'a>, named: &str) -> Option<&'a Row<'a>> {
    match named.rsplit_once(' ') {
        _ if named == ELSEWHERE => layers.elsewhere(),
        Some((layer, "unpinned")) => layers.find(layer, None, true),
        Some((layer, "quiet")) => layers.without_interrupts(layer),
        _ => layers.find(named, layers.cpu(), true).filter(|row| row.cpu.is_some()),
    }
}

fn step(pair: &Pair, together: Together) -> LayerStep {
    let gain = pair.with.against(pair.without, together);
    LayerStep {
        code: pair.what.code().map(str::to_owned),
        what: pair.what.clone(),
        without: pair.without.label(),
        with: pair.with.label(),
        rounds: gain.rounds as u64,
        says: state(&gain.verdict),
        each: each(pair, &gain.verdict),
        verdict: gain.verdict,
        unreliable: pair.with.m.doubt.is_some() || pair.without.m.doubt.is_some(),
    }
}

/// The verdict about a step, in words.
pub(super) fn state(verdict: &Verdict) -> Text {
    let known = |share: f64, interval: (f64, f64)| {
        let digits = digits_within(share, Some(interval));
        move |share: f64| Value::Rounded(Box::new(Value::Share(share)), digits)
    };
    match verdict {
        Verdict::Costs { share, interval } if *share >= 0.0 => {
            let known = known(*share, *interval);
            text!(
                "overhead-costs",
                "costs {share} [{low} – {high}]",
                share = known(*share),
                low = known(interval.0),
                high = known(interval.1)
            )
        }
        Verdict::Costs { share, interval } => {
            let known = known(*share, *interval);
            text!(
                "saves {share} [{low} – {high}]",
                share = known(-share),
                low = known(-interval.1),
                high = known(-interval.0)
            )
        }
        Verdict::NotResolved { smaller_than } => not_resolved(*smaller_than),
        Verdict::TooNoisy { rounds_needed: Some(more) } => {
            text!("too noisy; needs ≈{more} more passes (--rounds)", more = more.div_ceil(PORTIONS_PER_PASS))
        }
        Verdict::TooNoisy { rounds_needed: None } => text!("too noisy"),
        Verdict::NotMeasurable { reason } => {
            text!("not measurable: {reason}")
        }
    }
}

/// No difference, with the smallest difference that would have been detected.
pub(super) fn not_resolved(smaller_than: f64) -> Text {
    text!(
        "overhead-not-resolved",
        "no difference (< {least})",
        least = Value::Share(units::bound(smaller_than))
    )
}

/// The cost per event.
fn each(pair: &Pair, verdict: &Verdict) -> Option<Text> {
    let (count, events) = pair.events?;
    let (with, without) = (pair.with.rate(count)?, pair.without.rate(count)?);
    let counted = text!(
        "{with} {events}/s with, {without}/s without",
        with = significant(with),
        without = significant(without)
    );
    let Verdict::Costs { share, .. } = verdict else { return Some(counted) };
    // The additional events during work that takes one second without the property. With the property, the same work
    // takes 1 + share seconds, and events occur for all of this time.
    let more = with * (1.0 + share) - without;
    if *share <= 0.0 {
        return Some(counted);
    }
    // The event rate did not increase; there are more events only because the layer takes longer.
    if with <= without || more <= 0.0 {
        return Some(text!("overhead-events-no-more", "{counted}: does not explain the cost"));
    }
    let seconds = share / more;
    let each = Value::Figure(seconds * 1e9, "ns");
    if count.name() == detail::INTERRUPTS_PER_S.name() && seconds > LONGEST_INTERRUPT {
        return Some(text!(
            "overhead-events-too-long",
            "{counted}: {each} per event, too much for interrupts alone (at most {most})",
            most = Value::Figure(LONGEST_INTERRUPT * 1e9, "ns")
        ));
    }
    Some(text!("overhead-events-each", "{counted}: {each} per event"))
}
