//! `linespeed stat -- COMMAND`: the command as it would be without us, and the report behind it.

use record::Label;
use record::detail;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use record::Record;
use record::diagnosis::BoundBy;

use crate::support::confine::Confine;
use crate::support::started::spawned;
use crate::support::{
    Ran, beside_others, emulated, folder, linespeed, lost, measured, ran, root, run, run_with, skipped, sound,
};

/// `linespeed stat -- sh -c LINE`.
pub fn shell(line: &str) -> Command {
    linespeed(["stat", "--", "sh", "-c", line])
}

/// Text without the line ends of a terminal's width.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn value(record: &Record, metric: &str, key: Label, word: &str) -> f64 {
    let found = record
        .measurements_of(metric)
        .find(|m| m.labels.word(key) == Some(word) && m.labels.get(Label::Thread).is_none())
        .unwrap_or_else(|| panic!("no {metric} {key}={word}"));
    assert_eq!(found.labels.word(Label::Workload), Some("command"));
    found.value()
}

/// The record of a command, from a file.
fn record_of(args: &[&str], command: &[&str]) -> (Ran, Record) {
    let folder = folder();
    let place = folder.path().join("a.json");
    let file = ["--output", place.to_str().unwrap()];
    let words = ["stat"].iter().chain(args).chain(&file).chain(&["--"]).chain(command);
    let ran = run(linespeed(words));
    let record = sound::record(&std::fs::read(&place).unwrap_or_else(|error| panic!("{error}: {ran:?}")));
    (ran, record)
}

#[test]
fn a_command_prints_and_ends_as_it_would_alone() {
    let ran = run(shell("echo out; echo err >&2; exit 7"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), "out\n"));
    assert!(ran.stderr.starts_with("err\n\n"), "its standard error is not its own first: {}", ran.stderr);
    for word in ["exit code 7", "Bound by", "runnable", "page-faults"] {
        assert!(ran.stderr.contains(word), "no {word:?} in:\n{}", ran.stderr);
    }
    let narrow = |line: &str| line.starts_with("Record: ") || line.chars().count() <= 80;
    assert!(ran.stderr.lines().all(narrow), "{}", ran.stderr);
    // Without `--` too, and with options of its own.
    let ran = self::ran(["stat", "sh", "-c", "exit 5"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
}

#[test]
fn standard_input_is_the_commands() {
    let ran = run_with(linespeed(["stat", "--", "cat"]), "one\ntwo\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "one\ntwo\n"), "{ran:?}");
}

#[test]
fn each_of_several_runs_reads_the_same_file() {
    let folder = folder();
    let file = folder.path().join("five");
    std::fs::write(&file, "1\n2\n3\n4\n5\n").unwrap();
    let mut command = linespeed(["stat", "-r", "3", "--", "wc", "-l"]);
    command.stdin(std::fs::File::open(&file).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = Ran::from(spawned(&mut command).wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "5\n5\n5\n"), "{ran:?}");
    assert!(!ran.stderr.contains("a pipe"), "{}", ran.stderr);
    // A pipe has no beginning to return to.
    let ran = run_with(linespeed(["stat", "-r", "2", "--", "wc", "-l"]), "1\n2\n");
    assert_eq!(ran.stdout, "2\n0\n", "{ran:?}");
    assert!(flat(&ran.stderr).contains("all of standard input (a pipe)"), "{}", ran.stderr);
    // Nor is one that nobody read worth a word.
    let ran = run_with(linespeed(["stat", "-r", "2", "--", "true"]), "1\n2\n");
    assert!(!ran.stderr.contains("a pipe"), "{}", ran.stderr);
}

#[test]
fn a_command_that_cannot_be_started_says_why_as_a_shell_would() {
    let folder = folder();
    let file = folder.path().join("plain");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    ran(["stat", "--", "no-such-command"]).fails(127, &["no-such-command", "command not found", "PATH"]);
    ran(["stat", "--", "/no/such/file"]).fails(127, &["/no/such/file", "no such file"]);
    ran(["stat", "--", "echo hi | wc"]).fails(127, &["sh -c"]);
    ran(["stat", "--", file.to_str().unwrap()]).fails(126, &["plain", "chmod +x"]);
    ran(["stat", "--", "/tmp"]).fails(126, &["it is a directory"]);
    ran(["stat", "--", "a\nb\u{1b}[2J"]).fails(127, &["command not found"]);
    ran(["stat"]).misused(&["COMMAND"]);
    ran(["stat", "--"]).misused(&["COMMAND"]);
    ran(["stat", "--perf-format", "--json", "--", "true"]).misused(&["--json"]);
    ran(["stat", "-x,", "--json", "--", "true"]).misused(&["--json"]);
    let missing = folder.path().join("misspelt/x.json");
    ran(["stat", "--output", missing.to_str().unwrap(), "--", "true"]).fails(3, &["there is no directory"]);
    assert!(!folder.path().join("misspelt").exists(), "a misspelt folder was created");
    ran(["stat", "-r", "0", "--", "true"]).misused(&["--repeat", "0 is not in 1.."]);
    ran(["stat", "-r", "-3", "--", "true"]).misused(&["-3"]);
    ran(["stat", "--cpus", "60000", "--", "true"]).fails(2, &["--cpus", "60000", "may only use CPUs"]);
    ran(["stat", "--output", "/proc/nothing/x.json", "--", "echo", "hi"]).fails(3, &["/proc/nothing"]);
}

#[test]
fn a_command_that_is_killed_says_by_what() {
    for (signal, code, name) in [("9", 137, "SIGKILL (9)"), ("11", 139, "SIGSEGV (11)")] {
        let ran = run(shell(&format!("kill -{signal} $$")));
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(&format!("killed by {name}")), "{}", ran.stderr);
    }
}

#[test]
fn what_forks_away_is_waited_for_and_said() {
    if emulated() {
        return skipped("what_forks_away_is_waited_for_and_said", "the emulator adopts no processes");
    }
    let (ran, record) = record_of(&[], &["sh", "-c", "(sleep 3) & exit 4"]);
    assert_eq!(ran.code, Some(4));
    assert!(
        flat(&ran.stderr).contains("1 process (sleep) outlived the command and was waited for"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("Ctrl-C stops waiting"), "nobody said why it waits: {}", ran.stderr);
    let time = record.measurements_of("workload.time").next().unwrap();
    assert!(time.value() >= 3.0, "what forked away was not waited for: {}", time.value());
}

#[test]
fn a_gigabyte_of_output_passes_through() {
    let mut command = shell("head -c 1000000000 /dev/zero");
    let child = spawned(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut child = child;
    let count = std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
    assert_eq!(count, 1_000_000_000);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_leaves_ends_the_command_as_without_us() {
    let mut command = linespeed(["stat", "--", "yes"]);
    let mut child = spawned(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()));
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap());
    // yes dies of SIGPIPE, or sees the error where somebody above ignores that signal; either way it ends.
    assert!(matches!(ran.code, Some(141 | 1)), "{ran:?}");
}

#[test]
fn the_record_tells_where_the_time_went_and_what_it_was_bound_by() {
    let (ran, record) = record_of(&[], &["sh", "-c", "sleep 0.4"]);
    assert_eq!(ran.stdout, "");
    let (off, user) = (
        value(&record, "workload.cpu_time", Label::State, "off-cpu"),
        value(&record, "workload.cpu_time", Label::State, "user"),
    );
    assert!(off > user, "a sleep took {user} s of CPU and {off} s off it");
    assert!(value(&record, "counter.count", Label::Event, "page-faults") > 0.0);
    assert!(value(&record, "counter.count", Label::Event, "context-switches") >= 0.0);
    let bound = record.diagnosis.bound.as_ref().unwrap();
    // Other programs may have the CPUs when it starts and when it ends: that is then said first.
    let waited = value(&record, "workload.cpu_time", Label::State, "runnable");
    let taken = waited > 0.1 * off && bound.by == BoundBy::CpuContention;
    assert!(bound.by == BoundBy::Waiting || taken || bound.by == BoundBy::Stolen, "{bound:?}");
    assert!(!record.machine.cpus.is_empty() && record.conditions.after.is_some());
    // It can be shown again, and as a page.
    let text = record.to_json().unwrap();
    let shown = run_with(linespeed(["show", "-"]), text.clone()).succeeds();
    let by = if bound.by == BoundBy::Waiting { "Bound by waiting" } else { "Bound by" };
    assert!(shown.stdout.contains(by), "{}", shown.stdout);
    let page = run_with(linespeed(["show", "-", "--html"]), text).succeeds().stdout;
    for words in ["</html>", "sh -c 'sleep 0.4'", by, "exit code 0"] {
        assert!(
            page.replace("&#39;", "'").replace('\u{a0}', " ").contains(words),
            "no {words:?} on the page"
        );
    }
}

#[test]
fn json_follows_the_commands_standard_output_or_goes_into_a_file() {
    let ran = run(linespeed(["stat", "--json", "--", "echo", "out"]));
    let json = ran.stdout.strip_prefix("out\n").unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(sound::record(json.as_bytes()).measurements_of("workload.time").count(), 1);
    assert_eq!(ran.stderr, "");
    let folder = folder();
    let place = folder.path().join("a.json");
    let ran = run(linespeed(["stat", "--json", "-o", place.to_str().unwrap(), "--", "echo", "out"]));
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("out\n", ""));
    sound::record(&std::fs::read(&place).unwrap());
    let ran = run(linespeed(["stat", "-q", "--", "sh", "-c", "exit 2"]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), ""));
    let ran = run(linespeed(["stat", "--output", "-", "--", "true"]));
    ran.record();
}

#[test]
fn what_could_not_be_stored_is_shown_and_lies_elsewhere() {
    let temporary = folder();
    let with_temporary = |words: &[&str]| {
        let mut command = linespeed(words);
        command.env("TMPDIR", temporary.path());
        run(command)
    };
    let full = with_temporary(&["stat", "--output", "/dev/full", "--", "true"]);
    assert_eq!(full.code, Some(3), "{full:?}");
    let saved = temporary.path().join("linespeed-record.json");
    for words in ["Bound by", "/dev/full: cannot be written: No space", saved.to_str().unwrap()] {
        assert!(full.stderr.contains(words), "no {words:?} in {}", full.stderr);
    }
    sound::record(&std::fs::read(saved).unwrap());
    let perf = with_temporary(&["stat", "-x,", "--output", "/dev/full", "--", "true"]);
    assert_eq!(perf.code, Some(3), "{perf:?}");
    assert!(perf.stderr.contains(",msec,task-clock,"), "{}", perf.stderr);
}

#[test]
fn one_busy_thread_is_recognised() {
    let _beside = beside_others();
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skipped("one_busy_thread_is_recognised", "there is one CPU");
    }
    // On a machine that others use it may rightly say that it got no CPU, or that no other was free.
    let line = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    let (_, record) = record_of(&[], &["sh", "-c", line]);
    let bound = record.diagnosis.bound.as_ref().unwrap();
    let taken = bound.by == BoundBy::Cpu && bound.says.to_string().contains("other processes");
    assert!(
        taken
            || matches!(
                bound.by,
                BoundBy::OneThread | BoundBy::CpuContention | BoundBy::Stolen | BoundBy::Quota
            ),
        "{bound:?}"
    );
    let threads =
        record.measurements_of("workload.cpu_time").filter(|m| m.labels.get(Label::Thread).is_some()).count();
    assert!(threads > 0, "no thread was seen");
}

#[test]
fn what_a_watched_process_started_computes_in_user_mode() {
    if emulated() {
        return skipped("what_a_watched_process_started_computes", "the emulator's own threads are seen");
    }
    let folder = folder();
    let file = folder.path().join("record.json");
    let mut shell =
        spawned(Command::new("sh").args(["-c", "sh -c 'while :; do :; done' & wait"]).process_group(0));
    let pid = shell.id().to_string();
    let mut stat = linespeed(["stat", "-p", &pid, "--for", "2s", "-o", file.to_str().unwrap()]);
    stat.env("XDG_STATE_HOME", folder.path());
    let done = run(stat);
    // SAFETY: signals the group of a child that was not waited for.
    assert_eq!(unsafe { libc::kill(-(shell.id() as i32), libc::SIGKILL) }, 0);
    shell.wait().unwrap();
    assert_eq!(done.code, Some(0), "{done:?}");
    let record = Record::read(&file).unwrap();
    let time = |state| value(&record, "workload.cpu_time", Label::State, state);
    assert!(time("user") > 2.0 * time("system") && time("user") > 0.0, "{} {}", time("user"), time("system"));
}

#[test]
fn a_quota_is_recognised() {
    use crate::support::cgroup::Group;
    let _beside = beside_others();
    // A fifth of a CPU.
    let settings = [
        (["cpu.cfs_period_us", "100000"], ["cpu.max", "20000 100000"]),
        (["cpu.cfs_quota_us", "20000"], ["cpu.max", "20000 100000"]),
    ];
    let group = match Group::new("cpu", &settings) {
        Ok(group) => group,
        Err(why) => return skipped("a_quota_is_recognised", &why),
    };
    let folder = folder();
    let place = folder.path().join("a.json");
    let line = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done";
    let words = ["stat", "--output", place.to_str().unwrap(), "--", "sh", "-c", line];
    let ran = run(linespeed(words).in_group(&group));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = sound::record(&std::fs::read(&place).unwrap());
    let bound = record.diagnosis.bound.as_ref().unwrap();
    let time = record.measurements_of("workload.time").next().unwrap();
    let throttled = time.detail.get(detail::AROUND).unwrap().throttled_seconds.expect("the kernel counts it");
    if throttled < value(&record, "workload.cpu_time", Label::State, "user") * 0.5 {
        return skipped("a_quota_is_recognised", "other programs left it less than its quota");
    }
    // Where others want the CPUs too, that may come first.
    assert!(bound.says.to_string().contains("quota"), "{bound:?}");
    assert!(ran.stderr.contains("throttled"), "{}", ran.stderr);
}

#[test]
fn repeats_have_an_interval_from_six_on_and_say_so_below() {
    let (ran, record) = record_of(&["-r", "6", "--warmup", "1"], &["sh", "-c", "echo run"]);
    assert_eq!(ran.stdout.lines().count(), 7, "a warm-up and six runs: {}", ran.stdout);
    let time = record.measurements_of("workload.time").next().unwrap();
    assert!(time.summary.n == 6 && time.summary.interval.is_some(), "{time:?}");
    assert!(flat(&ran.stderr).contains("95 % CI"), "{}", ran.stderr);
    let few = self::ran(["stat", "-r", "2", "--", "true"]);
    assert!(flat(&few.stderr).contains("requires 6 runs"), "{}", few.stderr);
    // The first code that is not 0 is passed on.
    let folder = folder();
    let flag = folder.path().join("flag");
    let line = format!("[ -e {0} ] && exit 0; touch {0}; exit 3", flag.display());
    let ran = run(linespeed(["stat", "-r", "3", "--", "sh", "-c", &line]));
    assert_eq!(ran.code, Some(3));
    assert!(
        flat(&ran.stderr).contains("exit code 3 in 1 of 3 runs, exit code 0 in 2 of 3 runs"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_command_is_bound_to_the_cpus_that_are_named() {
    if emulated() {
        return skipped("a_command_is_bound_to_the_cpus_that_are_named", "CPUs are the emulator's");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let cpus: record::CpuList = list.parse().unwrap();
    let one = cpus.first().unwrap().to_string();
    let ran =
        run(linespeed(["stat", "--cpus", &one, "--", "grep", "Cpus_allowed_list", "/proc/self/status"]));
    assert_eq!(ran.stdout, format!("Cpus_allowed_list:\t{one}\n"));
}

/// The lines of perf's report about events: everything before `#`, without figures.
fn events(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.contains("      ") && !line.contains("seconds"));
    let shape = |line: &str| {
        let head = line.split('#').next().unwrap_or_default();
        head.replace(|c: char| c.is_ascii_digit() || c == ',' || c == '.', " ")
    };
    rows.map(|line| shape(line).trim_end().to_owned()).filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn perfs_layouts_are_as_perf_prints_them() {
    let ours = ran(["stat", "--perf-format", "--", "sleep", "0.01"]);
    assert!(ours.stderr.contains(" Performance counter stats for 'sleep 0.01':"), "{}", ours.stderr);
    assert!(ours.stderr.contains("seconds time elapsed"));
    let fields = ran(["stat", "-x", ";", "--", "sleep", "0.01"]);
    assert!(fields.stderr.lines().all(|line| line.split(';').count() == 7), "{}", fields.stderr);
    let clock = fields.stderr.lines().find(|line| line.contains("task-clock")).unwrap();
    assert!(clock.contains(";msec;task-clock;"), "{clock}");
    let tabs = ran(["stat", "-x", "\\t", "--", "true"]);
    assert!(tabs.stderr.contains("\tmsec\ttask-clock\t"), "{}", tabs.stderr);
    let folder = folder();
    let place = folder.path().join("perf.txt");
    let quiet = ran(["stat", "-x,", "--output", place.to_str().unwrap(), "--", "true"]);
    assert_eq!(quiet.stderr, "");
    assert!(std::fs::read_to_string(&place).unwrap().contains(",msec,task-clock,"));
    let perf = Command::new("perf").args(["stat", "sleep", "0.01"]).output();
    match perf {
        Ok(perf) if perf.status.success() && !emulated() => {
            let theirs = String::from_utf8_lossy(&perf.stderr).into_owned();
            let (ours, theirs) = (events(&ours.stderr), events(&theirs));
            let missing: Vec<_> = theirs.iter().filter(|line| !ours.contains(line)).collect();
            assert!(missing.is_empty(), "perf prints {missing:#?}, we print {ours:#?}");
        }
        _ => {
            skipped("perfs_layouts_are_as_perf_prints_them", "perf cannot run here: ours alone was looked at")
        }
    }
}

#[test]
fn without_the_right_to_count_the_setting_is_named_and_the_rest_is_there() {
    if emulated() {
        let why = "the filter would hold the emulator";
        return skipped("without_the_right_to_count_the_setting_is_named_and_the_rest_is_there", why);
    }
    let folder = folder();
    let place = folder.path().join("a.json");
    let words = ["stat", "--output", place.to_str().unwrap(), "--", "true"];
    let ran = run(linespeed(words).denied(&[libc::SYS_perf_event_open]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = sound::record(&std::fs::read(&place).unwrap());
    assert!(value(&record, "counter.count", Label::Event, "page-faults") > 0.0, "rusage tells them anyhow");
    let lost = lost(&record, "counter").join("\n");
    assert!(lost.contains("perf_event_paranoid") || lost.contains("no performance counters"), "{lost}");
    // What the kernel accounts for every process needs nobody's leave.
    for event in ["task-clock", "context-switches", "page-faults"] {
        assert!(
            value(&record, "counter.count", Label::Event, event) >= 0.0 && !lost.contains(event),
            "{lost}"
        );
    }
    // So has perf's layout, where counting is refused.
    let perfs = run(linespeed(["stat", "--perf-format", "--", "true"]).denied(&[libc::SYS_perf_event_open]));
    assert_eq!(perfs.code, Some(0), "{perfs:?}");
    for event in ["task-clock", "page-faults"] {
        let line = perfs.stderr.lines().find(|line| line.contains(event));
        assert!(line.is_some_and(|line| !line.contains("<not")), "{}", perfs.stderr);
    }
}

#[test]
fn an_ordinary_user_gets_what_the_kernel_allows() {
    if !root() || emulated() {
        return skipped("an_ordinary_user_gets_what_the_kernel_allows", "it needs root to become nobody");
    }
    let folder = folder();
    let (copy, place) = (folder.path().join("linespeed"), folder.path().join("a.json"));
    crate::support::copied_to(&copy);
    let words = ["stat", "--output", place.to_str().unwrap(), "--", "sh", "-c", "echo hi"];
    let ran = run(crate::support::program(&copy, words).by_nobody());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hi\n"), "{ran:?}");
    let record = sound::record(&std::fs::read(&place).unwrap());
    assert!(value(&record, "counter.count", Label::Event, "page-faults") > 0.0);
    assert!(value(&record, "counter.count", Label::Event, "context-switches") >= 0.0);
}

#[test]
fn ceilings_of_a_run_before_stand_beside_a_command() {
    let folder = folder();
    let with_home = |args: &[&str]| {
        let mut command = linespeed(args);
        command.env("XDG_STATE_HOME", folder.path());
        command
    };
    let before = run(with_home(&["stat", "--", "true"]));
    assert!(flat(&before.stderr).contains("run linespeed once"), "{}", before.stderr);
    let file = folder.path().join("linespeed/ceilings.json");
    for _ in 0..5 {
        measured(with_home(&["run", "clock", "--quick"])).succeeds();
        if file.exists() {
            break;
        }
        // Only what is beyond doubt becomes a ceiling, and a busy machine's clock may not be.
        let records = std::fs::read_dir(folder.path().join("linespeed")).unwrap();
        let records = records.map(|entry| sound::record(&std::fs::read(entry.unwrap().path()).unwrap()));
        let clocks = records
            .flat_map(|record| record.measurements)
            .filter(|m| m.metric == "core.clock" && m.labels.word(Label::Vector) == Some("scalar"));
        let (doubtful, sure): (Vec<_>, Vec<_>) = clocks.partition(|m| m.doubt.is_some());
        assert!(!doubtful.is_empty() && sure.is_empty(), "no ceilings though nothing is in doubt: {sure:?}");
    }
    if !file.exists() {
        return crate::support::skipped("ceilings", "the clock was in doubt in five runs");
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("clock_hz"), "{text}");
    let after = run(with_home(&["stat", "--", "true"]));
    assert!(!flat(&after.stderr).contains("run linespeed once"), "{}", after.stderr);
    assert!(text.contains("\"clock_hz\": \"") && text.contains(".json\""), "the record is not named: {text}");
    std::fs::write(&file, text.replacen("\"cpus_allowed\": \"", "\"cpus_allowed\": \"7", 1)).unwrap();
    let elsewhere = run(with_home(&["stat", "--", "true"]));
    assert!(flat(&elsewhere.stderr).contains("another machine"), "{}", elsewhere.stderr);
    std::fs::write(&file, "{").unwrap();
    assert_eq!(run(with_home(&["stat", "--", "true"])).code, Some(0));
}

#[test]
fn a_record_of_a_command_is_kept_and_its_page_finds_no_more_than_its_verdict() {
    let state = folder();
    let with_home = |args: &[&str]| {
        let mut command = linespeed(args);
        command.env("XDG_STATE_HOME", state.path());
        run(command)
    };
    let ran = with_home(&["stat", "--", "sleep", "0.1"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut records: Vec<_> = std::fs::read_dir(state.path().join("linespeed")).unwrap().flatten().collect();
    assert_eq!(records.len(), 1, "{records:?}");
    let place = records.remove(0).path();
    let name = place.file_name().unwrap().to_str().unwrap();
    assert!(flat(&ran.stderr).contains(name), "the record is not named: {}", ran.stderr);
    let record = sound::record(&std::fs::read(&place).unwrap());
    assert!(record.diagnosis.bound.is_some());
    assert!(record.diagnosis.findings.is_empty(), "{:?}", record.diagnosis.findings);
    // perf's forms leave none.
    with_home(&["stat", "-x,", "--", "true"]);
    assert_eq!(std::fs::read_dir(state.path().join("linespeed")).unwrap().count(), 1);
}

/// A command that a shell forks: what is started by these tests themselves counts as its own what they had in memory at the
/// most, which other tests' records of 63 MiB decide (`signal->maxrss` outlives exec, getrusage(2)).
fn forked_by_a_shell(inner: Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" \"$@\"; exit $?"]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
fn memory_is_the_commands_own_or_reported_as_a_bound() {
    if emulated() {
        return skipped("memory_is_the_commands_own_or_told_as_a_bound", "the emulator's memory is in it");
    }
    let detail = |line: &str, key| {
        let folder = folder();
        let place = folder.path().join("a.json");
        let words = ["stat", "--output", place.to_str().unwrap(), "--", "sh", "-c", line];
        assert_eq!(run(forked_by_a_shell(linespeed(words))).code, Some(0));
        let record = sound::record(&std::fs::read(&place).unwrap());
        let time = record.measurements_of("workload.time").next().unwrap();
        time.detail.get(key)
    };
    let large = "head -c 100000000 /dev/zero | tail -c 99999999 >/dev/null";
    assert!(
        detail(large, detail::MAX_RSS_BYTES).is_some_and(|bytes| (90_000_000..300_000_000).contains(&bytes))
    );
    assert_eq!(
        detail("true", detail::MAX_RSS_BYTES),
        None,
        "a shell needs less than linespeed, which was there before it"
    );
    assert!(detail("true", detail::MAX_RSS_BELOW_BYTES).is_some_and(|bytes| bytes < 90_000_000));
}

#[test]
fn the_guard_is_no_process_of_the_command() {
    let (_, record) = record_of(&[], &["sh", "-c", "sleep 0.3"]);
    let seen = record.measurements_of("workload.cpu_time").filter_map(|m| m.labels.word(Label::Thread));
    let guards: Vec<&str> = seen.filter(|thread| thread.contains("guard")).collect();
    assert!(guards.is_empty(), "{guards:?}");
    assert!(lost(&record, "forked").is_empty() && lost(&record, "command").is_empty());
}
