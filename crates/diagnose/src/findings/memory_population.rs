//! Memory channels or nodes that hold less than their neighbours: bandwidth that nobody can use.

use std::collections::BTreeMap;

use record::machine::MemoryDevice;

use super::prelude::*;
use crate::memory_channels;
use crate::resources::MEMORY_BANDWIDTH;

/// Uneven memory between the channels of a node, or between nodes.
///
/// Modelled: a program that uses all memory evenly is done when the fullest channel is, so that the share lost is
/// 1 − mean ÷ maximum.
pub(super) const RULE: Rule = Rule {
    name: "memory-population",
    resource: Some(MEMORY_BANDWIDTH),
    needs: &[
        needs::MEMORY_DEVICES,
        Need::new("channels or nodes of memory devices", |case| {
            let slots = &case.record.machine.memory_devices;
            slots.iter().any(|slot| slot.channel.is_some() || slot.node.is_some())
        }),
    ],
    find,
};

fn find(case: &Case) -> Option<Vec<Finding>> {
    let slots = case.record.machine.memory_devices.iter();
    let slots: Vec<&MemoryDevice> = slots.filter(|device| !memory_channels::is_flash(device)).collect();
    if slots.iter().all(|slot| size_of(slot) == 0) {
        return None;
    }
    let channels = channels(&slots).unwrap_or_default();
    let of_nodes = channels.iter().filter_map(|(node, channels)| find_uneven_channels(*node, channels));
    Some(of_nodes.chain(find_uneven_nodes(&slots)).collect())
}

fn size_of(slot: &MemoryDevice) -> u64 {
    slot.bytes.unwrap_or(0)
}

/// The share lost by unevenness.
fn uneven(sizes: impl Iterator<Item = u64>) -> f64 {
    let sizes: Vec<f64> = sizes.map(|size| size as f64).collect();
    let most = sizes.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return 0.0;
    }
    1.0 - sizes.iter().sum::<f64>() / sizes.len() as f64 / most
}

/// Bytes of each channel, by node.
type Channels<'a> = BTreeMap<Option<u32>, BTreeMap<&'a str, u64>>;

/// `None` where one slot has no channel: what looks empty then may not be.
fn channels<'a>(slots: &[&'a MemoryDevice]) -> Option<Channels<'a>> {
    let mut nodes = Channels::new();
    for slot in slots {
        let sum = nodes.entry(slot.node).or_default().entry(slot.channel.as_deref()?).or_insert(0);
        *sum = sum.saturating_add(size_of(slot));
    }
    Some(nodes)
}

/// Amounts with the names of what holds them.
fn list_sizes<N: ToString>(sizes: &BTreeMap<N, u64>) -> Text {
    let amount = |(name, size): (&N, &u64)| {
        text!("{name}: {size}", name = name.to_string(), size = Value::Bytes(*size))
    };
    text!("{sizes}", sizes = sizes.iter().map(amount).collect::<Vec<Text>>())
}

fn find_uneven_channels(node: Option<u32>, channels: &BTreeMap<&str, u64>) -> Option<Finding> {
    let loss = modelled(uneven(channels.values().copied()))?;
    let empty: Vec<Text> =
        channels.iter().filter(|(_, size)| **size == 0).map(|(name, _)| quote_name(name)).collect();
    let what = match empty.len() {
        0 => text!(
            "memory-population-uneven",
            "memory channels hold different amounts: the fullest carry more than their share"
        ),
        1 => text!("1 of {channels} memory channels is empty", channels = channels.len()),
        empty => text!("{empty} of {channels} memory channels are empty", channels = channels.len()),
    };
    let place = match (node, empty.len()) {
        (None, 0) => None,
        (Some(node), 0) => Some(text!("node or package {node}")),
        (None, 1) => Some(text!("channel {empty}")),
        (None, _) => Some(text!("channels {empty}")),
        (Some(node), 1) => Some(text!("node or package {node}, channel {empty}")),
        (Some(node), _) => Some(text!("node or package {node}, channels {empty}")),
    };
    let finding = RULE
        .report_model(loss, what)
        .locate(place)
        .advise(text!("fit the same amount of memory, in equal devices, on every channel"));
    Some(finding.cite(list_sizes(channels), "machine.memory_devices[].channel and .bytes"))
}

fn find_uneven_nodes(slots: &[&MemoryDevice]) -> Option<Finding> {
    let mut nodes: BTreeMap<u32, u64> = BTreeMap::new();
    for slot in slots {
        let sum = nodes.entry(slot.node?).or_insert(0);
        *sum = sum.saturating_add(size_of(slot));
    }
    let loss = modelled(uneven(nodes.values().copied()))?;
    let what = text!("memory-population-uneven-nodes", "nodes or sockets hold different amounts of memory");
    let advice = text!("fit the same amount of memory on every node or socket");
    let seen = cite_fact(list_sizes(&nodes), "machine.memory_devices[].node and .bytes");
    Some(RULE.report_model(loss, what).cite_all([seen]).advise(advice))
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
            Some("node or package 0, channels E and F")
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
        assert_eq!(missing(&record, RULE), Some(needs::MEMORY_DEVICES.what));
    }
}
