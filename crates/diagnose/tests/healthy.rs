//! A serious finding on a healthy machine costs all trust: texts and captures of machines on which there is none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use import::{Importer, Split};
use machine::{Root, inspect};
use record::Record;
use record::diagnosis::Severity;

fn below(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn empty() -> Record {
    Record::new("0.0.0", "2026-01-01T00:00:00Z".to_owned(), Vec::new())
}

/// The records of a text; none where import refuses it.
fn records_of(text: &Path) -> Vec<Record> {
    let mut importer = Importer::new(Split::Files);
    importer.read(&text.display().to_string(), fs::File::open(text).unwrap()).unwrap();
    let machines = importer.finish().unwrap_or_default();
    machines.into_iter().map(|machine| machine.into_record(empty())).collect()
}

fn assert_healthy(name: &Path, record: &Record) {
    for finding in diagnose::diagnose(record).findings {
        assert!(finding.severity < Severity::Serious, "{}: {}", name.display(), finding.what);
    }
}

#[test]
fn texts_of_healthy_machines_have_nothing_but_notes() {
    for text in below("tests/healthy") {
        let records = records_of(&text);
        assert!(!records.is_empty(), "{}: nothing was read", text.display());
        for finding in records.iter().flat_map(|record| diagnose::diagnose(record).findings) {
            assert_eq!(finding.severity, Severity::Note, "{}: {}", text.display(), finding.what);
        }
    }
}

#[test]
fn neither_have_the_texts_that_import_reads_nor_the_reference_machines() {
    let folders = ["texts", "real/debian-12", "real/debian-13", "real/debian-sid"];
    let texts = folders.iter().flat_map(|folder| below(&format!("../import/tests/{folder}")));
    let mut read = 0;
    for text in texts.chain(below("../../reference/machines")) {
        for record in records_of(&text) {
            assert_healthy(&text, &record);
            read += 1;
        }
    }
    assert!(read > 150, "{read} texts were read");
}

#[test]
fn captured_machines_have_no_serious_finding() {
    let archives = below("../machine/tests/machines").into_iter();
    let archives: Vec<PathBuf> =
        archives.filter(|path| path.extension().is_some_and(|end| end == "bz2")).collect();
    assert!(archives.len() >= 4);
    for archive in archives {
        let folder = tempfile::tempdir().unwrap();
        let done =
            Command::new("tar").arg("xjf").arg(&archive).arg("-C").arg(folder.path()).status().unwrap();
        assert!(done.success(), "tar could not unpack {}", archive.display());
        let inspection = inspect(&Root::captured(folder.path()).unwrap());
        let mut record = empty();
        record.machine = inspection.machine;
        record.conditions.before = inspection.snapshot;
        assert_healthy(&archive, &record);
    }
}

/// Lines of logs that name a fault, and the rule that finds each.
const FAULTS: [(&str, &str); 4] = [
    ("tsc: Marking TSC unstable due to clocksource watchdog", "tsc-unstable"),
    ("mce: [Hardware Error]: Machine check events logged", "machine-check"),
    (
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0)",
        "memory-corrected",
    ),
    ("EDAC MC1: 1 UE memory scrubbing error on unknown memory (channel:0)", "memory-uncorrected"),
];

#[test]
fn a_fault_in_the_kernels_log_is_found_and_in_a_record_that_was_saved() {
    let log = |line: &str| {
        format!(
            "[    0.000000] Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) #1 SMP\n\
             [    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n[   12.345678] {line}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let found = |line: &str| {
        let text = folder.path().join("dmesg.txt");
        fs::write(&text, log(line)).unwrap();
        let record = records_of(&text).pop().unwrap();
        let saved = Record::from_json(record.to_json().unwrap().as_bytes()).unwrap();
        [record, saved].map(|record| {
            let all = diagnose::diagnose(&record).findings.into_iter();
            let of_log = all.filter(|finding| FAULTS.iter().any(|(_, rule)| finding.rule == *rule));
            of_log.map(|finding| (finding.rule, finding.severity)).collect::<Vec<_>>()
        })
    };
    for (line, rule) in FAULTS {
        let severity = if rule == "memory-uncorrected" { Severity::Serious } else { Severity::Warning };
        let one = vec![(rule.to_owned(), severity)];
        assert_eq!(found(line), [one.clone(), one], "{line}");
    }
    assert_eq!(found("smpboot: CPU0: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz"), [vec![], vec![]]);
}
