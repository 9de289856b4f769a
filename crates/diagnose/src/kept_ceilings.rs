//! The file that stores the ceilings of machines: for each quantity, the best reliable result and its record. Several machines may share a
//! state directory, or one machine may have several CPU limits; each combination has a separate entry.

use std::collections::BTreeMap;

use record::Record;
use record::command_run::Ceilings;
use serde::{Deserialize, Serialize};

use crate::ceilings::{collect_ceilings, update_ceilings};
use crate::cpu_accounting::disturbance;

/// The version of the file format. Version 2 stored only one machine, with the newest result for each quantity; version 3 stored a single
/// record for the IPC of all workloads.
const SCHEMA: u64 = 4;
/// Maximum number of machines stored; each boot of a machine without an ID counts as another machine.
const MOST_MACHINES: usize = 50;

/// The facts that distinguish a machine from others, by name, including the part of the machine that the process may use.
pub type Identity = BTreeMap<&'static str, Option<String>>;

/// The ceilings of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OfMachine {
    machine: BTreeMap<String, Option<String>>,
    ceilings: Ceilings,
}

/// The known ceilings of machines; the most recently saved machine is last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptCeilings {
    schema: u64,
    machines: Vec<OfMachine>,
}

impl KeptCeilings {
    /// Parses the file's text. The result is empty if the text has another version.
    pub fn read(text: &[u8]) -> Self {
        serde_json::from_slice(text).ok().filter(|kept: &Self| kept.schema == SCHEMA).unwrap_or_default()
    }

    /// The ceilings of the machine `here`.
    pub fn find(&self, here: &Identity) -> Option<&Ceilings> {
        self.machines.iter().find(|one| is_same(&one.machine, here)).map(|one| &one.ceilings)
    }

    /// Whether the file contains ceilings of any machine. If it does although [`Self::find`] returns `None`, all of them are of other
    /// machines.
    pub fn is_of_others(&self) -> bool {
        !self.machines.is_empty()
    }

    /// The new text of the ceilings file, with the data in a record of the machine `here`; `file` is the name of the record's file. `None`
    /// if the record adds nothing.
    pub fn with_record(mut self, record: &Record, file: Option<&str>, here: &Identity) -> Option<String> {
        let mut new = collect_ceilings(record);
        (new != Ceilings::default()).then_some(())?;
        let day = record.started.get(..10).unwrap_or_default();
        let at = self.machines.iter().position(|one| is_same(&one.machine, here));
        let old = at.map(|at| self.machines.remove(at).ceilings).unwrap_or_default();
        // Other processes occupy part of the shared caches, so a curve from a disturbed run never replaces a known curve.
        let is_kept = old.curve.is_empty() || disturbance(record).is_none();
        new.curve.retain(|_| is_kept);
        self.schema = SCHEMA;
        let machine = here.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.machines.push(OfMachine { machine, ceilings: update_ceilings(old, new, day, file) });
        let oldest = self.machines.len().saturating_sub(MOST_MACHINES);
        self.machines.drain(..oldest);
        Some(format!("{}\n", serde_json::to_string_pretty(&self).ok()?))
    }
}

fn is_same(kept: &BTreeMap<String, Option<String>>, here: &Identity) -> bool {
    kept.len() == here.len() && here.iter().all(|(name, value)| kept.get(*name) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::diagnosis::Resource;
    use record::{Label, Labels, Measurement, detail};
    use serde_json::json;

    const DAY: &str = "2026-11-21";

    fn host(name: &str) -> Identity {
        Identity::from([("hostname", Some(name.to_owned()))])
    }

    fn keep(text: &mut Vec<u8>, record: &Record, here: &Identity) {
        if let Some(new) = KeptCeilings::read(text).with_record(record, Some("a.json"), here) {
            *text = new.into_bytes();
        }
    }

    fn kept(text: &[u8], here: &Identity) -> Option<Ceilings> {
        KeptCeilings::read(text).find(here).cloned()
    }

    fn record(ipc: f64, bandwidth: f64) -> Record {
        let mut record = Record::new("0.1.0", format!("{DAY}T01:02:03Z"), Vec::new());
        let place = Labels::new().with_label(Label::Workload, "primes").with_label(Label::Source, "declared");
        record.measurements.push(Measurement::new("core.ipc", place, vec![ipc]));
        for (threads, share) in [(1u32, 0.5), (2, 1.0)] {
            let place = Labels::new().with_label(Label::Op, "read").with_label(Label::Threads, threads);
            let m = Measurement::new("memory.bandwidth", place, vec![bandwidth * share]);
            record.measurements.push(m.with_detail(detail::ARRAY_BYTES, 256 << 20));
        }
        record
    }

    #[test]
    fn the_best_of_each_machine_is_kept_whatever_another_does() {
        let (here, there) = (host("a"), host("b"));
        let mut file = Vec::new();
        assert_eq!(KeptCeilings::read(&file), KeptCeilings::default());
        keep(&mut file, &record(1.5, 1e10), &here);
        keep(&mut file, &record(1.2, 2e10), &here);
        // A disturbed run does not remove ceilings, and neither does a run without /sys or on another machine.
        keep(&mut file, &record(1.0, 1e9), &here);
        let blind = Identity::from([("hostname", None)]);
        keep(&mut file, &record(9.0, 9e10), &blind);
        assert_eq!(
            json!(kept(&file, &here)),
            json!({"ipc": {"primes": 1.5}, "bandwidth_one": 1e10, "bandwidth_all": 2e10,
                "days": {"ipc.primes": DAY, "bandwidth_one": DAY, "bandwidth_all": DAY},
                "records": {"ipc.primes": "a.json", "bandwidth_one": "a.json", "bandwidth_all": "a.json"}})
        );
        assert_eq!(kept(&file, &there), None);
        assert!(KeptCeilings::read(&file).is_of_others());
        keep(&mut file, &record(1.0, 1e9), &there);
        assert_eq!(kept(&file, &there).and_then(|kept| kept.bandwidth_all), Some(1e9));
        assert_eq!(kept(&file, &here).and_then(|kept| kept.bandwidth_all), Some(2e10));
        for number in 0..2 * MOST_MACHINES {
            keep(&mut file, &record(1.0, 1e9), &host(&number.to_string()));
        }
        assert_eq!(KeptCeilings::read(&file).machines.len(), MOST_MACHINES);
    }

    #[test]
    fn a_curve_of_a_disturbed_run_does_not_replace_a_better_one() {
        let here = host("a");
        let mut file = Vec::new();
        let mut add = |ns: f64, stolen: f64| {
            let mut record = record(1.5, 1e10);
            let points: Vec<(u64, f64)> = (12..30).map(|bits| (1 << bits, ns)).collect();
            crate::samples::add_curve(&mut record, "2MiB", &points);
            record.machine.counts.cpus_online = Some(2);
            let mut after = record.conditions.before.clone();
            after.steal_share = Some(stolen);
            record.conditions.after = Some(after);
            keep(&mut file, &record, &here);
            kept(&file, &here).unwrap().curve[0].ns
        };
        assert_eq!(add(90.0, 0.5), 90.0, "the only curve");
        assert_eq!(add(20.0, 0.0), 20.0);
        assert_eq!(add(80.0, 0.5), 20.0);
        assert_eq!(add(25.0, 0.0), 25.0, "the newest curve of an idle machine");
    }

    #[test]
    fn the_clock_with_all_cpus_busy_is_known_beside_that_of_one() {
        let mut record = record(1.5, 1e10);
        let clock = |active: &str, vector: &str, cpu: u32, hz: f64| {
            let place = Labels::new().with_label(Label::Cpu, cpu).with_label(Label::Active, active);
            Measurement::new("core.clock", place.with_label(Label::Vector, vector), vec![hz])
        };
        let all = [2.4e9, 2.5e9, 1.1e9].into_iter().enumerate();
        record.measurements.extend(all.map(|(cpu, hz)| clock("all", "scalar", cpu as u32, hz)));
        record.measurements.extend([clock("one", "scalar", 0, 3e9), clock("all", "512", 0, 2e9)]);
        let ceilings = collect_ceilings(&record);
        assert_eq!((ceilings.clock_hz, ceilings.clock_all_hz), (Some(3e9), Some(2.4e9)));
    }

    #[test]
    fn doubtful_figures_and_those_of_caches_are_no_ceilings() {
        let latency = |ns: f64, doubt: Option<&str>| Resource {
            name: "memory latency".to_owned(),
            unit: "ns".to_owned(),
            ceiling: None,
            source: None,
            delivered: ns,
            share: None,
            repeatability: None,
            family_ceilings: None,
            typical: None,
            position: None,
            beside: None,
            meaning: String::new().into(),
            doubt: doubt.map(Into::into),
        };
        let mut first = record(1.5, 1e10);
        first.diagnosis.resources.push(latency(90.0, None));
        // A bandwidth that is high because the arrays fit in the caches, and an unreliable latency.
        let mut second = record(9.0, 9e10);
        for m in &mut second.measurements {
            m.detail.set(detail::ARRAY_BYTES, json!(1 << 20));
        }
        second.measurements[0].doubt = Some("too noisy: the median is known to ±30 % only".into());
        second.diagnosis.resources.push(latency(4.0, Some("too noisy")));
        assert_eq!(collect_ceilings(&second), Ceilings::default());
        let here = host("a");
        let mut file = Vec::new();
        keep(&mut file, &first, &here);
        keep(&mut file, &second, &here);
        let ceilings = kept(&file, &here).unwrap();
        assert_eq!((ceilings.latency_ns, ceilings.bandwidth_all), (Some(90.0), Some(1e10)));
        // For a latency, the lowest value is the best.
        for (ns, best) in [(110.0, 90.0), (85.0, 85.0)] {
            let mut other = record(1.5, 1e10);
            other.measurements.clear();
            other.diagnosis.resources.push(latency(ns, None));
            keep(&mut file, &other, &here);
            assert_eq!(kept(&file, &here).unwrap().latency_ns, Some(best));
        }
    }

    #[test]
    fn a_record_without_ceilings_leaves_no_file_and_a_broken_file_is_none() {
        let here = host("a");
        let mut file = Vec::new();
        keep(&mut file, &Record::new("0", String::new(), Vec::new()), &here);
        assert!(file.is_empty());
        let of_form_2 = r#"{"schema": 2, "machine": {"hostname": "a"}, "ceilings": {"latency_ns": 90.0}}"#;
        let odd = r#"{"schema": 4, "machines": [{"machine": {"hostname": "a"}, "ceilings": 3}]}"#;
        for text in ["", "{", "[]", of_form_2, odd] {
            assert_eq!(kept(text.as_bytes(), &here), None, "{text}");
            let mut text = text.as_bytes().to_vec();
            keep(&mut text, &record(1.5, 1e10), &here);
            assert!(kept(&text, &here).is_some(), "an unreadable file prevents saving");
        }
    }
}
