//! Where less is allowed: an ordinary user, containers' filters, missing files. It works, and says what it lost.

use record::Label;
use std::path::Path;

use record::Record;
use record::diagnosis::BoundBy;

use crate::support::confine::{self, Confine};
use crate::support::{
    emulated, figures, folder, linespeed, lost, measured, program, root, says_lost, skipped,
};

/// Runs that touch all that may be denied: affinity, page placement, huge pages, scheduling classes.
const RUN: [&str; 6] = ["run", "costs", "wakeup", "latency", "--quick", "--json"];

/// All that a run must give in spite of everything.
#[track_caller]
fn whole(command: std::process::Command) -> Record {
    let record = measured(command).succeeds().record();
    for metric in ["load.latency", "cost.syscall", "wakeup.latency"] {
        assert!(figures(&record, metric) > 0, "no {metric}: {:#?}", lost(&record, ""));
    }
    record
}

#[test]
fn an_ordinary_user_is_reported_what_root_would_add() {
    let folder = folder();
    let copy = folder.path().join("linespeed");
    crate::support::copied_to(&copy);
    let record = whole(program(&copy, RUN).by_nobody());
    assert_eq!(record.machine.limits.root, Some(false));
    says_lost(&record, "wakeup", "SCHED_FIFO");
    assert!(record.measurements_of("wakeup.latency").all(|m| m.labels.word(Label::Policy) == Some("other")));
    if Path::new("/dev/cpu_dma_latency").exists() && root() {
        says_lost(&record, "wakeup tuned", "Permission denied");
    }
    for entry in record.coverage.iter().filter(|c| c.what.starts_with("wakeup")) {
        assert!(entry.remedy.is_some(), "{} without the way out", entry.what);
    }
}

#[test]
fn an_ordinary_user_writes_where_he_may_and_is_reported_where_he_may_not() {
    if !root() {
        return skipped("an_ordinary_user_writes_where_he_may_and_is_told_where_he_may_not", "it needs root");
    }
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let copy = folder.path().join("linespeed");
    crate::support::copied_to(&copy);
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    let at = |place: &Path| {
        let args =
            ["run".as_ref(), "costs".as_ref(), "--quick".as_ref(), "--output".as_ref(), place.as_os_str()];
        measured(program(&copy, args).by_nobody())
    };
    at(&closed.join("a.json")).fails(3, &["closed/a.json", "Permission denied", "--output FILE"]);
    let open = folder.path().join("a.json");
    at(&open).succeeds();
    crate::support::sound::record(&std::fs::read(open).unwrap());
}

#[test]
fn a_container_that_denies_all_that_is_asked_for_gets_its_figures() {
    if emulated() {
        return skipped("a_container_that_denies_all_that_is_asked_for_gets_its_figures", "emulated");
    }
    let calls = [
        libc::SYS_perf_event_open,
        libc::SYS_mbind,
        libc::SYS_move_pages,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
    ];
    let record = whole(linespeed(RUN).denied(&calls));
    says_lost(&record, "pinning", "a different CPU");
    says_lost(&record, "latency", "cannot be pinned");
    says_lost(&record, "costs", "cannot be pinned");
    says_lost(&record, "wakeup", "stay on their CPUs");
    if root() {
        says_lost(&record, "wakeup fifo", "not permitted");
    }
    // On one node memory cannot lie elsewhere, so nothing is lost there.
    if record.machine.nodes.len() > 1 {
        says_lost(&record, "latency", "mbind failed");
        says_lost(&record, "latency", "placement is not verified");
    }
}

#[test]
fn each_call_that_is_denied_alone_costs_only_its_own() {
    if emulated() {
        return skipped("each_call_that_is_denied_alone_costs_only_its_own", "emulated");
    }
    let costs = ["run", "costs", "wakeup", "--quick", "--json"];
    let unpinned = measured(linespeed(costs).denied(&[libc::SYS_sched_setaffinity])).succeeds().record();
    says_lost(&unpinned, "costs", "cannot be pinned");
    let wakeup = ["run", "wakeup", "--quick", "--json"];
    // A cgroup without real-time time refuses it even to root.
    let free = measured(linespeed(wakeup)).succeeds().record();
    assert_eq!(lost(&unpinned, "wakeup fifo"), lost(&free, "wakeup fifo"));
    let slack = measured(linespeed(wakeup).denied(&[libc::SYS_prctl])).succeeds().record();
    says_lost(&slack, "wakeup tuned", "timer slack");
    let unknown = linespeed(["run", "latency", "--quick", "--json"]).denied(&[
        libc::SYS_perf_event_open,
        libc::SYS_mbind,
        libc::SYS_move_pages,
    ]);
    let unknown = measured(unknown).succeeds().record();
    let detail =
        unknown.measurements_of("load.latency").next().map(|m| format!("{:?}", m.detail)).unwrap_or_default();
    assert!(detail.contains("not verified"), "a placement that nobody could check is not told: {detail}");
}

#[test]
fn everything_runs_where_a_container_denies_all() {
    if emulated() {
        return skipped("everything_runs_where_a_container_denies_all", "emulated");
    }
    let calls =
        [libc::SYS_mbind, libc::SYS_move_pages, libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler];
    let record = measured(linespeed(["run", "--quick", "--json"]).denied(&calls)).succeeds().record();
    says_lost(&record, "pinning", "a different CPU");
    for name in ["clock", "latency", "wakeup", "stolen", "costs"] {
        assert!(!lost(&record, name).is_empty(), "{name} was not pinned, and does not say so");
    }
    assert!(figures(&record, "core.clock") > 0);
}

#[test]
fn huge_pages_that_are_refused_to_it_are_measured_all_the_same() {
    if emulated() {
        return skipped("huge_pages_that_are_refused_to_it_are_measured_all_the_same", "emulated");
    }
    let record = whole(linespeed(RUN).without_huge_pages());
    says_lost(&record, "latency huge pages", "THP was disabled for this process");
    says_lost(&record, "costs page fault 2MiB", "huge page");
    assert!(on_pages(&record, "4KiB") > 0);
}

fn on_pages(record: &Record, word: &str) -> usize {
    record.measurements_of("load.latency").filter(|m| m.labels.word(Label::Page) == Some(word)).count()
}

#[test]
fn with_transparent_huge_pages_set_to_never_it_says_so() {
    if let Some(why) = confine::no_mounts() {
        return skipped("with_transparent_huge_pages_set_to_never_it_says_so", &why);
    }
    let folder = folder();
    let never = folder.path().join("never");
    std::fs::write(&never, "always madvise [never]\n").unwrap();
    let command =
        linespeed(RUN).with_file("/sys/kernel/mm/transparent_hugepage/enabled", &never).without_huge_pages();
    let record = whole(command);
    assert_eq!(record.conditions.before.thp.as_deref(), Some("never"));
    says_lost(&record, "latency 2MiB", "huge page");
    assert_eq!(on_pages(&record, "2MiB"), 0, "a figure on pages that were not there");
    assert!(on_pages(&record, "4KiB") > 0, "the curve on base pages stays");
}

#[test]
fn without_firmware_latency_device_cpufreq_and_interrupts_it_says_so() {
    if let Some(why) = confine::no_mounts() {
        return skipped("without_firmware_latency_device_cpufreq_and_interrupts_it_says_so", &why);
    }
    let command = linespeed(["run", "costs", "wakeup", "stolen", "--quick", "--json"])
        .with_empty("/sys/firmware")
        .with_empty("/sys/devices/system/cpu/cpufreq")
        .with_device_closed("/dev/cpu_dma_latency")
        .with_file("/proc/interrupts", Path::new("/dev/null"));
    let record = measured(command).succeeds().record();
    assert!(figures(&record, "wakeup.latency") > 0 && figures(&record, "stolen.share") > 0);
    says_lost(&record, "wakeup tuned", "/dev/cpu_dma_latency");
    says_lost(&record, "memory devices", "");
    assert!(record.conditions.before.clocks.iter().all(|clock| clock.governor.is_none()));
}

#[test]
fn a_clock_source_that_is_not_the_tsc_stands_in_the_record() {
    if let Some(why) = confine::no_mounts() {
        return skipped("a_clock_source_that_is_not_the_tsc_stands_in_the_record", &why);
    }
    let folder = folder();
    let source = folder.path().join("hpet");
    std::fs::write(&source, "hpet\n").unwrap();
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let record = measured(linespeed(["run", "costs", "--quick", "--json"]).with_file(file, &source));
    let record = record.succeeds().record();
    assert_eq!(record.conditions.before.clocksource.as_deref(), Some("hpet"));
    assert!(
        record.measurements_of("cost.clock_read").all(|m| m.labels.word(Label::Clocksource) == Some("hpet"))
    );
    let is_found = record.diagnosis.findings.iter().any(|finding| finding.rule == "clocksource");
    assert!(is_found, "a slow clock source is no finding");
}

#[test]
fn without_dev_or_sys_or_proc_it_still_runs() {
    if let Some(why) = confine::no_mounts() {
        return skipped("without_dev_or_sys_or_proc_it_still_runs", &why);
    }
    for hidden in [&["/dev"][..], &["/sys"], &["/proc"]] {
        let confined = |command: std::process::Command| {
            hidden.iter().fold(command, |command, path| command.with_empty(path))
        };
        let record = measured(confined(linespeed(["run", "costs", "wakeup", "--quick", "--json"])));
        let record = record.succeeds().record();
        assert!(figures(&record, "cost.syscall") > 0, "without {hidden:?}: {:#?}", lost(&record, ""));
        if hidden != ["/dev"] {
            assert!(!record.coverage.iter().all(|c| c.state == record::State::Measured), "nothing is said");
        }
        let record = measured(confined(linespeed(["inspect", "--json"]))).succeeds().record();
        assert!(record.measurements.is_empty());
    }
}

#[test]
fn where_proc_hides_processes_ones_own_are_watched_and_anothers_refused() {
    let test = "where_proc_hides_processes_ones_own_are_watched_and_anothers_refused";
    if let Some(why) = confine::no_mounts() {
        return skipped(test, &why);
    }
    let folder = folder();
    let copy = folder.path().join("linespeed");
    crate::support::copied_to(&copy);
    let hidden = |words: &[&str]| {
        let command = program(&copy, words).with_mount("/proc", |proc| {
            let (kind, options) = (c"proc".as_ptr(), c"hidepid=2".as_ptr().cast());
            // SAFETY: all strings outlive the call.
            let code = unsafe { libc::mount(kind, proc.as_ptr(), kind, 0, options) };
            if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
        crate::support::run(command.by_nobody())
    };
    let own = std::process::id().to_string();
    hidden(&["stat", "-p", &own, "--for", "100ms"]).fails(3, &["hidepid", &own]);
    let line = format!("sleep 60 & {} stat --json -p $! --for 400ms; kill $!", copy.display());
    let waits = hidden(&["stat", "-q", "--", "sh", "-c", &line]).record();
    is_said_to_sleep(test, &waits);
    let work = hidden(&["stat", "--json", "--", "sh", "-c", "sleep 1.2 & sleep 1.2; wait"]).record();
    assert!(figures(&work, "workload.time") > 0);
    is_said_to_sleep(test, &work);
}

/// What sleeps is said to, where others left it and linespeed enough of the CPUs to be looked at.
#[track_caller]
fn is_said_to_sleep(test: &str, record: &Record) {
    let bound = diagnose::bound(&diagnose::RecordIndex::new(record)).unwrap();
    let time = record.measurements_of("workload.time").next().unwrap();
    let looks = time.detail.get(record::detail::LOOKS).map_or(0, |looks| looks.all);
    let taken = [BoundBy::CpuContention, BoundBy::Stolen, BoundBy::Quota].contains(&bound.by);
    if bound.says.code() == Some("bound-waiting-sleep") {
        return;
    }
    assert!(looks < 5 || taken, "{}", bound.says);
    skipped(test, &format!("{looks} looks: {}", bound.says));
}
