//! Layers of a machine, and what siblings add: what a few figures of one routine or workload say.

use record::{Record, units};

use super::blocks::{Block, Part};
use crate::table::Table;

/// Entries that are told; the rest is in the record.
const MOST: usize = 64;

/// The layers in which a routine was timed, the fastest first; nothing where none was.
pub fn layers(record: &Record) -> Option<Block> {
    let layers = &record.diagnosis.layers;
    let unit = record.of("layer.time").next()?.unit.as_str();
    let mut table = Table::new(
        "One routine in each layer",
        Some("layer.time"),
        &["layer", "bound to", "interrupts", "#time", "#against the fastest"],
    );
    // Each that was timed has its entry.
    record.of("layer.time").for_each(|m| table.tells(m));
    if layers.len() > MOST {
        table.note(&format!("the first {MOST} of {}; all are in the record", layers.len()));
    }
    for layer in layers.iter().take(MOST) {
        table.row(vec![
            layer.layer.clone(),
            layer.bound.clone().unwrap_or_default(),
            layer.interrupts.clone().unwrap_or_default(),
            units::figure(layer.time, unit),
            format!("+{}", units::percent(layer.over)),
        ]);
    }
    let mut block = Block::new("One routine in each layer", Some("layer.time"));
    block.parts.push(Part::Table(table.finished()));
    (!layers.is_empty()).then_some(block)
}

/// What siblings add to each workload; nothing where no figures tell.
pub fn siblings(record: &Record) -> Option<Block> {
    let all = &record.diagnosis.siblings;
    let mut block = Block::new("What siblings add", Some("smt.yield"));
    for one in all.iter().take(MOST) {
        let size = one.bytes.map_or_else(String::new, |bytes| format!(", blocks of {}", units::bytes(bytes)));
        block.parts.push(Part::Says(format!("{}{size}: {}.", one.workload, one.says)));
    }
    (!all.is_empty()).then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::diagnosis::{Basis, Layer, SiblingsAdd};
    use record::{Measurement, Where};

    #[test]
    fn layers_and_siblings_are_told_where_there_are_any() {
        let mut record = Record::new("0", String::new(), Vec::new());
        assert!(layers(&record).is_none() && siblings(&record).is_none());
        record.measurements.push(Measurement::new(
            "layer.time",
            Where::new().with("layer", "kernel"),
            vec![1e9],
        ));
        record.diagnosis.layers.push(Layer {
            layer: "kernel".to_owned(),
            bound: None,
            interrupts: Some("off".to_owned()),
            time: 1e9,
            interval: None,
            variation: None,
            over: 0.0,
            beside: Vec::new(),
            doubt: None,
            says: String::new(),
            from: String::new(),
        });
        record.diagnosis.siblings.push(SiblingsAdd {
            workload: "openssl".to_owned(),
            bytes: Some(8192),
            adds: 0.13,
            basis: Basis::Measured,
            says: "siblings add 13.0 %".to_owned(),
        });
        assert!(
            matches!(&layers(&record).unwrap().parts[..], [Part::Table(table)] if table.rows[0][3] == "+0 %")
        );
        let said = Part::Says("openssl, blocks of 8 KiB: siblings add 13.0 %.".to_owned());
        assert_eq!(siblings(&record).unwrap().parts, [said]);
    }
}
