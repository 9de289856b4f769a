//! The latency curve of a record, on which the levels, the headline and the chart are based.

use std::collections::{BTreeMap, BTreeSet};

use record::diagnosis::CurvePlace;
use record::{Label, Measurement};

/// Minimum number of points for finding levels.
pub(crate) const LEAST_POINTS: usize = 3;

/// The latency curve that is used for the levels, the headline and the chart.
#[derive(Debug)]
pub(crate) struct LatencyCurve<'a> {
    /// The CPU and node of the curve.
    pub(crate) place: CurvePlace,
    /// The points of the curve, in the record's order.
    pub(crate) points: Vec<&'a Measurement>,
}

impl<'a> LatencyCurve<'a> {
    /// The curve of the CPU with the most points; if several CPUs have equally many, the CPU of `at` is preferred.
    pub(crate) fn choose(all: impl Iterator<Item = &'a Measurement>, at: Option<CurvePlace>) -> Option<Self> {
        let mut cpus: BTreeMap<Option<u64>, Vec<&Measurement>> = BTreeMap::new();
        for m in all.filter(|m| size_of(m) > 0) {
            cpus.entry(m.labels.count(Label::Cpu)).or_default().push(m);
        }
        let curves = cpus.into_iter().map(|(cpu, of_cpu)| {
            let place = CurvePlace { cpu, node: nearest_node(&of_cpu) };
            let on = |page: &'static str| {
                let of_page = of_cpu.iter().copied();
                of_page.filter(move |m| {
                    m.labels.count(Label::Node) == place.node && m.labels.word(Label::Page) == Some(page)
                })
            };
            let mut points: Vec<&Measurement> = on("2MiB").collect();
            let first_huge = points.iter().map(|m| size_of(m)).min().unwrap_or(u64::MAX);
            if points.len() >= LEAST_POINTS {
                points.extend(on("4KiB").filter(|m| size_of(m) < first_huge));
            } else {
                points = on("4KiB").collect();
            }
            Self { place, points }
        });
        let rank = |curve: &Self| (curve.points.len(), at.is_some_and(|at| at.cpu == curve.place.cpu));
        curves.rev().max_by_key(rank)
    }
}

/// The working set of a measurement, bytes; 0 if there is none.
pub(crate) fn size_of(measurement: &Measurement) -> u64 {
    measurement.labels.count(Label::Bytes).unwrap_or(0)
}

/// The node with the most measurements. If several nodes have equally many, it is the one whose highest latency is
/// lowest.
fn nearest_node(points: &[&Measurement]) -> Option<u64> {
    let nodes: BTreeSet<Option<u64>> = points.iter().map(|m| m.labels.count(Label::Node)).collect();
    nodes
        .into_iter()
        .map(|node| {
            let of_node = points.iter().filter(|m| m.labels.count(Label::Node) == node);
            let slowest = of_node.clone().map(|m| m.value()).filter(|v| v.is_finite()).fold(0.0, f64::max);
            (node, of_node.count(), slowest)
        })
        .max_by(|a, b| a.1.cmp(&b.1).then(b.2.total_cmp(&a.2)))
        .and_then(|(node, _, _)| node)
}
