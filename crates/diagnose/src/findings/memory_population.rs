//! Memory channels or nodes that hold less than their neighbours: bandwidth that nobody can use.

use std::collections::BTreeMap;

use record::diagnosis::Finding;
use record::machine::MemoryDevice;
use record::phrase::agree;
use record::units::bytes;
use record::{Remedy, Template, text};

use super::needs::Need;
use super::{Case, Rule, by_model, needs};
use crate::figures::{cite_fact, modelled};
use crate::memory_channels;
use crate::resources::MEMORY_BANDWIDTH;

/// Uneven memory between the channels of a node, or between nodes.
///
/// Modelled: a program that uses all memory evenly is done when the fullest channel is, so that the share lost is
/// 1 − mean ÷ maximum.
pub(super) const RULE: Rule = Rule {
    name: "memory-population",
    glossary: "
        Channels or nodes hold different amounts of memory, or none.
        How: Modelled: work that uses all memory evenly ends when the fullest channel does, so 1 − mean ÷
        maximum is lost.
    ",
    resource: Some(MEMORY_BANDWIDTH),
    needs: &[
        needs::MEMORY_DEVICES,
        Need {
            what: Template { code: "needs-memory-channels", words: "channels or nodes of memory devices" },
            is_met: |case| {
                let slots = &case.record.machine.memory_devices;
                slots.iter().any(|slot| slot.channel.is_some() || slot.node.is_some())
            },
        },
    ],
    find,
};

fn find(case: &Case) -> Vec<Finding> {
    let slots: Vec<&MemoryDevice> = case
        .record
        .machine
        .memory_devices
        .iter()
        .filter(|device| !memory_channels::is_flash(device))
        .collect();
    if slots.iter().all(|slot| held(slot) == 0) {
        return Vec::new();
    }
    let mut found = channels(&slots);
    found.extend(nodes(&slots));
    found
}

fn held(slot: &MemoryDevice) -> u64 {
    slot.bytes.unwrap_or(0)
}

/// The share lost by unevenness.
fn uneven(sizes: &[u64]) -> f64 {
    let most = sizes.iter().copied().max().unwrap_or(0) as f64;
    if most <= 0.0 {
        return 0.0;
    }
    let mean = sizes.iter().map(|size| *size as f64).sum::<f64>() / sizes.len() as f64;
    1.0 - mean / most
}

fn channels(slots: &[&MemoryDevice]) -> Vec<Finding> {
    // One slot without a channel, and what looks empty may not be.
    let Some(reported_channels) = slots
        .iter()
        .map(|slot| Some(((slot.node, slot.channel.clone()?), held(slot))))
        .collect::<Option<Vec<_>>>()
    else {
        return Vec::new();
    };
    let mut nodes: BTreeMap<Option<u32>, BTreeMap<String, u64>> = BTreeMap::new();
    for ((node, channel), size) in reported_channels {
        let sum = nodes.entry(node).or_default().entry(channel).or_insert(0);
        *sum = sum.saturating_add(size);
    }
    nodes.into_iter().filter_map(|(node, channels)| of_node(node, &channels)).collect()
}

fn of_node(node: Option<u32>, channels: &BTreeMap<String, u64>) -> Option<Finding> {
    let sizes: Vec<u64> = channels.values().copied().collect();
    if sizes.iter().all(|size| *size == 0) {
        return None;
    }
    let loss = modelled(uneven(&sizes))?;
    let empty: Vec<&str> =
        channels.iter().filter(|(_, size)| **size == 0).map(|(name, _)| name.as_str()).collect();
    let what = if empty.is_empty() {
        text!(
            "memory-population-uneven",
            "memory channels hold different amounts: the fullest carry more than their share"
        )
    } else {
        let are = agree(empty.len(), "is", "are");
        text!(
            "memory-population-empty",
            "{empty} of {channels} memory channels {are} empty",
            empty = empty.len(),
            channels = channels.len(),
            are
        )
    };
    let sizes: Vec<String> = channels.iter().map(|(name, size)| format!("{name} {}", bytes(*size))).collect();
    let mut place = node.map(|node| format!("node or package {node}"));
    if !empty.is_empty() {
        let channels = agree(empty.len(), "channel", "channels");
        let named = format!("{channels} {}", empty.join(", "));
        place = Some(place.map_or_else(|| named.clone(), |place| format!("{place}, {named}")));
    }
    Some(Finding {
        place: place.map(Into::into),
        evidence: vec![cite_fact(sizes.join(", "), "machine.memory_devices[].channel and .bytes")],
        remedy: vec![Remedy::advice(text!(
            "memory-population-channels",
            "fit the same amount of memory, in equal devices, on every channel"
        ))],
        ..by_model(&RULE, loss, what)
    })
}

fn nodes(slots: &[&MemoryDevice]) -> Option<Finding> {
    let mut nodes: BTreeMap<u32, u64> = BTreeMap::new();
    for slot in slots {
        let sum = nodes.entry(slot.node?).or_insert(0);
        *sum = sum.saturating_add(held(slot));
    }
    let sizes: Vec<u64> = nodes.values().copied().collect();
    let loss = modelled(uneven(&sizes))?;
    let reported_sizes: Vec<String> =
        nodes.iter().map(|(node, size)| format!("{node}: {}", bytes(*size))).collect();
    Some(Finding {
        evidence: vec![cite_fact(reported_sizes.join(", "), "machine.memory_devices[].node and .bytes")],
        remedy: vec![Remedy::advice(text!(
            "memory-population-nodes",
            "fit the same amount of memory on every node or socket"
        ))],
        ..by_model(
            &RULE,
            loss,
            text!("memory-population-uneven-nodes", "nodes or sockets hold different amounts of memory"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{device, figure_in, machine};

    #[test]
    fn empty_channels_are_found() {
        let mut record = machine(1);
        record.machine.memory_devices = ["A", "B", "C", "D", "E", "F"]
            .iter()
            .map(|c| device(c, c, if *c < "E" { 32 } else { 0 }))
            .collect();
        let finding = &found(&record, RULE)[0];
        assert_eq!(["empty", "channels"].map(|name| figure_in(&finding.what, name)), [2.0, 6.0]);
        assert_eq!(
            finding.place.as_ref().map(|text| text.to_string()).as_deref(),
            Some("node or package 0, channels E, F")
        );
        assert!((crate::figures::share_of(&finding.loss) - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn uneven_channels_and_nodes_are_found() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 64), device("B", "B", 32)];
        assert_eq!(found(&record, RULE)[0].what.code(), Some("memory-population-uneven"));
        record.machine.memory_devices = vec![device("A", "A", 64), device("B", "A", 32)];
        record.machine.memory_devices[1].node = Some(1);
        assert_eq!(found(&record, RULE)[0].what.code(), Some("memory-population-uneven-nodes"));
    }

    #[test]
    fn two_slots_of_one_channel_may_differ_and_unknown_channels_say_nothing() {
        let mut record = machine(1);
        record.machine.memory_devices =
            vec![device("A1", "A", 0), device("A2", "A", 16), device("B1", "B", 0), device("B2", "B", 16)];
        assert_eq!(found(&record, RULE), []);
        record.machine.memory_devices[3].bytes = None;
        record.machine.memory_devices[3].channel = None;
        assert_eq!(found(&record, RULE), []);
        record.machine.memory_devices.clear();
        assert_eq!(missing(&record, RULE), Some(needs::MEMORY_DEVICES.what.code));
    }
}
