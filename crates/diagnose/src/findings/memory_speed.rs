//! Memory devices that run slower than they could.

use std::collections::BTreeMap;

use record::diagnosis::Finding;

use super::{Case, Rule, finding, lines};
use crate::figures::{modelled, told};
use crate::parts;

/// Configured MT/s below rated MT/s, one finding for each group of devices that agree.
pub const RULE: Rule = Rule { name: "memory-speed", find };

/// Speeds are thirds of 100 MT/s, rounded one way by the firmware and the other way by the device: 2933 is 2934.
const ROUNDING: u32 = 1;

fn find(case: &Case) -> Vec<Finding> {
    let mut groups: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for (at, device) in case.record.machine.memory_devices.iter().enumerate() {
        let populated = device.bytes.is_some_and(|bytes| bytes > 0) && !parts::is_flash(device);
        if let (true, Some(rated), Some(configured)) = (populated, device.rated_mt_s, device.configured_mt_s)
            && configured > 0
            && configured < rated.saturating_sub(ROUNDING)
        {
            let name = device.locator.clone().unwrap_or_else(|| format!("device {at}"));
            groups.entry((rated, configured)).or_default().push(name);
        }
    }
    groups.into_iter().filter_map(|(speeds, names)| one(speeds, &names)).collect()
}

fn one((rated, configured): (u32, u32), names: &[String]) -> Option<Finding> {
    let loss = modelled(1.0 - f64::from(configured) / f64::from(rated))?;
    let count = names.len();
    let plural = if count == 1 { "device runs" } else { "devices run" };
    let shown = names.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let more = count.checked_sub(5).map_or_else(String::new, |more| format!(" and {} more", more + 1));
    Some(Finding {
        measured: false,
        place: Some(format!("{shown}{more}")),
        evidence: vec![
            told(format!("rated for {rated} MT/s"), "machine.memory_devices[].rated_mt_s"),
            told(format!("configured to {configured} MT/s"), "machine.memory_devices[].configured_mt_s"),
        ],
        remedy: lines([
            "in the firmware: memory speed to automatic or maximum performance, no power saving for memory",
            "if it stays: the processor's limit, two devices on a channel, or a slower device beside them hold it down",
        ]),
        ..finding(&RULE, loss, format!("{count} memory {plural} at {configured} of {rated} MT/s"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine};
    use record::machine::MemoryDevice;

    fn device(locator: &str, channel: &str, gib: u64) -> MemoryDevice {
        MemoryDevice {
            locator: Some(locator.to_owned()),
            channel: Some(channel.to_owned()),
            bytes: (gib > 0).then_some(gib << 30),
            rated_mt_s: Some(2934),
            configured_mt_s: Some(2933),
            node: Some(0),
            ..MemoryDevice::default()
        }
    }

    #[test]
    fn slow_devices_are_found_by_group() {
        let mut record = machine(1);
        record.machine.memory_devices = (0..6).map(|i| device(&format!("DIMM{i}"), "A", 32)).collect();
        for device in &mut record.machine.memory_devices {
            device.configured_mt_s = Some(2100);
        }
        let all = found(&record, RULE);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].what, "6 memory devices run at 2100 of 2934 MT/s");
        assert_eq!(all[0].place.as_deref(), Some("DIMM0, DIMM1, DIMM2, DIMM3 and 2 more"));
        assert!(!all[0].measured);
        record.machine.memory_devices[0].configured_mt_s = Some(1866);
        assert_eq!(found(&record, RULE).len(), 2);
    }

    #[test]
    fn rounding_empty_slots_and_silence_are_no_slow_memory() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 32), device("B", "B", 0)];
        record.machine.memory_devices[1].configured_mt_s = Some(1600);
        assert_eq!(found(&record, RULE), []);
        record.machine.memory_devices[0].configured_mt_s = None;
        assert_eq!(found(&record, RULE), []);
    }
}
