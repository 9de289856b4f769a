//! Records of made-up machines, for the tests of this crate and of the program.

use std::path::Path;

use record::{Better, Record};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../linespeed/tests/records/0.1/main.json");

/// A machine's record: its figures differ from the others' by a little, and those of the metric in `slow` are at this share of their
/// speed.
pub fn machine(number: u32, slow: (&str, f64)) -> Record {
    let mut record = Record::read(Path::new(RECORD)).unwrap();
    record.machine.hostname = Some(format!("node{number:02}"));
    record.started = format!("2026-11-24T10:{number:02}:00Z");
    record.tool.version = env!("CARGO_PKG_VERSION").to_owned();
    // Nothing ran beside it.
    record.conditions.after = None;
    for (at, m) in record.measurements.iter_mut().enumerate() {
        let jitter = 1.0 + 0.004 * (((number * 7 + at as u32 * 13) % 11) as f64 / 5.0 - 1.0);
        let speed = jitter * if m.metric == slow.0 { slow.1 } else { 1.0 };
        let lower = m.metric.definition().and_then(|metric| metric.better) == Some(Better::Lower);
        let factor = if lower { 1.0 / speed } else { speed };
        let s = &mut m.summary;
        [&mut s.min, &mut s.median, &mut s.mad, &mut s.max].into_iter().for_each(|value| *value *= factor);
        s.mean = s.mean.map(|mean| mean * factor);
        // As well known as on a machine that nobody shares.
        s.interval = Some((s.median * 0.999, s.median * 1.001));
        (s.min, s.max) = (s.min.min(s.median * 0.999), s.max.max(s.median * 1.001));
        m.samples.clear();
        m.doubt = None;
    }
    record
}

/// Writes a record into a folder.
pub fn write(folder: &Path, name: &str, record: &Record) {
    std::fs::write(folder.join(name), record.to_json().unwrap()).unwrap();
}
