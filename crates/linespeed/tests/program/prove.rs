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
    let mut told = names(&proof, "compared", "comparison");
    told.extend(names(&proof, "not_compared", "comparison"));
    for (words, what) in [
        (["boost", "boost"], "boost"),
        (["unbound", "affinity"], "affinity"),
        (["nice", "nice"], "priority"),
        (["cold", "cold"], "the page cache"),
    ] {
        let found = told.iter().any(|name| words.iter().any(|word| name.contains(word)));
        assert!(found, "nothing of {what} in {told:?}");
    }
    for row in proof["compared"].as_array().unwrap() {
        let (rounds, samples) = (row["rounds"].as_u64().unwrap(), row["samples"].as_array().unwrap().len());
        assert_eq!(rounds as usize, samples, "{row}");
        assert!(row["verdict"]["verdict"].is_string(), "{row}");
    }
}

#[test]
fn a_command_that_fails_or_is_missing_is_told_before_anything_is_compared() {
    ran(["quiet", "--prove", "--", "sh", "-c", "exit 4"]).fails(3, &["ended with code 4"]);
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
    let proof = proven(&["power"]);
    let compared = names(&proof, "compared", "turned");
    assert!(!compared.is_empty() && compared.iter().all(|name| *name == "nothing"), "{compared:?}");
    assert_eq!(names(&proof, "not_compared", "turned"), ["power"]);
}
