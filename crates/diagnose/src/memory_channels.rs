//! The bandwidth ceiling that results from a machine's memory devices.

use std::collections::BTreeMap;

use record::machine::MemoryDevice;
use record::phrase::count_noun;
use record::{Machine, Text, text};

use crate::cores;

/// Data width of a memory channel, in bits, if the firmware does not report it: 64, excluding the bits for error correction.
const CHANNEL_BITS: u32 = 64;

/// The combined bandwidth of all memory channels of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Channels {
    /// Channels with at least one device.
    pub populated: usize,
    /// The sum of the channels' peak bandwidths, B/s. The peak bandwidth of a channel is its transfer rate times the bytes per transfer.
    pub bytes_per_second: f64,
    /// Configured MT/s of the slowest and the fastest channel.
    pub mt_s: (u32, u32),
    /// The bandwidth if each device ran at its rated speed, B/s; `None` unless the rated speed of every device is known.
    pub rated_bytes_per_second: Option<f64>,
    /// Rated MT/s of the slowest and the fastest channel.
    pub rated_mt_s: Option<(u32, u32)>,
}

impl Channels {
    /// The number and speeds of channels: `6 populated channels at 2666 to 2933 MT/s`.
    pub(crate) fn describe_at(&self, (slowest, fastest): (u32, u32)) -> Text {
        let channels = count_noun(self.populated, "populated channel");
        if slowest == fastest {
            return text!("{channels} at {speed} MT/s", speed = slowest);
        }
        text!("{channels} at {slowest} to {fastest} MT/s")
    }
}

/// One channel, which runs at the speed of its slowest device.
#[derive(Clone, Copy, Debug)]
struct Channel {
    configured: u32,
    rated: Option<u32>,
    bits: u32,
}

impl Channel {
    fn rate(self, mt_s: u32) -> f64 {
        f64::from(mt_s) * 1e6 * f64::from(self.bits) / 8.0
    }
}

/// The memory devices on channels, excluding empty slots.
pub(crate) fn populated(machine: &Machine) -> impl Iterator<Item = &MemoryDevice> {
    machine.memory_devices.iter().filter(|device| is_populated(device) && is_on_channel(device))
}

/// Whether a device contains memory. Some firmware lists a speed but no type for empty slots; published results contain the speed and the
/// type, but not always the size.
fn is_populated(device: &MemoryDevice) -> bool {
    let reported = device.kind.is_some() && device.configured_mt_s.is_some_and(|speed| speed > 0);
    device.bytes.map_or(reported, |bytes| bytes > 0) && !is_flash(device)
}

/// Whether a device is storage or firmware rather than memory.
pub(crate) fn is_flash(device: &MemoryDevice) -> bool {
    let kind = device.kind.as_deref().unwrap_or("").to_ascii_lowercase();
    ["flash", "rom", "non-volatile"].iter().any(|word| kind.contains(word))
}

/// Whether a device is memory on a channel, rather than flash or stacked memory in the processor's package (HBM), which has its own
/// controllers and its own speed.
pub(crate) fn is_on_channel(device: &MemoryDevice) -> bool {
    !is_flash(device) && !device.kind.as_deref().unwrap_or("").starts_with("HBM")
}

/// The lowest and the highest MT/s of each kind (JEDEC). If the firmware reports less, it reports the clock, which is half the rate;
/// devices rated for more are overclocked.
const SPEEDS: [(&str, u32, u32); 4] =
    [("DDR2", 400, 1066), ("DDR3", 800, 2133), ("DDR4", 1600, 3200), ("DDR5", 3200, 8800)];

fn speeds_of(device: &MemoryDevice) -> Option<(u32, u32)> {
    let known = SPEEDS.iter().find(|(kind, ..)| device.kind.as_deref() == Some(*kind));
    known.map(|(_, least, most)| (*least, *most))
}

/// A published property of the memory controllers of one socket with this processor: `mem.channels`, `mem.rate_max`.
pub(crate) fn of_processor(machine: &Machine, what: &str) -> Option<f64> {
    Some(cores::range_of(cores::of_machine(machine)?, what, machine)?.high)
}

/// The highest MT/s at which a device can run in this machine, limited by its rating, its kind and the processor.
pub(crate) fn rated_mt_s(machine: &Machine, device: &MemoryDevice) -> Option<u32> {
    let supported = of_processor(machine, "mem.rate_max").map_or(u32::MAX, |most| most as u32);
    let of_kind = speeds_of(device).map_or(u32::MAX, |(_, most)| most);
    Some(device.rated_mt_s.filter(|rated| *rated > 0)?.min(supported).min(of_kind))
}

/// The configured rate of a device, MT/s. `None` if the firmware may have reported the clock instead, that is, if the value is exactly half
/// the rated speed or below the minimum for this kind of device.
pub(crate) fn running_mt_s(device: &MemoryDevice) -> Option<u32> {
    let configured = device.configured_mt_s.filter(|speed| *speed > 0)?;
    let is_half = device.rated_mt_s.is_some_and(|rated| rated.abs_diff(configured.saturating_mul(2)) <= 2);
    (!is_half && speeds_of(device).is_none_or(|(least, _)| configured >= least)).then_some(configured)
}

/// Whether the devices are invented by a hypervisor. The devices of an emulated machine (QEMU's TCG) do not count as invented, because
/// there are no other devices behind them.
pub(crate) fn are_made_up(machine: &Machine) -> bool {
    machine.is_virtual() && machine.virtualization.emulated != Some(true)
}

/// Whether the list of devices is complete, that is, accounts for all memory that the machine reports and has a device for each slot.
/// Imported output may be truncated.
pub(crate) fn is_whole(machine: &Machine) -> bool {
    let mut devices = machine.memory_devices.iter().filter(|device| is_populated(device));
    let listed = devices.try_fold(0, |sum: u64, device| Some(sum.saturating_add(device.bytes?)));
    let is_all = listed.zip(machine.memory_bytes).is_none_or(|(listed, all)| all / 17 * 16 <= listed);
    is_all && machine.memory_slots.is_none_or(|slots| slots as usize <= machine.memory_devices.len())
}

/// The channels of a machine. `None` if the list of devices is incomplete or lacks the channel or configured speed of a device, because the
/// sum would then be too low; also `None` if memory is stacked in the processor's package. Devices on one channel share its bandwidth, so
/// each channel counts once, at the speed of its slowest device.
pub(crate) fn channels(machine: &Machine) -> Option<Channels> {
    let mut channels: BTreeMap<(Option<u32>, &str), Channel> = BTreeMap::new();
    let is_stacked = |device| is_populated(device) && !is_on_channel(device);
    if !is_whole(machine) || machine.memory_devices.iter().any(is_stacked) {
        return None;
    }
    for device in populated(machine) {
        let configured = running_mt_s(device)?;
        let bits = device.data_bits.filter(|bits| *bits > 0).unwrap_or(CHANNEL_BITS);
        // A device can run above its rated speed.
        let rated = rated_mt_s(machine, device).map(|rated| rated.max(configured));
        let own = Channel { configured, rated, bits };
        let channel = channels.entry((device.node, device.channel.as_deref()?)).or_insert(own);
        channel.configured = channel.configured.min(configured);
        channel.rated = channel.rated.zip(rated).map(|(a, b)| a.min(b));
        channel.bits = channel.bits.max(bits);
    }
    let range = |of: &dyn Fn(&Channel) -> Option<u32>| -> Option<(u32, u32)> {
        let speeds = channels.values().map(of).collect::<Option<Vec<u32>>>()?;
        Some((*speeds.iter().min()?, *speeds.iter().max()?))
    };
    let sum = |of: &dyn Fn(&Channel) -> Option<u32>| -> Option<f64> {
        channels.values().map(|channel| Some(channel.rate(of(channel)?))).sum()
    };
    Some(Channels {
        populated: channels.len(),
        bytes_per_second: sum(&|channel| Some(channel.configured))?,
        mt_s: range(&|channel| Some(channel.configured))?,
        rated_bytes_per_second: sum(&|channel| channel.rated),
        rated_mt_s: range(&|channel| channel.rated),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(channel: &str, configured: u32) -> MemoryDevice {
        MemoryDevice {
            bytes: Some(16 << 30),
            kind: Some("DDR4".to_owned()),
            configured_mt_s: Some(configured),
            channel: Some(channel.to_owned()),
            node: Some(0),
            ..MemoryDevice::default()
        }
    }

    #[test]
    fn two_devices_on_one_channel_do_not_double_it() {
        let mut machine = Machine {
            memory_devices: vec![
                device("A", 2933),
                device("A", 2666),
                device("B", 2933),
                MemoryDevice::default(),
            ],
            ..Machine::default()
        };
        let found = channels(&machine);
        let expected = Channels {
            populated: 2,
            bytes_per_second: (2666e6 + 2933e6) * 8.0,
            mt_s: (2666, 2933),
            rated_bytes_per_second: None,
            rated_mt_s: None,
        };
        assert_eq!(found, Some(expected));
        for device in &mut machine.memory_devices {
            device.rated_mt_s = Some(3200);
        }
        let rated = channels(&machine).and_then(|channels| channels.rated_bytes_per_second);
        assert_eq!(rated, Some(2.0 * 3200e6 * 8.0));
        machine.memory_devices[0].channel = None;
        assert_eq!(channels(&machine), None);
        assert_eq!(channels(&Machine::default()), None);
    }
}
