//! Every claim of the documents has an answer from its results.

mod document;
mod expression;
mod judge;
mod quantity;

use std::collections::BTreeMap;

use judge::{Inapplicable, Judge};
use reference::claims::{Gap, JudgedClaim, Verdict};

/// The verdict of the documents' review on each claim, and that of the results.
const REVIEW: &str = include_str!("review.txt");

/// The shipped verdicts.
fn answers() -> BTreeMap<String, JudgedClaim> {
    let all = reference::claims::all().unwrap_or_else(|why| panic!("{why}"));
    let (count, answers) =
        (all.len(), all.into_iter().map(|one| (one.id.clone(), one)).collect::<BTreeMap<_, _>>());
    assert_eq!(answers.len(), count, "two claims have one name");
    answers
}

/// `RENEW_VERDICTS=1 cargo test -p linespeed-reference verdicts` rewrites the file.
#[test]
fn the_verdicts_that_ship_are_what_the_rules_make_of_the_figures() {
    let judge = Judge::new("0");
    let claims = document::all().unwrap_or_else(|why| panic!("{why}"));
    let line = |claim| {
        let answer = judge.judge(claim).unwrap_or_else(|why| panic!("{claim}: {why}"));
        serde_json::to_string(&answer).unwrap()
    };
    let text = format!("[\n{}\n]\n", claims.iter().map(line).collect::<Vec<_>>().join(",\n"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/claims/verdicts.json");
    if std::env::var_os("RENEW_VERDICTS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == text,
        "RENEW_VERDICTS=1 cargo test -p linespeed-reference verdicts"
    );
}

fn code(verdict: Verdict) -> String {
    serde_json::to_value(verdict).unwrap().as_str().unwrap().to_owned()
}

/// Whether a verdict agrees with the review.
fn agrees(found: &str, verdict: &str) -> bool {
    match found {
        "R" => verdict == "holds",
        "r" => verdict != "does-not-hold",
        "p" => verdict == "in-part",
        "X" => verdict != "holds",
        "x" => verdict == "does-not-hold",
        _ => true,
    }
}

#[test]
fn each_of_110_claims_is_answered_as_the_review_found_or_says_why_not() {
    let answers = answers();
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    let mut reviewed = 0;
    for line in REVIEW.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (id, found, wanted, why) = (word(), word(), word(), word());
        let answer = answers.get(id).unwrap_or_else(|| panic!("{id} has no answer"));
        assert_eq!(code(answer.verdict), wanted, "{id}: {:#?}", answer.compared);
        assert_eq!(agrees(found, wanted), why.is_empty(), "{id}: {found} against {wanted}: {why}");
        if !why.is_empty() {
            println!("{id}: {wanted}, the review {found}: {why}");
        }
        *counts.entry(answer.verdict).or_default() += 1;
        reviewed += 1;
    }
    println!("{reviewed} claims: {counts:?}");
    assert_eq!((reviewed, answers.len()), (110, 110));
}

#[test]
fn what_does_not_hold_is_off_by_what_the_figures_say() {
    let answers = answers();
    let found = |id: &str, met: bool| -> Vec<&Gap> {
        answers[id].compared.iter().filter(|gap| gap.met == met).collect()
    };
    let rounded = |gaps: Vec<&Gap>| -> Vec<f64> {
        gaps.iter().map(|gap| (gap.found * 100.0).round() / 100.0).collect()
    };
    let off = |id: &str| {
        assert!(matches!(answers[id].verdict, Verdict::DoesNotHold | Verdict::InPart), "{id}");
        let gaps = found(id, false);
        let unit = gaps[0].unit.as_str();
        (rounded(gaps), unit)
    };
    assert_eq!(off("A7"), (vec![112.77], "%"));
    assert_eq!(off("A12"), (vec![7.0], "MiB"));
    assert_eq!(off("A13"), (vec![1.64], "x"));
    assert_eq!(off("A18"), (vec![3.06, 2.28], "x"));
    assert_eq!(off("B27"), (vec![34.37, 35.58, 53.41, 52.28], "%"));
    assert_eq!(off("B35"), (vec![94.43, 100.0], "%"));
    assert_eq!(off("B39"), (vec![61.8], "%"));
    assert_eq!(off("D13"), (vec![6.63], "%"));
    assert_eq!(off("E7"), (vec![12.0], "%"));
    assert_eq!(off("E10"), (vec![28.89], "%"));
    assert_eq!(off("B29"), (vec![34.77], "%"));
    assert_eq!(off("D7"), (vec![14.11], "%"));
    assert_eq!(off("E20"), (vec![1.96], "x"));
    // For the other processors and the other load the claim is right.
    assert_eq!(rounded(found("B27", true)), [72.12, 76.53]);
    assert_eq!(rounded(found("B39", true)), [4.05]);
    assert_eq!(rounded(found("E20", true)), [3.6]);
    assert_eq!((found("D13", false)[0].claimed * 100.0).round() / 100.0, 10.83);
}

#[test]
fn each_figure_of_a_verdict_says_where_it_stood() {
    for (id, answer) in answers() {
        assert!(!answer.machines.is_empty(), "{id}");
        let about = answer.machines.iter().all(|name| reference::find(name).is_some());
        assert!(about, "{id}: {:?}", answer.machines);
        let placed = answer.evidence.iter().all(|figure| {
            figure.line.is_some()
                || figure.figure.contains(":machine.")
                || figure.figure.ends_with(":load.average")
        });
        assert!(placed, "{id}: {:#?}", answer.evidence);
        assert!(!answer.evidence.is_empty() || answer.verdict == Verdict::CannotTell, "{id}");
    }
}

/// The verdict on a claim with this rule.
fn judged(rule: &str) -> Result<Verdict, Inapplicable> {
    let head = "document = 'd'\n[[claim]]\nid = 'T1'\nmachines = ['cloud-server-1']\nsays = 's'\n";
    let claims = document::read(&format!("{head}{rule}")).unwrap_or_else(|why| panic!("{why}"));
    Judge::new("0").judge(&claims[0]).map(|answer| answer.verdict)
}

#[test]
fn a_claim_that_its_figures_decide_may_not_say_that_they_cannot_tell() {
    let there = judged("needs = ['cloud-server-1:wakeup.average']");
    assert!(matches!(there, Err(Inapplicable::Answerable(_))), "{there:?}");
    let missing = judged("needs = ['cloud-server-1:core.ipc']");
    assert!(matches!(missing, Ok(Verdict::CannotTell)), "{missing:?}");
    // A refuted condition decides, whatever else is missing.
    let refuted =
        judged("holds_if = ['cloud-server-1:wakeup.average < 1 us']\nneeds = ['cloud-server-1:core.ipc']");
    assert!(matches!(refuted, Ok(Verdict::DoesNotHold)), "{refuted:?}");
}

#[test]
fn a_rule_that_no_figure_can_meet_is_refused() {
    let rules = [
        "holds_if = ['cloud-server-9:wakeup.average = 1 us']",
        "holds_if = ['cloud-server-1:wakeup.mean = 1 us']",
        "holds_if = ['cloud-server-1:wakeup.average{nowhere=1} = 1 us']",
        "holds_if = ['cloud-server-1:wakeup.average = 1 MiB']",
        "holds_if = ['cloud-server-1:wakeup.average / 0 = 1 us']",
        "holds_if = ['cloud-server-1:machine.architecture = 1']",
        "holds_if = ['hygon-5280:load.latency = 100 ns']",
    ];
    for rule in rules {
        assert!(judged(rule).is_err(), "{rule}: {:?}", judged(rule));
    }
}

#[test]
fn an_equal_figure_is_one_that_the_claims_own_digits_cannot_tell_apart() {
    for (claimed, holds) in [("11 us", true), ("11.0 us", true), ("10.6 us", false), ("11000 ns", true)] {
        let verdict = judged(&format!("holds_if = ['cloud-server-1:wakeup.average = {claimed}']"));
        assert_eq!(verdict == Ok(Verdict::Holds), holds, "{claimed}: {verdict:?}");
    }
}
