//! The CPUs, cores, packages and nodes known from the text.

use std::collections::{BTreeMap, BTreeSet};

use machine::smbios::Populated;
use record::import::{Contradiction, Origin};
use record::machine::{CacheKind, Cpu, Node};
use record::{Coverage, CpuList, Machine};

use crate::facts::{CpuRow, Fact, Facts, Lscpu, Numactl, Values, contradict, key};

/// Fills in the counts, CPUs and nodes.
pub(super) fn fill(
    lscpu: &Lscpu,
    numactl: &Numactl,
    facts: &Facts,
    machine: &mut Machine,
    contradictions: &mut Vec<Contradiction>,
) {
    // If there are several rows for a CPU, use the last one.
    let rows: BTreeMap<u32, &CpuRow> = facts.rows.iter().map(|row| (row.cpu, row)).collect();
    let rows: Vec<&CpuRow> = rows.into_values().collect();
    let counts = &mut machine.counts;
    counts.cpus_present = lscpu.machine.count(key::CPUS).or(counts.cpus_present);
    counts.cpus_online = lscpu.machine.cpus(key::ONLINE).map(|list| list.len() as u32).or(counts.cpus_online);
    cores(lscpu, facts, machine, contradictions);
    let cpus = if rows.is_empty() { from_list(lscpu) } else { from_rows(&rows) };
    if !cpus.is_empty() {
        machine.cpus = cpus;
    }
    if rows.is_empty() {
        by_counts(machine);
    } else {
        count_rows(machine);
    }
    nodes(lscpu, numactl, facts, machine, contradictions);
}

/// The number of CPUs according to all outputs other than the rows of lscpu.
pub(super) fn known(lscpu: &Lscpu, numactl: &Numactl, facts: &Facts, machine: &Machine) -> usize {
    let (present, online) = (machine.counts.cpus_present, machine.counts.cpus_online);
    let counted = lscpu.machine.count(key::CPUS).max(present).max(online);
    let file =
        facts.files.get("/sys/devices/system/cpu/online").and_then(|file| file.value.trim().parse().ok());
    let of_nodes = numactl.nodes.values().filter_map(|node| node.cpus.as_ref()).map(|cpus| cpus.value.len());
    of_nodes.sum::<usize>().max(counted.unwrap_or(0) as usize).max(file.map_or(0, |list: CpuList| list.len()))
}

/// Notes that the cores and packages of the CPUs are unknown, and why.
pub(super) fn not_placed(facts: &Facts, machine: &Machine, coverage: &mut Vec<Coverage>) {
    let unknown = machine.cpus.iter().any(|cpu| cpu.online && cpu.core.is_none());
    let none = machine.cpus.is_empty();
    let reason = match facts.files.keys().any(|path| path.contains("/topology/")) {
        true if none => "the text contains the siblings of some CPUs, but not the list of all CPUs",
        _ if unknown || none && machine.counts.cpus_present.is_some() => {
            "the text contains the number of cores, but not the CPUs of each core"
        }
        _ => return,
    };
    let remedy = "also import the output of lscpu -e";
    coverage.push(Coverage::impossible("siblings and packages of each CPU", reason).with_remedy(remedy));
}

fn cores(lscpu: &Lscpu, facts: &Facts, machine: &mut Machine, contradictions: &mut Vec<Contradiction>) {
    let counts = &mut machine.counts;
    let product = |kind: &Values, one, other| kind.count(one)?.checked_mul(kind.count(other)?);
    // virsh nodeinfo prints the sockets of one node. Several nodes may share a package.
    let cells = lscpu.machine.count("cells").unwrap_or(1);
    let packages = |kind: &Values| kind.count(key::SOCKETS).filter(|_| cells == 1);
    let mut cores = Some(0_u32);
    for kind in &lscpu.kinds {
        // If a single kind of core is spread over clusters, lscpu shows no packages (Arm without firmware tables).
        let of_kind = product(kind, key::CORES_PER_SOCKET, key::SOCKETS)
            .and_then(|cores| cores.checked_mul(cells))
            .or_else(|| product(kind, "cores_per_cluster", "clusters"));
        cores = cores.zip(of_kind).and_then(|(sum, more)| sum.checked_add(more));
    }
    if let [kind] = lscpu.kinds.as_slice() {
        counts.packages = packages(kind).or(counts.packages);
        counts.clusters = kind.count("clusters").or(counts.clusters);
    }
    let most = counts.cpus_present.unwrap_or(u32::MAX);
    if lscpu.kinds.len() > 1 {
        // If a package has several kinds of core, the core count covers only one kind. If there is one thread per core, each CPU is a core.
        let single = lscpu.kinds.iter().all(|kind| kind.count(key::THREADS_PER_CORE) == Some(1));
        cores = counts.cpus_online.or(counts.cpus_present).filter(|_| single).or(cores);
    }
    counts.cores = cores.filter(|cores| (1..=most).contains(cores)).or(counts.cores);
    // If dmidecode shows fewer sockets than lscpu, its output is only an excerpt.
    let whole: Vec<_> = facts.sockets.iter().filter(|socket| socket.whole).collect();
    let sockets = lscpu.kinds.first().and_then(|kind| packages(kind).zip(kind.get(key::SOCKETS)));
    if let (Some((count, fact)), Some(named)) =
        (sockets, whole.iter().find_map(|socket| socket.name.as_ref()))
        && (count as usize) < whole.len()
    {
        let says = format!(
            "lscpu shows {count} packages, dmidecode shows {} populated sockets; the record uses lscpu",
            whole.len()
        );
        contradictions.push(contradict(says, &fact.origin, &named.origin));
    }
}

/// Fallback if there is no other source: the values on which all complete SMBIOS tables agree.
pub(super) fn by_firmware(facts: &Facts, machine: &mut Machine) -> Vec<(String, Origin)> {
    let [first, others @ ..] = facts.populated.as_slice() else { return Vec::new() };
    let known = [machine.counts.packages, machine.counts.cores, machine.counts.cpus_present];
    if known.iter().any(Option::is_some) || others.iter().any(|other| other.value != first.value) {
        return Vec::new();
    }
    let Populated { sockets, cores, threads } = first.value;
    let counts = &mut machine.counts;
    (counts.packages, counts.cores, counts.cpus_present) = (Some(sockets), cores, threads);
    let set = [("packages", Some(sockets)), ("cores", cores), ("cpus_present", threads)];
    let known = set.into_iter().filter(|(_, count)| count.is_some());
    known.map(|(name, _)| (format!("machine.counts.{name}"), first.origin.clone())).collect()
}

fn from_list(lscpu: &Lscpu) -> Vec<Cpu> {
    let Some(online) = lscpu.machine.cpus(key::ONLINE) else { return Vec::new() };
    let all = online.union(&lscpu.machine.cpus(key::OFFLINE).unwrap_or_default());
    all.iter()
        .map(|id| Cpu { id, online: online.contains(id), allowed: online.contains(id), ..Cpu::default() })
        .collect()
}

/// The core of a row, with its L1d cache if needed: on Arm the kernel may number cores within clusters that lscpu does not show. Unrelated
/// CPUs then have the same core number but separate L1d caches.
fn cores_of(rows: &[&CpuRow]) -> impl Fn(&CpuRow) -> Option<(u32, Option<u32>)> {
    let l1 = |row: &CpuRow| {
        row.caches.iter().find(|(cache, _)| *cache == (1, CacheKind::Data)).map(|(_, number)| *number)
    };
    let mut cores: BTreeMap<_, Vec<Option<u32>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.online && row.core.is_some()) {
        cores.entry((row.socket, row.cluster, row.core)).or_default().push(l1(row));
    }
    let sizes: BTreeSet<usize> = cores.values().map(Vec::len).collect();
    let apart = |l1: &Vec<Option<u32>>| {
        l1.len() > 1 && !l1.contains(&None) && l1.iter().collect::<BTreeSet<_>>().len() == l1.len()
    };
    let by_l1 = sizes.len() > 1 && cores.values().any(apart);
    move |row| Some((row.core?, l1(row).filter(|_| by_l1)))
}

fn from_rows(rows: &[&CpuRow]) -> Vec<Cpu> {
    let core_of = cores_of(rows);
    let mut numbers: [BTreeMap<[Option<u32>; 4], u32>; 3] = Default::default();
    let mut cpus: Vec<Cpu> = rows
        .iter()
        .map(|row| {
            // Cores, packages and clusters are numbered across the machine in the order of their lowest CPU, regardless of lscpu's own
            // numbers.
            let (core, l1) = core_of(row).unzip();
            let place = [row.socket, row.cluster, l1.flatten(), core];
            let mut number = |kind: usize, parts: usize| {
                let mut own = place;
                own[parts..].fill(None);
                own[parts - 1].map(|_| {
                    let next = numbers[kind].len() as u32;
                    *numbers[kind].entry(own).or_insert(next)
                })
            };
            Cpu {
                id: row.cpu,
                online: row.online,
                allowed: row.online,
                core: number(0, 4),
                package: number(1, 1),
                cluster: number(2, 2),
                node: row.node,
                max_hz: row.hz.0,
                min_hz: row.hz.1,
                ..Cpu::default()
            }
        })
        .collect();
    siblings(&mut cpus);
    cpus
}

fn siblings(cpus: &mut [Cpu]) {
    let mut by_core: BTreeMap<u32, CpuList> = BTreeMap::new();
    for cpu in cpus.iter().filter(|cpu| cpu.online) {
        if let Some(core) = cpu.core {
            by_core.entry(core).or_default().insert(cpu.id);
        }
    }
    for cpu in cpus.iter_mut().filter(|cpu| cpu.online) {
        cpu.siblings = cpu.core.and_then(|core| by_core.get(&core)).cloned().unwrap_or_default();
    }
}

/// Derives cores and packages from the counts alone. If there are as many cores as CPUs, each CPU is a core. A single core or package has
/// all CPUs.
fn by_counts(machine: &mut Machine) {
    let online = machine.cpus.iter().filter(|cpu| cpu.online).count() as u32;
    let (cores, packages) = (machine.counts.cores, machine.counts.packages);
    let mut next = 0;
    for cpu in machine.cpus.iter_mut().filter(|cpu| cpu.online) {
        cpu.core = match cores {
            Some(1) => Some(0),
            Some(cores) if cores == online => {
                next += 1;
                Some(next - 1)
            }
            _ => cpu.core,
        };
        cpu.package = (packages == Some(1)).then_some(0).or(cpu.package);
    }
    siblings(&mut machine.cpus);
}

fn count_rows(machine: &mut Machine) {
    let count = |of: fn(&Cpu) -> Option<u32>| {
        let numbers: BTreeSet<u32> = machine.cpus.iter().filter(|cpu| cpu.online).filter_map(of).collect();
        (!numbers.is_empty()).then_some(numbers.len() as u32)
    };
    let counts = &mut machine.counts;
    // If a table lists only online CPUs, the numbers that are missing from it may belong to offline CPUs or to lost lines.
    let last = machine.cpus.last().map_or(0, |cpu| cpu.id as usize);
    if last >= machine.cpus.len() && counts.cpus_online.is_none() && counts.cpus_present.is_none() {
        return;
    }
    counts.cores = count(|cpu| cpu.core).or(counts.cores);
    counts.packages = count(|cpu| cpu.package).or(counts.packages);
    counts.clusters = count(|cpu| cpu.cluster).or(counts.clusters);
    counts.cpus_present = counts.cpus_present.or(Some(machine.cpus.len() as u32));
    counts.cpus_online = Some(machine.cpus.iter().filter(|cpu| cpu.online).count() as u32);
}

fn nodes(
    lscpu: &Lscpu,
    numactl: &Numactl,
    facts: &Facts,
    machine: &mut Machine,
    contradictions: &mut Vec<Contradiction>,
) {
    let nodes = [key::NODES, "cells"].into_iter().find_map(|key| lscpu.machine.get(key));
    let counted = nodes.and_then(|fact| Some((fact.value.parse().ok()?, fact)));
    if let (Some((count, fact)), Some(available)) = (counted, &numactl.available)
        && count != available.value
    {
        let plural = if count == 1 { "" } else { "s" };
        let says = format!(
            "lscpu shows {count} NUMA node{plural}, numactl shows {}; the record uses numactl",
            available.value
        );
        contradictions.push(contradict(says, &fact.origin, &available.origin));
    }
    // The CPUs of each node are listed by numactl, by lscpu, or by both.
    let of_numactl = !numactl.nodes.is_empty();
    let mut ids: Vec<u32> = if of_numactl {
        numactl.nodes.keys().copied().collect()
    } else {
        lscpu.node_cpus.keys().copied().collect()
    };
    if ids.is_empty() {
        ids.clone_from(&numactl.columns);
    }
    let square = ids == numactl.columns;
    let node = |id: &u32| {
        let own = numactl.nodes.get(id);
        let cpus = if of_numactl { own.and_then(|node| node.cpus.as_ref()) } else { lscpu.node_cpus.get(id) };
        let row = numactl.distances.get(id).filter(|_| square);
        Node {
            id: *id,
            cpus: cpus.map(|cpus| cpus.value.clone()).unwrap_or_default(),
            bytes: own.and_then(|node| Fact::value_of(&node.bytes)),
            free_bytes: own.and_then(|node| Fact::value_of(&node.free)),
            distances: row.map(|row| row.value.clone()).unwrap_or_default(),
            allowed: true,
            ..Node::default()
        }
    };
    if !ids.is_empty() {
        machine.nodes = ids.iter().map(node).collect();
    }
    // Nodes without CPUs are counted, although lscpu may omit them from its lists.
    let in_lists: CpuList = lscpu.node_cpus.values().flat_map(|list| list.value.iter()).collect();
    let all = lscpu.machine.cpus(key::ONLINE).is_some_and(|online| online.is_subset(&in_lists));
    let listed = Some(ids.len() as u32).filter(|count| *count > 0 && (square || all || counted.is_some()));
    let nodes = Fact::value_of(&numactl.available).or(listed.max(counted.map(|(count, _)| count)));
    machine.counts.nodes = nodes.or(machine.counts.nodes);
    let is_whole = machine.counts.nodes.is_none_or(|nodes| nodes as usize == machine.nodes.len());
    let by_cpu: BTreeMap<u32, u32> =
        machine.nodes.iter().flat_map(|node| node.cpus.iter().map(move |cpu| (cpu, node.id))).collect();
    for cpu in &mut machine.cpus {
        cpu.node = by_cpu.get(&cpu.id).copied().or(cpu.node);
    }
    if machine.cpus.is_empty() {
        // Only numactl lists the CPUs.
        let cpu = |(id, node)| Cpu { id, online: true, allowed: true, node: Some(node), ..Cpu::default() };
        machine.cpus = by_cpu.into_iter().filter(|_| is_whole).map(cpu).collect();
    } else {
        within(lscpu, numactl, machine, contradictions);
    }
    let sizes: Option<u64> = machine.nodes.iter().map(|node| node.bytes).sum();
    let sizes = sizes.filter(|bytes| is_whole && machine.counts.nodes.is_some() && *bytes > 0);
    machine.memory_bytes = machine.memory_bytes.or(sizes).or(Fact::value_of(&facts.memory));
}

/// If the CPU lists of lscpu and of the nodes disagree, removes from the nodes all CPUs that are not in lscpu's list.
fn within(lscpu: &Lscpu, numactl: &Numactl, machine: &mut Machine, contradictions: &mut Vec<Contradiction>) {
    let known: CpuList = machine.cpus.iter().map(|cpu| cpu.id).collect();
    let Some(beyond) = machine.nodes.iter().find(|node| !node.cpus.is_subset(&known)) else { return };
    let fact = numactl.nodes.get(&beyond.id).and_then(|node| node.cpus.as_ref());
    let of_node = fact.or(lscpu.node_cpus.get(&beyond.id)).map(|fact| &fact.origin);
    let origins = [lscpu.machine.get(key::ONLINE).map(|fact| &fact.origin), of_node];
    let says = format!(
        "the machine has CPUs {known}, but node {} lists {}; the record uses the former",
        beyond.id, beyond.cpus
    );
    let origins = origins.into_iter().flatten().cloned().collect();
    contradictions.push(Contradiction { says, origins });
    for node in &mut machine.nodes {
        node.cpus = node.cpus.intersection(&known);
    }
}
