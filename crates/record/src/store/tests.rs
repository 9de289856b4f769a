use std::collections::BTreeSet;

use super::entry::OF_A_WHOLE_RUN;
use super::*;
use crate::redaction::{Key, Kind, Pseudonyms};
use crate::{Labels, Measurement, Metric, RunMode};

fn record(host: &str, metrics: &[impl Into<Metric> + Copy], started: &str) -> Record {
    let mut record = Record::new("0", started.to_owned(), Vec::new());
    record.machine.hostname = Some(host.to_owned());
    for metric in metrics.iter().map(|metric| (*metric).into()) {
        let (low, _) = metric.definition().unwrap().plausible;
        record.measurements.push(Measurement::new(metric, Labels::new(), vec![low]));
    }
    record
}

const NOTHING: [Metric; 0] = [];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn all(&self) -> [PathBuf; 1] {
        [self.0.path().to_owned()]
    }

    /// Writes a record with a date this many hours ago.
    fn write(&self, name: &str, record: &Record, hours: u32) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, record.to_json().unwrap()).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - std::time::Duration::from_secs(3600) * hours).unwrap();
        path
    }
}

#[test]
fn an_entry_is_the_same_in_whatever_form_the_record_is_written() {
    let json = record("here", &OF_A_WHOLE_RUN, "t").to_json().unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let entry = |text: &str| Entry::from_json(text.as_bytes(), Path::new("r.json"));
    let whole = entry(&json).unwrap();
    assert!(whole.is_whole() && whole.host == "here");
    // The fast reader does not recognize a summary that spans several lines.
    let nearly =
        json.replace("\"summary\": {\"n\"", "\"summary\": {\n \"n\"").replace("\n \"n\"", "\n       \"n\"");
    assert_ne!(nearly, json);
    for text in [&value.to_string(), &serde_json::to_string_pretty(&value).unwrap(), &nearly] {
        assert_eq!(entry(text).as_ref(), Some(&whole));
    }
    assert_eq!(entry(&json[..json.len() - 3]), None);
}

#[test]
fn a_run_of_everything_stands_for_a_machine_before_a_part_and_others_never() {
    let folder = Folder::new();
    let newest = || newest(&folder.all(), &["here".to_owned()]);
    assert!(newest().is_none());
    folder.write("there.json", &record("there", &OF_A_WHOLE_RUN, "x"), 0);
    std::fs::write(folder.0.path().join("broken.json"), "{").unwrap();
    std::fs::write(folder.0.path().join(CEILINGS), "{}").unwrap();
    assert!(newest().is_none());
    let whole = folder.write("whole.json", &record("here", &OF_A_WHOLE_RUN, "whole"), 3);
    // Clock and latency are not enough for most comparisons.
    folder.write("part.json", &record("here", &["core.clock", "load.latency"], "part"), 2);
    let less = folder.write("less.json", &record("here", &["cost.syscall"], "less"), 1);
    let found = newest().unwrap();
    // The record is shown by name if it is in the user's own directory.
    let named = |own: Option<&Path>| found.remark(own).unwrap().value("record").unwrap().to_string();
    assert_eq!(named(Some(folder.0.path())), "whole");
    assert_eq!(named(None), whole.to_string_lossy());
    let newer = found.newer.map(|entry| entry.path);
    assert_eq!((found.entry.path.as_path(), newer), (whole.as_path(), Some(less)));
    std::fs::remove_file(&whole).unwrap();
    let found = newest().unwrap();
    assert_eq!(
        (found.entry.started.as_str(), found.entry.lacks()),
        ("part", vec![crate::metrics::MEMORY_BANDWIDTH])
    );
    folder.write("whole.json", &record("here", &OF_A_WHOLE_RUN, "newest"), 0);
    assert!(newest().unwrap().newer.is_none());
}

#[test]
fn a_record_without_names_stands_for_the_machine_whose_pseudonym_it_has() {
    let folder = Folder::new();
    let plain = folder.write("here-20260102T030405Z.json", &record("here", &OF_A_WHOLE_RUN, "plain"), 2);
    let redacted =
        folder.write("redacted-20260103T030405Z.json", &record("host-1", &OF_A_WHOLE_RUN, "redacted"), 1);
    folder.write("redacted-20260104T030405Z.json", &record("host-2", &OF_A_WHOLE_RUN, "other"), 0);
    let names = ["here", "host-1"].map(str::to_owned);
    let found = |names: &[String]| newest(&folder.all(), names).unwrap().entry.path;
    assert_eq!([found(&names), found(&names[1..])], [plain.clone(), redacted.clone()]);
    let (files, others) = of_host(&folder.all(), &names);
    assert_eq!((&files[1..], others), (&[redacted, plain][..], 0));
    assert_eq!(of_host(&folder.all(), &names[..1]).1, 2);
}

#[test]
fn records_of_a_machine_are_those_with_its_name_and_those_with_its_pseudonym() {
    let folder = Folder::new();
    let write = |name: &str, host: &str| folder.write(name, &record(host, &["core.clock"], name), 0);
    let own = write("own.json", "here");
    let plain = write("here-20260102T030405Z.json", "here");
    let redacted = write("redacted-20260103T030405Z.json", "host-1");
    write("redacted-20260104T030405Z.json", "host-2");
    write("here-20260105T030405Z.json", "there");
    let mut other = record("here", &NOTHING, "other hardware");
    other.machine.processor.model_name = Some("other".to_owned());
    folder.write("here-20260106T030405Z.json", &other, 0);
    let machine = record("here", &NOTHING, "").machine;
    let found = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        of_machine(&folder.all(), &machine, names, |_| true).collect::<Vec<(PathBuf, Record)>>()
    };
    let files = |names: &[&str]| found(names).into_iter().map(|(path, _)| path).collect::<Vec<PathBuf>>();
    assert_eq!(files(&["here", "host-1"]), [redacted, plain.clone(), own.clone()]);
    assert_eq!(files(&["here"]), [plain, own]);
    let called = found(&["here", "host-1"]).into_iter().all(|(_, r)| r.machine.hostname == machine.hostname);
    assert!(called);
}

#[test]
fn many_records_of_commands_do_not_hide_what_was_measured_of_the_machine() {
    let folder = Folder::new();
    let measured =
        folder.write("here-20260102T030405Z.json", &record("here", &["core.clock"], "measured"), 0);
    for number in 0..MOST_OF_A_MACHINE * 2 {
        let name = format!("here-202601030304{number:02}Z.json");
        folder.write(&name, &record("here", &["memory.bandwidth"], &name), 0);
    }
    let machine = record("here", &NOTHING, "").machine;
    let clock = |entry: &Entry| entry.metrics.contains("core.clock");
    let found: Vec<PathBuf> =
        of_machine(&folder.all(), &machine, vec!["here".to_owned()], clock).map(|(path, _)| path).collect();
    assert_eq!(found, [measured]);
}

#[test]
fn the_newest_complete_run_stands_for_a_machine_quick_or_not() {
    let folder = Folder::new();
    let run = |mode, started: &str| Record { mode: Some(mode), ..record("here", &OF_A_WHOLE_RUN, started) };
    let quick = folder.write("quick.json", &run(RunMode::Quick, "quick"), 1);
    let part = folder.write("part.json", &record("here", &["core.clock"], "part"), 0);
    let found = newest(&folder.all(), &["here".to_owned()]).unwrap();
    assert_eq!((found.entry.path, found.newer.map(|entry| entry.path)), (quick.clone(), Some(part.clone())));
    let whole = folder.write("whole.json", &run(RunMode::Normal, "before"), 2);
    std::fs::remove_file(&part).unwrap();
    let found = newest(&folder.all(), &["here".to_owned()]).unwrap();
    assert_eq!((found.entry.path, found.newer.map(|entry| entry.path)), (quick, None));
    // The record that represents the machine is not pruned.
    let all = list(&folder.all(), |_, _| ());
    let gone: Vec<&Path> =
        superfluous(&all, 0, &Aliases::default()).into_iter().map(|entry| entry.path.as_path()).collect();
    assert_eq!(gone, [whole.as_path()]);
}

#[test]
fn a_label_stands_for_its_record_and_moves_but_never_touches_it() {
    let folder = Folder::new();
    let (first, second) = (
        folder.write("a.json", &record("h", &NOTHING, "1"), 1),
        folder.write("b.json", &record("h", &NOTHING, "2"), 0),
    );
    let found = |name: &str| find(&folder.all(), name);
    let real = |path: &Path| std::fs::canonicalize(path).unwrap();
    assert_eq!(label(folder.0.path(), "before", &first).unwrap(), None);
    assert_eq!(found("before"), Some(real(&first)));
    assert_eq!(label(folder.0.path(), "before", &second).unwrap(), Some(real(&first)));
    assert_eq!((found("before"), found("a")), (Some(real(&second)), Some(first.clone())));
    assert_eq!(list(&folder.all(), |_, _| ())[0].labels, ["before"]);
    for refused in ["", "../a", "a/b", ".", "-x", "reference:x"] {
        assert!(label(folder.0.path(), refused, &first).is_err() && found(refused).is_none(), "{refused}");
    }
    let entries = list(&folder.all(), |_, _| ());
    remove(&folder.all(), &entries[0]).unwrap();
    assert!(!second.exists() && found("before").is_none() && first.exists());
}

#[test]
fn what_has_a_label_and_what_stands_for_its_host_is_never_superfluous() {
    let entry = |host: &str, whole: bool, label: Option<&str>| Entry {
        host: host.to_owned(),
        metrics: if whole { OF_A_WHOLE_RUN.into() } else { BTreeSet::new() },
        labels: label.map(str::to_owned).into_iter().collect(),
        ..Entry::default()
    };
    let all = [
        entry("a", false, None),
        entry("a", false, None),
        entry("a", true, None),
        entry("a", true, None),
        entry("a", true, Some("before")),
        entry("b", false, None),
    ];
    let gone = |keep| {
        superfluous(&all, keep, &Aliases::default())
            .into_iter()
            .map(|e| all.iter().position(|o| std::ptr::eq(o, e)).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(gone(1), [1, 3]);
    // The newest complete run represents both names of a host.
    let key = Key::new([1; 32]);
    let hidden = Entry { host: Pseudonyms::new(key.clone()).of(Kind::Host, "a"), ..all[2].clone() };
    let both = [hidden, all[2].clone(), all[5].clone()];
    let counts = |aliases| [0, 1].map(|keep| superfluous(&both, keep, &aliases).len());
    assert_eq!((counts(Aliases::default()), counts(Aliases::new(vec![key]))), ([1, 0], [2, 1]));
    assert_eq!((gone(0), gone(9)), (vec![0, 1, 3, 5], vec![]));
}
