//! Help, version, completions and manual pages: one definition of the command line, in every form.

use std::process::Command;

use crate::support::{folder, linespeed, ran, run, run_with};

/// Commands that help names.
const COMMANDS: [&str; 18] = [
    "inspect",
    "run",
    "live",
    "overhead",
    "stat",
    "scale",
    "plan",
    "compare",
    "history",
    "fleet",
    "check",
    "fix",
    "quiet",
    "show",
    "records",
    "import",
    "reference",
    "explain",
];
/// Commands that help leaves out.
const HIDDEN: [&str; 5] = ["list", "schema", "completions", "man", "options"];

fn all_commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.into_iter().chain(HIDDEN)
}

/// A command's help on a terminal of 80 columns.
fn help(args: &[&str]) -> String {
    let mut command = linespeed(args);
    command.env("COLUMNS", "80");
    run(command).succeeds().stdout
}

#[test]
fn help_fits_one_screen_and_names_what_people_look_for() {
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let help = help(args);
        assert!(help.trim().lines().count() <= 25, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        for name in COMMANDS {
            assert!(help.contains(&format!(" {name} ")), "no {name} in:\n{help}");
        }
    }
    assert!(ran(["--version"]).succeeds().stdout.starts_with("linespeed 0."));
    // People who want to know what to measure look here.
    let help = ran(["run", "--help"]).succeeds().stdout;
    for name in measure::MEASUREMENTS.iter().map(|one| one.name).chain(["linespeed list"]) {
        assert!(help.contains(name), "no {name} in:\n{help}");
    }
    let options = ran(["help", "options"]).succeeds().stdout;
    assert_eq!(ran(["options"]).succeeds().stdout, options);
    for word in ["--fail-on", "--json", "--label", "--color", "--quick", "-o, --output"] {
        assert!(options.contains(word), "no {word} in:\n{options}");
    }
}

#[test]
fn short_help_has_a_line_for_each_option_and_examples_that_fit() {
    for name in all_commands() {
        let help = help(&[name, "-h"]);
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let (_, options) = help.split_once("\nOptions:\n").unwrap_or_else(|| panic!("{help}"));
        for line in options.split("\n\n").next().unwrap().lines() {
            assert!(line.trim_start().starts_with('-'), "{name}: {line}\n{help}");
        }
        assert!(name == "options" || help.contains("\nExamples:\n  "), "{help}");
    }
}

#[test]
fn each_help_reads_as_it_was_written() {
    for name in all_commands() {
        insta::assert_snapshot!(format!("help-{name}"), help(&[name, "--help"]));
    }
    insta::assert_snapshot!("help", help(&["--help"]));
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = ran(["completions", shell]).succeeds().stdout;
        for command in all_commands() {
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
    let names: Vec<String> = all_commands().map(|name| format!("linespeed-{name}.1")).collect();
    for name in names.iter().map(String::as_str).chain(["linespeed.1"]) {
        let page =
            std::fs::read_to_string(place.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for heading in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "FILES", "ENVIRONMENT", "SEE ALSO"]
        {
            let heading =
                if heading.contains(' ') { format!(".SH \"{heading}\"") } else { format!(".SH {heading}\n") };
            assert!(page.contains(&heading), "{name}: {heading}\n{page}");
        }
    }
    // Every page that another refers to is there.
    let pages: Vec<String> = std::fs::read_dir(&place)
        .unwrap()
        .map(|page| {
            std::fs::read_to_string(page.unwrap().path()).unwrap().replace("\\-", "-").replace("\\fB", "")
        })
        .collect();
    for reference in pages.iter().flat_map(|page| page.match_indices("(1)").map(move |(at, _)| &page[..at])) {
        let name = reference.rsplit([' ', '\n', ',']).next().unwrap();
        assert!(place.join(format!("{name}.1")).exists(), "{name}");
    }
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
