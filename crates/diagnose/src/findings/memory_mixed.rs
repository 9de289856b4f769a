//! Memory devices of different speeds: fast devices run at the speed of slow ones.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::memory_channels::{self, rated_mt_s};

/// Devices with different rated or configured speeds.
///
/// The loss is modelled as 1 − slowest ÷ fastest, because memory is interleaved evenly over its channels, which makes all channels as slow
/// as the slowest one.
pub(super) const RULE: Rule = Rule { name: "memory-mixed", find };

/// Speeds are multiples of 100/3 MT/s, which firmware and devices round differently. Therefore, 2933 counts as equal to 2934.
pub(super) const ROUNDING: u32 = 1;

const RUNNING: Template = Template::new(
    "memory-mixed-running",
    "memory devices run at different speeds, the slowest at {slowest} MT/s",
);
const RATED: Template = Template::new(
    "memory-mixed-rated",
    "memory devices can run at different speeds in this machine, the slowest at {slowest} MT/s",
);

/// The highest speed that the slowest device supports, MT/s. `None` unless the speeds of all devices are known and differ.
pub(super) fn slowest_rated(machine: &Machine) -> Option<u32> {
    let rated = memory_channels::populated(machine).map(|device| rated_mt_s(machine, device));
    let rated = rated.collect::<Option<Vec<u32>>>()?;
    let (slowest, fastest) = (*rated.iter().min()?, *rated.iter().max()?);
    (slowest > 0 && slowest.saturating_add(ROUNDING) < fastest).then_some(slowest)
}

/// The number of devices with each speed.
fn speeds(of: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut speeds = BTreeMap::new();
    for speed in of.filter(|speed| *speed > 0) {
        // Speeds that differ only by rounding count as equal.
        let known = speeds.range(speed.saturating_sub(ROUNDING)..=speed.saturating_add(ROUNDING)).next();
        let speed = known.map_or(speed, |(known, _)| *known);
        *speeds.entry(speed).or_insert(0usize) += 1;
    }
    speeds
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    // The devices of a guest are invented by the hypervisor, and a truncated list is incomplete.
    if memory_channels::are_made_up(machine) || !memory_channels::is_whole(machine) {
        return None;
    }
    let rated = speeds(memory_channels::populated(machine).filter_map(|device| rated_mt_s(machine, device)));
    let configured = speeds(memory_channels::populated(machine).filter_map(memory_channels::running_mt_s));
    // The configured speeds are used if they differ; if all devices run at the same speed, the ratings are used.
    let (speeds, what, from) = if configured.len() > 1 {
        (configured, RUNNING, "machine.memory_devices[].configured_mt_s")
    } else {
        let both = slowest_rated(machine).zip(configured.keys().next());
        if both.is_some_and(|(slowest, configured)| *configured > slowest.saturating_add(ROUNDING)) {
            return None;
        }
        (rated, RATED, "machine.memory_devices[].rated_mt_s")
    };
    let (slowest, fastest) = (*speeds.keys().next()?, *speeds.keys().next_back()?);
    let count: usize = speeds.values().sum();
    let loss = modelled(1.0 - f64::from(slowest) / f64::from(fastest))?;
    let group = |(speed, count): (&u32, &usize)| text!("{count} at {speed} MT/s");
    let groups: Vec<Text> = speeds.iter().map(group).collect();
    Some(vec![RULE.report_model(loss, text!(what, slowest)).cite(text!("{count} devices: {groups}"), from)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{device, machine};

    fn record_with(speeds: &[(u32, u32)]) -> record::Record {
        let mut record = machine(1);
        for (at, (rated, configured)) in speeds.iter().enumerate() {
            let mut device = device(&format!("DIMM{at}"), &format!("{at}"), 16);
            (device.rated_mt_s, device.configured_mt_s) = (Some(*rated), Some(*configured));
            record.machine.memory_devices.push(device);
        }
        record
    }

    #[test]
    fn one_slow_device_among_fast_ones_is_found() {
        let finding =
            &found(&record_with(&[(3200, 2400), (3200, 2400), (3200, 2400), (2400, 2400)]), RULE)[0];
        assert_eq!(finding.evidence[0].says, "4 devices: 1 at 2400 MT/s and 3 at 3200 MT/s".into());
        assert!((crate::figures::share_of(&finding.loss) - 0.25).abs() < 1e-9, "{finding:?}");
        let run = &found(&record_with(&[(3200, 3200), (3200, 2666)]), RULE)[0];
        assert!(run.what.is(&RUNNING) && finding.what.is(&RATED));
    }

    /// A Xeon Max has HBM in its package and DDR5 on its channels.
    #[test]
    fn stacked_memory_has_its_own_speed() {
        let mut record = record_with(&[(4800, 4800), (4800, 4800), (3200, 3200)]);
        assert_eq!(found(&record, RULE).len(), 1);
        record.machine.memory_devices[2].kind = Some("HBM2".to_owned());
        assert_eq!(found(&record, RULE), []);
        assert_eq!(memory_channels::channels(&record.machine), None, "the bandwidth of HBM is unknown");
        record.machine.memory_devices[1].configured_mt_s = Some(4400);
        assert_eq!(found(&record, RULE).len(), 1);
    }

    #[test]
    fn speeds_that_differ_by_rounding_are_one() {
        assert_eq!(found(&record_with(&[(2934, 2933), (2933, 2933)]), RULE), []);
        // All devices are limited equally, by something other than the slowest device.
        assert_eq!(found(&record_with(&[(3200, 3200), (3200, 3200)]), RULE), []);
    }

    #[test]
    fn without_speeds_it_says_what_is_missing() {
        let mut record = record_with(&[(3200, 3200)]);
        record.machine.memory_devices[0].rated_mt_s = None;
        record.machine.memory_devices[0].configured_mt_s = None;
        assert_eq!(missing(&record, RULE), Some("rated and configured speed of memory devices"));
        record.machine.memory_devices.clear();
        assert_eq!(missing(&record, RULE), Some("memory devices (SMBIOS)"));
    }
}
