//! The topology of the machine as a tree: packages, nodes, dies, clusters, caches, cores and CPUs, nested as on this machine.

use std::collections::BTreeMap;

use record::machine::CacheKind;
use record::{CpuList, Machine, units};

use super::memory::cache_name;
use super::placement::online_by;
use record::phrase::count_noun;

/// Kinds of parts that enclose CPUs. If two kinds have the same number of parts, the one listed first is the outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A package.
    Package,
    /// A NUMA node.
    Node,
    /// A die.
    Die,
    /// A cache, shared by several cores or private to one.
    Cache,
    /// A cluster of cores.
    Cluster,
    /// A core.
    Core,
}

/// The name of a part: its kind, which similar parts share, and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The kind of part.
    pub kind: Kind,
    /// `package`, `L3 32 MiB`, `node`.
    pub what: String,
    /// A node's memory: `188 GiB`.
    pub memory: Option<String>,
    /// The number of the part, if users need it for commands.
    pub number: Option<u32>,
}

impl Label {
    /// A part without a number.
    fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), memory: None, number: None }
    }

    /// `package 0`, `L3 32 MiB`; a node's memory follows its number.
    pub(crate) fn text(&self) -> String {
        let number = self.number.map(|number| format!(" {number}")).unwrap_or_default();
        let memory = self.memory.as_ref().map(|memory| format!(", {memory}")).unwrap_or_default();
        format!("{}{number}{memory}", self.what)
    }
}

/// A part of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// The part's names: several if different parts enclose the same CPUs (an L2 and its core).
    pub labels: Vec<Label>,
    /// The CPUs in the part.
    pub cpus: CpuList,
    /// The smaller parts inside it, in order of their lowest CPU.
    pub parts: Vec<Part>,
}

/// Consecutive similar parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run<'a> {
    /// The parts; at least one.
    pub parts: &'a [Part],
}

impl Run<'_> {
    /// The name of the parts: with the number if there is only one part, otherwise without numbers.
    pub(crate) fn what(&self) -> String {
        if let [part] = self.parts {
            return part.name();
        }
        let labels = self.parts.first().map_or(&[][..], |part| &part.labels);
        labels.iter().map(|label| label.what.as_str()).collect::<Vec<_>>().join(" · ")
    }

    /// What each part contains: `8 × L2 1 MiB · core of 2 CPUs`.
    pub(crate) fn inside(&self) -> Option<String> {
        let part = self.parts.first()?;
        let runs = part.runs();
        (!runs.is_empty()).then(|| runs.iter().map(Run::counted).collect::<Vec<_>>().join(" and "))
    }

    /// `8 × L2 1 MiB · core of 2 CPUs`.
    fn counted(&self) -> String {
        let cpus = self.parts.first().map_or(0, |part| part.cpus.len());
        format!("{} × {} of {}", self.parts.len(), self.what(), count_noun(cpus, "CPU"))
    }

    /// The CPUs of each part (`0,32` and `1,33`), or a single list if each part has one CPU. If there are more than
    /// `most` parts, the list is shortened to the first ones, `…` and the last one.
    pub(crate) fn members(&self, most: usize) -> Vec<String> {
        if self.parts.iter().all(|part| part.cpus.len() == 1) {
            let all: CpuList = self.parts.iter().flat_map(|part| part.cpus.iter()).collect();
            return vec![all.to_string()];
        }
        let mut lists: Vec<String> = self.parts.iter().map(|part| part.cpus.to_string()).collect();
        if lists.len() > most.max(2) {
            lists.drain(most.max(2) - 1..lists.len() - 1);
            lists.insert(lists.len() - 1, "…".to_owned());
        }
        lists
    }

    /// Whether the parts are drawn as one row: always for the innermost parts, and on large machines also for caches,
    /// clusters and cores.
    pub(crate) fn joined(&self, wide: bool) -> bool {
        let Some(part) = self.parts.first() else { return true };
        let inner = part.labels.iter().all(|of| matches!(of.kind, Kind::Cache | Kind::Cluster | Kind::Core));
        part.parts.is_empty() || (wide && inner && self.parts.len() > 1)
    }
}

impl Part {
    /// The names of the part.
    pub(crate) fn name(&self) -> String {
        self.labels.iter().map(Label::text).collect::<Vec<_>>().join(" · ")
    }

    /// The parts inside this part, with consecutive similar parts combined.
    pub(crate) fn runs(&self) -> Vec<Run<'_>> {
        self.parts.chunk_by(|a, b| a.like(b)).map(|parts| Run { parts }).collect()
    }

    /// Whether another part differs only in its numbers.
    fn like(&self, other: &Part) -> bool {
        self.cpus.len() == other.cpus.len()
            && self.labels.len() == other.labels.len()
            && self.labels.iter().zip(&other.labels).all(|(a, b)| a.kind == b.kind && a.what == b.what)
            && self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(a, b)| a.like(b))
    }
}

/// A way of dividing the CPUs into groups.
struct Division {
    kind: Kind,
    /// Nesting level among caches; higher levels are further out.
    level: u32,
    groups: Vec<(Label, CpuList)>,
}

/// The machine as a tree of its online CPUs. Parts that overlap (a node in two packages) are split into parts that do not.
pub(crate) fn tree(machine: &Machine) -> Part {
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let mut divisions = divisions(machine);
    divisions.sort_by_key(|d| (d.groups.len(), d.kind, std::cmp::Reverse(d.level)));
    let mut root = Part { labels: Vec::new(), parts: split(&online, &divisions), cpus: online };
    merge(&mut root);
    root
}

/// The nodes without CPUs, in words.
pub(crate) fn without_cpus(machine: &Machine) -> impl Iterator<Item = String> {
    machine.nodes.iter().filter(|node| node.cpus.is_empty()).map(|node| {
        let memory = node.bytes.map_or("memory unknown".to_owned(), units::bytes);
        format!("node {}, {memory}, no CPUs", node.id)
    })
}

fn divisions(machine: &Machine) -> Vec<Division> {
    let by = |kind: Kind, what: &str, of: fn(&record::machine::Cpu) -> Option<u32>| {
        let numbered = kind == Kind::Package;
        let label = |number| Label { number: numbered.then_some(number), ..Label::new(kind, what) };
        let groups = online_by(machine, of).into_iter().map(|(number, cpus)| (label(number), cpus)).collect();
        Division { kind, level: 0, groups }
    };
    let nodes = machine.nodes.iter().filter(|node| !node.cpus.is_empty()).map(|node| {
        let memory = node.bytes.map(units::bytes);
        (Label { memory, number: Some(node.id), ..Label::new(Kind::Node, "node") }, node.cpus.clone())
    });
    let mut divisions = vec![
        by(Kind::Package, "package", |cpu| cpu.package),
        Division { kind: Kind::Node, level: 0, groups: nodes.collect() },
        by(Kind::Die, "die", |cpu| cpu.die),
        by(Kind::Cluster, "cluster", |cpu| cpu.cluster),
        by(Kind::Core, "core", |cpu| cpu.core),
    ];
    let mut caches: BTreeMap<(u32, CacheKind), Vec<(Label, CpuList)>> = BTreeMap::new();
    for cache in &machine.caches {
        let size = cache.bytes.map(|bytes| format!(" {}", units::bytes(bytes))).unwrap_or_default();
        let label = Label::new(Kind::Cache, format!("{}{size}", cache_name(cache)));
        caches.entry((cache.level, cache.kind)).or_default().push((label, cache.cpus.clone()));
    }
    let of_level = |((level, _), groups)| Division { kind: Kind::Cache, level, groups };
    divisions.extend(caches.into_iter().map(of_level));
    divisions.retain(|division| !division.groups.is_empty());
    divisions
}

/// The parts that contain these CPUs.
fn split(cpus: &CpuList, divisions: &[Division]) -> Vec<Part> {
    let Some((division, inner)) = divisions.split_first() else { return Vec::new() };
    let mut groups: BTreeMap<Option<usize>, CpuList> = BTreeMap::new();
    for cpu in cpus {
        let group = division.groups.iter().position(|(_, cpus)| cpus.contains(cpu));
        groups.entry(group).or_default().insert(cpu);
    }
    let mut parts = Vec::new();
    for (group, cpus) in groups {
        let inside = split(&cpus, inner);
        match group {
            Some(at) => parts.push(Part { labels: vec![division.groups[at].0.clone()], cpus, parts: inside }),
            // This division does not contain these CPUs, so the inner divisions replace it.
            None if !inside.is_empty() => parts.extend(inside),
            None => parts.extend(cpus.iter().map(|cpu| Part {
                labels: vec![Label::new(Kind::Core, "CPU")],
                cpus: [cpu].into_iter().collect(),
                parts: Vec::new(),
            })),
        }
    }
    parts.sort_by_key(|part| part.cpus.first());
    parts
}

/// Merges parts that enclose the same CPUs.
fn merge(part: &mut Part) {
    while !part.labels.is_empty() && part.parts.len() == 1 && part.parts[0].cpus == part.cpus {
        let Some(inner) = part.parts.pop() else { break };
        // A package with a single die needs no mention.
        part.labels.extend(inner.labels.into_iter().filter(|label| label.kind != Kind::Die));
        part.parts = inner.parts;
    }
    for inner in &mut part.parts {
        merge(inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::machine::{Cache, Cpu, Node};

    fn machine(packages: u32, cores: u32, nodes: impl Fn(u32) -> u32) -> Machine {
        let all = packages * cores;
        let cpu = |id: u32| Cpu {
            id,
            online: true,
            core: Some(id % all),
            package: Some(id % all / cores),
            node: Some(nodes(id % all)),
            ..Cpu::default()
        };
        let mut machine = Machine { cpus: (0..2 * all).map(cpu).collect(), ..Machine::default() };
        for core in 0..all {
            machine.caches.push(Cache {
                level: 2,
                kind: CacheKind::Unified,
                bytes: Some(1 << 20),
                line: None,
                ways: None,
                cpus: [core, core + all].into_iter().collect(),
            });
        }
        for id in 0..=nodes(all - 1) {
            let cpus = machine.cpus.iter().filter(|cpu| cpu.node == Some(id)).map(|cpu| cpu.id).collect();
            machine.nodes.push(Node { id, cpus, bytes: Some(1 << 30), ..Node::default() });
        }
        machine
    }

    #[test]
    fn a_package_of_one_core_keeps_its_number() {
        let mut machine = machine(3, 2, |id| id / 2);
        // The second package has one core left.
        machine.cpus.retain(|cpu| cpu.id != 3);
        let tree = tree(&machine);
        let runs: Vec<String> = tree.runs().iter().map(Run::what).collect();
        assert!(runs.iter().any(|what| what.contains("package 1")), "{runs:?}");
    }

    #[test]
    fn cores_alike_are_one_run_with_their_siblings() {
        let tree = tree(&machine(2, 16, |core| core / 16));
        assert_eq!(tree.parts.len(), 2);
        assert_eq!(tree.parts[0].name(), "package 0 · node 0, 1 GiB");
        let runs = tree.parts[0].runs();
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].what(), "L2 1 MiB · core");
        assert!(runs[0].members(32).starts_with(&["0,32", "1,33", "2,34"].map(str::to_owned)));
        assert_eq!(runs[0].members(2), ["0,32", "…", "15,47"]);
    }

    #[test]
    fn a_node_over_two_packages_stands_outside_them() {
        let tree = tree(&machine(4, 4, |core| core / 8));
        assert_eq!(tree.parts.iter().map(Part::name).collect::<Vec<_>>(), ["node 0, 1 GiB", "node 1, 1 GiB"]);
        assert_eq!(tree.parts[0].parts[1].name(), "package 1");
    }

    #[test]
    fn crossed_and_missing_divisions_lose_no_cpu() {
        let mut machine = machine(2, 4, |core| (core + 2) / 4);
        machine.cpus[3].package = None;
        machine.cpus[5].core = None;
        machine.caches.truncate(3);
        fn leaves(part: &Part, found: &mut Vec<u32>) {
            if part.parts.is_empty() {
                found.extend(part.cpus.iter());
            }
            part.parts.iter().for_each(|part| leaves(part, found));
        }
        let mut found = Vec::new();
        leaves(&tree(&machine), &mut found);
        found.sort_unstable();
        assert_eq!(found, (0..16).collect::<Vec<_>>());
    }
}
