//! Drops the parts of a record that comparisons do not read, to save memory if many records are loaded at the same time.

use record::{Record, detail};

/// Removes the command, so that different commands are compared as if they did the same work.
pub fn ignore_commands(record: &mut Record) {
    record.measurements.iter_mut().for_each(|m| m.detail.retain(|name| name != detail::COMMAND.name()));
}

/// Drops the parts that comparisons do not read.
pub fn drop_uncompared(record: &mut Record) {
    record.coverage = Vec::new();
    for m in &mut record.measurements {
        m.distribution = Vec::new();
        m.marks = Vec::new();
        m.origin = None;
    }
}
