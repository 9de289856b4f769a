//! The repeatability of each headline, from interleaved halves of its samples.

use record::{Measurement, Record, Summary, metrics};

use super::{Headline, resources};
use crate::record_index::RecordIndex;

/// Adds to each headline the difference between two interleaved halves of its samples, if these were saved. Drift within a run affects both
/// halves equally; the remaining difference shows how well a second run within the same minute would reproduce the result.
pub(crate) fn state_repeatability(record: &Record, headlines: &mut [Headline]) {
    let [one, other] = [0, 1].map(|which| resources_of_half(record, which));
    for headline in headlines {
        let of = |half: &[(String, f64)]| {
            half.iter().find(|(name, _)| *name == headline.resource.name).map(|(_, value)| *value)
        };
        headline.resource.repeatability = of(&one).zip(of(&other)).and_then(|(one, other)| {
            let mean = (one + other) / 2.0;
            (mean > 0.0).then(|| (one - other).abs() / mean).filter(|share| share.is_finite())
        });
    }
}

/// The delivered results from one half of the samples. Results that cannot be halved are omitted, so that no headline is compared with
/// itself.
fn resources_of_half(record: &Record, which: usize) -> Vec<(String, f64)> {
    let half = |m: &Measurement| {
        let summary = Summary { interval: None, ..Summary::from_samples(&[m.halves()?[which]]) };
        let (metric, unit, labels, detail) = (m.metric, m.unit.clone(), m.labels.clone(), m.detail.clone());
        Some(Measurement {
            metric,
            unit,
            labels,
            detail,
            summary,
            ..Measurement::exact(metrics::CORE_CLOCK, record::Labels::new(), Vec::new())
        })
    };
    let record = Record {
        machine: record.machine.clone(),
        measurements: record.measurements.iter().filter_map(half).collect(),
        ..Record::new("", String::new(), Vec::new())
    };
    resources(&RecordIndex::new(&record))
        .into_iter()
        .map(|headline| (headline.resource.name, headline.resource.delivered))
        .collect()
}
