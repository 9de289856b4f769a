//! Tests the audit on trees of machines that are not available here: each knob must report the correct state, or that
//! it cannot be read.
mod support;

use machine::Root;
use quiet::audit::{Need, audit, is_quiet, refuse_cpus};
use quiet::files::{Files, Refusal};
use quiet::knob::{Adjustment, KnobContext, State};
use quiet::knobs::KNOBS;
use quiet::process_settings::process::ProcessAttributes;
use record::CpuList;
use support::{MACHINES, made_up, put, row, rows, temporary, unpack};

/// Checks the machine's knobs, without and with CPUs to keep quiet.
fn each(check: impl Fn(&str, &str, &[quiet::audit::AuditRow])) {
    for name in MACHINES {
        let folder = unpack(name);
        let root = Root::captured(folder.path()).unwrap();
        for quiet in ["", "1"] {
            check(name, quiet, &rows(&root, quiet));
        }
    }
}

#[test]
fn every_knob_says_something_of_every_captured_machine() {
    each(|name, quiet, rows| {
        assert_eq!(rows.len(), KNOBS.len(), "{name}");
        for row in rows {
            let (knob, inspection) = (row.knob.name, &row.inspection);
            assert!(!inspection.now.is_empty(), "{name}: {knob}");
            assert_eq!(
                inspection.state == State::Noisy,
                inspection.steadier.is_some(),
                "{name}, {quiet}: {knob}"
            );
            assert_eq!(
                inspection.state == State::Noisy,
                inspection.adjustment != Adjustment::None,
                "{name}, {quiet}: {knob}"
            );
            if let Adjustment::Write(changes) = &inspection.adjustment {
                assert!(!changes.is_empty(), "{name}, {quiet}: {knob} has nothing to write");
                assert_eq!(row.needs, Some(Need::ThisMachine), "{name}: {knob}");
                assert!(changes.iter().all(|change| change.is_of_the_kernel()), "{name}: {changes:?}");
            }
        }
    });
}

#[test]
fn what_was_not_captured_is_not_said_to_be_missing_on_the_machine() {
    each(|name, _, rows| {
        for row in rows {
            if let State::Absent(why) = &row.inspection.state {
                let codes = [Some("quiet-not-captured"), Some("quiet-guest-halt-other-driver")];
                assert!(codes.contains(&why.code()), "{name}: {}: {why}", row.knob.name);
            }
        }
    });
}

#[test]
fn the_hybrid_has_a_clock_for_each_kind_of_core() {
    let folder = unpack("20em64t-hybrid-1p6c2t+2ca4co1t");
    let root = Root::captured(folder.path()).unwrap();
    let rows = rows(&root, "");
    let inspection = |name: &str| &row(&rows, name).inspection;
    assert_eq!(
        (&inspection("governor").now, &inspection("epp").now),
        (&"powersave".into(), &"balance_performance".into())
    );
    // The nominal clocks of its two kinds of core.
    assert_eq!(inspection("clock-range").steadier, Some("1400 or 1900 MHz".into()));
    assert_eq!(inspection("boost").now, "on".into());
    let smt = &inspection("smt").now;
    assert_eq!((smt.value("shared"), smt.value("all")), (Some(&12u32.into()), Some(&20u32.into())));
    let Adjustment::Write(changes) = &inspection("governor").adjustment else {
        panic!("no way to set governors")
    };
    assert_eq!(changes.len(), 20);
}

#[test]
fn a_sibling_that_the_kernel_keeps_online_is_named() {
    let folder = unpack("20em64t-hybrid-1p6c2t+2ca4co1t");
    let root = Root::captured(folder.path()).unwrap();
    // CPU 0 is the sibling of CPU 1, and cannot be taken offline.
    let rows = rows(&root, "1");
    let inspection = &row(&rows, "smt").inspection;
    assert_eq!(inspection.notes.len(), 1);
    assert_eq!(inspection.notes[0].value("cpus"), Some(&"CPU 0".into()));
    assert!(
        matches!(&inspection.adjustment, Adjustment::Manual(how) if how.code() == Some("quiet-smt-another-core")),
        "{:?}",
        inspection.adjustment
    );
}

#[test]
fn a_machine_with_every_knob_is_noisy_and_is_quiet_when_all_are_set() {
    let folder = temporary();
    made_up(folder.path(), 4);
    let root = Root::captured(folder.path()).unwrap();
    let before = rows(&root, "1");
    assert!(!is_quiet(&before));
    let mut tuned = 0;
    for row in &before {
        if let Adjustment::Write(changes) = &row.inspection.adjustment {
            for change in changes {
                root.write(&change.path, &change.new).unwrap();
            }
            tuned += 1;
        }
    }
    assert_eq!(tuned, 16);
    // Unlike a kernel, the tree does not update itself: a CPU that went offline is still listed.
    put(folder.path(), "sys/devices/system/cpu/online", "0-2");
    for row in rows(&root, "1") {
        let writes = matches!(row.inspection.adjustment, Adjustment::Write(_));
        assert!(!writes, "{} stays noisy: {:?}", row.knob.name, row.inspection);
    }
}

/// Files that exist but cannot be written, as in a container.
struct ReadOnly<'a>(&'a Root);

impl Files for ReadOnly<'_> {
    fn root(&self) -> &Root {
        self.0
    }

    fn write(&self, path: &str, _: &str) -> Result<(), Refusal> {
        Err(Refusal::new(path, &std::io::Error::from_raw_os_error(libc::EROFS)))
    }

    fn writable(&self, _: &str) -> bool {
        false
    }
}

fn online(cpus: &str) -> CpuList {
    cpus.parse().unwrap()
}

#[test]
fn in_a_container_each_knob_is_seen_and_says_who_could_turn_it() {
    let folder = temporary();
    made_up(folder.path(), 4);
    let root = Root::captured(folder.path()).unwrap();
    let files = ReadOnly(&root);
    let context = KnobContext {
        files: &files,
        online: online("0-3"),
        quiet: online("1"),
        live: true,
        quota: Some(1.5),
        own: None,
        shield: None,
        stays: false,
    };
    let rows = audit(&context, &[]);
    let quota = &row(&rows, "quota").inspection;
    assert_eq!((&quota.now, &quota.state), (&"1.5 CPUs".into(), &State::Noisy));
    let mut locked = 0;
    for row in rows.iter().filter(|row| matches!(row.inspection.adjustment, Adjustment::Write(_))) {
        locked += 1;
        assert!(row.needs.as_ref().is_some_and(Need::is_root), "{}: {:?}", row.knob.name, row.needs);
    }
    assert_eq!(locked, 16);
    assert_eq!(
        row(&rows, "idle-states").needs,
        Some(Need::File("/dev/cpu_dma_latency")),
        "nothing holds idle states off without it"
    );
}

#[test]
fn where_a_hypervisor_hides_everything_the_reasons_say_so() {
    // As in WSL and small virtual machines: no cpufreq, no cpuidle, no smt, no interrupts, no workqueues.
    let folder = temporary();
    for (path, text) in [
        ("sys/devices/system/cpu/online", "0-1"),
        ("sys/devices/system/cpu/possible", "0-1"),
        ("sys/devices/system/cpu/present", "0-1"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        ("proc/sys/kernel/randomize_va_space", "2"),
        ("proc/stat", "cpu  100 0 100 10000 0 0 0 500 0 0"),
        ("proc/loadavg", "1.25 0.01 0.05 1/2000 4242"),
        ("proc/meminfo", "MemTotal: 65536 kB\nSwapTotal: 1024 kB\nSwapFree: 512 kB"),
        ("proc/1/comm", "init"),
    ] {
        put(folder.path(), path, text);
    }
    let root = Root::captured(folder.path()).unwrap();
    let context = KnobContext {
        files: &root,
        online: online("0-1"),
        quiet: CpuList::new(),
        live: true,
        quota: None,
        own: None,
        shield: None,
        stays: false,
    };
    let rows = audit(&context, &[]);
    for name in ["governor", "epp", "clock-range", "boost", "idle-states"] {
        let row = row(&rows, name);
        assert_eq!(row.inspection.state, State::Absent(row.knob.absent.into()), "{name}");
    }
    let absent =
        ["interrupts", "workqueues", "smt", "nmi-watchdog", "ksm", "throttling", "power", "isolation"];
    for name in absent {
        let inspection = &row(&rows, name).inspection;
        assert!(matches!(inspection.state, State::Absent(_)), "{name}: {inspection:?}");
    }
    for (name, now) in [
        ("steal", "4.67 % of CPU time since boot"),
        ("others", "load average 1.25"),
        ("swap", "512 KiB in use"),
        ("thp", "madvise"),
        ("aslr", "on"),
        ("quota", "none"),
        ("irqbalance", "not running"),
    ] {
        assert_eq!(row(&rows, name).inspection.now, now.into());
    }
}

/// A synthetic context of the running machine.
fn live<'a>(files: &'a Root, own: Option<ProcessAttributes>) -> KnobContext<'a> {
    KnobContext { live: true, own, ..support::context(files, &online("0-1"), "") }
}

#[test]
fn nice_says_against_whom_it_counts() {
    const AUTOGROUPS: &str = "proc/sys/kernel/sched_autogroup_enabled";
    let note = |files: &[(&str, &str)]| {
        let folder = temporary();
        put(folder.path(), "sys/devices/system/cpu/online", "0-1");
        files.iter().for_each(|(path, text)| put(folder.path(), path, text));
        let root = Root::captured(folder.path()).unwrap();
        let rows = audit(
            &live(&root, Some(ProcessAttributes { lowest_nice: -20, ..ProcessAttributes::default() })),
            &["nice"],
        );
        assert!(
            matches!(rows[0].inspection.adjustment, Adjustment::ProcessSetting(_)),
            "{:?}",
            rows[0].inspection
        );
        rows[0].inspection.notes.first().cloned().unwrap_or_default()
    };
    let (first, second) = ("proc/self/cgroup", "sys/fs/cgroup/cpu.weight");
    assert!(note(&[]).is_empty());
    assert!(note(&[(AUTOGROUPS, "0"), (first, "0::/")]).is_empty());
    for groups in ["0::/", "2:cpu,cpuacct:/\n0::/", "0::/user.slice/session-1.scope"] {
        let reported = note(&[(AUTOGROUPS, "1"), (first, groups)]);
        assert_eq!(reported.code(), Some("quiet-nice-within-session"), "{reported}");
    }
    // A group that has its own share does not belong to a session.
    let weighed = [(first, "0::/a/b"), ("sys/fs/cgroup/a/cpu.weight", "100"), (AUTOGROUPS, "1")];
    for (files, group) in [
        (&weighed[..], "/a"),
        (&[(first, "0::/"), (second, "100")], "/"),
        (&[(first, "3:cpuset:/\n2:cpu,cpuacct:/x\n0::/")], "/x"),
    ] {
        let reported = note(files);
        assert_eq!(reported.code(), Some("quiet-nice-within-cgroup"));
        assert_eq!(reported.value("group"), Some(&group.into()), "{reported}");
    }
}

#[test]
fn siblings_that_no_switch_here_has_turned_off_are_not_there() {
    let smt = |control: &str, siblings: &str| {
        let folder = temporary();
        put(folder.path(), "sys/devices/system/cpu/smt/control", control);
        for cpu in 0..2 {
            let at = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            put(folder.path(), &at, if siblings.is_empty() { ["0", "1"][cpu] } else { siblings });
        }
        let root = Root::captured(folder.path()).unwrap();
        audit(&live(&root, None), &["smt"]).remove(0).inspection.state
    };
    for control in ["on", "off", "forceoff"] {
        assert_eq!(smt(control, ""), State::Steady);
    }
    assert_eq!(smt("on", "0-1"), State::Noisy);
    for control in ["notsupported", "notimplemented"] {
        let State::Absent(why) = smt(control, "") else { panic!("{control}: it can be set") };
        assert_eq!(why.code(), Some("quiet-smt-no-siblings"), "{why}");
    }
}

#[test]
fn this_machine_is_audited_whoever_asks() {
    let root = Root::live();
    let context = KnobContext {
        files: &root,
        online: support::online(&root),
        quiet: CpuList::new(),
        live: true,
        quota: None,
        own: None,
        shield: None,
        stays: false,
    };
    for row in audit(&context, &[]) {
        assert!(!row.inspection.now.is_empty(), "{}", row.knob.name);
    }
}

#[test]
fn lists_of_cpus_that_cannot_be_quiet_are_refused() {
    let (all, some) = (online("0-3"), online("0-1"));
    assert!(refuse_cpus(&online("0-3"), &all, &all).unwrap().contains("all CPUs of this machine"));
    assert!(refuse_cpus(&online("7"), &all, &all).unwrap().contains("not online"));
    assert!(refuse_cpus(&online("3"), &all, &some).unwrap().contains("not available to this process"));
    assert_eq!(refuse_cpus(&online("1"), &all, &all), None);
}

#[test]
fn a_guests_halt_is_held_off_when_that_is_named_and_no_deep_state_is_reported_of() {
    let folder = temporary();
    for (path, text) in [
        ("sys/devices/system/cpu/online", "0-1"),
        ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "1"),
        ("sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "0"),
        ("sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us", "n/a"),
    ] {
        put(folder.path(), path, text);
    }
    let root = Root::captured(folder.path()).unwrap();
    let rows = rows(&root, "0-1");
    assert_eq!(row(&rows, "idle-states").inspection.state, State::Steady);
    let halt = row(&rows, "guest-halt");
    assert!(halt.knob.only_when_named(), "who did not ask for it pays for a CPU that polls");
    // CPU 1 polls already.
    let Adjustment::Write(changes) = &halt.inspection.adjustment else { panic!("{:?}", halt.inspection) };
    let reported: Vec<(&str, &str)> =
        changes.iter().map(|change| (change.old.as_str(), change.new.as_str())).collect();
    assert_eq!(reported, [("0", "n/a")]);
    put(folder.path(), "sys/devices/system/cpu/cpuidle/current_driver", "intel_idle");
    let rows = support::rows(&root, "0-1");
    assert!(matches!(row(&rows, "guest-halt").inspection.state, State::Absent(_)));
}

#[test]
fn a_power_limit_is_raised_where_it_is_lower_and_nowhere_else() {
    let folder = temporary();
    for (zone, name, microwatts) in [
        ("intel-rapl:0", "package-0", "35000000"),
        ("intel-rapl-mmio:0", "package-0", "15000000"),
        ("intel-rapl:1", "psys", "1"),
    ] {
        for (file, text) in
            [("name", name), ("constraint_0_name", "long_term"), ("constraint_0_power_limit_uw", microwatts)]
        {
            put(folder.path(), &format!("sys/class/powercap/{zone}/{file}"), text);
        }
    }
    let root = Root::captured(folder.path()).unwrap();
    assert_eq!(row(&rows(&root, ""), "power-limit").inspection.now, "15 W, 35 W".into());
    let context = support::context(&root, &online("0"), "");
    let wanted = record::KnobValue::new(record::KnobName::PowerLimit, "35000000");
    let Adjustment::Write(changes) =
        KNOBS.iter().find(|knob| knob.name == "power-limit").unwrap().set_to(&context, &wanted).adjustment
    else {
        panic!("nothing to write")
    };
    let written: Vec<_> = changes
        .iter()
        .map(|change| (change.path.as_str(), change.old.as_str(), change.new.as_str()))
        .collect();
    assert_eq!(
        written,
        [("/sys/class/powercap/intel-rapl-mmio:0/constraint_0_power_limit_uw", "15000000", "35000000")]
    );
}
