//! Folders as they are collected from many machines: what is said of them, and what lies among the records.

use std::path::{Path, PathBuf};

use fleet::{Input, Names, explain, judge_fleet, make_baseline, newest_of_each, read};
use record::fleet::{Family, Fleet, Reading};
use record::machine::MemoryDevice;
use record::redaction::{Aliases, Key, Kind, Pseudonyms};
use record::text::Value;
use record::{Record, Tool};

mod made_up;

use made_up::write;

fn tool() -> Tool {
    Tool { name: "linespeed".to_owned(), version: "0".to_owned() }
}

/// A machine with four memory devices.
fn machine(number: u32, slow: (&str, f64)) -> Record {
    let mut record = made_up::machine(number, slow);
    record.machine.memory_devices = ["A1", "A2", "B1", "B2"]
        .map(|slot| MemoryDevice {
            locator: Some(slot.to_owned()),
            bytes: Some(32 << 30),
            kind: Some("DDR5".to_owned()),
            configured_mt_s: Some(4800),
            ..MemoryDevice::default()
        })
        .to_vec();
    record
}

fn said(folder: &Path) -> Fleet {
    said_with(folder, &Aliases::default())
}

fn said_with(folder: &Path, aliases: &Aliases) -> Fleet {
    let mut read = read(&[PathBuf::from(folder)], 2, &Names::Own);
    let collections = newest_of_each(&mut read.briefs, &mut read.remarks, aliases);
    let reading = Reading {
        files: read.files,
        records: read.briefs.len() as u64,
        machines: collections.first().map_or(0, Vec::len) as u64,
        earlier: collections.iter().skip(1).map(Vec::len).sum::<usize>() as u64,
        remarks: read.remarks,
    };
    let input = Input { briefs: &read.briefs, collections: &collections, known: &read.known };
    let mut fleet = judge_fleet(&input, tool(), reading);
    explain(&mut fleet, &tool(), |path| Record::read(path).ok());
    fleet
}

fn remarks(fleet: &Fleet) -> Vec<(&str, u64, bool)> {
    let all = fleet.reading.remarks.iter();
    let mut all: Vec<_> = all.map(|remark| (remark.code.as_str(), remark.count, remark.left_out)).collect();
    all.sort_unstable();
    all
}

#[test]
fn the_machine_without_a_memory_device_is_slow_and_its_slot_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let mut record = machine(number, if number == 5 { ("memory.bandwidth", 0.75) } else { ("", 1.0) });
        if number == 5 {
            record.machine.memory_devices[2].bytes = None;
            record.machine.memory_devices[2].configured_mt_s = None;
        }
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    let [slow] = fleet.slow.as_slice() else { panic!("{:?}", fleet.slow) };
    assert_eq!((slow.machine.as_str(), slow.figures[0].family), ("node05", Family::MemoryBandwidth));
    assert!((slow.figures[0].speed - 0.75).abs() < 0.02, "{:?}", slow.figures);
    assert_eq!(slow.causes[0].says.code(), Some("fleet-cause-missing-device"), "{:?}", slow.causes);
    assert!(slow.causes[0].says.to_string().contains("B1"));
    assert!(fleet.confirm[0].contains("-w node05"), "{:?}", fleet.confirm);
    // The baseline is of the class, by the record of a machine that is not slow.
    let baseline = make_baseline(&fleet, "2026-11-24T12:00:00Z".to_owned(), |path| Record::read(path).ok());
    let [class] = baseline.classes.as_slice() else { panic!("one class") };
    assert_eq!(class.machines, 12);
    assert_ne!(class.record.machine.hostname.as_deref(), Some("node05"));
    assert!(class.figures.iter().any(|figure| figure.metric == "memory.bandwidth" && figure.scale.is_some()));
}

#[test]
fn what_is_no_record_is_counted_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let json = machine(0, ("", 1.0)).to_json().unwrap();
    std::fs::create_dir(at.join("rack 2")).unwrap();
    write(at, "rack 2/one\nof two lines.json", &machine(0, ("", 1.0)));
    write(at, "same.json", &machine(0, ("", 1.0)));
    for (name, content) in [
        ("half.json", &json.as_bytes()[..json.len() / 2]),
        ("empty.json", b"".as_slice()),
        ("foreign.json", b"{\"nodes\": 3}"),
        ("text.json", b"not JSON"),
        ("newer.json", b"{\"schema\": 99}"),
        ("notes.txt", b"no .json file: not looked at"),
    ] {
        std::fs::write(at.join(name), content).unwrap();
    }
    let fleet = said(at);
    assert_eq!((fleet.reading.files, fleet.reading.machines), (7, 1));
    let expected = [
        ("fleet-empty", 1, true),
        ("fleet-foreign", 1, true),
        ("fleet-half", 1, true),
        ("fleet-newer", 1, true),
        ("fleet-not-json", 1, true),
        ("fleet-same-record", 1, true),
    ];
    assert_eq!(remarks(&fleet), expected);
    let examples = fleet.reading.remarks.iter().flat_map(|remark| &remark.examples);
    assert!(examples.into_iter().all(|example| !example.contains('\n')));
    assert!(fleet.classes[0].note.as_ref().is_some_and(|note| note.code() == Some("fleet-alone")));
}

#[test]
fn the_newest_record_of_a_machine_counts_and_older_ones_tell_that_it_was_slow_before() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10 {
        let slow = if number == 3 { ("memory.bandwidth", 0.8) } else { ("", 1.0) };
        for hour in [9, 11] {
            let mut record = machine(number, slow);
            record.started = format!("2026-11-24T{hour:02}:{number:02}:00Z");
            write(folder.path(), &format!("{number}-{hour}.json"), &record);
        }
    }
    let fleet = said(folder.path());
    assert_eq!((fleet.reading.machines, fleet.reading.earlier), (10, 10));
    let [slow] = fleet.slow.as_slice() else { panic!("{:?}", fleet.slow) };
    assert_eq!((slow.machine.as_str(), slow.before), ("node03", (1, 1)));
    assert!(slow.started.contains("T11:"));
}

#[test]
fn a_later_run_of_a_single_measurement_does_not_hide_a_complete_one() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10 {
        let slow = if number == 3 { ("memory.bandwidth", 0.8) } else { ("", 1.0) };
        let mut record = machine(number, slow);
        write(folder.path(), &format!("{number}.json"), &record);
        record.started = format!("2026-11-24T12:{number:02}:00Z");
        record.measurements.retain(|m| m.metric == "core.clock");
        write(folder.path(), &format!("{number}-later.json"), &record);
    }
    let fleet = said(folder.path());
    let [slow] = fleet.slow.as_slice() else { panic!("{:?}", fleet.slow) };
    assert_eq!((slow.machine.as_str(), fleet.reading.earlier), ("node03", 10));
    assert!(slow.started.contains("T10:"));
}

#[test]
fn two_hosts_of_one_name_that_ran_at_once_are_two_machines() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        let mut record = machine(number, ("", 1.0));
        record.machine.hostname = Some("localhost".to_owned());
        record.started = format!("2026-11-24T10:00:0{number}Z");
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    assert_eq!(fleet.reading.machines, 2);
    assert_eq!(remarks(&fleet), [("fleet-same-name", 1, false)]);
    assert!(fleet.slow.is_empty(), "of two machines none is slow");
}

#[test]
fn machines_that_differ_in_kind_are_never_held_against_each_other() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let other = number % 2 == 0;
        let mut record = machine(number, if other { ("memory.bandwidth", 0.7) } else { ("", 1.0) });
        record.machine.processor.model_name = Some(if other { "one" } else { "another" }.to_owned());
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    assert_eq!(fleet.classes.iter().map(|class| class.machines).collect::<Vec<_>>(), [6, 6]);
    assert!(fleet.slow.is_empty(), "{:?}", fleet.slow);
}

#[test]
fn a_machine_of_an_unknown_processor_is_in_no_class() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let mut record = machine(number, if number == 5 { ("memory.bandwidth", 0.5) } else { ("", 1.0) });
        if number == 5 {
            record.machine.processor = Default::default();
        }
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    assert_eq!(fleet.classes.iter().map(|class| class.machines).collect::<Vec<_>>(), [11]);
    assert!(fleet.slow.is_empty(), "{:?}", fleet.slow);
    assert_eq!((fleet.reading.machines, remarks(&fleet)), (12, vec![("fleet-unclassed", 1, true)]));
    assert_eq!(fleet.reading.remarks[0].examples, ["node05"]);
}

#[test]
fn facts_that_only_a_slow_machine_lacks_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let mut record = machine(number, if number == 5 { ("memory.bandwidth", 0.5) } else { ("", 1.0) });
        let known = number != 5;
        record.machine.kernel.release = known.then(|| "6.1".to_owned());
        record.machine.processor.microcode = known.then(|| "0x1".to_owned());
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    let [slow] = fleet.slow.as_slice() else { panic!("{:?}", fleet.slow) };
    let cause = slow.causes.iter().find(|cause| cause.code == "fleet-cause-none").unwrap();
    let Some(Value::List(unknown)) = cause.says.value("facts") else { panic!("{cause:?}") };
    let codes: Vec<_> = unknown.iter().filter_map(|fact| fact.code()).collect();
    assert_eq!(codes, ["comparison-fact-microcode", "comparison-fact-kernel"]);
}

#[test]
fn of_two_small_groups_one_machine_each_is_to_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..8 {
        let older = number < 4;
        let mut record = machine(number, if older { ("memory.bandwidth", 0.6) } else { ("", 1.0) });
        record.machine.kernel.release = Some(if older { "5.4" } else { "6.1" }.to_owned());
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    assert_eq!(fleet.classes.iter().filter(|class| class.camp.is_some()).count(), 2, "{:?}", fleet.classes);
    let files: Vec<&str> = fleet.instead[0].split(' ').skip(2).collect();
    assert_eq!(files.len(), 2, "{:?}", fleet.instead);
    assert!(
        files.iter().any(|file| file.ends_with("0.json"))
            && files.iter().any(|file| file.ends_with("4.json"))
    );
}

#[test]
fn a_fact_that_divides_a_kind_makes_camps_and_no_slow_machines() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..20 {
        let newer = number % 5 < 2;
        let mut record = machine(number, if newer { ("memory.bandwidth", 0.9) } else { ("", 1.0) });
        record.machine.kernel.release = Some(if newer { "6.12" } else { "6.1" }.to_owned());
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    assert!(fleet.slow.is_empty(), "{:?}", fleet.slow);
    let camps: Vec<_> = fleet.classes.iter().filter_map(|class| class.camp.as_ref()).collect();
    assert_eq!(camps.len(), 2);
    assert!(camps.iter().all(|camp| camp.by[0].from == "machine.kernel.release"), "{camps:?}");
    assert!(camps.iter().any(|camp| (camp.speed - 0.9).abs() < 0.01), "{camps:?}");
}

#[test]
fn guests_whose_cpus_float_are_a_camp_of_their_own() {
    use record::shape::{Motion, Shape};
    let folder = tempfile::tempdir().unwrap();
    for number in 0..20 {
        let floats = number % 5 < 2;
        let mut record = machine(number, if floats { ("core_to_core.latency", 0.6) } else { ("", 1.0) });
        let motion = if floats { Motion::Floating } else { Motion::Pinned };
        record.diagnosis.shape = Some(Shape { looks: 12, motion, ..Shape::default() });
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    let camps: Vec<_> = fleet.classes.iter().filter_map(|class| class.camp.as_ref()).collect();
    assert!(fleet.slow.is_empty() && camps.len() == 2, "{:?}", fleet.slow);
    assert!(camps.iter().all(|camp| camp.by[0].from == "diagnosis.shape.motion"), "{camps:?}");
}

#[test]
fn a_quota_that_one_machine_alone_has_is_named_whether_it_is_slow_and_in_whatever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let mut record = machine(number, if number == 4 { ("memory.bandwidth", 0.8) } else { ("", 1.0) });
        record.machine.limits.cgroup_version = Some(2);
        // No rule has ASLR for a cause; nothing of the other is slow.
        match number {
            4 => record.conditions.before.aslr = Some(0),
            7 => record.machine.limits.cpu_quota = Some(1.5),
            _ => record.conditions.before.aslr = Some(2),
        }
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    let [slow] = fleet.slow.as_slice() else { panic!("{:?}", fleet.slow) };
    let codes: Vec<&str> = slow.causes.iter().map(|cause| cause.code.as_str()).collect();
    assert!(codes.contains(&"comparison-fact-aslr") && !codes.contains(&"fleet-cause-none"), "{codes:?}");
    let only = |from: &str| {
        fleet.classes[0].varying.iter().find(|fact| fact.from == from).and_then(|fact| fact.only.as_deref())
    };
    assert_eq!(only("machine.limits.cpu_quota"), Some("node07"), "{:?}", fleet.classes[0].varying);
    assert!(fleet.instead.is_empty());
}

#[test]
fn of_two_machines_none_is_slow_and_their_comparison_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        write(folder.path(), &format!("{number}.json"), &machine(number, ("", 1.0)));
    }
    let fleet = said(folder.path());
    assert!(fleet.slow.is_empty() && !fleet.classes[0].judged);
    let lines: Vec<&str> = fleet.instead.iter().map(String::as_str).collect();
    let [compare, check] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(compare.starts_with("linespeed compare ") && compare.ends_with("1.json"), "{compare}");
    assert!(check.starts_with("linespeed check --baseline ") && check.ends_with("0.json"), "{check}");
}

#[test]
fn short_runs_of_one_second_are_one_machines_where_they_have_room_in_it() {
    for (seconds, machines) in [(Some(0.1), 1), (Some(0.6), 3), (None, 6)] {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..6 {
            let mut record = machine(number, ("", 1.0));
            record.machine.hostname = Some("localhost".to_owned());
            record.started = "2026-11-24T10:00:00Z".to_owned();
            record.seconds = seconds;
            write(folder.path(), &format!("{number}.json"), &record);
        }
        let fleet = said(folder.path());
        assert_eq!((fleet.reading.machines, fleet.reading.records), (machines, 6), "{seconds:?}");
    }
}

#[test]
fn enough_machines_without_a_common_figure_are_not_called_too_few() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..6 {
        let mut record = machine(number, ("", 1.0));
        let one = record.measurements.iter().position(|m| m.metric == "cost.syscall").unwrap();
        let mut own = record.measurements.swap_remove(one);
        own.method = Some(format!("tool {number}"));
        record.measurements = vec![own];
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    let codes: Vec<_> = fleet.classes.iter().map(|class| class.note.as_ref().unwrap().code()).collect();
    assert_eq!(codes, [Some("fleet-none-shared")]);
}

#[test]
fn redacted_records_among_plain_ones_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    for (number, host) in ["host-gcee7s88", "host-gcee7s89", "node1"].into_iter().enumerate() {
        let mut record = machine(number as u32, ("", 1.0));
        record.machine.hostname = Some(host.to_owned());
        write(folder.path(), &format!("{number}.json"), &record);
    }
    assert_eq!(remarks(&said(folder.path())), [("fleet-redacted-among-plain", 2, false)]);
    std::fs::remove_file(folder.path().join("2.json")).unwrap();
    assert_eq!(remarks(&said(folder.path())), []);
}

#[test]
fn a_redacted_record_is_of_the_machine_whose_pseudonym_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::new([7; 32]);
    let pseudonym = Pseudonyms::new(key.clone()).of(Kind::Host, "node0");
    for (day, host) in ["node0", &pseudonym, "node1"].into_iter().enumerate() {
        let mut record = machine(0, ("", 1.0));
        record.machine.hostname = Some(host.to_owned());
        record.started = format!("2026-01-0{}T00:00:00Z", day + 1);
        write(folder.path(), &format!("{day}.json"), &record);
    }
    let machines = |aliases: &Aliases| {
        let fleet = said_with(folder.path(), aliases);
        (fleet.reading.machines, fleet.reading.earlier, remarks(&fleet).len())
    };
    assert_eq!(machines(&Aliases::default()), (3, 0, 1));
    assert_eq!(machines(&Aliases::new(vec![key])), (2, 1, 0));
}

#[test]
fn families_that_some_machines_lack_are_told_with_these_machines() {
    let missing = |lacking: &[u32], machines: u32, is_kept: fn(&str) -> bool| {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..machines {
            let mut record = machine(number, ("", 1.0));
            if lacking.contains(&number) {
                record.measurements.retain(|m| is_kept(m.metric.name()));
            }
            write(folder.path(), &format!("{number}.json"), &record);
        }
        let fleet = said(folder.path());
        let examples = fleet.reading.remarks.iter().map(|remark| remark.examples.join(" ")).collect();
        let codes: Vec<_> =
            remarks(&fleet).iter().map(|(code, count, _)| ((*code).to_owned(), *count)).collect();
        (codes, examples, fleet.classes[0].families.contains(&Family::MemoryBandwidth))
    };
    let expected = |count, names: &str, judged| {
        (vec![("fleet-missing".to_owned(), count)], vec![names.to_owned()], judged)
    };
    let is_clock = |metric: &str| metric == "core.clock";
    assert_eq!(missing(&[1, 3, 5, 7], 8, is_clock), expected(4, "node01 node03 node05 node07", false));
    assert_eq!(missing(&[11], 12, |metric| metric != "memory.bandwidth"), expected(1, "node11", true));
    // A class that is too small to judge has its own note.
    assert_eq!(missing(&[1], 4, is_clock).0, Vec::new());
}

#[test]
fn a_slow_result_is_no_cause_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let mut record = machine(number, ("", 1.0));
        record.machine.processor.microcode = Some(if number == 9 { "0x2" } else { "0x1" }.to_owned());
        // Without a cache of 32 MiB, the largest working sets are in memory.
        for cache in record.machine.caches.iter_mut().filter(|cache| cache.level == 3) {
            cache.bytes = Some(2 << 20);
        }
        let is_beyond_caches = |m: &&mut record::Measurement| {
            number == 9 && m.metric == "load.latency" && m.labels.count(record::Label::Bytes) >= Some(4 << 20)
        };
        for m in record.measurements.iter_mut().filter(is_beyond_caches) {
            let s = &mut m.summary;
            [&mut s.min, &mut s.median, &mut s.max].into_iter().for_each(|value| *value *= 1.25);
            s.mean = s.mean.map(|mean| mean * 1.25);
            s.interval = s.interval.map(|(low, high)| (low * 1.25, high * 1.25));
        }
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    let [slow] = fleet.slow.as_slice() else { panic!("{:?}", fleet.slow) };
    assert!(slow.figures.iter().any(|figure| figure.family == Family::MemoryLatency), "{:?}", slow.figures);
    assert!(!slow.explained.is_empty(), "{slow:?}");
    assert_eq!(slow.causes[0].code, "comparison-fact-microcode", "{:?}", slow.causes);
}

#[test]
fn commands_name_hosts_and_each_host_once() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        let mut record = machine(number, if number > 9 { ("memory.bandwidth", 0.7) } else { ("", 1.0) });
        if number > 9 {
            record.machine.hostname = Some("vm".to_owned());
            record.started = format!("2026-11-24T10:00:{number}Z");
        }
        write(folder.path(), &format!("{number}.json"), &record);
    }
    let fleet = said(folder.path());
    let mut names: Vec<&str> = fleet.slow.iter().map(|slow| slow.machine.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["vm", "vm (2)"]);
    assert!(fleet.confirm[0].contains("-N 1 -w vm linespeed"), "{:?}", fleet.confirm);
}
