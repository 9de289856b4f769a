//! Snapshots of the wording of some findings of each kind. For all other findings, tests check only the codes and
//! values.

use insta::assert_snapshot;
use record::diagnosis::Finding;
use record::{Record, Verdict, units};

use super::invariants::found;
use super::*;
use crate::samples::{add_wakeups, machine, nodes, stolen};

/// The report's lines for the first finding of a rule.
fn read(record: &Record, rule: Rule) -> String {
    let Finding { severity, what, place, evidence, loss, remedy, undo, .. } = found(record, rule).remove(0);
    let mut lines = vec![format!("{severity:?}: {what}")];
    lines.extend(place.map(|place| format!("where: {place}")));
    lines.extend(evidence.iter().map(|seen| format!("- {} ({})", seen.says, seen.from)));
    lines.push(match loss {
        Verdict::Costs { share, .. } => format!("costs {}", units::percent(share)),
        Verdict::NotMeasurable { reason } => format!("cost unknown: {reason}"),
        other => format!("{other:?}"),
    });
    lines.extend(remedy.iter().map(|line| format!("> {line}")));
    lines.extend(undo.iter().map(|line| format!("< {line}")));
    lines.join("\n")
}

#[test]
fn timer_slack_and_idle_states() {
    let mut record = machine(2);
    for (policy, [as_is, tuned]) in [("other", [1021e3, 21e3]), ("fifo", [40e3, 20e3])] {
        add_wakeups(&mut record, policy, "as-is", [as_is; 2]);
        add_wakeups(&mut record, policy, "tuned", [tuned; 2]);
    }
    record.measurements.iter_mut().for_each(|m| m.detail.set(record::detail::TIMER_SLACK_NS, 1e6));
    assert_snapshot!(read(&record, timer_slack::RULE));
}

#[test]
fn time_taken_by_the_hypervisor() {
    let mut record = stolen("below", [0.05, 0.02]);
    record.machine.virtualization.hypervisor = Some("kvm".to_owned());
    record.conditions.after = Some(record::Snapshot { steal_share: Some(0.03), ..Default::default() });
    assert_snapshot!(read(&record, stolen_by_hypervisor::RULE));
}

#[test]
fn time_taken_by_other_tasks() {
    assert_snapshot!(read(&stolen("os", [0.0005, 0.5]), taken_by_kernel::RULE));
}

#[test]
fn nodes_that_are_ignored() {
    let record = nodes(4, |a, b| if a == b { 10 } else { 21 }, |a, b| if a == b { 100.0 } else { 150.0 });
    assert_snapshot!(read(&record, numa_latency::RULE));
}

#[test]
fn siblings_that_are_off() {
    let mut record = machine(8);
    for cpu in &mut record.machine.cpus[4..] {
        cpu.online = false;
    }
    record.machine.counts.cpus_online = Some(4);
    record.conditions.before.smt = Some("off".to_owned());
    assert_snapshot!(read(&record, offline_cpus::RULE));
}

#[test]
fn other_work_during_the_run() {
    let mut record = machine(4);
    record.conditions.before.load = Some([2.0, 0.0, 0.0]);
    record.measurements.push(crate::samples::measured("cost.syscall", record::Labels::new(), 100.0));
    crate::samples::ran(&mut record, 20.0, 10.0);
    assert_snapshot!(read(&record, other_load::RULE));
}
