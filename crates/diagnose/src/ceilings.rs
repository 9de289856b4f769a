//! The ceilings of a machine, derived from its records. Commands are compared with these ceilings.

use std::collections::BTreeMap;

use record::command_run::{Ceilings, CurvePoint, ProbePoint};
use record::{Label, Measurement, Metric, Record, Summary, metrics};

use crate::latency_curve;
use crate::record_index::RecordIndex;

/// The reliable ceilings of a record. For memory, they are based only on working sets larger than the caches.
pub(crate) fn collect_ceilings(record: &Record) -> Ceilings {
    let sure = |metric: Metric| record.measurements_of(metric).filter(|m| m.doubt.is_none());
    let most = |values: &mut dyn Iterator<Item = f64>| values.filter(|v| v.is_finite()).reduce(f64::max);
    let mut ipc: BTreeMap<String, f64> = BTreeMap::new();
    for m in sure(metrics::CORE_IPC) {
        let alone = m.labels.count(Label::Threads).is_none_or(|threads| threads == 1);
        let is_work = |name: &&str| *name != "command" && !Ceilings::NOPS.contains(name) && alone;
        if let Some(name) = m.labels.word(Label::Workload).filter(is_work) {
            let known = ipc.entry(name.to_owned()).or_default();
            *known = known.max(m.value());
        }
    }
    let clocks = || sure(metrics::CORE_CLOCK).filter(|m| m.labels.word(Label::Vector) == Some("scalar"));
    let of_all = clocks().filter(|m| m.labels.word(Label::Active) == Some("all")).map(Measurement::value);
    let of_all: Vec<f64> = of_all.filter(|hz| hz.is_finite()).collect();
    // Each last-level cache miss transfers one line.
    let reads = || {
        record.measurements_of(metrics::MEMORY_BANDWIDTH).filter(|m| m.labels.word(Label::Op) == Some("read"))
    };
    let usable = |m: &&Measurement| m.doubt.is_none() && crate::resources::beyond_caches(record, m);
    let one = reads().filter(|m| m.labels.count(Label::Threads) == Some(1)).filter(usable);
    // All ceilings apply to the whole machine, regardless of the limits of a run.
    let threads = reads().filter_map(|m| m.labels.count(Label::Threads)).max();
    let cores = record.machine.one_cpu_a_core(&record.machine.allowed_cpus()).len() as u64;
    let every = reads().filter(|m| m.labels.count(Label::Threads) == threads && threads >= Some(cores));
    let latency = record.diagnosis.resources.iter().find(|r| r.name == crate::resources::MEMORY_LATENCY);
    let latency = latency.filter(|resource| resource.doubt.is_none() && resource.delivered.is_finite());
    Ceilings {
        ipc,
        clock_hz: most(&mut clocks().map(Measurement::value)),
        clock_all_hz: (!of_all.is_empty()).then(|| Summary::from_samples(&of_all).median),
        bandwidth_one: most(&mut one.map(Measurement::value)),
        bandwidth_all: most(&mut every.filter(usable).map(Measurement::value)),
        latency_ns: latency.map(|resource| resource.delivered),
        curve: curve(record),
        probe: probe_curve(record),
        ..Ceilings::default()
    }
}

/// The latency curve, if a reliable curve was measured.
fn curve(record: &Record) -> Vec<CurvePoint> {
    let index = RecordIndex::new(record);
    let sure = index
        .curve()
        .into_iter()
        .flat_map(|curve| &curve.points)
        .filter(|m| m.doubt.is_none() && m.value().is_finite() && m.value() > 0.0);
    let mut points: Vec<CurvePoint> =
        sure.map(|m| CurvePoint { bytes: latency_curve::size_of(m), ns: m.value() }).collect();
    points.sort_by_key(|point| point.bytes);
    if points.len() < latency_curve::LEAST_POINTS { Vec::new() } else { points }
}

/// The probe's latency under increasing load; empty if fewer than three load levels have reliable results.
fn probe_curve(record: &Record) -> Vec<ProbePoint> {
    let sure = record.measurements_of(metrics::PROBE_LATENCY).filter(|m| m.doubt.is_none());
    let points = sure.filter_map(|m| {
        let bandwidth = m.labels.number(Label::Bandwidth).filter(|bandwidth| bandwidth.is_finite())?;
        Some(ProbePoint { bandwidth, ns: m.value() }).filter(|point| point.ns.is_finite() && point.ns > 0.0)
    });
    let mut points: Vec<ProbePoint> = points.collect();
    points.sort_by(|a, b| a.bandwidth.total_cmp(&b.bandwidth));
    if points.len() < 3 { Vec::new() } else { points }
}

/// The known ceilings, each replaced by a new result if that is better, because load from other processes can only make results worse. Each
/// new ceiling stores the date and the file of its record.
pub(crate) fn update_ceilings(old: Ceilings, new: Ceilings, day: &str, file: Option<&str>) -> Ceilings {
    let mut all = old;
    let mut better = Vec::new();
    for (workload, ipc) in new.ipc {
        let known = all.ipc.entry(workload.clone()).or_default();
        if ipc > *known {
            *known = ipc;
            better.push(Ceilings::ipc_name(&workload));
        }
    }
    for (name, known, figure, less) in [
        ("clock_hz", &mut all.clock_hz, new.clock_hz, false),
        ("clock_all_hz", &mut all.clock_all_hz, new.clock_all_hz, false),
        ("bandwidth_one", &mut all.bandwidth_one, new.bandwidth_one, false),
        ("bandwidth_all", &mut all.bandwidth_all, new.bandwidth_all, false),
        ("latency_ns", &mut all.latency_ns, new.latency_ns, true),
    ] {
        if let Some(figure) = figure
            && known.is_none_or(|known| if less { figure < known } else { figure > known })
        {
            *known = Some(figure);
            better.push(name.to_owned());
        }
    }
    // The size of the caches may change with the host's placement, so the newest record counts.
    if !new.curve.is_empty() && new.curve != all.curve {
        all.curve = new.curve;
        better.push("curve".to_owned());
    }
    // The whole curve is taken from a single run: the quieter one, judged by the latency without load.
    let idle = |curve: &[ProbePoint]| curve.first().map(|point| point.ns);
    if let Some(new_idle) = idle(&new.probe)
        && idle(&all.probe).is_none_or(|known| new_idle < known)
    {
        all.probe = new.probe;
        better.push("probe".to_owned());
    }
    for name in better {
        all.days.insert(name.clone(), day.to_owned());
        match file {
            Some(file) => all.records.insert(name, file.to_owned()),
            None => all.records.remove(&name),
        };
    }
    all
}
