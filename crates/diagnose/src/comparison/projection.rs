//! Projects the speed of each machine with another machine's best setting: modelled from its own results if possible, otherwise from the
//! other machine's results.

use record::comparison::{Explanation, WhatIf};
use record::diagnosis::Evidence;
use record::text::Value;
use record::units::{figure, significant};
use record::{Measurement, Record, Template, Text, metrics, text};

use super::Known;
use super::datum::Datum;
use super::explain::{
    CORE_CLOCK, CORES, CPUS, MEMORY_LATENCY, acts_on, cite, device_speed, is_read_bandwidth, mt_s,
    rated_speed,
};
use super::nodes::find_reaches;
use super::rows::{RowKind, find_clock, find_row, find_wakeups};
use crate::figures::cite_fact;
use crate::observed::{Observed, find_observed};

/// Smaller gains are not mentioned.
const WORTH: f64 = 1.02;
/// The setting: faster memory devices.
pub(super) const DEVICES: Template = Template::new("comparison-set-memory-devices", "memory devices");
/// The setting: processes that each use one node.
pub(super) const BINDING: Template = Template::new("comparison-set-node-binding", "processes bound to nodes");
/// The setting: idle states disabled.
const IDLE_STATES: Template = Template::new("comparison-set-idle-states", "idle states");
/// The setting: transparent huge pages as on another machine.
const HUGE_PAGES: Template = Template::new("comparison-set-huge-pages", "transparent huge pages");
/// The note on the rated speed of memory devices.
pub(super) const RATED: Template = Template::new(
    "comparison-devices-rated",
    "The memory devices are rated for {rated}; those of {who} run at {best}.",
);

/// Whether a setting's effect was measured on the machine that would benefit. If not, the gain is modelled.
pub(super) fn is_measured(what: &WhatIf) -> bool {
    [IDLE_STATES, HUGE_PAGES].iter().any(|setting| what.setting.is(setting))
}

/// For each subject, all settings for which another subject has a better value, or for which the subject's own results show that another
/// value is better.
pub(super) fn project_settings(known: &[Known], baseline: usize, explained: &[Explanation]) -> Vec<WhatIf> {
    let governor = text!("governor");
    let boost = text!("boost");
    let mut all = Vec::new();
    for (subject, this) in known.iter().enumerate() {
        let each = [
            project_devices(this, known),
            project_binding(this),
            project_smt(this, known),
            project_highest_clock(this, known, governor.clone(), "performance", |record| {
                record.conditions.before.clocks.first()?.governor.clone()
            }),
            project_highest_clock(this, known, boost.clone(), "on", |record| {
                record.conditions.before.boost.map(|on| if on { "on" } else { "off" }.to_owned())
            }),
            project_huge_pages(this, known),
            project_idle_states(this),
            project_clock_source(this, known),
        ];
        let each = each.into_iter().flatten().filter(|what| what.gain.is_finite() && what.gain >= WORTH);
        let mut each: Vec<WhatIf> = each.collect();
        each.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let held = explained.iter().filter(|e| e.held_back.is_some());
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

/// Builds a projection: a setting, its current and new value, the affected result, the gain, and the conclusion.
fn what_if(setting: Text, [now, then]: [Text; 2], acts_on: Text, gain: f64, says: Text) -> WhatIf {
    let code = setting.code().unwrap_or_default().to_owned();
    WhatIf { code, setting, now, then, acts_on, gain, says, ..WhatIf::default() }
}

/// The name of the first record with a value, and that value.
fn find_first<'a, T>(known: &'a [Known], find: impl Fn(&Record) -> Option<T>) -> Option<(&'a String, T)> {
    known.iter().find_map(|known| Some((&known.name, find(known.record)?)))
}

/// The name of the record with the largest value, and that value; the last record if several are equal.
fn find_most<'a>(known: &'a [Known], figure: impl Fn(&Record) -> Option<f64>) -> Option<(&'a String, f64)> {
    let all = known.iter().filter_map(|known| Some((&known.name, figure(known.record)?)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The combined effect of all memory settings on a machine limited by memory, that is, the machine's speed if each core had the other
/// machine's memory latency. The lower end of the range assumes that a lower clock costs speed; the upper end assumes that it does not and,
/// if faster devices are possible, that the devices reach the other machine's local latency.
fn project_all_memory(
    held: &Explanation,
    settings: &[WhatIf],
    (this, subject): (&Known, usize),
    other: &Known,
) -> Option<WhatIf> {
    let has = |setting: &Template| settings.iter().any(|what| what.setting.is(setting));
    has(&BINDING).then_some(())?;
    let cause = |name: &Template| held.causes.iter().find(|cause| cause.name.is(name));
    // Factors of the explanation are relative to the baseline.
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
        true => text!("memory devices and node binding together"),
        false => text!("node binding, overall"),
    };
    let states = [as_it_is(), text!("memory of {who}")];
    let acts_on = match &held.held_back {
        Some(held) => text!("{work}", work = &held.work),
        None => held.result.clone(),
    };
    let mut says = text!(
        "comparison-estimate",
        "Estimate for a memory-bound program: {least} to {most} the current speed. The low end assumes no gain from a faster clock or faster memory than those of {who}; the high end assumes the full gain."
    );
    let gain = |setting: &Template| settings.iter().find(|w| w.setting.is(setting)).map(|w| w.gain);
    let of_this_work = |of: &Observed| held.held_back.as_ref().is_some_and(|held| held.work == of.work);
    if let Some(observed) = find_observed(this.record).filter(of_this_work) {
        let now = this.record.machine.memory_devices.iter().find_map(|device| device.configured_mt_s);
        says.push(observed.against_model(gain(&DEVICES), now, gain(&BINDING).unwrap_or(1.0)));
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

fn name_switch(on: bool) -> Text {
    if on { text!("on") } else { text!("off") }
}

/// Returns the result if it is comparable with others.
fn filter_usable(datum: Option<&Datum>) -> Option<&Datum> {
    datum.filter(|datum| datum.unfit.is_none() && datum.value > 0.0)
}

fn cite_datum(datum: &Datum) -> Evidence {
    cite_fact(figure(datum.value, &datum.unit), datum.from.clone())
}

/// Memory devices that run at the speed of those in the fastest other machine, but not above their rating.
fn project_devices(this: &Known, known: &[Known]) -> Option<WhatIf> {
    let (who, best) = find_most(known, |record| device_speed(record).map(f64::from))?;
    let best = best as u32;
    let now = device_speed(this.record)?;
    let rated = rated_speed(&this.record.machine);
    let then = rated.map_or(best, |rated| rated.min(best));
    (then > now).then_some(())?;
    let gain = f64::from(then) / f64::from(now);
    let mut says = match rated {
        Some(rated) => text!(RATED, rated = mt_s(rated), who, best = mt_s(best)),
        None => text!(
            "Requires memory devices rated for that speed (rating not recorded); those of {who} run at {best}.",
            best = mt_s(best)
        ),
    };
    if let Some((_, read)) = this.rows.iter().find(is_read_bandwidth) {
        let [then, now] = [gain, 1.0].map(|factor| figure(read.datum.value * factor, "B/s"));
        says.push(text!("Read bandwidth: at most {then} instead of {now}."));
    }
    let from = "machine.memory_devices[].configured_mt_s";
    let evidence = vec![cite_fact(mt_s(now), from), cite(who, mt_s(best), from)];
    let acts_on = text!("memory bandwidth");
    let what = what_if(text!(DEVICES), [mt_s(now), mt_s(then)], acts_on, gain, says);
    Some(WhatIf { at_most: true, evidence, ..what })
}

/// The setting: each process bound to one node and its memory.
fn project_binding(this: &Known) -> Option<WhatIf> {
    let reach = find_reaches(this.record)
        .into_iter()
        .find(|reach| reach.other.is_some() && reach.own.unfit.is_none())?;
    let [own, average] = [reach.own.value, reach.average()].map(|value| figure(value, &reach.own.unit));
    let (nodes, what) = (reach.nodes, &reach.what);
    let says = text!("With {nodes} processes, one per node: {own} instead of {average} ({what}).");
    let share = Value::Share(reach.remote_share);
    let now = text!("{share} of accesses remote");
    let states = [now, text!("none remote")];
    let evidence = [Some(&reach.own), reach.other.as_ref()].into_iter().flatten().map(cite_datum).collect();
    let what = what_if(text!(BINDING), states, acts_on(&reach), reach.ignoring(), says);
    Some(WhatIf { at_most: true, evidence, ..what })
}

/// The setting: SMT on or off.
fn project_smt(this: &Known, known: &[Known]) -> Option<WhatIf> {
    let smt = |record: &Record| record.conditions.before.smt.clone().unwrap_or_default();
    let is_off = |record: &Record| matches!(smt(record).as_str(), "off" | "forceoff");
    let find_yield = |record: &Record| {
        let all = record.measurements_of(metrics::SMT_YIELD).map(Measurement::value);
        crate::figures::median(all.filter(|gain| gain.is_finite() && *gain > 0.0))
    };
    let (states, gain, says, evidence) = if is_off(this.record) {
        let (who, gain) = find_most(known, |record| find_yield(record).filter(|_| smt(record) == "on"))?;
        let says = text!("SMT yield measured on {who}, not on this machine.");
        let evidence = cite(who, Value::Factor(gain), metrics::SMT_YIELD.name());
        ([false, true].map(name_switch), gain, says, evidence)
    } else {
        let own = find_yield(this.record).filter(|own| *own < 1.0)?;
        find_first(known, |record| is_off(record).then_some(()))?;
        let both = Value::Factor(own);
        let says = text!("Two siblings together achieve {both} the throughput of one.");
        ([true, false].map(name_switch), 1.0 / own, says, cite_fact(significant(own), metrics::SMT_YIELD))
    };
    let acts_on = text!("throughput of all CPUs");
    let what = what_if(text!("SMT"), states, acts_on, gain, says);
    Some(WhatIf { evidence: vec![evidence], ..what })
}

/// A setting with a better value on another machine, which may raise the core clock to the highest advertised clock.
fn project_highest_clock(
    this: &Known,
    known: &[Known],
    setting: Text,
    best: &str,
    state: fn(&Record) -> Option<String>,
) -> Option<WhatIf> {
    let now = state(this.record).filter(|now| now != best)?;
    let (who, then) = find_first(known, |record| state(record).filter(|state| state == best))?;
    let clock = filter_usable(find_clock(&this.rows))?;
    let most = this.record.machine.processor.max_hz? as f64;
    let evidence = vec![cite_datum(clock), cite_fact(figure(most, "Hz"), "machine.processor.max_hz")];
    let (states, gain) = ([now.into(), then.into()], most / clock.value);
    let [most, now] = [most, clock.value].map(|hz| Value::Figure(hz, "Hz"));
    let says = text!("At most {most} (advertised) instead of {now}, with the setting of {who}.");
    let what = what_if(setting, states, text!(CORE_CLOCK), gain, says);
    Some(WhatIf { at_most: true, evidence, ..what })
}

/// The gain from transparent huge pages, based on the machine's own latencies on small and on huge pages.
fn project_huge_pages(this: &Known, known: &[Known]) -> Option<WhatIf> {
    let pages = |record: &Record| record.conditions.before.thp.clone();
    let now = pages(this.record).filter(|thp| thp == "never")?;
    let (who, then) = find_first(known, |r| pages(r).filter(|thp| thp == "always" || thp == "madvise"))?;
    let (small, huge) = (
        filter_usable(find_row(&this.rows, metrics::LOAD_LATENCY, RowKind::MemoryOnBasePages))?,
        filter_usable(find_row(&this.rows, metrics::LOAD_LATENCY, RowKind::Memory))?,
    );
    let (states, gain) = ([now.into(), then.into()], small.value / huge.value);
    let evidence = vec![cite_datum(small), cite_datum(huge)];
    let [small, huge] = [small, huge].map(|latency| figure(latency.value, "ns"));
    let says = text!("Large working sets: {huge} instead of {small} (measured here), as on {who}.");
    let what = what_if(text!(HUGE_PAGES), states, text!(MEMORY_LATENCY), gain, says);
    Some(WhatIf { at_most: true, evidence, ..what })
}

/// The gain from disabling idle states, as measured on this machine for real-time threads (as in the headline) or, if that is missing, for
/// ordinary threads. The timer slack of ordinary threads is Linux's default and therefore not a loss.
fn project_idle_states(this: &Known) -> Option<WhatIf> {
    let median =
        |policy, setting| filter_usable(find_wakeups(&this.rows, metrics::WAKEUP_LATENCY, policy, setting));
    let pair = |policy, held_off| median(policy, "as-is").zip(median(policy, held_off));
    let (now, then) = pair("fifo", "tuned").or_else(|| pair("other", "awake"))?;
    (super::ratio::compare(then, now, Some(record::Better::Lower)).slower == Some(false)).then_some(())?;
    let (gain, evidence) = (now.value / then.value, vec![cite_datum(now), cite_datum(then)]);
    let [now, then] = [now, then].map(|latency| figure(latency.value, "ns"));
    let says = text!("{then} instead of {now} (measured here).");
    let states = [as_it_is(), text!("disabled")];
    Some(WhatIf { evidence, ..what_if(text!(IDLE_STATES), states, text!("wake-up"), gain, says) })
}

/// Another machine's clock source, if it is cheaper to read.
fn project_clock_source(this: &Known, known: &[Known]) -> Option<WhatIf> {
    let now = this.record.conditions.before.clocksource.as_ref()?;
    let mine = filter_usable(find_row(&this.rows, metrics::COST_CLOCK_READ, RowKind::Other))?;
    // Only sources available on this machine can be set.
    let offered = |source: &&String| this.record.conditions.before.clocksources.contains(source);
    let cheaper = known.iter().filter_map(|other| {
        let then = other.record.conditions.before.clocksource.as_ref().filter(|source| *source != now)?;
        let theirs = filter_usable(find_row(&other.rows, metrics::COST_CLOCK_READ, RowKind::Other))?;
        Some((&other.name, Some(then).filter(offered)?, theirs))
    });
    let (who, then, theirs) = cheaper.min_by(|a, b| a.2.value.total_cmp(&b.2.value))?;
    let (gain, evidence) = (mine.value / theirs.value, vec![cite_datum(mine), cite_datum(theirs)]);
    let [mine, theirs] = [mine, theirs].map(|cost| figure(cost.value, "ns"));
    let says = text!("Reading the clock takes {theirs} on {who} and {mine} here.");
    let setting = text!("clock source");
    let states = [now.clone().into(), then.clone().into()];
    Some(WhatIf { evidence, ..what_if(setting, states, text!("reading the clock"), gain, says) })
}
