//! Explains a slow machine by comparing its complete record with the record of the machine that represents its class.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use diagnose::{Extent, MEMORY_DEVICES, Side, compare};
use record::document::Tool;
use record::fleet::{Family, Fleet, FleetCause, Slow};
use record::phrase::join_list;
use record::{Record, text};

use crate::causes::{BY_NONE, ONLY_HERE};

/// Maximum number of machines explained from their complete records.
const MOST: usize = 24;
/// Maximum number of sentences that are included from each comparison.
const SENTENCES: usize = 2;
/// Causes of other results that are results themselves, by their codes, with the families of these results.
const RESTATED: [(&str, Family); 2] = [
    ("comparison-cause-memory-latency", Family::MemoryLatency),
    ("comparison-cause-one-thread", Family::Core),
];

/// Explains the slowest machines: `read` returns the record of a file, or `None` if the file can no longer be read.
pub fn explain(fleet: &mut Fleet, tool: &Tool, read: impl Fn(&Path) -> Option<Record>) {
    let mut medoids: HashMap<PathBuf, Option<Record>> = HashMap::new();
    for slow in fleet.slow.iter_mut().take(MOST) {
        let Some(class) = fleet.classes.get(slow.class).filter(|class| class.medoid_path != slow.path) else {
            continue;
        };
        let base = medoids.entry(class.medoid_path.clone()).or_insert_with(|| read(&class.medoid_path));
        if let (Some(base), Some(this)) = (base, read(&slow.path)) {
            explain_one(slow, &class.medoid, base, &this, tool);
        }
    }
}

fn explain_one(slow: &mut Slow, medoid: &str, base: &Record, this: &Record, tool: &Tool) {
    let first = slow.causes.first_mut().filter(|cause| cause.code == MEMORY_DEVICES.code);
    if let Some((cause, missing)) = first.zip(name_missing(base, this)) {
        cause.says = missing;
    }
    let side = |name, record| Side { name, source: "", record };
    let sides = [side(medoid, base), side(&slow.machine, this)];
    let comparison = compare(&sides, 0, tool.clone(), Extent::Summary);
    let slower: Vec<_> = comparison.explanations.iter().filter(|of| of.speed < 1.0).collect();
    slow.explained = slower.iter().take(SENTENCES).map(|explanation| explanation.says.clone()).collect();
    // Measured causes precede a cause that is only a guess.
    let is_guess = |cause: &FleetCause| cause.code == BY_NONE.code || cause.says.is(&ONLY_HERE);
    let nothing = slow.causes.first().is_none_or(is_guess);
    // A slow result is no cause of itself.
    let restates = |code: &str| slow.figures.iter().any(|figure| RESTATED.contains(&(code, figure.family)));
    let measured = slower.iter().flat_map(|of| &of.causes).find(|of| !of.despite && !restates(&of.code));
    if let Some(cause) = measured.filter(|_| nothing) {
        let says = text!("{name}: {says}", name = &cause.name, says = &cause.says);
        slow.causes.insert(0, FleetCause { code: cause.code.clone(), says });
    }
}

/// The slots with a memory device in the other machine but not in this one.
fn name_missing(base: &Record, this: &Record) -> Option<record::Text> {
    let slots = |record: &Record| -> Vec<String> {
        let populated =
            record.machine.memory_devices.iter().filter(|device| device.bytes.is_some_and(|bytes| bytes > 0));
        populated.filter_map(|device| device.locator.clone()).collect()
    };
    let (all, here) = (slots(base), slots(this));
    let missing: Vec<String> = all.iter().filter(|slot| !here.contains(slot)).cloned().collect();
    let (slots, missing, all) = (join_list(&missing), missing.len(), all.len());
    let is_missing = missing > 0 && missing + here.len() == all;
    let says =
        || text!("fleet-cause-missing-device", "{missing} of {all} memory devices missing (slot {slots})");
    is_missing.then(says)
}
