//! Layers timed alternately, each with its slices, so that any two can be compared.

use record::difference::{Difference, compare_totals};
use record::{DetailKey, Label, Measurement, detail, metrics};

use crate::layers::{AGAIN, label};
use crate::record_index::RecordIndex;

/// The context of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    /// The number of simultaneous comparisons. The intervals are valid for all of them together (Bonferroni).
    pub comparisons: usize,
    /// The difference between two runs of the same layer; smaller differences cannot be resolved.
    pub floor: Option<f64>,
}

/// One layer.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    /// The layer's result.
    pub m: &'a Measurement,
    /// `user`, `kernel`, `guest user`…
    pub layer: &'a str,
    /// The CPU to which the layer is pinned; `None` if it is not pinned.
    pub cpu: Option<u64>,
    /// Whether interrupts are enabled for the layer.
    pub interrupts: bool,
    /// Cycles of each slice, in run order.
    pub portions: Vec<f64>,
}

/// Every layer of a record.
#[derive(Clone, Debug)]
pub(super) struct Rows<'a>(pub Vec<Row<'a>>);

impl<'a> Row<'a> {
    fn from_measurement(m: &'a Measurement) -> Option<Self> {
        let portions = m.detail.get(detail::PORTIONS)?.as_array()?.iter().filter_map(|n| n.as_f64());
        let portions: Vec<f64> = portions.collect();
        let bound = m.labels.word(Label::Bound)?;
        (!portions.is_empty()).then(|| Self {
            m,
            layer: m.labels.word(Label::Layer).unwrap_or_default(),
            cpu: bound.strip_prefix("cpu ").and_then(|cpu| cpu.parse().ok()),
            interrupts: m.labels.word(Label::Interrupts) != Some("off"),
            portions,
        })
    }

    /// The displayed name.
    pub(super) fn label(&self) -> String {
        label(self.m)
    }

    /// A rate of events, in events per second, counted while the layer ran.
    pub(super) fn rate(&self, count: DetailKey<f64>) -> Option<f64> {
        self.m.detail.get(count)
    }

    /// The additional cost of this layer relative to `other`, computed from the slices in which the two layers alternated.
    pub(super) fn against(&self, other: &Row, together: Together) -> Difference {
        let (comparisons, floor) = (together.comparisons, together.floor);
        compare_totals(&[&other.portions], &[&self.portions], comparisons, floor).as_more()
    }
}

impl<'a> Rows<'a> {
    /// The layers of a record that were timed alternately, that is, those with slices.
    pub(super) fn from_index(index: &RecordIndex<'a>) -> Self {
        Self(index.figures_of(metrics::LAYER_TIME).filter_map(Row::from_measurement).collect())
    }

    /// The layer with this name, pinned to this CPU or unpinned, with or without interrupts.
    pub(super) fn find(&self, layer: &str, cpu: Option<u64>, interrupts: bool) -> Option<&Row<'a>> {
        self.0.iter().find(|row| row.layer == layer && row.cpu == cpu && row.interrupts == interrupts)
    }

    /// The CPU to which layers are pinned: that of the layer that was run twice or, if there is none, the first one in
    /// the record.
    pub(super) fn cpu(&self) -> Option<u64> {
        let again = self.0.iter().find(|row| row.layer == AGAIN).and_then(|row| row.cpu);
        again.or_else(|| self.0.iter().find_map(|row| row.cpu))
    }

    /// A kernel thread or a guest's kernel without interrupts, pinned to any CPU.
    pub(super) fn without_interrupts(&self, layer: &str) -> Option<&Row<'a>> {
        self.0.iter().find(|row| row.layer == layer && !row.interrupts)
    }

    /// User mode on a CPU other than the one to which the other layers are pinned.
    pub(super) fn elsewhere(&self) -> Option<&Row<'a>> {
        let cpu = self.cpu();
        self.0.iter().find(|row| row.layer == "user" && row.cpu.is_some() && row.cpu != cpu)
    }
}
