//! cyclictest's output as results of a record.

use std::collections::BTreeMap;

use record::{Bucket, Summary};

use super::options::Options;
use crate::reading::*;

/// One thread's line.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub number: u32,
    pub tid: u64,
    pub priority: Option<u64>,
    /// Microseconds.
    pub interval: Option<u64>,
    pub cycles: u64,
    pub min: u64,
    pub act: Option<u64>,
    pub average: f64,
    pub max: u64,
    /// The CPU, if the output itself contains it.
    pub cpu: Option<u32>,
    pub line: PendingLine,
}

/// Latencies in the printed unit, and the count of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Distribution {
    counts: BTreeMap<u64, u64>,
    /// The number of wake-ups beyond the histogram's range.
    pub overflow: u64,
}

impl Distribution {
    /// Adds `count` occurrences of a latency.
    pub(super) fn add(&mut self, latency: u64, count: u64) {
        if count > 0 {
            let slot = self.counts.entry(latency).or_default();
            *slot = slot.saturating_add(count);
        }
    }

    /// The number of wake-ups within the histogram's range.
    pub(super) fn inside(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The percentile of the latency by the nearest-rank method; `None` if it is beyond the histogram's range.
    fn at(&self, share: f64) -> Option<u64> {
        let all = self.inside().saturating_add(self.overflow);
        let rank = ((share * all as f64).ceil() as u64).max(1);
        let mut passed = 0u64;
        self.counts.iter().find_map(|(latency, count)| {
            passed = passed.saturating_add(*count);
            (passed >= rank).then_some(*latency)
        })
    }

    /// Median absolute deviation × 1.4826, in the printed unit.
    fn mad(&self, median: u64) -> Option<f64> {
        let mut deviations = Distribution { overflow: self.overflow, ..Self::default() };
        self.counts.iter().for_each(|(latency, count)| deviations.add(latency.abs_diff(median), *count));
        Some(deviations.at(0.5)? as f64 * record::statistics::MAD_SCALE)
    }
}

/// The lines below the histogram's rows, each with one number per column.
pub(super) const ENDS: [&str; 5] =
    ["Total", "Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows"];

/// The histogram's table.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    pub columns: Vec<Distribution>,
    /// The values below the rows, in the order of [`ENDS`].
    pub ends: [Vec<u64>; 5],
    pub line: Option<PendingLine>,
}

impl Histogram {
    /// Why the table is incomplete; `None` if it is complete or there is no table. The first line below the table's rows contains the
    /// number of wake-ups in the rows; the last one contains the overflows.
    fn cut_off(&self) -> Option<String> {
        let [totals, minima, averages, maxima, overflows] = &self.ends;
        let other = self.columns.iter().zip(totals).find(|(column, total)| column.inside() != **total);
        if self.columns.is_empty() {
            None
        } else if totals.len() != self.columns.len() {
            Some("the end of the histogram (# Total) is missing; rows may also be missing".to_owned())
        } else if let Some((column, total)) = other {
            let inside = column.inside();
            Some(format!("the rows of the histogram add up to {inside} wake-ups, but # Total is {total}"))
        } else {
            // If there is a column for the sum of all threads, the line of maxima has one more value.
            let uneven = averages.len() != minima.len() || maxima.len() < minima.len();
            (uneven || overflows.is_empty()).then(|| "the last lines of the histogram are missing".to_owned())
        }
    }
}

/// All data of one output.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub options: Options,
    pub dma_latency: Option<u64>,
    pub policy: Option<String>,
    pub load: Option<String>,
    pub threads: BTreeMap<u32, Thread>,
    /// Whether a thread's line was unreadable.
    pub lost: bool,
    pub distributions: BTreeMap<u32, Distribution>,
    pub histogram: Histogram,
    /// The number of the last printed cycle of each thread (`-v`).
    pub last_cycles: BTreeMap<u32, u64>,
    pub wake_up_line: Option<PendingLine>,
}

impl Seen {
    /// Passes all data to the sink as measurements.
    pub(super) fn into_sink(mut self, sink: &mut Sink) {
        self.unfold_histogram(sink);
        // cyclictest prints microseconds by default. If that unit would mean that a thread missed all its wake-ups, the
        // unit is probably nanoseconds.
        let longer = |thread: &&Thread| {
            thread.cycles > 0 && thread.interval.is_some_and(|interval| interval > 0 && thread.min > interval)
        };
        if let Some(thread) = self.threads.values().find(longer).filter(|_| !self.options.known) {
            let why = format!(
                "every wake-up of thread {} exceeded its interval of {} µs: the unit is probably ns (-N), but no \
                 command line confirms this",
                thread.number,
                thread.interval.unwrap_or(0)
            );
            return sink.withhold(metrics::WAKEUP_AVERAGE, why, thread.line.line());
        }
        // Unpinned threads have no CPU label that distinguishes them, so they are reported together, by priority.
        let mut unbound: BTreeMap<Option<u64>, Vec<&Thread>> = BTreeMap::new();
        for thread in self.threads.values() {
            match thread.cpu.or(self.options.cpu(thread.number)) {
                Some(cpu) => self.lines(Some(cpu), &[thread], sink),
                None => unbound.entry(thread.priority).or_default().push(thread),
            }
        }
        unbound.values().for_each(|of| self.lines(None, of, sink));
        for (number, distribution) in &self.distributions {
            self.distribution(*number, distribution, sink);
        }
    }

    /// Converts the table to threads, each with its number of wake-ups, its extremes, and its distribution if the rows
    /// are complete.
    fn unfold_histogram(&mut self, sink: &mut Sink) {
        let Some(line) = self.histogram.line.clone() else { return };
        let cut = self.histogram.cut_off();
        let columns = std::mem::take(&mut self.histogram.columns);
        let [totals, minima, averages, maxima, overflows] = &self.histogram.ends;
        let overflow = |at: usize| overflows.get(at).copied().unwrap_or(0);
        if totals.len() >= minima.len() && !overflows.is_empty() {
            let printed = totals.iter().zip(minima).zip(averages.iter().zip(maxima)).enumerate();
            for (at, ((total, min), (average, max))) in printed {
                let cycles = total.saturating_add(overflow(at));
                let (number, min, average, max) = (at as u32, *min, *average as f64, *max);
                let thread =
                    Thread { number, cycles, min, average, max, line: line.clone(), ..Thread::default() };
                self.threads.entry(number).or_insert(thread);
            }
        }
        if let Some(why) = cut {
            return sink.withhold(metrics::WAKEUP_LATENCY, why, line.line());
        }
        let summed = usize::from(self.options.summed);
        let threads = if minima.is_empty() { columns.len().saturating_sub(summed) } else { minima.len() };
        for (at, mut column) in columns.into_iter().take(threads).enumerate() {
            column.overflow = column.overflow.saturating_add(overflow(at));
            self.distributions.insert(at as u32, column);
        }
    }

    /// Nanoseconds per printed unit.
    fn unit(&self) -> f64 {
        if self.options.nanoseconds { 1.0 } else { 1000.0 }
    }

    fn place(&self, cpu: Option<u32>, priority: Option<u64>) -> Labels {
        let real_time = |policy: &&str| matches!(*policy, "fifo" | "rr");
        let printed = self.policy.as_deref();
        let policy = match priority {
            // A thread with priority 0 runs as an ordinary thread, regardless of the requested policy.
            Some(0) => printed.filter(|policy| !real_time(policy)).or(Some("other")),
            _ => printed.or(self.options.policy()).or(priority.map(|_| "fifo")),
        };
        let setting = policy.filter(|_| self.dma_latency == Some(0));
        let setting = setting.map(|policy| if real_time(&policy) { "tuned" } else { "awake" });
        Labels::new()
            .with_known(Label::Cpu, cpu)
            .with_known(Label::Policy, policy)
            .with_known(Label::Setting, setting)
            .with_known(Label::Priority, priority.or(self.options.priority))
    }

    fn push(&self, m: Measurement, line: &PendingLine, sink: &mut Sink) {
        let m = m
            .with_known_detail(detail::DMA_LATENCY_US, self.dma_latency)
            .with_known_detail(detail::LOADAVG, self.load.as_deref());
        sink.add_figure(m, line.line());
    }

    /// The minimum, average and maximum of threads that have the same labels.
    fn lines(&self, cpu: Option<u32>, of: &[&Thread], sink: &mut Sink) {
        let Some(first) = of.first() else { return };
        let ran: Vec<&&Thread> = of.iter().filter(|thread| thread.cycles > 0).collect();
        // All these threads form one result, which would be wrong if one of them were missing.
        let gap = self.threads.keys().zip(0..).any(|(number, expected)| *number != expected);
        let why = match ran.first() {
            None => "no cycle completed, so there is no minimum, average or maximum",
            Some(_) if cpu.is_none() && (gap || self.lost) => "a thread's line is missing",
            Some(_) => "",
        };
        if !why.is_empty() {
            return sink.withhold(metrics::WAKEUP_AVERAGE, why.to_owned(), first.line.line());
        }
        let unit = self.unit();
        let cycles: f64 = ran.iter().map(|thread| thread.cycles as f64).sum();
        let average = match ran[..] {
            [one] => one.average,
            _ => ran.iter().map(|thread| thread.average * thread.cycles as f64).sum::<f64>() / cycles,
        };
        let several = Some(ran.len()).filter(|threads| *threads > 1);
        let act = first.act.filter(|_| several.is_none()).map(|act| act as f64 * unit);
        for (metric, value) in [
            (metrics::WAKEUP_MINIMUM, ran.iter().map(|thread| thread.min).min().unwrap_or(0) as f64),
            (metrics::WAKEUP_AVERAGE, average),
            (metrics::WAKEUP_MAXIMUM, ran.iter().map(|thread| thread.max).max().unwrap_or(0) as f64),
        ] {
            let m = Measurement::exact(metric, self.place(cpu, first.priority), vec![value * unit])
                .with_detail(detail::CYCLES, cycles)
                .with_known_detail(detail::INTERVAL_US, first.interval)
                .with_known_detail(detail::THREADS, several)
                .with_known_detail(detail::ACT_NS, act);
            self.push(m, &first.line, sink);
        }
    }

    /// The distribution of one thread, from which the median is computed.
    fn distribution(&self, number: u32, of: &Distribution, sink: &mut Sink) {
        let thread = self.threads.get(&number);
        let lines =
            [thread.map(|thread| &thread.line), self.wake_up_line.as_ref(), self.histogram.line.as_ref()];
        let Some(line) = lines.into_iter().flatten().next() else { return };
        let n = of.inside().saturating_add(of.overflow);
        let Some(median) = of.at(0.5) else {
            if n > 0 {
                let why =
                    format!("{} of {n} wake-ups are beyond the histogram, as is the median", of.overflow);
                sink.withhold(metrics::WAKEUP_LATENCY, why, line.line());
            }
            return;
        };
        let unit = self.unit();
        let ns = |value: u64| value as f64 * unit;
        let at = |share: f64, least: u64| (n >= least).then(|| of.at(share).map(ns)).flatten();
        let (low, high) = (of.counts.keys().next().copied(), of.counts.keys().next_back().copied());
        let summary = Summary {
            n,
            min: ns(thread.map(|thread| thread.min).or(low).unwrap_or(median)),
            median: ns(median),
            mad: of.mad(median).unwrap_or(0.0) * unit,
            max: ns(thread.map(|thread| thread.max).or(high).unwrap_or(median)),
            interval: None,
            p95: at(0.95, 20),
            p99: at(0.99, 100),
            p999: at(0.999, 1000),
            mean: thread.map(|thread| thread.average * unit),
            variation: None,
        };
        let cpu = thread.and_then(|thread| thread.cpu).or(self.options.cpu(number));
        let place =
            self.place(cpu, thread.and_then(|thread| thread.priority)).with_label(Label::Corrected, false);
        let apart = cpu.is_none() && self.distributions.len() > 1;
        // Printed values are truncated to whole units.
        let bucket = |(latency, count): (&u64, &u64)| Bucket {
            from: ns(*latency),
            to: ns(latency.saturating_add(1)),
            count: *count,
        };
        let mut m = Measurement { summary, ..Measurement::exact(metrics::WAKEUP_LATENCY, place, Vec::new()) }
            .with_detail(detail::RESOLUTION_NS, unit)
            .with_known_detail(detail::OVERFLOW, Some(of.overflow).filter(|overflow| *overflow > 0))
            .with_known_detail(detail::THREAD, apart.then_some(number))
            .with_known_detail(detail::INTERVAL_US, thread.and_then(|thread| thread.interval));
        m.distribution = of.counts.iter().map(bucket).collect();
        self.push(m, line, sink);
    }
}
