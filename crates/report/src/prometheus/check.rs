//! A machine compared with its baseline.

use record::check::{Check, Outcome};
use record::date;

use super::Exposition;

/// The outcome of a check; `time` is the time of the check, in the format of records.
pub fn check(check: &Check, time: &str) -> String {
    let mut text = Exposition::default();
    let known = check.outcome != Outcome::OtherClass;
    text.one("check_timestamp_seconds", date::seconds(time).map(|s| s as f64));
    text.one("check_comparable", f64::from(u8::from(known)));
    let off = check.facts.iter().map(|fact| (fact.code.trim_start_matches("comparison-fact-"), 1.0));
    text.add("check_fact_off", "fact", off);
    let count = |count: usize| known.then_some(count as f64);
    text.one("check_facts_off", count(check.facts.len()));
    text.one("check_facts_not_seen", count(check.not_seen.len()));
    let figures = || check.figures.iter().filter(|figure| figure.doubt.is_none());
    text.add("check_speed_ratio", "figure", figures().map(|figure| (&figure.what, figure.speed)));
    let slow = figures().filter(|figure| figure.slow).count();
    text.one("check_figures_slow", count(slow));
    text.text()
}
