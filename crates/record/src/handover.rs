//! The instructions with which `core_to_core.latency` passes a cache line from one CPU to another. There are two
//! methods, and their results are never combined.

use crate::{Label, Measurement, Text, text};

/// How a CPU waits for the line and acquires it. Other tools' published results were measured with the first method, so
/// reports and plans use the results of this method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Handover {
    /// The CPU repeats a compare-and-swap until it succeeds, like a spin lock.
    Cas,
    /// The CPU waits with plain loads and then stores, as when the index of a queue or ring is passed on.
    Store,
}

impl Handover {
    /// Both methods, with the preferred one first.
    pub const ALL: [Self; 2] = [Self::Cas, Self::Store];

    /// The word for the method in labels.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cas => "cas",
            Self::Store => "store",
        }
    }

    /// The method in words, for display after a comma.
    pub fn says(self) -> Text {
        match self {
            Self::Cas => text!("by compare-and-swap"),
            Self::Store => text!("by loads and stores"),
        }
    }

    /// The method of a result. If the key is missing, linespeed's own results used loads and stores, the only method
    /// when they were recorded. For results of another tool, the method is unknown.
    pub fn of_measurement(m: &Measurement) -> Option<Self> {
        match m.labels.get(Label::Handover) {
            Some(_) => {
                let word = m.labels.word(Label::Handover)?;
                Self::ALL.into_iter().find(|handover| handover.word() == word)
            }
            None => m.method.is_none().then_some(Self::Store),
        }
    }

    /// The preferred method among the methods of these results; `None` if none of them has one.
    pub fn chief<'a>(all: impl IntoIterator<Item = &'a Measurement>) -> Option<Self> {
        all.into_iter().filter_map(Self::of_measurement).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;
    use crate::Labels;

    fn figure(handover: Option<&str>, method: Option<&str>) -> Measurement {
        let place = Labels::new().with_label(Label::From, 0u32).with_label(Label::To, 1u32);
        let place = match handover {
            Some(word) => place.with_label(Label::Handover, word),
            None => place,
        };
        let mut m = Measurement::new("core_to_core.latency", place, vec![40.0]);
        m.method = method.map(str::to_owned);
        m
    }

    #[test]
    fn a_record_from_before_there_were_two_ways_is_of_loads_and_stores() {
        assert_eq!(Handover::of_measurement(&figure(None, None)), Some(Handover::Store));
        assert_eq!(Handover::of_measurement(&figure(Some("cas"), None)), Some(Handover::Cas));
        assert_eq!(Handover::of_measurement(&figure(Some("store"), None)), Some(Handover::Store));
    }

    #[test]
    fn what_another_tool_did_is_not_guessed() {
        assert_eq!(Handover::of_measurement(&figure(None, Some("Intel MLC 3.9"))), None);
        assert_eq!(
            Handover::of_measurement(&figure(Some("cas"), Some("core-to-core-latency"))),
            Some(Handover::Cas)
        );
        assert_eq!(Handover::of_measurement(&figure(Some("smoke"), None)), None);
    }

    #[test]
    fn the_way_that_others_publish_leads_where_it_was_measured() {
        let [cas, store, other] =
            [figure(Some("cas"), None), figure(None, None), figure(None, Some("Intel MLC"))];
        assert_eq!(Handover::chief([&store, &cas, &other]), Some(Handover::Cas));
        assert_eq!(Handover::chief([&other, &store]), Some(Handover::Store));
        assert_eq!(Handover::chief([&other]), None);
    }
}
