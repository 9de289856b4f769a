//! CPUs that are present but offline.

use super::prelude::*;

/// Present CPUs that are not online.
pub(super) const RULE: Rule = Rule { name: "offline-cpus", find };

const SMT: &str = "/sys/devices/system/cpu/smt/control";

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    let (present, online) = (machine.counts.cpus_present?, machine.counts.cpus_online?);
    let off: CpuList = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    let without = present.checked_sub(online).filter(|without| *without > 0)?;
    let smt = case.record.conditions.before.smt.as_deref();
    let setting = smt.filter(|smt| matches!(*smt, "off" | "forceoff"));
    let is_smt_off = setting.is_some() || are_threads_of_power(machine);
    // A core has at most four threads (eight on POWER), one of which is online, so at most three (seven) of them are offline.
    let off_with_smt = online.saturating_mul(if machine.architecture.starts_with("ppc64") { 7 } else { 3 });
    let most = if is_smt_off { off_with_smt } else { missing_siblings(machine, smt, online) };
    let of_online = |core| machine.cpus.iter().any(|cpu| cpu.online && cpu.core == Some(core));
    let known = machine.cpus.iter().filter(|cpu| !cpu.online && cpu.core.is_some_and(of_online)).count();
    let are_siblings = known as u32 == without;
    let siblings = if are_siblings { without } else { most.min(without) };
    let is_guest = machine.is_virtual();
    let option = machine.kernel.options.iter().find(|option| option.starts_with("maxcpus="));
    let note = |section, what| RULE.report_fact_as(section, Severity::Note, what);
    let finding = match modelled(f64::from(without - siblings) / f64::from(present)).filter(|_| !is_guest) {
        Some(loss) => {
            RULE.report_model(loss, text!("offline-cpus-offline", "{without} of {present} CPUs offline"))
        }
        None if is_smt_off => {
            note(RULE.name, text!("offline-cpus-siblings", "SMT is off: {without} of {present} CPUs offline"))
        }
        None if are_siblings => note(
            RULE.name,
            text!(
                "offline-cpus-known-siblings",
                "{without} of {present} CPUs offline: they are SMT siblings of online CPUs"
            ),
        ),
        None if is_guest => note(
            "offline-cpus guest",
            text!("{without} of {present} CPUs offline: they may be empty hot-plug slots of this guest"),
        ),
        None => note(
            RULE.name,
            text!(
                "offline-cpus-may-be-siblings",
                "{without} of {present} CPUs offline: they may be SMT siblings of online CPUs"
            ),
        ),
    };
    let finding = finding
        .locate_cpus(&off)
        .cite(text!("CPUs online: {online} of {present}"), "machine.counts.cpus_online and .cpus_present")
        .cite_some(setting, "conditions.before.smt", |setting| text!("SMT control: {setting}"))
        .cite_some(option, "machine.kernel.options", |option| text!("boot option: {option}"));
    let switch = |value| Remedy::command(write_command(value, SMT));
    let on = || switch("on").sets(KnobValue::new(KnobName::Smt, "on"));
    Some(vec![match setting {
        Some("forceoff") => finding.mend_as("offline-cpus forced"),
        Some(_) => finding.mend([on()]).undo([switch("off")]),
        None if option.is_some() => finding.mend_as("offline-cpus option"),
        None if off.is_empty() => finding.mend_as("offline-cpus unlisted"),
        None => {
            finding.mend([write_for_cpus("1", &off, "online")]).undo([write_for_cpus("0", &off, "online")])
        }
    }])
}

/// Maximum number of offline CPUs that may be siblings of online CPUs; Linux does not show the core of an offline CPU. The result is at
/// most the number of online CPUs, because some tools also count the cores of offline CPUs.
fn missing_siblings(machine: &Machine, smt: Option<&str>, online: u32) -> u32 {
    if matches!(smt, Some("notsupported" | "notimplemented"))
        || !(machine.architecture.is_empty() || machine.architecture.contains("86"))
    {
        return 0;
    }
    let running = machine.cpus.iter().filter(|cpu| cpu.online);
    match machine.counts.cores {
        Some(cores) => cores.saturating_mul(2).saturating_sub(online).min(online),
        None => running.filter(|cpu| cpu.siblings.len() < 2).count() as u32,
    }
}

/// Whether the offline CPUs are threads of online cores. POWER kernels number the threads of a core consecutively, and older ones have no
/// SMT control. With SMT off, every eighth CPU is online; with two threads per core, the next CPU is online as well.
fn are_threads_of_power(machine: &Machine) -> bool {
    let is_alike = |threads: usize| {
        let mut cores = machine.cpus.chunks(threads).map(|core| core.iter().map(|cpu| cpu.online));
        let Some(first) = cores.next() else { return false };
        let of_first: Vec<bool> = first.collect();
        of_first.first() == Some(&true)
            && of_first.contains(&false)
            && machine.cpus.len().is_multiple_of(threads)
            && cores.all(|core| core.eq(of_first.iter().copied()))
    };
    machine.architecture.starts_with("ppc64") && [2, 4, 8].into_iter().any(is_alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    fn record_with(offline: u32) -> record::Record {
        let mut record = machine(8);
        record.machine.architecture = "aarch64".to_owned();
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
    fn a_boot_option_that_limits_the_cpus_is_named() {
        let mut record = record_with(2);
        record.machine.kernel.options = vec!["quiet".to_owned(), "maxcpus=6".to_owned()];
        let finding = &found(&record, RULE)[0];
        assert!(finding.evidence.iter().any(|seen| seen.says.value("option") == Some(&"maxcpus=6".into())));
        assert_eq!(crate::samples::code_of(&finding.remedy[0]), "offline-cpus-boot-option");
    }

    #[test]
    fn cpus_without_numbers_are_reported_where_these_stand() {
        let mut record = record_with(0);
        record.machine.counts.cpus_present = Some(10);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.value("without"), Some(&2u32.into()));
        assert_eq!(finding.remedy[0].command.as_deref(), Some("sudo chcpu -e LIST"));
    }

    /// Linux does not report the core of an offline CPU: half of the CPUs of a machine with SMT may be siblings.
    #[test]
    fn cpus_that_may_be_siblings_of_running_cores_cost_what_nobody_knows() {
        let mut record = record_with(4);
        record.machine.architecture = "x86_64".to_owned();
        let code = |record: &record::Record| found(record, RULE)[0].what.code().map(str::to_owned);
        assert_eq!(code(&record).as_deref(), Some("offline-cpus-may-be-siblings"));
        record.conditions.before.smt = Some("notsupported".to_owned());
        assert_eq!(code(&record).as_deref(), Some("offline-cpus-offline"));
        // Three of four cores are online, one without its sibling; the other two offline CPUs form the fourth core.
        let mut record = record_with(3);
        record.machine.architecture = "x86_64".to_owned();
        record.machine.counts.cores = Some(3);
        assert!((crate::figures::share_of(&found(&record, RULE)[0].loss) - 0.25).abs() < 1e-9);
    }

    /// A tool may count the cores of offline CPUs, but each online CPU has only one sibling.
    #[test]
    fn more_offline_cpus_than_siblings_are_a_loss() {
        let mut record = record_with(7);
        record.machine.architecture = "x86_64".to_owned();
        record.machine.counts.cores = Some(4);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.code(), Some("offline-cpus-offline"));
        assert!((crate::figures::share_of(&finding.loss) - 0.75).abs() < 1e-9, "{finding:?}");
        record.conditions.before.smt = Some("off".to_owned());
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious);
    }

    #[test]
    fn a_guest_s_empty_slots_are_a_note() {
        let mut record = record_with(7);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious);
        record.machine.virtualization.hypervisor = Some("vmware".to_owned());
        let finding = &found(&record, RULE)[0];
        assert_eq!((finding.severity, crate::figures::share_of(&finding.loss)), (Severity::Note, 0.0));
        record.machine.virtualization.hypervisor = Some("none".to_owned());
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious);
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
    fn threads_of_a_power_core_are_a_note_and_its_cores_are_not() {
        let with_online = |online: &[u32]| {
            let mut record = machine(32);
            record.machine.architecture = "ppc64".to_owned();
            for cpu in &mut record.machine.cpus {
                cpu.online = online.contains(&cpu.id);
            }
            record.machine.counts.cpus_online = Some(online.len() as u32);
            found(&record, RULE)[0].what.code() == Some("offline-cpus-siblings")
        };
        assert!(with_online(&[0, 8, 16, 24]));
        assert!(with_online(&[0, 1, 8, 9, 16, 17, 24, 25]));
        assert!(!with_online(&[0, 8, 16]), "a whole core is offline");
    }

    #[test]
    fn a_sibling_of_an_online_cpu_costs_no_core() {
        let mut record = record_with(1);
        let core = record.machine.cpus[0].core;
        assert!(core.is_some());
        record.machine.cpus[7].core = core;
        let finding = &found(&record, RULE)[0];
        let code = finding.what.code();
        assert_eq!((finding.severity, code), (Severity::Note, Some("offline-cpus-known-siblings")));
    }

    #[test]
    fn all_online_or_unknown_is_silence() {
        assert_eq!(found(&record_with(0), RULE), []);
        let mut record = record_with(2);
        record.machine.counts.cpus_present = None;
        assert_eq!(missing(&record, RULE), Some("counts of CPUs present and online"));
    }
}
