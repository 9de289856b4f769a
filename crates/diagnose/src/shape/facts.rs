//! CPU placement as facts that may differ between records.

use record::Record;
use record::live::Share;
use record::shape::{Motion, Shape};

/// The value of a fact about CPU placement that was not observed.
pub(crate) const CALM: &str = "not observed";

pub(crate) fn cpus_move(record: &Record) -> Option<String> {
    match record.diagnosis.shape.as_ref()?.motion {
        Motion::Floating => Some("yes".to_owned()),
        Motion::Pinned => Some(CALM.to_owned()),
        Motion::Unknown => None,
    }
}

pub(crate) fn cores_shared(record: &Record) -> Option<String> {
    seen_in(record, |shape| [shape.sharing, shape.sharing_busy])
}

pub(crate) fn domains_hidden(record: &Record) -> Option<String> {
    seen_in(record, |shape| [shape.split, None])
}

/// Minimum number of checks with the same placement: a single check may be disturbed.
const LEAST: u64 = 2;

fn seen_in(record: &Record, shares: fn(&Shape) -> [Option<Share>; 2]) -> Option<String> {
    let shape = record.diagnosis.shape.as_ref().filter(|shape| shape.motion != Motion::Unknown)?;
    let shares = || shares(shape).into_iter().flatten();
    let most = shares().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let says = match shares().map(|share| share.count).sum::<u64>() {
        0 => CALM,
        _ if most.share == 1.0 => "in all placement checks",
        LEAST.. => "in some placement checks",
        _ => return None,
    };
    Some(says.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::facts::SHAPE;
    use crate::samples::machine;
    use crate::shape::samples::{Place, looks_at, record_with};
    use record::text::Value;

    /// A guest with eight CPUs whose placement was checked on this day.
    fn seen(day: u32, place: impl Fn(u32, u32) -> Place) -> Record {
        let mut record = record_with(machine(8), looks_at(8, 12, place));
        record.started = format!("2026-11-{day:02}T10:00:00Z");
        record.diagnosis = crate::diagnose(&record);
        record
    }

    fn pinned(day: u32) -> Record {
        seen(day, |_, cpu| (0, 0, cpu))
    }

    fn floating(day: u32) -> Record {
        seen(day, |look, cpu| (0, 0, if cpu == 1 && look.is_multiple_of(3) { 0 } else { cpu }))
    }

    fn off(here: &Record, baseline: &Record) -> Vec<String> {
        let check = crate::check(here, baseline, None, &[]);
        check.facts.into_iter().chain(check.not_seen).map(|fact| fact.code).collect()
    }

    #[test]
    fn a_check_tells_that_a_guest_began_to_move() {
        assert_eq!(
            off(&floating(2), &pinned(1)),
            ["comparison-fact-cpus-move", "comparison-fact-shared-cores"]
        );
        assert_eq!(off(&floating(2), &floating(1)), [""; 0]);
        // Nothing is reported for a record without placement checks, or with a single odd one.
        assert_eq!(off(&record_with(machine(8), record::shape::Looks::default()), &pinned(1)), [""; 0]);
        let once = seen(2, |look, cpu| (0, 0, if cpu == 1 && look == 3 { 0 } else { cpu }));
        assert_eq!((cores_shared(&once), off(&once, &pinned(1))), (None, Vec::new()));
    }

    #[test]
    fn a_history_tells_since_when_it_moves() {
        let past = |record: Record| crate::Past::from_record(&record, "x".into(), &[]).unwrap();
        let days =
            |says: Vec<record::Text>| says.iter().map(|one| one.value("day").cloned()).collect::<Vec<_>>();
        let since =
            |records: Vec<Record>| days(crate::since(&records.into_iter().map(past).collect::<Vec<_>>()));
        let third = Some(Value::from("2026-11-03"));
        let unknown = machine(8);
        let all = [pinned(1), pinned(2), floating(3), floating(5)].to_vec();
        assert_eq!(since(all.clone()), [third.clone(), third.clone()]);
        assert_eq!(
            since([all, vec![Record { started: "2026-11-09T00:00:00Z".to_owned(), ..unknown }]].concat()),
            [third.clone(), third]
        );
        assert_eq!((since(vec![floating(1), floating(2)]), since(Vec::new())), (Vec::new(), Vec::new()));
        assert!(crate::facts().iter().any(|fact| fact.from.starts_with(SHAPE)));
    }
}
