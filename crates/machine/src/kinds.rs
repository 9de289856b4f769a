//! The kind of core of each CPU, on machines with several kinds; `None` on all others.
//!
//! On Intel, the kernel lists the CPUs of each kind with their counters; Arm cores have names (MIDR). On other
//! machines, the kernel's capacities or the design determine the kind: cores with different first-level caches, or with
//! very different highest clocks (AMD's dense cores, which have the same caches), are of different kinds.

use std::collections::BTreeMap;

use record::machine::{CacheKind, Cpu};
use record::{Coverage, CpuList, Machine};

use crate::cpus::{CPUS, cpu_mut, online_of, set_each};
use crate::midr::{self, Midr};
use crate::root::Root;
use crate::text::number;

/// The files that list the CPUs of each counter unit, and Intel's name for that kind of core.
const INTEL: [(&str, &str); 3] = [
    ("/sys/devices/cpu_core/cpus", "performance"),
    ("/sys/devices/cpu_atom/cpus", "efficiency"),
    ("/sys/devices/cpu_lowpower/cpus", "low-power"),
];

/// Highest clocks that differ by this factor belong to different designs. Favored cores of one design differ by up to
/// 10 % (Intel's Turbo Boost Max 3.0, AMD's preferred cores); dense cores run at least 25 % slower (3.5 compared
/// with 4.9 GHz on a Ryzen 5 7545U, 3.3 compared with 5.1 GHz on a Ryzen AI 9 HX 370, in AMD's tables).
const FAR_APART: f64 = 1.25;

/// Maximum plausible capacity. Capacities are relative to 1024, the capacity of the fastest core. Firmware may report a
/// slightly higher value.
const MAX_CAPACITY: u32 = 4096;

/// Fills in the kinds of cores and the kernel's relative capacities. Caches and clocks must already have been read.
pub(crate) fn read(root: &Root, machine: &mut Machine, _coverage: &mut Vec<Coverage>) {
    let online = online_of(machine);
    capacities(root, &online, &mut machine.cpus);
    let kinds = from_intel(root, &online)
        .or_else(|| from_midr(root, &online))
        .or_else(|| from_capacities(machine, &online))
        .or_else(|| from_first_level(machine, &online))
        .or_else(|| from_clocks(machine, &online));
    set(machine, kinds);
}

fn set(machine: &mut Machine, kinds: Kinds) {
    for (cpu, kind) in kinds.unwrap_or_default() {
        if let Some(cpu) = cpu_mut(&mut machine.cpus, cpu) {
            cpu.kind = Some(kind);
        }
    }
}

/// Like `read`, but for a machine described by other tools: the kinds are determined only from caches and clocks.
pub fn by_design(machine: &mut Machine) {
    let online = online_of(machine);
    let known = machine.cpus.iter().any(|cpu| cpu.kind.is_some());
    let kinds = from_first_level(machine, &online).or_else(|| from_clocks(machine, &online));
    set(machine, kinds.filter(|_| !known));
}

/// The kind of each CPU; empty if there is only one kind, `None` if the kinds are unknown.
type Kinds = Option<BTreeMap<u32, String>>;

fn capacities(root: &Root, online: &CpuList, cpus: &mut [Cpu]) {
    let capacity = |cpu: u32| {
        let capacity: u32 = root.number(&format!("{CPUS}/cpu{cpu}/cpu_capacity"))?;
        if (1..=MAX_CAPACITY).contains(&capacity) { Some(capacity) } else { None }
    };
    // If the first two CPUs have no capacity, no CPU has one.
    if online.iter().take(2).all(|cpu| capacity(cpu).is_none()) {
        return;
    }
    set_each(cpus, online, |cpu| cpu.capacity = capacity(cpu.id));
}

fn from_intel(root: &Root, online: &CpuList) -> Kinds {
    let mut kinds = BTreeMap::new();
    let mut groups = 0;
    for (path, kind) in INTEL {
        let cpus = root.cpu_list(path).unwrap_or_default().intersection(online);
        groups += usize::from(!cpus.is_empty());
        // The first list that contains a CPU is used.
        for cpu in &cpus {
            kinds.entry(cpu).or_insert_with(|| kind.to_owned());
        }
    }
    // A guest in which only one kind is visible is not hybrid.
    if groups >= 2 { Some(kinds) } else { None }
}

fn from_midr(root: &Root, online: &CpuList) -> Kinds {
    // x86 has no such register, and the kernel generates `/proc/cpuinfo` slowly there.
    (!root.is_live() || cfg!(target_arch = "aarch64")).then_some(())?;
    let mut midrs = midrs_in_cpuinfo(&root.text("/proc/cpuinfo").unwrap_or_default());
    midrs.retain(|cpu, _| online.contains(*cpu));
    // Some kernels print implementer and part only once for all CPUs, and then only the last CPU has an entry.
    if midrs.len() < online.len() {
        let register = |cpu: u32| Midr::of_cpu(root, cpu).map(|midr| (cpu, (midr.implementer, midr.part)));
        // If the first CPU has no such file, no CPU has one.
        register(online.first()?)?;
        midrs = online.iter().filter_map(register).collect();
    }
    (midrs.len() >= online.len()).then_some(())?;
    let mut distinct: Vec<(u32, u32)> = midrs.values().copied().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < 2 {
        // Cores with the same name are of one kind, regardless of their clocks.
        return Some(BTreeMap::new());
    }
    let name = |(implementer, part): (u32, u32)| match midr::name(implementer, part) {
        Some(name) => name.to_owned(),
        None => format!("{implementer:#04x}:{part:#05x}"),
    };
    Some(midrs.into_iter().map(|(cpu, midr)| (cpu, name(midr))).collect())
}

/// Implementer and part of each processor in `/proc/cpuinfo` of an arm64 kernel.
fn midrs_in_cpuinfo(text: &str) -> BTreeMap<u32, (u32, u32)> {
    let mut midrs = BTreeMap::new();
    let (mut cpu, mut implementer) = (None, None);
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = || number(value).and_then(|number| u32::try_from(number).ok());
        match key.trim() {
            "processor" => (cpu, implementer) = (value(), None),
            "CPU implementer" => implementer = value(),
            "CPU part" => {
                if let (Some(cpu), Some(implementer), Some(part)) = (cpu, implementer, value()) {
                    midrs.insert(cpu, (implementer, part));
                }
            }
            _ => {}
        }
    }
    midrs
}

/// Classes of capacities, each far above the previous one.
fn from_capacities(machine: &Machine, online: &CpuList) -> Kinds {
    let mut capacities: Vec<u32> =
        machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.capacity).collect::<Option<_>>()?;
    capacities.sort_unstable();
    let steps = capacities.windows(2).filter(|pair| f64::from(pair[1]) >= f64::from(pair[0]) * FAR_APART);
    let starts: Vec<u32> = steps.map(|pair| pair[1]).collect();
    let class = |cpu: &Cpu| cpu.capacity.map(|capacity| starts.partition_point(|start| *start <= capacity));
    name_by_speed(machine, online, class)
}

/// Size and ways of the first-level data and instruction caches, which identify a core's design.
type FirstLevel = [(u64, u32); 2];

fn from_first_level(machine: &Machine, online: &CpuList) -> Kinds {
    let mut first: BTreeMap<u32, FirstLevel> = BTreeMap::new();
    for cache in machine.caches.iter().filter(|cache| cache.level == 1) {
        let slot = usize::from(cache.kind == CacheKind::Instruction);
        for cpu in &cache.cpus {
            first.entry(cpu).or_default()[slot] = (cache.bytes?, cache.ways.unwrap_or(0));
        }
    }
    (first.len() >= online.len()).then_some(())?;
    name_by_speed(machine, online, |cpu| first.get(&cpu.id).copied())
}

fn from_clocks(machine: &Machine, online: &CpuList) -> Kinds {
    let clocks: Vec<u64> =
        machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.max_hz).collect::<Option<_>>()?;
    let (low, high) = (clocks.iter().min()?, clocks.iter().max()?);
    if (*high as f64) < *low as f64 * FAR_APART {
        return None;
    }
    // Whether the core is closer to the fast cores or to the slow ones.
    let middle = low / 2 + high / 2;
    name_by_speed(machine, online, |cpu| cpu.max_hz.map(|hz| hz > middle))
}

/// Names classes of CPUs in descending order of speed: by the kernel's capacities, otherwise by the highest clock.
/// `None` if there is a single class, or if it is unknown which one is faster.
fn name_by_speed<C: Ord>(machine: &Machine, online: &CpuList, class: impl Fn(&Cpu) -> Option<C>) -> Kinds {
    let mut classes: BTreeMap<C, ((u32, u64), CpuList)> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        let entry = classes.entry(class(cpu)?).or_default();
        entry.0 = entry.0.max((cpu.capacity.unwrap_or(0), cpu.max_hz.or(cpu.base_hz).unwrap_or(0)));
        entry.1.insert(cpu.id);
    }
    let mut speeds: Vec<(u32, u64)> = classes.values().map(|(speed, _)| *speed).collect();
    speeds.sort_unstable_by(|a, b| b.cmp(a));
    speeds.dedup();
    (speeds.len() >= 2).then_some(())?;
    let kind = |speed: (u32, u64)| {
        let place = speeds.iter().position(|known| *known == speed).unwrap_or_default();
        INTEL[place.min(INTEL.len() - 1)].1.to_owned()
    };
    let kinds: BTreeMap<u32, String> =
        classes.values().flat_map(|(speed, cpus)| cpus.iter().map(|cpu| (cpu, kind(*speed)))).collect();
    if kinds.len() == online.len() { Some(kinds) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::machine::Cache;

    const GHZ: u64 = 1_000_000_000;

    fn machine(max_hz: &[u64]) -> Machine {
        let cpu = |(id, hz): (u32, &u64)| Cpu { id, online: true, max_hz: Some(*hz), ..Cpu::default() };
        Machine { cpus: (0u32..).zip(max_hz).map(cpu).collect(), ..Machine::default() }
    }

    fn kinds(machine: &Machine) -> Vec<String> {
        let online = online_of(machine);
        let kinds = from_capacities(machine, &online)
            .or_else(|| from_first_level(machine, &online))
            .or_else(|| from_clocks(machine, &online));
        kinds.unwrap_or_default().into_values().collect()
    }

    #[test]
    fn favoured_cores_of_one_design_are_not_a_kind_of_their_own() {
        assert!(kinds(&machine(&[5 * GHZ, 5_200_000_000, 5 * GHZ])).is_empty());
    }

    #[test]
    fn dense_cores_differ_by_their_clock_alone() {
        assert_eq!(kinds(&machine(&[5_100_000_000, 3_300_000_000])), ["performance", "efficiency"]);
    }

    /// Two cores whose first-level data caches have 32 and 48 KiB.
    fn with_caches(mut machine: Machine) -> Machine {
        machine.caches = [(0, 32), (1, 48)]
            .map(|(cpu, kib)| Cache {
                level: 1,
                kind: CacheKind::Data,
                bytes: Some(kib << 10),
                line: Some(64),
                ways: Some(8),
                cpus: CpuList::from_iter([cpu]),
            })
            .into();
        machine
    }

    #[test]
    fn cores_with_other_first_level_caches_are_another_kind() {
        let machine = with_caches(machine(&[4_800_000_000, 5 * GHZ]));
        assert_eq!(kinds(&machine), ["efficiency", "performance"]);
    }

    #[test]
    fn where_no_clock_tells_which_kind_is_fast_none_is_named() {
        assert!(kinds(&with_caches(machine(&[5 * GHZ, 5 * GHZ]))).is_empty());
    }

    #[test]
    fn the_greater_capacity_is_the_faster_kind() {
        let mut machine = machine(&[2 * GHZ; 6]);
        for (cpu, capacity) in machine.cpus.iter_mut().zip([234, 234, 1025, 1009, 512, 512]) {
            cpu.capacity = Some(capacity);
        }
        let expected = ["low-power", "low-power", "performance", "performance", "efficiency", "efficiency"];
        assert_eq!(kinds(&machine), expected);
    }

    #[test]
    fn arm_cores_are_reported_apart_by_their_part() {
        let text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\nprocessor\t: 1\n\
                    CPU implementer\t: 0x41\nCPU part\t: 0xd0b\n";
        let midrs = midrs_in_cpuinfo(text);
        assert_eq!(midrs.into_iter().collect::<Vec<_>>(), [(0, (0x41, 0xd05)), (1, (0x41, 0xd0b))]);
    }

    proptest! {
        #[test]
        fn no_cpuinfo_panics(text in "((processor|CPU implementer|CPU part)\t: (0x)?[0-9a-f]{0,12}\n){0,10}|\\PC{0,60}") {
            let _ = midrs_in_cpuinfo(&text);
        }
    }
}
