//! Test helpers for all readers: import a text, and format its results for comparison.

use record::Measurement;

use crate::Imported;

/// Imports a text of one machine. A text without known output yields an empty import.
pub(crate) fn import(text: &str) -> Imported {
    crate::real::import(text.as_bytes()).map(|mut all| all.swap_remove(0)).unwrap_or_default()
}

/// Each result as `metric key=value …: value`, with its keys in the order of the metric's definition.
pub(crate) fn figures(imported: &Imported) -> Vec<String> {
    imported.measurements.iter().map(figure).collect()
}

fn figure(m: &Measurement) -> String {
    let keys = m.metric.definition().map_or(&[][..], |metric| metric.keys);
    for key in m.labels.0.keys() {
        assert!(keys.iter().any(|label| label.name() == key), "{} has no key {key}", m.metric);
    }
    let place: String =
        keys.iter().filter_map(|key| Some(format!(" {key}={}", m.labels.get(*key)?))).collect();
    format!("{}{place}: {}", m.metric, m.value())
}

/// The only measurement with these labels.
pub(crate) fn the<'a>(imported: &'a Imported, place: &str) -> &'a Measurement {
    let fits = |m: &&Measurement| figure(m).rsplit_once(": ").is_some_and(|(front, _)| front == place);
    let found: Vec<&Measurement> = imported.measurements.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "{place} in {:#?}", figures(imported));
    found[0]
}

/// A text in which one range of bytes is replaced, to test that readers never panic.
pub(super) fn damaged(text: &str, at: usize, cut: usize, with: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let from = at % (bytes.len() + 1);
    let to = (from + cut).min(bytes.len());
    bytes.splice(from..to, with.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}
