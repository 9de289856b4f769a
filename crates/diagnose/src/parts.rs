//! Line speed from the parts that a machine is built of: its memory devices.

use std::collections::BTreeMap;

use record::Machine;
use record::machine::MemoryDevice;

/// Data bits of a memory channel where the firmware does not tell: 64, without those for error correction.
const CHANNEL_BITS: u32 = 64;

/// What the memory channels of a machine can carry together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channels {
    /// Channels with at least one device.
    pub populated: usize,
    /// Channels × MT/s × bytes a transfer, B/s.
    pub bytes_per_second: f64,
    /// Configured MT/s of the slowest and the fastest channel.
    pub mt_s: (u32, u32),
}

/// The devices that hold memory: slots that are empty or hold flash are left out.
pub fn populated(machine: &Machine) -> impl Iterator<Item = &MemoryDevice> {
    machine
        .memory_devices
        .iter()
        .filter(|device| device.bytes.is_some_and(|bytes| bytes > 0) && !is_flash(device))
}

/// Whether a device is storage or firmware rather than memory.
pub fn is_flash(device: &MemoryDevice) -> bool {
    let kind = device.kind.as_deref().unwrap_or("").to_ascii_lowercase();
    ["flash", "rom", "non-volatile"].iter().any(|word| kind.contains(word))
}

/// The channels of a machine. `None` unless every device tells its channel and its configured speed: a sum with
/// holes would be a ceiling that is too low. Devices of one channel share it, so it counts once, at the slowest's
/// speed.
pub fn channels(machine: &Machine) -> Option<Channels> {
    let mut channels: BTreeMap<(Option<u32>, &str), (u32, u32)> = BTreeMap::new();
    for device in populated(machine) {
        let speed = device.configured_mt_s.filter(|speed| *speed > 0)?;
        let bits = device.data_bits.filter(|bits| *bits > 0).unwrap_or(CHANNEL_BITS);
        let channel = channels.entry((device.node, device.channel.as_deref()?)).or_insert((speed, bits));
        *channel = (channel.0.min(speed), channel.1.max(bits));
    }
    let slowest = channels.values().map(|(speed, _)| *speed).min()?;
    let fastest = channels.values().map(|(speed, _)| *speed).max()?;
    Some(Channels {
        populated: channels.len(),
        bytes_per_second: channels
            .values()
            .map(|(speed, bits)| f64::from(*speed) * 1e6 * f64::from(*bits) / 8.0)
            .sum(),
        mt_s: (slowest, fastest),
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
        let expected =
            Channels { populated: 2, bytes_per_second: (2666e6 + 2933e6) * 8.0, mt_s: (2666, 2933) };
        assert_eq!(found, Some(expected));
        machine.memory_devices[0].channel = None;
        assert_eq!(channels(&machine), None);
        assert_eq!(channels(&Machine::default()), None);
    }
}
