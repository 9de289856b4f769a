//! Converts slices to measurements (throughput, IPC, time of a pass), and reports wrong results.

use std::collections::BTreeSet;

use record::text::Value;
use record::{CpuList, Label, Labels, Machine, Measurement, Metric, detail, metrics, text};
use serde_json::json;

use super::Workload;
use super::worker_pool::{GroupRun, Slice};
use crate::budget::last_level_of;
use crate::context::Context;
use crate::counters::{self, Reading};
use crate::repeat::{judged, mark_samples};

/// Maximum half-width of the 95 % CI; a result with a wider interval is too noisy.
pub(crate) const TARGET: f64 = 0.05;

/// Tolerance for the agreement of counted and declared IPC.
const AGREEMENT: f64 = 0.01;

/// All observations of one workload on one group of CPUs.
pub(crate) struct Seen<'a> {
    /// The workload.
    pub workload: &'a dyn Workload,
    /// The CPUs that worked together.
    pub cpus: Vec<u32>,
    /// Bytes of each array that the CPUs walked, for a streaming workload.
    pub walked: Option<u64>,
    /// The results of the group's visits.
    pub run: GroupRun,
}

impl<'a> Seen<'a> {
    /// Creates an empty value.
    pub(crate) fn new(workload: &'a dyn Workload, cpus: Vec<u32>, walked: Option<u64>) -> Self {
        Self { workload, cpus, walked, run: GroupRun::default() }
    }

    /// Adds a visit.
    pub(crate) fn add(&mut self, visit: GroupRun) {
        self.run.slices.extend(visit.slices);
        self.run.wrong.extend(visit.wrong);
        self.run.unpinned.extend(visit.unpinned);
        self.run.lost = self.run.lost.max(visit.lost);
    }

    /// Throughput, at `place` with the common details.
    pub(crate) fn throughput(&self, machine: &Machine, place: Labels) -> Measurement {
        self.measurement(machine, metrics::WORKLOAD_THROUGHPUT, place, |slice| Some(slice.rate))
    }

    /// Seconds per pass; each slice is one pass.
    pub(crate) fn time(&self, machine: &Machine, place: Labels) -> Measurement {
        self.measurement(machine, metrics::WORKLOAD_TIME, place, |slice| Some(1.0 / slice.rate))
    }

    /// Declared IPC and, if the CPU has counters, counted IPC and the counts themselves. `place` contains the labels of
    /// IPC, and `counts` contains the labels of the counts.
    pub(crate) fn instructions(&self, machine: &Machine, place: Labels, counts: Labels) -> Vec<Measurement> {
        let from = |source: &str| place.clone().with_label(Label::Source, source);
        let counted_ipc = |slice: &Slice| slice.counted.as_ref().and_then(Reading::ipc);
        let mut declared = self.measurement(machine, metrics::CORE_IPC, from("declared"), |slice| slice.ipc);
        let counted = self.measurement(machine, metrics::CORE_IPC, from("pmu"), counted_ipc);
        if counted.summary.n > 0 && declared.summary.n > 0 && declared.doubt.is_none() {
            let apart = declared.value() / counted.value() - 1.0;
            if apart.abs() > AGREEMENT {
                let why = text!(
                    "PMU shows {counted} IPC, off by {apart}: the cycle count or the clock is wrong",
                    counted = format!("{:.3}", counted.value()),
                    apart = Value::Share(apart.abs())
                );
                declared.doubt = Some(why.into());
            }
        }
        let mut all = vec![declared, counted];
        let readings = self.run.slices.iter().filter_map(|slice| slice.counted.as_ref());
        let done: f64 = self.run.slices.iter().filter(|s| s.counted.is_some()).map(|slice| slice.done).sum();
        for mut count in counters::measurements(&Reading::sum(readings), counts) {
            let each = self
                .workload
                .instructions()
                .filter(|_| count.labels.word(Label::Event) == Some("instructions"));
            if let Some(each) = each {
                count.detail.set(detail::DECLARED, json!((done * each).round()));
            }
            all.push(count);
        }
        all
    }

    fn measurement(
        &self,
        machine: &Machine,
        metric: Metric,
        place: Labels,
        value: impl Fn(&Slice) -> Option<f64>,
    ) -> Measurement {
        let taken: Vec<(&Slice, f64)> =
            self.run.slices.iter().filter_map(|slice| Some((slice, value(slice)?))).collect();
        let list: CpuList = self.cpus.iter().copied().collect();
        let mut m = Measurement::new(metric, place, taken.iter().map(|(_, value)| *value).collect())
            .with_detail(detail::WORK, self.workload.definition().work.words)
            .with_detail(detail::CPUS, list.to_string());
        m.marks = mark_samples(taken.iter().map(|(slice, _)| slice.marks.iter().copied()));
        let clocks: Vec<f64> = self.run.slices.iter().map(|slice| slice.clock_hz).collect();
        m.detail.set(detail::CLOCK_HZ, json!(record::Summary::from_samples(&clocks).median.round()));
        m = judged(m, TARGET);
        if let Some(walked) = self.walked {
            m.detail.set(detail::ARRAY_BYTES, json!(walked));
            let caches = last_level_of(machine, &self.cpus);
            if walked.saturating_mul(crate::arrays::ARRAYS as u64) < 2 * caches {
                let why = text!(
                    "the arrays ({walked} each) fit partly in the last-level caches ({caches})",
                    walked = Value::Bytes(walked),
                    caches = Value::Bytes(caches)
                );
                m.doubt = Some(why.into());
            }
        }
        if !self.run.unpinned.is_empty() {
            let cpus: CpuList = self.run.unpinned.iter().copied().collect();
            m.doubt = Some(text!("the thread for CPU {cpus} could not be pinned").into());
        }
        m
    }

    /// Reports defects of these results in the coverage; false if the results must not be reported at all.
    pub(crate) fn passes_checks(&self, context: &mut Context, measurement: &str) -> bool {
        let what = format!("{measurement} {}", self.workload.name());
        if let Some((cpu, wrong)) = self.run.wrong.first() {
            let others = self.run.wrong.iter().map(|(cpu, _)| cpu).collect::<BTreeSet<_>>().len();
            let more = if others > 1 { format!(" (and {} more CPUs)", others - 1) } else { String::new() };
            context.degrade_with_remedy(
                what,
                text!("CPU {cpu}{more} COMPUTES WRONG RESULTS ({wrong}), so the result is discarded", cpu = *cpu, wrong = &wrong.0),
                text!(
                    "do not trust results from this machine: undo overclocking, test its memory, look for machine checks in \
                     the kernel log, and measure again"
                )
            );
            return false;
        }
        let list: CpuList = self.cpus.iter().copied().collect();
        let why = if self.run.lost > 0 {
            text!(
                "{lost} of {all} threads on CPU {list} failed to start, or died",
                lost = self.run.lost,
                all = self.cpus.len()
            )
        } else if self.run.slices.is_empty() {
            text!("the threads on CPU {list} never ran at the same time")
        } else {
            return true;
        };
        context.degrade(what, why);
        false
    }
}
