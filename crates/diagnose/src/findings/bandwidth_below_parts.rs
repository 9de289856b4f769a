//! Memory bandwidth far below the peak of the memory channels.

use super::prelude::*;
use crate::memory_channels;
use crate::resources::{Walk, beyond, walked};

/// The best bandwidth measured with all CPUs, compared with channels × MT/s × 8 B.
pub(super) const RULE: Rule = Rule { name: "bandwidth-below-parts", find };

/// The lowest published share of peak channel bandwidth on well-configured servers: 70 % (triad on a dual EPYC with stacked cache). Two
/// generations of dual Xeons reach 80 % and 86 % with reads.
const USUAL: f64 = 0.7;

/// Whether the whole machine was measured. The sum of all channels is not the ceiling of a virtual machine or of a process limited to some
/// CPUs, a share of CPU time or some nodes, because these use only some of the channels. The same is true if all CPUs of a node are
/// offline, because no thread then runs near that node's memory.
pub(super) fn is_whole(case: &Case) -> bool {
    let machine = &case.record.machine;
    let (counts, limits, nodes) = (&machine.counts, &machine.limits, &machine.nodes);
    let online = machine.cpus.iter().filter(|cpu| cpu.online).count();
    !machine.is_virtual()
        && counts.cpus_allowed == counts.cpus_online
        && counts.cores.or(counts.cpus_online).is_some_and(|cores| cores as usize <= online.max(1))
        && limits.cpu_quota.is_none()
        && (limits.memory_nodes.is_empty() || nodes.iter().all(|node| limits.memory_nodes.contains(node.id)))
        && nodes.iter().all(|node| !node.cpus.is_empty() || node.bytes.unwrap_or(0) == 0)
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    is_whole(case).then_some(())?;
    let machine = &case.record.machine;
    let least = beyond(case.record, case.levels(), Walk::Arrays);
    let threads = u64::from(machine.one_cpu_a_core(&machine.allowed_cpus()).len() as u32);
    let channels = memory_channels::channels(machine)?;
    let best = case
        .figures_of(metrics::MEMORY_BANDWIDTH)
        // For regular stores, the additional memory traffic is unknown.
        .filter(|m| has_labels(m, &[(Label::BytesCounted, "bus")]))
        .filter(|m| has_labels(m, &[(Label::Op, "read")]) || has_labels(m, &[(Label::Stores, "streaming")]))
        // Results for arrays that fit in the caches do not reflect memory speed, and results of other tools often lack the array size.
        .filter(|m| walked(m) == 0 || walked(m) >= least)
        .filter(|m| m.labels.count(Label::Threads).is_some_and(|count| count >= threads))
        .max_by(|a, b| a.value().total_cmp(&b.value()))?;
    let share = best.value() / channels.bytes_per_second;
    (share < USUAL).then_some(())?;
    let loss = costs(shortfall(&best.summary, channels.bytes_per_second))?;
    let could_be = Value::Figure(channels.bytes_per_second, "B/s");
    let what = text!(
        "memory delivers {best}, {share} of its channels' peak of {could_be}",
        share = Value::Share(share),
        could_be = could_be.clone()
    );
    let channels_say = text!(
        "{channels} memory channels at {rate} MT/s or more can transfer {could_be}",
        channels = channels.populated,
        rate = channels.mt_s.0
    );

    Some(vec![
        RULE.report_loss(loss, what)
            .cite(text!("best bandwidth on all CPUs: {best}"), best)
            .cite(channels_say, "machine.memory_devices[].channel and .configured_mt_s"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured};
    use record::detail;
    use record::machine::MemoryDevice;
    use record::{Labels, Record};

    fn record_with(rate: f64) -> Record {
        let mut record = machine(4);
        record.machine.memory_devices = ["A", "B"]
            .iter()
            .map(|channel| MemoryDevice {
                bytes: Some(16 << 30),
                channel: Some((*channel).to_owned()),
                configured_mt_s: Some(3200),
                ..MemoryDevice::default()
            })
            .collect();
        let place = Labels::new()
            .with_label(Label::Op, "read")
            .with_label(Label::BytesCounted, "bus")
            .with_label(Label::Threads, 4u32);
        record.measurements.push(measured("memory.bandwidth", place, rate));
        record
    }

    #[test]
    fn half_of_what_the_channels_carry_is_found() {
        let finding = &found(&record_with(25.6e9), RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 0.5).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn usual_shares_parts_of_a_machine_and_guests_are_silence() {
        assert_eq!(found(&record_with(0.72 * 51.2e9), RULE), []);
        let mut part = record_with(10e9);
        part.machine.counts.cpus_allowed = Some(1);
        assert_eq!(found(&part, RULE), []);
        let mut guest = record_with(10e9);
        guest.machine.virtualization.hypervisor = Some("kvm".to_owned());
        assert_eq!(found(&guest, RULE), []);
        let mut unreported = record_with(10e9);
        unreported.machine.memory_devices[1].configured_mt_s = None;
        assert_eq!(missing(&unreported, RULE), Some("memory devices with channel and speed (SMBIOS)"));
        assert_eq!(missing(&guest, RULE), None, "a guest cannot have this problem");
    }

    #[test]
    fn arrays_within_the_caches_say_nothing_of_memory() {
        let mut record = record_with(10e9);
        crate::samples::add_cache(&mut record, 3, 32 << 20, 4);
        for m in &mut record.measurements {
            m.detail.set(detail::ARRAY_BYTES, 1 << 20);
        }
        assert_eq!(found(&record, RULE), []);
    }
}
