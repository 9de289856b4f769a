//! What is usual of a headline on such a machine: published figures, as the glossary has them.

use std::collections::BTreeSet;

use record::diagnosis::Resource;
use record::text::Value;
use record::{Machine, Text, text};

use super::{CORE, MEMORY_BANDWIDTH, MEMORY_LATENCY, WAKE_UP};

/// Latency of a node's own memory, ns, by processor: the first whose name occurs. The reference machines lie in them, which a
/// test of theirs holds: Phytium FT-2500 150; Kunpeng 920 117, Graviton2 96, Graviton4 115; Hygon 103 and 107; Xeon of Cascade
/// Lake 78, of Ice Lake 89, of Sapphire Rapids 96.
const LATENCY: &[(&[&str], (f64, f64))] = &[
    (&["FT-2500", "Phytium"], (140.0, 160.0)),
    (&["Kunpeng", "TaiShan", "Neoverse", "Altra"], (95.0, 125.0)),
    (&["EPYC", "Hygon", "Zen"], (95.0, 125.0)),
    (&["Xeon"], (75.0, 110.0)),
];
/// All cores together run a tenth to a third below one alone.
const CORE_SHARE: (f64, f64) = (0.67, 1.0);
/// Triad reaches so much of what the channels carry: 190 GB/s of 282 on dual Cascade Lake, 320 of 410 on dual Ice Lake, 424 of
/// 614 on dual Sapphire Rapids, 330 to 350 of 410 on dual EPYC 7V73X, 650 to 780 of 922 on dual EPYC of Zen 4 (Azure HBv4).
const OF_CHANNELS: (f64, f64) = (0.67, 0.85);
/// Triad of all cores, B/s for each: 2.75 and 2.92 of 120 EPYC 7V73X, 3.66 of 52 Xeon 8269CY, 4.4 of Xeons of Ice Lake and Sapphire
/// Rapids and of EPYC of Zen 4 with stacked cache, 5.6 of 144 Grace; the reference machines lie in it, which a test of theirs holds.
const TRIAD_PER_CORE: (f64, f64) = (2.7e9, 5.7e9);
/// What one core reaches alone, B/s: a guest with few cores of a server, the others of which are idle, may have as much for each.
const ONE_CORE: f64 = 20e9;
/// SCHED_OTHER as it is, 50 µs of it timer slack, ns.
const WAKE_UP_NS: (f64, f64) = (55e3, 80e3);
/// Real-time threads where nothing sleeps deeply, on hardware and under a hypervisor, ns.
const WAKE_UP_REAL_TIME_NS: [(f64, f64); 2] = [(1e3, 5e3), (5e3, 25e3)];

/// The resource with the range that is usual of it on such a machine.
pub(crate) fn with_usual(machine: &Machine, resource: Resource) -> Resource {
    Resource { usual: usual(machine, &resource), ..resource }
}

/// In its unit or as a share of the ceiling; `None` where nothing published tells.
fn usual(machine: &Machine, resource: &Resource) -> Option<Text> {
    match resource.name.as_str() {
        CORE => Some(shares(CORE_SHARE)),
        MEMORY_BANDWIDTH => {
            let of_parts = resource.source == Some(record::diagnosis::CeilingSource::Parts);
            let most = if machine.is_virtual() { ONE_CORE } else { TRIAD_PER_CORE.1 };
            Some(if of_parts { shares(OF_CHANNELS) } else { of_cores(machine, (TRIAD_PER_CORE.0, most)) })
        }
        MEMORY_LATENCY => usual_memory_latency(machine).map(|ends| figures(ends, "ns")),
        // Real-time threads alone have a ceiling.
        WAKE_UP if resource.ceiling.is_none() => Some(figures(WAKE_UP_NS, "ns")),
        WAKE_UP => {
            let (low, high) = WAKE_UP_REAL_TIME_NS[usize::from(machine.is_virtual())];
            let us = |ns: f64| (ns / 1e3).to_string();
            Some(text!("best {low} to {high} µs", low = us(low), high = us(high)))
        }
        _ => None,
    }
}

/// The least and the most that is usual of loads from a node's own memory on such a machine, ns; `None` where nothing published
/// tells.
pub fn usual_memory_latency(machine: &Machine) -> Option<(f64, f64)> {
    let p = &machine.processor;
    let names = [&p.model_name, &p.firmware_name, &p.microarchitecture, &p.vendor];
    let is_named = |word: &&str| names.iter().any(|name| name.as_deref().is_some_and(|n| n.contains(*word)));
    LATENCY.iter().find(|(words, _)| words.iter().any(is_named)).map(|(_, ends)| *ends)
}

/// What is usual of triad by all cores of a whole server, B/s for each.
pub fn usual_triad_per_core() -> (f64, f64) {
    TRIAD_PER_CORE
}

/// What is usual of a core, for as many as run: beside it stands what all of them reach together.
fn of_cores(machine: &Machine, ends: (f64, f64)) -> Text {
    let rate = |end| Value::Figure(end, "B/s");
    let Some(cores) = count_cores(machine) else {
        let (low, high) = rounded(ends, rate);
        return text!("usual-per-core", "{low} to {high} a core");
    };
    // No digit more than the published ones.
    let [low, high] = [ends.0, ends.1].map(|end| Value::Rounded(Box::new(rate(end * f64::from(cores))), 2));
    text!("{low} to {high}")
}

/// The cores whose CPUs may be used; `None` where nothing tells.
fn count_cores(machine: &Machine) -> Option<u32> {
    let usable = machine.cpus.iter().filter(|cpu| cpu.online && cpu.allowed);
    let cores: Option<BTreeSet<u32>> = usable.map(|cpu| cpu.core).collect();
    let count = cores.and_then(|cores| u32::try_from(cores.len()).ok());
    count.filter(|count| *count > 0).or(machine.counts.cores)
}

fn shares(ends: (f64, f64)) -> Text {
    let (low, high) = rounded(ends, Value::Share);
    text!("{low} to {high}")
}

fn figures(ends: (f64, f64), unit: &'static str) -> Text {
    let (low, high) = rounded(ends, |end| Value::Figure(end, unit));
    text!("{low} to {high}")
}

/// The ends of a range with the digits that were published: two, or the third where it is no zero.
fn rounded((low, high): (f64, f64), value: impl Fn(f64) -> Value) -> (Value, Value) {
    let end = |end: f64| {
        let digits = if format!("{end:.1e}").parse() == Ok(end) { 2 } else { 3 };
        Value::Rounded(Box::new(value(end)), digits)
    };
    (end(low), end(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_held_against_its_own_kind() {
        let resource = |name: &str| Resource {
            name: name.to_owned(),
            unit: "ns".to_owned(),
            ceiling: None,
            source: None,
            delivered: 1.0,
            share: None,
            repeatability: None,
            usual: None,
            beside: None,
            meaning: Text::default(),
            doubt: None,
        };
        let mut machine = Machine::default();
        assert_eq!(usual(&machine, &resource(MEMORY_LATENCY)), None);
        machine.processor.model_name = Some("AMD EPYC 7H12 64-Core Processor".to_owned());
        let of_epyc = usual(&machine, &resource(MEMORY_LATENCY)).unwrap();
        assert_eq!(of_epyc.value("low"), Some(&Value::Figure(95.0, "ns")));
        let high = match of_epyc.value("high") {
            Some(Value::Figure(high, _)) => *high,
            other => panic!("{other:?}"),
        };
        assert!(of_epyc.to_string().contains(&format!("{high:.0} ns")), "{of_epyc} was published as {high}");
        assert!(usual(&machine, &resource(WAKE_UP)).is_some());
        let triad = usual(&machine, &resource(MEMORY_BANDWIDTH)).unwrap();
        assert_eq!(
            triad.code(),
            Some("usual-per-core"),
            "nothing is known of its channels, nor of its cores"
        );
        // What all of them reach stands beside it, so the range is of all of them.
        let cpu = |id: u32, allowed| record::machine::Cpu {
            id,
            online: true,
            allowed,
            core: Some(id % 4),
            ..record::machine::Cpu::default()
        };
        machine.cpus = (0..8).map(|id| cpu(id, id % 4 != 3)).collect();
        let triad = usual(&machine, &resource(MEMORY_BANDWIDTH)).unwrap();
        assert_eq!(triad.to_string(), "8.1 GB/s to 17 GB/s");
    }
}
