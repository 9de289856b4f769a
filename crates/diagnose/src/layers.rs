//! The time that each layer of a machine adds to a routine: kernel, user program or guest, pinned or not, with or without interrupts.

use record::diagnosis::Layer;
use record::text::Value;
use record::units::significant;
use record::{DetailKey, Label, Measurement, Template, Text, detail, metrics, text};

use crate::figures::locate_figure;
use crate::record_index::RecordIndex;

/// The layer that repeats a user program; any difference from the first run is noise.
pub(crate) const AGAIN: &str = "user again";

const FASTEST: Template = Template::new("layer-fastest", "the fastest layer (line speed)");

/// The events counted during passes: the name in a result's details, and the displayed name.
const COUNTED: [(DetailKey<f64>, Template); 4] = [
    (detail::INTERRUPTS_PER_S, Template::new("layer-interrupts", "{rate} interrupts/s")),
    (detail::SOFTIRQS_PER_S, Template::new("layer-softirqs", "{rate} softirqs/s")),
    (detail::INVOLUNTARY_SWITCHES_PER_S, Template::new("layer-switches", "{rate} involuntary switches/s")),
    (detail::MIGRATIONS_PER_S, Template::new("layer-migrations", "{rate} migrations/s")),
];

/// The displayed name of a layer: `user, pinned to CPU 1`.
pub(crate) fn label(m: &Measurement) -> String {
    let layer = m.labels.word(Label::Layer).unwrap_or("?");
    let bound = match m.labels.word(Label::Bound) {
        None => String::new(),
        Some("none") => ", unpinned".to_owned(),
        Some(bound) => format!(", pinned to {}", bound.replacen("cpu", "CPU", 1)),
    };
    let off = if m.labels.word(Label::Interrupts) == Some("off") { ", interrupts off" } else { "" };
    format!("{layer}{bound}{off}")
}

/// The events counted during the passes of a layer.
fn beside(m: &Measurement) -> Vec<Text> {
    let count = |(key, says)| Some(text!(says, rate = significant(m.detail.get(key)?)));
    let stolen = m.detail.get(detail::STOLEN_SHARE).map(Value::Share);
    let stolen = stolen.map(|share| text!("{share} stolen"));
    COUNTED.into_iter().filter_map(count).chain(stolen).collect()
}

/// One entry per timed layer, fastest first; the other layers are compared with the fastest one. The repetition is never regarded as the
/// fastest layer, because it only serves to show the noise. Empty if layers were timed in different units, because they are not comparable
/// in that case.
pub(crate) fn layers(index: &RecordIndex) -> Vec<Layer> {
    let mut timed: Vec<_> = index
        .figures_of(metrics::LAYER_TIME)
        .map(|m| (m.value(), m))
        .filter(|(time, _)| *time > 0.0)
        .collect();
    timed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_again = |m: &Measurement| m.labels.word(Label::Layer) == Some(AGAIN);
    let Some((least, fastest)) = timed.iter().find(|(_, m)| !is_again(m)).or(timed.first()).copied() else {
        return Vec::new();
    };
    if timed.iter().any(|(_, m)| m.unit != fastest.unit || m.method != fastest.method) {
        return Vec::new();
    }
    timed
        .iter()
        .filter_map(|(time, m)| {
            let over = time / least - 1.0;
            over.is_finite().then(|| Layer {
                layer: m.labels.word(Label::Layer).unwrap_or("?").to_owned(),
                bound: m.labels.get(Label::Bound).map(ToString::to_string),
                interrupts: m.labels.word(Label::Interrupts).map(str::to_owned),
                time: *time,
                seconds: m.detail.get(detail::SECONDS),
                interval: m.interval(),
                // JSON has no infinity, so the infinite variation of an imported time such as 1e288 could not be read back.
                variation: m.summary.variation.filter(|variation| variation.is_finite()),
                over,
                over_interval: None,
                beside: beside(m),
                doubt: m.doubt.clone(),
                says: says(over),
                from: locate_figure(m),
            })
        })
        .collect()
}

/// The overhead of a layer relative to the fastest layer. Only the repetition can take less time than the fastest layer; the difference is
/// then noise.
fn says(over: f64) -> Text {
    match over {
        0.0 => FASTEST.into(),
        ..0.0 => text!(
            "layer-shorter",
            "{less} faster than the fastest layer (noise: this layer is only a repetition)",
            less = Value::Share(-over)
        ),
        _ => text!("{over} slower than the fastest", over = Value::Share(over)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::machine;
    use record::{Labels, Measurement, Record};

    fn layers(record: &Record) -> Vec<Layer> {
        super::layers(&RecordIndex::new(record))
    }

    fn timed(record: &mut Record, layer: &str, interrupts: &str, ticks: f64) {
        let place = Labels::new().with_label(Label::Layer, layer).with_label(Label::Interrupts, interrupts);
        record.measurements.push(Measurement::new("layer.time", place, vec![ticks]));
    }

    #[test]
    fn each_layer_is_held_against_the_fastest() {
        let mut record = machine(4);
        timed(&mut record, "guest user", "on", 1_502_607_961.0);
        timed(&mut record, "kernel", "off", 1_345_530_254.0);
        timed(&mut record, "kernel", "on", 1_508_746_974.0);
        let found = layers(&record);
        let over: Vec<(&str, f64)> =
            found.iter().map(|layer| (layer.layer.as_str(), (layer.over * 1e4).round() / 100.0)).collect();
        assert_eq!(over, [("kernel", 0.0), ("guest user", 11.67), ("kernel", 12.13)]);
        assert!(found[0].says.is(&FASTEST));
    }

    #[test]
    fn a_repetition_that_takes_less_is_said_to_be_shorter() {
        let mut record = machine(4);
        timed(&mut record, "user", "on", 1.000e9);
        timed(&mut record, AGAIN, "on", 0.995e9);
        let found = layers(&record);
        assert_eq!((found[0].layer.as_str(), found[0].says.code()), (AGAIN, Some("layer-shorter")));
        assert!(found[0].says.to_string().starts_with("0.5 % faster"), "{}", found[0].says);
        assert!(found[1].says.is(&FASTEST));
    }

    #[test]
    fn unlike_units_are_held_against_nothing() {
        let mut record = machine(4);
        timed(&mut record, "kernel", "off", 1.3e9);
        timed(&mut record, "user", "on", 0.6);
        record.measurements[1].unit = "s".into();
        assert_eq!(layers(&record), []);
        assert_eq!(layers(&machine(1)), []);
    }
}
