//! What each would do with another's best setting: modelled from its own figures where they tell, else from the other's.

use record::comparison::{Explanation, WhatIf};
use record::diagnosis::Evidence;
use record::text::Value;
use record::units::{figure, significant};
use record::{Label, Record, Template, Text, text};

use super::Known;
use super::datum::Datum;
use super::explain::{CORE_CLOCK, CORES, MEMORY_LATENCY, acts_on, device_speed, mt_s, rated_speed};
use super::nodes::reaches;
use super::rows::{RowKind, find_clock, find_row, find_wakeups};

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
/// All settings of memory, estimated.
pub(super) const ESTIMATE: Template = Template {
    code: "comparison-estimate",
    words: "Estimated for a memory-bound program: {least} to {most} of today, if each core does what one of {who} does, or more by its clock and memory.",
};

/// Every setting of every subject that another has better, or that its own figures show to be better.
pub(super) fn projections(
    known: &[Known],
    names: &[String],
    baseline: usize,
    explanations: &[Explanation],
) -> Vec<WhatIf> {
    let best_devices = known
        .iter()
        .enumerate()
        .filter_map(|(i, k)| Some((device_speed(k.record)?, i)))
        .max_by_key(|best| best.0);
    let mut all = Vec::new();
    for (subject, this) in known.iter().enumerate() {
        let of = [
            best_devices.and_then(|best| devices(this, best, names)),
            binding(this),
            siblings(this, known, names),
            governor(this, known, names),
            boost(this, known, names),
            huge_pages(this, known, names),
            wakeup(this),
            clock_source(this, known, names),
        ];
        let mut of: Vec<WhatIf> =
            of.into_iter().flatten().filter(|what| what.gain.is_finite() && what.gain >= WORTH).collect();
        of.iter_mut().for_each(|what| what.subject = subject);
        of.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let held = explanations.iter().filter(|e| e.held_back.is_some());
        let other = |e: &Explanation| if e.subject == subject { baseline } else { e.subject };
        let whole = held
            .filter(|e| e.subject == subject || baseline == subject)
            .find_map(|e| together(e, &of, (this, subject), &known[other(e)], &names[other(e)]));
        all.extend(of);
        all.extend(whole);
    }
    all
}

/// All settings of memory at once, for a machine that is held back by it: what its cores would do if memory answered each
/// of them as the other's answers its own. From cores alone and their own node's latency as it is, up to cores at their clock
/// with the other's latency, where faster devices may bring that.
fn together(
    held: &Explanation,
    settings: &[WhatIf],
    (this, subject): (&Known, usize),
    other: &Known,
    who: &str,
) -> Option<WhatIf> {
    let has = |setting: &Template| settings.iter().any(|what| what.setting.is(setting));
    if !has(&BINDING) {
        return None;
    }
    let cause = |name: &Template| held.causes.iter().find(|cause| cause.name.is(name));
    // Factors of the explanation are of its subject against the baseline.
    let oriented = |factor: f64| if held.subject == subject { factor } else { 1.0 / factor };
    let cores = oriented(cause(&CORES)?.factor);
    let clock = cause(&CORE_CLOCK).map_or(1.0, |cause| oriented(cause.factor));
    let of = reaches(this.record);
    let (mine, theirs) = reaches(other.record).into_iter().find_map(|theirs| {
        let mine = of.iter().find(|mine| mine.what == theirs.what && mine.other.is_some())?.clone();
        theirs.other.is_some().then_some((mine, theirs))
    })?;
    let speed = oriented(held.speed);
    let as_is = theirs.average() / mine.own.value;
    let best = if has(&DEVICES) { as_is.max(theirs.average() / theirs.own.value) } else { as_is };
    let (low, high) = (cores * clock.min(1.0) * as_is / speed, cores * clock.max(1.0) * best / speed);
    let acts_on = match &held.held_back {
        Some(held) => text!("comparison-acts-on-work", "{work}", work = &held.work),
        None => held.result.clone(),
    };
    let setting = if has(&DEVICES) {
        text!("comparison-set-all-memory", "memory devices and node binding together")
    } else {
        text!("comparison-set-binding-alone", "node binding, as a whole")
    };
    let (least, most) = (Value::Factor(low), Value::Factor(high));
    (cores > 1.0 && low > WORTH && high.is_finite()).then(|| WhatIf {
        subject,
        at_most: true,
        together: true,
        evidence: vec![proof(&mine.own), proof(&theirs.own)],
        ..what_if(
            setting,
            [
                text!("comparison-as-is", "as is"),
                text!("comparison-memory-of", "memory of {who}", who = who.to_owned()),
            ],
            acts_on,
            high,
            text!(ESTIMATE, least, most, who = who.to_owned()),
        )
    })
}

/// A setting, what it is now and then, what it acts on and by how much, and what follows.
fn what_if(setting: Text, [now, then]: [Text; 2], acts_on: Text, gain: f64, says: Text) -> WhatIf {
    WhatIf {
        subject: 0,
        code: setting.code().unwrap_or_default().to_owned(),
        setting,
        now,
        then,
        acts_on,
        gain,
        at_most: false,
        together: false,
        says,
        evidence: Vec::new(),
    }
}

fn core_clock() -> Text {
    text!(CORE_CLOCK)
}

fn on() -> Text {
    text!("comparison-on", "on")
}

fn off() -> Text {
    text!("comparison-off", "off")
}

/// A figure that may be held against others.
fn usable(datum: Option<&Datum>) -> Option<&Datum> {
    datum.filter(|datum| datum.unfit.is_none() && datum.value > 0.0)
}

fn proof(datum: &Datum) -> Evidence {
    Evidence { says: figure(datum.value, &datum.unit).into(), from: datum.from.clone() }
}

fn cite(says: impl Into<Text>, from: &str) -> Evidence {
    Evidence { says: says.into(), from: from.to_owned() }
}

/// Memory devices at the fastest other's speed, so far as they allow it.
fn devices(this: &Known, (best, who): (u32, usize), names: &[String]) -> Option<WhatIf> {
    let now = device_speed(this.record)?;
    let rated = rated_speed(&this.record.machine);
    let then = rated.map_or(best, |rated| rated.min(best));
    if then <= now {
        return None;
    }
    let gain = f64::from(then) / f64::from(now);
    let bandwidth = this
        .rows
        .iter()
        .find(|(key, entry)| {
            let is = |label: Label, word: &str| entry.place.word(label) == Some(word);
            let of_all = key.metric == "memory.bandwidth" && key.kind == RowKind::AllCpus;
            of_all && is(Label::Op, "read") && !is(Label::BytesCounted, "bus")
        })
        .map(|(_, entry)| &entry.datum);
    let mut says = match rated {
        Some(rated) => text!(RATED, rated = mt_s(rated), who = &names[who], best = mt_s(best)),
        None => text!(
            "comparison-devices-unrated",
            "Requires devices rated for it (rating not recorded); {who} runs at {best}.",
            who = &names[who],
            best = mt_s(best)
        ),
    };
    if let Some(now) = bandwidth {
        says.push(text!(
            "comparison-devices-bandwidth",
            "Read bandwidth: at most {then} instead of {now}.",
            then = figure(now.value * gain, "B/s"),
            now = figure(now.value, "B/s")
        ));
    }
    let from = "machine.memory_devices[].configured_mt_s";
    let of_best = text!("comparison-evidence", "{name}: {value}", name = &names[who], value = mt_s(best));
    let acts_on = text!("comparison-acts-on-bandwidth", "memory bandwidth");
    Some(WhatIf {
        at_most: true,
        evidence: vec![cite(mt_s(now), from), cite(of_best, from)],
        ..what_if(text!(DEVICES), [mt_s(now), mt_s(then)], acts_on, gain, says)
    })
}

/// Each process on one node, with that node's memory.
fn binding(this: &Known) -> Option<WhatIf> {
    let reach =
        reaches(this.record).into_iter().find(|reach| reach.other.is_some() && reach.own.unfit.is_none())?;
    let mut evidence = vec![proof(&reach.own)];
    evidence.extend(reach.other.as_ref().map(proof));
    let says = text!(
        "comparison-one-process-per-node",
        "{nodes} processes, one per node: {own} instead of {average} ({what}).",
        nodes = reach.nodes,
        own = figure(reach.own.value, &reach.unit),
        average = figure(reach.average(), &reach.unit),
        what = &reach.what
    );
    let now = text!(
        "comparison-remote-now",
        "{share} of accesses remote",
        share = Value::Share(reach.remote_share)
    );
    let then = text!("comparison-none-remote", "none remote");
    Some(WhatIf {
        at_most: true,
        evidence,
        ..what_if(text!(BINDING), [now, then], acts_on(&reach), reach.ignoring(), says)
    })
}

/// Siblings on or off.
fn siblings(this: &Known, known: &[Known], names: &[String]) -> Option<WhatIf> {
    let smt = |record: &Record| record.conditions.before.smt.clone().unwrap_or_default();
    let yields = |known: &Known| {
        let of =
            known.record.measurements_of("smt.yield").filter(|m| m.value().is_finite() && m.value() > 0.0);
        crate::figures::median(of.map(|m| m.value()))
    };
    if matches!(smt(this.record).as_str(), "off" | "forceoff") {
        let (who, gain) = known
            .iter()
            .enumerate()
            .filter(|(_, other)| smt(other.record) == "on")
            .filter_map(|(i, other)| Some((i, yields(other)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (who, worth) = (&names[who], Value::Factor(gain));
        let says = text!("comparison-smt-elsewhere", "SMT yield of {who}; not measured here.", who);
        let evidence = text!("comparison-evidence", "{name}: {value}", name = who, value = worth);
        return Some(WhatIf {
            evidence: vec![cite(evidence, "smt.yield")],
            ..what_if(smt_setting(), [off(), on()], all_cpus(), gain, says)
        });
    }
    let own = yields(this)?;
    let others_off = known.iter().any(|other| matches!(smt(other.record).as_str(), "off" | "forceoff"));
    (own < 1.0 && others_off).then(|| {
        let both = Value::Factor(own);
        let says =
            text!("comparison-smt-loses", "Both siblings together do {both} of what one does alone.", both);
        WhatIf {
            evidence: vec![cite(significant(own), "smt.yield")],
            ..what_if(smt_setting(), [on(), off()], all_cpus(), 1.0 / own, says)
        }
    })
}

fn smt_setting() -> Text {
    text!("comparison-set-smt", "SMT")
}

fn all_cpus() -> Text {
    text!("comparison-acts-on-all-cpus", "throughput of all CPUs")
}

/// The clock of one core, and the highest that the processor advertises.
fn clocks(this: &Known) -> Option<(Datum, f64)> {
    let clock = usable(find_clock(&this.rows))?.clone();
    let most = this.record.machine.processor.max_hz? as f64;
    Some((clock, most))
}

fn governor(this: &Known, known: &[Known], names: &[String]) -> Option<WhatIf> {
    let is =
        |known: &Known| -> Option<String> { known.record.conditions.before.clocks.first()?.governor.clone() };
    let now = is(this).filter(|governor| governor != "performance")?;
    let who = known.iter().position(|other| is(other).as_deref() == Some("performance"))?;
    let (clock, most) = clocks(this)?;
    let says = text!(
        "comparison-governor-of",
        "As on {who}: at most the advertised {most} instead of {now}.",
        who = &names[who],
        most = Value::Figure(most, "Hz"),
        now = Value::Figure(clock.value, "Hz")
    );
    let setting = text!("comparison-set-governor", "governor");
    Some(WhatIf {
        at_most: true,
        evidence: vec![proof(&clock), cite(figure(most, "Hz"), "machine.processor.max_hz")],
        ..what_if(setting, [now.into(), "performance".into()], core_clock(), most / clock.value, says)
    })
}

fn boost(this: &Known, known: &[Known], names: &[String]) -> Option<WhatIf> {
    let is = |known: &Known| known.record.conditions.before.boost;
    if is(this) != Some(false) {
        return None;
    }
    let who = known.iter().position(|other| is(other) == Some(true))?;
    let (clock, most) = clocks(this)?;
    let says = text!(
        "comparison-boost-of",
        "As on {who}: at most the advertised {most}.",
        who = &names[who],
        most = Value::Figure(most, "Hz")
    );
    let setting = text!("comparison-set-boost", "boost");
    Some(WhatIf {
        at_most: true,
        evidence: vec![proof(&clock), cite(figure(most, "Hz"), "machine.processor.max_hz")],
        ..what_if(setting, [off(), on()], core_clock(), most / clock.value, says)
    })
}

/// Transparent huge pages: by its own latencies on small and on huge pages.
fn huge_pages(this: &Known, known: &[Known], names: &[String]) -> Option<WhatIf> {
    let is = |known: &Known| known.record.conditions.before.thp.clone();
    let now = is(this).filter(|thp| thp == "never")?;
    let (who, then) = known.iter().enumerate().find_map(|(i, other)| {
        is(other).filter(|thp| thp == "always" || thp == "madvise").map(|thp| (i, thp))
    })?;
    let (small, huge) = (
        usable(find_row(&this.rows, "load.latency", RowKind::MemoryOnBasePages))?,
        usable(find_row(&this.rows, "load.latency", RowKind::Memory))?,
    );
    let says = text!(
        "comparison-huge-pages-of",
        "As on {who}, for large working sets: {huge} instead of {small} (measured here).",
        who = &names[who],
        huge = figure(huge.value, "ns"),
        small = figure(small.value, "ns")
    );
    let setting = text!("comparison-set-huge-pages", "transparent huge pages");
    Some(WhatIf {
        at_most: true,
        evidence: vec![proof(small), proof(huge)],
        ..what_if(setting, [now.into(), then.into()], text!(MEMORY_LATENCY), small.value / huge.value, says)
    })
}

/// Idle states and timer slack held off, as measured here.
fn wakeup(this: &Known) -> Option<WhatIf> {
    let median = |setting| usable(find_wakeups(&this.rows, "wakeup.latency", "other", setting));
    let (now, then) = (median("as-is")?, median("tuned")?);
    if super::ratio::compare(then, now, Some(record::Better::Lower)).slower != Some(false) {
        return None;
    }
    let says = text!(
        "comparison-idle-states-measured",
        "{then} instead of {now} (measured here).",
        then = figure(then.value, "ns"),
        now = figure(now.value, "ns")
    );
    let setting = text!("comparison-set-idle-states", "idle states and timer slack");
    let states = [text!("comparison-as-is", "as is"), text!("comparison-disabled", "disabled")];
    let acts_on = text!("comparison-acts-on-wakeup", "wake-up");
    Some(WhatIf {
        evidence: vec![proof(now), proof(then)],
        ..what_if(setting, states, acts_on, now.value / then.value, says)
    })
}

/// Another's clock source, where its reads are cheaper.
fn clock_source(this: &Known, known: &[Known], names: &[String]) -> Option<WhatIf> {
    let is = |known: &Known| known.record.conditions.before.clocksource.clone();
    let now = is(this)?;
    let mine = usable(find_row(&this.rows, "cost.clock_read", RowKind::Other))?;
    let (who, then, theirs) = known
        .iter()
        .enumerate()
        .filter_map(|(i, other)| {
            let then = is(other).filter(|source| *source != now)?;
            // Only what this machine has can be set.
            this.record.conditions.before.clocksources.contains(&then).then_some(())?;
            Some((i, then, usable(find_row(&other.rows, "cost.clock_read", RowKind::Other))?))
        })
        .min_by(|a, b| a.2.value.total_cmp(&b.2.value))?;
    let says = text!(
        "comparison-clock-source-of",
        "A read takes {theirs} on {who}, {mine} here.",
        theirs = figure(theirs.value, "ns"),
        who = &names[who],
        mine = figure(mine.value, "ns")
    );
    let setting = text!("comparison-set-clock-source", "clock source");
    let acts_on = text!("comparison-acts-on-clock-reads", "reading the clock");
    Some(WhatIf {
        evidence: vec![proof(mine), proof(theirs)],
        ..what_if(setting, [now.into(), then.into()], acts_on, mine.value / theirs.value, says)
    })
}
