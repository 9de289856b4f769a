use std::fs;

use machine::Root;

use record::{CpuList, KnobName, KnobValue};

use super::*;
use crate::audit::audit_value;
use crate::knob::{Adjustment, KnobContext, State};

/// A synthetic machine: two policies of two CPUs, boost with intel_pstate, huge pages, SMT.
fn machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let cpus = "sys/devices/system/cpu";
    put(&format!("{cpus}/online"), "0-3\n");
    put(&format!("{cpus}/intel_pstate/no_turbo"), "1\n");
    put(&format!("{cpus}/smt/control"), "notsupported\n");
    for policy in [0, 2] {
        let file = |name: &str| format!("{cpus}/cpufreq/policy{policy}/{name}");
        put(&file("scaling_governor"), "powersave\n");
        put(&file("scaling_available_governors"), "performance powersave\n");
        put(&file("related_cpus"), &format!("{policy} {}\n", policy + 1));
        put(&file("scaling_max_freq"), "2000000\n");
        put(&file("cpuinfo_max_freq"), "3000000\n");
    }
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    folder
}

/// The planned writes, and whether the knob already has the value.
fn seen(wanted: &KnobValue) -> (State, Vec<(String, String, String)>) {
    let folder = machine();
    let root = Root::captured(folder.path()).unwrap();
    let context = KnobContext::new(&root, CpuList::new());
    let row = audit_value(&context, wanted).unwrap();
    let changes = match row.inspection.adjustment {
        Adjustment::Write(changes) => changes,
        _ => Vec::new(),
    };
    let last = |path: &str| path.rsplit("/cpu/").next().unwrap_or_default().to_owned();
    (row.inspection.state, changes.into_iter().map(|one| (last(&one.path), one.old, one.new)).collect())
}

fn of(path: &str, old: &str, new: &str) -> (String, String, String) {
    (path.to_owned(), old.to_owned(), new.to_owned())
}

#[test]
fn boost_is_switched_on_though_off_is_the_steadier_value() {
    let on = seen(&KnobValue::new(KnobName::Boost, "on"));
    assert_eq!(on, (State::Noisy, vec![of("intel_pstate/no_turbo", "1", "0")]));
    assert_eq!(seen(&KnobValue::new(KnobName::Boost, "off")), (State::Steady, Vec::new()));
}

#[test]
fn a_setting_of_some_cpus_leaves_the_policies_of_others_alone() {
    let wanted = |cpus: &str| KnobValue {
        cpus: Some(cpus.parse().unwrap()),
        ..KnobValue::new(KnobName::Governor, "performance")
    };
    let second = of("cpufreq/policy2/scaling_governor", "powersave", "performance");
    assert_eq!(seen(&wanted("3")).1, [second]);
    assert_eq!(seen(&wanted("0-3")).1.len(), 2);
    let all = seen(&KnobValue::new(KnobName::Governor, "performance"));
    assert_eq!(all.1.len(), 2);
}

#[test]
fn a_clock_is_not_asked_for_above_what_the_policy_has() {
    let raised = seen(&KnobValue::new(KnobName::ClockRange, "3500000"));
    assert_eq!(raised.1[0], of("cpufreq/policy0/scaling_max_freq", "2000000", "3000000"));
    assert!(matches!(seen(&KnobValue::new(KnobName::ClockRange, "$(reboot)")).0, State::Absent(_)));
}

#[test]
fn what_the_machine_lacks_and_what_it_has_already_are_told_apart() {
    assert_eq!(seen(&KnobValue::new(KnobName::Thp, "madvise")).0, State::Steady);
    assert_eq!(seen(&KnobValue::new(KnobName::Thp, "always")).1.len(), 1);
    for lacking in [KnobValue::new(KnobName::NumaBalancing, "0"), KnobValue::new(KnobName::Smt, "off")] {
        assert!(matches!(seen(&lacking).0, State::Absent(_)), "{lacking:?}");
    }
}

#[test]
fn every_knob_of_a_remedy_is_one_of_quiets() {
    let schema = record::schema::read(record::schema::RECORD);
    let all =
        schema.pointer("/$defs/KnobName/oneOf").and_then(|all| all.as_array()).expect("the schema has them");
    for name in all.iter().map(|one| one["const"].as_str().expect("a name")) {
        assert!(find(name).is_some(), "{name}");
    }
}

#[test]
fn every_knob_of_the_table_is_looked_at() {
    assert!(KNOBS.len() > 30, "the table is not read: {:?}", toml::from_str::<Table>(TABLE).err());
    for knob in KNOBS.iter() {
        assert!(!matches!(knob.inspect, Inspect::Unknown), "{}", knob.name);
    }
}
