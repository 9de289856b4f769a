//! Wake-up latencies in cyclictest's own formats, so that scripts for cyclictest's output work.
//!
//! One line per thread, in microseconds:
//! `T:%2d (%5d) P:%2d I:%ld C:%7lu Min:%7ld Act:%5ld Avg:%5ld Max:%8ld`. The histogram begins with `# Histogram`. It
//! has one row per microsecond: the latency as `%06d`, then a count as `%06lu` for each thread. Below the rows are totals,
//! minima, averages, maxima and overflows (rt-tests, src/cyclictest/cyclictest.c, `print_stat` and `print_hist`).

use record::{Label, Measurement, Record, detail, metrics};

/// Number of histogram rows, one per microsecond; longer latencies are counted as overflow. Users of cyclictest typically specify 100 to
/// 1000 rows (`-h`).
const ROWS: usize = 1000;

/// The measurements that cyclictest would have made: uncorrected, with idle states disabled, and with the real-time policy if
/// available.
fn threads(record: &Record) -> Vec<&Measurement> {
    let raw: Vec<&Measurement> = record
        .measurements_of(metrics::WAKEUP_LATENCY)
        .filter(|m| m.labels.switch(Label::Corrected) != Some(true) && m.summary.n > 0)
        .collect();
    let preferred =
        [("fifo", "tuned"), ("fifo", "as-is"), ("other", "awake"), ("other", "tuned"), ("other", "as-is")];
    let of = |(policy, setting): &(&str, &str)| -> Vec<&Measurement> {
        let fits = |m: &&&Measurement| {
            m.labels.word(Label::Policy) == Some(*policy) && m.labels.word(Label::Setting) == Some(*setting)
        };
        raw.iter().filter(fits).copied().collect()
    };
    let mut threads = preferred.iter().map(of).find(|found| !found.is_empty()).unwrap_or(raw);
    threads.sort_by_key(|m| m.labels.count(Label::Cpu));
    threads
}

/// Nanoseconds converted to whole microseconds, as counted by cyclictest.
fn us(ns: f64) -> u64 {
    if ns.is_finite() && ns > 0.0 { (ns / 1000.0) as u64 } else { 0 }
}

/// The report in the requested formats; `None` if none was requested, or if the record has no wake-up latency.
pub fn forms(record: &Record, as_lines: bool, as_histogram: bool) -> Option<String> {
    let lines = as_lines.then(|| lines(record)).flatten();
    let histogram = as_histogram.then(|| histogram(record)).flatten();
    (lines.is_some() || histogram.is_some()).then(|| [lines, histogram].into_iter().flatten().collect())
}

/// One line per thread as printed by cyclictest; `None` if no wake-up latency was measured. The average, which no other
/// linespeed report contains, is recorded only for this line.
pub fn lines(record: &Record) -> Option<String> {
    let threads = threads(record);
    (!threads.is_empty()).then_some(())?;
    let line = |(number, m): (usize, &&Measurement)| {
        let priority = m.labels.count(Label::Priority).or(m.detail.get(detail::PRIORITY)).unwrap_or(0);
        format!(
            "T:{:2} ({:5}) P:{:2} I:{} C:{:7} Min:{:7} Act:{:5} Avg:{:5} Max:{:8}\n",
            number,
            m.detail.get(detail::THREAD).unwrap_or(0),
            priority,
            m.detail.get(detail::INTERVAL_US).unwrap_or(1000),
            m.detail.get(detail::CYCLES).unwrap_or(m.summary.n),
            us(m.summary.min),
            m.detail.get(detail::ACT_NS).map_or(us(m.summary.median), us),
            us(m.summary.mean.unwrap_or(m.summary.median)),
            us(m.summary.max),
        )
    };
    Some(threads.iter().enumerate().map(line).collect())
}

/// The histogram as printed by `cyclictest -h`, up to the last row with a count; `None` if no distribution of wake-up
/// latencies was saved. A bucket is counted in the row of its lower bound.
pub fn histogram(record: &Record) -> Option<String> {
    let threads: Vec<&Measurement> =
        threads(record).into_iter().filter(|m| !m.distribution.is_empty()).collect();
    (!threads.is_empty()).then_some(())?;
    let mut rows = vec![vec![0u64; threads.len()]; ROWS];
    let mut overflows = vec![0u64; threads.len()];
    for (column, m) in threads.iter().enumerate() {
        for bucket in &m.distribution {
            let row = usize::try_from(us(bucket.from)).unwrap_or(usize::MAX);
            let cell = if row < ROWS { &mut rows[row][column] } else { &mut overflows[column] };
            *cell = cell.saturating_add(bucket.count);
        }
    }
    let used = rows.iter().rposition(|row| row.iter().any(|count| *count > 0)).map_or(0, |last| last + 1);
    let joined = |values: Vec<u64>, digits: usize, gap: &str| {
        values.iter().map(|v| format!("{v:0digits$}")).collect::<Vec<_>>().join(gap)
    };
    let mut text = String::from("# Histogram\n");
    for (row, counts) in rows.iter().take(used).enumerate() {
        text.push_str(&format!("{row:06} {}\n", joined(counts.clone(), 6, "\t")));
    }
    let of = |value: &dyn Fn(&Measurement) -> u64| threads.iter().map(|m| value(m)).collect::<Vec<u64>>();
    let totals = (0..threads.len()).map(|c| rows.iter().map(|row| row[c]).fold(0, u64::saturating_add));
    text.push_str(&format!("# Total: {}\n", joined(totals.collect(), 9, " ")));
    text.push_str(&format!("# Min Latencies: {}\n", joined(of(&|m| us(m.summary.min)), 5, " ")));
    let average = |m: &Measurement| us(m.summary.mean.unwrap_or(m.summary.median));
    text.push_str(&format!("# Avg Latencies: {}\n", joined(of(&average), 5, " ")));
    text.push_str(&format!("# Max Latencies: {}\n", joined(of(&|m| us(m.summary.max)), 5, " ")));
    text.push_str(&format!("# Histogram Overflows: {}\n", joined(overflows, 5, " ")));
    Some(text)
}
