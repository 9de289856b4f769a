//! What people mistype, and files that are not what they should be.

use std::fs::File;
use std::path::Path;

use crate::support::confine::Confine;
use crate::support::{Ran, figures, folder, linespeed, ran, root, run, run_with, says_lost};

fn show(path: &Path) -> Ran {
    ran(["show".as_ref(), path.as_os_str()])
}

/// A record in a file, as text.
fn record() -> String {
    ran(["inspect", "--json"]).succeeds().stdout
}

#[test]
fn a_mistyped_measurement_is_reported_the_nearest_one() {
    ran(["run", "latncy"]).fails(2, &["\"latncy\"", "did you mean latency?", "wakeup"]);
    ran(["run", "clock", "WAKUP"]).fails(2, &["did you mean wakeup?"]);
    let far = ran(["run", "xyzzy"]).fails(2, &["\"xyzzy\"", "clock, latency"]);
    assert!(!far.stderr.contains("did you mean"));
    ran(["run", "\u{1b}[31mred"]).fails(2, &["\\u{1b}[31mred"]);
    ran(["run", ""]).fails(2, &["\"\""]);
}

#[test]
fn mistyped_commands_flags_and_values_are_wrong_usage() {
    ran(["inspct"]).misused(&["inspct", "inspect"]);
    ran(["run", "--quik"]).misused(&["--quik", "--quick"]);
    ran(["run", "--quick", "--full"]).misused(&["--quick", "--full"]);
    ran(["--color", "sometimes"]).misused(&["always", "never"]);
    ran(["--fail-on", "doom"]).misused(&["serious"]);
    ran(["completions", "cmd.exe"]).misused(&["bash", "fish"]);
    ran(["show"]).misused(&["<RECORD>"]);
    for list in ["3-1", "a", "-1", "0-", "1e9", "0-99999999999", "4294967296"] {
        ran(["run", &format!("--cpus={list}")]).misused(&["--cpus", list]);
    }
}

#[test]
fn what_a_hurried_user_types_gets_the_way_out() {
    ran(["./prog"]).fails(2, &["linespeed stat -- ./prog"]);
    ran(["a b.sh"]).fails(2, &["linespeed stat -- 'a b.sh'"]);
    ran(["fix"]).fails(2, &["linespeed show ."]);
    assert!(ran(["explain", "wake-up", "latency"]).succeeds().stdout.contains("wakeup.latency"));
}

#[test]
fn flags_that_would_be_ignored_are_refused() {
    for (words, flag) in [
        (&["stat", "--quick", "--", "true"][..], "--quick"),
        (&["--full", "stat", "--", "true"], "--full"),
        (&["inspect", "--fail-on", "note"], "--fail-on"),
        (&["inspect", "--cpus", "0"], "--cpus"),
        (&["list", "--full"], "--full"),
        (&["show", "--quick", "-"], "--quick"),
        (&["schema", "--quick"], "--quick"),
        (&["explain", "--quick"], "--quick"),
        (&["completions", "bash", "--json"], "--json"),
        (&["man", "--output", "x"], "--output"),
    ] {
        ran(words).fails(2, &[flag, "does not support"]);
    }
    // What users of perf stat write.
    for (flag, way_out) in [("-e", "perf stat -e"), ("-a", "--all"), ("-I", "perf stat -I"), ("-C", "--cpus")]
    {
        ran(["stat", flag, "1", "--", "true"]).misused(&[flag, way_out]);
    }
    // Behind -- they are the command's own.
    assert_eq!(ran(["stat", "-q", "--", "echo", "--quick"]).stdout, "--quick\n");
}

#[test]
fn what_cannot_be_measured_here_is_refused_with_the_reason_and_leaves_nothing() {
    let state = folder();
    let with_state = |words: &[&str]| {
        let mut command = linespeed(words);
        command.env("XDG_STATE_HOME", state.path());
        run(command)
    };
    let alone = with_state(&["run", "scaling", "core-to-core", "--cpus", &one_cpu()]);
    alone.fails(3, &["scaling cannot be measured here: requires two CPUs", "; core-to-core cannot"]);
    let files = |folder: &Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
    assert_eq!(files(&state.path().join("linespeed")), 0, "a record of nothing was written");
    // What can be measured is, beside what cannot.
    let some = with_state(&["run", "clock", "scaling", "--quick", "--json", "--cpus", &one_cpu()]).succeeds();
    let record = some.record();
    assert!(figures(&record, "core.clock") > 0);
    says_lost(&record, "scaling", "two CPUs");
    // The list says beforehand what a run on these CPUs will say.
    let listed = ran(["list", "--json", "--cpus", &one_cpu()]).succeeds().stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    for name in ["scaling", "core-to-core", "loaded-latency"] {
        let entry = listed.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap();
        assert_eq!(entry["state"], "impossible", "{entry}");
        assert!(entry["remedy"].as_str().unwrap().contains("--cpus"), "{entry}");
    }
}

/// A CPU that this process may use.
fn one_cpu() -> String {
    os::pin::allowed().and_then(|cpus| cpus.iter().next()).unwrap_or(0).to_string()
}

#[test]
fn a_file_just_too_large_is_reported_with_digits_that_show_it() {
    let folder = folder();
    let place = folder.path().join("a.json");
    File::create(&place).unwrap().set_len(67_800_001).unwrap();
    show(&place).fails(3, &["67,800,001 bytes", "67,108,864", "right file"]);
}

#[test]
fn cpus_that_may_not_be_used_are_named() {
    ran(["run", "clock", "--quick", "--cpus", "60000"]).fails(2, &["--cpus", "60000", "may only use CPUs"]);
    ran(["list", "--cpus", "60000"]).fails(2, &["60000"]);
    ran(["run", "clock", "--cpus", ""]).fails(2, &["--cpus", "empty"]);
}

#[test]
fn words_that_do_not_exist_are_reported_the_nearest_one() {
    ran(["explain", "load.latncy"]).fails(2, &["load.latncy", "did you mean load.latency?"]);
    ran(["explain", "xyzzyxyzzy"]).fails(2, &["linespeed explain"]);
}

#[test]
fn a_file_that_is_no_record_is_named_for_what_it_is() {
    let folder = folder();
    let place = folder.path().join("a.json");
    let whole = record();
    let cases: [(&[u8], &str); 9] = [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (&whole.as_bytes()[..whole.len() / 2], "truncated"),
        (&whole.as_bytes()[..whole.len() - 3], "truncated"),
        (b"T: 0 ( 1234) P:80 I:1000 C: 1 Min: 3", "is not JSON"),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "is not JSON"),
        (b"[1, 2, 3]", "not a linespeed record"),
        (b"{\"benchmarks\": []}", "not a linespeed record"),
        (b"{\"schema\": 1, \"machine\": 3}", "not a linespeed record"),
    ];
    for (content, what) in cases {
        std::fs::write(&place, content).unwrap();
        show(&place).fails(3, &["a.json", what]);
    }
    let newer = whole.replacen("\"schema\": 1", "\"schema\": 99", 1);
    std::fs::write(&place, newer).unwrap();
    show(&place).fails(3, &["a.json", "schema 99", "newer than this version"]);
    std::fs::write(&place, "[".repeat(200_000)).unwrap();
    show(&place).fails(3, &["a.json"]);
}

#[test]
fn a_file_of_a_gigabyte_is_refused_unread() {
    let folder = folder();
    let place = folder.path().join("disk.img");
    File::create(&place).unwrap().set_len(1 << 30).unwrap();
    show(&place).fails(3, &["disk.img", "1,073,741,824 bytes", "is it the right file?"]);
    // A pipe or a device does not tell its size.
    ran(["show", "/dev/zero"]).fails(3, &["/dev/zero", "exceeds the limit for records"]);
}

#[test]
fn a_record_that_is_not_there_or_not_readable_is_named() {
    let folder = folder();
    show(&folder.path().join("none.json")).fails(3, &["none.json", "No such file"]);
    show(folder.path()).fails(3, &["is a directory", "specify a record file"]);
    show(Path::new("a\nb\u{1b}[2J.json")).fails(3, &["No such file"]);
}

#[test]
fn a_record_that_only_root_may_read_is_named() {
    if !root() {
        return crate::support::skipped("a_record_that_only_root_may_read_is_named", "it needs root");
    }
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let (record, copy) = (folder.path().join("secret.json"), folder.path().join("linespeed"));
    std::fs::write(&record, self::record()).unwrap();
    std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o600)).unwrap();
    crate::support::copied_to(&copy);
    let command = crate::support::program(&copy, ["show".as_ref(), record.as_os_str()]).by_nobody();
    run(command).fails(3, &["secret.json", "Permission denied"]);
}

#[test]
fn a_record_may_come_from_standard_input() {
    let shown = run_with(linespeed(["show", "-"]), record()).succeeds();
    assert!(shown.stdout.contains("CPUs:"), "{}", shown.stdout);
    run_with(linespeed(["show", "-"]), "{").fails(3, &["truncated"]);
}
