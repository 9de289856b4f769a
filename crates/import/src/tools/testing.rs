//! What every reader's tests do: import a text, and write its figures so that they can be compared.

use record::Measurement;

use crate::{Imported, Split, Transcript};

/// Imports a text of one machine. A text in which nothing is known gives nothing.
pub fn import(text: &str) -> Imported {
    let mut transcript = Transcript::new(Split::Hosts);
    transcript.read("text", text.as_bytes()).expect("reading from memory does not fail");
    transcript.finish().map(|mut all| all.swap_remove(0)).unwrap_or_default()
}

/// Each figure as `metric key=value …: value`, its keys in the order of the metric's definition.
pub fn figures(told: &Imported) -> Vec<String> {
    told.measurements.iter().map(figure).collect()
}

fn figure(m: &Measurement) -> String {
    let keys = record::metrics::find(&m.metric).map_or(&[][..], |metric| metric.keys);
    for key in m.place.0.keys() {
        assert!(keys.contains(&key.as_str()), "{} has no key {key}", m.metric);
    }
    let place: String = keys.iter().filter_map(|key| Some(format!(" {key}={}", m.place.get(key)?))).collect();
    format!("{}{place}: {}", m.metric, m.value())
}

/// The one measurement that is written so, without its value.
pub fn the<'a>(told: &'a Imported, place: &str) -> &'a Measurement {
    let fits = |m: &&Measurement| figure(m).rsplit_once(": ").is_some_and(|(front, _)| front == place);
    let found: Vec<&Measurement> = told.measurements.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "{place} in {:#?}", figures(told));
    found[0]
}

/// A text with one byte range overwritten, for readers that must never panic.
pub fn damaged(text: &str, at: usize, cut: usize, with: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let from = at % (bytes.len() + 1);
    let to = (from + cut).min(bytes.len());
    bytes.splice(from..to, with.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}
