//! Which figures of a record a report has told, so that none falls through between its tables.

use std::collections::HashSet;

use record::Measurement;

/// Figures that are told, or counted in a sentence that says where they stand. Each is known by where it lies, so this
/// holds for one record that stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told(HashSet<usize>);

impl Told {
    /// This figure is told.
    pub fn add(&mut self, m: &Measurement) {
        self.0.insert(std::ptr::from_ref(m).addr());
    }

    /// What that has told is told.
    pub fn join(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// Whether this figure is told.
    pub fn has(&self, m: &Measurement) -> bool {
        self.0.contains(&std::ptr::from_ref(m).addr())
    }
}
