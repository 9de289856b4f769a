//! The ceilings of one machine as a file keeps them: of each figure the newest that stands beyond doubt, with its day.

use std::collections::BTreeMap;

use record::Record;
use record::command_run::Ceilings;
use serde_json::{Value, json};

use crate::ceilings::{collect_ceilings, update_ceilings};

/// The form of the file. Those of form 1 may hold figures of caches as memory's.
const SCHEMA: u64 = 2;

/// What tells a machine from others: its host, kernel, processor and CPUs, by name.
pub type Identity = BTreeMap<&'static str, Option<String>>;

/// What is known of a machine's ceilings.
#[derive(Clone, Debug, PartialEq)]
pub enum KeptCeilings {
    /// Those that are known.
    Here(Ceilings),
    /// None yet.
    Nothing,
    /// They are of another machine, or of another kernel on this one.
    Elsewhere,
}

impl KeptCeilings {
    /// Reads the file's text, as the machine `here` sees it.
    pub fn read(text: &[u8], here: &Identity) -> Self {
        let mut file: Value = serde_json::from_slice(text).unwrap_or_default();
        if file["schema"].as_u64() != Some(SCHEMA) {
            return Self::Nothing;
        }
        if file["machine"] != json!(here) {
            return Self::Elsewhere;
        }
        match serde_json::from_value(file["ceilings"].take()) {
            Ok(ceilings) if ceilings != Ceilings::default() => Self::Here(ceilings),
            _ => Self::Nothing,
        }
    }

    /// The file's text with what a record of the machine `here` adds; `None` where it adds nothing.
    pub fn with_record(self, record: &Record, here: &Identity) -> Option<String> {
        let new = collect_ceilings(record);
        if new == Ceilings::default() {
            return None;
        }
        let day = record.started.get(..10).unwrap_or_default();
        let old = match self {
            Self::Here(old) => old,
            _ => Ceilings::default(),
        };
        let file = json!({ "schema": SCHEMA, "machine": here, "ceilings": update_ceilings(old, new, day) });
        Some(format!("{file:#}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::diagnosis::Resource;
    use record::{Label, Labels, Measurement, detail};

    const DAY: &str = "2026-11-21";

    fn host(name: &str) -> Identity {
        Identity::from([("hostname", Some(name.to_owned()))])
    }

    fn keep(file: &mut Vec<u8>, record: &Record, here: &Identity) {
        if let Some(text) = KeptCeilings::read(file, here).with_record(record, here) {
            *file = text.into_bytes();
        }
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
    fn the_newest_figures_and_the_most_reached_are_kept_for_this_machine_only() {
        let (here, there) = (host("a"), host("b"));
        let mut file = Vec::new();
        assert_eq!(KeptCeilings::read(&file, &here), KeptCeilings::Nothing);
        keep(&mut file, &record(1.5, 1e10), &here);
        keep(&mut file, &record(1.2, 2e10), &here);
        let KeptCeilings::Here(ceilings) = KeptCeilings::read(&file, &here) else {
            panic!("nothing was kept")
        };
        assert_eq!(
            json!(ceilings),
            json!({"ipc": {"primes": 1.5}, "bandwidth_one": 1e10, "bandwidth_all": 2e10,
            "days": {"ipc": DAY, "bandwidth_one": DAY, "bandwidth_all": DAY}})
        );
        assert_eq!(KeptCeilings::read(&file, &there), KeptCeilings::Elsewhere);
        // Another machine's run replaces them.
        keep(&mut file, &record(1.0, 1e9), &there);
        assert!(matches!(KeptCeilings::read(&file, &there), KeptCeilings::Here(_)));
        assert_eq!(KeptCeilings::read(&file, &here), KeptCeilings::Elsewhere);
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
            usual: None,
            beside: None,
            meaning: String::new().into(),
            doubt: doubt.map(Into::into),
        };
        let mut first = record(1.5, 1e10);
        first.diagnosis.resources.push(latency(90.0, None));
        // Fast because its arrays lie in the caches, and a latency that nobody can be sure of.
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
        let KeptCeilings::Here(ceilings) = KeptCeilings::read(&file, &here) else {
            panic!("nothing was kept")
        };
        assert_eq!((ceilings.latency_ns, ceilings.bandwidth_all), (Some(90.0), Some(1e10)));
        // A slower figure that is beyond doubt takes the place of a faster one: it is what the machine does now.
        let mut third = record(1.5, 1e10);
        third.started = "2026-12-01T01:02:03Z".to_owned();
        third.measurements.clear();
        third.diagnosis.resources.push(latency(110.0, None));
        keep(&mut file, &third, &here);
        let KeptCeilings::Here(ceilings) = KeptCeilings::read(&file, &here) else {
            panic!("nothing was kept")
        };
        assert_eq!(ceilings.latency_ns, Some(110.0));
        assert_eq!(["latency_ns", "ipc"].map(|name| ceilings.days[name].as_str()), ["2026-12-01", DAY]);
    }

    #[test]
    fn a_record_without_ceilings_leaves_no_file_and_a_broken_file_is_none() {
        let here = host("a");
        let mut file = Vec::new();
        keep(&mut file, &Record::new("0", String::new(), Vec::new()), &here);
        assert!(file.is_empty());
        let odd = "{\"schema\": 2, \"machine\": {\"hostname\": \"a\"}, \"ceilings\": 3}";
        for text in ["", "{", "[]", "{\"schema\": 1}", odd] {
            assert_eq!(KeptCeilings::read(text.as_bytes(), &here), KeptCeilings::Nothing, "{text}");
        }
    }
}
