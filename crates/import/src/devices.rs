//! Memory devices that several outputs tell of: dmidecode and lshw list the same slots, and one text may have either twice.

use record::import::{Contradiction, Origin};
use record::machine::MemoryDevice;

use crate::sink::Draft;

/// The list's path in a record.
const PATH: &str = "machine.memory_devices[";

/// What the draft held when an output began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    devices: usize,
    inventory: usize,
}

impl Before {
    /// As the draft is now.
    pub(crate) fn of(draft: &Draft) -> Self {
        Self { devices: draft.machine.memory_devices.len(), inventory: draft.inventory.len() }
    }
}

/// Puts the devices that an output has added together with those that stood there before it: a slot with the same
/// locator is the same slot. Where they tell it differently, the record follows the later output and says so.
pub(crate) fn merge(draft: &mut Draft, before: Before) {
    let list = &mut draft.machine.memory_devices;
    if before.devices == 0 || list.len() <= before.devices {
        return;
    }
    let added = list.split_off(before.devices);
    let mut taken = vec![false; list.len()];
    let mut places: Vec<usize> = Vec::with_capacity(added.len());
    for device in added {
        let same = list
            .iter()
            .take(before.devices)
            .enumerate()
            .position(|(at, known)| !taken[at] && is_same(known, &device));
        let Some(at) = same else {
            places.push(list.len());
            list.push(device);
            continue;
        };
        taken[at] = true;
        places.push(at);
        let says = differs(&list[at], &device);
        list[at] = joined(std::mem::take(&mut list[at]), device);
        if let Some(says) = says {
            let prefix = |index: usize| format!("{PATH}{index}].");
            let of = |inventory: &[(String, Origin)], prefix: &str| {
                inventory.iter().find(|(path, _)| path.starts_with(prefix)).map(|(_, origin)| origin.clone())
            };
            let (old, new) = draft.inventory.split_at(before.inventory.min(draft.inventory.len()));
            let number = before.devices + places.len() - 1;
            let origins = of(old, &prefix(at)).into_iter().chain(of(new, &prefix(number))).collect();
            draft.contradictions.push(Contradiction { says, origins });
        }
    }
    // What was told of a device follows it to its place.
    for (path, _) in draft.inventory.iter_mut().skip(before.inventory) {
        let Some((number, rest)) = path.strip_prefix(PATH).and_then(|rest| rest.split_once(']')) else {
            continue;
        };
        let place = number.parse::<usize>().ok().and_then(|n| places.get(n.checked_sub(before.devices)?));
        if let Some(place) = place {
            *path = format!("{PATH}{place}]{rest}");
        }
    }
}

/// Whether both are of one slot.
fn is_same(one: &MemoryDevice, other: &MemoryDevice) -> bool {
    let banks = one.bank.is_none() || other.bank.is_none() || one.bank == other.bank;
    one.locator.is_some() && one.locator == other.locator && banks
}

/// What two outputs tell differently of one slot.
fn differs(one: &MemoryDevice, other: &MemoryDevice) -> Option<String> {
    fn two<T: PartialEq + Copy>(one: Option<T>, other: Option<T>) -> Option<(T, T)> {
        one.zip(other).filter(|(one, other)| one != other)
    }
    let slot = one.locator.as_deref().unwrap_or_default();
    let (what, one, other) = if let Some((one, other)) = two(one.bytes, other.bytes) {
        ("bytes", one, other)
    } else if let Some((one, other)) = two(one.configured_mt_s, other.configured_mt_s) {
        ("MT/s configured", one.into(), other.into())
    } else {
        let (one, other) = two(one.rated_mt_s, other.rated_mt_s)?;
        ("MT/s rated", one.into(), other.into())
    };
    Some(format!(
        "the memory in {slot} is told as {one} and later as {other} {what}; the record follows the later output"
    ))
}

/// The later one, with what only the earlier one told.
fn joined(one: MemoryDevice, other: MemoryDevice) -> MemoryDevice {
    MemoryDevice {
        locator: other.locator.or(one.locator),
        bank: other.bank.or(one.bank),
        bytes: other.bytes.or(one.bytes),
        kind: other.kind.or(one.kind),
        form: other.form.or(one.form),
        rated_mt_s: other.rated_mt_s.or(one.rated_mt_s),
        configured_mt_s: other.configured_mt_s.or(one.configured_mt_s),
        data_bits: other.data_bits.or(one.data_bits),
        ranks: other.ranks.or(one.ranks),
        vendor: other.vendor.or(one.vendor),
        part: other.part.or(one.part),
        channel: other.channel.or(one.channel),
        node: other.node.or(one.node),
    }
}
