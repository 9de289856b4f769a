//! Determines whether a processor reads lines from memory before regular stores overwrite them completely (write-allocate). All CPUs
//! alternately read, write with regular and with streaming stores, and copy with streaming stores. The bandwidth of reads or of streaming
//! writes, whichever is higher, represents the capacity of the bus; subtracting the bytes written by regular stores leaves the
//! write-allocate traffic.

use kernels::stream::{self, Op, Stores, Stream};
use record::text::Value;
use record::{Coverage, CpuList, Label, Labels, Measurement, Summary, Text, detail, metrics, text};

use super::walk::{Group, mean_rate, run};
use crate::arrays::{Part, widest_stream};
use crate::context::{Context, Halt};
use crate::reasons::{MORE_CPUS, NEEDS_TWO_CPUS};
use crate::repeat::there_and_back;

/// The name of bus bytes in the coverage.
const BUS_BYTES: &str = "bus bytes";

/// Number of rounds. With nine or more, the 95 % CI of the median excludes the worst round.
const ROUNDS: (usize, usize, usize) = (0, 9, 24);

/// Duration of a run, seconds.
const SECONDS: (f64, f64, f64) = (0.0, 0.02, 0.05);

/// Maximum width of the range that covers the 95 % CIs of both methods; a share with a wider range is doubtful.
const MOST_WIDTH: f64 = 0.25;

/// If the read bandwidth of all CPUs exceeds this share of the linearly scaled single-CPU bandwidth, the cores rather
/// than memory may be the limit.
const UNSATURATED: f64 = 0.9;

/// Runs per round.
const TURNS: usize = 5;

/// B/s in each run of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Round {
    one_reads: f64,
    all_read: f64,
    regular: f64,
    streaming: f64,
    copies: f64,
}

/// Measures the share of write-allocate traffic that is avoided. If bus bytes can only be given as a range, the
/// coverage reports it.
pub(super) fn measure_avoided(context: &mut Context, groups: &[Group], parts: &[Part]) -> Result<(), Halt> {
    let [one, .., all] = groups else {
        context.coverage.push(Coverage::skipped(BUS_BYTES, NEEDS_TWO_CPUS).with_remedy(MORE_CPUS));
        return Ok(());
    };
    let rounds = context.depth.pick(ROUNDS.0, ROUNDS.1, ROUNDS.2);
    if rounds == 0 {
        let why =
            text!("a quick run does not measure write-allocate traffic: bus bytes are given as a range");
        context.coverage.push(Coverage::skipped(BUS_BYTES, why).with_remedy("linespeed run bandwidth"));
        return Ok(());
    }
    let (Some(read), Some(write)) = (widest_stream(Op::Read), widest_stream(Op::Write)) else {
        return Ok(());
    };
    let past_caches = |op| stream::find(op, Stores::Streaming, write.variant);
    let (Some(streaming), Some(copy)) = (past_caches(Op::Write), past_caches(Op::Copy)) else {
        return Ok(());
    };
    let turns: [(&Group, &Stream); TURNS] =
        [(one, read), (all, read), (all, write), (all, streaming), (all, copy)];
    let seconds = context.depth.pick(SECONDS.0, SECONDS.1, SECONDS.2);
    let mut seen = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let mut rates = [None; TURNS];
        for turn in there_and_back(round, TURNS) {
            context.check()?;
            let (group, stream) = turns[turn];
            let (slices, _) = run(group, parts, stream, seconds);
            rates[turn] = mean_rate(&slices).map(|rate| rate * f64::from(stream.stream_bytes()));
        }
        if let [Some(one_reads), Some(all_read), Some(regular), Some(streaming), Some(copies)] = rates {
            seen.push(Round { one_reads, all_read, regular, streaming, copies });
        }
    }
    let cpus: CpuList = all.cpus.iter().copied().collect();
    let place =
        Labels::new().with_label(Label::Threads, all.cpus.len()).with_label(Label::Cpus, cpus.to_string());
    let (m, unknown) = figure(place, &seen, all.cpus.len());
    // A value that is not a valid share is discarded; the coverage contains the reason.
    if m.summary.interval.is_none_or(|(low, high)| low <= 1.0 && high >= 0.0) {
        context.push(m);
    }
    if let Some(why) = unknown {
        context.degrade(BUS_BYTES, why);
    }
    Ok(())
}

/// The avoided share as a result. If the share does not determine the bus traffic, the reason is also returned.
fn figure(place: Labels, rounds: &[Round], threads: usize) -> (Measurement, Option<Text>) {
    let median =
        |of: fn(&Round) -> f64| Summary::from_samples(&rounds.iter().map(of).collect::<Vec<_>>()).median;
    // The kind of run with the higher median bandwidth is closer to the capacity of the bus.
    let reads_more = median(|round| round.all_read) >= median(|round| round.streaming);
    let bus = |round: &Round| if reads_more { round.all_read } else { round.streaming };
    let by_bus: Vec<f64> = rounds.iter().map(|round| avoided(bus(round), round.regular)).collect();
    let copies: Vec<f64> = rounds.iter().map(|round| avoided(round.copies, round.regular)).collect();
    let by_copy = Summary::from_samples(&copies);
    let mut m = Measurement::new(metrics::MEMORY_WRITE_ALLOCATE_AVOIDED, place, by_bus)
        .with_detail(detail::BY_COPY, by_copy.median);
    if let Some((low, high)) = by_copy.interval {
        m = m.with_detail(detail::BY_COPY_LOW, low).with_detail(detail::BY_COPY_HIGH, high);
    }
    let of_alone = median(|round| round.all_read) / (median(|round| round.one_reads) * threads as f64);
    let unsaturated = || {
        text!(
            "bus-bytes-unsaturated",
            "{threads} CPUs read at {share} of {threads} × the single-CPU rate, so memory may be unsaturated",
            share = Value::Share(of_alone)
        )
    };
    let why = ambiguity(&m.summary, &by_copy).or_else(|| (of_alone > UNSATURATED).then(unsaturated));
    let unknown = why.map(|why| {
        m.doubt = Some(why.clone().into());
        text!("write-allocate traffic inconclusive: {why} (memory controller counters not used)")
    });
    (m, unknown)
}

/// The share of lines that were not read first: e = 2 − B ÷ R, where B is the bandwidth of the bus and R that of regular stores.
fn avoided(bus: f64, regular: f64) -> f64 {
    2.0 - bus / regular
}

/// The reason why two methods do not determine the share; `None` if they agree.
fn ambiguity(by_bus: &Summary, by_copy: &Summary) -> Option<Text> {
    let (Some(bus), Some(copy)) = (by_bus.interval, by_copy.interval) else {
        return Some(text!("bus-bytes-few-rounds", "too few complete rounds"));
    };
    let (low, high) = (bus.0.min(copy.0), bus.1.max(copy.1));
    let share = |value: f64| record::units::percent_to(value, 2);
    if high < 0.0 || low > 1.0 {
        return Some(text!(
            "bus-bytes-no-share",
            "the estimate, {low} to {high}, is not a valid share, because mixing reads and writes changes the bus bandwidth",
            low = share(low),
            high = share(high)
        ));
    }
    if high - low <= MOST_WIDTH {
        return None;
    }
    let disagree = bus.1 < copy.0 || copy.1 < bus.0;
    Some(if disagree {
        text!(
            "bus-bytes-witnesses-differ",
            "two methods give {bus} (reads or streaming writes) and {copy} (copies with streaming stores)",
            bus = share(by_bus.median),
            copy = share(by_copy.median)
        )
    } else {
        text!(
            "bus-bytes-noisy",
            "the 95 % CIs cover too wide a range (copies with streaming stores: {low} to {high})",
            low = share(copy.0),
            high = share(copy.1)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Simulated rounds on a bus with the same capacity for any traffic, with stores that avoid this share of reads,
    /// and some noise.
    fn rounds(bus: f64, share: f64, noise: &[f64]) -> Vec<Round> {
        let rate = |rate: f64, by: f64| rate * (1.0 + by);
        let each = |by: &f64| Round {
            one_reads: rate(bus / 2.0, *by),
            all_read: rate(bus, -by),
            regular: rate(bus / (2.0 - share), *by),
            streaming: rate(bus * 0.9, *by),
            copies: rate(bus, -by / 2.0),
        };
        noise.iter().map(each).collect()
    }

    fn code(rounds: &[Round]) -> Option<String> {
        let (m, unknown) = figure(Labels::new(), rounds, 4);
        assert_eq!(m.doubt.is_some(), unknown.is_some(), "an inconclusive share must be marked as doubtful");
        m.doubt.and_then(|doubt| doubt.code().map(str::to_owned))
    }

    proptest! {
        #[test]
        fn the_share_lies_within_its_interval_whatever_the_bus_carries(
            bus in 1e9f64..1e12,
            share in 0.0f64..1.0,
            noise in prop::collection::vec(-0.01f64..0.01, 9..25),
        ) {
            let (m, unknown) = figure(Labels::new(), &rounds(bus, share, &noise), 4);
            let (low, high) = m.summary.interval.unwrap();
            prop_assert!(low <= m.summary.median && m.summary.median <= high);
            // Each rate has up to 1 % noise, so their ratio, which is at most 2, is off by at most 0.04.
            prop_assert!((m.summary.median - share).abs() < 0.05, "{:?}", m.summary);
            prop_assert_eq!(unknown, None);
        }

        #[test]
        fn what_is_no_share_is_shown_and_in_doubt(beyond in 0.1f64..0.9, above in any::<bool>()) {
            let share = if above { 1.0 + beyond } else { -beyond };
            let (m, unknown) = figure(Labels::new(), &rounds(50e9, share, &[0.0; 9]), 4);
            prop_assert!((m.summary.median - share).abs() < 1e-6, "{:?}", m.summary);
            prop_assert!(m.doubt.is_some() && unknown.is_some());
        }
    }

    #[test]
    fn what_the_two_ways_do_not_agree_on_is_not_resolved() {
        let calm = [0.0; 9];
        assert_eq!(code(&rounds(50e9, 0.0, &calm)), None);
        // With separate wires for reads and writes, copies transfer more than reads.
        let mut duplex = rounds(50e9, 0.5, &calm);
        duplex.iter_mut().for_each(|round| round.copies *= 1.4);
        assert_eq!(code(&duplex).as_deref(), Some("bus-bytes-witnesses-differ"));
        let mut few_cores = rounds(50e9, 0.0, &calm);
        few_cores.iter_mut().for_each(|round| round.one_reads = 13e9);
        assert_eq!(code(&few_cores).as_deref(), Some("bus-bytes-unsaturated"));
        let wild: Vec<f64> = (0..9).map(|n| f64::from(n - 4) * 0.1).collect();
        assert_eq!(code(&rounds(50e9, 0.5, &wild)).as_deref(), Some("bus-bytes-noisy"));
        assert_eq!(code(&rounds(50e9, 0.5, &[0.0; 3])).as_deref(), Some("bus-bytes-few-rounds"));
        assert_eq!(code(&rounds(50e9, 1.4, &calm)).as_deref(), Some("bus-bytes-no-share"));
    }
}
