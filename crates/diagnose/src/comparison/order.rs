//! Many records in the order of their results, who lies far from the others, and which facts fall in the same order.

use record::Better;
use record::Label;
use record::comparison::{Order, Rank};
use record::statistics::{MAD_SCALE, median_of_sorted};

use super::Known;
use super::explain::best_clock;
use super::rows::RowKind;
use super::table::TableRow;

/// Records from which there is an order to speak of.
const LEAST: usize = 3;
/// Records from which one can lie far from the others.
const FOR_OUTLIERS: usize = 8;
/// Scaled median absolute deviations beyond which a figure is far from the others (Iglewicz and Hoaglin, 1993).
const FAR: f64 = 3.5;
/// And at least so much worse than the median.
const WORTH: f64 = 0.05;
/// Records up to which pairs are counted.
const MOST_PAIRS: usize = 64;

/// The orders of the rows that are results, and of those in which somebody lies far from the others.
pub(super) fn orders(rows: &[TableRow], known: &[Known], names: &[String]) -> Vec<Order> {
    if known.len() < LEAST {
        return Vec::new();
    }
    rows.iter().filter(|row| row.row.per.is_none()).filter_map(|row| order(row, known, names)).collect()
}

fn is_result(TableRow { kind, row, .. }: &TableRow) -> bool {
    let is = |label: Label, word: &str| row.labels.word(label) == Some(word);
    match row.metric.as_str() {
        "workload.throughput" | "workload.time" => *kind != RowKind::Efficiency,
        "wakeup.average" | "wakeup.latency" => !is(Label::Setting, "tuned") && !is(Label::Policy, "fifo"),
        "load.latency" => *kind == RowKind::Memory,
        "stream.ns_per_element" | "numa.latency" => *kind == RowKind::IgnoringNodes,
        "memory.bandwidth" => *kind == RowKind::AllCpus && is(Label::Op, "read"),
        _ => false,
    }
}

fn order(of: &TableRow, known: &[Known], names: &[String]) -> Option<Order> {
    let row = &of.row;
    let better = row.better?;
    let mut ranks: Vec<Rank> = row
        .cells
        .iter()
        .enumerate()
        .filter_map(|(subject, cell)| {
            Some(Rank { subject, value: cell.value.filter(|value| value.is_finite())?, outlier: false })
        })
        .collect();
    if ranks.len() < LEAST {
        return None;
    }
    ranks.sort_by(|a, b| a.value.total_cmp(&b.value));
    let values: Vec<f64> = ranks.iter().map(|rank| rank.value).collect();
    let median = median_of_sorted(&values);
    let mut far: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    far.sort_by(f64::total_cmp);
    let mad = median_of_sorted(&far) * MAD_SCALE;
    if ranks.len() >= FOR_OUTLIERS && median > 0.0 {
        for rank in &mut ranks {
            let worse = if better == Better::Higher { median - rank.value } else { rank.value - median };
            rank.outlier = worse > FAR * mad && worse > WORTH * median;
        }
    }
    if better == Better::Higher {
        ranks.reverse();
    }
    if !is_result(of) && !ranks.iter().any(|rank| rank.outlier) {
        return None;
    }
    let says = if is_result(of) { agreement(of, &ranks, known, names) } else { String::new() };
    // Rows of other groups say themselves what they are about.
    let result =
        if row.group == "wake-up" { format!("{}, {}", row.group, row.what) } else { row.what.clone() };
    Some(Order {
        result: result.into(),
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        ranks,
        says: says.into(),
    })
}

/// What the load average is called.
const LOAD: &str = "load average";

/// A fact of which more might make faster: its words and the figure of a record.
type Fact = (&'static str, fn(&Known) -> Option<f64>);

/// Which facts fall in the order of the result: for each how many pairs agree, and who contradicts.
fn agreement(of: &TableRow, ranks: &[Rank], known: &[Known], names: &[String]) -> String {
    if ranks.len() > MOST_PAIRS {
        return String::new();
    }
    let facts: [Fact; 5] = [
        ("last-level cache", |known| {
            let machine = &known.record.machine;
            let largest = machine.data_caches(machine.last_level()).filter_map(|cache| cache.bytes).max();
            largest.filter(|bytes| *bytes > 0).map(|bytes| bytes as f64)
        }),
        ("CPUs", |known| known.record.machine.counts.cpus_online.map(f64::from)),
        ("clock", |known| best_clock(known).map(|clock| clock.datum.value)),
        ("memory devices' speed", |known| super::explain::device_speed(known.record).map(f64::from)),
        // Of this, less is faster.
        (LOAD, |known| super::explain::load(known.record).map(|load| -load)),
    ];
    let mut said = Vec::new();
    // One thread has no use for the other CPUs.
    let alone = of.row.metric == "workload.time" || of.kind == RowKind::OneThread;
    for (name, fact) in facts.into_iter().filter(|(name, _)| !(alone && *name == "CPUs")) {
        let values: Vec<Option<f64>> = ranks.iter().map(|rank| fact(&known[rank.subject])).collect();
        let (mut alike, mut against, mut level, mut first) = (0usize, 0usize, 0usize, None);
        for (number, fast) in values.iter().enumerate() {
            for (later, slow) in values.iter().enumerate().skip(number + 1) {
                let (Some(fast), Some(slow)) = (fast, slow) else { continue };
                if fast > slow {
                    alike += 1;
                } else if fast < slow {
                    against += 1;
                    first = first.or(Some((number, later)));
                } else {
                    level += 1;
                }
            }
        }
        let all = alike + against;
        match first {
            _ if all < 2 => {}
            None => {
                let way = if name == LOAD { "rises" } else { "falls" };
                let level = match level {
                    0 => String::new(),
                    level => format!(", where it is not alike ({level} of {} pairs)", all + level),
                };
                said.push(format!("{name}: {way} in this order{level}"));
            }
            Some((fast, slow)) => {
                let who = |at: usize| names.get(ranks[at].subject).map_or("", String::as_str);
                said.push(format!(
                    "{name}: {against} of {all} pairs contradict, {} being faster than {} with {}",
                    who(fast),
                    who(slow),
                    if name == LOAD { "more" } else { "less" }
                ));
            }
        }
    }
    if said.is_empty() { String::new() } else { format!("Of what might explain it: {}.", said.join("; ")) }
}
