//! Help, version, completions and manual pages: one definition of the command line, in every form.

use std::process::Command;

use crate::support::{folder, ran, run_with};

const COMMANDS: [&str; 10] =
    ["inspect", "run", "list", "show", "explain", "schema", "completions", "man", "scale", "stat"];

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
        assert!(help.contains(measurement.name()), "no {} in:\n{help}", measurement.name());
    }
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
