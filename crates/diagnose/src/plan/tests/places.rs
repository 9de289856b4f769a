//! Tests plans based on placement checks.

use super::*;
use crate::shape::samples::{self, looks_at};
use record::shape::Contended;

/// A guest whose CPUs are at these places, although Linux reports eight cores on one node.
fn guest(threads: u32, place: impl Fn(u32, u32) -> crate::shape::samples::Place) -> Record {
    samples::record_with(many(1, 8 / threads, threads), looks_at(8, 12, place))
}

fn cpus(plan: &Plan) -> Vec<String> {
    plan.processes.iter().map(|process| process.cpus.to_string()).collect()
}

fn codes(plan: &Plan) -> Vec<&str> {
    let all = plan.cautions.iter().chain(&plan.unknown).chain(&plan.sources);
    all.flat_map(Text::sentences).filter_map(|text| text.code()).collect()
}

#[test]
fn two_threads_never_share_a_core_that_linux_hides() {
    let hidden = guest(1, |_, cpu| (0, 0, cpu / 2));
    let plan = default(&hidden);
    assert_eq!(cpus(&plan), ["0,2,4,6"]);
    assert_eq!(plan.siblings.unwrap().why.code(), Some("plan-cores-by-looks"));
    // Two processes also have separate cores.
    assert_eq!(cpus(&record_with(&hidden, 2)), ["0,2", "4,6"]);
    // A thread on each CPU is possible on request.
    let request = PlanRequest { processes: Some(1), threads: Some(8), ..PlanRequest::default() };
    assert_eq!(cpus(&super::super::plan(&hidden, &request).unwrap()), ["0-7"]);
    // Without placement checks, or if CPUs shared a core only briefly, Linux's topology is used.
    let mut unknown = hidden.clone();
    unknown.looks = None;
    assert_eq!(
        (cpus(&default(&unknown)), codes(&default(&unknown)).contains(&"plan-places-as-shown")),
        (vec!["0-7".to_owned()], true)
    );
    let visit = guest(1, |look, cpu| (0, 0, if cpu == 5 && look < 3 { 4 } else { cpu }));
    let plan = default(&visit);
    assert_eq!(cpus(&plan), ["0-7"]);
    assert!(codes(&plan).contains(&"plan-cpus-move") && codes(&plan).contains(&"plan-places"), "{plan:?}");
}

#[test]
fn measured_siblings_that_are_worth_it_are_used() {
    let mut hidden = guest(1, |_, cpu| (0, 0, cpu / 2));
    let place = Labels::new().with_label(Label::Workload, "primes").with_label(Label::Core, 0u32);
    hidden.measurements.push(measured("smt.yield", place, 1.4));
    assert_eq!(cpus(&default(&hidden)), ["0-7"]);
}

#[test]
fn told_siblings_that_are_none_count_as_cores() {
    let mut told = guest(2, |_, cpu| (0, 0, cpu));
    // Linux reports CPUs 0 and 4 as siblings, and so on.
    for look in &mut told.looks.as_mut().unwrap().looks {
        look.contended.extend((0..4).map(|cpu| Contended { pair: (cpu, cpu + 4), slowdown: 1.02 }));
    }
    let plan = default(&told);
    assert_eq!((cpus(&plan), plan.siblings.clone()), (vec!["0-7".to_owned()], None));
    assert!(codes(&plan).contains(&"plan-siblings-not-confirmed"));
    // As reported by Linux: each pair shares a core.
    let mut real = guest(2, |_, cpu| (0, 0, cpu % 4));
    assert_eq!(default(&real).siblings.unwrap().per_core, 2);
    real.looks = None;
    assert_eq!(default(&real).siblings.unwrap().per_core, 2);
}

#[test]
fn a_process_for_each_hidden_package_whatever_their_sizes() {
    let plan = default(&guest(1, |_, cpu| (u32::from(cpu > 4), 0, cpu)));
    assert_eq!(cpus(&plan), ["0-4", "5-7"]);
    assert_eq!(plan.caches.as_ref().unwrap().says.code(), Some("plan-hidden-domains"));
    assert_eq!(pasted(&plan, "taskset"), ["taskset -c 0-4 COMMAND", "taskset -c 5-7 COMMAND"]);
    assert!(
        !plan.summary.sentences().iter().any(|text| text.is(&super::super::ONE_NODE)),
        "{}",
        plan.summary
    );
    // Interleaved numbers, two CPUs per core in each domain; then fewer processes than domains.
    let odd = guest(1, |_, cpu| (cpu % 2, 0, cpu % 4));
    assert_eq!(cpus(&default(&odd)), ["0,2", "1,3"]);
    assert_eq!(record_with(&odd, 1).processes[0].cpus, "0-3".parse().unwrap());
    let halves = guest(1, |_, cpu| (cpu / 4, 0, cpu));
    assert_eq!(crate::diagnose(&halves).plan.map(|plan| plan.processes.len()), Some(2));
    // Temporary domains are ignored.
    assert_eq!(default(&guest(1, |look, cpu| (u32::from(cpu == look % 8), 0, cpu))).processes.len(), 1);
    // A cpuset within one domain is not split.
    let request = PlanRequest { cpus: Some("0-3".parse().unwrap()), ..PlanRequest::default() };
    assert_eq!(cpus(&super::super::plan(&halves, &request).unwrap()), ["0-3"]);
}

#[test]
fn a_plan_of_this_machine_has_the_looks_of_its_records() {
    let mut now = many(1, 8, 1);
    let mut older = guest(1, |_, cpu| (0, 0, cpu / 2));
    older.started = "2026-11-20T10:00:00Z".to_owned();
    older.diagnosis = crate::diagnose(&older);
    crate::merge_records(&mut now, &[("a".to_owned(), older.clone())]);
    assert_eq!(cpus(&default(&now)), ["0,2,4,6"]);
    assert!(default(&now).sources.iter().any(|says| says.value("day") == Some(&Value::from("2026-11-20"))));
    // Too few checks do not replace older ones that suffice.
    let mut few = older.clone();
    few.looks.as_mut().unwrap().looks.truncate(1);
    few.diagnosis = crate::diagnose(&few);
    let mut now = many(1, 8, 1);
    crate::merge_records(&mut now, &[("b".to_owned(), few), ("a".to_owned(), older.clone())]);
    assert_eq!(cpus(&default(&now)), ["0,2,4,6"]);
    // The checks do not apply to a different number of CPUs.
    let mut fewer = many(1, 4, 1);
    crate::merge_records(&mut fewer, &[("a".to_owned(), older)]);
    assert_eq!(fewer.diagnosis.shape, None);
}
