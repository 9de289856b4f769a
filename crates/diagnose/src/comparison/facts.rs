//! The inventory and conditions of a record as facts in words, and what differs between records.

use std::collections::BTreeMap;

use record::comparison::FactKind;
use record::machine::CacheKind;
use record::units::{bytes, figure};
use record::{Machine, Record, Snapshot, Template, Text, text};

use super::explain::running;
use crate::cpu_accounting::used_by_others;
use crate::memory_channels::populated;

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// What kind.
    pub kind: FactKind,
    /// In words.
    pub what: Text,
    /// Its place in a record.
    pub from: &'static str,
    /// What the record says.
    pub value: String,
}

struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, kind: FactKind, what: Text, from: &'static str, value: Option<impl ToString>) {
        if let Some(value) = value.map(|value| value.to_string()).filter(|value| !value.trim().is_empty()) {
            self.0.push(Fact { kind, what, from, value });
        }
    }
}

/// The facts of a record that can matter for speed, always in the same order; what it does not tell is left out.
pub(super) fn facts(record: &Record) -> Vec<Fact> {
    let mut facts = Facts(Vec::new());
    hardware(&record.machine, &mut facts);
    software(&record.machine, &mut facts);
    settings(&record.conditions.before, &mut facts);
    limits(&record.machine, &mut facts);
    state(record, &mut facts);
    facts.0
}

fn hz(value: Option<u64>) -> Option<String> {
    value.filter(|hz| *hz > 0).map(|hz| figure(hz as f64, "Hz"))
}

fn hardware(machine: &Machine, facts: &mut Facts) {
    use FactKind::Hardware;
    let (p, counts) = (&machine.processor, &machine.counts);
    facts.add(
        Hardware,
        text!("comparison-fact-architecture", "Architecture"),
        "machine.architecture",
        Some(&machine.architecture),
    );
    let system = [&machine.system.vendor, &machine.system.product];
    let system: Vec<&str> = system.into_iter().flatten().map(String::as_str).collect();
    facts.add(Hardware, text!("comparison-fact-system", "System"), "machine.system", Some(system.join(" ")));
    facts.add(
        Hardware,
        text!("comparison-fact-processor", "Processor"),
        "machine.processor.model_name",
        p.model_name.as_ref().or(p.firmware_name.as_ref()),
    );
    facts.add(
        Hardware,
        text!("comparison-fact-core-design", "Core design"),
        "machine.processor.microarchitecture",
        p.microarchitecture.as_ref(),
    );
    let family = p.family.map(|family| {
        let part =
            |name: &str, value: Option<u32>| value.map_or(String::new(), |value| format!(", {name} {value}"));
        format!("family {family}{}{}", part("model", p.model), part("stepping", p.stepping))
    });
    facts.add(
        Hardware,
        text!("comparison-fact-identity", "Identity"),
        "machine.processor.model",
        family.or_else(|| p.model.map(|part| format!("part {part:#05x}"))),
    );
    facts.add(
        Hardware,
        text!("comparison-fact-packages", "Packages"),
        "machine.counts.packages",
        counts.packages,
    );
    facts.add(Hardware, text!("comparison-fact-dies", "Dies"), "machine.counts.dies", counts.dies);
    facts.add(Hardware, text!("comparison-fact-cores", "Cores"), "machine.counts.cores", counts.cores);
    facts.add(
        Hardware,
        text!("comparison-fact-cpus-present", "CPUs present"),
        "machine.counts.cpus_present",
        counts.cpus_present,
    );
    facts.add(
        Hardware,
        text!("comparison-fact-cpus-online", "CPUs online"),
        "machine.counts.cpus_online",
        counts.cpus_online,
    );
    facts.add(Hardware, text!("comparison-fact-nodes", "Nodes"), "machine.counts.nodes", counts.nodes);
    let siblings = match (counts.cpus_online, counts.cores) {
        (Some(cpus), Some(cores)) if cores > 0 => Some(format!("{}", f64::from(cpus) / f64::from(cores))),
        _ => None,
    };
    facts.add(
        Hardware,
        text!("comparison-fact-cpus-per-core", "CPUs per core"),
        "machine.counts.cores",
        siblings,
    );
    facts.add(
        Hardware,
        text!("comparison-fact-base-clock", "Base clock"),
        "machine.processor.base_hz",
        hz(p.base_hz),
    );
    facts.add(
        Hardware,
        text!("comparison-fact-highest-clock", "Highest clock"),
        "machine.processor.max_hz",
        hz(p.max_hz),
    );
    facts.add(
        Hardware,
        text!("comparison-fact-vectors", "Vectors"),
        "machine.processor.vector_bits",
        p.vector_bits.map(|bits| format!("{bits} bits")),
    );
    for level in 1..=machine.last_level().min(8) {
        let mut each: BTreeMap<u64, usize> = BTreeMap::new();
        for cache in machine.data_caches(level) {
            if let Some(size) = cache.bytes {
                *each.entry(size).or_default() += 1;
            }
        }
        let said =
            each.iter().map(
                |(size, count)| {
                    if *count == 1 { bytes(*size) } else { format!("{count} × {}", bytes(*size)) }
                },
            );
        let said: Vec<String> = said.collect();
        let kind = machine.data_caches(level).next().map(|cache| cache.kind);
        let name = if kind == Some(CacheKind::Data) {
            text!("comparison-fact-data-cache", "L{level}d", level)
        } else {
            text!("comparison-fact-cache", "L{level}", level)
        };
        facts.add(Hardware, name, "machine.caches", Some(said.join(", ")));
    }
    facts.add(
        Hardware,
        text!("comparison-fact-memory", "Memory"),
        "machine.memory_bytes",
        machine.memory_bytes.map(bytes),
    );
    memory_devices(machine, facts);
}

fn memory_devices(machine: &Machine, facts: &mut Facts) {
    use FactKind::Hardware;
    let count = populated(machine).count();
    facts.add(
        Hardware,
        text!("comparison-fact-memory-devices", "Memory devices"),
        "machine.memory_devices",
        (count > 0).then_some(count),
    );
    let devices: Vec<_> = running(machine).collect();
    let speeds = |of: fn(&record::machine::MemoryDevice) -> Option<u32>| -> Option<String> {
        let mut all: Vec<u32> =
            devices.iter().filter_map(|device| of(device)).filter(|speed| *speed > 0).collect();
        all.sort_unstable();
        all.dedup();
        let all: Vec<String> = all.iter().map(u32::to_string).collect();
        (!all.is_empty()).then(|| format!("{} MT/s", all.join(", ")))
    };
    facts.add(
        Hardware,
        text!("comparison-fact-devices-run-at", "Devices run at"),
        "machine.memory_devices[].configured_mt_s",
        speeds(|d| d.configured_mt_s),
    );
    facts.add(
        Hardware,
        text!("comparison-fact-devices-allow", "Devices allow"),
        "machine.memory_devices[].rated_mt_s",
        speeds(|d| d.rated_mt_s),
    );
    let channels = crate::memory_channels::channels(machine).map(|channels| channels.populated);
    facts.add(
        Hardware,
        text!("comparison-fact-channels", "Channels"),
        "machine.memory_devices[].channel",
        channels,
    );
}

fn software(machine: &Machine, facts: &mut Facts) {
    use FactKind::Setting;
    let kernel = &machine.kernel;
    facts.add(
        Setting,
        text!("comparison-fact-firmware", "Firmware"),
        "machine.system.firmware",
        machine.system.firmware.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-microcode", "Microcode"),
        "machine.processor.microcode",
        machine.processor.microcode.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-hypervisor", "Hypervisor"),
        "machine.virtualization.hypervisor",
        machine.virtualization.hypervisor.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-container", "Container"),
        "machine.virtualization.container",
        machine.virtualization.container.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-kernel", "Kernel"),
        "machine.kernel.release",
        kernel.release.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-distribution", "Distribution"),
        "machine.kernel.distribution",
        kernel.distribution.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-kernel-options", "Kernel options"),
        "machine.kernel.options",
        Some(kernel.options.join(" ")),
    );
    facts.add(
        Setting,
        text!("comparison-fact-preemption", "Preemption"),
        "machine.kernel.preemption",
        kernel.preemption.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-timer", "Timer"),
        "machine.kernel.hz",
        kernel.hz.map(|hz| format!("{hz} Hz")),
    );
    facts.add(
        Setting,
        text!("comparison-fact-base-page", "Base page"),
        "machine.kernel.page_bytes",
        kernel.page_bytes.map(bytes),
    );
    facts.add(
        Setting,
        text!("comparison-fact-isolated-cpus", "Isolated CPUs"),
        "machine.kernel.isolated",
        Some(kernel.isolated.to_string()),
    );
    facts.add(
        Setting,
        text!("comparison-fact-cpus-without-tick", "CPUs without tick"),
        "machine.kernel.nohz_full",
        Some(kernel.nohz_full.to_string()),
    );
    let on: Vec<&str> = kernel
        .mitigations
        .iter()
        // The status stands before the colon: `Mitigation: PTI`, `Vulnerable`, `Not affected`.
        .filter(|(_, report)| report.split(':').next() == Some("Mitigation"))
        .map(|(name, _)| name.as_str())
        .collect();
    if !kernel.mitigations.is_empty() {
        let said = if on.is_empty() { "none".to_owned() } else { on.join(", ") };
        facts.add(
            Setting,
            text!("comparison-fact-mitigations", "Mitigations"),
            "machine.kernel.mitigations",
            Some(said),
        );
    }
    facts.add(
        Setting,
        text!("comparison-fact-idle-driver", "Idle driver"),
        "machine.idle.driver",
        machine.idle.driver.as_ref(),
    );
    facts.add(
        Setting,
        text!("comparison-fact-idle-governor", "Idle governor"),
        "machine.idle.governor",
        machine.idle.governor.as_ref(),
    );
    let states: Vec<String> = machine
        .idle_states
        .iter()
        .filter(|state| state.disabled != Some(true))
        .map(|state| match state.exit_ns {
            Some(ns) => format!("{} ({})", state.name, figure(ns as f64, "ns")),
            None => state.name.clone(),
        })
        .collect();
    facts.add(
        Setting,
        text!("comparison-fact-idle-states", "Idle states"),
        "machine.idle_states",
        Some(states.join(", ")),
    );
}

fn settings(now: &Snapshot, facts: &mut Facts) {
    use FactKind::Setting;
    let each = |of: fn(&record::conditions::ClockSetting) -> Option<String>| -> Option<String> {
        let mut all: Vec<String> = now.clocks.iter().filter_map(of).collect();
        all.sort();
        all.dedup();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let on_off = |value: Option<bool>| value.map(|on| if on { "on" } else { "off" });
    facts.add(
        Setting,
        text!("comparison-fact-governor", "Governor"),
        "conditions.before.clocks[].governor",
        each(|c| c.governor.clone()),
    );
    facts.add(
        Setting,
        text!("comparison-fact-clock-driver", "Clock driver"),
        "conditions.before.clocks[].driver",
        each(|c| c.driver.clone()),
    );
    facts.add(
        Setting,
        text!("comparison-fact-epp", "EPP"),
        "conditions.before.clocks[].epp",
        each(|c| c.epp.clone()),
    );
    facts.add(
        Setting,
        text!("comparison-fact-epb", "EPB"),
        "conditions.before.clocks[].epb",
        each(|c| c.epb.map(|epb| epb.to_string())),
    );
    facts.add(
        Setting,
        text!("comparison-fact-clock-limit", "Clock limit"),
        "conditions.before.clocks[].max_hz",
        each(|c| hz(c.max_hz)),
    );
    facts.add(Setting, text!("comparison-fact-boost", "Boost"), "conditions.before.boost", on_off(now.boost));
    facts.add(Setting, text!("comparison-fact-smt", "SMT"), "conditions.before.smt", now.smt.as_ref());
    facts.add(
        Setting,
        text!("comparison-fact-clock-source", "Clock source"),
        "conditions.before.clocksource",
        now.clocksource.as_ref(),
    );
    facts.add(Setting, text!("comparison-fact-thp", "THP"), "conditions.before.thp", now.thp.as_ref());
    facts.add(
        Setting,
        text!("comparison-fact-thp-defrag", "THP defrag"),
        "conditions.before.thp_defrag",
        now.thp_defrag.as_ref(),
    );
    let reserved: Vec<String> = now
        .huge_pages
        .iter()
        .filter(|pages| pages.total > 0)
        .map(|pages| format!("{} × {}", pages.total, bytes(pages.page_bytes)))
        .collect();
    facts.add(
        Setting,
        text!("comparison-fact-huge-pages-reserved", "Huge pages reserved"),
        "conditions.before.huge_pages",
        Some(reserved.join(", ")),
    );
    facts.add(
        Setting,
        text!("comparison-fact-numa-balancing", "NUMA balancing"),
        "conditions.before.numa_balancing",
        now.numa_balancing,
    );
    facts.add(
        Setting,
        text!("comparison-fact-zone-reclaim", "Zone reclaim"),
        "conditions.before.zone_reclaim",
        now.zone_reclaim,
    );
    facts.add(Setting, text!("comparison-fact-aslr", "ASLR"), "conditions.before.aslr", now.aslr);
    facts.add(Setting, text!("comparison-fact-ksm", "KSM"), "conditions.before.ksm", now.ksm);
    facts.add(
        Setting,
        text!("comparison-fact-power-supply", "Power supply"),
        "conditions.before.power_supply",
        now.power_supply.as_ref(),
    );
}

fn limits(machine: &Machine, facts: &mut Facts) {
    use FactKind::Setting;
    let limits = &machine.limits;
    facts.add(
        Setting,
        text!("comparison-fact-cpus-allowed", "CPUs allowed"),
        "machine.counts.cpus_allowed",
        machine.counts.cpus_allowed,
    );
    facts.add(
        Setting,
        text!("comparison-fact-cpu-quota", "CPU quota"),
        "machine.limits.cpu_quota",
        limits.cpu_quota.map(|quota| format!("{quota} CPUs")),
    );
    facts.add(
        Setting,
        text!("comparison-fact-memory-limit", "Memory limit"),
        "machine.limits.memory_bytes",
        limits.memory_bytes.map(bytes),
    );
}

/// What others took of the CPUs while a record was measured.
pub(super) const OTHER_WORK: Template =
    Template { code: "comparison-fact-other-work", words: "Other work during the run" };

fn state(record: &Record, facts: &mut Facts) {
    use FactKind::State;
    let before = &record.conditions.before;
    let load = before.load.map(|load| format!("{:.2}, {:.2}, {:.2}", load[0], load[1], load[2]));
    facts.add(State, text!("comparison-fact-load-averages", "Load averages"), "conditions.before.load", load);
    // To a tenth: less differs from run to run on every machine.
    let others = used_by_others(record).map(|cpus| format!("{cpus:.1} CPUs"));
    facts.add(State, text!(OTHER_WORK), "conditions.after.cpu_seconds and .own_cpu_seconds", others);
    let during = record.conditions.after.as_ref().and_then(|after| after.steal_share);
    facts.add(
        State,
        text!("comparison-fact-steal-time", "Steal time during the run"),
        "conditions.after.steal_share",
        during.map(record::units::percent),
    );
    if let Some(after) = &record.conditions.after {
        let throttled =
            before.throttled.zip(after.throttled).map(|(before, after)| after.saturating_sub(before));
        facts.add(
            State,
            text!("comparison-fact-throttled", "Throttled during the run"),
            "conditions.after.throttled",
            throttled.map(|n| format!("{n} times")),
        );
    }
    facts.add(
        State,
        text!("comparison-fact-swap-in-use", "Swap in use"),
        "conditions.before.swap_used_bytes",
        before.swap_used_bytes.map(bytes),
    );
}
