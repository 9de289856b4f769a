//! Help, version, completions and manual pages: one definition of the command line, in every form.

use std::process::Command;

use crate::support::{folder, linespeed, ran, run, run_with};

const COMMANDS: [&str; 22] = [
    "inspect",
    "run",
    "list",
    "live",
    "show",
    "explain",
    "fix",
    "schema",
    "completions",
    "man",
    "scale",
    "stat",
    "plan",
    "quiet",
    "records",
    "overhead",
    "import",
    "check",
    "compare",
    "fleet",
    "history",
    "reference",
];

#[test]
fn help_names_the_commands_and_the_exit_codes() {
    let help = ran(["--help"]).succeeds().stdout;
    for word in COMMANDS.iter().chain(&["Exit codes: 0 done", "128+n", "--fail-on"]) {
        assert!(help.contains(word), "no {word} in:\n{help}");
    }
    assert!(ran(["--version"]).succeeds().stdout.starts_with("linespeed 0."));
    // People who want to know what to measure look here.
    let help = ran(["run", "--help"]).succeeds().stdout;
    assert!(help.contains("linespeed list"), "{help}");
    let help = ran(["--help"]).succeeds().stdout;
    for measurement in measure::MEASUREMENTS {
        assert!(help.contains(measurement.name), "no {} in:\n{help}", measurement.name);
    }
}

#[test]
fn each_help_reads_as_it_was_written() {
    for name in COMMANDS {
        let mut command = linespeed([name, "--help"]);
        command.env("COLUMNS", "80");
        insta::assert_snapshot!(format!("help-{name}"), run(command).succeeds().stdout);
    }
    let mut command = linespeed(["--help"]);
    command.env("COLUMNS", "80");
    insta::assert_snapshot!("help", run(command).succeeds().stdout);
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = ran(["completions", shell]).succeeds().stdout;
        for command in COMMANDS {
            assert!(text.contains(command), "{shell}: no {command}");
        }
    }
    let mut bash = Command::new("bash");
    bash.arg("-n");
    run_with(bash, ran(["completions", "bash"]).succeeds().stdout).succeeds();
}

#[test]
fn completions_offer_the_names_that_can_stand_in_a_place() {
    for shell in ["bash", "zsh", "fish"] {
        let text = ran(["completions", shell]).succeeds().stdout;
        // A measurement's name stands in the help of `run` too.
        for name in ["parallelism loaded-latency", "siblings-first", "sysbench-cpu", "load.latency"] {
            assert!(text.contains(name), "{shell}: no {name}");
        }
    }
    let script = ran(["completions", "bash"]).succeeds().stdout
        + "\nCOMP_WORDS=(linespeed run loaded); COMP_CWORD=2; _linespeed linespeed loaded run; echo ${COMPREPLY[*]}\
           \nCOMP_WORDS=(linespeed scale --placement node-s); COMP_CWORD=3; _linespeed linespeed node-s --placement; \
           echo ${COMPREPLY[*]}\n";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-s"]);
    assert_eq!(run_with(bash, script).stdout, "loaded-latency\nnode-spread\n");
}

#[test]
fn help_is_a_command_too() {
    let reported = ran(["help", "stat"]).succeeds().stdout;
    assert!(reported.contains("Usage: linespeed stat") && reported.contains("--perf-format"), "{reported}");
    ran(["help", "nothing"]).misused(&["'nothing'"]);
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = folder();
    let place = folder.path().join("man1");
    ran(["man".as_ref(), place.as_os_str()]).succeeds();
    let names: Vec<String> = COMMANDS.iter().map(|name| format!("linespeed-{name}.1")).collect();
    for name in names.iter().map(String::as_str).chain(["linespeed.1"]) {
        let page =
            std::fs::read_to_string(place.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".TH") && page.contains(".SH OPTIONS"), "{name}:\n{page}");
    }
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), COMMANDS.len() + 1);
    let main = std::fs::read_to_string(place.join("linespeed.1")).unwrap();
    assert_eq!(ran(["man"]).succeeds().stdout, main);
}

#[test]
fn manual_pages_into_a_file_are_refused() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    ran(["man".as_ref(), file.as_os_str()]).fails(3, &["file"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}
