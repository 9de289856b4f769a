//! An index of a record: results by metric, and values computed once and used several times.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::iter::Copied;
use std::slice::Iter;

use record::diagnosis::CurvePlace;
use record::shape::Shape;
use record::{Label, Level, Measurement, Metric, Record, Text, metrics};
use serde_json::Value;

use crate::figures::labels_without;
use crate::latency_curve::LatencyCurve;

/// A subset of a record's results.
pub type Figures<'a, 'b> = Copied<Iter<'b, &'a Measurement>>;

/// Measurements indexed by the values of two labels, each of which has only a few values.
type ByWords<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Measurement>>>;

/// A record with an index of its results. A record may contain tens of thousands of measurements, and most rules need only a few of them.
#[derive(Debug)]
pub struct RecordIndex<'a> {
    /// The record.
    pub record: &'a Record,
    by_metric: HashMap<Metric, Vec<&'a Measurement>>,
    clocks: ByWords<'a>,
    wakeups: ByWords<'a>,
    curve: Option<LatencyCurve<'a>>,
    pages: Option<(&'a Measurement, &'a Measurement)>,
    /// The result of [`levels`](crate::levels()), computed on first use.
    pub(crate) levels: OnceCell<Vec<Level>>,
    shape: OnceCell<Option<Shape>>,
    /// The machine and the conditions as JSON, computed on first use.
    pub(crate) inventory: OnceCell<Value>,
}

impl<'a> RecordIndex<'a> {
    /// Indexes a record's results, in one pass over them.
    pub fn new(record: &'a Record) -> Self {
        let mut by_metric: HashMap<Metric, Vec<&Measurement>> = HashMap::new();
        // Results of one metric are usually adjacent.
        for run in record.measurements.chunk_by(|a, b| a.metric == b.metric) {
            let with_figure = run.iter().filter(|m| m.summary.n > 0);
            by_metric.entry(run[0].metric).or_default().extend(with_figure);
        }
        let of = |metric: Metric| by_metric.get(&metric).map_or(&[][..], Vec::as_slice).iter().copied();
        let as_measured = |m: &&Measurement| m.labels.switch(Label::Corrected) != Some(true);
        // Of several CPUs with a complete curve, the CPU with the nearest memory is chosen. Results on both page sizes are taken from this
        // CPU, if it has them.
        let at = |m: &Measurement| CurvePlace::of_figure(&m.labels);
        let nearest = same_place_on_both_pages(of(metrics::LOAD_LATENCY));
        let curve = LatencyCurve::choose(of(metrics::LOAD_LATENCY), nearest.map(|(small, _)| at(small)));
        let here = |m: &&Measurement| curve.as_ref().is_some_and(|curve| at(m) == curve.place);
        let pages = same_place_on_both_pages(of(metrics::LOAD_LATENCY).filter(here)).or(nearest);
        Self {
            curve,
            pages,
            clocks: by_words(of(metrics::CORE_CLOCK), Label::Vector, Label::Active),
            wakeups: by_words(of(metrics::WAKEUP_LATENCY).filter(as_measured), Label::Policy, Label::Setting),
            levels: OnceCell::new(),
            shape: OnceCell::new(),
            inventory: OnceCell::new(),
            record,
            by_metric,
        }
    }

    /// The detected CPU placement of the machine.
    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.shape.get_or_init(|| crate::shape::of_record(self.record)).as_ref()
    }

    /// A description of the vCPUs that moved during this measurement.
    pub(crate) fn moved_during(&self, m: &Measurement) -> Option<Text> {
        crate::shape::noise::moved_during(m, crate::shape::moved(self.shape()?))
    }

    /// The measurements of one metric that have a result, in the order of the record.
    pub fn figures_of(&self, metric: Metric) -> Figures<'a, '_> {
        self.by_metric.get(&metric).map_or(&[][..], Vec::as_slice).iter().copied()
    }

    /// Core clocks (`core.clock`) with this vector width and these busy cores: for example, `scalar` with `one` or `all`.
    pub(crate) fn clocks(&self, vector: &str, active: &str) -> Figures<'a, '_> {
        of_words(&self.clocks, vector, active)
    }

    /// Wake-up latencies (`wakeup.latency`) as measured, excluding those corrected for missed periods, with policy `other` or `fifo` and
    /// setting `as-is` or `tuned`.
    pub(crate) fn wakeups(&self, policy: &str, setting: &str) -> Figures<'a, '_> {
        of_words(&self.wakeups, policy, setting)
    }

    /// The latency curve used for the levels, the headline and the chart.
    pub(crate) fn curve(&self) -> Option<&LatencyCurve<'a>> {
        self.curve.as_ref()
    }

    /// The measurements on 4 KiB and on 2 MiB pages, at one place and with the largest working set that was measured on both. The place is
    /// that of the latency curve if possible; otherwise, it is one with the nearest memory.
    pub(crate) fn pages(&self) -> Option<(&'a Measurement, &'a Measurement)> {
        self.pages
    }
}

/// Indexes measurements by the values of two labels; measurements that lack one of the labels are omitted.
fn by_words<'a>(all: impl Iterator<Item = &'a Measurement>, first: Label, second: Label) -> ByWords<'a> {
    let mut found = ByWords::new();
    for m in all {
        if let (Some(one), Some(other)) = (m.labels.word(first), m.labels.word(second)) {
            found.entry(one).or_default().entry(other).or_default().push(m);
        }
    }
    found
}

/// The measurements with these two label values.
fn of_words<'a, 'b>(all: &'b ByWords<'a>, first: &str, second: &str) -> Figures<'a, 'b> {
    all.get(first).and_then(|all| all.get(second)).map_or(&[][..], Vec::as_slice).iter().copied()
}

/// Finds [`RecordIndex::pages`] among load latencies.
fn same_place_on_both_pages<'a>(
    latencies: impl Iterator<Item = &'a Measurement>,
) -> Option<(&'a Measurement, &'a Measurement)> {
    let mut sizes: BTreeMap<u64, [Vec<&Measurement>; 2]> = BTreeMap::new();
    for m in latencies.filter(|m| m.value() > 0.0) {
        let page = match m.labels.word(Label::Page) {
            Some("4KiB") => 0,
            Some("2MiB") => 1,
            _ => continue,
        };
        if let Some(bytes) = m.labels.count(Label::Bytes) {
            sizes.entry(bytes).or_default()[page].push(m);
        }
    }
    sizes.values().rev().find_map(|[small, huge]| {
        // Results are indexed by place, because a size may have been measured on thousands of CPUs and nodes.
        let huge: HashMap<String, &Measurement> =
            huge.iter().map(|m| (labels_without(m, Label::Page), *m)).collect();
        let pairs =
            small.iter().filter_map(|small| Some((*small, *huge.get(&labels_without(small, Label::Page))?)));
        // If there are several places, the nearest memory represents the machine.
        pairs.max_by(|a, b| b.1.value().total_cmp(&a.1.value()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{add_curve, add_wakeups, machine, measured};
    use record::Labels;

    #[test]
    fn figures_are_found_wherever_they_stand_in_the_record() {
        let mut record = machine(2);
        add_wakeups(&mut record, "fifo", "tuned", [5e3; 2]);
        record.measurements.push(measured("cost.syscall", Labels::new(), 100.0));
        add_wakeups(&mut record, "fifo", "tuned", [7e3; 2]);
        add_wakeups(&mut record, "other", "tuned", [9e3; 2]);
        let mut corrected = record.measurements[0].clone();
        corrected.labels = corrected.labels.with_label(Label::Corrected, true);
        record.measurements.push(corrected);
        let index = RecordIndex::new(&record);
        let values = |all: Figures| all.map(Measurement::value).collect::<Vec<f64>>();
        assert_eq!(values(index.wakeups("fifo", "tuned")), [5e3, 5e3, 7e3, 7e3]);
        assert_eq!(values(index.wakeups("fifo", "as-is")), [0.0; 0]);
        assert_eq!(values(index.figures_of("wakeup.latency".into())), [5e3, 5e3, 7e3, 7e3, 9e3, 9e3, 5e3]);
        assert_eq!(index.figures_of("core.clock".into()).count(), 0);
    }

    #[test]
    fn pages_are_held_against_each_other_at_the_largest_size_that_both_have() {
        let mut record = machine(1);
        add_curve(&mut record, "2MiB", &[(4096, 1.0), (8192, 2.0), (16384, 4.0)]);
        assert_eq!(RecordIndex::new(&record).pages(), None);
        add_curve(&mut record, "4KiB", &[(8192, 3.0), (4096, 1.0)]);
        let index = RecordIndex::new(&record);
        let (small, huge) = index.pages().expect("8 KiB was measured on both");
        assert_eq!((small.value(), huge.value()), (3.0, 2.0));
    }
}
