//! The probe: the memory latency of each node, the actual clock, and timer delay.

use std::time::Duration;

use measure::MemoryProbe;
use measure::watch::look_at_clock;
use os::pin;
use record::live::Probe;
use record::machine::Node;
use record::{CpuList, Summary};

/// Maximum number of nodes probed.
const MOST_NODES: usize = 16;

/// The probe of one node.
#[derive(Debug)]
struct OfNode {
    node: u32,
    /// CPUs of the node that this process may use; with several nodes, the probe runs on one of them.
    cpus: CpuList,
    probe: MemoryProbe,
    readings: Vec<f64>,
}

/// The probes of a machine.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    nodes: Vec<OfNode>,
    clocks: Vec<f64>,
    late_us: Vec<f64>,
}

impl Probes {
    /// Probes these nodes, provided that this process may allocate memory on them. Latency cannot be probed if this
    /// process cannot flush cache lines or if there is no free memory.
    pub(crate) fn new(nodes: &[Node], allowed: &CpuList) -> Self {
        let own = |node: &Node| node.cpus.iter().filter(|cpu| allowed.contains(*cpu)).collect::<CpuList>();
        let of = |node, cpus, probe| OfNode { node, cpus, probe, readings: Vec::new() };
        let probed = nodes.iter().filter(|node| node.allowed && !own(node).is_empty()).take(MOST_NODES);
        let several = nodes.len() > 1;
        let probes = probed.filter_map(|node| {
            let probe = MemoryProbe::new(several.then_some(node.id)).ok()??;
            Some(of(node.id, own(node), probe))
        });
        let mut nodes: Vec<OfNode> = probes.collect();
        if nodes.is_empty() && !several {
            let probe = MemoryProbe::new(None).ok().flatten();
            nodes.extend(probe.map(|probe| of(0, CpuList::default(), probe)));
        }
        Self { nodes, ..Self::default() }
    }

    /// Whether memory latency can be probed.
    pub(crate) fn hears_memory(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Adds the delay of the timer that woke the probe.
    pub(crate) fn listen(&mut self, late: Duration) {
        self.late_us.push(late.as_secs_f64() * 1e6);
    }

    /// Reads the clock, and probes the memory of each node once. In the first microseconds after a sleep, the core
    /// is 10 % slower, because code is loaded from memory and interrupts finish. The best of several readings is
    /// therefore used, as in a measurement.
    pub(crate) fn hear_memory(&mut self) {
        self.clocks.push(look_at_clock());
        let several = self.nodes.len() > 1;
        let home = several.then(pin::allowed).flatten();
        for one in &mut self.nodes {
            if several && pin::bind_thread(0, &one.cpus).is_err() {
                continue;
            }
            one.readings.extend(one.probe.read());
        }
        if let Some(home) = home {
            // This call fails if the process may now use fewer CPUs than before; the recording is unaffected.
            let _ = pin::bind_thread(0, &home);
        }
    }

    /// The readings since the last call.
    pub(crate) fn take(&mut self) -> Option<Probe> {
        let summary = |all: &mut Vec<f64>| {
            let all = std::mem::take(all);
            (!all.is_empty()).then(|| Summary::from_samples(&all))
        };
        let median = |all: &mut Vec<f64>| summary(all).map(|all| all.median);
        let (clock_hz, late_us) = (median(&mut self.clocks), median(&mut self.late_us));
        let mut probe = Probe { clock_hz, late_us, ..Probe::default() };
        for one in &mut self.nodes {
            let Some(latency) = summary(&mut one.readings) else { continue };
            probe.latency_ns.insert(one.node, latency.median);
            probe.latency_interval_ns.extend(latency.interval.map(|interval| (one.node, interval)));
        }
        probe.clock_hz.is_some().then_some(probe)
    }
}
