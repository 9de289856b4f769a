//! Core-to-core latency: two CPUs pass a cache line back and forth, by compare-and-swap and by loads and stores. All
//! pairs of CPUs are measured, or, on large machines, some of each kind.

pub(crate) mod driver;
pub(crate) mod mailbox;
pub(crate) mod pages;
pub(crate) mod pairs;
pub(crate) mod topology_class;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use record::{
    Coverage, CpuList, Label, Labels, Machine, Measurement, SampleMark, Summary, Text, detail, metrics, text,
};

use crate::budget::{Budget, Depth, is_emulated};
use crate::context::{Context, Halt};
use crate::measure::Measure;
use crate::measurements::numa::plan::memory_nodes;
use crate::reasons::{
    ALLOW_MBIND, FREE_MEMORY, LEAVE_OUT, MORE_CPUS, MORE_MEMORY, NEEDS_TWO_CPUS, NOT_PINNED,
};
use crate::repeat::{judged, mark_samples};
use crate::shape::APART;
use driver::{Driver, Failed, Figures, Least, Terms};
use mailbox::LINES;
use mailbox::Mailbox;
use os::mapping::{base_page, size_word};
use pages::Pages;
use pairs::{Pair, Plan};

const NAME: &str = "core-to-core";

/// Maximum half-width of the 95 % CI; a pair with a wider interval is too noisy.
const TARGET: f64 = 0.05;

/// Time per pair for both methods together, s.
const PAIR_SECONDS: f64 = 1e-3;

/// Maximum number of CPUs for which all pairs can be measured on request.
const MOST_CPUS: usize = 256;

/// One-time cost of starting the threads and raising both CPUs' clocks, s.
const START_SECONDS: f64 = 0.012;

/// A pair is abandoned if one side does not run within the first limit (a few time slices of a busy CPU) or, if there are
/// few pairs, within the pair's share of the second limit.
const LIMITS: (f64, f64) = (0.04, 0.5);

/// Maximum time of the measurement under an emulator, as a multiple of the maximum time on hardware. Two CPUs of an emulated machine may be
/// two threads that rarely run at the same time.
const EMULATED: f64 = 600.0;

/// The first limit for the pairs of an emulated machine, as a multiple of the limit on hardware.
const EMULATED_LIMIT: f64 = 100.0;

/// Maximum number of attempts for a pair whose two threads did not run at the same time. Further attempts follow after all
/// other pairs, if there is time.
const TURNS: u32 = 8;

/// If a run measures nothing else, up to [`MOST_REPEATED`] pairs are measured up to [`PASSES`] times, with a placement check before each
/// pass, because vCPUs move about once per second.
const MOST_REPEATED: usize = 500;
const PASSES: usize = 6;
/// The time for these passes and the pauses between them, s.
const SPAN: f64 = 2.5;

/// Maximum number of pairs.
fn most_pairs(cpus: usize, depth: Depth) -> usize {
    let every = pairs::count(MOST_CPUS);
    let sample = depth.pick_named(400, 2_000, 10_000, every);
    match depth {
        Depth::Named | Depth::Full if cpus <= MOST_CPUS => every,
        _ => sample,
    }
}

/// Whether `--full` measures more, which is the case only for small matrices.
fn is_deep(depth: Depth, cpus: usize) -> bool {
    depth == Depth::Full && cpus <= 64
}

pub(crate) const CORE_TO_CORE: Measure = Measure {
    name: NAME,
    metrics: &[metrics::CORE_TO_CORE_LATENCY],
    obstacle: |_, _, cpus| {
        (cpus.len() < 2).then(|| Coverage::impossible(NAME, NEEDS_TWO_CPUS).with_remedy(MORE_CPUS))
    },
    budget: |machine, cpus, depth| {
        let pairs = pairs::count(cpus.len()).min(most_pairs(cpus.len(), depth));
        if pairs == 0 {
            return Budget::NONE;
        }
        let slower = if is_emulated(machine) { EMULATED } else { 1.0 };
        let pair = if is_deep(depth, cpus.len()) { 4.0 } else { 1.0 } * PAIR_SECONDS;
        Budget { seconds: (START_SECONDS + pairs as f64 * pair) * slower, bytes: 4 << 20 }
    },
    uses_arrays: false,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let most = most_pairs(context.cpus.len(), context.depth);
    let plan = pairs::plan(context.machine, &context.cpus, most);
    let is_alone = context.looker.as_ref().is_some_and(|looker| looker.is_alone);
    let repeats = is_alone && plan.pairs.len() <= MOST_REPEATED && !is_emulated(context.machine);
    context.looker.iter_mut().filter(|_| repeats).for_each(|looker| looker.plan(SPAN, true));
    let until = Instant::now() + Duration::from_secs_f64(context.seconds_left() + SPAN);
    context.look(false);
    let mut done = Done::default();
    measure_pairs(context, &plan, &mut done)?;
    done.until = Some(until);
    for _ in 1..if repeats && context.next_look() > 0 { PASSES } else { 1 } {
        if done.lost || done.out_of_time || context.check().is_err() || Instant::now() >= until {
            break;
        }
        std::thread::sleep(APART);
        let looks = context.next_look();
        context.look(false);
        // Without a new placement check, a pass shows nothing new.
        if context.next_look() > looks && measure_pairs(context, &plan, &mut done).is_err() {
            break;
        }
    }
    done.report(context, &plan)
}

/// Appends the result of one more pass over the same pair.
fn joined(mut all: Measurement, more: Measurement) -> Measurement {
    let looks = |m: &Measurement| m.looks.clone().into_iter().cycle().take(m.samples.len());
    let (n, looks) = (all.samples.len() as u32, looks(&all).chain(looks(&more)).collect());
    all.marks.extend(more.marks.into_iter().map(|mark| SampleMark { sample: mark.sample + n, ..mark }));
    all.samples.extend(more.samples);
    Measurement { summary: Summary::from_samples(&all.samples), doubt: None, ..all }.with_looks(looks)
}

/// Measures each pair once more.
fn measure_pairs(context: &mut Context, plan: &Plan, done: &mut Done) -> Result<(), Halt> {
    let hypervisor = context.machine.is_virtual();
    let mailbox = &Mailbox::default();
    let terms = choose_terms(context, plan.pairs.len());
    // The pages are kept until the partner has ended: a partner that no longer responds could still access its line.
    let mut pools = BTreeMap::new();
    let pages = &mut pools;
    let ended = std::thread::scope(|scope| {
        let thread = |name: &str| std::thread::Builder::new().name(format!("linespeed/{name}"));
        let partner = thread("partner").spawn_scoped(scope, || mailbox.run_partner()).is_ok();
        // The driver is always dropped at the end, which ends the partner.
        let mut driver = Driver::new(mailbox, hypervisor, terms.limit);
        let drive = move || partner.then(|| measure_all(context, plan, terms, pages, &mut driver, done));
        let driver = thread("driver").spawn_scoped(scope, drive).ok();
        driver.and_then(|driver| driver.join().ok().flatten())
    });
    Ok(ended.ok_or_else(|| text!("its threads could not be started"))?)
}

/// The measuring time for each of this many pairs.
fn choose_terms(context: &Context, pairs: usize) -> Terms {
    let (slower, least) =
        if is_emulated(context.machine) { (EMULATED_LIMIT, Least::EMULATED) } else { (1.0, Least::REAL) };
    // A pair is measured for less than its part of the budget, which leaves time for slow migrations to its CPUs.
    let part = if is_deep(context.depth, context.cpus.len()) { 3.6 } else { 0.85 };
    Terms {
        slot: Duration::from_secs_f64(PAIR_SECONDS * part),
        most: context.depth.pick(2, 2, 8) * least.samples + 1,
        limit: Duration::from_secs_f64((LIMITS.1 / pairs.max(1) as f64).max(LIMITS.0 * slower)),
        least,
    }
}

/// The results of the pairs, over all passes.
#[derive(Default)]
struct Done {
    /// The deadline of further passes; `None` in the first pass.
    until: Option<Instant>,
    measured: BTreeSet<(u32, u32)>,
    unpinned: CpuList,
    /// The pairs whose two threads did not run at the same time in at least one attempt.
    unanswered: BTreeSet<(u32, u32)>,
    /// For each cell (pair, home node, method): whether its page was on the home node in at least one pass.
    cells: BTreeMap<(u32, u32, Option<u32>, &'static str), bool>,
    out_of_time: bool,
    lost: bool,
    no_memory: Option<String>,
    unbound: Option<String>,
    unproven: Option<Text>,
}

/// The nodes on which a pair's line is placed alternately: the nodes of both CPUs, if they differ and have usable memory.
fn find_homes(machine: &Machine, pair: &Pair, memory: &CpuList) -> Vec<Option<u32>> {
    let node = |cpu: u32| machine.cpu(cpu).and_then(|cpu| cpu.node).filter(|node| memory.contains(*node));
    let mut homes: Vec<Option<u32>> =
        [node(pair.from), node(pair.to)].into_iter().filter(Option::is_some).collect();
    homes.dedup();
    if homes.is_empty() { vec![None] } else { homes }
}

fn measure_all(
    context: &mut Context,
    plan: &Plan,
    terms: Terms,
    pools: &mut BTreeMap<Option<u32>, Pages>,
    driver: &mut Driver,
    done: &mut Done,
) {
    let memory = memory_nodes(context.machine);
    if let Some(first) = plan.pairs.first() {
        let limit = Duration::from_secs_f64(START_SECONDS * 0.8);
        done.lost = driver.warm_up(first.from, first.to, limit) == Err(Failed::Lost);
    }
    let mut waiting: VecDeque<(&Pair, u32)> = plan.pairs.iter().map(|pair| (pair, 1)).collect();
    while let Some((pair, turn)) = waiting.pop_front() {
        if done.lost || context.check().is_err() {
            break;
        }
        let is_first_over = || context.out_of_time() && !done.measured.is_empty();
        if done.until.map_or_else(is_first_over, |until| Instant::now() >= until) {
            // Repeated attempts follow after all first attempts.
            done.out_of_time = done.until.is_none() && turn == 1;
            break;
        }
        let wanted = find_homes(context.machine, pair, &memory);
        for home in &wanted {
            if !pools.contains_key(home) {
                let made = Pages::new(*home).map(|pages| pools.insert(*home, pages));
                done.no_memory = made.err().map(|error| error.to_string()).or(done.no_memory.take());
            }
        }
        let mut of_pair: Vec<&mut Pages> =
            pools.iter_mut().filter(|(home, _)| wanted.contains(home)).map(|(_, pages)| pages).collect();
        // Unbound pages are on the node of the first touch, regardless of the requested node, so measuring once
        // suffices.
        if let Some(why) = of_pair.iter().find_map(|pages| pages.unbound.clone()) {
            done.unbound = Some(why);
            of_pair.truncate(1);
        }
        match driver.pair(pair.from, pair.to, &mut of_pair, terms) {
            Ok(all) => {
                for figures in all {
                    done.measured.insert((pair.from, pair.to));
                    push(context, done, pair, figures);
                }
            }
            Err(Failed::Pin(cpu)) => done.unpinned.insert(cpu),
            Err(Failed::NoAnswer) => {
                done.unanswered.insert((pair.from, pair.to));
                waiting.extend((turn < TURNS).then_some((pair, turn + 1)));
            }
            Err(Failed::Lost) => done.lost = true,
            Err(Failed::Memory(why)) => done.no_memory = Some(why),
        }
        if done.measured.len().is_multiple_of(64) {
            context.advance(done.measured.len() as f64 / plan.pairs.len() as f64);
        }
    }
}

/// Adds one cell of one method's matrix, unless its page is on a different node.
fn push(context: &mut Context, done: &mut Done, pair: &Pair, figures: Figures) {
    let lies_on = figures.lies_on;
    // If no node was requested, any placement is correct.
    let bound = done.unbound.is_none() && figures.home.is_some();
    let is_misplaced = bound && lies_on.as_ref().is_ok_and(|node| Some(*node) != figures.home);
    let cell = (pair.from, pair.to, figures.home, figures.handover.word());
    *done.cells.entry(cell).or_default() |= !is_misplaced;
    if is_misplaced {
        return;
    }
    let home = lies_on.as_ref().map_or(figures.home, |node| Some(*node));
    done.unproven =
        lies_on.as_ref().err().filter(|_| context.machine.nodes.len() > 1).cloned().or(done.unproven.take());
    let place = Labels::new()
        .with_label(Label::From, pair.from)
        .with_label(Label::To, pair.to)
        .with_known(Label::Home, home)
        .with_label(Label::Handover, figures.handover.word());
    let proven = lies_on.is_ok();
    let m = Measurement::new(metrics::CORE_TO_CORE_LATENCY, place, figures.samples)
        .with_detail(detail::CLASS, pair.class.describe())
        .with_detail(detail::ROUNDS_PER_SAMPLE, figures.rounds * LINES as u64)
        .with_detail(detail::LINES_PER_SAMPLE, LINES as u64)
        .with_detail(detail::PAGES, u64::from(proven))
        .with_detail(detail::PAGE, size_word(base_page()))
        .with_known_detail(detail::ON_NODE, proven.then_some(1.0));
    // The result is valid for the placement found before the matrix was measured: a pair takes only a millisecond, and there are no
    // placement checks between pairs.
    let m = Measurement { marks: mark_samples(figures.marks), ..m }.with_looks(vec![context.next_look()]);
    let is_same =
        |one: &Measurement| done.until.is_some() && one.metric == m.metric && one.labels == m.labels;
    let earlier = context.measurements.iter().position(is_same).map(|at| context.measurements.remove(at));
    context.push(judged(earlier.into_iter().fold(m, |more, all| joined(all, more)), TARGET));
}

impl Done {
    /// Reports omitted parts in the coverage.
    fn report(self, context: &mut Context, plan: &Plan) -> Result<(), Halt> {
        context.check()?;
        let whole = context.at_more_length(NAME);
        if self.measured.is_empty() {
            return Err(match (self.no_memory, self.unpinned.iter().next()) {
                (Some(why), _) => text!("no memory for a cache line: {why}").into(),
                (_, Some(cpu)) => text!("threads cannot be pinned to CPU {cpu} or its partners").into(),
                _ => Coverage::NO_PAIR_AT_ONCE.into(),
            });
        }
        let (n, all) = (plan.pairs.len(), plan.all);
        let several_nodes = context.machine.nodes.len() > 1;
        if n < all {
            let why = text!("{n} of {all} CPU pairs were sampled, the same number of each kind");
            match context.depth {
                Depth::Full => context.degrade(NAME, why),
                _ => context.degrade_with_remedy(NAME, why, whole.clone()),
            }
        }
        let (measured, all) = (self.measured.len(), n);
        let cells = self.cells.values().filter(|is_placed| !**is_placed).count();
        let unanswered = self.unanswered.difference(&self.measured).count();
        let mut degrade = |so: bool, why: Text, remedy: Text| {
            if so {
                context.degrade_with_remedy(NAME, why, remedy);
            }
        };
        let when = format!("after {measured} of {n} pairs");
        degrade(self.out_of_time, text!(Coverage::TIME_ENDED, when), whole.into());
        let why = text!("ended after {measured} of {all} pairs: a thread got no CPU time");
        degrade(self.lost && measured < all, why, text!("stop real-time tasks on the measured CPUs"));
        let pairs = format!("{unanswered} of {n} pairs");
        let remedy = text!("stop other processes, or measure again");
        degrade(unanswered > 0, text!(Coverage::PAIRS_NOT_AT_ONCE, pairs), remedy);
        degrade(!self.unpinned.is_empty(), text!(NOT_PINNED, cpus = self.unpinned), LEAVE_OUT.into());
        let why = text!("{cells} cells were discarded because their page was on another node");
        degrade(cells > 0, why, FREE_MEMORY.into());
        if let Some(why) = self.no_memory {
            degrade(true, text!("no memory for some cache lines: {why}"), MORE_MEMORY.into());
        }
        if let Some(why) = self.unbound.filter(|_| several_nodes) {
            let why = text!("mbind failed ({why}): cache lines are on the node of first touch");
            degrade(true, why, ALLOW_MBIND.into());
        }
        if let Some(why) = self.unproven {
            context.degrade(NAME, text!("the cache lines' node is not verified: {why}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::tests::Silent;
    use os::Stop;
    use record::Handover;
    use record::Snapshot;
    use topology_class::tests::made;

    /// A run on this machine. Other tests keep its CPUs busy, so several runs may be needed until both sides of a pair
    /// run at the same time; `None`, with a message, if they never do.
    fn live(machine: &Machine, cpus: &CpuList) -> Option<Vec<Measurement>> {
        let (snapshot, stop) = (Snapshot::default(), Stop::new());
        for _ in 0..50 {
            let mut silent = Silent;
            let mut context =
                Context::new(machine, &snapshot, Depth::Named, cpus.clone(), &stop, &mut silent);
            context.begin("core-to-core", CORE_TO_CORE.budget(machine, cpus, Depth::Named).seconds);
            if run(&mut context).is_ok() && context.measurements[0].summary.n >= 6 {
                return Some(context.measurements);
            }
        }
        println!("skipped: other programs keep the CPUs busy: no run has six samples");
        None
    }

    #[test]
    fn two_cpus_of_this_machine_are_one_pair() {
        let machine = machine::inspect(&machine::Root::live()).machine;
        let cpus: CpuList = machine.allowed_cpus().iter().take(2).collect();
        if cpus.len() < 2 {
            return;
        }
        let Some(measurements) = live(&machine, &cpus) else { return };
        let ends: Vec<_> =
            measurements.iter().map(|m| (m.labels.count(Label::From), m.labels.count(Label::To))).collect();
        let expected = (cpus.iter().next().map(u64::from), cpus.iter().nth(1).map(u64::from));
        assert!(ends.iter().all(|pair| *pair == expected), "{ends:?}");
        for cell in &measurements {
            assert!(cell.metric == "core_to_core.latency" && cell.value() > 0.0, "{cell:?}");
            assert!(cell.detail.has(detail::CLASS) && cell.detail.has(detail::PAGES), "{cell:?}");
        }
        // Both hand-over methods, on both home nodes if the CPUs are on different nodes, otherwise on one.
        let nodes: Vec<_> = cpus.iter().map(|cpu| machine.cpu(cpu).and_then(|cpu| cpu.node)).collect();
        let homes = if nodes[0] == nodes[1] { 1 } else { 2 };
        for how in Handover::ALL {
            let of =
                measurements.iter().filter(|m| m.labels.word(Label::Handover) == Some(how.word())).count();
            assert!((1..=homes).contains(&of), "{how:?}: {of}");
        }
        assert!(measurements.len().is_multiple_of(2), "a hand-over method is missing on one home node");
    }

    #[test]
    fn passes_over_a_pair_are_one_result_whose_samples_know_their_checks() {
        let pass = |look: u32, values: &[f64]| {
            let marks = vec![SampleMark { sample: 1, mark: record::Mark::ClockMoved }];
            let m = Measurement::new(metrics::CORE_TO_CORE_LATENCY, Labels::new(), values.to_vec());
            Measurement { marks, ..m }.with_looks(vec![look])
        };
        let two = joined(pass(1, &[50.0, 51.0]), pass(2, &[7.0, 7.5, 7.2]));
        let all = joined(two, pass(3, &[52.0, 53.0]));
        assert_eq!(all.looks, [1, 1, 2, 2, 2, 3, 3]);
        assert_eq!(all.marks.iter().map(|mark| mark.sample).collect::<Vec<_>>(), [1, 3, 6]);
        assert_eq!((all.summary.n, all.summary.median, all.summary.min), (7, 50.0, 7.0));
    }

    #[test]
    fn a_pair_is_missing_only_if_no_pass_measured_it() {
        let (machine, snapshot, stop) = (made(2, 1, 4, 1, 4), Snapshot::default(), Stop::new());
        let cpus: CpuList = (0..3).collect();
        let plan = pairs::plan(&machine, &cpus, 3);
        let coverage = |unanswered: &[(u32, u32)], cells: &[(u32, bool)]| {
            let mut silent = Silent;
            let mut context =
                Context::new(&machine, &snapshot, Depth::Named, cpus.clone(), &stop, &mut silent);
            let done = Done {
                measured: [(0, 1), (0, 2)].into(),
                unanswered: unanswered.iter().copied().collect(),
                cells: cells.iter().map(|(to, is_placed)| ((0, *to, Some(0), "cas"), *is_placed)).collect(),
                ..Done::default()
            };
            assert!(done.report(&mut context, &plan).is_ok());
            context.coverage
        };
        assert_eq!(coverage(&[(0, 1), (0, 2)], &[(1, true), (2, true)]), []);
        let missing = coverage(&[(0, 1), (1, 2)], &[(1, true)]);
        assert!(missing.len() == 1 && missing[0].is_for(&Coverage::PAIRS_NOT_AT_ONCE), "{missing:?}");
        assert!(missing[0].reason.as_ref().unwrap().to_string().contains("1 of 3"), "{missing:?}");
        assert_eq!(coverage(&[], &[(1, true), (2, false)]).len(), 1);
    }

    #[test]
    fn a_pair_has_its_line_on_both_of_its_nodes_and_on_no_third() {
        let machine = made(2, 1, 4, 1, 4);
        let memory = memory_nodes(&machine);
        let at = |from, to| {
            find_homes(&machine, &Pair { from, to, class: topology_class::TopologyClass::Unknown }, &memory)
        };
        assert_eq!(at(0, 1), [Some(0)]);
        assert_eq!(at(0, 5), [Some(0), Some(1)]);
        let only: CpuList = [1].into_iter().collect();
        assert_eq!(
            find_homes(
                &machine,
                &Pair { from: 0, to: 5, class: topology_class::TopologyClass::Unknown },
                &only
            ),
            [Some(1)]
        );
        assert_eq!(
            find_homes(
                &machine,
                &Pair { from: 0, to: 1, class: topology_class::TopologyClass::Unknown },
                &only
            ),
            [None]
        );
    }

    #[test]
    fn a_matrix_costs_a_millisecond_a_pair_and_is_bounded_on_512_cpus() {
        let budget = |packages, depth| {
            let machine = made(packages, 2, 32, 1, 8);
            let cpus = machine.allowed_cpus();
            (cpus.len(), CORE_TO_CORE.budget(&machine, &cpus, depth).seconds - START_SECONDS)
        };
        let (cpus, seconds) = budget(4, Depth::Named);
        assert_eq!(cpus, 256);
        assert!((seconds - 32.64).abs() < 1e-9, "{seconds}");
        for (depth, most) in
            [(Depth::Quick, 0.4), (Depth::Normal, 2.0), (Depth::Named, 10.0), (Depth::Full, 32.7)]
        {
            let (cpus, seconds) = budget(8, depth);
            assert!(cpus == 512 && seconds <= most, "{depth:?}: {seconds} s for {cpus}");
        }
    }

    #[test]
    fn one_cpu_is_impossible_with_words() {
        let mut machine = made(1, 1, 1, 1, 1);
        let outlook = CORE_TO_CORE.outlook(&machine, &Snapshot::default(), &machine.allowed_cpus());
        assert_eq!((outlook.state, outlook.why().as_str()), (record::State::Impossible, "requires two CPUs"));
        assert_eq!(CORE_TO_CORE.budget(&machine, &machine.allowed_cpus(), Depth::Normal).seconds, 0.0);
        machine.cpus[0].allowed = false;
        assert_eq!(
            CORE_TO_CORE.outlook(&machine, &Snapshot::default(), &machine.allowed_cpus()).state,
            record::State::Impossible
        );
    }
}
