//! Memory devices that run below their rated speed.

use std::collections::{BTreeMap, BTreeSet};

use record::machine::MemoryDevice;

use super::memory_mixed::{ROUNDING, slowest_rated};
use super::prelude::*;
use crate::{cores, memory_channels};

/// A configured speed (MT/s) below the maximum that both devices and processor support, with one finding for each group of similar devices.
/// Devices slowed down by a slower device are covered by `memory-mixed`. A processor may support a lower speed than the maximum of its
/// design; if its maximum is unknown, the finding is at most a warning. It is a note if channels have several devices, which may run
/// slower, or if the maximum of the processor's design is also unknown and all devices run at the same
/// standard speed, which may be the processor's maximum.
pub(super) const RULE: Rule = Rule { name: "memory-speed", find };

/// Maximum number of devices listed by name; the rest are counted.
const NAMED: usize = 4;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    (!memory_channels::are_made_up(machine)).then_some(())?;
    let flash = machine.memory_devices.iter().filter(|device| memory_channels::is_flash(device));
    // Persistent memory limits the speed of the memory on the same channels; firmware chips are slower than any memory.
    let persistent = flash.filter_map(memory_channels::running_mt_s).filter(|mt_s| *mt_s > 1000);
    let slowest = persistent.chain(slowest_rated(machine)).min();
    let mut groups: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for (at, device) in memory_channels::populated(machine).enumerate() {
        let possible = memory_channels::rated_mt_s(machine, device);
        if let (Some(rated), Some(configured)) = (possible, memory_channels::running_mt_s(device))
            && configured < rated.saturating_sub(ROUNDING)
            // Excludes devices that already run as fast as the slowest device allows.
            && slowest.is_none_or(|slowest| configured.saturating_add(ROUNDING) < slowest)
        {
            let name = device.locator.clone().unwrap_or_else(|| format!("device {at}"));
            groups.entry((rated, configured)).or_default().push(name);
        }
    }
    Some(groups.into_iter().filter_map(|(speeds, names)| slow_devices(machine, speeds, &names)).collect())
}

/// Whether the maximum speed of this processor model and the channel of each device are known; with several devices, a channel may have to
/// run at a lower speed. If a design has no results for individual models, its published maximum is that of the fastest model.
fn is_supported(machine: &Machine) -> bool {
    cores::names(&machine.processor).next().is_some()
        && cores::of_machine(machine).is_some_and(|core| core.differs_by_model("mem.rate_max"))
        && memory_channels::populated(machine).all(|device| device.channel.is_some())
}

/// Whether a channel has several devices. The names of the slots show this, or the number of devices, which may exceed that of channels.
fn share_channels(machine: &Machine) -> bool {
    let mut named = BTreeSet::new();
    let devices: Vec<&MemoryDevice> = memory_channels::populated(machine).collect();
    let channels = memory_channels::of_processor(machine, "mem.channels").zip(machine.counts.packages);
    channels.is_some_and(|(of_socket, sockets)| devices.len() as f64 > of_socket * f64::from(sockets))
        || devices.iter().any(|one| one.channel.is_some() && !named.insert((one.node, &one.channel)))
}

fn slow_devices(machine: &Machine, (rated, configured): (u32, u32), names: &[String]) -> Option<Finding> {
    let loss = modelled(1.0 - f64::from(configured) / f64::from(rated))?;
    let what = match names.len() {
        1 => text!("1 memory device runs at {configured} instead of {rated} MT/s"),
        count => text!("{count} memory devices run at {configured} instead of {rated} MT/s"),
    };
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let place = match names.len().saturating_sub(NAMED) {
        0 => text!("{shown}"),
        more => text!("{shown} and {more} more"),
    };
    let most = memory_channels::of_processor(machine, "mem.rate_max");
    let who = if most.is_some() { text!("devices and processor") } else { text!("the devices") };
    let finding = RULE
        .report_model(loss, what)
        .locate(place)
        .cite(text!("{who} support {rated} MT/s"), "machine.memory_devices[].rated_mt_s")
        .cite(text!("configured speed: {configured} MT/s"), "machine.memory_devices[].configured_mt_s");
    // A loss of more than a quarter is assumed to have another cause than several devices on a channel.
    let is_shared = share_channels(machine);
    let may_share = is_shared && configured * 4 >= rated * 3;
    if may_share && most.is_some() {
        let finding = finding.doubt(text!("memory-speed-shared", "(because channels have several devices)"));
        return Some(Finding { severity: Severity::Note, ..finding }.mend_as("memory-speed shared"));
    }
    if is_supported(machine) && !is_shared {
        return Some(finding);
    }
    let finding =
        finding.doubt(text!("(unless the processor, or several devices on a channel, limit the speed)"));
    let mut running = memory_channels::populated(machine).filter_map(memory_channels::running_mt_s);
    let may_be_limit = most.is_none() && !is_shared
        // The standard speeds (JEDEC) are multiples of 800/3 MT/s or, from DDR5 on, of 400 MT/s.
        && [800, 1200].into_iter().any(|step| (u64::from(configured) + 1) * 3 % step <= 6)
        && running.all(|mt_s| mt_s.abs_diff(configured) <= ROUNDING);
    Some(Finding {
        severity: if may_be_limit || may_share { Severity::Note } else { finding.severity },
        ..finding
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{device, figure_in, machine};

    #[test]
    fn slow_devices_are_found_by_group() {
        let mut record = machine(1);
        record.machine.memory_devices = (0..6).map(|i| device(&format!("DIMM{i}"), "A", 32)).collect();
        for device in &mut record.machine.memory_devices {
            device.configured_mt_s = Some(2100);
        }
        let all = found(&record, RULE);
        assert_eq!(all.len(), 1);
        let figures = ["count", "configured", "rated"].map(|name| figure_in(&all[0].what, name));
        assert_eq!(figures, [6.0, 2100.0, 2934.0]);
        assert_eq!(
            all[0].place.as_ref().map(|text| text.to_string()).as_deref(),
            Some("DIMM0, DIMM1, DIMM2, DIMM3 and 2 more")
        );
        assert!(!all[0].measured);
        assert_eq!(all[0].resource.as_deref(), Some("memory bandwidth"));
        record.machine.memory_devices[0].configured_mt_s = Some(1866);
        assert_eq!(found(&record, RULE).len(), 2);
    }

    #[test]
    fn devices_that_a_slower_one_holds_down_are_reported_once() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 32), device("B", "B", 32)];
        record.machine.memory_devices[0].rated_mt_s = Some(2400);
        for device in &mut record.machine.memory_devices {
            device.configured_mt_s = Some(2400);
        }
        assert_eq!(found(&record, RULE), []);
        assert_eq!(found(&record, super::super::memory_mixed::RULE).len(), 1);
    }

    /// A Xeon Gold 6130 supports 2666 MT/s, and a Silver 4110 supports 2400 MT/s.
    #[test]
    fn no_memory_runs_faster_than_its_processor_supports() {
        for (name, configured, per_channel, expected) in [
            ("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", 2666, 1, None),
            ("Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz", 2400, 1, None),
            ("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", 1866, 1, Some((2666.0, Severity::Serious))),
            ("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", 2400, 2, Some((2666.0, Severity::Note))),
            ("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", 2133, 1, Some((2666.0, Severity::Warning))),
            ("AMD EPYC 7251 8-Core Processor", 2400, 1, Some((2666.0, Severity::Warning))),
            ("Some Processor 1", 2133, 1, Some((3200.0, Severity::Note))),
        ] {
            let mut record = machine(1);
            (record.machine.processor.model_name, record.machine.processor.microarchitecture) =
                (Some(name.to_owned()), None);
            (record.machine.processor.family, record.machine.processor.model) = (None, None);
            record.machine.memory_devices = (0..2 * per_channel)
                .map(|at| device(&format!("D{at}"), if at % 2 == 0 { "A" } else { "B" }, 32))
                .collect();
            for device in &mut record.machine.memory_devices {
                device.kind = Some("DDR4".to_owned());
                (device.rated_mt_s, device.configured_mt_s) = (Some(3200), Some(configured));
            }
            let all = found(&record, RULE);
            let seen = all.first().map(|one| (one.evidence[0].says.value("rated").cloned(), one.severity));
            let expected = expected.map(|(rated, severity)| (Some(Value::Count(rated as u64)), severity));
            assert_eq!(seen, expected, "{name} {configured}");
            let cites_processor = all
                .first()
                .map(|one| one.evidence[0].says.value("who") == Some(&text!("devices and processor").into()));
            assert_eq!(cites_processor, all.first().map(|_| !name.starts_with("Some")), "{name}");
        }
    }

    /// The slots' names show that devices share a channel, or their number does.
    #[test]
    fn several_devices_on_a_channel_explain_a_lower_speed() {
        let mut record = machine(1);
        record.machine.processor.model_name = Some("Intel(R) Xeon(R) Platinum 8480+".to_owned());
        (record.machine.processor.family, record.machine.processor.model) = (None, None);
        record.machine.counts.packages = Some(1);
        for (devices, is_named, expected) in [(8, true, false), (16, true, true), (16, false, true)] {
            record.machine.memory_devices = vec![device("A", "A", 32); devices];
            for (at, device) in record.machine.memory_devices.iter_mut().enumerate() {
                device.channel = is_named.then(|| (at % 8).to_string());
                (device.kind, device.rated_mt_s) = (Some("DDR5".to_owned()), Some(4800));
                device.configured_mt_s = Some(4400);
            }
            let finding = &found(&record, RULE)[0];
            let is_shared =
                finding.what.sentences().iter().any(|one| one.code() == Some("memory-speed-shared"));
            assert_eq!(
                (
                    is_shared,
                    finding.severity == Severity::Note,
                    finding.remedy == remedies("memory-speed shared")
                ),
                (expected, expected, expected),
                "{finding:?}"
            );
        }
    }

    #[test]
    fn persistent_memory_limits_the_memory_beside_it() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 32), device("B", "A", 128)];
        record.machine.memory_devices[1].kind = Some("Logical non-volatile device".to_owned());
        for device in &mut record.machine.memory_devices {
            device.configured_mt_s = Some(2666);
        }
        assert_eq!(found(&record, RULE), []);
        record.machine.memory_devices[0].configured_mt_s = Some(2133);
        assert_eq!(found(&record, RULE).len(), 1);
    }

    #[test]
    fn unequal_speeds_are_not_the_limit_of_an_unknown_processor() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 32), device("B", "B", 32)];
        record.machine.memory_devices[0].configured_mt_s = Some(2400);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Warning);
        record.machine.memory_devices[1].configured_mt_s = Some(2400);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note);
        for device in &mut record.machine.memory_devices {
            device.configured_mt_s = Some(2100);
        }
        assert_eq!(found(&record, RULE)[0].severity, Severity::Warning, "no standard speed");
    }

    /// Firmware of AMD client machines reports the clock, half the rate; no DDR4 runs at 1200 MT/s.
    #[test]
    fn half_the_rated_speed_may_be_the_clock_and_says_nothing() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 32)];
        record.machine.memory_devices[0].kind = Some("DDR4".to_owned());
        for (rated, configured, findings) in
            [(2400, 1200, 0), (2667, 1333, 0), (3200, 1200, 0), (3200, 1600, 0), (3200, 2133, 1)]
        {
            let mut record = record.clone();
            let device = &mut record.machine.memory_devices[0];
            (device.rated_mt_s, device.configured_mt_s) = (Some(rated), Some(configured));
            assert_eq!(found(&record, RULE).len(), findings, "{configured} of {rated}");
            assert_eq!(memory_channels::channels(&record.machine).is_some(), findings > 0);
            record.machine.virtualization.hypervisor = Some("kvm".to_owned());
            assert_eq!(found(&record, RULE), [], "a guest's devices are made up");
        }
    }

    #[test]
    fn rounding_and_empty_slots_are_no_slow_memory() {
        let mut record = machine(1);
        record.machine.memory_devices = vec![device("A", "A", 32), device("B", "B", 0)];
        record.machine.memory_devices[1].configured_mt_s = Some(1600);
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut record = machine(1);
        assert_eq!(missing(&record, RULE), Some("memory devices (SMBIOS)"));
        record.machine.memory_devices = vec![device("A", "A", 32)];
        record.machine.memory_devices[0].configured_mt_s = None;
        assert_eq!(missing(&record, RULE), Some("rated and configured speed of memory devices"));
    }
}
