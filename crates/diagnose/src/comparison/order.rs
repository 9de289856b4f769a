//! Ranks many records by their results, and finds outliers and facts that rank the records in the same order.

use record::comparison::{Cell, Order, Rank, Row};
use record::difference::{MUCH, Verdict, WORTH_TELLING};
use record::statistics::MAD_SCALE;
use record::{Better, Label, Template, Text, metrics, text};

use super::Known;
use super::explain::{device_speed, find_best_clock, load_average};
use super::nodes::last_level_cache;
use super::rows::RowKind;
use super::table::TableRow;
use crate::figures::median;

/// Minimum number of records for a ranking.
const LEAST: usize = 3;
/// Minimum number of records for outlier detection.
const FOR_OUTLIERS: usize = 8;
/// Number of scaled median absolute deviations beyond which a result is an outlier (Iglewicz and Hoaglin, 1993).
const FAR: f64 = 3.5;
/// Maximum number of records for which pairs are counted.
const MOST_PAIRS: usize = 64;

/// Ranks the records by each row in which they differ beyond noise or that has outliers. The largest difference comes first, but unreliable
/// results come last, and large differences in overall speed precede others.
pub(super) fn build_orders(rows: &[TableRow], known: &[Known]) -> Vec<Order> {
    if known.len() < LEAST {
        return Vec::new();
    }
    let mut whole: Vec<&TableRow> = rows.iter().filter(|row| row.row.per.is_none()).collect();
    whole.sort_by(|a, b| importance(b).partial_cmp(&importance(a)).unwrap_or(std::cmp::Ordering::Equal));
    whole.into_iter().filter_map(|row| rank_subjects(row, known)).collect()
}

/// Whether two rankings order a pair of records differently, with more than small differences in both.
pub(super) fn disagree(a: &Order, b: &Order) -> bool {
    let far = |one: &Rank, other: &Rank| (one.value / other.value).ln().abs() > WORTH_TELLING;
    let place = |of: &Rank| b.ranks.iter().position(|rank| rank.subject == of.subject);
    a.ranks.iter().take(MOST_PAIRS).enumerate().any(|(at, slow)| {
        a.ranks.iter().take(at).filter(|faster| far(faster, slow)).any(|faster| {
            place(slow).zip(place(faster)).is_some_and(|(a, z)| a < z && far(&b.ranks[a], &b.ranks[z]))
        })
    })
}

fn is_result(TableRow { key, row }: &TableRow) -> bool {
    let is = |label: Label, word: &str| row.labels.word(label) == Some(word);
    match row.metric {
        metrics::WORKLOAD_THROUGHPUT | metrics::WORKLOAD_TIME => key.kind != RowKind::Efficiency,
        metrics::WAKEUP_AVERAGE => !is(Label::Setting, "tuned") && !is(Label::Policy, "fifo"),
        metrics::WAKEUP_LATENCY => {
            !is(Label::Setting, "tuned") && !is(Label::Setting, "awake") && !is(Label::Policy, "fifo")
        }
        metrics::LOAD_LATENCY => key.kind == RowKind::Memory,
        metrics::STREAM_NS_PER_ELEMENT | metrics::NUMA_LATENCY => key.kind == RowKind::IgnoringNodes,
        metrics::MEMORY_BANDWIDTH => key.kind == RowKind::AllCpus && is(Label::Op, "read"),
        _ => false,
    }
}

/// The distance of a ratio from 1, on a logarithmic scale.
pub(super) fn effect(cell: &Cell) -> f64 {
    cell.ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

/// The smallest loss of the slower side according to a difference's interval; 0 if there may be no difference. Without an interval, the noise
/// is unknown, and only a large difference counts.
pub(super) fn certain_loss(cell: &Cell) -> f64 {
    match cell.verdict {
        Some(Verdict::Costs { interval, .. }) => interval.0,
        _ if cell.interval.is_none() && effect(cell) > MUCH => 1.0 - (-effect(cell)).exp(),
        _ => 0.0,
    }
}

/// Whether one of a row's results is unreliable.
pub(super) fn is_doubtful(row: &Row) -> bool {
    row.cells.iter().any(|cell| cell.doubt.is_some())
}

/// Whether a row is reliable, whether it differs much in overall speed, and the largest certain difference from the baseline.
fn importance(of: &TableRow) -> (bool, bool, f64) {
    let loss = of.row.cells.iter().map(certain_loss).fold(0.0, f64::max);
    (!is_doubtful(&of.row), is_result(of) && loss > MUCH, loss)
}

fn rank_subjects(of: &TableRow, known: &[Known]) -> Option<Order> {
    let row = &of.row;
    let better = row.better?;
    let values = row.cells.iter().map(|cell| cell.value.filter(|value| value.is_finite()));
    let ranks = values
        .enumerate()
        .filter_map(|(subject, value)| Some(Rank { subject, value: value?, outlier: false }));
    let mut ranks: Vec<Rank> = ranks.collect();
    if ranks.len() < LEAST {
        return None;
    }
    ranks.sort_by(|a, b| a.value.total_cmp(&b.value));
    if ranks.len() >= FOR_OUTLIERS {
        mark_outliers(&mut ranks, better);
    }
    if better == Better::Higher {
        ranks.reverse();
    }
    if importance(of).2 == 0.0 && !ranks.iter().any(|rank| rank.outlier) {
        return None;
    }
    let says = if is_result(of) { describe_agreement(of, &ranks, known) } else { Text::default() };
    Some(Order { result: row.what.clone(), metric: row.metric, unit: row.unit.clone(), ranks, says })
}

/// Marks as outliers the ranks whose values are much worse than the median.
fn mark_outliers(ranks: &mut [Rank], better: Better) {
    let middle = |values: &dyn Fn(&Rank) -> f64| median(ranks.iter().map(values)).unwrap_or(0.0);
    let median = middle(&|rank| rank.value);
    let mad = middle(&|rank| (rank.value - median).abs()) * MAD_SCALE;
    for rank in ranks.iter_mut().filter(|_| median > 0.0) {
        let worse = if better == Better::Higher { median - rank.value } else { rank.value - median };
        rank.outlier = worse > FAR * mad && worse > MUCH * median;
    }
}

/// The number of CPUs, which does not matter for a single thread.
const CPUS: Template = Template::new("comparison-order-cpus", "number of CPUs");
/// The load average; a lower value means a faster machine.
const LOAD: Template = Template::new("comparison-order-load", "load average");
/// The value of a fact in a record; a higher value means a faster machine.
type Figure = fn(&Known) -> Option<f64>;
/// Facts that may explain higher speed.
const FACTS: [(Template, Figure); 5] = [
    (Template::new("comparison-order-cache", "last-level cache"), |known| {
        Some(last_level_cache(&known.record.machine).1 as f64).filter(|bytes| *bytes > 0.0)
    }),
    (CPUS, |known| known.record.machine.counts.cpus_online.map(f64::from)),
    (Template::new("comparison-order-clock", "clock"), |known| {
        find_best_clock(known).map(|clock| clock.datum.value)
    }),
    (Template::new("comparison-order-devices", "speed of memory devices"), |known| {
        device_speed(known.record).map(f64::from)
    }),
    (LOAD, |known| load_average(known.record).map(|load| -load)),
];

/// Describes facts that rank the records in the same order as the result: for each fact, the number of agreeing and
/// contradicting pairs.
fn describe_agreement(of: &TableRow, ranks: &[Rank], known: &[Known]) -> Text {
    if ranks.len() > MOST_PAIRS {
        return Text::default();
    }
    let alone = of.row.metric == metrics::WORKLOAD_TIME || of.key.kind == RowKind::OneThread;
    let facts = FACTS.iter().filter(|(name, _)| !(alone && *name == CPUS));
    let said = facts.filter_map(|(fact, figure)| {
        // Values in ranking order, from the fastest record.
        let measured = ranks.iter().filter_map(|rank| Some((rank, figure(&known[rank.subject])?)));
        let measured: Vec<(&Rank, f64)> = measured.collect();
        let later = |(at, fast)| measured.iter().skip(at + 1).map(move |slow: &(&Rank, f64)| (fast, slow));
        let differ = |one: f64, other: f64, by: f64| (one - other).abs() > by * one.abs().max(other.abs());
        let pairs = measured.iter().enumerate().flat_map(later);
        let pairs = pairs.filter(|(fast, slow)| differ(fast.0.value, slow.0.value, WORTH_TELLING));
        let pairs: Vec<_> = pairs.collect();
        // Pairs with equal values neither support nor contradict.
        let apart = || pairs.iter().filter(|(fast, slow)| differ(fast.1, slow.1, MUCH));
        let alike = apart().filter(|(fast, slow)| fast.1 > slow.1).count();
        let mut contradicting = apart().filter(|(fast, slow)| fast.1 < slow.1);
        let against = contradicting.clone().count();
        let level = pairs.len() - alike - against;
        let (all, load) = (alike + against, *fact == LOAD);
        if all < 2 {
            return None;
        }
        let (fact, (falls, less)) =
            (Text::from(*fact), if load { ("increases", "more") } else { ("decreases", "less") });
        let equal = format!(" ({level} of {} pairs equal)", all + level);
        let Some(((fast, _), (slow, _))) = contradicting.next() else {
            let level = if level > 0 { equal } else { String::new() };
            return Some(text!("From the fastest record to the slowest, the {fact} {falls}{level}."));
        };
        let [fast, slow] = [fast, slow].map(|rank| &known[rank.subject].name);
        Some(text!(
            "comparison-order-contradicted",
            "Contradicted by {against} of {all} pairs: {fact} ({fast} is faster than {slow} but has {less})."
        ))
    });
    Text::sequence(said.chain(note_hosts_caches(ranks, known)))
}

/// A note on machines whose last-level cache belongs to the host: their share of the cache is unknown.
fn note_hosts_caches(ranks: &[Rank], known: &[Known]) -> Option<Text> {
    let sides = ranks.iter().map(|rank| &known[rank.subject]);
    let is_hosts = |side: &&Known| {
        let machine = &side.record.machine;
        machine.has_hosts_cache(machine.last_level())
    };
    let guests: Vec<Text> = sides.filter(is_hosts).map(|side| Text::from(side.name.as_str())).collect();
    (!guests.is_empty()).then(|| {
        text!(
            "comparison-order-hosts-caches",
            "The last-level cache of {guests} belongs to the host and is shared with other guests."
        )
    })
}
