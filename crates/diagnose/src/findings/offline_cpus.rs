//! CPUs that are there but switched off.

use record::diagnosis::{Finding, Severity};
use record::statistics::Verdict;
use record::{CpuList, Remedy, Template, text};

use super::needs::Need;
use super::{Case, Rule, by_model};
use crate::figures::{cite_fact, cpus_text, modelled, write_command, write_for_cpus};

/// CPUs present that are not online.
pub(super) const RULE: Rule = Rule {
    name: "offline-cpus",
    glossary: "
        CPUs that are present are switched off, one by one or as siblings by SMT control.
        How: Modelled: the share of CPUs; for siblings not at all, since their yield depends on the program.
    ",
    resource: None,
    needs: &[Need {
        what: Template { code: "needs-cpus-present", words: "counts of CPUs present and online" },
        is_met: |case| {
            let counts = &case.record.machine.counts;
            counts.cpus_present.is_some() && counts.cpus_online.is_some()
        },
    }],
    find: |case| find(case).into_iter().collect(),
};

const SMT: &str = "/sys/devices/system/cpu/smt/control";

fn find(case: &Case) -> Option<Finding> {
    let counts = &case.record.machine.counts;
    let (present, online) = (counts.cpus_present?, counts.cpus_online?);
    let off: CpuList = case.record.machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    let share = modelled(1.0 - f64::from(online) / f64::from(present.max(1)))?;
    let mut seen = vec![cite_fact(
        text!("offline-cpus-online", "CPUs online: {online} of {present}", online, present),
        "machine.counts.cpus_online and .cpus_present",
    )];
    let smt = case.record.conditions.before.smt.as_deref();
    let siblings_off = matches!(smt, Some("off" | "forceoff"));
    let (loss, severity, remedy, undo) = if siblings_off {
        let setting = smt.unwrap_or("off").to_owned();
        seen.push(cite_fact(
            text!("offline-cpus-smt", "SMT control: {setting}", setting),
            "conditions.before.smt",
        ));
        let reason = text!(
            "offline-cpus-sibling-adds",
            "a second SMT sibling adds 0 to 75 % of a core, depending on the program"
        );
        let remedy = match smt {
            Some("forceoff") => Remedy::advice(text!(
                "offline-cpus-enable-smt",
                "boot without nosmt=force, or enable SMT in the firmware"
            )),
            _ => Remedy::command(write_command("on", SMT)),
        };
        let undo = (smt == Some("off")).then(|| Remedy::command(write_command("off", SMT)));
        (Verdict::NotMeasurable { reason }, Severity::Note, vec![remedy], undo.into_iter().collect())
    } else {
        let (remedy, undo) = if off.is_empty() {
            (
                vec![Remedy::both(
                    text!("offline-cpus-each", "each CPU listed in /sys/devices/system/cpu/offline"),
                    "sudo chcpu -e LIST",
                )],
                vec![Remedy::command("sudo chcpu -d LIST")],
            )
        } else {
            (vec![write_for_cpus("1", &off, "online")], vec![write_for_cpus("0", &off, "online")])
        };
        (share.clone(), crate::figures::severity(&share), remedy, undo)
    };
    let without = present.saturating_sub(online);
    let what = if siblings_off {
        text!("offline-cpus-siblings", "SMT is off: {without} of {present} CPUs offline", without, present)
    } else {
        text!("offline-cpus-offline", "{without} of {present} CPUs offline", without, present)
    };
    Some(Finding {
        severity,
        place: cpus_text(&off).map(Into::into),
        evidence: seen,
        remedy,
        undo,
        ..by_model(&RULE, loss, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    fn record_with(offline: u32) -> record::Record {
        let mut record = machine(8);
        for cpu in record.machine.cpus.iter_mut().rev().take(offline as usize) {
            cpu.online = false;
        }
        record.machine.counts.cpus_online = Some(8 - offline);
        record
    }

    #[test]
    fn offline_cpus_are_found_with_their_numbers() {
        let finding = &found(&record_with(2), RULE)[0];
        assert_eq!(finding.what.code(), Some("offline-cpus-offline"));
        assert_eq!(finding.what.value("without"), Some(&2u32.into()));
        assert_eq!(finding.what.value("present"), Some(&8u32.into()));
        assert_eq!(finding.place, Some("CPUs 6-7".into()));
        assert_eq!(finding.remedy, [write_for_cpus("1", &"6-7".parse().unwrap(), "online")]);
        assert_eq!(found(&record_with(1), RULE)[0].what.value("without"), Some(&1u32.into()));
    }

    #[test]
    fn cpus_without_numbers_are_reported_where_these_stand() {
        let mut record = record_with(0);
        record.machine.counts.cpus_present = Some(10);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.value("without"), Some(&2u32.into()));
        assert_eq!(finding.remedy[0].command.as_deref(), Some("sudo chcpu -e LIST"));
    }

    #[test]
    fn siblings_switched_off_are_a_note() {
        let mut record = record_with(4);
        record.conditions.before.smt = Some("off".to_owned());
        let finding = &found(&record, RULE)[0];
        assert_eq!((finding.severity, finding.what.code()), (Severity::Note, Some("offline-cpus-siblings")));
        assert_eq!(finding.what.value("without"), Some(&4u32.into()));
        assert_eq!(finding.undo, [Remedy::command(write_command("off", SMT))]);
    }

    #[test]
    fn all_online_or_unknown_is_silence() {
        assert_eq!(found(&record_with(0), RULE), []);
        let mut record = record_with(2);
        record.machine.counts.cpus_present = None;
        assert_eq!(missing(&record, RULE), Some("needs-cpus-present"));
    }
}
