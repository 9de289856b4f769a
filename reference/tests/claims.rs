//! Every claim of the documents has an answer that its figures give.

use std::collections::BTreeMap;

use reference::judge::{Answer, Gap, Inapplicable, Judge, Verdict};

/// What the review of the documents found of each claim, and what the figures say.
const REVIEW: &str = include_str!("verdicts.txt");

fn answers() -> BTreeMap<String, Answer> {
    let claims = reference::claims::all().unwrap_or_else(|why| panic!("{why}"));
    let judge = Judge::new("0");
    let all = claims.iter().map(|claim| {
        let answer = judge.judge(claim).unwrap_or_else(|why| panic!("{claim}: {why}"));
        (claim.id.clone(), answer)
    });
    let (count, answers) = (all.len(), all.collect::<BTreeMap<String, Answer>>());
    assert_eq!(answers.len(), count, "two claims have one name");
    answers
}

/// Whether a verdict is what the review found.
fn agrees(found: &str, verdict: &str) -> bool {
    match found {
        "R" => verdict == "holds",
        "r" => verdict != "does-not-hold",
        "X" => verdict != "holds",
        "x" => verdict == "does-not-hold",
        _ => true,
    }
}

#[test]
fn each_of_110_claims_is_answered_as_the_review_found_or_says_why_not() {
    let answers = answers();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut reviewed = 0;
    for line in REVIEW.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (id, found, wanted, why) = (word(), word(), word(), word());
        let answer = answers.get(id).unwrap_or_else(|| panic!("{id} has no answer"));
        assert_eq!(answer.verdict.code(), wanted, "{id}: {:#?}", answer.compared);
        assert_eq!(agrees(found, wanted), why.is_empty(), "{id}: {found} against {wanted}: {why}");
        if !why.is_empty() {
            println!("{id}: {wanted}, the review {found}: {why}");
        }
        *counts.entry(answer.verdict.code()).or_default() += 1;
        reviewed += 1;
    }
    println!("{reviewed} claims: {counts:?}");
    assert_eq!((reviewed, answers.len()), (110, 110));
}

#[test]
fn what_does_not_hold_is_off_by_what_the_figures_say() {
    let answers = answers();
    let rounded =
        |gaps: &[Gap]| -> Vec<f64> { gaps.iter().map(|gap| (gap.found * 100.0).round() / 100.0).collect() };
    let off = |id: &str| match &answers[id].verdict {
        Verdict::DoesNotHold(gaps) => (rounded(gaps), gaps[0].unit),
        other => panic!("{id}: {other:?}"),
    };
    assert_eq!(off("A7"), (vec![112.77], "%"));
    assert_eq!(off("A12"), (vec![7.0], "MiB"));
    assert_eq!(off("A13"), (vec![1.64], "x"));
    assert_eq!(off("A18"), (vec![3.06, 2.28], "x"));
    assert_eq!(off("B17"), (vec![3.15], "GHz"));
    assert_eq!(off("B27"), (vec![34.37, 35.58, 53.41, 52.28], "%"));
    assert_eq!(off("B35"), (vec![94.43, 100.0, 86.86], "%"));
    assert_eq!(off("B39"), (vec![61.8], "%"));
    assert_eq!(off("D13"), (vec![6.63], "%"));
    assert_eq!(off("E7"), (vec![12.0], "%"));
    assert_eq!(off("E10"), (vec![28.89], "%"));
    // Of the other processors and the other load the claim is right.
    assert_eq!(rounded(&answers["B27"].compared)[4..], [72.12, 76.53]);
    assert_eq!(rounded(&answers["B39"].compared)[..1], [4.05]);
    let Verdict::DoesNotHold(gaps) = &answers["D13"].verdict else { panic!() };
    assert_eq!((gaps[0].claimed * 100.0).round() / 100.0, 10.83);
}

#[test]
fn each_figure_of_a_verdict_says_where_it_stood() {
    for (id, answer) in answers() {
        assert!(!answer.claim.machines.is_empty(), "{id}");
        let about = answer.claim.machines.iter().all(|name| reference::find(name).is_some());
        assert!(about, "{id}: {:?}", answer.claim.machines);
        let placed = answer
            .evidence
            .iter()
            .all(|figure| figure.line.is_some() || figure.atom.path.starts_with("machine."));
        assert!(placed, "{id}: {:#?}", answer.evidence);
        assert!(!answer.evidence.is_empty() || matches!(answer.verdict, Verdict::CannotTell { .. }), "{id}");
    }
}

/// What is said of a claim with this rule.
fn judged(rule: &str) -> Result<Verdict, Inapplicable> {
    let head = "document = 'd'\n[[claim]]\nid = 'T1'\nmachines = ['cloud-server-1']\nsays = 's'\n";
    let claims = reference::claims::read(&format!("{head}{rule}")).unwrap_or_else(|why| panic!("{why}"));
    Judge::new("0").judge(&claims[0]).map(|answer| answer.verdict)
}

#[test]
fn a_claim_that_its_figures_decide_may_not_say_that_they_cannot_tell() {
    let there = judged("needs = ['cloud-server-1:wakeup.average']");
    assert!(matches!(there, Err(Inapplicable::Answerable(_))), "{there:?}");
    let missing = judged("needs = ['cloud-server-1:core.ipc']");
    assert!(matches!(missing, Ok(Verdict::CannotTell { .. })), "{missing:?}");
    // A refuted condition decides, whatever else is missing.
    let refuted =
        judged("holds_if = ['cloud-server-1:wakeup.average < 1 us']\nneeds = ['cloud-server-1:core.ipc']");
    assert!(matches!(refuted, Ok(Verdict::DoesNotHold(_))), "{refuted:?}");
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
