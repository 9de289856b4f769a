//! Which machines are alike, and in which facts two of them differ. Machines of one kind (system, processor, packages,
//! hypervisor) are held against each other; what can fail or be set on them is a difference within the kind.

use record::Record;
use record::comparison::Difference;

use crate::comparison::facts::difference;
pub use crate::comparison::facts::{Fact, MEMORY_DEVICES, facts, tell_facts};

/// What makes a machine one of its kind: a value a fact, in the order of [`facts`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Vec<Option<String>>);

impl Kind {
    /// Of a machine of which this is told ([`tell_facts`]).
    pub fn from_facts(values: &[Option<String>]) -> Self {
        let of_kind = facts().iter().zip(values).filter(|(fact, _)| fact.is_of_kind());
        Self(of_kind.map(|(_, value)| value.clone()).collect())
    }

    /// Whether nothing that both tell differs.
    pub fn fits(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, other)| one.is_none() || other.is_none() || one == other)
    }

    /// How many of its facts are told.
    pub fn count_known(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// What is told, in the order of [`facts`].
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(String::as_str)
    }
}

/// Facts in which two records differ: those that make them machines of two kinds (none where they are of one), and all
/// others. Each has the values of `base` and `this`, in that order; what only one tells is no difference.
pub fn tell_differences(base: &Record, this: &Record) -> (Vec<Difference>, Vec<Difference>) {
    let values = [tell_facts(base), tell_facts(this)];
    let differing = (0..facts().len()).filter_map(|at| Some((facts().get(at)?, difference(at, &values)?)));
    let (of_kind, others): (Vec<_>, Vec<_>) = differing.partition(|(fact, _)| fact.is_of_kind());
    let only = |all: Vec<(&Fact, Difference)>| all.into_iter().map(|(_, difference)| difference).collect();
    (only(of_kind), only(others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::machine;

    #[test]
    fn a_missing_memory_device_is_no_other_kind_and_another_processor_is() {
        let base = machine(8);
        let mut this = base.clone();
        this.machine.memory_bytes = Some(7 << 30);
        this.conditions.before.smt = Some("off".to_owned());
        let mut whole = base.clone();
        whole.machine.memory_bytes = Some(8 << 30);
        whole.conditions.before.smt = Some("on".to_owned());
        let (of_kind, others) = tell_differences(&whole, &this);
        assert!(of_kind.is_empty(), "{of_kind:?}");
        let places: Vec<&str> = others.iter().map(|difference| difference.from.as_str()).collect();
        assert_eq!(places, ["machine.memory_bytes", "conditions.before.smt"]);
        this.machine.processor.model_name = Some("another".to_owned());
        whole.machine.processor.model_name = Some("one".to_owned());
        let (of_kind, _) = tell_differences(&whole, &this);
        assert_eq!(of_kind[0].values, [Some("one".to_owned()), Some("another".to_owned())]);
        let kinds = [&whole, &this].map(|record| Kind::from_facts(&tell_facts(record)));
        assert!(!kinds[0].fits(&kinds[1]));
        this.machine.processor.model_name = None;
        assert!(
            Kind::from_facts(&tell_facts(&this)).fits(&kinds[0]),
            "what is not told differs from nothing"
        );
    }
}
