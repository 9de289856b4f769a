//! Converts readings to a record's measurements.

use record::{Label, Labels, Measurement, detail, metrics};

use super::reading::{Count, Reading};
use super::top_down::{CATEGORIES, TopDown};

/// Converts a reading to `counter.count` for each event and, with top-down events, `counter.share` for each category.
/// `place` contains the labels, to which the event or category is added. The share of time for which an event was
/// counted is in `detail.coverage`.
pub fn measurements(reading: &Reading, place: Labels) -> Vec<Measurement> {
    let count = |count: &Count| counts(count.event, &[count], &place).with_detail(detail::RAW, count.raw);
    let mut all: Vec<Measurement> = reading.counts.iter().map(count).collect();
    all.extend(shares(reading.top_down().as_slice(), &place));
    all
}

/// The counts of an event in several readings.
pub(crate) fn counts(event: &'static str, counts: &[&Count], place: &Labels) -> Measurement {
    let place = place.clone().with_label(Label::Event, event);
    let values = counts.iter().map(|count| count.value).collect();
    let coverage = counts.iter().map(|count| count.coverage()).fold(1.0, f64::min);
    let m = Measurement::new(metrics::COUNTER_COUNT, place, values).with_detail(detail::COVERAGE, coverage);
    if counts.iter().any(|count| count.user_only) { m.with_detail(detail::MODE, "user") } else { m }
}

/// Each category's shares in several readings; empty if there are none.
pub(crate) fn shares(all: &[TopDown], place: &Labels) -> Vec<Measurement> {
    let Some(first) = all.first() else { return Vec::new() };
    let category = |(index, category): (usize, &str)| {
        let shares = all.iter().map(|top_down| top_down.shares[index]).collect();
        Measurement::new(metrics::COUNTER_SHARE, place.clone().with_label(Label::Category, category), shares)
            .with_detail(detail::SOURCE, first.source)
            .with_detail(detail::COVERAGE, first.coverage)
    };
    CATEGORIES.into_iter().enumerate().map(category).collect()
}
