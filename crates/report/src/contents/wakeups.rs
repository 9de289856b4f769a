//! Wake-up latency: its distribution or, if read from cyclictest's lines, its minimum, average and maximum.

use record::{Label, Measurement, Metric, Record, detail, metrics};

use super::figures::{figure, labelled, place, value};
use super::side_by_side::{cell, finish_with_places, finish_with_worst, side_by_side};
use crate::table::{Field, Table};

const WAKEUPS: [Field<Measurement>; 11] = [
    ("setting", |m| labelled(m, Label::Setting)),
    ("policy", policy),
    ("CPU", |m| labelled(m, Label::Cpu)),
    ("#min", |m| if m.summary.n == 0 { String::new() } else { figure(m, m.summary.min) }),
    ("#median", value),
    ("?#mean", |m| m.summary.mean.map_or(String::new(), |v| figure(m, v))),
    ("#p99", |m| m.summary.p99.map_or(String::new(), |v| figure(m, v))),
    ("?#p99.9", |m| m.summary.p999.map_or(String::new(), |v| figure(m, v))),
    ("#max", |m| if m.summary.n == 0 { String::new() } else { figure(m, m.summary.max) }),
    ("#missed", |m| m.detail.get(detail::MISSED).map_or(String::new(), |missed| missed.to_string())),
    ("?#wake-ups", |m| m.summary.n.to_string()),
];

/// The policy with its priority, if it has one.
fn policy(m: &Measurement) -> String {
    match m.labels.count(Label::Priority) {
        Some(priority) if priority > 0 => format!("{} {priority}", labelled(m, Label::Policy)),
        _ => labelled(m, Label::Policy),
    }
}

/// Wake-up latency for each setting and policy: as measured or, if `corrected` is set, including the wake-ups missed because of a late one.
pub(crate) fn table(record: &Record, most: usize, corrected: bool) -> Table {
    let title =
        if corrected { "Wake-up latency, corrected for coordinated omission" } else { "Wake-up latency" };
    let table = Table::with_fields(title, Some(metrics::WAKEUP_LATENCY.name()), &WAKEUPS);
    let all = record.measurements_of(metrics::WAKEUP_LATENCY);
    let all = all.filter(|m| (m.labels.switch(Label::Corrected) == Some(true)) == corrected).collect();
    let kind = |m: &Measurement| format!("{} {}", labelled(m, Label::Setting), policy(m));
    finish_with_worst(table, &WAKEUPS, all, most, kind, |m| m.summary.max)
}

const EXTREMES: [Metric; 3] = [metrics::WAKEUP_MINIMUM, metrics::WAKEUP_AVERAGE, metrics::WAKEUP_MAXIMUM];

/// Wake-up latencies of which only the minimum, average and maximum are known: one row per place, at most `most` rows.
pub(crate) fn extremes(record: &Record, most: usize) -> Table {
    let heads = ["setting", "policy", "CPU", "#min", "#avg", "#max"];
    let table = Table::new("Wake-up latency (cyclictest)", Some(metrics::WAKEUP_LATENCY.name()), heads);
    let all = record.measurements.iter().filter(|m| m.summary.n > 0);
    let rows = side_by_side::<_, 3>(all, |m| {
        let column = EXTREMES.iter().position(|name| *name == m.metric)?;
        Some(((place(m), [labelled(m, Label::Setting), policy(m), labelled(m, Label::Cpu)]), column))
    });
    let rows = rows.into_iter().map(|((_, place), figures)| (place, figures)).collect();
    finish_with_places(table, rows, most, cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn of_a_thousand_cpus_the_worst_are_shown_and_the_rest_is_counted() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for cpu in 0..1000u32 {
            let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Setting, "as-is");
            record.measurements.push(Measurement::new("wakeup.latency", place, vec![f64::from(cpu); 3]));
        }
        let table = table(&record, 8, false);
        assert_eq!(table.rows.len(), 8);
        assert_eq!(table.rows[7][1], "999");
        assert!(table.remarks[0].contains("8 of 1000"));
    }

    #[test]
    fn least_average_and_longest_stand_in_one_row() {
        let mut record = Record::new("0", String::new(), Vec::new());
        for (metric, ns) in EXTREMES.into_iter().zip([5e3, 8e3, 9e4]) {
            let place = Labels::new()
                .with_label(Label::Policy, "fifo")
                .with_label(Label::Priority, 80u32)
                .with_label(Label::Cpu, 3u32);
            record.measurements.push(Measurement::new(metric, place, vec![ns]));
        }
        let table = extremes(&record, 16);
        assert_eq!(table.rows, [["fifo 80", "3", "5.00 µs", "8.00 µs", "90.0 µs"].map(str::to_owned)]);
        assert!(record.measurements.iter().all(|m| table.shown.has(m)));
    }
}
