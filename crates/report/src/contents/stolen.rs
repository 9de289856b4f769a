//! Time stolen from busy loops: the shares and the gaps.

use record::long_gap::{Taker, TakerKind, Witness};
use record::{Label, Measurement, Record, metrics, units};

use super::figures::{figure, labelled, value};
use super::listed;
use super::side_by_side::{cell, finish_with_places, finish_with_worst, one_kind, side_by_side, worst};
use crate::table::{Field, Table};

/// Maximum number of causes with a separate column each.
const MOST_TAKERS: usize = 6;

/// The cause of the stolen time, in words, as a column heading.
fn taker(m: &Measurement) -> String {
    match m.labels.word(Label::Cause) {
        Some("os") => "other tasks + IRQs".to_owned(),
        Some("below") => "hypervisor or firmware".to_owned(),
        Some(other) => format!("by {other}"),
        None => "taken".to_owned(),
    }
}

/// One row per CPU, one column per cause; the rows are the CPUs that lost the most time to the first cause.
pub(crate) fn shares(record: &Record, most: usize) -> Table {
    let all: Vec<&Measurement> = record.measurements_of(metrics::STOLEN_SHARE).collect();
    let mut takers: Vec<String> = Vec::new();
    for taker in all.iter().map(|m| taker(m)) {
        takers.extend((!takers.contains(&taker)).then_some(taker));
    }
    takers.truncate(MOST_TAKERS);
    let heads = std::iter::once("CPU".to_owned()).chain(takers.iter().map(|taker| format!("#{taker}")));
    let mut table = Table::new("Stolen time", Some(metrics::STOLEN_SHARE.name()), heads);
    let column = |m: &Measurement| takers.iter().position(|name| *name == taker(m));
    let mut rows = side_by_side::<_, MOST_TAKERS>(all, |m| Some(([labelled(m, Label::Cpu)], column(m)?)));
    rows.retain(|(_, figures)| figures[0].is_some());
    // The results of CPUs without a row also count as shown, regardless of their cause.
    rows.iter().flat_map(|(_, figures)| figures).flatten().for_each(|m| table.tells(m));
    let firsts = rows.iter().filter_map(|(_, figures)| figures[0]).collect();
    let worst = worst(&mut table, firsts, most, one_kind, Measurement::value);
    rows.retain(|(_, figures)| figures[0].is_some_and(|m| worst.iter().any(|kept| std::ptr::eq(*kept, m))));
    finish_with_places(table, rows, most, cell)
}

const GAPS: [Field<Measurement>; 6] = [
    ("time", taker),
    ("CPU", |m| labelled(m, Label::Cpu)),
    ("#gaps", |m| m.summary.n.to_string()),
    ("#median gap", value),
    ("#p99 gap", |m| m.summary.p99.map_or(String::new(), |v| figure(m, v))),
    ("#max gap", |m| figure(m, m.summary.max)),
];

/// The gaps in busy loops.
pub(crate) fn gaps(record: &Record, most: usize) -> Table {
    let table = Table::with_fields("Gaps in busy loops", Some(metrics::STOLEN_GAP.name()), &GAPS);
    let all = record.measurements_of(metrics::STOLEN_GAP).filter(|m| m.summary.n > 0).collect();
    finish_with_worst(table, &GAPS, all, most, taker, |m| m.summary.max)
}

/// The longest gaps and the latest wake-ups, with their causes.
pub(crate) fn longest(record: &Record) -> Table {
    let heads = ["what", "CPU", "#time", "#uptime", "taken by", "source"];
    let mut table = Table::new("Longest gaps and wake-ups", None, heads);
    for gap in &record.long_gaps {
        let what = gap.woken.as_ref().map_or("busy loop".to_owned(), |policy| format!("wake-up, {policy}"));
        let takers = listed(gap.takers.iter().map(|taker| Some(taker_words(taker))));
        table.row(vec![
            what,
            gap.cpu.to_string(),
            units::figure(gap.ns, "ns"),
            format!("{:.3} s", gap.at_seconds),
            if takers.is_empty() { "unknown".to_owned() } else { takers },
            match gap.witness {
                Witness::Trace => "trace",
                Witness::Counts => "counts",
            }
            .to_owned(),
        ]);
    }
    table.finished()
}

/// A cause with its time and its number of occurrences: `1.13 ms irq 45 eth0-TxRx-3 (12 times)`.
fn taker_words(taker: &Taker) -> String {
    let name = taker.name.as_deref().unwrap_or_default();
    let who = match taker.kind {
        TakerKind::Irq if name.starts_with(|c: char| c.is_ascii_digit()) => format!("irq {name}"),
        TakerKind::Irq => name.to_owned(),
        TakerKind::Softirq => format!("softirq {name}"),
        TakerKind::Task => match (taker.pid, taker.priority) {
            (Some(pid), Some(priority)) => format!("{name} ({pid}, real-time {priority})"),
            (Some(pid), None) => format!("{name} ({pid})"),
            _ => "another task".to_owned(),
        },
        TakerKind::RunQueue => "waiting for a CPU".to_owned(),
        TakerKind::Idle => "leaving an idle state".to_owned(),
        TakerKind::Below => "hypervisor or firmware".to_owned(),
        TakerKind::Smi => "firmware (SMI)".to_owned(),
        TakerKind::LateTimer => "late timer (idle state, interrupts off or hypervisor)".to_owned(),
    };
    let took = taker.ns.map(|ns| format!("{} ", units::figure(ns, "ns"))).unwrap_or_default();
    let times = taker.times.filter(|n| *n > 1).map_or(String::new(), |n| format!(" ({n} times)"));
    format!("{took}{who}{times}")
}
