//! Many records in the order of their results, who lies far from the others, and which facts fall in the same order.

use record::comparison::{Order, Rank};
use record::statistics::{MAD_SCALE, median_of_sorted};
use record::{Better, Label, Template, Text, text};

use super::Known;
use super::explain::find_best_clock;
use super::rows::{Group, RowKind};
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
    let says = if is_result(of) { agreement(of, &ranks, known, names) } else { Text::default() };
    // Rows of other groups say themselves what they are about.
    let result = if of.group == Group::Wakeup { name_wakeup(&row.what) } else { row.what.clone() };
    Some(Order { result, metric: row.metric.clone(), unit: row.unit.clone(), ranks, says })
}

/// The row of a wake-up latency outside its group, which says itself what it is about.
pub(super) fn name_wakeup(row: &Text) -> Text {
    text!("comparison-result-wakeup", "wake-up, {row}", row)
}

/// A fact of which more might make faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Cache,
    Cpus,
    Clock,
    Devices,
    /// Of this, less is faster.
    Load,
}

impl Fact {
    const ALL: [Fact; 5] = [Fact::Cache, Fact::Cpus, Fact::Clock, Fact::Devices, Fact::Load];

    fn name(self) -> Text {
        match self {
            Fact::Cache => text!("comparison-order-cache", "last-level cache"),
            Fact::Cpus => text!("comparison-order-cpus", "number of CPUs"),
            Fact::Clock => text!("comparison-order-clock", "clock"),
            Fact::Devices => text!("comparison-order-devices", "speed of memory devices"),
            Fact::Load => text!("comparison-order-load", "load average"),
        }
    }

    /// A record's figure, of which more is faster.
    fn figure(self, known: &Known) -> Option<f64> {
        match self {
            Fact::Cache => {
                let machine = &known.record.machine;
                let largest = machine.data_caches(machine.last_level()).filter_map(|cache| cache.bytes).max();
                largest.filter(|bytes| *bytes > 0).map(|bytes| bytes as f64)
            }
            Fact::Cpus => known.record.machine.counts.cpus_online.map(f64::from),
            Fact::Clock => find_best_clock(known).map(|clock| clock.datum.value),
            Fact::Devices => super::explain::device_speed(known.record).map(f64::from),
            Fact::Load => super::explain::load_average(known.record).map(|load| -load),
        }
    }
}

/// The order of the result falls together with the fact.
const SAME_ORDER: Template =
    Template { code: "comparison-order-same", words: "Falls in this order: {fact}." };
/// The same, some pairs being level.
const SAME_ORDER_OR_LEVEL: Template = Template {
    code: "comparison-order-same-or-level",
    words: "Falls in this order: {fact} ({level} of {all} pairs equal).",
};
/// The result falls while the fact rises.
const REVERSE_ORDER: Template =
    Template { code: "comparison-order-reverse", words: "Rises in this order: {fact}." };
/// The same, some pairs being level.
const REVERSE_ORDER_OR_LEVEL: Template = Template {
    code: "comparison-order-reverse-or-level",
    words: "Rises in this order: {fact} ({level} of {all} pairs equal).",
};
/// A faster one has less.
const LESS_IS_FASTER: Template = Template {
    code: "comparison-order-contradicted",
    words: "Contradicted by {against} of {all} pairs: {fact} ({fast} is faster than {slow} with less).",
};
/// A faster one has more of what ought to slow it down.
const MORE_IS_FASTER: Template = Template {
    code: "comparison-order-contradicted-by-more",
    words: "Contradicted by {against} of {all} pairs: {fact} ({fast} is faster than {slow} with more).",
};

/// Which facts fall in the order of the result: for each how many pairs agree, and who contradicts.
fn agreement(of: &TableRow, ranks: &[Rank], known: &[Known], names: &[String]) -> Text {
    if ranks.len() > MOST_PAIRS {
        return Text::default();
    }
    let mut said = Vec::new();
    // One thread has no use for the other CPUs.
    let alone = of.row.metric == "workload.time" || of.kind == RowKind::OneThread;
    for fact in Fact::ALL.into_iter().filter(|fact| !(alone && *fact == Fact::Cpus)) {
        let values: Vec<Option<f64>> = ranks.iter().map(|rank| fact.figure(&known[rank.subject])).collect();
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
        let (name, rises) = (fact.name(), fact == Fact::Load);
        match first {
            _ if all < 2 => {}
            None => {
                let pairs = all + level;
                said.push(match (rises, level) {
                    (false, 0) => text!(SAME_ORDER, fact = name),
                    (true, 0) => text!(REVERSE_ORDER, fact = name),
                    (false, level) => text!(SAME_ORDER_OR_LEVEL, fact = name, level, all = pairs),
                    (true, level) => text!(REVERSE_ORDER_OR_LEVEL, fact = name, level, all = pairs),
                });
            }
            Some((fast, slow)) => {
                let who = |at: usize| names.get(ranks[at].subject).cloned().unwrap_or_default();
                let template = if rises { MORE_IS_FASTER } else { LESS_IS_FASTER };
                let (fast, slow) = (who(fast), who(slow));
                said.push(text!(template, fact = name, against, all, fast, slow));
            }
        }
    }
    Text::sequence(said)
}
