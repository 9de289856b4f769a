//! The ceilings of this machine in a tiny file beside the records: what `stat` holds a command against, read in an instant.
//! Of each figure the newest counts that stands beyond doubt, with its day.

use std::path::{Path, PathBuf};

use diagnose::{collect_ceilings, update_ceilings};
use record::{Ended, Record};
use serde_json::{Map, Value, json};

use crate::files;

/// The file's name in the state folder.
pub const NAME: &str = "ceilings.json";
/// A file that is longer is not ours.
const MOST_BYTES: u64 = 64 << 10;
/// The form of the file. Those of form 1 may hold figures of caches as memory's.
const SCHEMA: u64 = 2;

/// What is known of this machine's ceilings.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Figures: `ipc` by workload, `clock_hz`, `bandwidth_one` and `bandwidth_all` in B/s, `latency_ns`; those that are known; `days`, when each was
    /// measured.
    Here(Value),
    /// None yet.
    Nothing,
    /// They are of another machine, or of another kernel on this one.
    Elsewhere,
}

fn path() -> Option<PathBuf> {
    files::state_folder().ok().map(|folder| folder.join(NAME))
}

/// What tells this machine from others, without looking at all of it: host, kernel, processor, CPUs online.
fn identity() -> Value {
    let text = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    json!({
        "hostname": text("/proc/sys/kernel/hostname"),
        "kernel": text("/proc/sys/kernel/osrelease"),
        "processor": processor(),
        "cpus_online": text("/sys/devices/system/cpu/online"),
    })
}

/// The first processor of /proc/cpuinfo: its name, or on aarch64 its implementer and part. One page of the file is read,
/// since the kernel takes its time for hundreds of CPUs.
fn processor() -> Option<String> {
    use std::io::Read;
    let mut page = [0u8; 4096];
    let count = std::fs::File::open("/proc/cpuinfo").ok()?.read(&mut page).ok()?;
    let text = String::from_utf8_lossy(&page[..count]);
    let first = text.split("\n\n").next()?;
    let keys = ["model name", "CPU implementer", "CPU part", "CPU variant"];
    let values = first.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        keys.contains(&key.trim()).then(|| value.trim().to_owned())
    });
    Some(values.collect::<Vec<_>>().join(" "))
}

/// Reads them.
pub fn read() -> Known {
    // Who we are is asked only where there is something to compare it with.
    match path().filter(|path| path.exists()) {
        Some(path) => read_from(&path, &identity()),
        None => Known::Nothing,
    }
}

fn read_from(path: &Path, here: &Value) -> Known {
    let small = std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
    let text = if small { std::fs::read(path).ok() } else { None };
    let value: Option<Value> = text.and_then(|text| serde_json::from_slice(&text).ok());
    let Some(Value::Object(file)) = value else { return Known::Nothing };
    if file.get("schema").and_then(Value::as_u64) != Some(SCHEMA) {
        return Known::Nothing;
    }
    if file.get("machine") != Some(here) {
        return Known::Elsewhere;
    }
    match file.get("ceilings") {
        Some(Value::Object(ceilings)) if !ceilings.is_empty() => Known::Here(Value::Object(ceilings.clone())),
        _ => Known::Nothing,
    }
}

/// Keeps what a record of this machine tells of its ceilings. `ours` says that the record goes into the state folder too;
/// else nothing is written there unless the file stands there already. That it cannot be written is no error of the run.
pub fn keep(record: &Record, ours: bool) {
    let Some(path) = path() else { return };
    if record.ended != Ended::Complete || record.machine.virtualization.emulated == Some(true) {
        return;
    }
    if ours || path.exists() {
        keep_in(&path, record, identity());
    }
}

fn keep_in(path: &Path, record: &Record, here: Value) {
    let new = collect_ceilings(record);
    if new.is_empty() {
        return;
    }
    let day = record.started.get(..10).unwrap_or_default();
    let ceilings = match read_from(path, &here) {
        Known::Here(Value::Object(old)) => update_ceilings(old, new, day),
        _ => update_ceilings(Map::new(), new, day),
    };
    let file = json!({ "schema": SCHEMA, "machine": here, "ceilings": ceilings });
    let _ = files::write(path, &format!("{file:#}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Label;
    use record::detail;
    use record::diagnosis::Resource;
    use record::{Labels, Measurement};

    const DAY: &str = "2026-11-21";

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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let (here, there) = (json!({"hostname": "a"}), json!({"hostname": "b"}));
        assert_eq!(read_from(&path, &here), Known::Nothing);
        keep_in(&path, &record(1.5, 1e10), here.clone());
        keep_in(&path, &record(1.2, 2e10), here.clone());
        let Known::Here(ceilings) = read_from(&path, &here) else { panic!("nothing was kept") };
        assert_eq!(
            ceilings,
            json!({"ipc": {"primes": 1.5}, "bandwidth_one": 1e10, "bandwidth_all": 2e10,
            "days": {"ipc": DAY, "bandwidth_one": DAY, "bandwidth_all": DAY}})
        );
        assert_eq!(read_from(&path, &there), Known::Elsewhere);
        // Another machine's run replaces them.
        keep_in(&path, &record(1.0, 1e9), there.clone());
        assert!(matches!(read_from(&path, &there), Known::Here(_)));
        assert_eq!(read_from(&path, &here), Known::Elsewhere);
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
            meaning: String::new().into(),
            doubt: doubt.map(str::to_owned),
        };
        let mut first = record(1.5, 1e10);
        first.diagnosis.resources.push(latency(90.0, None));
        // Fast because its arrays lie in the caches, and a latency that nobody can be sure of.
        let mut second = record(9.0, 9e10);
        for m in &mut second.measurements {
            m.detail.set(detail::ARRAY_BYTES, json!(1 << 20));
        }
        second.measurements[0].doubt = Some("too noisy: the median is known to ±30 % only".to_owned());
        second.diagnosis.resources.push(latency(4.0, Some("too noisy")));
        assert_eq!(collect_ceilings(&second), Map::new());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        keep_in(&path, &first, json!(1));
        keep_in(&path, &second, json!(1));
        let Known::Here(ceilings) = read_from(&path, &json!(1)) else { panic!("nothing was kept") };
        assert_eq!(
            (ceilings["latency_ns"].as_f64(), ceilings["bandwidth_all"].as_f64()),
            (Some(90.0), Some(1e10))
        );
        // A slower figure that is beyond doubt takes the place of a faster one: it is what the machine does now.
        let mut third = record(1.5, 1e10);
        third.started = "2026-12-01T01:02:03Z".to_owned();
        third.measurements.clear();
        third.diagnosis.resources.push(latency(110.0, None));
        keep_in(&path, &third, json!(1));
        let Known::Here(ceilings) = read_from(&path, &json!(1)) else { panic!("nothing was kept") };
        assert_eq!(ceilings["latency_ns"], json!(110.0));
        assert_eq!(
            (&ceilings["days"]["latency_ns"], &ceilings["days"]["ipc"]),
            (&json!("2026-12-01"), &json!(DAY))
        );
    }

    #[test]
    fn a_record_without_ceilings_leaves_no_file_and_a_broken_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        keep_in(&path, &Record::new("0", String::new(), Vec::new()), json!(1));
        assert!(!path.exists());
        for text in ["", "{", "[]", "{\"schema\": 1}", "{\"schema\": 2, \"machine\": 1, \"ceilings\": 3}"] {
            std::fs::write(&path, text).unwrap();
            assert!(!matches!(read_from(&path, &json!(1)), Known::Here(_)), "{text}");
        }
    }

    #[test]
    fn this_machine_has_an_identity() {
        let here = identity();
        assert_eq!(here, identity());
        assert!(here["kernel"].is_string(), "{here}");
    }
}
