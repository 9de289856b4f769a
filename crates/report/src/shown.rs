//! Tracks which results of a record have already been shown in a report, so that the report omits none.

use std::collections::HashSet;
use std::fmt;

use record::Measurement;

/// Results that are shown, or counted in a sentence that points to them. Each result is identified by its address in memory, so the
/// set is valid only while the record is unchanged.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown(HashSet<usize>);

impl Shown {
    /// Adds a result that is shown.
    pub(crate) fn add(&mut self, m: &Measurement) {
        self.0.insert(std::ptr::from_ref(m).addr());
    }

    /// Adds the results that another part has shown.
    pub(crate) fn join(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// Whether this result is shown.
    pub(crate) fn has(&self, m: &Measurement) -> bool {
        self.0.contains(&std::ptr::from_ref(m).addr())
    }
}

/// Prints only the number of results, because their addresses differ in every run and could be mistaken for values.
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shown({} figures)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use record::Labels;

    use super::*;

    #[test]
    fn what_is_printed_of_it_is_the_same_in_every_run() {
        let figures = ["core.ipc", "core.clock"].map(|name| Measurement::new(name, Labels::new(), vec![1.0]));
        let mut shown = Shown::default();
        figures.iter().for_each(|m| shown.add(m));
        assert_eq!(format!("{shown:?}"), "Shown(2 figures)");
    }
}
