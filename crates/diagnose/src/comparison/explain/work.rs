//! Work with a known amount: clock × instructions a cycle ÷ instructions for one thread; cores × how well they scale ×
//! what siblings add for all CPUs.

use record::Label;
use record::detail;
use std::collections::BTreeMap;

use record::comparison::{Cause, Explanation, Support};
use record::text::Value;
use record::units::{figure, significant};
use record::{Better, Measurement, Record, Template, Text, text};

use super::clock::{self, Clock};
use super::{
    CORES, Maker, Pair, adding_up, against, cite, comparable, differs, evidence, resolved, standing,
};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::ratio::differs_from_1;
use crate::comparison::row_names::threads;
use crate::comparison::rows::{Group, RowKey, find_instructions_per_cycle};

/// Instructions per cycle.
pub(in crate::comparison) const INSTRUCTIONS_PER_CYCLE: Template =
    Template { code: "comparison-cause-ipc", words: "instructions per cycle" };
/// Figures that follow from declared instructions.
pub(in crate::comparison) const DECLARED: Template =
    Template { code: "comparison-declared", words: "{figures}, declared" };
/// Instructions that the same work takes.
pub(in crate::comparison) const INSTRUCTIONS: Template =
    Template { code: "comparison-cause-instructions", words: "instructions for the same work" };
/// The claim that instructions per cycle differ, which were not those of the program.
pub(in crate::comparison) const CLAIMED_INSTRUCTIONS: Template =
    Template { code: "comparison-claim-ipc", words: "instructions per cycle of {who}" };
/// What one thread does.
pub(in crate::comparison) const ONE_THREAD: Template =
    Template { code: "comparison-cause-one-thread", words: "one thread alone" };
/// How well all CPUs scale, where no step tells cores from siblings.
pub(in crate::comparison) const SCALING_WITH_SIBLINGS: Template =
    Template { code: "comparison-cause-scaling-with-siblings", words: "scaling over cores, SMT included" };

/// A workload's figures in one record.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// The workload's name, as in the labels of its figures.
    workload: String,
    /// Of one thread, as a throughput, or the time that one thread takes.
    one: Option<Datum>,
    timed: bool,
    /// Throughput by threads.
    pub(super) steps: BTreeMap<u64, Datum>,
    clock: Option<Clock>,
    ipc: Option<Datum>,
    instructions: Option<Datum>,
    pub(super) cores: u64,
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
pub(super) fn works(known: &Known) -> BTreeMap<String, Work> {
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
        self.ipc = find_instructions_per_cycle(&known.rows, workload).cloned();
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
    pub(super) fn on_cores(&self) -> Option<(u64, f64, bool)> {
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
        let figures = against(significant(this.value), significant(base.value));
        Maker {
            name: text!(INSTRUCTIONS_PER_CYCLE),
            says: if measured { figures } else { text!(DECLARED, figures) },
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
                name: text!(INSTRUCTIONS),
                says: against(figure(this.value, "count"), figure(base.value, "count")),
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
    differs(speed).then_some(())?;
    if speed < 1.0 {
        return pair.seen_from_leader(false, |pair| one_thread(pair, name, base, this));
    }
    let mut claims = Vec::new();
    for (who, work) in [(pair.base_name, base), (pair.this_name, this)] {
        if let Some((ipc, why)) = work.ipc.as_ref().and_then(|ipc| Some((ipc, ipc.unfit.as_ref()?))) {
            let claim = text!(CLAIMED_INSTRUCTIONS, who = who.to_owned());
            let why = text!(
                "comparison-unfit-instructions",
                "{value}, {why}",
                value = significant(ipc.value),
                why = why.reason()
            );
            claims.push(super::claims::judged(claim, Support::NotSupported, why));
        }
    }
    claims.extend(super::claims::caches(pair, speed));
    claims.extend(super::claims::own_load(pair, speed));
    claims.extend(super::claims::neighbours(pair, speed));
    let result = if this.timed {
        text!("comparison-result-work", "{work}", work = name.to_owned())
    } else {
        text!("comparison-result-one-thread", "{work}, one thread", work = name.to_owned())
    };
    let said = standing(pair, &result, speed);
    Some(adding_up(pair, result, speed, said, core_causes(pair, this, base), claims))
}

fn all_cpus(pair: &Pair, name: &str, this: &Work, base: &Work) -> Option<Explanation> {
    let ((threads, mine), (base_threads, theirs), whole) = most(this, base)?;
    if !comparable(&mine, &theirs) || !resolved(&mine, &theirs, Better::Higher) {
        return None;
    }
    let speed = mine.value / theirs.value;
    differs(speed).then_some(())?;
    if speed < 1.0 {
        return pair.seen_from_leader(false, |pair| all_cpus(pair, name, base, this));
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
        name: text!(CORES),
        says: against(mine_cores.to_string(), base_cores.to_string()),
        factor: mine_cores / base_cores,
        measured: true,
        evidence: vec![
            cite(pair.base_name, base_cores.to_string(), "machine.counts.cores"),
            cite(pair.this_name, mine_cores.to_string(), "machine.counts.cores"),
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
                name: text!(ONE_THREAD),
                says: against(unit(one), unit(base_one)),
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
                    name: text!("comparison-cause-scaling", "scaling over cores"),
                    says: against(efficiency(scale, n), efficiency(base_scale, base_n)),
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
        let own = siblings_add(siblings, (threads, mine_cores), (n, whole));
        let others = siblings_add(base_siblings, (base_threads, base_cores), (base_n, base_whole));
        causes.push(
            Maker {
                name: text!("comparison-cause-siblings", "siblings"),
                says: text!(
                    "comparison-siblings-of-both",
                    "{this}: {own}; {base}: {others}",
                    this = pair.this_name.to_owned(),
                    own,
                    base = pair.base_name.to_owned(),
                    others
                ),
                factor: siblings / base_siblings,
                measured: whole && base_whole,
                evidence: vec![evidence(pair.base_name, &theirs), evidence(pair.this_name, &mine)],
                parts: Vec::new(),
            }
            .make(),
        );
    }
    let result = if whole {
        text!("comparison-result-all-cpus", "{work}, all CPUs", work = name.to_owned())
    } else {
        text!("comparison-result-threads", "{work}, {threads} threads", work = name.to_owned(), threads)
    };
    let said = standing(pair, &result, speed);
    Some(adding_up(pair, result, speed, said, causes, super::claims::caches(pair, speed)))
}

/// What so many threads reach of linear scaling.
fn efficiency(share: f64, threads: u64) -> Text {
    let share = Value::Share(share);
    match threads {
        1 => text!("comparison-efficiency-of-one", "{share} on 1 thread", share),
        _ => text!("comparison-efficiency", "{share} of linear scaling on {threads} threads", share, threads),
    }
}

/// What CPUs beyond the cores measured add, of so many threads on so many cores; and of how many cores that is told and
/// whether these are all.
fn siblings_add(factor: f64, (threads, cores): (u64, f64), (measured, whole): (u64, bool)) -> Text {
    let gain = Value::Share(factor - 1.0);
    match (threads as f64 > cores, whole) {
        (false, true) => text!("comparison-no-siblings", "no siblings in use"),
        (false, false) => {
            text!(
                "comparison-cores-add",
                "{gain} from the cores beyond the {measured} measured",
                gain,
                measured
            )
        }
        (true, true) => text!("comparison-siblings-add", "SMT adds {gain}", gain),
        (true, false) => text!(
            "comparison-siblings-add-about",
            "SMT adds about {gain}, if all {cores} cores are as fast as the {measured} measured",
            gain,
            cores = cores.to_string(),
            measured
        ),
    }
}

/// What a core does when all CPUs work, against one thread alone: where no step between them tells cores from siblings.
fn cores_and_siblings(this: (&Work, &Datum, f64), base: (&Work, &Datum, f64)) -> Option<Cause> {
    let a_core =
        |(work, all, cores): (&Work, &Datum, f64)| Some(all.value / cores / work.steps.get(&1)?.value);
    let (mine, theirs) = (a_core(this)?, a_core(base)?);
    Maker {
        name: text!(SCALING_WITH_SIBLINGS),
        says: text!(
            "comparison-core-of-one",
            "a core with all CPUs busy does {mine} of one thread alone, against {theirs}",
            mine = Value::Share(mine),
            theirs = Value::Share(theirs)
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
