//! How whole plans read on a terminal of 80 columns.

use record::plan::Verification;
use record::{CpuList, Mark, Record};
use report::terminal::{self, Style};

use crate::support::{self, Shape};

/// Two nodes of 16 CPUs, each with two last-level caches.
fn two_nodes() -> Record {
    support::full(Shape { packages: 2, nodes: 2, cores: 16, siblings: 2, l3_cores: 4 })
}

/// One node of 8 cores without siblings.
fn one_node() -> Record {
    support::full(Shape { packages: 1, nodes: 1, cores: 8, siblings: 1, l3_cores: 8 })
}

/// The plan as it is printed.
fn planned(record: &Record, request: &diagnose::PlanRequest) -> String {
    let plan = diagnose::plan(record, request).unwrap();
    terminal::Screen::draw(&Style::default(), |screen| terminal::plan(screen, &plan, true))
}

#[test]
fn two_nodes_without_figures_of_remote_memory() {
    insta::assert_snapshot!(planned(&two_nodes(), &diagnose::PlanRequest::default()));
}

#[test]
fn four_nodes_of_which_one_has_memory_alone() {
    let mut record = support::named("nodes-4").unwrap();
    let idle = std::mem::replace(&mut record.machine.nodes[3].cpus, CpuList::new());
    record.machine.cpus.retain(|cpu| !idle.contains(cpu.id));
    record.conditions.before.numa_balancing = Some(1);
    insta::assert_snapshot!(planned(&record, &diagnose::PlanRequest::default()));
}

#[test]
fn cores_of_two_kinds() {
    let mut record = one_node();
    for cpu in &mut record.machine.cpus {
        let fast = cpu.id < 4;
        cpu.kind = Some(if fast { "performance" } else { "efficiency" }.to_owned());
        cpu.max_hz = Some(if fast { 5_000_000_000 } else { 3_000_000_000 });
    }
    insta::assert_snapshot!(planned(&record, &diagnose::PlanRequest::default()));
}

#[test]
fn a_quota_below_the_cpus() {
    let mut record = one_node();
    record.machine.limits.cpu_quota = Some(2.5);
    record.machine.kernel.isolated = "6-7".parse().unwrap();
    insta::assert_snapshot!(planned(&record, &diagnose::PlanRequest::default()));
}

#[test]
fn a_plan_that_was_verified() {
    let record = support::named("nodes-4").unwrap();
    let mut plan = diagnose::plan(&record, &diagnose::PlanRequest::default()).unwrap();
    let mut verified = Verification {
        planned: vec![1.0, 1.02, 0.98, 1.0, 1.01, 0.99],
        unbound: vec![1.4, 1.42, 1.38, 1.4, 1.41, 1.39],
        how: "4 processes, each bound to its CPUs and memory.".into(),
        marks: vec![(Mark::Switched, 2)],
        ..Verification::default()
    };
    diagnose::judge_verification(&mut verified, &plan, |round| round.is_multiple_of(2));
    plan.verification = Some(verified);
    let text = terminal::Screen::draw(&Style::default(), |screen| terminal::plan(screen, &plan, true));
    let (_, verified) = text.split_once("Verified\n").unwrap();
    insta::assert_snapshot!(verified.split_once("\nWhy").unwrap().0);
}
