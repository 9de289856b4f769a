//! Work with a known amount: clock × instructions a cycle ÷ instructions for one thread; cores × how well they scale ×
//! what siblings add for all CPUs.

use record::Label;
use record::detail;
use std::collections::BTreeMap;

use record::comparison::{Cause, Claim, Explanation, Support};
use record::phrase::count_noun;
use record::units::{figure, significant};
use record::{Better, Measurement, Record};

use super::clock::{self, Clock};
use super::{Maker, Pair, adding_up, cite_fact, comparable, differs, evidence, resolved, standing};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::ratio::differs_from_1;
use crate::comparison::row_builder::threads;
use crate::comparison::rows::{Group, RowKey};

/// A workload's figures in one record.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// The workload's name, as in the labels of its figures.
    workload: String,
    /// Of one thread, as a throughput, or the time that one thread takes.
    one: Option<Datum>,
    timed: bool,
    /// Throughput by threads.
    steps: BTreeMap<u64, Datum>,
    clock: Option<Clock>,
    ipc: Option<Datum>,
    instructions: Option<Datum>,
    cores: u64,
}

/// Every workload that both sides have, explained.
pub(super) fn explanations(pair: &Pair) -> Vec<Explanation> {
    let (base, this) = (works(pair.base), works(pair.this));
    let mut all = Vec::new();
    for (name, base) in &base {
        let Some(this) = this.get(name) else { continue };
        all.extend(one_thread(pair, name, this, base));
        all.extend(all_cpus(pair, name, this, base));
    }
    all
}

/// The workloads of a record, by their names (and sizes).
fn works(known: &Known) -> BTreeMap<String, Work> {
    let mut works: BTreeMap<String, Work> = BTreeMap::new();
    for (key, entry) in known.rows.iter().filter(|(key, _)| key.group == Group::Workloads) {
        let Some(timed) = is_of_one(key) else { continue };
        let work = works.entry(key.subject.clone()).or_default();
        if let Some(workload) = entry.place.word(Label::Workload) {
            work.workload = workload.to_owned();
        }
        if key.metric == "workload.time" && work.one.is_none() || key.metric == "workload.throughput" {
            work.one = Some(entry.datum.clone());
            work.timed = timed;
        }
    }
    let record = known.record;
    for work in works.values_mut() {
        let workload = std::mem::take(&mut work.workload);
        work.fill(record, known, &workload);
        work.workload = workload;
    }
    works
}

/// Whether a row is of one thread (or of a command, whose threads are its own doing), and then whether it is a time.
fn is_of_one(key: &RowKey) -> Option<bool> {
    match key.metric.as_str() {
        _ if key.order != 0 => None,
        "workload.throughput" => Some(false),
        "workload.time" => Some(true),
        _ => None,
    }
}

impl Work {
    fn fill(&mut self, record: &Record, known: &Known, workload: &str) {
        let of = |m: &&Measurement| m.labels.word(Label::Workload) == Some(workload);
        let size = record
            .measurements_of("workload.throughput")
            .filter(of)
            .filter_map(|m| m.labels.count(Label::Bytes))
            .max();
        for m in record
            .measurements_of("workload.throughput")
            .filter(of)
            .filter(|m| m.labels.count(Label::Bytes) == size)
        {
            let Some(threads) = threads(m) else { continue };
            let first = matches!(m.labels.word(Label::Placement), None | Some("cores-first"));
            if first && m.value() > 0.0 && m.value().is_finite() {
                self.steps.entry(threads).or_insert_with(|| Datum::from_measurement(m));
            }
        }
        let counts = &record.machine.counts;
        self.cores = counts.cores.or(counts.cpus_online).unwrap_or(0).into();
        self.ipc = known
            .rows
            .iter()
            .find(|(key, _)| {
                key.metric == "core.ipc" && key.what == format!("instructions a cycle, {workload}")
            })
            .map(|(_, entry)| entry.datum.clone());
        self.instructions = clock::counted(record, workload, &["instructions"]);
        let time = self.one.as_ref().filter(|_| self.timed);
        self.clock = time
            .and_then(|time| clock::cycles_over(record, workload, time.value))
            .map(Clock::measured)
            .or_else(|| self.reported_clock(record, known, workload));
    }

    fn reported_clock(&self, record: &Record, known: &Known, workload: &str) -> Option<Clock> {
        let while_it_ran = record
            .measurements_of("workload.throughput")
            .filter(|m| m.labels.word(Label::Workload) == Some(workload))
            .filter(|m| m.labels.count(Label::Threads).unwrap_or(1) == 1)
            .find_map(|m| Some((m, m.detail.get(detail::CLOCK_HZ).filter(|hz| *hz > 0.0)?)));
        if let Some((m, hz)) = while_it_ran {
            let from = format!("{} detail.clock_hz", crate::figures::locate_figure(m));
            return Some(Clock::measured(Datum::derived(hz, None, "Hz", from)));
        }
        clock::best(known)
    }

    /// Throughput a core as far as cores alone were measured: threads of the step, and whether that is all cores. One thread
    /// alone says nothing of how several cores do together, and without the number of cores nobody knows whose step it is.
    fn on_cores(&self) -> Option<(u64, f64, bool)> {
        let (threads, datum) = self.steps.range(1..=self.cores.max(1)).next_back()?;
        let whole = *threads == self.cores;
        (self.cores > 0 && (*threads > 1 || whole)).then_some((
            *threads,
            datum.value / *threads as f64,
            whole,
        ))
    }
}

/// Clock, instructions a cycle and instructions, so far as both have them.
fn core_causes(pair: &Pair, this: &Work, base: &Work) -> Vec<Option<Cause>> {
    let clock =
        this.clock.as_ref().zip(base.clock.as_ref()).and_then(|(this, base)| clock::cause(pair, this, base));
    let both = |this: &Option<Datum>, base: &Option<Datum>| {
        let fit = |(this, base): &(Datum, Datum)| comparable(this, base) && differs_from_1(this, base);
        this.clone().zip(base.clone()).filter(fit)
    };
    // What follows from declared instructions and the time is the time once more: between runs of one machine nothing
    // else could make it another. Between two it tells how much of their difference the clock is not.
    let declared = |(this, base): &(Datum, Datum)| this.declared || base.declared;
    let ipc = both(&this.ipc, &base.ipc).filter(|both| !(pair.same_machine && declared(both)));
    let ipc = ipc.and_then(|(this, base)| {
        let measured = !(this.declared || base.declared);
        let how = if measured { "" } else { ", declared" };
        Maker {
            name: "instructions a cycle",
            says: format!("{} against {}{how}", significant(this.value), significant(base.value)),
            factor: this.value / base.value,
            measured,
            evidence: vec![evidence(pair.base_name, &base), evidence(pair.this_name, &this)],
            parts: Vec::new(),
        }
        .make()
    });
    // Without instructions a cycle their number says nothing of speed.
    let counted = ipc.is_some();
    let instructions =
        both(&this.instructions, &base.instructions).filter(|_| counted).and_then(|(this, base)| {
            Maker {
                name: "instructions for the same work",
                says: format!("{} against {}", figure(this.value, "count"), figure(base.value, "count")),
                factor: base.value / this.value,
                measured: true,
                evidence: vec![evidence(pair.base_name, &base), evidence(pair.this_name, &this)],
                parts: Vec::new(),
            }
            .make()
        });
    vec![clock, ipc, instructions]
}

fn one_thread(pair: &Pair, name: &str, this: &Work, base: &Work) -> Option<Explanation> {
    let (mine, theirs) = (this.one.as_ref()?, base.one.as_ref()?);
    let better = if this.timed { Better::Lower } else { Better::Higher };
    if this.timed != base.timed || !comparable(mine, theirs) || !resolved(mine, theirs, better) {
        return None;
    }
    let speed = if this.timed { theirs.value / mine.value } else { mine.value / theirs.value };
    if !differs(speed) {
        return None;
    }
    let mut claims = Vec::new();
    for (who, work) in [(pair.base_name, base), (pair.this_name, this)] {
        if let Some((ipc, why)) = work.ipc.as_ref().and_then(|ipc| Some((ipc, ipc.unfit.as_ref()?))) {
            claims.push(Claim {
                claim: format!("instructions a cycle of {who}").into(),
                support: Support::NotSupported,
                why: format!("{} was {why}", significant(ipc.value)).into(),
            });
        }
    }
    claims.extend(super::claims::caches(pair, speed));
    claims.extend(super::claims::own_load(pair, speed));
    claims.extend(super::claims::neighbours(pair, speed));
    let result = if !this.timed { format!("{name}, one thread") } else { name.to_owned() };
    let said = standing(pair, &result, speed);
    Some(adding_up(pair, &result, speed, said, core_causes(pair, this, base), claims))
}

fn all_cpus(pair: &Pair, name: &str, this: &Work, base: &Work) -> Option<Explanation> {
    let ((threads, mine), (base_threads, theirs), whole) = most(this, base)?;
    if !comparable(&mine, &theirs) || !resolved(&mine, &theirs, Better::Higher) {
        return None;
    }
    let speed = mine.value / theirs.value;
    if !differs(speed) {
        return None;
    }
    let (on, base_on) = if whole {
        (this.on_cores(), base.on_cores())
    } else {
        let rate = |datum: &Datum| Some((threads, datum.value / threads as f64, true));
        (rate(&mine), rate(&theirs))
    };
    let cores = |work: &Work, threads: u64| {
        if whole { work.cores.clamp(1, threads.max(1)) as f64 } else { threads as f64 }
    };
    let (mine_cores, base_cores) = (cores(this, threads), cores(base, base_threads));
    let count = Maker {
        name: "number of cores",
        says: format!("{mine_cores} against {base_cores}"),
        factor: mine_cores / base_cores,
        measured: true,
        evidence: vec![
            cite_fact(format!("{}: {base_cores} cores", pair.base_name), "machine.counts.cores"),
            cite_fact(format!("{}: {mine_cores} cores", pair.this_name), "machine.counts.cores"),
        ],
        parts: Vec::new(),
    }
    .make();
    let mut causes = vec![count];
    if let (Some(one), Some(base_one)) = (this.steps.get(&1), base.steps.get(&1)) {
        let parts: Vec<Cause> = core_causes(pair, this, base).into_iter().flatten().collect();
        let unit = |datum: &Datum| figure(datum.value, &datum.unit);
        causes.push(
            Maker {
                name: "one thread alone",
                says: format!("{} against {}", unit(one), unit(base_one)),
                factor: one.value / base_one.value,
                measured: true,
                evidence: vec![evidence(pair.base_name, base_one), evidence(pair.this_name, one)],
                parts,
            }
            .make(),
        );
        if let (Some((n, rate, _)), Some((base_n, base_rate, _))) = (on, base_on) {
            let (scale, base_scale) = (rate / one.value, base_rate / base_one.value);
            causes.push(
                Maker {
                    name: "how well cores scale",
                    says: format!(
                        "{} {} {} of {n} times one, against {} and {}",
                        count_noun(n, "thread"),
                        if n == 1 { "does" } else { "do" },
                        percent(scale),
                        count_noun(base_n, "thread"),
                        percent(base_scale)
                    ),
                    factor: scale / base_scale,
                    measured: true,
                    evidence: Vec::new(),
                    parts: Vec::new(),
                }
                .make(),
            );
        }
    }
    if on.is_none() || base_on.is_none() {
        causes.push(cores_and_siblings((this, &mine, mine_cores), (base, &theirs, base_cores)));
    }
    if let (Some((n, rate, whole)), Some((base_n, base_rate, base_whole))) = (on, base_on)
        && (threads > n || base_threads > base_n)
    {
        let adds = |all: &Datum, cores: f64, rate: f64| all.value / (cores * rate);
        let (siblings, base_siblings) = (adds(&mine, mine_cores, rate), adds(&theirs, base_cores, base_rate));
        let says = |factor: f64, threads: u64, cores: f64, n: u64, whole: bool| match (
            threads as f64 > cores,
            whole,
        ) {
            (false, true) => "no siblings in use".to_owned(),
            (false, false) => format!("{} for the cores beyond the {n} measured", signed(factor)),
            (true, true) => format!("siblings add {}", signed(factor)),
            (true, false) => format!(
                "siblings add about {} if its {cores} cores are as fast each as the {n} measured",
                signed(factor)
            ),
        };
        causes.push(
            Maker {
                name: "siblings",
                says: format!(
                    "{}: {}; {}: {}",
                    pair.this_name,
                    says(siblings, threads, mine_cores, n, whole),
                    pair.base_name,
                    says(base_siblings, base_threads, base_cores, base_n, base_whole)
                ),
                factor: siblings / base_siblings,
                measured: whole && base_whole,
                evidence: vec![evidence(pair.base_name, &theirs), evidence(pair.this_name, &mine)],
                parts: Vec::new(),
            }
            .make(),
        );
    }
    let what = if whole { format!("{name}, all CPUs") } else { format!("{name}, {threads} threads") };
    let said = standing(pair, &what, speed);
    Some(adding_up(pair, &what, speed, said, causes, super::claims::caches(pair, speed)))
}

/// What a core does when all CPUs work, against one thread alone: where no step between them tells cores from siblings.
fn cores_and_siblings(this: (&Work, &Datum, f64), base: (&Work, &Datum, f64)) -> Option<Cause> {
    let a_core =
        |(work, all, cores): (&Work, &Datum, f64)| Some(all.value / cores / work.steps.get(&1)?.value);
    let (mine, theirs) = (a_core(this)?, a_core(base)?);
    Maker {
        name: "how well cores scale, siblings included",
        says: format!(
            "with all CPUs at work a core does {} of one thread alone, against {}",
            percent(mine),
            percent(theirs)
        ),
        factor: mine / theirs,
        measured: true,
        evidence: Vec::new(),
        parts: Vec::new(),
    }
    .make()
}

/// A step of a workload: its threads, and what it delivered.
type Step = (u64, Datum);

/// The steps that are held against each other: those of all CPUs where both have them (and then `true`), else the largest that
/// both have.
fn most(this: &Work, base: &Work) -> Option<(Step, Step, bool)> {
    let last = |work: &Work| {
        let (threads, datum) = work.steps.iter().next_back()?;
        (*threads > 0 && work.cores > 0 && *threads >= work.cores).then(|| (*threads, datum.clone()))
    };
    if let (Some(this), Some(base)) = (last(this), last(base))
        && this.0.max(base.0) > 1
    {
        return Some((this, base, true));
    }
    let common =
        this.steps.iter().rev().find(|(threads, _)| **threads > 1 && base.steps.contains_key(threads))?;
    let (threads, datum) = common;
    Some(((*threads, datum.clone()), (*threads, base.steps.get(threads)?.clone()), false))
}

fn percent(share: f64) -> String {
    record::units::percent(share)
}

/// What a factor adds or takes, in percent.
fn signed(factor: f64) -> String {
    format!("{:.0} %", (factor - 1.0) * 100.0)
}

/// What a record's own steps of a workload say of its scaling, one sentence; `None` without at least two steps.
pub(crate) fn scaling_words(known: &Known, who: &str) -> Vec<String> {
    let mut says = Vec::new();
    for (name, work) in works(known) {
        // A fit of the record's own says it better.
        if known.record.diagnosis.scaling.iter().any(|fit| fit.workload == name) {
            continue;
        }
        let (Some(one), Some((most, all))) = (work.steps.get(&1), work.steps.iter().next_back()) else {
            continue;
        };
        let Some((n, rate, whole)) = work.on_cores().filter(|_| *most > 1 && one.unfit.is_none()) else {
            continue;
        };
        let mut words = Vec::new();
        if n > 1 {
            words.push(format!("{n} threads do {} of {n} times one", percent(rate / one.value)));
        }
        if *most > work.cores {
            let siblings = signed(all.value / (work.cores as f64 * rate));
            words.push(match (whole, n) {
                (true, 1) => format!("the siblings of its one core add {siblings}"),
                (true, _) => format!("the siblings of its {n} cores add {siblings}"),
                (false, _) => format!(
                    "siblings add about {siblings} if its {} cores are as fast each as the {n} measured",
                    work.cores
                ),
            });
        }
        if !words.is_empty() {
            says.push(format!("{who}, {name}: {}.", words.join("; ")));
        }
    }
    says
}
