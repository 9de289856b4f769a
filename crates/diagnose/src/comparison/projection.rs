//! What each would do with another's best setting: modelled from its own figures where they tell, else from the other's.

use record::comparison::{Explanation, WhatIf};
use record::diagnosis::Evidence;
use record::difference::Verdict;
use record::text::Value;
use record::units::figure;
use record::{KnobValue, Label, Record, Template, Text, metrics, text};

use super::Known;
use super::datum::Datum;
use super::explain::{CORE_CLOCK, CORES, CPUS, acts_on, cite, device_speed, mt_s, rated_speed};
use super::nodes::find_reaches;
use super::rows::{RowEntry, RowKey, RowKind};
use crate::figures::cite_fact;
use crate::observed::{Observed, find_observed};

/// Gains below this are not worth telling.
const WORTH: f64 = 1.02;
/// Faster memory devices.
pub(super) const DEVICES: Template =
    Template { code: "comparison-set-memory-devices", words: "memory devices" };
/// Processes that each use one node.
pub(super) const BINDING: Template =
    Template { code: "comparison-set-node-binding", words: "processes bound to nodes" };
/// What devices are made for.
pub(super) const RATED: Template = Template {
    code: "comparison-devices-rated",
    words: "The devices are rated for {rated}; {who} runs at {best}.",
};

/// Whether both figures of a setting were measured on the machine that would gain; else the gain is modelled.
pub(super) fn is_measured(what: &WhatIf) -> bool {
    !what.at_most
}

/// Every setting of every subject that another has better, or that its own figures show to be better.
pub(super) fn project_settings(
    known: &[Known],
    baseline: usize,
    explanations: &[Explanation],
) -> Vec<WhatIf> {
    let mut all = Vec::new();
    for (subject, this) in known.iter().enumerate() {
        let each = [project_devices(this, known), project_binding(this)];
        let each = each
            .into_iter()
            .flatten()
            .chain(project_findings(this))
            .filter(|what| what.gain.is_finite() && what.gain >= WORTH);
        let mut each: Vec<WhatIf> = each.collect();
        each.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let held = explanations.iter().filter(|e| e.held_back.is_some());
        let of_this = held.filter(|e| e.subject == subject || baseline == subject);
        let mut whole = of_this.filter_map(|e| {
            let other = if e.subject == subject { baseline } else { e.subject };
            project_all_memory(e, &each, (this, subject), &known[other])
        });
        let whole = whole.next();
        all.extend(each.into_iter().chain(whole).map(|what| WhatIf { subject, ..what }));
    }
    all
}

/// A setting, what it is now and then, what it acts on and by how much, and what follows.
fn what_if(setting: Text, [now, then]: [Text; 2], acts_on: Text, gain: f64, says: Text) -> WhatIf {
    let code = setting.code().unwrap_or_default().to_owned();
    WhatIf { code, setting, now, then, acts_on, gain, says, ..WhatIf::default() }
}

/// The record that has most of something, and how much; of several the last.
fn find_most<'a>(known: &'a [Known], figure: impl Fn(&Record) -> Option<f64>) -> Option<(&'a String, f64)> {
    let all = known.iter().filter_map(|known| Some((&known.name, figure(known.record)?)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// All settings of memory at once, for a machine that is held back by it: what its cores would do if memory answered each
/// of them as the other's answers its own. From cores alone and their own node's latency as it is, up to cores at their clock
/// with the other's latency, where faster devices may bring that.
fn project_all_memory(
    held: &Explanation,
    settings: &[WhatIf],
    (this, subject): (&Known, usize),
    other: &Known,
) -> Option<WhatIf> {
    let has = |setting: &Template| settings.iter().any(|what| what.setting.is(setting));
    if !has(&BINDING) {
        return None;
    }
    let cause = |name: &Template| held.causes.iter().find(|cause| cause.name.is(name));
    // Factors of the explanation are of its subject against the baseline.
    let oriented = |factor: f64| if held.subject == subject { factor } else { 1.0 / factor };
    let cores = oriented(cause(&CORES).or_else(|| cause(&CPUS))?.factor);
    let clock = cause(&CORE_CLOCK).map_or(1.0, |cause| oriented(cause.factor));
    let of_this = find_reaches(this.record);
    let (mine, theirs) = find_reaches(other.record).into_iter().find_map(|theirs| {
        let mine = of_this.iter().find(|mine| mine.what == theirs.what && mine.other.is_some())?.clone();
        theirs.other.is_some().then_some((mine, theirs))
    })?;
    let speed = oriented(held.speed);
    let as_is = theirs.average() / mine.own.value;
    let best = if has(&DEVICES) { as_is.max(theirs.average() / theirs.own.value) } else { as_is };
    let (low, high) = (cores * clock.min(1.0) * as_is / speed, cores * clock.max(1.0) * best / speed);
    let (least, most, who) = (Value::Factor(low), Value::Factor(high), &other.name);
    let setting = match has(&DEVICES) {
        true => text!("comparison-set-all-memory", "memory devices and node binding together"),
        false => text!("comparison-set-binding-alone", "node binding, as a whole"),
    };
    let states = [as_it_is(), text!("memory of {who}")];
    let acts_on = match &held.held_back {
        Some(held) => text!("{work}", work = &held.work),
        None => held.result.clone(),
    };
    let mut says = text!(
        "comparison-estimate",
        "Estimated for a memory-bound program: {least} to {most} of today, if each core does what one of {who} does, or more by its clock and memory."
    );
    let gain =
        |setting: &Template| settings.iter().find(|what| what.setting.is(setting)).map(|what| what.gain);
    let of_this_work =
        |observed: &Observed| held.held_back.as_ref().is_some_and(|held| held.work == observed.work);
    if let Some(observed) = find_observed(this.record).filter(of_this_work) {
        says.push(observed.against_model(gain(&DEVICES), gain(&BINDING).unwrap_or(1.0)));
    }
    (cores > 1.0 && low > WORTH && high.is_finite()).then(|| WhatIf {
        at_most: true,
        together: true,
        evidence: vec![cite_datum(&mine.own), cite_datum(&theirs.own)],
        ..what_if(setting, states, acts_on, high, says)
    })
}

fn as_it_is() -> Text {
    text!("as is")
}

fn cite_datum(datum: &Datum) -> Evidence {
    cite_fact(figure(datum.value, &datum.unit), datum.from.clone())
}

/// Memory devices at the fastest other's speed, so far as they allow it.
fn project_devices(this: &Known, known: &[Known]) -> Option<WhatIf> {
    let (who, best) = find_most(known, |record| device_speed(record).map(f64::from))?;
    let best = best as u32;
    let now = device_speed(this.record)?;
    let rated = rated_speed(&this.record.machine);
    let then = rated.map_or(best, |rated| rated.min(best));
    if then <= now {
        return None;
    }
    let gain = f64::from(then) / f64::from(now);
    let mut says = match rated {
        Some(rated) => text!(RATED, rated = mt_s(rated), who, best = mt_s(best)),
        None => text!(
            "Requires devices rated for it (rating not recorded); {who} runs at {best}.",
            best = mt_s(best)
        ),
    };
    let of_all = |key: &RowKey| key.metric == metrics::MEMORY_BANDWIDTH && key.kind == RowKind::AllCpus;
    let is_read = |entry: &RowEntry| {
        let is = |label: Label, word: &str| entry.place.word(label) == Some(word);
        is(Label::Op, "read") && !is(Label::BytesCounted, "bus")
    };
    if let Some((_, read)) = this.rows.iter().find(|(key, entry)| of_all(key) && is_read(entry)) {
        says.push(text!(
            "Read bandwidth: at most {then} instead of {now}.",
            then = figure(read.datum.value * gain, "B/s"),
            now = figure(read.datum.value, "B/s")
        ));
    }
    let from = "machine.memory_devices[].configured_mt_s";
    let evidence = vec![cite_fact(mt_s(now), from), cite(who, mt_s(best), from)];
    let acts_on = text!("memory bandwidth");
    let what = what_if(text!(DEVICES), [mt_s(now), mt_s(then)], acts_on, gain, says);
    Some(WhatIf { at_most: true, evidence, ..what })
}

/// Each process on one node, with that node's memory.
fn project_binding(this: &Known) -> Option<WhatIf> {
    let reach = find_reaches(this.record)
        .into_iter()
        .find(|reach| reach.other.is_some() && reach.own.unfit.is_none())?;
    let says = text!(
        "{nodes} processes, one per node: {own} instead of {average} ({what}).",
        nodes = reach.nodes,
        own = figure(reach.own.value, &reach.own.unit),
        average = figure(reach.average(), &reach.own.unit),
        what = &reach.what
    );
    let share = Value::Share(reach.remote_share);
    let now = text!("{share} of accesses remote");
    let states = [now, text!("none remote")];
    let evidence = [Some(&reach.own), reach.other.as_ref()].into_iter().flatten().map(cite_datum).collect();
    let what = what_if(text!(BINDING), states, acts_on(&reach), reach.ignoring(), says);
    Some(WhatIf { at_most: true, evidence, ..what })
}

/// Each knob that a finding of the record's own names: the finding has figures and cause.
fn project_findings(this: &Known) -> impl Iterator<Item = WhatIf> {
    this.record.diagnosis.findings.iter().filter_map(|finding| {
        let Verdict::Costs { share, .. } = finding.loss else { return None };
        let KnobValue { knob, value, .. } = finding.knob()?;
        let acts_on = finding.resource.as_deref().unwrap_or("CPU time");
        let then = value.as_deref().unwrap_or("steadier");
        let states = [as_it_is(), text!("{then}", then = then)];
        let says = text!("Finding {rule}: {what}.", rule = &finding.rule, what = &finding.what);
        let setting = text!("{knob}", knob = knob.name());
        let what = what_if(setting, states, text!("{acts_on}", acts_on = acts_on), 1.0 / (1.0 - share), says);
        Some(WhatIf { at_most: !finding.measured, evidence: finding.evidence.clone(), ..what })
    })
}
