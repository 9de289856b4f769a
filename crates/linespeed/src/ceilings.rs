//! The ceilings of this machine in a tiny file beside the records: what `stat` holds a command against, read in an instant.
//! The best that was ever measured here counts.

use std::path::{Path, PathBuf};

use record::{Ended, Record};
use serde_json::{Map, Value, json};

use crate::files;

/// The file's name in the state folder.
const NAME: &str = "ceilings.json";
/// A file that is longer is not ours.
const MOST_BYTES: u64 = 64 << 10;
/// The form of the file.
const SCHEMA: u64 = 1;

/// What is known of this machine's ceilings.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Figures: `ipc` by workload, `clock_hz`, `bandwidth_one` and `bandwidth_all` in B/s, `latency_ns`; those that are known.
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
    let new = of(record);
    if new.is_empty() {
        return;
    }
    let ceilings = match read_from(path, &here) {
        Known::Here(Value::Object(old)) => better(old, new),
        _ => new,
    };
    let file = json!({ "schema": SCHEMA, "machine": here, "ceilings": ceilings });
    let _ = files::write(path, &format!("{file:#}\n"));
}

/// The ceilings that a record shows.
fn of(record: &Record) -> Map<String, Value> {
    let mut all = Map::new();
    let most = |values: &mut dyn Iterator<Item = f64>| values.filter(|v| v.is_finite()).reduce(f64::max);
    let mut ipc = Map::new();
    for m in record.of("core.ipc") {
        let alone = m.place.count("threads").is_none_or(|threads| threads == 1);
        if let Some(name) = m.place.word("workload").filter(|name| *name != "command" && alone) {
            let known = ipc.get(name).and_then(Value::as_f64).unwrap_or(0.0);
            ipc.insert(name.to_owned(), json!(known.max(m.value())));
        }
    }
    if !ipc.is_empty() {
        all.insert("ipc".to_owned(), Value::Object(ipc));
    }
    let clocks = record.of("core.clock").filter(|m| m.place.word("vector") == Some("scalar"));
    let clock = most(&mut clocks.map(|m| m.value()));
    // What a miss of the last cache moves is a line read.
    let reads = || record.of("memory.bandwidth").filter(|m| m.place.word("op") == Some("read"));
    let one = reads().filter(|m| m.place.count("threads") == Some(1)).map(|m| m.value());
    let threads = reads().filter_map(|m| m.place.count("threads")).max();
    let every = reads().filter(|m| m.place.count("threads") == threads).map(|m| m.value());
    let latency = record.diagnosis.resources.iter().find(|resource| resource.name == "memory latency");
    let figures = [
        ("clock_hz", clock),
        ("bandwidth_one", most(&mut { one })),
        ("bandwidth_all", most(&mut { every })),
        ("latency_ns", latency.map(|resource| resource.delivered)),
    ];
    all.extend(figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    all
}

/// The better of both, figure by figure: the lower latency, the higher of all others.
fn better(old: Map<String, Value>, new: Map<String, Value>) -> Map<String, Value> {
    let mut all = old;
    for (name, value) in new {
        let kept = match (all.remove(&name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => Value::Object(better(old, new)),
            (Some(old), new) => match (old.as_f64(), new.as_f64()) {
                (Some(a), Some(b)) if name == "latency_ns" => json!(a.min(b)),
                (Some(a), Some(b)) => json!(a.max(b)),
                _ => new,
            },
            (None, new) => new,
        };
        all.insert(name, kept);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Measurement, Where};

    fn record(ipc: f64, bandwidth: f64) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let place = Where::new().with("workload", "primes").with("source", "declared");
        record.measurements.push(Measurement::new("core.ipc", place, vec![ipc]));
        for (threads, share) in [(1u32, 0.5), (2, 1.0)] {
            let place = Where::new().with("op", "read").with("threads", threads);
            record.measurements.push(Measurement::new("memory.bandwidth", place, vec![bandwidth * share]));
        }
        record
    }

    #[test]
    fn the_best_of_several_runs_is_kept_and_read_on_this_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let (here, there) = (json!({"hostname": "a"}), json!({"hostname": "b"}));
        assert_eq!(read_from(&path, &here), Known::Nothing);
        keep_in(&path, &record(1.5, 1e10), here.clone());
        keep_in(&path, &record(1.2, 2e10), here.clone());
        let Known::Here(ceilings) = read_from(&path, &here) else { panic!("nothing was kept") };
        assert_eq!(ceilings, json!({"ipc": {"primes": 1.5}, "bandwidth_one": 1e10, "bandwidth_all": 2e10}));
        assert_eq!(read_from(&path, &there), Known::Elsewhere);
        // Another machine's run replaces them.
        keep_in(&path, &record(1.0, 1e9), there.clone());
        assert!(matches!(read_from(&path, &there), Known::Here(_)));
        assert_eq!(read_from(&path, &here), Known::Elsewhere);
    }

    #[test]
    fn a_record_without_ceilings_leaves_no_file_and_a_broken_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        keep_in(&path, &Record::new("0", String::new(), Vec::new()), json!(1));
        assert!(!path.exists());
        for text in ["", "{", "[]", "{\"schema\": 1}", "{\"schema\": 1, \"machine\": 1, \"ceilings\": 3}"] {
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
