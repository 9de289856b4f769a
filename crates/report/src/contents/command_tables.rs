//! Results of a command run by `linespeed stat`: the breakdown of its time, its threads, counts, and the state of the machine.

use std::collections::BTreeSet;

use record::command_run::{Ceilings, ProbeKind};
use record::phrase::join_list;
use record::{Label, Measurement, Record, detail, metrics, units};

use super::command::{cpu_seconds, figures, find_state, find_time, listed_states, seconds};
use super::figures::{MARK, remarks};
use super::{Block, Part, Section, listed};
use crate::table::Table;
use crate::text::range;

/// Maximum number of threads shown individually; the record contains all.
const MOST_THREADS: usize = 8;

/// All tables; empty without a command.
pub(crate) fn blocks(record: &Record) -> Vec<Block> {
    let Some(time) = find_time(record).filter(|_| record.import.is_none()) else { return Vec::new() };
    let tables = [probes(time), times(record, time), threads(record), counts(record)];
    let around = around(record, time);
    let facts = Block::new(&around.title.clone(), None, vec![Part::Facts(around)]);
    tables.into_iter().map(Table::finished).map(Block::from).chain([facts]).collect()
}

/// The effects of the changes that `stat --probe` makes to the command's environment.
pub(crate) fn probes(time: &Measurement) -> Table {
    let heads = ["", "#took", "#interval"];
    let mut table = Table::new("Probes", None, heads);
    for probe in time.detail.get(detail::PROBES).unwrap_or_default() {
        let name = match probe.kind {
            ProbeKind::HugePages => "CPU time, with huge pages",
            ProbeKind::Bandwidth => "CPU time, with competing memory traffic",
            ProbeKind::Cache => "CPU time, with competing last-level cache use",
            ProbeKind::FewerCpus => "run time, on fewer CPUs",
            ProbeKind::FewerCpusTime => "CPU time, on fewer CPUs",
        };
        let interval = probe.interval.map(|(low, high)| range(&ratio(low), &ratio(high)));
        table.row(vec![
            name.to_owned(),
            ratio(probe.ratio),
            interval.unwrap_or_else(|| "too few rounds".to_owned()),
        ]);
    }
    table
}

/// Twice as long: `2.00×`.
fn ratio(value: f64) -> String {
    format!("{value:.2}×")
}

pub(crate) fn times(record: &Record, time: &Measurement) -> Table {
    let heads = ["", "#time", "#of runtime", "?#95 % CI"];
    let mut table = Table::new("Time", Some(metrics::WORKLOAD_CPU_TIME.name()), heads);
    table.tells(time);
    for (name, words, _) in listed_states(|state| find_state(record, state).map(Measurement::value)) {
        let Some(m) = find_state(record, name) else { continue };
        table.tells(m);
        match &m.doubt {
            Some(doubt) => table.explain_mark(doubt),
            None => table.note_row(remarks(m)),
        }
        if m.value() > time.value() {
            table.note("summed over threads, so the sum can exceed the run time");
        }
        table.row(vec![
            words.to_owned(),
            format!("{}{}", seconds(m.value()), if m.doubt.is_some() { MARK } else { "" }),
            if time.value() > 0.0 { units::percent(m.value() / time.value()) } else { String::new() },
            m.summary.interval.map_or(String::new(), |(low, high)| range(&seconds(low), &seconds(high))),
        ]);
    }
    table
}

fn threads(record: &Record) -> Table {
    let heads = ["thread", "#on-CPU", "#runnable", "#blocked"];
    let mut table = Table::new("Threads", Some(metrics::WORKLOAD_CPU_TIME.name()), heads);
    let in_state = |state: &'static str| {
        let all = figures(record, metrics::WORKLOAD_CPU_TIME);
        all.filter(move |m| m.labels.word(Label::State) == Some(state))
    };
    let mut all: Vec<(&str, f64)> =
        in_state("on-cpu").filter_map(|m| Some((m.labels.word(Label::Thread)?, m.value()))).collect();
    if all.len() < 2 {
        return table;
    }
    let of_threads = figures(record, metrics::WORKLOAD_CPU_TIME);
    of_threads.filter(|m| m.labels.get(Label::Thread).is_some()).for_each(|m| table.tells(m));
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, on) in all.iter().take(MOST_THREADS) {
        let spent = |state| {
            let found = in_state(state).find(|m| m.labels.word(Label::Thread) == Some(name));
            found.map_or(String::new(), |m| seconds(m.value()))
        };
        table.row(vec![(*name).to_owned(), seconds(*on), spent("runnable"), spent("blocked")]);
    }
    if all.len() > MOST_THREADS {
        table.note(&format!("the {MOST_THREADS} busiest of {} threads; the record contains all", all.len()));
    }
    table
}

/// A count as an integer or ending in .5, because the median of an even number of runs may be between two counts.
fn count(value: f64) -> String {
    let whole = units::thousands(value.trunc());
    if value.fract() == 0.5 { format!("{whole}.5") } else { units::thousands(value) }
}

/// CPUs in use on average; ticks and the end of a run limit the resolution to a hundredth of a CPU.
fn used_cpus(used: f64) -> String {
    if (0.0..LEAST_USED).contains(&used) {
        return format!("< {LEAST_USED}");
    }
    let digits = if used < 10.0 * LEAST_USED { 2 } else { 3 };
    units::figure_to(used, "ratio", digits)
}

const LEAST_USED: f64 = 0.01;

/// Events that are shown elsewhere, or only as part of a sum.
const HIDDEN: [&str; 3] = ["task-clock", "minor-faults", "voluntary-switches"];

/// The events that the report shows; faults and switches are shown as sums.
pub(crate) fn counts(record: &Record) -> Table {
    let heads = ["", "#count", "#per second of CPU time", "?#counted for"];
    let mut table = Table::new("Counts", Some(metrics::COUNTER_COUNT.name()), heads);
    let cpu = cpu_seconds(record);
    for m in figures(record, metrics::COUNTER_COUNT) {
        table.tells(m);
        let event = m.labels.word(Label::Event).unwrap_or_default();
        if HIDDEN.contains(&event) || m.summary.n == 0 || (event == "major-faults" && m.value() == 0.0) {
            continue;
        }
        let rate = match m.value() / cpu {
            _ if cpu <= 0.0 => String::new(),
            rate if rate >= 1000.0 => units::thousands(rate),
            rate => units::significant(rate),
        };
        let coverage = m.detail.get(detail::COVERAGE).filter(|share| *share < 0.9999);
        let coverage = coverage.map_or(String::new(), |part| format!("{} of the time", units::percent(part)));
        let mut name = event.to_owned();
        if m.detail.get(detail::MODE) == Some("user") {
            name.push_str(":u");
            table.note("\":u\" is user mode only; this user may not count other modes");
        }
        table.row(vec![name, count(m.value()), rate, coverage]);
    }
    table
}

/// Other results: CPUs, clock, memory, the machine's activity during the run, the ceilings.
pub(crate) fn around(record: &Record, time: &Measurement) -> Section {
    let mut section = Section::new("CPUs, clock and memory");
    let around = time.detail.get(detail::AROUND).unwrap_or_default();
    let ceilings = time.detail.get(detail::CEILINGS).unwrap_or_default();
    let known = |value: Option<f64>| value.filter(|value| *value > 0.0);
    if let Some(cpus) = time.detail.get(detail::CPU_COUNT).filter(|_| time.value() > 0.0) {
        let bound = time.detail.get(detail::BOUND_TO);
        let bound = bound.map(|cpus| format!(", pinned to {cpus}")).unwrap_or_default();
        let used = used_cpus(cpu_seconds(record) / time.value());
        section.add("CPUs used", format!("{used} of {cpus}{bound}"));
    }
    section.add_some("cores", super::places::cores_had(record));
    section.add_some("IPC", figures(record, metrics::CORE_IPC).next().map(|m| units::significant(m.value())));
    section.add_some(
        "core clock",
        time.detail.get(detail::CLOCK_HZ).map(|hz| {
            let source = time.detail.get(detail::CLOCK_SOURCE).unwrap_or_default();
            // If the measured clock exceeds a ceiling, the ceiling is wrong and is not shown.
            let most = known(ceilings.clock_hz).filter(|most| *most >= hz);
            let most = most.map(|hz| format!(" of {}", units::figure(hz, "Hz"))).unwrap_or_default();
            format!("{}{most} ({source})", units::figure(hz, "Hz"))
        }),
    );
    let exact = time.detail.get(detail::MAX_RSS_BYTES).map(units::bytes);
    let below = || time.detail.get(detail::MAX_RSS_BELOW_BYTES);
    let resident = exact.or_else(|| Some(format!("at most {}", units::bytes(below()?))));
    section.add_some("peak memory (RSS)", resident.map(|bytes| format!("{bytes} in the largest process")));
    let stolen = known(around.stolen_seconds).map(seconds);
    section.add_some("steal time", stolen.map(|stolen| format!("{stolen} of the whole machine's CPU time")));
    let throttled = known(around.throttled_seconds).map(seconds);
    section.add_some("throttled", throttled.map(|held| format!("{held}, by the cgroup's quota")));
    let best = ceilings.best_ipc();
    let ipc = best.map(|(name, ipc)| format!("IPC {} ({name})", units::significant(ipc)));
    let reads = |rate: Option<f64>, whose: &str| {
        known(rate).map(|rate| format!("read bandwidth {} ({whose})", units::figure(rate, "B/s")))
    };
    let latency = known(ceilings.latency_ns).map(|ns| format!("memory latency {}", units::figure(ns, "ns")));
    let (one, all) = (reads(ceilings.bandwidth_one, "one CPU"), reads(ceilings.bandwidth_all, "all CPUs"));
    let names = if ceilings.records.is_empty() { &ceilings.days } else { &ceilings.records };
    let others = ceilings.ipc.keys().filter(|name| Some(name.as_str()) != best.map(|(name, _)| name));
    let others: Vec<String> = others.map(|name| Ceilings::ipc_name(name)).collect();
    let of_shown = names.iter().filter(|(name, _)| !others.contains(name));
    let names: BTreeSet<String> = of_shown.map(|(_, record)| record.clone()).collect();
    let of = match names.is_empty() {
        true => String::new(),
        false => format!(" (of {})", join_list(&names.into_iter().collect::<Vec<_>>())),
    };
    let parts = [ipc, one, all, latency];
    if parts.iter().any(Option::is_some) {
        section.add("ceilings", listed(parts) + &of);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_hundredth_of_a_cpu_is_printed_as_that() {
        let shown = [0.0, 0.00475, 0.0149, 0.998, 1.5].map(used_cpus);
        assert_eq!(shown, ["< 0.01", "< 0.01", "0.015", "0.998", "1.50"]);
    }

    #[test]
    fn a_median_between_two_counts_is_reported_with_its_half() {
        assert_eq!(
            (count(0.5).as_str(), count(1234.5).as_str(), count(7.0).as_str()),
            ("0.5", "1,234.5", "7")
        );
        assert_eq!(count(1_000_000.4), "1,000,000");
    }
}
