//! `linespeed quiet --prove`: what is compared, what not and why, and runs that cannot be compared.

use serde_json::Value;

use crate::support::{emulated, ran, skipped};

fn proven(args: &[&str]) -> Value {
    let all = ["quiet", "--prove", "--json", "-q"].into_iter().chain(args.iter().copied());
    serde_json::from_str(&ran(all).succeeds().stdout).expect("the proof is JSON")
}

fn names<'a>(proof: &'a Value, list: &str, key: &str) -> Vec<&'a str> {
    proof[list].as_array().unwrap().iter().map(|row| row[key].as_str().unwrap()).collect()
}

#[test]
fn each_of_the_four_comparisons_is_made_or_said_why_not() {
    if emulated() {
        return skipped("each_of_the_four_comparisons_is_made_or_said_why_not", "times of an emulator");
    }
    let proof = proven(&["--", "true"]);
    let mut reported = names(&proof, "compared", "comparison");
    reported.extend(names(&proof, "not_compared", "comparison"));
    for (words, what) in [
        (["boost", "boost"], "boost"),
        (["unpinned", "affinity"], "affinity"),
        (["nice", "nice"], "priority"),
        (["cold", "cold"], "the page cache"),
    ] {
        let found = reported.iter().any(|name| words.iter().any(|word| name.contains(word)));
        assert!(found, "nothing of {what} in {reported:?}");
    }
    for row in proof["compared"].as_array().unwrap() {
        let (rounds, samples) = (row["rounds"].as_u64().unwrap(), row["samples"].as_array().unwrap().len());
        assert_eq!(rounds as usize, samples, "{row}");
        assert!(row["verdict"]["verdict"].is_string(), "{row}");
    }
}

#[test]
fn a_file_that_the_command_reads_is_cold_without_root_or_it_is_said_why_not() {
    if emulated() {
        return skipped(
            "a_file_that_the_command_reads_is_cold_without_root_or_it_is_said_why_not",
            "times of an emulator",
        );
    }
    let folder = crate::support::folder();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![7u8; 1 << 20]).unwrap();
    let proof = proven(&["--", "cat", file.to_str().unwrap()]);
    let mut reported = names(&proof, "compared", "comparison");
    reported.extend(names(&proof, "not_compared", "comparison"));
    assert!(reported.iter().any(|name| name.contains("cold cache")), "{reported:?}");
    if reported.contains(&"cold cache of its files, then warm") {
        let remarks = proof["remarks"].to_string();
        assert!(remarks.contains("dropped from the page cache"), "{remarks}");
    }
    // The floor stands beside each figure, and the command against itself is never said to differ.
    for row in proof["compared"].as_array().unwrap() {
        assert!(row.get("floor").is_some(), "{row}");
        if row["comparison"] == "as it is, twice" {
            assert_ne!(row["verdict"]["verdict"], "costs", "{row}");
        }
    }
    // What the audit says can be proven can be, but where a sandbox or a limit forbids it.
    let few = proven(&["--rounds", "2", "ionice", "aslr", "fifo", "--", "true"]);
    let mut reported = names(&few, "compared", "comparison");
    reported.extend(names(&few, "not_compared", "comparison"));
    for knob in ["ionice", "aslr", "fifo"] {
        assert!(reported.iter().any(|name| name.starts_with(knob)), "{knob}: {reported:?}");
    }
    assert!(!few.to_string().contains("only for a command"), "{few}");
    ran(["quiet", "--rounds", "8"]).misused(&["--prove"]);
}

#[test]
fn a_command_that_fails_or_is_missing_is_reported_before_anything_is_compared() {
    ran(["quiet", "--prove", "--", "sh", "-c", "exit 4"]).fails(3, &["exited with code 4"]);
    ran(["quiet", "--prove", "--", "no-such-program-anywhere"]).fails(127, &["not found"]);
    ran(["quiet", "--prove", "--apply"]).misused(&["--apply"]);
    ran(["quiet", "--prove", "no-such-knob"]).fails(2, &["no-such-knob"]);
}

#[test]
fn with_nothing_to_turn_the_machine_is_compared_with_itself() {
    if emulated() {
        return skipped("with_nothing_to_turn_the_machine_is_compared_with_itself", "times of an emulator");
    }
    // No program switches a power supply.
    let proof = proven(&["--rounds", "2", "power"]);
    let compared = names(&proof, "compared", "turned");
    assert!(!compared.is_empty() && compared.iter().all(|name| *name == "nothing"), "{compared:?}");
    assert_eq!(names(&proof, "not_compared", "turned"), ["power"]);
}
