//! Programs whose bottleneck is known are told right.
//!
//! On a host that others use, a program may wait for a CPU most of the time, which stat says first, and rightly. What it is
//! bound by itself must then stand beside it; where it hardly ran at all nothing can be asked of the verdict.

mod programs;

use std::process::Stdio;
use std::time::{Duration, Instant};

use record::command_run::ProbeKind;
use record::detail;
use record::diagnosis::{Bound, BoundBy};
use record::{Label, Record, Text};

use crate::support::confine::Confine;
use crate::support::started::spawned;
use crate::support::{
    Ran, beside_others, emulated, folder, has_its_turn, linespeed, lost, root, run, skipped, sound,
};

/// What stat says of a program.
struct Told {
    bound: Bound,
    record: Record,
}

impl Told {
    fn codes(&self) -> Vec<&str> {
        let said = self.bound.says.sentences().iter().chain(&self.bound.advice);
        said.filter_map(Text::code).collect()
    }

    fn says(&self, code: &str) -> bool {
        self.codes().contains(&code)
    }

    fn seconds(&self, state: &str) -> f64 {
        let mut all = self.record.measurements_of("workload.cpu_time");
        let found =
            all.find(|m| m.labels.word(Label::State) == Some(state) && m.labels.get(Label::Thread).is_none());
        found.map_or(0.0, record::Measurement::value)
    }

    /// CPUs in use on average while any of its threads could run.
    fn at_once(&self) -> f64 {
        let time = self.record.measurements_of("workload.time").next().unwrap();
        (self.seconds("user") + self.seconds("system")) / (time.value() - self.seconds("off-cpu")).max(1e-9)
    }

    /// Why nothing can be asked of the verdict: it waited for CPUs too long, the host stole too much, or it was hardly seen.
    fn starved(&self) -> Option<String> {
        let (cpu, ready) = (self.seconds("user") + self.seconds("system"), self.seconds("runnable"));
        let time = self.record.measurements_of("workload.time").next().unwrap();
        let looks = time.detail.get(detail::LOOKS).map_or(0, |looks| looks.all);
        let held = [BoundBy::Stolen, BoundBy::Quota].contains(&self.bound.by);
        let waited = ready > 0.5 * time.value() && cpu < 0.15 * (cpu + ready);
        (looks < 5 || held || waited).then(|| {
            format!("{looks} looks, {cpu:.2} s of CPU time, {ready:.2} s runnable: {}", self.bound.says)
        })
    }
}

/// Whether an emulator runs this, which is said.
fn is_emulated(test: &str) -> bool {
    if emulated() {
        skipped(test, "the emulator's own threads and calls are seen");
    }
    emulated()
}

/// Runs a program of [`programs`] under stat; `None`, with the reason, where nothing can be asked of the verdict.
fn told(test: &str, options: &[&str], name: &str) -> Option<Told> {
    if is_emulated(test) {
        return None;
    }
    let _beside = beside_others();
    let folder = folder();
    let place = folder.path().join("a.json");
    let file = ["--output", place.to_str().unwrap()];
    let options: Vec<&str> = options.iter().chain(&file).copied().collect();
    let ran = run(programs::stat(&options, name, folder.path()));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = sound::record(&std::fs::read(&place).unwrap());
    // Codes are in the record as the templates' names; words alone come back from a file.
    let bound = diagnose::bound(&diagnose::RecordIndex::new(&record)).unwrap();
    Some(Told { bound, record })
}

/// The same, but not where it got so little of a CPU that its own behaviour hardly shows.
fn told_unless_starved(test: &str, name: &str) -> Option<Told> {
    let told = told(test, &[], name)?;
    if let Some(why) = told.starved() {
        skipped(test, &format!("it had too little of the CPUs: {why}"));
        return None;
    }
    Some(told)
}

macro_rules! is_told {
    ($($test:ident: $program:literal says $($code:literal)|+ $(but not $wrong:literal)*;)*) => {
        $(#[test]
        fn $test() {
            let Some(told) = told_unless_starved(stringify!($test), $program) else { return };
            assert!([$($code),+].iter().any(|code| told.says(code)), "{}", told.bound.says);
            $(assert!(!told.says($wrong), "{}", told.bound.says);)*
        })*
    };
}

is_told! {
    fsync_is_named: "fsync" says "bound-waiting-fsync" but not "bound-waiting-disk";
    a_ping_pong_names_its_switches: "pipe-ping-pong" says "bound-kernel-switches-between" | "bound-kernel-kind" | "bound-waiting-pipe"
        but not "bound-try-fewer-calls";
    page_faults_are_the_kernels: "page-faults" says "bound-kernel-faults" | "bound-kernel-kind" but not "bound-try-fewer-calls";
    small_reads_are_calls: "small-reads" says "bound-try-fewer-calls" but not "bound-kernel-faults";
    more_threads_than_cpus_are_named: "too-many-threads" says "bound-too-few-cpus" | "bound-cpu-contention";
    a_sleep_is_its_own: "sleep" says "bound-waiting-sleep";
    one_thread_is_one_whatever_others_do: "one-thread" says "bound-one-thread" | "bound-cpu-contention" but not "bound-lock";
    branch_misses_are_not_told_from_other_work: "branch-misses" says "bound-one-thread" | "bound-cpu-contention" but not "bound-branches";
    poll_in_one_thread_and_sleep_in_the_other_is_the_sleep: "polling" says "bound-waiting-sleep";
}

/// What is told from computing by samples, where this user may take them and enough were taken; else it is named as nothing else.
#[track_caller]
fn is_sampled(test: &str, program: &str, named: &[&str], never: &[&str]) {
    let Some(told) = told(test, &[], program) else { return };
    let time = told.record.measurements_of("workload.time").next().unwrap();
    let seen = time.detail.get(detail::SAMPLED).unwrap_or_default();
    let is_one_of = |codes: &[&str]| codes.iter().any(|code| told.says(code));
    assert!(!is_one_of(never), "{}: {seen:?}", told.bound.says);
    let held = [BoundBy::Stolen, BoundBy::Quota, BoundBy::CpuContention].contains(&told.bound.by);
    if held {
        return skipped(test, "other programs or the host had its CPUs");
    }
    if seen.decoded() < 30 {
        return skipped(test, &format!("{} samples of it were read", seen.decoded()));
    }
    // It is one process that works until the end.
    if let Some(why) = told.starved() {
        return skipped(test, &format!("it had too little of the CPUs: {why}"));
    }
    if told.says("bound-hardly-sampled") {
        return skipped(test, "its threads were not looked at while most of it ran");
    }
    // What threads take from each other they take while two of them run.
    let of_threads = ["bound-sampled-lines", "bound-sampled-spin"].contains(&named[0]);
    if of_threads && told.at_once() < 1.25 {
        return skipped(test, &format!("{:.2} CPUs at once: its threads ran in turns", told.at_once()));
    }
    assert!(is_one_of(named), "{}: {seen:?}", told.bound.says);
}

#[test]
fn scattered_loads_are_named_by_samples() {
    let never = ["bound-sampled-stream", "bound-sampled-lines"];
    is_sampled("scattered_loads_are_named_by_samples", "memory-latency", &["bound-sampled-loads"], &never);
}

#[test]
fn streaming_is_named_by_samples() {
    let never = ["bound-sampled-loads", "bound-sampled-lines"];
    is_sampled("streaming_is_named_by_samples", "memory-bandwidth", &["bound-sampled-stream"], &never);
}

#[test]
fn shared_lines_are_named_by_samples() {
    let never = ["bound-lock", "bound-sampled-loads", "bound-sampled-stream"];
    is_sampled("shared_lines_are_named_by_samples", "false-sharing", &["bound-sampled-lines"], &never);
}

#[test]
fn a_spin_lock_is_named_by_samples() {
    let named = ["bound-sampled-spin", "bound-sampled-lines"];
    is_sampled(
        "a_spin_lock_is_named_by_samples",
        "spin-lock",
        &named,
        &["bound-lock", "bound-sampled-loads"],
    );
}

#[test]
fn computing_waits_for_nothing_by_samples() {
    let never = ["bound-sampled-loads", "bound-sampled-stream", "bound-sampled-lines", "bound-sampled-spin"];
    let named = ["bound-one-thread", "bound-sampled-computes"];
    is_sampled("computing_waits_for_nothing_by_samples", "one-thread", &named, &never);
}

/// As a command of ours, by its number and while it is watched: what bounds it is one thing.
#[test]
fn three_ways_of_asking_say_the_same() {
    let test = "three_ways_of_asking_say_the_same";
    let Some(told) = told_unless_starved(test, "memory-latency") else { return };
    let _beside = beside_others();
    let folder = folder();
    let place = folder.path().join("b.json");
    let mut alone = programs::alone("memory-latency", folder.path());
    let mut program = spawned(alone.env(programs::FOR_SECONDS, "60").stdout(Stdio::null()));
    // Its array stands after some tenths of a second.
    std::thread::sleep(Duration::from_secs(2));
    let pid = program.id().to_string();
    let watched = linespeed(["live", "--once", "2s", "--json", "-p", &pid]);
    let watch = std::thread::spawn(move || run(watched));
    let file = place.to_str().unwrap();
    let attached = run(linespeed(["stat", "--for", "2s", "--output", file, "-p", &pid]));
    let watched = watch.join().unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!((attached.code, watched.code), (Some(0), Some(0)), "{attached:?} {watched:?}");
    let record = sound::record(&std::fs::read(&place).unwrap());
    let screen: serde_json::Value = serde_json::from_str(watched.stdout.lines().last().unwrap()).unwrap();
    let of_screen = &screen["bound"];
    let attached = serde_json::to_value(record.diagnosis.bound.as_ref().unwrap()).unwrap();
    let own = serde_json::to_value(&told.bound).unwrap();
    let gist = |bound: &serde_json::Value| (bound["by"].clone(), bound["kind"].clone());
    let all = [gist(&own), gist(&attached), gist(of_screen)];
    if all
        .iter()
        .any(|(by, _)| ["cpu-contention", "stolen", "quota"].contains(&by.as_str().unwrap_or_default()))
    {
        return skipped(test, &format!("other programs or the host had its CPUs: {all:?}"));
    }
    if all.iter().all(|one| *one == all[0]) {
        return;
    }
    // A verdict by samples needs some of them in each.
    let of_screen: record::live::Interval = serde_json::from_value(screen["interval"].clone()).unwrap();
    let of_record = |record: &Record| {
        record.measurements_of("workload.time").next().and_then(|time| time.detail.get(detail::SAMPLED))
    };
    let sampled =
        [of_record(&told.record), of_record(&record), of_screen.service.and_then(|service| service.sampled)];
    let least = sampled.into_iter().map(|seen| seen.unwrap_or_default().decoded()).min().unwrap();
    assert!(least < 30, "{all:?}");
    skipped(test, &format!("{least} samples of it were read: {all:?}"));
}

/// Whole CPUs may not be sampled by an ordinary user, but on most kernels his own programs may.
#[test]
fn an_ordinary_users_own_program_is_sampled() {
    let test = "an_ordinary_users_own_program_is_sampled";
    if !root() || is_emulated(test) {
        return skipped(test, "it needs root to become nobody");
    }
    let folder = folder();
    let [program, own, place] = ["linespeed", "own", "a.json"].map(|name| folder.path().join(name));
    crate::support::copied_to(&program);
    std::fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    let file = ["--output", place.to_str().unwrap()];
    let mut stat = programs::stat_of_copies(&program, &own, &file, "memory-latency");
    stat.env(programs::FOR_SECONDS, "4");
    let ran = run(stat.by_nobody());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = sound::record(&std::fs::read(&place).unwrap());
    let refused = lost(&record, "memory access samples");
    let time = record.measurements_of("workload.time").next().unwrap();
    let Some(seen) = time.detail.get(detail::SAMPLED) else {
        assert!(!refused.is_empty(), "neither sampled nor said why not");
        return skipped(test, &refused.join("; "));
    };
    assert!(refused.is_empty(), "{refused:?}");
    let read = seen.decoded();
    if read < 30 {
        return skipped(test, &format!("{read} samples of it were read"));
    }
    assert!(seen.loads.high > 0.3, "{seen:?}");
    // Of few addresses it is hardly known how much memory they belong to, and so which cache holds it.
    if read < 350 {
        return skipped(test, &format!("{read} samples leave the size of its memory open"));
    }
    // Setting up its array is a part of it.
    assert!(seen.far.share > 0.3 && seen.sequential.share < seen.far.share / 2.0, "{seen:?}");
}

#[test]
fn a_mutex_convoy_is_a_lock() {
    let test = "a_mutex_convoy_is_a_lock";
    let Some(told) = told_unless_starved(test, "mutex-convoy") else { return };
    assert!(!told.says("bound-try-fewer-calls"), "{}", told.bound.says);
    // Where others have the CPUs its threads seldom meet: they hardly ask the kernel for the lock.
    if told.seconds("system") < 0.2 * told.seconds("user") {
        return skipped(test, "other programs keep its threads from meeting at the lock");
    }
    assert!(told.says("bound-lock") && !told.says("bound-try-more-cpus"), "{}", told.bound.says);
}

/// A program that takes longer alone is not probed: that takes some forty runs.
const MOST_SECONDS: f64 = 1.0;

/// Programs that are probed, each by a test of its own.
const PROBED: [&str; 4] = ["computing", "false-sharing", "memory-bandwidth", "memory-latency"];

/// What a probe makes of a program; `None` where its runs differ too much here for an interval, or another program has its
/// turn.
fn probed(test: &str, name: &str, kind: ProbeKind) -> Option<Told> {
    if is_emulated(test) || !has_its_turn(&PROBED, name) {
        return None;
    }
    let (folder, began) = (folder(), Instant::now());
    let ran = run(programs::alone(name, folder.path()));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    if began.elapsed().as_secs_f64() > MOST_SECONDS {
        skipped(test, &format!("one run takes {:.1} s here", began.elapsed().as_secs_f64()));
        return None;
    }
    let told = told(test, &["--probe"], name)?;
    let time = told.record.measurements_of("workload.time").next().unwrap();
    let probes = time.detail.get(detail::PROBES).unwrap_or_default();
    let Some(probe) = probes.iter().find(|probe| probe.kind == kind) else {
        skipped(test, &format!("{kind:?} cannot be tried here: {}", lost(&told.record, "probe").join("; ")));
        return None;
    };
    // Runs that differ by more than a tenth of themselves tell nothing of a change that is worth as much.
    let known = probe.interval.is_some_and(|(low, high)| high - low < 0.15 * probe.ratio);
    if !known {
        skipped(test, &format!("too noisy: {probe:?}"));
        return None;
    }
    Some(told)
}

#[test]
fn scattered_loads_are_found_by_experiment() {
    let test = "scattered_loads_are_found_by_experiment";
    let Some(told) = probed(test, "memory-latency", ProbeKind::Bandwidth) else { return };
    assert!(told.says("bound-probe-slowed") || told.says("bound-probe-huge-pages"), "{}", told.bound.says);
}

#[test]
fn streaming_is_found_by_experiment() {
    let test = "streaming_is_found_by_experiment";
    let Some(told) = probed(test, "memory-bandwidth", ProbeKind::Bandwidth) else { return };
    assert!(told.says("bound-probe-slowed"), "{}", told.bound.says);
}

#[test]
fn shared_lines_are_found_by_experiment() {
    let test = "shared_lines_are_found_by_experiment";
    let Some(told) = probed(test, "false-sharing", ProbeKind::FewerCpusTime) else { return };
    let time = told.record.measurements_of("workload.time").next().unwrap();
    if time.detail.get(detail::LOOKS).is_none_or(|looks| looks.most_active < 2) {
        return skipped(test, "its threads hardly ran at once");
    }
    assert!(told.says("bound-probe-own-threads"), "{}", told.bound.says);
}

#[test]
fn computing_alone_needs_no_memory_by_experiment() {
    let test = "computing_alone_needs_no_memory_by_experiment";
    let Some(told) = probed(test, "computing", ProbeKind::Bandwidth) else { return };
    assert!(!told.says("bound-probe-slowed") && !told.says("bound-probe-cache"), "{}", told.bound.says);
}

#[test]
fn direct_reads_wait_for_the_disk() {
    let test = "direct_reads_wait_for_the_disk";
    let Some(told) = told_unless_starved(test, "direct-reads") else { return };
    // Memory that looks like a disk answers at once, or has no such reads.
    if told.seconds("off-cpu") < 0.3 {
        return skipped(test, "reads past the page cache do not wait here");
    }
    if told.seconds("runnable") > told.seconds("off-cpu") {
        return skipped(test, "it waited longer for a CPU than for the disk");
    }
    if told.says("bound-waiting-fsync") {
        return skipped(test, "it waited longer until its file was written");
    }
    assert!(told.says("bound-waiting-disk"), "{}", told.bound.says);
}

#[test]
fn a_running_process_is_told_as_its_start_would_be_and_goes_on() {
    let test = "a_running_process_is_told_as_its_start_would_be_and_goes_on";
    if is_emulated(test) {
        return;
    }
    let _beside = beside_others();
    let folder = folder();
    let place = folder.path().join("a.json");
    let mut program = programs::alone("sleep", folder.path());
    let mut child =
        spawned(program.env(programs::FOR_SECONDS, "60").stdout(Stdio::null()).stderr(Stdio::null()));
    let (pid, file) = (child.id().to_string(), place.to_str().unwrap());
    let ran = run(crate::support::linespeed(["stat", "-p", &pid, "--for", "700ms", "--output", file]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(child.try_wait().unwrap(), None, "the process did not go on");
    std::fs::write(programs::over(folder.path()), "").unwrap();
    assert!(child.wait().unwrap().success(), "it was harmed");
    let record = sound::record(&std::fs::read(&place).unwrap());
    let bound = diagnose::bound(&diagnose::RecordIndex::new(&record)).unwrap();
    let told = Told { bound, record };
    if !told.says("bound-waiting-sleep") {
        let why = told.starved().unwrap_or_else(|| panic!("{}", told.bound.says));
        skipped(test, &format!("it was hardly looked at: {why}"));
    }
    assert!(ran.stderr.contains(&pid), "{}", ran.stderr);
    // It has ended now.
    let gone: Ran = run(crate::support::linespeed(["stat", "-p", &pid]));
    gone.fails(3, &["no process", &pid]);
}
