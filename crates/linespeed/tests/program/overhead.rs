//! `linespeed overhead`: one routine in each layer.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::started::Started;
use crate::support::{
    beside_others, emulated, folder, linespeed, measured, ran, run, run_with, skipped, sound,
};
use record::Label;
use record::detail;
use record::{Ended, Record};

fn brief(args: &[&str]) -> std::process::Command {
    linespeed(["overhead", "--rounds", "1"].iter().chain(args))
}

fn layers(record: &Record) -> Vec<(String, String)> {
    let word =
        |m: &record::Measurement, key: record::Label| m.labels.word(key).unwrap_or_default().to_owned();
    record.measurements_of("layer.time").map(|m| (word(m, Label::Layer), word(m, Label::Bound))).collect()
}

/// One pass of all layers that are timed without being asked for: its table, and the file of its record.
fn one_pass() -> &'static (String, PathBuf) {
    static ONE_PASS: OnceLock<(String, PathBuf)> = OnceLock::new();
    ONE_PASS.get_or_init(|| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-pass.json");
        let mut command = brief(&["--all", "--output", file.to_str().unwrap()]);
        command.env("COLUMNS", "80");
        (measured(command).succeeds().stdout, file)
    })
}

/// What a pass of layers without guests prints where its JSON goes to a file, and that JSON.
fn without_guests() -> &'static (String, String) {
    static WITHOUT_GUESTS: OnceLock<(String, String)> = OnceLock::new();
    WITHOUT_GUESTS.get_or_init(|| {
        let folder = folder();
        let file = folder.path().join("layers.json");
        let args = ["--json", "--vm", "none", "--output", file.to_str().unwrap()];
        let printed = measured(brief(&args)).succeeds().stdout;
        (printed, std::fs::read_to_string(&file).unwrap())
    })
}

#[test]
fn user_rows_come_with_the_same_bytes_and_the_same_primes() {
    let record = Record::read(&one_pass().1).unwrap();
    let found = layers(&record);
    assert!(found.contains(&("user".to_owned(), "none".to_owned())), "{found:?}");
    for m in record.measurements_of("layer.time") {
        assert_eq!(m.detail.get(detail::PRIMES).unwrap(), 78_498, "{m:?}");
        let bytes = |m: &record::Measurement| {
            let of = (m.detail.get(detail::CRC32), m.detail.get(detail::PAGE_OFFSET));
            (of.0.expect("a checksum").to_owned(), of.1.expect("where the bytes lay"))
        };
        assert_eq!(bytes(m), bytes(record.measurements_of("layer.time").next().unwrap()));
        assert_eq!(m.detail.get(detail::PORTIONS).unwrap().as_array().unwrap().len(), 16);
        assert!(m.detail.get(detail::CLOCK_HZ).unwrap() > 1e7);
        assert!(m.doubt.is_some(), "one pass says nothing of its spread");
    }
    let overhead = record.diagnosis.overhead.expect("layers were timed in turn");
    assert_eq!(overhead.claims.len(), 6);
    assert!(overhead.steps.iter().any(|step| step.what == "unpinned".into()), "{overhead:?}");
}

#[test]
fn the_table_is_shown_at_once_and_again_as_text_and_as_a_page() {
    let (text, file) = one_pass();
    let file = file.to_str().unwrap();
    for words in ["Routine time by layer", "user again", "Cost of each step", "What costs speed"] {
        assert!(text.contains(words), "no {words:?} in:\n{text}");
    }
    let wide: Vec<&str> =
        text.lines().filter(|line| line.chars().count() > 80 && !line.starts_with("Record:")).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let again = ran(["show", "--all", file]).succeeds().stdout;
    for words in ["Cost of each step", "CRC-32", "Published conclusions"] {
        assert!(text.contains(words) && again.contains(words), "no {words:?} in:\n{text}\n{again}");
    }
    let page = ran(["show", file, "--html"]).succeeds().stdout;
    assert!(page.contains("Cost of each step"));
    // A record is not compared with itself.
    let mut later = Record::read(Path::new(file)).unwrap();
    later.started = "2026-01-01T00:00:00Z".to_owned();
    let folder = folder();
    let other = folder.path().join("other.json");
    std::fs::write(&other, later.to_json().unwrap()).unwrap();
    let compared = ran(["compare", "--all", file, other.to_str().unwrap()]).succeeds().stdout;
    assert!(compared.contains("Routine time by"), "{compared}");
}

#[test]
fn wrong_usage_is_said_in_a_line() {
    run(brief(&["--cpu", "60000"])).fails(2, &["--cpu 60000", "may only use"]);
    ran(["overhead", "--rounds", "0"]).misused(&["--rounds"]);
    ran(["overhead", "--rounds", "1001"]).misused(&["--rounds", "1000"]);
    ran(["overhead", "--cpu", "x"]).fails(2, &["--cpu", "whole number"]);
    ran(["overhead", "--fail-on", "note"]).fails(2, &["--fail-on", "does not support"]);
    run(brief(&["--cpus", "60000"])).fails(2, &["60000"]);
    run(brief(&["--output", "/there-is-no-such-folder/x.json"])).fails(3, &["there is no directory"]);
}

/// What the coverage says of the layers whose names begin so.
fn reported(record: &Record, layer: &str) -> Vec<(String, String)> {
    let begin = format!("overhead ({layer}");
    let remedy = |c: &record::Coverage| c.remedy.as_ref().map(ToString::to_string).unwrap_or_default();
    let of = |c: &record::Coverage| (c.why(), remedy(c));
    record.coverage.iter().filter(|c| c.what.starts_with(&begin)).map(of).collect()
}

#[test]
fn kernel_rows_are_timed_when_asked_for_or_say_what_they_need() {
    let record = sound::record(without_guests().1.as_bytes());
    let unasked = reported(&record, "kernel");
    assert!(reported(&record, "guest").is_empty(), "nobody asked for guests: {:?}", record.coverage);
    // The first bytes of a module, and nothing more: it is never loaded, whatever the machine.
    let folder = folder();
    let file = folder.path().join("linespeed.ko");
    std::fs::write(&file, [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &1u16.to_ne_bytes()].concat()).unwrap();
    let words = ["--json", "--vm", "none", "--kernel-module", file.to_str().unwrap()];
    let asked = measured(brief(&words)).succeeds();
    let (asked, json) = (asked.record(), asked.stdout);
    let refused = reported(&asked, "kernel");
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert!(
        refused.iter().all(|why| *why == refused[0] && !why.0.is_empty() && !why.0.contains("not asked"))
    );
    let modules = std::path::Path::new("/proc/modules").exists();
    if modules {
        assert!(unasked.len() == 1 && unasked[0].0.contains("--kernel") && unasked[0].0.contains("root"));
        assert_eq!(unasked[0].1, "sudo linespeed overhead --kernel");
    } else {
        // Nobody is sent to ask for what would be refused, and both say the same.
        assert_eq!(unasked, refused[..1]);
    }
    assert!(modules || refused[0].0.contains("does not support loadable modules"), "{refused:?}");
    if !modules {
        let text = run_with(linespeed(["show", "-", "--all"]), json).succeeds().stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            text.matches("does not support loadable modules").count(),
            1,
            "one line for all four:\n{text}"
        );
        assert!(text.contains("interrupts off"), "{text}");
    }
}

#[test]
fn a_whole_guest_that_cannot_be_had_says_what_is_missing() {
    if emulated() {
        return skipped(
            "a_whole_guest_that_cannot_be_had_says_what_is_missing",
            "an emulated program is not what a guest could boot",
        );
    }
    // Any file will do: without QEMU nobody boots it. A kernel's name alone asks for the guest.
    for (more, layers) in [(&[][..], 1), (&["--kernel"][..], 2)] {
        let mut command = brief(&["--json", "--vm-kernel", "/proc/self/exe"]);
        command.args(more).env("PATH", "");
        let record = measured(command).succeeds().record();
        // Its kernel is timed only where kernels are asked for.
        let reported = ["guest OS user", "guest OS kernel"].map(|layer| reported(&record, layer));
        assert_eq!(reported.iter().filter(|why| !why.is_empty()).count(), layers);
        for (reason, remedy) in reported.iter().flatten() {
            assert!(reason.contains("qemu-system-") && reason.contains("not installed"), "{reason}");
            assert!(remedy.contains("apt install qemu-system-"), "{remedy}");
        }
    }
    for flag in ["--vm-kernel", "--vm-module"] {
        run(brief(&["--vm", "raw", flag, "/x"])).fails(2, &[flag, "--vm full"]);
    }
    ran(["overhead", "--vm", "qemu"]).misused(&["--vm", "full"]);
}

#[test]
fn a_named_file_that_is_none_is_reported_before_anything_is_measured() {
    for flag in ["--vm-kernel", "--kernel-module", "--vm-module"] {
        run(brief(&[flag, "/nowhere/file"])).fails(3, &["/nowhere/file: cannot be read", flag]);
        run(brief(&[flag, "/proc"])).fails(3, &["/proc: cannot be read: not a regular file", flag]);
    }
    run(brief(&["--vm-kernel", "/etc/hostname"])).fails(3, &["/etc/hostname: is not a kernel image"]);
    run(brief(&["--kernel-module", "/proc/self/exe"]))
        .fails(3, &["/proc/self/exe: is not an uncompressed kernel module"]);
}

#[test]
fn json_goes_to_the_file_that_is_named_and_nowhere_else() {
    let (printed, json) = without_guests();
    assert_eq!(printed, "");
    assert!(!layers(&sound::record(json.as_bytes())).is_empty());
}

#[test]
fn a_process_on_one_cpu_has_the_rows_that_need_no_other() {
    let cpu = os::pin::allowed().unwrap().iter().last().unwrap().to_string();
    let record = measured(brief(&["--json", "--cpus", &cpu])).succeeds().record();
    let bound = format!("cpu {cpu}");
    let found = layers(&record);
    assert!(found.iter().all(|(_, on)| *on == bound || on == "none"), "{found:?}");
    let reported = record.coverage.iter().find(|c| c.what.starts_with("overhead (user, pinned to CPU"));
    assert!(reported.map(record::Coverage::why).unwrap_or_default().contains("only one CPU"), "{reported:?}");
}

#[test]
fn a_signal_keeps_the_passes_that_were_whole() {
    let _beside = beside_others();
    let started = Started::new(linespeed(["overhead", "--rounds", "1000", "--json", "--verbose"]));
    started.wait_for("linespeed: pass 1 of 1000");
    started.send(libc::SIGINT);
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let record = ran.record();
    assert_eq!(record.ended, Ended::Interrupted { signal: 2 });
    assert!(record.measurements_of("layer.time").count() >= 2);
    assert!(record.measurements_of("layer.time").all(|m| (1..1000).contains(&m.samples.len())));
}
