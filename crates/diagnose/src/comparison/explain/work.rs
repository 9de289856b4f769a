//! Explains the speed of known work. For one thread, speed is clock × instructions per cycle ÷ instructions; for all CPUs, it also depends
//! on cores × scaling × SMT yield.

use std::collections::BTreeMap;

use record::comparison::{Cause, Claim, Support};
use record::text::Value;
use record::units::{figure, significant};
use record::{Better, Label, Measurement, Template, Text, detail, metrics, text};

use super::clock::{Clock, clock_cause, cycles_over, find_count};
use super::{
    CORES, OneSided, Pair, Speed, against, are_comparable, cause, cause_of_parts, claims, explain_by_factors,
    figure_cause, find_best_clock, find_difference,
};
use crate::block_sizes::BlockSizes;
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::ratio::differs_from_1;
use crate::comparison::row_names::count_threads;
use crate::comparison::rows::{RowEntry, find_instructions_per_cycle};

/// The cause: instructions per cycle.
pub(in crate::comparison) const INSTRUCTIONS_PER_CYCLE: Template =
    Template::new("comparison-cause-ipc", "instructions per cycle");
/// Results calculated from declared instruction counts.
pub(in crate::comparison) const DECLARED: Template =
    Template::new("comparison-declared", "{figures} (declared)");
/// The cause: instructions needed for the same work.
pub(in crate::comparison) const INSTRUCTIONS: Template =
    Template::new("comparison-cause-instructions", "instructions for the same work");
/// The cause: cycles needed for the same work, if instructions per cycle are not a cause.
const CYCLES: Template = Template::new("comparison-cause-cycles", "cycles for the same work");
/// The cause: throughput of one thread.
pub(in crate::comparison) const ONE_THREAD: Template =
    Template::new("comparison-cause-one-thread", "single-thread speed");
/// The cause: scaling to all CPUs, if no thread count separates cores from siblings.
pub(in crate::comparison) const SCALING_WITH_SIBLINGS: Template =
    Template::new("comparison-cause-scaling-with-siblings", "scaling across cores, including SMT");

/// A workload's results in one record.
pub(super) struct Work<'a> {
    /// The workload's name.
    pub(super) workload: &'a str,
    /// The block size.
    pub(super) bytes: Option<u64>,
    /// Throughput or time of one thread.
    one: &'a Datum,
    timed: bool,
    /// Whether the record confirms that the result is for one thread.
    alone: bool,
    /// Throughput by number of threads.
    pub(super) steps: BTreeMap<u64, Datum>,
    clock: Option<Clock>,
    ipc: Option<&'a Datum>,
    instructions: Option<Datum>,
    cycles: Option<Datum>,
    pub(super) cores: u64,
}

/// The largest step that uses only one CPU of each core.
#[derive(Clone, Copy)]
pub(super) struct OnCores {
    pub(super) threads: u64,
    /// Throughput per core.
    pub(super) rate: f64,
    /// Whether the step uses all cores of the machine.
    pub(super) whole: bool,
}

/// Explains every workload that both sides have.
pub(super) fn explain_work(pair: &Pair) -> Vec<Option<OneSided>> {
    let (base, this) = (find_works(pair.base), find_works(pair.this));
    // Results for several block sizes count as the same work.
    let mut shared: BTreeMap<&str, Vec<(&str, &Work, &Work)>> = BTreeMap::new();
    for (name, base) in &base {
        if let Some(this) = this.get(name) {
            shared.entry(base.workload).or_default().push((name, this, base));
        }
    }
    shared.values_mut().for_each(|sizes| sizes.sort_by_key(|(_, _, base)| base.bytes));
    let explain = |(workload, sizes): (&str, Vec<(&str, &Work, &Work)>)| {
        let each = |explain: fn(&Pair, &str, &Work, &Work) -> Option<OneSided>| {
            let all = sizes.iter().map(|(name, this, base)| (base.bytes, explain(pair, name, this, base)));
            across_sizes(pair, workload, all.collect())
        };
        [each(explain_one_thread), each(explain_all_cpus)]
    };
    shared.into_iter().flat_map(explain).collect()
}

/// For work with several block sizes: the explanation closest to the median, with the spread and the omitted sizes.
fn across_sizes(pair: &Pair, workload: &str, all: Vec<(Option<u64>, Option<OneSided>)>) -> Option<OneSided> {
    let mut all: Vec<(u64, OneSided)> =
        all.into_iter().filter_map(|(bytes, one)| Some((bytes.unwrap_or(0), one?))).collect();
    let speeds = || all.iter().map(|(_, one)| one.explanation.speed);
    let middle = speeds().map(f64::ln).sum::<f64>() / all.len() as f64;
    let range = speeds().fold((f64::MAX, f64::MIN), |(least, most), s| (least.min(s), most.max(s)));
    let sizes = (all.first()?.0, all.last()?.0);
    let far = |(_, one): &(u64, OneSided)| (one.explanation.speed.ln() - middle).abs();
    let nearest = (0..all.len()).min_by(|a, b| far(&all[*a]).total_cmp(&far(&all[*b])))?;
    let mut one = all.swap_remove(nearest).1;
    let explanation = &mut one.explanation;
    if sizes.0 < sizes.1 {
        let (from, to) = (Value::Bytes(sizes.0), Value::Bytes(sizes.1));
        let (least, most) = (Value::Factor(range.0), Value::Factor(range.1));
        let times = match least.to_string() == most.to_string() {
            true => text!("{most}"),
            false => text!("{least} to {most}"),
        };
        explanation.sizes = Some(text!("With blocks of {from} to {to}: {times}."));
    }
    for side in [pair.base, pair.this] {
        let name = &side.name;
        for (bytes, share) in BlockSizes::from_record(side.record).fallen(workload) {
            let (bytes, share) = (Value::Bytes(bytes), Value::Share(share));
            let said = explanation.sizes.get_or_insert_default();
            said.push(text!(
                "comparison-size-left-out",
                "{bytes} blocks are excluded: {name} is an outlier there, {share} slower than with smaller blocks."
            ));
        }
    }
    explanation.says.push(explanation.sizes.clone().unwrap_or_default());
    Some(one)
}

/// The single-thread workloads of a record, by name (and block size). Commands are included because they choose their own number of
/// threads.
pub(super) fn find_works<'a>(known: &'a Known) -> BTreeMap<&'a str, Work<'a>> {
    let mut of_one: BTreeMap<&str, (&RowEntry, bool)> = BTreeMap::new();
    // Throughput is preferred to time.
    for (key, entry) in &known.rows {
        let timed = key.metric == metrics::WORKLOAD_TIME;
        if key.order == 0 && (timed || key.metric == metrics::WORKLOAD_THROUGHPUT) {
            of_one.entry(&key.subject).or_insert((entry, timed));
        }
    }
    of_one.into_iter().map(|(name, (entry, timed))| (name, Work::new(known, entry, timed))).collect()
}

impl<'a> Work<'a> {
    fn new(known: &'a Known, entry: &'a RowEntry, timed: bool) -> Self {
        let record = known.record;
        let workload = entry.place.word(Label::Workload).unwrap_or("");
        let throughputs = || {
            let all = record.measurements_of(metrics::WORKLOAD_THROUGHPUT);
            all.filter(|m| m.labels.word(Label::Workload) == Some(workload))
        };
        let size = entry.place.count(Label::Bytes);
        let mut steps = BTreeMap::new();
        for m in throughputs().filter(|m| m.labels.count(Label::Bytes) == size) {
            let first = matches!(m.labels.word(Label::Placement), None | Some("cores-first"));
            if let Some(threads) =
                count_threads(m).filter(|_| first && m.value() > 0.0 && m.value().is_finite())
            {
                steps.entry(threads).or_insert_with(|| Datum::from_measurement(m));
            }
        }
        let one = &entry.datum;
        let cycles = timed.then(|| cycles_over(record, workload, one.value)).flatten();
        let while_it_ran = || {
            let mut alone = throughputs().filter(|m| m.labels.count(Label::Threads).unwrap_or(1) == 1);
            alone.find_map(reported_clock)
        };
        let counts = &record.machine.counts;
        Self {
            workload,
            bytes: size,
            one,
            timed,
            alone: entry.place.count(Label::Threads) == Some(1),
            steps,
            clock: cycles.or_else(while_it_ran).map(Clock::measured).or_else(|| find_best_clock(known)),
            ipc: find_instructions_per_cycle(&known.rows, workload),
            instructions: find_count(record, workload, &["instructions"]),
            cycles: find_count(record, workload, &["cycles", "cpu-cycles"]),
            cores: counts.cores.or(counts.cpus_online).unwrap_or(0).into(),
        }
    }

    /// The largest step measured without siblings. A single thread shows nothing about scaling. If the number of cores is unknown, it is
    /// also unknown which steps used siblings.
    pub(super) fn on_cores(&self) -> Option<OnCores> {
        let (threads, datum) = self.steps.range(1..=self.cores.max(1)).next_back()?;
        let whole = *threads == self.cores;
        let rate = datum.value / *threads as f64;
        let on_cores = OnCores { threads: *threads, rate, whole };
        (self.cores > 0 && (*threads > 1 || whole)).then_some(on_cores)
    }
}

/// The clock reported while a result was measured.
fn reported_clock(m: &Measurement) -> Option<Datum> {
    let hz = m.detail.get(detail::CLOCK_HZ).filter(|hz| *hz > 0.0)?;
    Some(Datum::derived(hz, None, "Hz", format!("{} detail.clock_hz", crate::figures::locate_figure(m))))
}

/// The causes: clock, instructions per cycle and number of instructions, if both records contain them.
fn core_causes(pair: &Pair, this: &Work, base: &Work) -> [Option<Cause>; 3] {
    let clocks = this.clock.as_ref().zip(base.clock.as_ref());
    let clock = clocks.and_then(|(this, base)| clock_cause(pair, this, base));
    let fit = |(this, base): &(&Datum, &Datum)| are_comparable(this, base) && differs_from_1(this, base);
    // A value derived from the declared instruction count and the time changes only with the time. It explains nothing between runs on one
    // machine, but between two machines, it shows how much of the difference is not due to the clock.
    let declared = |(this, base): &(&Datum, &Datum)| this.declared || base.declared;
    let both = this.ipc.zip(base.ipc).filter(fit).filter(|both| !(pair.same_machine && declared(both)));
    let ipc = both.and_then(|(this, base)| {
        let figures = against(significant(this.value), significant(base.value));
        let measured = !declared(&(this, base));
        let says = if measured { figures } else { text!(DECLARED, figures) };
        let proof = pair.evidence(this, base);
        let cause = cause(INSTRUCTIONS_PER_CYCLE, says, this.value / base.value, proof)?;
        Some(Cause { measured, ..cause })
    });
    // Without instructions per cycle, the number of instructions shows nothing about speed.
    let both = this.instructions.as_ref().zip(base.instructions.as_ref()).filter(|_| ipc.is_some());
    let instructions =
        both.filter(fit).and_then(|(this, base)| figure_cause(pair, INSTRUCTIONS, this, base, Better::Lower));
    let both = this.cycles.as_ref().zip(base.cycles.as_ref()).filter(|_| ipc.is_none());
    let cycles = || both.filter(fit).and_then(|(a, b)| figure_cause(pair, CYCLES, a, b, Better::Lower));
    [clock, ipc, instructions.or_else(cycles)]
}

fn explain_one_thread(pair: &Pair, name: &str, this: &Work, base: &Work) -> Option<OneSided> {
    let timed = this.timed;
    let better = if timed { Better::Lower } else { Better::Higher };
    let speed = find_difference(this.one, base.one, better).filter(|_| timed == base.timed)?;
    let work = name.to_owned();
    // A command chooses its own number of threads, so it counts as one thread only if the record confirms this.
    let result = if timed && !(this.alone && base.alone) {
        text!("comparison-result-work", "{work}")
    } else {
        text!("comparison-result-one-thread", "{work}, one thread")
    };
    let mut judged: Vec<Claim> = [(&pair.base.name, base), (&pair.this.name, this)]
        .into_iter()
        .filter_map(|(who, work)| unfit_instructions(who, work.ipc?))
        .collect();
    let others = [
        claims::judge_caches(pair),
        claims::judge_own_load(pair, speed),
        claims::judge_neighbours(pair, speed),
    ];
    judged.extend(others.into_iter().flatten());
    let causes = core_causes(pair, this, base);
    let speed = Speed::new(speed, this.one, base.one);
    Some(explain_by_factors(pair, result, speed, Text::default(), causes, judged))
}

/// The rejected claim that instructions per cycle are the cause, if the counts include more than the program.
fn unfit_instructions(who: &String, ipc: &Datum) -> Option<Claim> {
    let (value, why) = (significant(ipc.value), ipc.unfit.as_ref()?);
    let why = text!("{value}, {why}");
    let claim = text!("comparison-claim-ipc", "instructions per cycle of {who}");
    Some(claims::build_claim(claim, Support::NotSupported, why))
}

/// A workload's results on one side at one thread count, for comparison with the other side.
struct Step<'a> {
    threads: u64,
    all: &'a Datum,
    /// Number of cores on which the step ran.
    cores: f64,
    /// See [`Work::on_cores`].
    on_cores: Option<OnCores>,
    one: Option<&'a Datum>,
}

impl<'a> Step<'a> {
    /// The step that uses all CPUs.
    fn of_all_cpus(work: &'a Work) -> Option<Self> {
        let (threads, all) = work.steps.iter().next_back()?;
        let cores = work.cores.clamp(1, (*threads).max(1)) as f64;
        let (on_cores, one) = (work.on_cores(), work.steps.get(&1));
        (*threads > 0 && work.cores > 0 && *threads >= work.cores).then_some(Self {
            threads: *threads,
            all,
            cores,
            on_cores,
            one,
        })
    }

    /// A step of this many threads, each assumed to run on a separate core.
    fn of_threads(work: &'a Work, threads: u64) -> Option<Self> {
        let all = work.steps.get(&threads)?;
        let on_cores = Some(OnCores { threads, rate: all.value / threads as f64, whole: true });
        Some(Self { threads, all, cores: threads as f64, on_cores, one: work.steps.get(&1) })
    }

    /// The throughput per core when all cores are busy, relative to a single thread.
    fn core_share(&self) -> Option<f64> {
        Some(self.all.value / self.cores / self.one?.value)
    }
}

/// The steps to compare, and whether they use all CPUs: the steps with all CPUs if both records contain them, otherwise the largest common
/// step.
fn find_steps<'a>(this: &'a Work, base: &'a Work) -> Option<(Step<'a>, Step<'a>, bool)> {
    if let (Some(this), Some(base)) = (Step::of_all_cpus(this), Step::of_all_cpus(base))
        && this.threads.max(base.threads) > 1
    {
        return Some((this, base, true));
    }
    let threads =
        *this.steps.keys().rev().find(|threads| **threads > 1 && base.steps.contains_key(threads))?;
    Some((Step::of_threads(this, threads)?, Step::of_threads(base, threads)?, false))
}

fn explain_all_cpus(pair: &Pair, name: &str, this_work: &Work, base_work: &Work) -> Option<OneSided> {
    let (this, base, whole) = find_steps(this_work, base_work)?;
    let speed = find_difference(this.all, base.all, Better::Higher)?;
    let (cores, base_cores) = (this.cores.to_string(), base.cores.to_string());
    let proof = pair.cite(cores.clone(), base_cores.clone(), "machine.counts.cores");
    let ratio = this.cores / base.cores;
    let mut causes = vec![cause(CORES, against(cores, base_cores), ratio, proof)];
    if let (Some(one), Some(base_one)) = (this.one, base.one) {
        let parts: Vec<Cause> = core_causes(pair, this_work, base_work).into_iter().flatten().collect();
        let says = against(figure(one.value, &one.unit), figure(base_one.value, &base_one.unit));
        let (factor, proof) = (one.value / base_one.value, pair.evidence(one, base_one));
        causes.push(cause_of_parts(ONE_THREAD, says, factor, proof, parts));
    }
    if this.on_cores.is_none() || base.on_cores.is_none() {
        causes.push(cores_and_siblings_cause(&this, &base));
    }
    causes.extend([scaling_cause(&this, &base), siblings_cause(pair, &this, &base)]);
    let work = name.to_owned();
    let result = if whole {
        text!("comparison-result-all-cpus", "{work}, all CPUs")
    } else {
        text!("{work}, {threads} threads", threads = this.threads)
    };
    let claims = claims::judge_caches(pair).into_iter().collect();
    let speed = Speed::new(speed, this.all, base.all);
    Some(explain_by_factors(pair, result, speed, Text::default(), causes, claims))
}

/// The cause: scaling across cores.
fn scaling_cause(this: &Step, base: &Step) -> Option<Cause> {
    let (own, others) = (this.on_cores?, base.on_cores?);
    let (share, base_share) = (own.rate / this.one?.value, others.rate / base.one?.value);
    let says = against(describe_scaling(share, own.threads), describe_scaling(base_share, others.threads));
    let name = text!("comparison-cause-scaling", "scaling across cores");
    cause(name, says, share / base_share, Vec::new())
}

/// Describes the share of linear scaling with this many threads.
fn describe_scaling(share: f64, threads: u64) -> Text {
    let share = Value::Share(share);
    match threads {
        1 => text!("{share} with 1 thread"),
        _ => text!("{share} of linear scaling with {threads} threads"),
    }
}

/// The cause: gain from CPUs beyond the measured cores.
fn siblings_cause(pair: &Pair, this: &Step, base: &Step) -> Option<Cause> {
    let (own, others) = (this.on_cores?, base.on_cores?);
    if this.threads <= own.threads && base.threads <= others.threads {
        return None;
    }
    let adds = |step: &Step, cores: OnCores| step.all.value / (step.cores * cores.rate);
    let (gain, base_gain) = (adds(this, own), adds(base, others));
    let (measured, proof) = (own.whole && others.whole, pair.evidence(this.all, base.all));
    let own = describe_siblings(this, own, gain);
    let others = describe_siblings(base, others, base_gain);
    let says = text!("{this}: {own}; {base}: {others}", this = &pair.this.name, base = &pair.base.name);
    let name = text!("comparison-cause-siblings", "siblings");
    Some(Cause { measured, ..cause(name, says, gain / base_gain, proof)? })
}

/// Describes the gain from a step's CPUs beyond the measured cores.
fn describe_siblings(step: &Step, cores: OnCores, factor: f64) -> Text {
    let (gain, measured) = (Value::Share(factor - 1.0), cores.threads);
    match (step.threads as f64 > step.cores, cores.whole) {
        (false, true) => text!("no siblings in use"),
        (false, false) => text!("{gain} from cores beyond the {measured} measured ones"),
        (true, true) => text!("SMT adds {gain}"),
        (true, false) => text!(
            "SMT adds about {gain} if all {cores} cores are as fast as the {measured} measured ones",
            cores = step.cores.to_string()
        ),
    }
}

/// The cause: throughput per core with all CPUs busy, relative to a single thread, if no thread count separates cores from siblings.
fn cores_and_siblings_cause(this: &Step, base: &Step) -> Option<Cause> {
    let (share, base_share) = (this.core_share()?, base.core_share()?);
    let says = text!(
        "with all CPUs busy, a core achieves {mine} of the single-thread speed, compared with {theirs}",
        mine = Value::Share(share),
        theirs = Value::Share(base_share)
    );
    cause(SCALING_WITH_SIBLINGS, says, share / base_share, Vec::new())
}
