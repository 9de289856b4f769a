//! The throughput that siblings add to a workload. It is derived from the thread-count steps, even if there is no step with exactly one
//! thread per core.

use std::collections::BTreeMap;

use record::diagnosis::{Basis, SiblingsAdd};
use record::text::Value;
use record::units::figure;
use record::{Label, Measurement, detail, metrics, text};

use crate::block_sizes::BlockSizes;
use crate::record_index::RecordIndex;

/// Maximum number of workloads to read.
const MOST: usize = 64;

/// The throughput of a workload on all CPUs, and on the largest measured number of CPUs that are on separate cores.
pub(crate) struct Steps<'a> {
    /// The workload.
    pub(crate) workload: &'a str,
    /// The workload's block size, if any.
    pub(crate) bytes: Option<u64>,
    /// The number of threads on separate cores.
    pub(crate) threads: u64,
    /// The throughput of these threads.
    pub(crate) alone: &'a Measurement,
    /// The throughput of all CPUs.
    pub(crate) all: &'a Measurement,
    /// The number of cores of the machine.
    pub(crate) cores: u64,
    /// The number of CPUs of the machine.
    pub(crate) cpus: u64,
}

/// One entry per workload (and block size, if any), for machines whose cores have siblings.
pub(crate) fn find_steps<'a>(index: &RecordIndex<'a>) -> Vec<Steps<'a>> {
    let counts = &index.record.machine.counts;
    let (Some(cores), Some(cpus)) = (counts.cores, counts.cpus_online) else { return Vec::new() };
    if cores == 0 || cpus <= cores {
        return Vec::new();
    }
    let mut steps: BTreeMap<(&str, Option<u64>), BTreeMap<u64, &Measurement>> = BTreeMap::new();
    let sizes = BlockSizes::from_record(index.record);
    // Uses only steps whose threads were placed by the system, and steps that fill cores before siblings. In other steps, having as many
    // threads as cores does not mean one thread per core.
    let is_free = |m: &Measurement| matches!(m.labels.word(Label::Placement), None | Some("cores-first"));
    let figures = index.figures_of(metrics::WORKLOAD_THROUGHPUT).filter(|m| m.value() > 0.0 && is_free(m));
    for m in figures.filter(|m| sizes.is_level(m)) {
        let (Some(workload), Some(threads)) =
            (m.labels.word(Label::Workload), m.labels.count(Label::Threads))
        else {
            continue;
        };
        let at = (workload, m.labels.count(Label::Bytes));
        if threads > 0 && (steps.len() < MOST || steps.contains_key(&at)) {
            steps.entry(at).or_default().insert(threads, m);
        }
    }
    let (cores, cpus) = (u64::from(cores), u64::from(cpus));
    let both = |((workload, bytes), steps): ((&'a str, Option<u64>), BTreeMap<u64, &'a Measurement>)| {
        let (threads, alone) = steps.range(1..=cores).next_back()?;
        let steps = Steps { workload, bytes, threads: *threads, alone, all: steps.get(&cpus)?, cores, cpus };
        // A single thread does not show the combined throughput of several cores.
        (*threads > 1 || cores == 1).then_some(steps)
    };
    steps.into_iter().filter_map(both).collect()
}

/// The SMT yield of each workload.
pub(crate) fn siblings(index: &RecordIndex) -> Vec<SiblingsAdd> {
    find_steps(index).into_iter().filter_map(weigh_workload).collect()
}

fn weigh_workload(steps: Steps) -> Option<SiblingsAdd> {
    let Steps { workload, bytes, threads, cores, cpus, all: last, .. } = steps;
    let basis = if threads == cores { Basis::Measured } else { Basis::Extrapolated };
    let (all, alone) = (last.value(), steps.alone.value() * cores as f64 / threads as f64);
    let adds = all / alone - 1.0;
    adds.is_finite().then_some(())?;
    let bytes_of_work = last.detail.get(detail::WORK) == Some("B");
    let work = if bytes_of_work { "B/s" } else { last.unit.as_str() };
    let rate = |value: f64| Value::from(figure(value, work));
    let mut says = match adds {
        adds if adds >= 0.0 => text!("siblings-add", "SMT siblings add {share}.", share = Value::Share(adds)),
        adds => text!("SMT siblings cost {share}.", share = Value::Share(-adds)),
    };
    let (all, alone) = (rate(all), rate(alone));
    says.push(match basis {
        Basis::Measured if cores == 1 => {
            text!("All {cpus} CPUs reach {all}; one thread reaches {alone}.")
        }
        Basis::Measured => text!(
            "siblings-measured",
            "All {cpus} CPUs reach {all}; one thread on each of {cores} cores reaches {alone}."),
        Basis::Extrapolated => text!(
            "siblings-extrapolated",
            "All {cpus} CPUs reach {all}; {cores} cores would reach {alone} if each were as fast as the {threads} measured."),
    });
    let each = cpus as f64 / cores as f64;
    if adds > 0.0 {
        let worth = Value::Figure(adds / (each - 1.0), "ratio");
        says.push(text!("SMT yield: {worth} of a core."));
    }
    if last.doubt.is_some() {
        says.push(text!("Unreliable, because the result for all CPUs is unreliable."));
    }
    Some(SiblingsAdd { workload: workload.to_owned(), bytes, adds, basis, says })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::machine;
    use record::{Labels, Record};

    fn siblings(record: &Record) -> Vec<SiblingsAdd> {
        super::siblings(&RecordIndex::new(record))
    }

    /// The published openssl results (aes-256-ige, 8 KiB blocks, kB/s) of machines with this many cores and CPUs.
    fn openssl(cores: u32, cpus: u32, figures: &[(u32, f64)]) -> Record {
        let mut record = machine(1);
        record.machine.counts.cores = Some(cores);
        record.machine.counts.cpus_online = Some(cpus);
        for (threads, rate) in figures {
            let place = Labels::new()
                .with_label(Label::Workload, "openssl")
                .with_label(Label::Bytes, 8192u64)
                .with_label(Label::Threads, *threads);
            record.measurements.push(Measurement::new("workload.throughput", place, vec![rate * 1e3]));
        }
        record
    }

    #[test]
    fn a_step_of_a_thread_a_core_shows_what_siblings_add() {
        let found = siblings(&openssl(32, 64, &[(1, 79555.24), (32, 2550723.93), (64, 2884302.17)]));
        assert_eq!(found[0].basis, Basis::Measured);
        assert!((found[0].adds - 0.1308).abs() < 1e-4, "{found:?}");
        assert!(found[0].says.code() == Some("siblings-add"), "{found:?}");
        assert_eq!(found[0].says.value("cpus"), Some(&Value::Count(64)));
    }

    #[test]
    fn without_such_a_step_the_condition_is_said() {
        let found = siblings(&openssl(52, 104, &[(1, 89101.65), (32, 2680422.40), (104, 5247858.60)]));
        assert_eq!(found[0].basis, Basis::Extrapolated);
        assert!((found[0].adds - 0.2048).abs() < 1e-3, "{found:?}");
        let condition = &found[0].says.sentences()[1];
        assert_eq!(condition.code(), Some("siblings-extrapolated"));
        let counts = ["cores", "threads"].map(|name| condition.value(name));
        assert_eq!(counts, [Some(&Value::Count(52)), Some(&Value::Count(32))]);
    }

    #[test]
    fn without_siblings_or_steps_nothing_is_said() {
        assert_eq!(siblings(&openssl(96, 96, &[(1, 143196.16), (96, 13751432.53)])), []);
        assert_eq!(siblings(&openssl(32, 64, &[(64, 2884302.17)])), []);
        assert_eq!(siblings(&openssl(32, 64, &[(32, 2550723.93)])), []);
        // One thread does not show the throughput of 52 cores: most of the supposed gain from siblings would be that of cores.
        assert_eq!(siblings(&openssl(52, 104, &[(1, 89101.65), (104, 5247858.60)])), []);
        assert_eq!(siblings(&machine(4)), []);
    }
}
