//! What each would do with another's best setting: modelled from its own figures where they tell, else from the other's.

use record::Label;
use record::Record;
use record::comparison::{Explanation, WhatIf};
use record::diagnosis::Evidence;
use record::units::{figure, percent, significant};

use super::Known;
use super::datum::Datum;
use super::explain::{acts_on, device_speed, running};
use super::nodes::reaches;
use super::rows::{RowKind, find_row, find_wakeups};

/// Gains below this are not worth telling.
const WORTH: f64 = 1.02;
/// How the setting is called that is several at once.
const TOGETHER: &str = ", all together";
const DEVICES: &str = "memory devices";
const BINDING: &str = "processes bound to nodes";

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
    let has = |setting: &str| settings.iter().any(|what| what.setting == setting);
    if !has(BINDING) {
        return None;
    }
    let cause = |name: &str| held.causes.iter().find(|cause| cause.name == name);
    // Factors of the explanation are of its subject against the baseline.
    let oriented = |factor: f64| if held.subject == subject { factor } else { 1.0 / factor };
    let cores = oriented(cause("number of cores")?.factor);
    let clock = cause("core clock").map_or(1.0, |cause| oriented(cause.factor));
    let of = reaches(this.record);
    let (mine, theirs) = reaches(other.record).into_iter().find_map(|theirs| {
        let mine = of.iter().find(|mine| mine.what == theirs.what && mine.other.is_some())?.clone();
        theirs.other.is_some().then_some((mine, theirs))
    })?;
    let speed = oriented(held.speed);
    let as_is = theirs.average() / mine.own.value;
    let best = if has(DEVICES) { as_is.max(theirs.average() / theirs.own.value) } else { as_is };
    let (low, high) = (cores * clock.min(1.0) * as_is / speed, cores * clock.max(1.0) * best / speed);
    (cores > 1.0 && low > WORTH && high.is_finite()).then(|| WhatIf {
        subject,
        setting: format!("{}{TOGETHER}", if has(DEVICES) { format!("{DEVICES} and {BINDING}") } else { BINDING.to_owned() }),
        now: "as it is".to_owned(),
        then: format!("memory as {who} has it"),
        acts_on: held.held_back.as_ref().map_or_else(|| held.result.clone(), |held| held.work.clone().into()).to_string(),
        gain: high,
        at_most: true,
        together: true,
        says: format!(
            "With all that expect {} to {} times what it does now, if it waits for memory: each core then does what one of \
             {who} does, or more by its clock and its memory.",
            significant(low),
            significant(high)
        ).into(),
        evidence: vec![proof(&mine.own), proof(&theirs.own)],
    })
}

/// A figure that may be held against others.
fn usable(datum: Option<&Datum>) -> Option<&Datum> {
    datum.filter(|datum| datum.unfit.is_none() && datum.value > 0.0)
}

fn proof(datum: &Datum) -> Evidence {
    Evidence { says: figure(datum.value, &datum.unit).into(), from: datum.from.clone() }
}

fn cite_fact(says: String, from: &str) -> Evidence {
    Evidence { says: says.into(), from: from.to_owned() }
}

/// Memory devices at the fastest other's speed, so far as they allow it.
fn devices(this: &Known, (best, who): (u32, usize), names: &[String]) -> Option<WhatIf> {
    let now = device_speed(this.record)?;
    let rated =
        running(&this.record.machine).filter_map(|device| device.rated_mt_s).filter(|speed| *speed > 0).min();
    let then = rated.map_or(best, |rated| rated.min(best));
    if then <= now {
        return None;
    }
    let gain = f64::from(then) / f64::from(now);
    let allows = match rated {
        Some(rated) => format!("its devices allow {rated} MT/s"),
        None => "with devices that allow it, for these do not tell".to_owned(),
    };
    let bandwidth = this
        .rows
        .iter()
        .find(|(key, entry)| {
            let is = |label: Label, word: &str| entry.place.word(label) == Some(word);
            let of_all = key.metric == "memory.bandwidth" && key.kind == RowKind::AllCpus;
            of_all && is(Label::Op, "read") && !is(Label::BytesCounted, "bus")
        })
        .map(|(_, entry)| &entry.datum);
    let follows = bandwidth.map_or(String::new(), |now| {
        format!("; at most {} instead of {}", figure(now.value * gain, "B/s"), figure(now.value, "B/s"))
    });
    Some(WhatIf {
        subject: 0,
        setting: DEVICES.to_owned(),
        now: format!("{now} MT/s"),
        then: format!("{then} MT/s"),
        acts_on: "memory bandwidth".to_owned(),
        gain,
        at_most: true,
        together: false,
        says: format!("As {} has them: {allows}{follows}.", names[who]).into(),
        evidence: vec![
            cite_fact(format!("{now} MT/s"), "machine.memory_devices[].configured_mt_s"),
            cite_fact(format!("{}: {best} MT/s", names[who]), "machine.memory_devices[].configured_mt_s"),
        ],
    })
}

/// Each process on one node, with that node's memory.
fn binding(this: &Known) -> Option<WhatIf> {
    let reach =
        reaches(this.record).into_iter().find(|reach| reach.other.is_some() && reach.own.unfit.is_none())?;
    let mut evidence = vec![proof(&reach.own)];
    evidence.extend(reach.other.as_ref().map(proof));
    Some(WhatIf {
        subject: 0,
        setting: BINDING.to_owned(),
        now: format!("{} of accesses remote", percent(reach.remote_share)),
        then: "none remote".to_owned(),
        acts_on: acts_on(&reach).to_owned(),
        gain: reach.ignoring(),
        at_most: true,
        together: false,
        says: format!(
            "{} processes, one a node: {} instead of {} ({}).",
            reach.nodes,
            figure(reach.own.value, &reach.unit),
            figure(reach.average(), &reach.unit),
            reach.what
        )
        .into(),
        evidence,
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
    let off = matches!(smt(this.record).as_str(), "off" | "forceoff");
    if off {
        let (who, gain) = known
            .iter()
            .enumerate()
            .filter(|(_, other)| smt(other.record) == "on")
            .filter_map(|(i, other)| Some((i, yields(other)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        return Some(WhatIf {
            subject: 0,
            setting: "siblings (SMT)".to_owned(),
            now: "off".to_owned(),
            then: "on".to_owned(),
            acts_on: "throughput of all CPUs".to_owned(),
            gain,
            at_most: false,
            together: false,
            says: format!("By what siblings are worth on {}; here it was not measured.", names[who]).into(),
            evidence: vec![cite_fact(format!("{}: {}", names[who], significant(gain)), "smt.yield")],
        });
    }
    let own = yields(this)?;
    (own < 1.0 && known.iter().any(|other| matches!(smt(other.record).as_str(), "off" | "forceoff"))).then(
        || WhatIf {
            subject: 0,
            setting: "siblings (SMT)".to_owned(),
            now: "on".to_owned(),
            then: "off".to_owned(),
            acts_on: "throughput of all CPUs".to_owned(),
            gain: 1.0 / own,
            at_most: false,
            together: false,
            says: format!("Both siblings together do {} of what one does alone.", significant(own)).into(),
            evidence: vec![cite_fact(significant(own), "smt.yield")],
        },
    )
}

/// The clock of one core, and the highest that the processor advertises.
fn clocks(this: &Known) -> Option<(Datum, f64)> {
    let clock = usable(find_row(&this.rows, "core.clock", RowKind::ClockOfOne))?.clone();
    let most = this.record.machine.processor.max_hz? as f64;
    Some((clock, most))
}

fn governor(this: &Known, known: &[Known], names: &[String]) -> Option<WhatIf> {
    let is =
        |known: &Known| -> Option<String> { known.record.conditions.before.clocks.first()?.governor.clone() };
    let now = is(this).filter(|governor| governor != "performance")?;
    let who = known.iter().position(|other| is(other).as_deref() == Some("performance"))?;
    let (clock, most) = clocks(this)?;
    Some(WhatIf {
        subject: 0,
        setting: "governor".to_owned(),
        now,
        then: "performance".to_owned(),
        acts_on: "core clock".to_owned(),
        gain: most / clock.value,
        at_most: true,
        together: false,
        says: format!(
            "As on {}: at most the advertised {} instead of {}.",
            names[who],
            figure(most, "Hz"),
            figure(clock.value, "Hz")
        )
        .into(),
        evidence: vec![proof(&clock), cite_fact(figure(most, "Hz"), "machine.processor.max_hz")],
    })
}

fn boost(this: &Known, known: &[Known], names: &[String]) -> Option<WhatIf> {
    let is = |known: &Known| known.record.conditions.before.boost;
    if is(this) != Some(false) {
        return None;
    }
    let who = known.iter().position(|other| is(other) == Some(true))?;
    let (clock, most) = clocks(this)?;
    Some(WhatIf {
        subject: 0,
        setting: "boost".to_owned(),
        now: "off".to_owned(),
        then: "on".to_owned(),
        acts_on: "core clock".to_owned(),
        gain: most / clock.value,
        at_most: true,
        together: false,
        says: format!("As on {}: at most the advertised {}.", names[who], figure(most, "Hz")).into(),
        evidence: vec![proof(&clock), cite_fact(figure(most, "Hz"), "machine.processor.max_hz")],
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
    Some(WhatIf {
        subject: 0,
        setting: "transparent huge pages".to_owned(),
        now,
        then,
        acts_on: "memory latency".to_owned(),
        gain: small.value / huge.value,
        at_most: true,
        together: false,
        says: format!(
            "As on {}, for large working sets: {} instead of {}, from its own measurements.",
            names[who],
            figure(huge.value, "ns"),
            figure(small.value, "ns")
        )
        .into(),
        evidence: vec![proof(small), proof(huge)],
    })
}

/// Idle states and timer slack held off, as measured here.
fn wakeup(this: &Known) -> Option<WhatIf> {
    let median = |setting| usable(find_wakeups(&this.rows, "wakeup.latency", "other", setting));
    let (now, then) = (median("as-is")?, median("tuned")?);
    if super::ratio::compare(then, now, Some(record::Better::Lower)).slower != Some(false) {
        return None;
    }
    Some(WhatIf {
        subject: 0,
        setting: "idle states and timer slack".to_owned(),
        now: "as they are".to_owned(),
        then: "held off".to_owned(),
        acts_on: "wake-up".to_owned(),
        gain: now.value / then.value,
        at_most: false,
        together: false,
        says: format!(
            "{} instead of {}, from its own measurements.",
            figure(then.value, "ns"),
            figure(now.value, "ns")
        )
        .into(),
        evidence: vec![proof(now), proof(then)],
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
    Some(WhatIf {
        subject: 0,
        setting: "clock source".to_owned(),
        now,
        then,
        acts_on: "reading the clock".to_owned(),
        gain: mine.value / theirs.value,
        at_most: false,
        together: false,
        says: format!(
            "By what it costs on {}: {} instead of {}.",
            names[who],
            figure(theirs.value, "ns"),
            figure(mine.value, "ns")
        )
        .into(),
        evidence: vec![proof(mine), proof(theirs)],
    })
}
