//! What some processes of a machine that is watched are bound by: the rules of `stat`, and what is heard of the machine.

use record::diagnosis::{Bound, BoundBy};
use record::live::Interval;
use record::{Measurement, Record, detail};

use super::machine::{Reference, counted, watched};
use crate::record_index::RecordIndex;

/// What processes are bound by whose figures are those of a command, beside what the whole machine did meanwhile.
pub fn watched_service(
    measurements: Vec<Measurement>,
    interval: &Interval,
    reference: &Reference,
) -> Option<Bound> {
    let mut record = Record::new("", String::new(), Vec::new());
    record.measurements = measurements;
    if let Some(time) = record.measurements.first_mut() {
        time.detail.set_parts(detail::CEILINGS, &reference.ceilings);
        let sampled = interval.service.as_ref().and_then(|service| service.sampled.as_ref());
        sampled.into_iter().for_each(|sampled| time.detail.set_parts(detail::SAMPLED, sampled));
    }
    record.measurements.extend(interval.cores_of_group.iter().flat_map(counted));
    let own = super::bound(&RecordIndex::new(&record))?;
    // A program that has the CPU may wait on it for memory, and the machine's probe hears that.
    let heard = || watched(interval, reference);
    let untold = [BoundBy::Cpu, BoundBy::OneThread];
    let shared = [BoundBy::MemoryBandwidth, BoundBy::MemoryLatency, BoundBy::Clock];
    match heard() {
        Some(machine) if untold.contains(&own.by) && shared.contains(&machine.by) => Some(machine),
        _ => Some(own),
    }
}
