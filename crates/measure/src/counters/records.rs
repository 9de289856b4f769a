//! Readings as a record's measurements.

use record::Label;
use record::detail;
use record::{Labels, Measurement};

use super::reading::Reading;
use super::top_down::TopDown;

/// A reading as `counter.count` of each event and, where the top-down events are in it, `counter.share` of each
/// category. `place` is where and of what it was counted; the event or category is added to it. The share of time for
/// which an event was really counted stands in `detail.coverage`.
pub fn measurements(reading: &Reading, place: Labels) -> Vec<Measurement> {
    let mut out = Vec::new();
    for count in &reading.counts {
        let place = place.clone().with_label(Label::Event, count.event);
        let mut measurement = Measurement::new("counter.count", place, vec![count.value])
            .with_detail(detail::COVERAGE, count.coverage())
            .with_detail(detail::RAW, count.raw);
        if count.user_only {
            measurement = measurement.with_detail(detail::MODE, "user");
        }
        out.push(measurement);
    }
    if let Some(top_down) = reading.top_down() {
        out.extend(shares(&top_down, &place));
    }
    out
}

fn shares(top_down: &TopDown, place: &Labels) -> Vec<Measurement> {
    let categories = [
        ("retiring", top_down.retiring),
        ("bad-speculation", top_down.bad_speculation),
        ("frontend-bound", top_down.frontend_bound),
        ("backend-bound", top_down.backend_bound),
    ];
    let measurement = |(category, share)| {
        Measurement::new("counter.share", place.clone().with_label(Label::Category, category), vec![share])
            .with_detail(detail::SOURCE, top_down.source)
            .with_detail(detail::COVERAGE, top_down.coverage)
    };
    categories.into_iter().map(measurement).collect()
}
