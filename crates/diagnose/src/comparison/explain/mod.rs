//! Which differences explain a result: its ratio is taken apart into factors, each from figures of both records, and what
//! they leave is told as unexplained.

mod claims;
mod clock;
mod memory;
mod wakeup;
mod whole;
pub(super) mod words;
mod work;

use record::comparison::{Cause, Claim, Explanation, Relation};
use record::diagnosis::Evidence;
use record::units::{figure, significant};

use super::Known;
use super::datum::Datum;

pub(super) use claims::{NEIGHBOURS, load};
pub(super) use clock::best as best_clock;
pub(super) use memory::{acts_on, device_speed, running};
pub(super) use work::scaling_words;

/// Factors nearer to 1 than this are no cause.
const NO_CAUSE: f64 = 0.01;
/// Results nearer to 1 than this need no explanation.
const NO_DIFFERENCE: f64 = 0.02;
/// From this share on what is unexplained asks for claims to be judged.
const MUCH_LEFT: f64 = 0.1;

/// Two sides of one result.
pub(super) struct Pair<'a> {
    pub(super) base: &'a Known<'a>,
    pub(super) this: &'a Known<'a>,
    pub(super) base_name: &'a str,
    pub(super) this_name: &'a str,
    pub(super) index: usize,
    /// Whether both are runs of one machine.
    pub(super) same_machine: bool,
}

/// Explanations of every result that a subject shares with the baseline, the greatest difference first for each subject.
/// Each is told from the side of the faster one (of more cores that do no more, from theirs): its factors in words are
/// above 1 where they speak for it. As data, they are of the subject against the baseline.
pub(super) fn explanations(
    known: &[Known],
    names: &[String],
    baseline: usize,
    relation: Relation,
) -> Vec<Explanation> {
    let same_machine = relation == Relation::SameMachine;
    let mut all = Vec::new();
    let Some(base) = known.get(baseline) else { return all };
    for (index, this) in known.iter().enumerate().filter(|(index, _)| *index != baseline) {
        let (base_name, this_name) = (names[baseline].as_str(), names[index].as_str());
        let forth = of_pair(&Pair { base, this, base_name, this_name, index, same_machine });
        let back =
            Pair { base: this, this: base, base_name: this_name, this_name: base_name, index, same_machine };
        // The other way round only where something has to be told so.
        let back = if forth.iter().all(reported_as_it_stands) { Vec::new() } else { of_pair(&back) };
        let mut reported: Vec<Explanation> = forth
            .into_iter()
            .map(|e| {
                if reported_as_it_stands(&e) {
                    return e;
                }
                let same = |other: &&Explanation| other.result == e.result && reported_as_it_stands(other);
                back.iter().find(same).cloned().map_or(e, with_sides_swapped)
            })
            .collect();
        let held = |e: &Explanation| e.held_back.is_some();
        reported
            .sort_by(|a, b| held(b).cmp(&held(a)).then(b.speed.ln().abs().total_cmp(&a.speed.ln().abs())));
        all.extend(reported);
    }
    all
}

/// Every explanation of one subject against the baseline.
fn of_pair(pair: &Pair) -> Vec<Explanation> {
    let mut all = work::explanations(pair);
    all.extend(whole::explanations(pair));
    all.extend(memory::explanation(pair));
    all.extend(wakeup::explanation(pair));
    all.retain(|e| e.speed.is_finite() && e.speed > 0.0);
    all
}

/// Whether the subject is the one from whose side an explanation is told.
fn reported_as_it_stands(e: &Explanation) -> bool {
    let faster = e.causes.first().map_or(e.speed >= 1.0, |first| (first.factor > 1.0) != first.despite);
    // What makes the one with more cores slow stands first.
    faster != e.held_back.is_some()
}

/// An explanation that was made from the baseline's side, as data of the subject against it.
fn with_sides_swapped(mut e: Explanation) -> Explanation {
    fn turn(cause: &mut Cause) {
        cause.factor = 1.0 / cause.factor;
        cause.evidence.reverse();
        cause.parts.iter_mut().for_each(turn);
    }
    e.speed = 1.0 / e.speed;
    e.unexplained = e.unexplained.map(|left| 1.0 / left);
    e.causes.iter_mut().for_each(turn);
    e
}

/// A cause from two values of which the higher makes faster (`higher`) or slower.
pub(super) struct Maker<'a> {
    pub(super) name: &'a str,
    pub(super) says: String,
    pub(super) factor: f64,
    pub(super) measured: bool,
    pub(super) evidence: Vec<Evidence>,
    pub(super) parts: Vec<Cause>,
}

impl Maker<'_> {
    /// The cause, where it is one.
    pub(super) fn make(self) -> Option<Cause> {
        let real = self.factor.is_finite() && self.factor > 0.0 && self.factor.ln().abs() >= NO_CAUSE;
        (real || !self.parts.is_empty()).then_some(Cause {
            name: self.name.to_owned(),
            says: self.says.into(),
            factor: self.factor,
            despite: false,
            measured: self.measured,
            evidence: self.evidence,
            parts: self.parts,
        })
    }
}

/// Evidence of a figure.
pub(super) fn evidence(name: &str, datum: &Datum) -> Evidence {
    Evidence {
        says: format!("{name}: {}", figure(datum.value, &datum.unit)).into(),
        from: datum.from.clone(),
    }
}

/// Evidence from the inventory.
pub(super) fn cite_fact(says: String, from: &str) -> Evidence {
    Evidence { says: says.into(), from: from.to_owned() }
}

/// An explanation whose causes multiply up to the speed.
pub(super) fn adding_up(
    pair: &Pair,
    result: &str,
    speed: f64,
    said: String,
    causes: Vec<Option<Cause>>,
    claims: Vec<Claim>,
) -> Explanation {
    let mut causes: Vec<Cause> = causes.into_iter().flatten().collect();
    let explained: f64 = causes.iter().map(|cause| cause.factor).product();
    let unexplained = speed / explained;
    sort(&mut causes, speed, false);
    let claims = if unexplained.ln().abs() >= MUCH_LEFT { claims } else { Vec::new() };
    let mut reported = Explanation {
        result: result.into(),
        subject: pair.index,
        speed,
        says: said.into(),
        adds_up: true,
        causes,
        unexplained: Some(unexplained),
        held_back: None,
        claims,
    };
    reported.says.push(words::factors(&reported).trim_start());
    reported
}

/// Puts those causes first that make the slower one slower; then by their effect. `measured_first` tells measured ones
/// before modelled ones, where they do not multiply up and a modelled one is only a bound.
pub(super) fn sort(causes: &mut [Cause], speed: f64, measured_first: bool) {
    for cause in causes.iter_mut() {
        cause.despite = (cause.factor.ln() > 0.0) != (speed.ln() > 0.0);
        cause.parts.sort_by(|a, b| b.factor.ln().abs().total_cmp(&a.factor.ln().abs()));
        for part in &mut cause.parts {
            part.despite = (part.factor.ln() > 0.0) != (speed.ln() > 0.0);
        }
    }
    causes.sort_by(|a, b| {
        let modelled = |cause: &Cause| measured_first && !cause.measured;
        (a.despite, modelled(a))
            .cmp(&(b.despite, modelled(b)))
            .then(b.factor.ln().abs().total_cmp(&a.factor.ln().abs()))
    });
}

/// `B is 1.3 times as fast as A`, or the other way round.
pub(super) fn standing(pair: &Pair, what: &str, speed: f64) -> String {
    let (fast, slow, times) = if speed >= 1.0 {
        (pair.this_name, pair.base_name, speed)
    } else {
        (pair.base_name, pair.this_name, 1.0 / speed)
    };
    format!("{what}: {fast} is {} times as fast as {slow}.", significant(times))
}

/// Whether two figures may be held against each other.
pub(super) fn comparable(this: &Datum, base: &Datum) -> bool {
    super::table::refusal(this, base).is_none() && this.value > 0.0 && base.value > 0.0
}

/// Whether a speed is different enough to be explained.
pub(super) fn differs(speed: f64) -> bool {
    speed.is_finite() && speed > 0.0 && speed.ln().abs() >= NO_DIFFERENCE
}

/// Whether the samples resolve a difference; single figures are taken as they are, unless they are in doubt.
pub(super) fn resolved(this: &Datum, base: &Datum, better: record::Better) -> bool {
    let compared = super::ratio::compare(this, base, Some(better));
    match compared.interval {
        Some(_) => compared.slower.is_some(),
        None => this.doubt.is_none() && base.doubt.is_none(),
    }
}
