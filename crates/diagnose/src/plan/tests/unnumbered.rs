//! Tests machines whose records have the number of CPUs per core but not each CPU's core (other tools' output).

use record::Record;
use record::plan::Plan;

use super::{PlanRequest, default, many, plan, says, value};

/// A machine as shown by lscpu: `nodes` nodes with `cores` cores of two CPUs each.
fn lists(nodes: u32, cores: u32) -> Record {
    let mut record = many(nodes, cores, 2);
    for cpu in &mut record.machine.cpus {
        (cpu.core, cpu.package) = (None, None);
        cpu.siblings = Default::default();
    }
    record
}

fn plan_for(record: &Record, processes: u32, threads: u32) -> Plan {
    let request =
        PlanRequest { processes: Some(processes), threads: Some(threads), ..PlanRequest::default() };
    plan(record, &request).unwrap()
}

fn cpus(plan: &Plan) -> Vec<String> {
    plan.processes.iter().map(|process| process.cpus.to_string()).collect()
}

#[test]
fn processes_are_laid_out_on_cores_as_where_siblings_are_reported() {
    // Hygon 5280 and Xeon E5-2682, with the layouts that follow from their siblings.
    let hygon = plan_for(&lists(4, 8), 8, 4);
    assert_eq!(cpus(&hygon), ["0-3", "4-7", "8-11", "12-15", "16-19", "20-23", "24-27", "28-31"]);
    let xeon = plan_for(&lists(2, 16), 4, 8);
    assert_eq!(cpus(&xeon), ["0-7", "8-15", "16-23", "24-31"]);
    let assumed = |name| value(&xeon.cautions, "plan-siblings-assumed", name).to_string();
    assert_eq!((assumed("cpus").as_str(), assumed("here").as_str()), ("n and n+32", "0,32"));
    assert!(assumed("command").ends_with("cpu0/topology/thread_siblings_list"), "{:?}", xeon.cautions);
    for (nodes, cores, processes, threads) in [(4, 8, 8, 4), (2, 16, 4, 8), (2, 16, 4, 12), (2, 4, 16, 1)] {
        let reported = plan_for(&many(nodes, cores, 2), processes, threads);
        let assumed = plan_for(&lists(nodes, cores), processes, threads);
        assert_eq!((&reported.processes, &reported.snippets), (&assumed.processes, &assumed.snippets));
        assert!(!names_siblings(&reported), "{:?}", reported.cautions);
    }
}

#[test]
fn some_of_the_cpus_are_numbered_as_all_are() {
    let request =
        PlanRequest { cpus: Some("2-5,34-37".parse().unwrap()), processes: Some(2), threads: Some(2) };
    assert_eq!(cpus(&plan(&lists(2, 16), &request).unwrap()), ["2-3", "4-5"]);
}

#[test]
fn one_range_says_nothing_of_siblings() {
    let one = lists(1, 8);
    let two = plan_for(&one, 2, 4);
    assert_eq!(cpus(&two), ["0-3", "8-11"]);
    assert!(says(&two.cautions, "plan-siblings-unknown") && two.siblings.is_none(), "{two:?}");
    // All CPUs include all cores, whichever CPUs form a core.
    assert!(!names_siblings(&default(&one)), "{:?}", default(&one).cautions);
}

/// Whether a caution is about unknown siblings.
fn names_siblings(plan: &Plan) -> bool {
    says(&plan.cautions, "plan-siblings-assumed") || says(&plan.cautions, "plan-siblings-unknown")
}
