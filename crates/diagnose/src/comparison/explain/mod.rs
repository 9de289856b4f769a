//! Finds the differences that explain a result. The ratio of the result is split into factors based on results of both records, and the
//! rest is reported as unexplained.

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
use record::{Better, Template, Text, text};

use super::Known;
use super::datum::Datum;
use super::rows::{RowEntry, RowKey};

pub(super) use claims::{NEIGHBOURS, load_average};
pub(super) use clock::{clock_at_import, find_best_clock};
pub(super) use memory::{acts_on, device_speed, find_running, is_read_bandwidth, mt_s, rated_speed};
pub(super) use scaling::describe_scaling;
#[cfg(test)]
pub(super) use {
    memory::STREAMING,
    wakeup::IDLE_STATES,
    work::{DECLARED, INSTRUCTIONS, INSTRUCTIONS_PER_CYCLE, ONE_THREAD, SCALING_WITH_SIBLINGS},
};

/// Factors closer to 1 than this do not count as causes.
const NO_CAUSE: f64 = 0.01;
/// Ratios closer to 1 than this are not explained.
const NO_DIFFERENCE: f64 = 0.02;
/// Claims are judged if more than this share is unexplained.
const MUCH_LEFT: f64 = 0.1;

/// The two sides of a result.
pub(super) struct Pair<'a> {
    pub(super) base: &'a Known<'a>,
    pub(super) this: &'a Known<'a>,
    /// Whether both are runs on the same machine.
    pub(super) same_machine: bool,
}

impl Pair<'_> {
    fn swapped(&self) -> Self {
        Self { base: self.this, this: self.base, ..*self }
    }

    /// A result from each record as evidence.
    fn evidence(&self, this: &Datum, base: &Datum) -> Vec<Evidence> {
        vec![evidence(&self.base.name, base), evidence(&self.this.name, this)]
    }

    /// Evidence from each record.
    fn cite(&self, this: impl Into<Value>, base: impl Into<Value>, from: &str) -> Vec<Evidence> {
        vec![cite(&self.base.name, base, from), cite(&self.this.name, this, from)]
    }
}

/// The speed of one machine relative to the other, and whether an underlying result is unreliable.
#[derive(Clone, Copy)]
pub(super) struct Speed {
    pub(super) factor: f64,
    pub(super) unreliable: bool,
}

impl Speed {
    /// The relative speed from one result of each machine.
    fn new(factor: f64, this: &Datum, base: &Datum) -> Self {
        Self { factor, unreliable: this.doubt.is_some() || base.doubt.is_some() }
    }
}

/// An explanation from the perspective of one machine.
struct OneSided {
    /// Whether this is the leading side: the faster machine, or the machine whose additional cores do not increase
    /// throughput.
    leads: bool,
    explanation: Explanation,
}

/// Explanations of every result that a subject shares with the baseline. For each subject, results without a gain from more cores come
/// first, then the largest differences.
pub(super) fn explain_results(known: &[Known], baseline: usize, relation: Relation) -> Vec<Explanation> {
    let same_machine = relation == Relation::SameMachine;
    let mut all = Vec::new();
    let Some(base) = known.get(baseline) else { return all };
    for (subject, this) in known.iter().enumerate().filter(|(index, _)| *index != baseline) {
        let mut found = explain_pair(&Pair { base, this, same_machine });
        let held = |e: &Explanation| e.held_back.is_some();
        found.sort_by(|a, b| held(b).cmp(&held(a)).then(b.speed.ln().abs().total_cmp(&a.speed.ln().abs())));
        all.extend(found.into_iter().map(|e| Explanation { subject, ..e }));
    }
    all
}

/// All explanations of one subject relative to the baseline. Sentences mention the leading side first, with factors above 1 in its favor;
/// in the data, factors are always those of the subject relative to the baseline.
fn explain_pair(pair: &Pair) -> Vec<Explanation> {
    let wakeup = wakeup::find_shared_wakeup(pair);
    let of_both = explain_from_side(pair, wakeup).into_iter().zip(explain_from_side(&pair.swapped(), wakeup));
    let of_leader = of_both.filter_map(|(this, base)| match this? {
        this if this.leads => Some(this.explanation),
        _ => Some(with_sides_swapped(base?.explanation)),
    });
    of_leader.filter(|e| e.speed.is_finite() && e.speed > 0.0).collect()
}

/// Explanations of all results that both sides share; the order is the same from either perspective.
fn explain_from_side(pair: &Pair, wakeup: Option<(&RowKey, &RowEntry)>) -> Vec<Option<OneSided>> {
    let mut all = work::explain_work(pair);
    all.extend(whole::explain_machines(pair));
    all.extend([memory::explain_bandwidth(pair), memory::explain_memory(pair)]);
    all.push(wakeup.and_then(|row| wakeup::explain_wakeup(pair, row)));
    all
}

/// Converts an explanation from the baseline's perspective to the subject's.
fn with_sides_swapped(mut e: Explanation) -> Explanation {
    fn turn_cause(cause: &mut Cause) {
        cause.factor = 1.0 / cause.factor;
        cause.evidence.reverse();
        cause.parts.iter_mut().for_each(turn_cause);
    }
    e.speed = 1.0 / e.speed;
    e.unexplained = e.unexplained.map(|left| 1.0 / left);
    e.causes.iter_mut().for_each(turn_cause);
    e
}

/// The cause: core clock.
pub(in crate::comparison) const CORE_CLOCK: Template = Template::new("comparison-cause-clock", "core clock");
/// The cause: number of cores.
pub(in crate::comparison) const CORES: Template = Template::new("comparison-cause-cores", "number of cores");
/// The cause: number of CPUs, if the number of cores is unknown.
pub(in crate::comparison) const CPUS: Template = Template::new("comparison-cause-cpus", "number of CPUs");
/// The cause: memory latency.
pub(in crate::comparison) const MEMORY_LATENCY: Template =
    Template::new("comparison-cause-memory-latency", "memory latency");

/// The values of both sides: `3.15 GHz vs. 2.5 GHz`.
fn against(this: impl Into<Value>, base: impl Into<Value>) -> Text {
    text!("{this} vs. {base}", this = this.into(), base = base.into())
}

/// A cause with a measured effect; `None` if its factor is too close to 1.
fn cause(name: impl Into<Text>, says: Text, factor: f64, evidence: Vec<Evidence>) -> Option<Cause> {
    cause_of_parts(name, says, factor, evidence, Vec::new())
}

/// Marks a cause's effect as modelled.
fn modelled(cause: Cause) -> Cause {
    Cause { measured: false, ..cause }
}

/// A cause that consists of other causes. A cause with parts is listed even if its factor is close to 1.
fn cause_of_parts(
    name: impl Into<Text>,
    says: Text,
    factor: f64,
    evidence: Vec<Evidence>,
    parts: Vec<Cause>,
) -> Option<Cause> {
    let real = factor.is_finite() && factor > 0.0 && factor.ln().abs() >= NO_CAUSE;
    let name = name.into();
    let code = name.code().unwrap_or_default().to_owned();
    (real || !parts.is_empty()).then_some(Cause {
        code,
        name,
        says,
        factor,
        unreliable: parts.iter().any(|part| part.unreliable),
        despite: false,
        measured: true,
        evidence,
        parts,
    })
}

/// A measured result as a cause: a better result means a faster machine.
fn figure_cause(pair: &Pair, name: impl Into<Text>, this: &Datum, base: &Datum, by: Better) -> Option<Cause> {
    let says = against(figure(this.value, &this.unit), figure(base.value, &base.unit));
    let cause = cause(name, says, find_speed(this, base, by), pair.evidence(this, base))?;
    Some(Cause { unreliable: this.doubt.is_some() || base.doubt.is_some(), ..cause })
}

/// Evidence from a result, or from the median of several.
fn evidence(name: &String, datum: &Datum) -> Evidence {
    let value = figure(datum.value, &datum.unit);
    match &datum.over {
        Some(over) => cite(name, text!("{value}, {over}"), &datum.from),
        None => cite(name, value, &datum.from),
    }
}

/// Evidence from a record: the record's name, the value and its place.
pub(super) fn cite(name: &String, value: impl Into<Value>, from: &str) -> Evidence {
    let says = text!("{name}: {value}", value = value.into());
    Evidence { says, from: from.to_owned() }
}

/// An explanation in which the factors of the causes multiply to the speed ratio; `figures` adds details.
fn explain_by_factors(
    pair: &Pair,
    result: Text,
    speed: Speed,
    figures: Text,
    causes: impl IntoIterator<Item = Option<Cause>>,
    claims: Vec<Claim>,
) -> OneSided {
    let mut causes: Vec<Cause> = causes.into_iter().flatten().collect();
    let Speed { factor, unreliable } = speed;
    let unexplained = factor / causes.iter().map(|cause| cause.factor).product::<f64>();
    sort_causes(&mut causes, factor, false);
    let claims = if unexplained.ln().abs() >= MUCH_LEFT { claims } else { Vec::new() };
    let mut says = words::describe_speed(&result, &pair.this.name, &pair.base.name, speed);
    says.push(figures);
    let mut explanation = Explanation {
        adds_up: true,
        unexplained: Some(unexplained),
        speed: factor,
        result,
        says,
        causes,
        claims,
        unreliable,
        ..Explanation::default()
    };
    explanation.says.push(words::list_factors(&explanation));
    OneSided { leads: factor >= 1.0, explanation }
}

/// An explanation with independent causes, whose combined effect on a program is unknown.
fn explain_faster(pair: &Pair, result: Text, speed: Speed, mut causes: Vec<Cause>) -> OneSided {
    // Measured causes come before causes that are only bounds.
    sort_causes(&mut causes, speed.factor, true);
    let says = words::describe_speed(&result, &pair.this.name, &pair.base.name, speed);
    let Speed { factor: speed, unreliable } = speed;
    let mut explanation = Explanation { result, speed, says, causes, unreliable, ..Explanation::default() };
    explanation.says.push(words::list_factors(&explanation));
    OneSided { leads: speed >= 1.0, explanation }
}

/// Orders causes: causes that slow down the slower machine come first, then larger effects. `measured_first` puts measured causes before
/// modelled ones. It is set if the causes do not multiply, or if modelled causes are only bounds.
fn sort_causes(causes: &mut [Cause], speed: f64, measured_first: bool) {
    let effect = |cause: &Cause| cause.factor.ln().abs();
    let despite = |cause: &Cause| (cause.factor.ln() > 0.0) != (speed.ln() > 0.0);
    for cause in causes.iter_mut() {
        cause.despite = despite(cause);
        cause.parts.sort_by(|a, b| effect(b).total_cmp(&effect(a)));
        cause.parts.iter_mut().for_each(|part| part.despite = despite(part));
    }
    let rank = |cause: &Cause| (cause.despite, measured_first && !cause.measured);
    causes.sort_by(|a, b| rank(a).cmp(&rank(b)).then(effect(b).total_cmp(&effect(a))));
}

/// Whether two results are comparable.
fn are_comparable(this: &Datum, base: &Datum) -> bool {
    super::table::find_refusal(this, base).is_none() && this.value > 0.0 && base.value > 0.0
}

/// Whether a relative speed differs enough from 1 to be explained.
fn differs(speed: f64) -> bool {
    speed.is_finite() && speed > 0.0 && speed.ln().abs() >= NO_DIFFERENCE
}

/// The relative speed of this machine according to one result.
fn find_speed(this: &Datum, base: &Datum, better: Better) -> f64 {
    match better {
        Better::Higher => this.value / base.value,
        Better::Lower => base.value / this.value,
    }
}

/// The relative speed, if the results are comparable and differ.
fn find_difference(this: &Datum, base: &Datum, better: Better) -> Option<f64> {
    let speed = find_speed(this, base, better);
    (are_comparable(this, base) && is_resolved(this, base, better) && differs(speed)).then_some(speed)
}

/// Whether the difference is resolved. The comparison's interval decides; without an interval, both results must be reliable.
fn is_resolved(this: &Datum, base: &Datum, better: Better) -> bool {
    let compared = super::ratio::compare(this, base, Some(better));
    match compared.interval {
        Some(_) => compared.slower.is_some(),
        None => this.doubt.is_none() && base.doubt.is_none(),
    }
}
