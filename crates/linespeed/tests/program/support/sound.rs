//! What every record must have, whatever befell the run.

use std::collections::BTreeSet;

use record::{Record, State};

use super::schema;

/// Reads a record, and fails when it is not as its schema says, when a figure of it could not be understood later, or
/// when something that was not measured is not accounted for.
#[track_caller]
pub fn record(text: &[u8]) -> Record {
    let record = Record::from_json(text).unwrap_or_else(|error| {
        panic!("the record {error}; it begins {:?}", String::from_utf8_lossy(&text[..text.len().min(200)]))
    });
    let value = serde_json::from_slice(text).unwrap();
    assert_eq!(schema::faults(&Record::json_schema(), &value), [""; 0]);
    for measurement in &record.measurements {
        let metric = measurement.metric.definition();
        let metric = metric.unwrap_or_else(|| panic!("{} is no metric", measurement.metric));
        let name = format!(
            "{} {}",
            measurement.metric,
            measurement.labels.0.keys().map(|key| key.as_str()).collect::<String>()
        );
        assert_eq!(measurement.unit, metric.unit, "{name}");
        for key in measurement.labels.0.keys() {
            assert!(metric.keys.iter().any(|label| label.name() == key), "{name} has the key {key}");
        }
        let (least, most) = metric.plausible;
        let median = measurement.summary.median;
        assert!((least..=most).contains(&median), "{name}: {median} {} is not plausible", metric.unit);
    }
    for coverage in &record.coverage {
        let why = coverage.why();
        assert!(coverage.state == State::Measured || !why.is_empty(), "{} without a reason", coverage.what);
    }
    // What runs a person's command, or a routine in each layer, measures nothing else, and need not say so.
    let alone = ["scale", "stat", "overhead"];
    let of_a_command = record.command.iter().any(|word| alone.contains(&word.as_str()));
    if !record.measurements.is_empty() && !of_a_command {
        accounted(&record);
    }
    record
}

/// Every measurement that exists is in the coverage of a run.
#[track_caller]
fn accounted(record: &Record) {
    let reported: BTreeSet<&str> =
        record.coverage.iter().filter_map(|c| c.what.split_whitespace().next()).collect();
    for measurement in measure::MEASUREMENTS {
        assert!(reported.contains(measurement.name), "the coverage is silent about {}", measurement.name);
    }
}
