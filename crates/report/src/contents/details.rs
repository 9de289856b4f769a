//! The results as tables, one per well-known metric.

use record::phrase::count_noun;
use record::{Label, Measurement, Record, metrics, units};

use super::figures::{MARK, figure, key, keys, labelled, spread, value};
use super::rest::generic;
use super::side_by_side::{cell, finish_with_places, finish_with_worst, one_kind, side_by_side};
use super::{bandwidth, conditions, stolen, wakeups};
use crate::table::{Field, Table};
use crate::text::width;

/// The tables of core, memory, wake-up, stolen time and small costs, in the order of a report. `most` is the maximum number of rows of a
/// table of CPUs; if there are more, only the worst are shown.
pub(crate) fn tables(record: &Record, most: usize) -> [Table; 12] {
    [
        clocks(record, most),
        levels(record),
        parallelism(record, most),
        bandwidth::table(record, most),
        loaded(record),
        wakeups::table(record, most, false),
        wakeups::table(record, most, true),
        wakeups::extremes(record, most),
        stolen::shares(record, most),
        stolen::gaps(record, most),
        stolen::longest(record),
        costs(record, most),
    ]
}

const CLOCKS: [Field<Measurement>; 7] = [
    ("CPU", |m| labelled(m, Label::Cpu)),
    ("busy", |m| match m.labels.word(Label::Active) {
        Some("one") => "one CPU".to_owned(),
        Some("all") => "all CPUs".to_owned(),
        _ => labelled(m, Label::Active),
    }),
    ("vectors", |m| match m.labels.word(Label::Vector) {
        Some(bits @ ("256" | "512")) => format!("{bits} bits"),
        _ => labelled(m, Label::Vector),
    }),
    ("#clock", value),
    ("#95 % CI", spread),
    ("?#min", |m| figure(m, m.summary.min)),
    ("?#max", |m| figure(m, m.summary.max)),
];

/// Core clocks.
fn clocks(record: &Record, most: usize) -> Table {
    let table = Table::with_fields("Core clock", Some(metrics::CORE_CLOCK.name()), &CLOCKS);
    let all = record.measurements_of(metrics::CORE_CLOCK).collect();
    finish_with_worst(table, &CLOCKS, all, most, one_kind, |m| -m.value())
}

const LEVELS: [Field<record::diagnosis::Level>; 6] = [
    ("level", |level| level.name.clone()),
    ("#latency", |level| units::figure(level.latency_ns, "ns")),
    // The heading contains the unit, so that there is room for the verdict in each row.
    ("#cycles", |level| {
        let cycles = level.latency_cycles.map(|cycles| units::figure(cycles, "cycles"));
        cycles.map_or(String::new(), |cycles| cycles.trim_end_matches(" cycles").to_owned())
    }),
    ("#holds", |level| level.measured_bytes.map_or(String::new(), units::bytes)),
    ("#advertised", |level| level.advertised_bytes.map_or(String::new(), units::bytes)),
    ("judgement", |level| Some(level.judgement.to_string()).filter(|it| is_short(it)).unwrap_or_default()),
];

/// Maximum length of a remark that is shown in its row; longer remarks are shown below the table.
const SHORT: usize = 24;

fn is_short(judgement: &str) -> bool {
    width(judgement) <= SHORT
}

/// The levels of the memory hierarchy: detected in the latency curve, and as reported by the kernel.
fn levels(record: &Record) -> Table {
    let mut table = Table::with_fields("Cache levels", Some(metrics::LOAD_LATENCY.name()), &LEVELS);
    let disturbed = conditions::is_disturbed(record);
    for level in &record.diagnosis.levels {
        table.note_row(Some(level.judgement.to_string()).filter(|says| !is_short(says)));
        table.item(&LEVELS, level);
        let seen = level.measured_bytes.zip(level.advertised_bytes);
        if !disturbed || seen.is_none_or(|(seen, advertised)| seen == advertised) {
            continue;
        }
        let holds = LEVELS.iter().position(|(head, _)| *head == "#holds");
        let cell = table.rows.last_mut().zip(holds).and_then(|(row, at)| row.get_mut(at));
        cell.into_iter().for_each(|cell| cell.push_str(MARK));
        table.note("other processes used part of the caches");
    }
    table.finished()
}

/// Maximum number of chain counts that have their own columns.
const MOST_CHAINS: usize = 10;

/// Loads in flight: one row per CPU and working set, one column per number of chains.
fn parallelism(record: &Record, most: usize) -> Table {
    let all: Vec<&Measurement> = record.measurements_of(metrics::LOAD_PARALLELISM).collect();
    let mut chains: Vec<Option<u64>> = all.iter().map(|m| m.labels.count(Label::Chains)).collect();
    chains.sort_unstable();
    chains.dedup();
    let title = "Memory-level parallelism";
    if chains.len() > MOST_CHAINS || chains.contains(&None) {
        return generic(title, &all, most);
    }
    // Powers of two suffice to show the curve; the counts in between are shown if there is room.
    let head = |n: &u64| match n.is_power_of_two() {
        true => format!("#{}", count_noun(usize::try_from(*n).unwrap_or(usize::MAX), "chain")),
        false => format!("?#{n} chains"),
    };
    let heads = chains.iter().flatten().map(head);
    let heads = ["CPU".to_owned(), "#working set".to_owned()].into_iter().chain(heads);
    let table = Table::new(title, Some(metrics::LOAD_PARALLELISM.name()), heads);
    let rows = side_by_side::<_, MOST_CHAINS>(all, |m| {
        let column = chains.iter().position(|n| *n == m.labels.count(Label::Chains))?;
        Some(([Label::Cpu, Label::Bytes].map(|label| labelled(m, label)), column))
    });
    finish_with_places(table, rows, most, cell)
}

/// Latency under load, by the bandwidth of the loaders.
fn loaded(record: &Record) -> Table {
    let mut all: Vec<&Measurement> = record.measurements_of(metrics::MEMORY_LOADED_LATENCY).collect();
    let bandwidth = |m: &Measurement| m.labels.number(Label::Bandwidth).unwrap_or(0.0);
    all.sort_by(|a, b| bandwidth(a).total_cmp(&bandwidth(b)));
    all.sort_by_key(|m| m.labels.count(Label::Cpu));
    generic("Loaded latency", &all, usize::MAX)
}

const COSTS: [Field<Measurement>; 5] = [
    ("what", |m| m.metric.name().trim_start_matches("cost.").replace('_', " ")),
    ("where", |m| {
        let words = keys(&[m]).into_iter().map(|name| match (Label::from_name(&name), key(m, &name)) {
            (Some(Label::Cpu), cpu) => format!("CPU {cpu}"),
            (Some(Label::ToCpu), cpu) => format!("to CPU {cpu}"),
            (Some(Label::Page), page) => format!("pages of {page}"),
            (_, value) => value,
        });
        words.collect::<Vec<_>>().join(", ")
    }),
    ("#time", value),
    ("#95 % CI", spread),
    ("?#min", |m| figure(m, m.summary.min)),
];

/// Minimum number of rows available for small costs.
const COST_ROWS: usize = 24;

/// Small costs, one row each.
fn costs(record: &Record, most: usize) -> Table {
    let table = Table::with_fields("Small costs", Some("costs"), &COSTS);
    let all = record.measurements.iter().filter(|m| m.metric.family() == "cost").collect();
    finish_with_worst(table, &COSTS, all, most.max(COST_ROWS), one_kind, Measurement::value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn the_size_of_a_cache_that_others_used_is_unreliable() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let level = |name: &str, seen: u64| {
            serde_json::json!({ "name": name, "latency_ns": 1.0, "measured_bytes": seen, "advertised_bytes": 1 << 20,
                "judgement": "" })
        };
        let all = serde_json::json!([level("L1", 1 << 20), level("L2", 790 << 10)]);
        record.diagnosis.levels = serde_json::from_value(all).unwrap();
        let marked = |record: &Record| {
            levels(record).rows.iter().map(|row| row.join(" ").contains(MARK)).collect::<Vec<bool>>()
        };
        assert_eq!(marked(&record), [false, false]);
        record.diagnosis.used_by_others = Some(0.8);
        assert_eq!(marked(&record), [false, true]);
        assert!(levels(&record).remarks.iter().any(|remark| remark.starts_with("other processes")));
    }

    #[test]
    fn a_doubtful_figure_carries_its_doubt() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let mut m = Measurement::new("core.clock", Labels::new().with_label(Label::Cpu, 0u32), vec![3e9; 6]);
        m.doubt = Some("too noisy: ±4 %".into());
        record.measurements.push(m);
        let table = clocks(&record, 16);
        assert!(table.rows[0].iter().any(|cell| cell.ends_with(super::super::figures::MARK)), "{table:?}");
        assert_eq!((table.notes.len(), table.remarks), (0, vec![super::super::figures::MARKED.to_owned()]));
    }
}
