//! The inventory and conditions of records as facts that can matter for speed, and in which of them records differ.

use std::collections::BTreeMap;

use record::comparison::{Difference, FactKind};
use record::machine::{CacheKind, MemoryDevice};
use record::units::{bytes, figure, percent};
use record::{Record, Template, Text, text};
use serde_json::Value as Json;

use super::explain::running;
use crate::cpu_accounting::used_by_others;
use crate::memory_channels::{channels, populated};

/// What others took of the CPUs while a record was measured.
pub(super) const OTHER_WORK: Template =
    Template { code: "comparison-fact-other-work", words: "Other work during the run" };
/// Levels of caches that are looked at.
const CACHE_LEVELS: u32 = 8;

/// A fact: what it is called, its place in a record (`[]` stands for each of a list), and what a record says of it.
type Row = (Text, &'static str, Source);

/// How a record tells a fact.
enum Source {
    /// By the values at its place, shown so, each once.
    At(fn(&Json) -> Option<String>),
    /// By more than one value.
    Of(fn(&Record) -> Option<String>),
    /// By the caches of a level, of data alone or not.
    Caches(u32, bool),
}
use Source::{At, Caches, Of};

/// What the machine is built of, without its memory.
fn processor_rows() -> Vec<Row> {
    let mut rows = vec![
        (text!("comparison-fact-architecture", "Architecture"), "machine.architecture", At(plain)),
        (text!("comparison-fact-system", "System"), "machine.system", Of(system)),
        (text!("comparison-fact-processor", "Processor"), "machine.processor.model_name", Of(processor)),
        (
            text!("comparison-fact-core-design", "Core design"),
            "machine.processor.microarchitecture",
            At(plain),
        ),
        (text!("comparison-fact-identity", "Identity"), "machine.processor.model", Of(identity)),
        (text!("comparison-fact-packages", "Packages"), "machine.counts.packages", At(plain)),
        (text!("comparison-fact-dies", "Dies"), "machine.counts.dies", At(plain)),
        (text!("comparison-fact-cores", "Cores"), "machine.counts.cores", At(plain)),
        (text!("comparison-fact-cpus-present", "CPUs present"), "machine.counts.cpus_present", At(plain)),
        (text!("comparison-fact-cpus-online", "CPUs online"), "machine.counts.cpus_online", At(plain)),
        (text!("comparison-fact-nodes", "Nodes"), "machine.counts.nodes", At(plain)),
        (text!("comparison-fact-cpus-per-core", "CPUs per core"), "machine.counts.cores", Of(cpus_per_core)),
        (text!("comparison-fact-base-clock", "Base clock"), "machine.processor.base_hz", At(hertz)),
        (text!("comparison-fact-highest-clock", "Highest clock"), "machine.processor.max_hz", At(hertz)),
        (text!("comparison-fact-vectors", "Vectors"), "machine.processor.vector_bits", At(bits)),
    ];
    for level in 1..=CACHE_LEVELS {
        let data = text!("comparison-fact-data-cache", "L{level}d", level);
        rows.push((data, "machine.caches", Caches(level, true)));
        rows.push((
            text!("comparison-fact-cache", "L{level}", level),
            "machine.caches",
            Caches(level, false),
        ));
    }
    rows
}

/// The machine's memory.
fn memory_rows() -> Vec<Row> {
    let (runs, allows) = ("machine.memory_devices[].configured_mt_s", "machine.memory_devices[].rated_mt_s");
    vec![
        (text!("comparison-fact-memory", "Memory"), "machine.memory_bytes", At(size)),
        (text!("comparison-fact-memory-devices", "Memory devices"), "machine.memory_devices", Of(devices)),
        (text!("comparison-fact-devices-run-at", "Devices run at"), runs, Of(devices_run_at)),
        (text!("comparison-fact-devices-allow", "Devices allow"), allows, Of(devices_allow)),
        (
            text!("comparison-fact-channels", "Channels"),
            "machine.memory_devices[].channel",
            Of(used_channels),
        ),
    ]
}

/// What is installed.
fn software_rows() -> Vec<Row> {
    vec![
        (text!("comparison-fact-firmware", "Firmware"), "machine.system.firmware", At(plain)),
        (text!("comparison-fact-microcode", "Microcode"), "machine.processor.microcode", At(plain)),
        (text!("comparison-fact-hypervisor", "Hypervisor"), "machine.virtualization.hypervisor", At(plain)),
        (text!("comparison-fact-container", "Container"), "machine.virtualization.container", At(plain)),
        (text!("comparison-fact-kernel", "Kernel"), "machine.kernel.release", At(plain)),
        (text!("comparison-fact-distribution", "Distribution"), "machine.kernel.distribution", At(plain)),
        (text!("comparison-fact-kernel-options", "Kernel options"), "machine.kernel.options", Of(options)),
        (text!("comparison-fact-preemption", "Preemption"), "machine.kernel.preemption", At(plain)),
        (text!("comparison-fact-timer", "Timer"), "machine.kernel.hz", At(timer)),
        (text!("comparison-fact-base-page", "Base page"), "machine.kernel.page_bytes", At(size)),
        (text!("comparison-fact-isolated-cpus", "Isolated CPUs"), "machine.kernel.isolated", Of(isolated)),
        (
            text!("comparison-fact-cpus-without-tick", "CPUs without tick"),
            "machine.kernel.nohz_full",
            Of(tickless),
        ),
        (text!("comparison-fact-mitigations", "Mitigations"), "machine.kernel.mitigations", Of(mitigations)),
        (text!("comparison-fact-idle-driver", "Idle driver"), "machine.idle.driver", At(plain)),
        (text!("comparison-fact-idle-governor", "Idle governor"), "machine.idle.governor", At(plain)),
        (text!("comparison-fact-idle-states", "Idle states"), "machine.idle_states", Of(idle_states)),
    ]
}

/// How the machine is set up, and what the program may use of it.
fn setting_rows() -> Vec<Row> {
    let reserved = text!("comparison-fact-huge-pages-reserved", "Huge pages reserved");
    vec![
        (text!("comparison-fact-governor", "Governor"), "conditions.before.clocks[].governor", At(plain)),
        (
            text!("comparison-fact-clock-driver", "Clock driver"),
            "conditions.before.clocks[].driver",
            At(plain),
        ),
        (text!("comparison-fact-epp", "EPP"), "conditions.before.clocks[].epp", At(plain)),
        (text!("comparison-fact-epb", "EPB"), "conditions.before.clocks[].epb", At(plain)),
        (text!("comparison-fact-clock-limit", "Clock limit"), "conditions.before.clocks[].max_hz", At(hertz)),
        (text!("comparison-fact-boost", "Boost"), "conditions.before.boost", At(on_or_off)),
        (text!("comparison-fact-smt", "SMT"), "conditions.before.smt", At(plain)),
        (text!("comparison-fact-clock-source", "Clock source"), "conditions.before.clocksource", At(plain)),
        (text!("comparison-fact-thp", "THP"), "conditions.before.thp", At(plain)),
        (text!("comparison-fact-thp-defrag", "THP defrag"), "conditions.before.thp_defrag", At(plain)),
        (reserved, "conditions.before.huge_pages", Of(huge_pages)),
        (
            text!("comparison-fact-numa-balancing", "NUMA balancing"),
            "conditions.before.numa_balancing",
            At(plain),
        ),
        (text!("comparison-fact-zone-reclaim", "Zone reclaim"), "conditions.before.zone_reclaim", At(plain)),
        (text!("comparison-fact-aslr", "ASLR"), "conditions.before.aslr", At(plain)),
        (text!("comparison-fact-ksm", "KSM"), "conditions.before.ksm", At(plain)),
        (text!("comparison-fact-power-supply", "Power supply"), "conditions.before.power_supply", At(plain)),
        (text!("comparison-fact-cpus-allowed", "CPUs allowed"), "machine.counts.cpus_allowed", At(plain)),
        (text!("comparison-fact-cpu-quota", "CPU quota"), "machine.limits.cpu_quota", At(cpus)),
        (text!("comparison-fact-memory-limit", "Memory limit"), "machine.limits.memory_bytes", At(size)),
    ]
}

/// The state that the machine happened to be in.
fn state_rows() -> Vec<Row> {
    let steal = text!("comparison-fact-steal-time", "Steal time during the run");
    let throttled_then = text!("comparison-fact-throttled", "Throttled during the run");
    vec![
        (
            text!("comparison-fact-load-averages", "Load averages"),
            "conditions.before.load",
            Of(load_averages),
        ),
        (text!(OTHER_WORK), "conditions.after.cpu_seconds and .own_cpu_seconds", Of(other_work)),
        (steal, "conditions.after.steal_share", At(|share| share.as_f64().map(percent))),
        (throttled_then, "conditions.after.throttled", Of(throttled)),
        (text!("comparison-fact-swap-in-use", "Swap in use"), "conditions.before.swap_used_bytes", At(size)),
    ]
}

/// Facts that at least one record tells otherwise than another, hardware first. One that only some tell is no difference
/// by itself.
pub(super) fn differences(records: &[&Record]) -> Vec<Difference> {
    let inventories: Vec<Json> = records.iter().map(|record| inventory(record)).collect();
    let hardware = [processor_rows(), memory_rows()].into_iter().flatten();
    let settings = [software_rows(), setting_rows()].into_iter().flatten();
    let all = hardware.map(|row| (FactKind::Hardware, row));
    let all = all.chain(settings.map(|row| (FactKind::Setting, row)));
    let all = all.chain(state_rows().into_iter().map(|row| (FactKind::State, row)));
    let found = all.filter_map(|(kind, (what, from, source))| {
        let said = records.iter().zip(&inventories).map(|(record, inventory)| {
            let value = match &source {
                At(show) => show_each(&look_up(inventory, from), *show),
                Of(make) => make(record),
                Caches(level, data) => caches(record, *level, *data),
            };
            value.filter(|value| !value.trim().is_empty())
        });
        let values: Vec<Option<String>> = said.collect();
        let mut reported = values.iter().flatten();
        let first = reported.next();
        let code = what.code().unwrap_or_default().to_owned();
        let differs = reported.any(|value| Some(value) != first);
        differs.then(|| Difference { kind, what, code, from: from.to_owned(), values })
    });
    let mut found: Vec<Difference> = found.collect();
    // What the first record tells stands before what only later ones do.
    found.sort_by_key(|difference| (difference.kind, difference.values.iter().position(Option::is_some)));
    found
}

/// What of a record facts are taken from, as JSON.
fn inventory(record: &Record) -> Json {
    let parts = [
        ("machine", serde_json::to_value(&record.machine)),
        ("conditions", serde_json::to_value(&record.conditions)),
    ];
    parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part.ok()?))).collect()
}

/// The values at a place.
fn look_up<'a>(inventory: &'a Json, place: &str) -> Vec<&'a Json> {
    place.split('.').fold(vec![inventory], |values, step| {
        let name = step.trim_end_matches("[]");
        let values = values.into_iter().filter_map(|value| value.get(name));
        match name == step {
            true => values.collect(),
            false => values.filter_map(Json::as_array).flatten().collect(),
        }
    })
}

/// Values in words, each once.
fn show_each(values: &[&Json], show: fn(&Json) -> Option<String>) -> Option<String> {
    let mut all: Vec<String> = values.iter().filter_map(|value| show(value)).collect();
    all.sort();
    all.dedup();
    (!all.is_empty()).then(|| all.join(", "))
}

fn plain(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(word) => Some(word.clone()),
        other => Some(other.to_string()),
    }
}

fn hertz(value: &Json) -> Option<String> {
    value.as_u64().filter(|hz| *hz > 0).map(|hz| figure(hz as f64, "Hz"))
}

fn size(value: &Json) -> Option<String> {
    value.as_u64().map(bytes)
}

fn bits(value: &Json) -> Option<String> {
    value.as_u64().map(|bits| format!("{bits} bits"))
}

fn timer(value: &Json) -> Option<String> {
    value.as_u64().map(|hz| format!("{hz} Hz"))
}

fn cpus(value: &Json) -> Option<String> {
    value.as_f64().map(|cpus| format!("{cpus} CPUs"))
}

fn on_or_off(value: &Json) -> Option<String> {
    value.as_bool().map(|on| if on { "on" } else { "off" }.to_owned())
}

fn system(record: &Record) -> Option<String> {
    let system = &record.machine.system;
    let names: Vec<&str> =
        [&system.vendor, &system.product].into_iter().flatten().map(String::as_str).collect();
    Some(names.join(" "))
}

fn processor(record: &Record) -> Option<String> {
    let processor = &record.machine.processor;
    processor.model_name.clone().or_else(|| processor.firmware_name.clone())
}

fn identity(record: &Record) -> Option<String> {
    let p = &record.machine.processor;
    let part =
        |name: &str, value: Option<u32>| value.map_or(String::new(), |value| format!(", {name} {value}"));
    let by_part = || p.model.map(|part| format!("part {part:#05x}"));
    let by_family =
        |family| format!("family {family}{}{}", part("model", p.model), part("stepping", p.stepping));
    p.family.map(by_family).or_else(by_part)
}

fn cpus_per_core(record: &Record) -> Option<String> {
    let counts = &record.machine.counts;
    let cores = counts.cores.filter(|cores| *cores > 0)?;
    Some((f64::from(counts.cpus_online?) / f64::from(cores)).to_string())
}

fn caches(record: &Record, level: u32, data: bool) -> Option<String> {
    let machine = &record.machine;
    let first = machine.data_caches(level).next().filter(|_| level <= machine.last_level())?;
    if (first.kind == CacheKind::Data) != data {
        return None;
    }
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for size in machine.data_caches(level).filter_map(|cache| cache.bytes) {
        *counts.entry(size).or_default() += 1;
    }
    let sizes = counts.iter().map(|(size, count)| match count {
        1 => bytes(*size),
        _ => format!("{count} × {}", bytes(*size)),
    });
    Some(sizes.collect::<Vec<_>>().join(", "))
}

fn devices(record: &Record) -> Option<String> {
    let count = populated(&record.machine).count();
    (count > 0).then(|| count.to_string())
}

fn devices_run_at(record: &Record) -> Option<String> {
    transfer_rates(record, |device| device.configured_mt_s)
}

fn devices_allow(record: &Record) -> Option<String> {
    transfer_rates(record, |device| device.rated_mt_s)
}

fn transfer_rates(record: &Record, rate: fn(&MemoryDevice) -> Option<u32>) -> Option<String> {
    let mut all: Vec<u32> = running(&record.machine).filter_map(rate).filter(|rate| *rate > 0).collect();
    all.sort_unstable();
    all.dedup();
    let all: Vec<String> = all.iter().map(u32::to_string).collect();
    (!all.is_empty()).then(|| format!("{} MT/s", all.join(", ")))
}

fn used_channels(record: &Record) -> Option<String> {
    channels(&record.machine).map(|channels| channels.populated.to_string())
}

fn options(record: &Record) -> Option<String> {
    Some(record.machine.kernel.options.join(" "))
}

fn isolated(record: &Record) -> Option<String> {
    Some(record.machine.kernel.isolated.to_string())
}

fn tickless(record: &Record) -> Option<String> {
    Some(record.machine.kernel.nohz_full.to_string())
}

fn mitigations(record: &Record) -> Option<String> {
    let all = &record.machine.kernel.mitigations;
    // The status stands before the colon: `Mitigation: PTI`, `Vulnerable`, `Not affected`.
    let on = all.iter().filter(|(_, report)| report.split(':').next() == Some("Mitigation"));
    let on: Vec<&str> = on.map(|(name, _)| name.as_str()).collect();
    (!all.is_empty()).then(|| if on.is_empty() { "none".to_owned() } else { on.join(", ") })
}

fn idle_states(record: &Record) -> Option<String> {
    let enabled = record.machine.idle_states.iter().filter(|state| state.disabled != Some(true));
    let states = enabled.map(|state| match state.exit_ns {
        Some(ns) => format!("{} ({})", state.name, figure(ns as f64, "ns")),
        None => state.name.clone(),
    });
    Some(states.collect::<Vec<_>>().join(", "))
}

fn huge_pages(record: &Record) -> Option<String> {
    let reserved = record.conditions.before.huge_pages.iter().filter(|pages| pages.total > 0);
    let each = reserved.map(|pages| format!("{} × {}", pages.total, bytes(pages.page_bytes)));
    Some(each.collect::<Vec<_>>().join(", "))
}

fn load_averages(record: &Record) -> Option<String> {
    record.conditions.before.load.map(|[one, five, fifteen]| format!("{one:.2}, {five:.2}, {fifteen:.2}"))
}

/// To a tenth: less differs from run to run on every machine.
fn other_work(record: &Record) -> Option<String> {
    used_by_others(record).map(|cpus| format!("{cpus:.1} CPUs"))
}

fn throttled(record: &Record) -> Option<String> {
    let (before, after) = (record.conditions.before.throttled?, record.conditions.after.as_ref()?.throttled?);
    Some(format!("{} times", after.saturating_sub(before)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a place of the schema refers to.
    fn resolve(schema: &Json, place: &Json) -> Json {
        let either = || place.get("anyOf")?.as_array()?.iter().find_map(|either| either.get("$ref"));
        match place.get("$ref").or_else(either).and_then(Json::as_str) {
            Some(name) => resolve(schema, schema.pointer(name.trim_start_matches('#')).unwrap()),
            None => place.clone(),
        }
    }

    #[test]
    fn every_fact_stands_in_a_record_where_it_says() {
        let schema: Json =
            serde_json::from_str(include_str!("../../../record/src/schema/record.json")).unwrap();
        let all = [processor_rows(), memory_rows(), software_rows(), setting_rows(), state_rows()];
        for (what, from, source) in all.into_iter().flatten().filter(|row| !row.0.is(&OTHER_WORK)) {
            let mut place = schema.clone();
            for step in from.split('.') {
                let name = step.trim_end_matches("[]");
                place = resolve(&schema, &place["properties"][name]);
                assert!(!place.is_null(), "{what}: no {name} in {from}");
                if name != step {
                    place = resolve(&schema, &place["items"]);
                }
            }
            let list = place["type"] == "array" || place["type"] == "object";
            assert!(!(list && matches!(source, At(_))), "{what}: {from} is no single value");
        }
    }

    #[test]
    fn a_place_with_brackets_stands_for_each_of_a_list() {
        let list = serde_json::json!({"clocks": [{"governor": "b"}, {"governor": "a"}, {}, {"governor": "b"}], "n": 3});
        assert_eq!(show_each(&look_up(&list, "clocks[].governor"), plain).as_deref(), Some("a, b"));
        assert_eq!(show_each(&look_up(&list, "n"), plain).as_deref(), Some("3"));
        assert_eq!(show_each(&look_up(&list, "m.n"), plain), None);
    }
}
