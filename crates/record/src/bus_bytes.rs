//! Memory traffic: the bytes that a program counts, plus the lines that caches read before regular stores, if their number is
//! known.

use crate::{Label, Measurement, Record, detail, metrics};

/// The lowest and highest possible bus traffic, B/s. `stream` contains the bytes that the program counts; `bus` also includes a read of
/// every stored line. The limits follow from the measured share of stored lines that the caches do not read first. If this share was
/// not measured or is in doubt, the limits are the rates of `stream` and `bus`.
pub fn bus_bytes(record: &Record, stream: &Measurement, bus: &Measurement) -> (f64, f64) {
    let (least, most) = write_allocate_avoided(record, stream).unwrap_or((0.0, 1.0));
    let carried = |avoided: f64| bus.value() - avoided * (bus.value() - stream.value());
    (carried(most), carried(least))
}

/// The interval of the share of stored lines that the caches do not read first, measured with the same number of threads and clamped to
/// 0 to 1. `None` if the result is in doubt.
pub fn write_allocate_avoided(record: &Record, bandwidth: &Measurement) -> Option<(f64, f64)> {
    let threads = bandwidth.labels.count(Label::Threads)?;
    let known = record
        .measurements_of(metrics::MEMORY_WRITE_ALLOCATE_AVOIDED)
        .find(|m| m.doubt.is_none() && m.labels.count(Label::Threads) == Some(threads))?;
    let summary = &known.summary;
    let (mut low, mut high) = summary.interval.unwrap_or((summary.min, summary.max));
    if let (Some(least), Some(most)) =
        (known.detail.get(detail::BY_COPY_LOW), known.detail.get(detail::BY_COPY_HIGH))
    {
        (low, high) = (low.min(least), high.max(most));
    }
    (low <= 1.0 && high >= 0.0).then(|| (low.max(0.0), high.min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use proptest::prelude::*;

    fn bandwidth(counted: &str, threads: u32, rate: f64) -> Measurement {
        let place =
            Labels::new().with_label(Label::BytesCounted, counted).with_label(Label::Threads, threads);
        Measurement::new("memory.bandwidth", place, vec![rate; 6])
    }

    fn unknown() -> Record {
        Record::new("0.1.0", String::new(), Vec::new())
    }

    fn knowing(avoided: f64) -> Record {
        let mut record = unknown();
        let place = Labels::new().with_label(Label::Threads, 4u32);
        record.measurements.push(Measurement::new("memory.write_allocate_avoided", place, vec![avoided; 6]));
        record
    }

    fn between(record: &Record, threads: u32) -> (f64, f64) {
        bus_bytes(record, &bandwidth("stream", threads, 30e9), &bandwidth("bus", threads, 40e9))
    }

    #[test]
    fn bus_bytes_are_one_figure_only_where_it_was_measured_what_stores_read() {
        let near = |range: (f64, f64), rate: f64| {
            (range.0 / rate - 1.0).abs() < 0.01 && (range.1 / rate - 1.0).abs() < 0.01
        };
        let whole = between(&unknown(), 4);
        assert!(near((whole.0, whole.0), 30e9) && near((whole.1, whole.1), 40e9), "{whole:?}");
        assert!(near(between(&knowing(0.5), 4), 35e9));
        assert!(near(between(&knowing(0.0), 4), 40e9) && near(between(&knowing(1.0), 4), 30e9));
        assert_eq!(between(&knowing(0.5), 1), whole, "measured with 4 threads instead of 1");
        let mut doubtful = knowing(0.5);
        doubtful.measurements[0].doubt = Some("two ways disagree".into());
        assert_eq!(between(&doubtful, 4), whole);
    }

    proptest! {
        #[test]
        fn the_bus_carries_no_less_than_the_program_counts_and_no_more_than_with_every_line_read(avoided in -2.0f64..3.0) {
            let (low, high) = between(&knowing(avoided), 4);
            prop_assert!(low <= high);
            prop_assert!(low >= 30e9 * 0.99 && high <= 40e9 * 1.01, "{low} to {high}");
        }
    }
}
