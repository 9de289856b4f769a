//! Which differences explain a result: its ratio is taken apart into factors, each from figures of both records, and what
//! they leave is told as unexplained.

mod claims;
mod clock;
mod memory;
mod scaling;
mod wakeup;
mod whole;
pub(super) mod words;
mod work;

use record::comparison::{Cause, Claim, Explanation, Relation};
use record::diagnosis::Evidence;
use record::text::Value;
use record::units::figure;
use record::{Template, Text, text};

use super::Known;
use super::datum::Datum;

pub(super) use claims::{NEIGHBOURS, load};
pub(super) use clock::best as best_clock;
pub(super) use memory::{acts_on, device_speed, mt_s, rated_speed, running};
pub(super) use scaling::describe_scaling;
#[cfg(test)]
pub(super) use {
    memory::{LOCAL_GUESSED, MEMORY_BOUND},
    scaling::{CORES_SCALE, SIBLINGS, SIBLINGS_ABOUT},
    wakeup::IDLE_STATES,
    work::{
        CLAIMED_INSTRUCTIONS, DECLARED, INSTRUCTIONS, INSTRUCTIONS_PER_CYCLE, ONE_THREAD,
        SCALING_WITH_SIBLINGS,
    },
};

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

impl Pair<'_> {
    /// Tells an explanation from the side of the one that leads: of the faster one, or of the more cores that do no more.
    /// Sentences then have that one first and factors above 1 where they speak for it; as data, factors are of the subject
    /// against the baseline whichever leads.
    fn seen_from_leader(
        &self,
        this_leads: bool,
        explain: impl FnOnce(&Pair) -> Option<Explanation>,
    ) -> Option<Explanation> {
        if this_leads {
            return explain(self);
        }
        let swapped = Pair {
            base: self.this,
            this: self.base,
            base_name: self.this_name,
            this_name: self.base_name,
            ..*self
        };
        explain(&swapped).map(with_sides_swapped)
    }
}

/// Explanations of every result that a subject shares with the baseline, the greatest difference first for each subject.
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
        let mut found = of_pair(&Pair { base, this, base_name, this_name, index, same_machine });
        let held = |e: &Explanation| e.held_back.is_some();
        found.sort_by(|a, b| held(b).cmp(&held(a)).then(b.speed.ln().abs().total_cmp(&a.speed.ln().abs())));
        all.extend(found);
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

/// The clock of a core.
pub(in crate::comparison) const CORE_CLOCK: Template =
    Template { code: "comparison-cause-clock", words: "core clock" };
/// How many cores there are.
pub(in crate::comparison) const CORES: Template =
    Template { code: "comparison-cause-cores", words: "number of cores" };
/// Latency of memory.
pub(in crate::comparison) const MEMORY_LATENCY: Template =
    Template { code: "comparison-cause-memory-latency", words: "memory latency" };

/// What both sides have: `3.15 GHz against 2.5 GHz`.
fn against(this: impl Into<Value>, base: impl Into<Value>) -> Text {
    text!("comparison-against", "{this} against {base}", this = this.into(), base = base.into())
}

/// A cause from two values of which the higher makes faster (`higher`) or slower.
pub(super) struct Maker {
    pub(super) name: Text,
    pub(super) says: Text,
    pub(super) factor: f64,
    pub(super) measured: bool,
    pub(super) evidence: Vec<Evidence>,
    pub(super) parts: Vec<Cause>,
}

impl Maker {
    /// The cause, where it is one.
    pub(super) fn make(self) -> Option<Cause> {
        let real = self.factor.is_finite() && self.factor > 0.0 && self.factor.ln().abs() >= NO_CAUSE;
        (real || !self.parts.is_empty()).then_some(Cause {
            code: self.name.code().unwrap_or_default().to_owned(),
            name: self.name,
            says: self.says,
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
    cite(name, figure(datum.value, &datum.unit), &datum.from)
}

/// Evidence from a record: whose, what and where it stands.
pub(super) fn cite(name: &str, value: impl Into<Value>, from: &str) -> Evidence {
    let says = text!("comparison-evidence", "{name}: {value}", name = name.to_owned(), value = value.into());
    Evidence { says, from: from.to_owned() }
}

/// An explanation whose causes multiply up to the speed.
pub(super) fn adding_up(
    pair: &Pair,
    result: Text,
    speed: f64,
    said: Text,
    causes: Vec<Option<Cause>>,
    claims: Vec<Claim>,
) -> Explanation {
    let mut causes: Vec<Cause> = causes.into_iter().flatten().collect();
    let explained: f64 = causes.iter().map(|cause| cause.factor).product();
    let unexplained = speed / explained;
    sort(&mut causes, speed, false);
    let claims = if unexplained.ln().abs() >= MUCH_LEFT { claims } else { Vec::new() };
    let mut reported = Explanation {
        result,
        subject: pair.index,
        speed,
        says: said,
        adds_up: true,
        causes,
        unexplained: Some(unexplained),
        held_back: None,
        claims,
    };
    reported.says.push(words::with_factors(&reported));
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

/// `primes: B is 1.3× as fast as A`, or the other way round.
pub(super) fn standing(pair: &Pair, result: &Text, speed: f64) -> Text {
    let (fast, slow, times) = if speed >= 1.0 {
        (pair.this_name, pair.base_name, speed)
    } else {
        (pair.base_name, pair.this_name, 1.0 / speed)
    };
    words::faster(result, fast, slow, times)
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
