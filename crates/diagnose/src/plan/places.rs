//! The results of placement checks on which a layout may rely: cores and domains that Linux does not report, and CPUs that Linux
//! wrongly reports as siblings.

use std::collections::BTreeMap;

use record::shape::{Motion, Shape, Topology};
use record::text::Value;
use record::{CpuList, Record, Text, phrase, text};

use crate::shape::joined;

/// Minimum number of checks for a layout to rely on them.
pub(super) const LEAST_LOOKS: u32 = 4;
/// If a pair shares a core in less than one check out of this many, it shares the core only temporarily.
const STAYS: u32 = 2;
/// Maximum number of named pairs.
const NAMED: usize = 4;

/// Cores and domains on which a layout may rely; empty without placement checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Places {
    /// CPUs that stay on one core although Linux reports separate cores; one list per core.
    pub cores: Vec<CpuList>,
    /// Siblings reported by Linux that do not slow each other down.
    pub separate: Vec<(u32, u32)>,
    /// Domains that Linux does not report and that the CPUs never leave. There are either none or several.
    pub domains: Vec<CpuList>,
    shape: Option<Shape>,
}

impl Places {
    /// Reads a record's shape.
    pub(super) fn find(shape: Option<&Shape>) -> Self {
        let Some(shape) = shape.filter(|shape| shape.looks >= LEAST_LOOKS) else { return Self::default() };
        let stays = shape.shared_cores.iter().filter(|one| !one.shown && one.looks * STAYS >= shape.looks);
        let fixed = shape.motion == Motion::Pinned && shape.topology == Topology::Finer;
        let last = shape.states.iter().flatten().next_back().filter(|_| fixed);
        Self {
            cores: joined(stays.map(|one| one.pair)),
            separate: shape.siblings_not_confirmed.clone(),
            domains: last.and_then(|state| state.domains.last().cloned()).unwrap_or_default(),
            shape: Some(shape.clone()),
        }
    }

    /// Assigns the CPUs of each hidden core to one core, and false siblings to separate cores.
    pub(super) fn correct(&self, core_of: &mut BTreeMap<u32, u32>) {
        self.separate.iter().for_each(|(_, second)| _ = core_of.remove(second));
        for core in &self.cores {
            let Some(first) = core.first() else { continue };
            let number = core_of.get(&first).copied().unwrap_or(first);
            core.iter().for_each(|cpu| _ = core_of.insert(cpu, number));
        }
    }

    /// The domain number of each CPU; `None` if any CPU's domain is unknown.
    pub(super) fn domain_of(&self, cpus: &CpuList) -> Option<BTreeMap<u32, usize>> {
        let at = |cpu: u32| self.domains.iter().position(|domain| domain.contains(cpu));
        let known: Option<BTreeMap<u32, usize>> = cpus.iter().map(|cpu| Some((cpu, at(cpu)?))).collect();
        known.filter(|_| self.domains.len() > 1)
    }

    /// The reason for one thread per core if the SMT yield was not measured.
    pub(super) fn one_a_core(&self) -> Option<Text> {
        let cores = self.cores.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>();
        let more = self.cores.len().saturating_sub(NAMED);
        (!self.cores.is_empty()).then(|| {
            text!(
                "plan-cores-by-looks",
                "{cpus} share a core, although Linux shows them as separate cores: they slow each other down when both are busy.",
                cpus = match more {
                    0 => format!("CPUs {}", phrase::join_list(&cores)),
                    more => format!("CPUs {} and those of {more} more cores", cores.join(", ")),
                }
            )
        })
    }

    /// Describes the domains, and the cost of a cache-line transfer within and between them.
    pub(super) fn domains_say(&self) -> Text {
        let domains: Vec<String> = self.domains.iter().map(ToString::to_string).collect();
        let mut says = text!(
            "plan-hidden-domains",
            "The CPUs are in {count} packages or dies that Linux does not show: {domains}. The plan has one process for each.",
            count = domains.len(),
            domains = domains.join(" | ")
        );
        let distances = self.shape.iter().flat_map(|shape| &shape.distances).map(|of| of.median_ns);
        let distances: Vec<f64> = distances.collect();
        if let [near, .., far] = distances[..] {
            says.push(text!(
                "A cache-line transfer takes {near} within a domain and {far} between domains.",
                near = Value::Figure(near, "ns"),
                far = Value::Figure(far, "ns")
            ));
        }
        says
    }

    /// Cautions: properties that the layout cannot guarantee, and differences from Linux's topology.
    pub(super) fn cautions(&self) -> impl Iterator<Item = Text> {
        let moves = self.shape.as_ref().filter(|shape| shape.motion == Motion::Floating).map(|shape| {
            let hidden = shape.shared_cores.iter().filter(|one| !one.shown);
            let all: CpuList = hidden.flat_map(|one| [one.pair.0, one.pair.1]).collect();
            let mut says = text!(
                "plan-cpus-move",
                "The hypervisor moves the vCPUs ({changes} in {looks} placement checks), so no layout in this guest can keep two threads on separate cores or near each other. The host's administrator can pin the vCPUs.",
                changes = phrase::count_noun(u64::from(shape.changes), "change"),
                looks = shape.looks
            );
            if !all.is_empty() {
                says.push(text!("CPUs {cpus} sometimes shared cores: expect the throughput of fewer cores.", cpus = &all));
            }
            says
        });
        let separate = (!self.separate.is_empty()).then(|| {
            text!(
                "plan-siblings-not-confirmed",
                "{pairs} of CPUs that Linux shows as SMT siblings do not slow each other down, so they count as separate cores.",
                pairs = phrase::count_noun(self.separate.len() as u64, "pair")
            )
        });
        [moves, separate].into_iter().flatten()
    }

    /// The note that the layout relies on the topology shown by the hypervisor.
    pub(super) fn unknown(&self, record: &Record) -> Option<Text> {
        let several = record.machine.cpus.len() > 1 && record.machine.is_virtual() && record.import.is_none();
        (several && self.shape.is_none()).then(|| {
            text!(
                "plan-places-as-shown",
                "Core sharing between vCPUs was not measured (linespeed run does that), so the plan uses the cores shown by the hypervisor."
            )
        })
    }

    /// The placement checks on which the layout is based.
    pub(super) fn source(&self, record: &Record) -> Option<Text> {
        let shape = self.shape.as_ref()?;
        let at = shape.looked_at.as_ref().unwrap_or(&record.started);
        let day = at.get(..10).unwrap_or_default().to_owned();
        Some(text!(
            "plan-places",
            "cores and domains from {looks} placement checks on {day}",
            looks = shape.looks,
            day
        ))
    }
}
