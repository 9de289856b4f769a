//! Memory channels or nodes that have less memory than others, so that bandwidth remains unused.

use std::collections::BTreeMap;

use record::machine::MemoryDevice;

use super::prelude::*;
use crate::{cores, memory_channels};

/// Different amounts of memory on the channels of one node, or on the nodes of a machine.
///
/// The lost share is modelled as 1 − mean ÷ maximum, because a program that accesses all memory evenly is limited by the fullest channel.
pub(super) const RULE: Rule = Rule { name: "memory-population", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    let all = machine.memory_devices.iter();
    let slots: Vec<&MemoryDevice> = all.filter(|device| memory_channels::is_on_channel(device)).collect();
    let is_known = !memory_channels::are_made_up(machine) && memory_channels::is_whole(machine);
    if !is_known || slots.iter().all(|slot| size_of(slot) == 0) {
        return None;
    }
    let channels = channels(&slots, machine.counts.packages > Some(1));
    let few = if channels.is_none() { find_few(machine, &slots) } else { None };
    let of_nodes = channels.iter().flatten().filter_map(|(node, all)| find_uneven(*node, all, machine));
    Some(of_nodes.chain(few).chain(find_uneven_nodes(machine, &slots)).collect())
}

/// Fewer devices than channels, if the names of the slots do not tell the channels. Workstation processors of one package share the design
/// of a server's but have half its channels, so several packages or a server processor's name are required; a soldered device has several
/// channels.
fn find_few(machine: &Machine, slots: &[&MemoryDevice]) -> Option<Finding> {
    let is_bare = machine.virtualization.hypervisor.as_deref() == Some("none");
    let is_whole = is_bare && machine.memory_bytes.is_some();
    let is_server = matches!(cores::of_machine(machine)?.group.as_deref(), Some("epyc" | "xeon"));
    let packages = machine.counts.packages.filter(|packages| is_whole && (*packages > 1 || is_server))?;
    let most = memory_channels::of_processor(machine, "mem.channels")? as usize * packages as usize;
    let filled = slots.iter().filter(|slot| size_of(slot) > 0);
    let forms: Option<Vec<_>> = filled.map(|slot| slot.form.as_deref().filter(|f| *f == "DIMM")).collect();
    let devices = forms?.len();
    let loss = modelled(1.0 - devices as f64 / most as f64)?;
    let what = text!("memory-population-few", "{devices} memory devices cannot fill {most} memory channels");
    let says = text!("{devices} devices, {packages} packages");
    let finding = RULE.report_model(loss, what).cite(says, "machine.memory_devices[].bytes");
    Some(finding.doubt(text!(FEWER)))
}

/// The condition of findings that the processor's number of channels would refute.
const FEWER: Template = Template::new("memory-unless-fewer", "(unless the processor has fewer channels)");

fn size_of(slot: &MemoryDevice) -> u64 {
    slot.bytes.unwrap_or(0)
}

/// The share of bandwidth lost because of uneven amounts.
fn uneven(sizes: impl Iterator<Item = u64>) -> f64 {
    let sizes: Vec<f64> = sizes.map(|size| size as f64).collect();
    let most = sizes.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 { 0.0 } else { 1.0 - sizes.iter().sum::<f64>() / sizes.len() as f64 / most }
}

/// Bytes of each channel, by node.
type Channels = BTreeMap<Option<u32>, BTreeMap<String, u64>>;

/// `None` if the channel of any slot is unknown, because a channel that appears empty may then be populated.
fn channels(slots: &[&MemoryDevice], has_several: bool) -> Option<Channels> {
    let mut nodes = Channels::new();
    for slot in slots.iter().filter(|slot| is_a_slot(slots, slot, has_several)) {
        let channel = match controller(slot) {
            Some(controller) if slots.iter().any(|other| fills(other, controller)) => controller,
            _ => slot.channel.as_deref()?,
        };
        let sum = nodes.entry(slot.node).or_default().entry(channel.to_owned()).or_insert(0);
        *sum = sum.saturating_add(size_of(slot));
    }
    // No processor has an odd number of channels above three, so a name was misread.
    nodes.retain(|_, channels| channels.len() <= 3 || channels.len().is_multiple_of(2));
    Some(nodes)
}

/// The group of channels in the name of a channel without a package: `NODE 1` in `NODE 1 CHANNEL 0`.
fn group(slot: &MemoryDevice) -> Option<&str> {
    slot.channel.as_deref().filter(|_| slot.node.is_none())?.split_once(" CHANNEL ").map(|(group, _)| group)
}

/// A group that is a controller: `MC0` in `MC0 CHANNEL B`. The firmware of client machines lists four channels of 16 or 32 bits per
/// controller, even if the installed memory is 64 bits wide and uses the entire controller.
fn controller(slot: &MemoryDevice) -> Option<&str> {
    group(slot).filter(|group| group.starts_with("MC"))
}

/// Whether a device is on a controller with a similar name and uses the controller's entire width.
fn fills(device: &MemoryDevice, of: &str) -> bool {
    let is_alike = controller(device).is_some_and(|controller| controller.len() == of.len());
    is_alike && size_of(device) > 0 && device.data_bits.is_none_or(|bits| bits >= 64)
}

/// Whether an entry in the firmware's table is a real slot. The name of an empty slot must have the same form as the name of a populated
/// slot and, on client machines, both must have the same known form factor. Unless the machine has several packages, a "node" without
/// memory may be an empty socket.
fn is_a_slot(slots: &[&MemoryDevice], slot: &MemoryDevice, has_several: bool) -> bool {
    let letters = |word: &str| word.chars().filter(char::is_ascii_alphabetic).count();
    let shape = |device: &MemoryDevice| -> Option<Vec<usize>> {
        let words = device.locator.as_deref()?.split(|c: char| !c.is_ascii_alphanumeric());
        Some(words.map(letters).collect())
    };
    let node = |device| group(device).filter(|group| !has_several && group.starts_with("NODE"));
    let mut filled = slots.iter().filter(|other| size_of(other) > 0 && node(other) == node(slot));
    size_of(slot) > 0
        || filled.any(|other| {
            let is_named_alike = shape(slot).zip(shape(other)).is_none_or(|(slot, other)| slot == other);
            is_named_alike && (controller(slot).is_none() || slot.form.is_some() && slot.form == other.form)
        })
}

/// Amounts of memory, each with the name of its channel or node.
fn list_sizes<N: ToString>(sizes: &BTreeMap<N, u64>) -> Text {
    let amount = |(name, size): (&N, &u64)| {
        text!("{name}: {size}", name = name.to_string(), size = Value::Bytes(*size))
    };
    text!("{sizes}", sizes = sizes.iter().map(amount).collect::<Vec<Text>>())
}

fn find_uneven(node: Option<u32>, channels: &BTreeMap<String, u64>, machine: &Machine) -> Option<Finding> {
    let sockets = if node.is_some() { Some(1) } else { machine.counts.packages };
    let of_socket = memory_channels::of_processor(machine, "mem.channels");
    let most = of_socket.zip(sockets).map(|(of_socket, sockets)| of_socket as usize * sockets as usize);
    // Some boards have more slots than the processor has channels, each slot with its own letter.
    if most.is_some_and(|most| channels.len() > most) {
        return None;
    }
    let loss = modelled(uneven(channels.values().copied()))?;
    let empty: Vec<Text> =
        channels.iter().filter(|(_, size)| **size == 0).map(|(name, _)| quote_name(name)).collect();
    let what = match empty.len() {
        0 => text!(
            "memory-population-uneven",
            "memory channels have different amounts of memory: the fullest channels carry a higher share of the traffic"
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
    // Memory beyond the size of the smallest channel has less bandwidth, which affects only programs that use this much memory.
    let relevance = if channels.values().all(|size| *size > 0) { Relevance::Some } else { Relevance::All };
    let finding = RULE.report_model(loss, what).felt_by(relevance).locate(place);
    let finding = finding.cite(list_sizes(channels), "machine.memory_devices[].channel and .bytes");
    let is_sure = most.is_some() || relevance != Relevance::All;
    Some(if is_sure { finding } else { finding.doubt(text!(FEWER)) })
}

fn find_uneven_nodes(machine: &Machine, slots: &[&MemoryDevice]) -> Option<Finding> {
    let mut nodes: BTreeMap<u32, u64> = BTreeMap::new();
    for slot in slots {
        let sum = nodes.entry(slot.node?).or_insert(0);
        *sum = sum.saturating_add(size_of(slot));
    }
    // A board also has slots for missing processors.
    if machine.counts.packages.or(machine.counts.nodes).is_none_or(|there| (there as usize) < nodes.len()) {
        nodes.retain(|_, size| *size > 0);
    }
    let loss = modelled(uneven(nodes.values().copied()))?;
    let what = text!("memory-population-uneven-nodes", "nodes or sockets have different amounts of memory");

    let seen = cite_fact(list_sizes(&nodes), "machine.memory_devices[].node and .bytes");
    let relevance = if nodes.values().any(|size| *size == 0) { Relevance::All } else { Relevance::Some };
    Some(RULE.report_model(loss, what).felt_by(relevance).cite_all([seen]).mend_as("memory-population nodes"))
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

    /// Boards for other processors have more slots than this processor has channels.
    #[test]
    fn slots_beyond_the_processor_s_channels_are_none() {
        let mut record = machine(1);
        (record.machine.processor.family, record.machine.processor.model) = (None, None);
        record.machine.memory_devices = ["A", "B", "C", "D", "E", "F", "G", "H"]
            .iter()
            .map(|c| device(c, c, if *c < "G" { 32 } else { 0 }))
            .collect();
        for (name, expected) in [
            ("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", None),
            ("AMD EPYC 7763 64-Core Processor", Some(Severity::Serious)),
            ("Some Processor 1", Some(Severity::Warning)),
        ] {
            record.machine.processor.model_name = Some(name.to_owned());
            assert_eq!(found(&record, RULE).first().map(|one| one.severity), expected, "{name}");
        }
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

    /// The slots' names tell no channels: four devices leave at least eight of twelve channels empty.
    #[test]
    fn too_few_devices_for_all_channels_are_found_if_no_name_tells_the_channel() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("DIMM 1", "", 32); 4];
        for device in &mut record.machine.memory_devices {
            (device.channel, device.node, device.form) = (None, None, Some("DIMM".to_owned()));
        }
        record.machine.processor.model_name = Some("Intel(R) Xeon(R) Gold 6240 CPU @ 2.60GHz".to_owned());
        record.machine.virtualization.hypervisor = Some("none".to_owned());
        record.machine.memory_bytes = Some(125 << 30);
        record.machine.counts.packages = Some(1);
        assert_eq!(figure_in(&found(&record, RULE)[0].what.sentences()[0], "most"), 6.0);
        for name in ["Intel(R) Xeon(R) W-2245 CPU @ 3.90GHz", "AMD EPYC 8324P 32-Core Processor"] {
            let mut record = record.clone();
            record.machine.processor.model_name = Some(name.to_owned());
            assert_eq!(found(&record, RULE), [], "the processor may have fewer channels: {name}");
        }
        record.machine.counts.packages = Some(2);
        let finding = &found(&record, RULE)[0];
        assert_eq!(
            ["devices", "most"].map(|name| figure_in(&finding.what.sentences()[0], name)),
            [4.0, 12.0]
        );
        assert_eq!(finding.severity, Severity::Warning);
        record.machine.memory_bytes = None;
        assert_eq!(found(&record, RULE), [], "the list may be cut");
        record.machine.memory_bytes = Some(125 << 30);
        record.machine.memory_devices[0].form = Some("Die".to_owned());
        assert_eq!(found(&record, RULE), [], "soldered memory");
        record.machine.memory_devices[0].form = Some("DIMM".to_owned());
        record.machine.memory_devices = vec![record.machine.memory_devices[0].clone(); 12];
        assert_eq!(found(&record, RULE), []);
    }

    /// A board with two sockets' slots and one processor.
    #[test]
    fn slots_of_an_empty_socket_are_no_node() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 16), device("B", "A", 0)];
        record.machine.memory_devices[1].node = Some(1);
        assert_eq!(found(&record, RULE), [], "the number of sockets is unknown");
        record.machine.counts.packages = Some(1);
        assert_eq!(found(&record, RULE), []);
        record.machine.counts.packages = Some(2);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious);
    }

    /// The slots' names contain no package, and a "node" may be one.
    #[test]
    fn a_node_without_memory_may_be_an_empty_socket() {
        let slot = |channel: &str, gib| {
            let mut slot = device("DIMM 0", channel, gib);
            slot.node = None;
            slot
        };
        let mut record = machine(1);
        record.machine.memory_devices = vec![
            slot("NODE 0 CHANNEL 0", 32),
            slot("NODE 0 CHANNEL 1", 32),
            slot("NODE 1 CHANNEL 0", 0),
            slot("NODE 1 CHANNEL 1", 0),
        ];
        for (packages, findings) in [(None, 0), (Some(1), 0), (Some(2), 1)] {
            record.machine.counts.packages = packages;
            assert_eq!(found(&record, RULE).len(), findings, "{packages:?}");
        }
        record.machine.counts.packages = Some(1);
        record.machine.memory_devices[1].bytes = Some(0);
        assert_eq!(figure_in(&found(&record, RULE)[0].what, "channels"), 2.0);
    }

    #[test]
    fn a_list_that_is_cut_says_nothing() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 16), device("B", "B", 0)];
        assert_eq!(found(&record, RULE).len(), 1);
        record.machine.memory_bytes = Some(128 << 30);
        assert_eq!(found(&record, RULE), []);
        record.machine.memory_bytes = Some(15 << 30);
        record.machine.memory_slots = Some(4);
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn a_client_s_controller_is_one_channel_where_its_memory_is_as_wide() {
        let slot = |locator: &str, channel: &str, gib| {
            let mut slot = device(locator, channel, gib);
            (slot.node, slot.data_bits) = (None, Some(64));
            slot
        };
        let mut record = machine(1);
        record.machine.memory_devices = vec![
            slot("Controller0-ChannelA", "MC0 CHANNEL A", 8),
            slot("Controller0-ChannelB-DIMM0", "MC0 CHANNEL B", 0),
            slot("Controller1-ChannelA", "MC1 CHANNEL A", 8),
            slot("Controller1-ChannelB-DIMM0", "MC1 CHANNEL B", 0),
        ];
        assert_eq!(found(&record, RULE), []);
        // A processor with one controller, although the firmware's table lists two.
        record.machine.memory_devices[2].bytes = Some(0);
        record.machine.memory_devices[2].locator = Some("Controller1-ChannelA-DIMM0".to_owned());
        assert_eq!(found(&record, RULE), []);
        // On a server, these are channels, and no processor has seven of them.
        let named = |name: &&str| device(name, name, if *name == "G" { 0 } else { 16 });
        record.machine.memory_devices = ["A", "B", "C", "D", "E", "F", "G"].iter().map(named).collect();
        assert_eq!(found(&record, RULE), []);
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
        assert_eq!(missing(&record, RULE), Some("memory devices (SMBIOS)"));
    }
}
