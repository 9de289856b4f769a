//! The machines of a fleet as a baseline for `linespeed check`.

use std::path::Path;

use record::Record;
use record::baseline::{BASELINE_VERSION, Baseline, ClassBaseline};
use record::fleet::Fleet;

/// The classes in which machines were compared with each other, each with the record of its median machine; a class whose record can no
/// longer be read is omitted.
pub fn make_baseline(fleet: &Fleet, made: String, read: impl Fn(&Path) -> Option<Record>) -> Baseline {
    let judged = fleet.classes.iter().filter(|class| class.judged);
    let classes = judged.filter_map(|class| {
        let mut record = read(&class.medoid_path)?;
        for m in &mut record.measurements {
            m.samples.clear();
            m.marks.clear();
            m.distribution.clear();
        }
        Some(ClassBaseline {
            name: class.name.clone(),
            machines: class.machines,
            record,
            figures: class.figures.clone(),
        })
    });
    Baseline { baseline: BASELINE_VERSION, tool: fleet.tool.clone(), made, classes: classes.collect() }
}
