//! Classes of similar machines, and the facts in which machines differ. Machines of one class (system, processor, packages, hypervisor) are
//! compared with each other; facts that can be configured, or that can change because of a failure, may differ within a class.

pub use crate::comparison::facts::{Fact, MEMORY_DEVICES, facts, tell_facts};

/// The facts that define a machine's class: one value per fact, in the order of [`facts`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Vec<Option<String>>);

impl Kind {
    /// Creates the class from a machine's facts, as listed by [`tell_facts`].
    pub fn from_facts(values: &[Option<String>]) -> Self {
        let of_kind = facts().iter().zip(values).filter(|(fact, _)| fact.is_of_kind());
        Self(of_kind.map(|(_, value)| value.clone()).collect())
    }

    /// Whether all facts known for both machines are equal.
    pub fn fits(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, other)| one.is_none() || other.is_none() || one == other)
    }

    /// Whether the name or the identity of the processor is known, without which a machine may be of any class.
    pub fn knows_processor(&self) -> bool {
        let mut all = facts().iter().filter(|fact| fact.is_of_kind()).zip(&self.0);
        all.any(|(fact, value)| fact.from.starts_with("machine.processor.") && value.is_some())
    }

    /// The number of known facts.
    pub fn count_known(&self) -> usize {
        self.0.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::machine;
    use record::Record;

    #[test]
    fn a_missing_memory_device_is_no_other_kind_and_another_processor_is() {
        let mut this = machine(8);
        this.machine.memory_bytes = Some(7 << 30);
        this.conditions.before.smt = Some("off".to_owned());
        let mut whole = machine(8);
        whole.machine.memory_bytes = Some(8 << 30);
        whole.conditions.before.smt = Some("on".to_owned());
        let kind = |record: &Record| Kind::from_facts(&tell_facts(record));
        assert_eq!(kind(&whole), kind(&this));
        this.machine.processor.model_name = Some("another".to_owned());
        whole.machine.processor.model_name = Some("one".to_owned());
        let kinds = [kind(&whole), kind(&this)];
        assert!(!kinds[0].fits(&kinds[1]));
        this.machine.processor.model_name = None;
        assert!(kind(&this).fits(&kinds[0]), "an unknown fact differs from nothing");
        assert!(kind(&whole).knows_processor() && !kind(&this).knows_processor());
        this.machine.processor.family = Some(6);
        assert!(kind(&this).knows_processor());
    }
}
