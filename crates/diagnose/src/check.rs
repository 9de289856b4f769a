//! Compares a machine with its baseline, that is, a current record with a record of the healthy machine. Reports facts that differ, results
//! that are slower, and facts that could not be checked.

use record::baseline::{ClassBaseline, ClassFigure};
use record::check::{Busy, Check, FactOff, Figure, Outcome};
use record::comparison::{Cell, Comparison, FactKind, Row};
use record::difference::MUCH;
use record::{Better, Metric, Record, metrics};

use crate::class::{facts, tell_facts};
use crate::comparison::facts::{FACTS, SHAPE};
use crate::comparison::name_alone;
use crate::cpu_accounting::used_by_others;
use crate::shape::facts::CALM;
use crate::tables::rows;

/// The minimum reported deviation if the baseline is a single record; smaller deviations occur between runs on one machine.
const BOUND: f64 = 0.1;
/// The minimum reported deviation if the spread within the class is known, and the minimum number of standard deviations.
const BOUND_IN_CLASS: f64 = MUCH;
const DEVIATIONS: f64 = 3.0;

/// The maximum share of all CPUs that other processes may use. If their load is spread evenly, it changes each thread's results by up to
/// the same share.
const BUSY: f64 = 0.05;

/// Results that characterize the machine. All others, such as the CPU time of other processes, vary from day to day and are checked only if
/// the spread within the class is known.
const HELD: [Metric; 8] = [
    metrics::CORE_CLOCK,
    metrics::LOAD_LATENCY,
    metrics::MEMORY_BANDWIDTH,
    metrics::NUMA_LATENCY,
    metrics::NUMA_BANDWIDTH,
    metrics::CORE_TO_CORE_LATENCY,
    metrics::COST_SYSCALL,
    metrics::WORKLOAD_THROUGHPUT,
];

const MEMORY: &str = "comparison-fact-memory";
/// Maximum difference between memory sizes that count as equal. The kernel reserves a share of memory, which depends on the kernel version.
const MEMORY_ALIKE: f64 = 0.03;

/// The path of the caches in a record.
const CACHES: &str = "machine.caches";

/// Checks a machine against the baseline class to which it belongs according to its facts or, if it belongs to none, against the class with
/// the fewest differences; `None` if there are no classes.
pub fn check_nearest<'a>(here: &Record, classes: &'a [ClassBaseline]) -> Option<(Check, &'a ClassBaseline)> {
    let facts = |class: &ClassBaseline| check(here, &class.record, None, &class.figures);
    let all = classes.iter().map(|class| (facts(class), class));
    all.min_by_key(|(check, _)| (check.outcome == Outcome::OtherClass, check.facts.len()))
}

/// Compares a machine's record with the record of a baseline. If results were measured, `comparison` compares the two records, with the
/// baseline first. `class` contains the spread of the machines that the baseline represents, if there are several.
pub fn check(here: &Record, base: &Record, comparison: Option<&Comparison>, class: &[ClassFigure]) -> Check {
    let Held { differ: mut facts, not_seen, agree, neither, of_kind } = hold(here, base);
    let codes: Vec<String> = facts.iter().map(|fact| fact.code.clone()).collect();
    let (first, follows) = (rows(FACTS, "first"), rows(FACTS, "follows"));
    for fact in &mut facts {
        let mut of = follows.iter().filter(|row| row.iter().skip(1).any(|code| *code == fact.code));
        fact.follows = of.any(|row| codes.iter().any(|code| row.first() == Some(&code.as_str())));
    }
    let weight = |fact: &FactOff| {
        first.iter().position(|row| row.contains(&fact.code.as_str())).unwrap_or(first.len())
    };
    facts.sort_by_key(|fact| (fact.follows, weight(fact)));
    let rows = comparison.iter().flat_map(|comparison| &comparison.rows);
    let rows = rows.filter(|_| !of_kind);
    let mut figures: Vec<Figure> = rows.filter_map(|row| figure_of(row, class)).collect();
    // Results measured with the CPU time and cache that other processes left free do not characterize the machine.
    let busy = comparison.and_then(|_| busy(here)).filter(|_| !figures.is_empty());
    figures.iter_mut().for_each(|figure| figure.slow &= busy.is_none());
    figures.sort_by(|a, b| b.slow.cmp(&a.slow).then(a.speed.total_cmp(&b.speed)));
    let is_defect = |fact: &FactOff| fact.kind == FactKind::Hardware;
    let outcome = if of_kind {
        Outcome::OtherClass
    } else if facts.iter().any(is_defect) || figures.iter().any(|figure| figure.slow) {
        Outcome::Defect
    } else if !facts.is_empty() {
        Outcome::Setting
    } else if figures.is_empty() && !agree.is_empty()
        || busy.is_none() && figures.iter().any(Figure::is_decided)
    {
        Outcome::Good
    } else {
        Outcome::Undecided
    };
    Check { outcome, facts, not_seen, alike: agree.len(), agree, neither, figures, busy }
}

/// Other processes, if they used more than [`BUSY`] of all CPUs during the measurement.
fn busy(here: &Record) -> Option<Busy> {
    let cpus = here.machine.counts.cpus_online?;
    let by_others = used_by_others(here)?;
    (by_others > BUSY * f64::from(cpus)).then_some(Busy { by_others, cpus })
}

/// The facts of two records, compared with each other.
#[derive(Default)]
struct Held {
    /// The facts that differ. If the two machines belong to different classes, only facts that define a class are listed.
    differ: Vec<FactOff>,
    not_seen: Vec<FactOff>,
    agree: Vec<FactOff>,
    neither: Vec<FactOff>,
    of_kind: bool,
}

fn hold(here: &Record, baseline: &Record) -> Held {
    let mut held = Held::default();
    let values = tell_facts(here).into_iter().zip(tell_facts(baseline));
    for (fact, (here_says, baseline_says)) in facts().iter().zip(values) {
        let code = fact.what.code().unwrap_or_default();
        let memory = here.machine.memory_bytes.zip(baseline.machine.memory_bytes);
        let near = |(here, there): (u64, u64)| here.abs_diff(there) as f64 <= MEMORY_ALIKE * there as f64;
        let alike = code == MEMORY && memory.is_some_and(near);
        if fact.kind == FactKind::State || fact.is("left-out") {
            continue;
        }
        let off = |here, baseline| FactOff {
            kind: fact.kind,
            code: code.to_owned(),
            what: fact.what.clone(),
            here,
            baseline,
            follows: false,
        };
        match (here_says, baseline_says) {
            // A cache level that neither machine has is not reported as unchecked.
            (None, None) if fact.from == CACHES => {}
            // CPU placement is an observation, so only a change for the worse is reported.
            (here, _) if fact.from.starts_with(SHAPE) && here.as_deref().is_none_or(|it| it == CALM) => {}
            (None, None) => held.neither.push(off(None, None)),
            (here @ Some(_), there @ Some(_)) if here == there || alike => held.agree.push(off(here, there)),
            (here @ Some(_), None) => held.neither.push(off(here, None)),
            (None, there) => held.not_seen.push(off(None, there)),
            (here, there) => {
                if fact.is_of_kind() && !held.of_kind {
                    held.of_kind = true;
                    held.differ.clear();
                }
                if fact.is_of_kind() || !held.of_kind {
                    held.differ.push(off(here, there));
                }
            }
        }
    }
    held
}

/// A row of a comparison whose first subject is the baseline, with the class's spread for that result.
fn figure_of(row: &Row, class: &[ClassFigure]) -> Option<Figure> {
    let [baseline, here] = row.cells.as_slice() else { return None };
    let Cell { value, ratio, doubt, .. } = here;
    let (better, value, ratio, (speed, interval)) = (row.better?, (*value)?, (*ratio)?, row.speed(here)?);
    let what = name_alone(row.metric, &row.what.to_string());
    let alike = |figure: &&ClassFigure| {
        figure.metric == row.metric && figure.labels == row.labels && figure.what == what
    };
    let of_class = class.iter().find(alike).filter(|figure| figure.median > 0.0);
    if of_class.is_none() && !HELD.contains(&row.metric) {
        return None;
    }
    let scale = of_class.and_then(|figure| figure.scale);
    let bound = scale.map_or(BOUND, |scale| (DEVIATIONS * scale).max(BOUND_IN_CLASS));
    let against = of_class.map_or(baseline.value?, |figure| figure.median);
    // The interval of this machine's ratio to the medoid also applies to its ratio to the median.
    let shift = of_class.map_or(1.0, |_| value / against / ratio);
    let shift = if better == Better::Higher { shift } else { 1.0 / shift };
    let interval = interval.map(|(low, high)| (low * shift, high * shift));
    let doubt = doubt.clone().or(baseline.doubt.clone());
    let slow = doubt.is_none() && interval.is_some_and(|(_, high)| high < 1.0 - bound);
    Some(Figure {
        what,
        metric: row.metric,
        unit: row.unit.clone(),
        here: value,
        baseline: against,
        speed: speed * shift,
        interval,
        bound,
        slow,
        doubt,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Extent, Side, compare};
    use record::machine::MemoryDevice;
    use record::{Labels, Measurement};

    fn baseline() -> Record {
        let mut record = crate::samples::machine(8);
        let device =
            MemoryDevice { bytes: Some(1 << 34), configured_mt_s: Some(3200), ..MemoryDevice::default() };
        record.machine.memory_devices = vec![device; 8];
        record.machine.memory_bytes = Some(8 << 34);
        record.machine.processor.model_name = Some("one".to_owned());
        record.machine.processor.microcode = Some("0x2".to_owned());
        record.conditions.before.smt = Some("on".to_owned());
        record.conditions.before.boost = Some(true);
        record
    }

    fn held(here: &Record) -> Check {
        check(here, &baseline(), None, &[])
    }

    /// Codes of facts that do not follow from another fact.
    fn codes(check: &Check) -> Vec<&str> {
        let own = check.facts.iter().filter(|fact| !fact.follows);
        own.map(|fact| fact.code.trim_start_matches("comparison-fact-")).collect()
    }

    #[test]
    fn the_same_machine_is_good_and_its_kernel_may_keep_more_memory_for_itself() {
        let mut here = baseline();
        here.machine.memory_bytes = Some((8 << 34) * 99 / 100);
        here.conditions.before.load = Some([7.0; 3]);
        let check = held(&here);
        assert_eq!(
            (check.outcome, check.facts.len(), check.not_seen.len()),
            (Outcome::Good, 0, 0),
            "{check:?}"
        );
        assert!(check.alike >= 6, "{check:?}");
    }

    #[test]
    fn a_missing_device_stands_before_settings_and_what_follows_from_it_is_no_second_fault() {
        let mut here = baseline();
        here.machine.memory_devices.pop();
        here.machine.memory_bytes = Some(7 << 34);
        here.machine.processor.microcode = Some("0x1".to_owned());
        here.conditions.before.boost = Some(false);
        let check = held(&here);
        assert_eq!(check.outcome, Outcome::Defect);
        assert_eq!(codes(&check), ["memory-devices", "boost", "microcode"], "{check:?}");
        assert_eq!(check.facts[0].here.as_deref(), Some("7"));
        assert_eq!(check.facts[0].baseline.as_deref(), Some("8"));
        assert!(check.facts.iter().any(|fact| fact.follows && fact.code.ends_with("-memory")), "{check:?}");
    }

    #[test]
    fn a_setting_or_a_quota_is_none_of_the_hardware() {
        let mut here = baseline();
        here.conditions.before.smt = Some("off".to_owned());
        here.machine.limits.cpu_quota = Some(1.5);
        let check = held(&here);
        assert_eq!((check.outcome, codes(&check)), (Outcome::Setting, vec!["smt", "cpu-quota"]), "{check:?}");
        assert_eq!(check.facts[1].baseline.as_deref(), Some("none"));
    }

    #[test]
    fn a_baseline_with_which_nothing_can_be_compared_is_not_passed() {
        let other = Record { import: Some(record::import::Import::default()), ..Record::default() };
        let check = check(&baseline(), &other, None, &[]);
        assert_eq!((check.outcome, check.alike), (Outcome::Undecided, 0), "{check:?}");
    }

    #[test]
    fn what_the_baseline_lacks_is_named() {
        let mut bare = baseline();
        bare.machine.processor = Default::default();
        bare.machine.memory_devices.clear();
        let check = check(&baseline(), &bare, None, &[]);
        let lacking = check.neither.iter().filter(|fact| fact.here.is_some());
        let lacking: Vec<&str> = lacking.map(|fact| fact.code.as_str()).collect();
        for code in ["processor", "memory-devices", "microcode"] {
            assert!(lacking.iter().any(|own| own.ends_with(code)), "{code}: {lacking:?}");
        }
        assert_eq!(held(&baseline()).neither.iter().filter(|fact| fact.here.is_some()).count(), 0);
    }

    #[test]
    fn what_cannot_be_seen_here_is_neither_alike_nor_off() {
        let mut here = baseline();
        here.machine.memory_devices.clear();
        let check = held(&here);
        assert_eq!(check.outcome, Outcome::Good);
        let unseen: Vec<&str> = check.not_seen.iter().map(|fact| fact.code.as_str()).collect();
        assert_eq!(unseen, ["comparison-fact-memory-devices", "comparison-fact-devices-run-at"]);
    }

    #[test]
    fn of_another_kind_only_that_is_said() {
        let mut here = baseline();
        here.machine.processor.model_name = Some("another".to_owned());
        here.conditions.before.smt = Some("off".to_owned());
        let check = held(&here);
        assert_eq!((check.outcome, codes(&check)), (Outcome::OtherClass, vec!["processor"]));
    }

    fn with_clock(hz: f64) -> Record {
        let mut record = baseline();
        let place = Labels::new()
            .with_label(record::Label::Cpu, 0u32)
            .with_label(record::Label::Active, "one")
            .with_label(record::Label::Vector, "scalar");
        let samples = (0..12).map(|at| hz * (1.0 + 1e-3 * f64::from(at % 5))).collect();
        record.measurements.push(Measurement::new("core.clock", place, samples));
        record
    }

    fn measured(hz: f64, class: &[ClassFigure]) -> Check {
        let (base, here) = (with_clock(3e9), with_clock(hz));
        let side = |name, record| Side { name, source: name, record };
        let sides = [side("base", &base), side("here", &here)];
        let comparison = compare(&sides, 0, base.tool.clone(), Extent::Summary);
        check(&here, &base, Some(&comparison), class)
    }

    #[test]
    fn while_others_use_the_cpus_no_figure_is_slow() {
        let at = |uptime: f64, busy: f64| record::Snapshot {
            uptime_seconds: Some(uptime),
            own_cpu_seconds: Some(1.0),
            cpu_seconds: ["user", "nice", "system", "irq", "softirq"]
                .map(|kind| (kind.to_owned(), busy / 5.0))
                .into(),
            ..record::Snapshot::default()
        };
        // Of 8 CPUs.
        for (used, outcome) in [(4.0, Outcome::Undecided), (0.3, Outcome::Defect)] {
            let (base, mut here) = (with_clock(3e9), with_clock(2.6e9));
            here.machine.counts.cpus_online = Some(8);
            here.conditions.before = record::Snapshot { ..at(100.0, 50.0) };
            (here.conditions.before.smt, here.conditions.before.boost) = (Some("on".to_owned()), Some(true));
            here.conditions.after = Some(at(110.0, 50.0 + 10.0 * used));
            let side = |name, record| Side { name, source: name, record };
            let sides = [side("base", &base), side("here", &here)];
            let comparison = compare(&sides, 0, base.tool.clone(), Extent::Summary);
            let check = check(&here, &base, Some(&comparison), &[]);
            assert_eq!(check.outcome, outcome, "{check:?}");
            assert_eq!(check.busy.is_some(), outcome == Outcome::Undecided, "{check:?}");
            assert_eq!(check.figures[0].slow, outcome == Outcome::Defect, "{check:?}");
        }
    }

    #[test]
    fn a_figure_is_slow_where_its_whole_interval_is_beyond_the_bound() {
        for (hz, outcome) in [(3.1e9, Outcome::Good), (2.8e9, Outcome::Good), (2.6e9, Outcome::Defect)] {
            let check = measured(hz, &[]);
            assert_eq!((check.outcome, check.figures.len()), (outcome, 1), "{hz}: {check:?}");
            assert!((check.figures[0].speed / (hz / 3e9) - 1.0).abs() < 0.01, "{check:?}");
        }
    }

    #[test]
    fn a_class_says_how_far_its_machines_are_apart() {
        let figure = |median: f64, scale: f64| {
            let row = &measured(2.8e9, &[]).figures[0];
            let labels = Labels::new()
                .with_label(record::Label::Active, "one")
                .with_label(record::Label::Vector, "scalar");
            ClassFigure {
                what: row.what.clone(),
                metric: row.metric,
                unit: row.unit.clone(),
                better: Some(Better::Higher),
                labels,
                machines: 12,
                median,
                scale: Some(scale),
            }
        };
        // A result 7 % below the class is significant in a narrow class but not in a wide one; 3 % is never significant.
        for (median, scale, slow) in [(3e9, 0.01, true), (3e9, 0.05, false), (2.88e9, 0.001, false)] {
            let check = measured(2.8e9, &[figure(median, scale)]);
            assert_eq!(check.figures[0].slow, slow, "{median} {scale}: {check:?}");
            assert!((check.figures[0].baseline - median).abs() < 1.0, "{check:?}");
        }
    }
}
