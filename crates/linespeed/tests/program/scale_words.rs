//! What `linespeed scale` says: how it ended, what was run, what failed, what time cannot tell; and `show` of its records.

use record::Label;
use record::detail;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use record::machine::Cpu;
use record::{Ended, Labels, Measurement, Record};

use crate::scale::{cpus, installed, is_empty, long_sleep, processes, scale, soon, stuck, typed};
use crate::support::confine::Confine;
use crate::support::started::Started;
use crate::support::{
    emulated, figures, folder, linespeed, measured, program, ran, root, run, says_lost, skipped, sound,
};

/// The report of a record as `show` prints it.
#[track_caller]
fn shown(file: &Path) -> String {
    ran(["show".as_ref(), file.as_os_str()]).succeeds().stdout
}

/// A recipe that prints this line and reads a number after `rate:`.
fn printing(place: &Path, line: &str) -> std::process::Command {
    let file = place.join("mine.toml");
    let text = format!(
        "name = \"mine\"\nwhat = \"x\"\ncommand = [\"echo\", \"{line}\"]\n[[score]]\npattern = \"rate: {{score}}\"\nunit = \"ops\"\n"
    );
    std::fs::write(&file, text).unwrap();
    scale(place, &["--quick", "--steps", "1", "--recipe", file.to_str().unwrap()])
}

#[test]
fn an_interrupted_run_says_so_first_and_is_shown_again() {
    if emulated() {
        return skipped("an_interrupted_run_says_so_first_and_is_shown_again", "emulated");
    }
    let place = folder();
    let sleep = long_sleep(6);
    let started = stuck(place.path(), &sleep);
    started.wait_for("linespeed: 1 of 5");
    soon("the command does not start", || processes(&sleep).len() >= 2);
    started.send(libc::SIGINT);
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let file = place.path().join("a.json");
    std::fs::write(&file, &ran.stdout).unwrap();
    let text = shown(&file);
    assert!(
        text.starts_with("Interrupted by signal 2 after 1 of 5 runs (0 of 1 step complete).\n"),
        "{text}"
    );
    assert!(text.contains("throughput"), "{text}");
}

#[test]
fn a_run_that_was_interrupted_before_any_figure_is_shown_as_one() {
    if emulated() {
        return skipped("a_run_that_was_interrupted_before_any_figure_is_shown_as_one", "emulated");
    }
    let place = folder();
    let (sleep, file) = (long_sleep(7), place.path().join("a.json"));
    let args = ["--output", file.to_str().unwrap(), "--", "sleep", &sleep];
    let started = Started::new(scale(place.path(), &args));
    soon("the command does not start", || processes(&sleep).len() >= 2);
    started.send(libc::SIGINT);
    let ran = started.ended();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    for text in [ran.stdout, shown(&file)] {
        assert!(text.starts_with("Interrupted by signal 2 before the first run finished.\n"), "{text}");
        assert!(text.contains(&format!("sleep {sleep}")) && text.contains("Nothing was measured."), "{text}");
    }
}

#[test]
fn the_command_stands_above_its_figures_and_show_repeats_it() {
    let place = folder();
    let file = place.path().join("a.json");
    let args = ["--quick", "--output", file.to_str().unwrap(), "--", "sh", "-c", "exit 0 # {threads}"];
    let text = measured(scale(place.path(), &args)).succeeds().stdout;
    for text in [text, shown(&file)] {
        let (_, below) = text.split_once("\nsh -c 'exit 0 # {threads}'\n").expect("the command");
        assert!(below.contains("speed-up"), "{text}");
    }
    // What is about a whole table has no number that no row refers to.
    assert!(!shown(&file).contains("] serialized and coherency"), "{}", shown(&file));
}

#[test]
fn other_load_is_reported() {
    let place = folder();
    let file = place.path().join("a.json");
    // Made up: a machine that these tests share with others has findings of its own, which would stand above.
    let mut record = Record::new("0.1.0", "2026-01-01T00:00:00Z".to_owned(), vec!["scale".to_owned()]);
    record.machine.cpus =
        (0..8).map(|id| Cpu { id, online: true, allowed: true, ..Cpu::default() }).collect();
    record.machine.counts.cpus_online = Some(8);
    record.conditions.before.load = Some([7.0, 1.0, 1.0]);
    let labels = Labels::new()
        .with_label(Label::Workload, "command")
        .with_label(Label::Threads, 1u32)
        .with_label(Label::Placement, "cores-first");
    record.measurements.push(
        Measurement::new("workload.throughput", labels, vec![100.0; 3])
            .with_detail(detail::COMMAND, vec!["true".to_owned()]),
    );
    std::fs::write(&file, record.to_json().unwrap()).unwrap();
    let found: serde_json::Value =
        serde_json::from_str(&ran(["show".as_ref(), file.as_os_str(), "--json".as_ref()]).succeeds().stdout)
            .unwrap();
    let rules: Vec<&serde_json::Value> =
        found["diagnosis"]["findings"].as_array().unwrap().iter().map(|finding| &finding["rule"]).collect();
    assert_eq!(rules, ["other-load"], "{found:#}");
    assert!(shown(&file).contains("load average was 7.00"), "{}", shown(&file));
}

#[test]
fn a_command_without_dashes_is_shown_where_they_belong() {
    ran(["scale", "--quick", "sleep", "1"]).misused(&["scale --quick -- sleep 1"]);
    ran(["scale", "my prog", "a"]).misused(&["scale -- 'my prog' a"]);
    ran(["scale", "bc-power"]).misused(&["scale --recipe bc-power"]);
    ran(["scale", "--bogus", "sleep"]).misused(&["--bogus"]);
}

#[test]
fn runs_that_all_fail_have_no_rate() {
    let place = folder();
    let try_it = |args: &[&str]| measured(scale(place.path(), args));
    let all = try_it(&["--quick", "-i", "--json", "--", "sh", "-c", "echo no table >&2; exit 4"]);
    all.fails(3, &["every run failed", "exited with code 4", "no table", "exit 0"]);
    try_it(&["--quick", "--", "false"]).fails(3, &["exited with code 1 and printed nothing", "-i"]);
    let killed = try_it(&["--quick", "--", "sh", "-c", "kill -9 $$"]);
    assert!(!killed.stderr.contains("-i "), "a kill is no exit code that may be meant: {}", killed.stderr);
}

#[test]
fn failures_that_count_are_counted() {
    let place = folder();
    let log = place.path().join("log");
    // The trial and the second run fail.
    let line = format!("echo x >> {0}; test $(($(wc -l < {0}) % 2)) = 0", log.display());
    let record = typed(place.path(), &["-i", "-r", "4", "--steps", "1"], &line);
    assert_eq!(figures(&record, "workload.throughput"), 1);
    says_lost(&record, "command", "2 of 4 runs failed but are counted");
    says_lost(&record, "command", "exited with code 1");
}

#[test]
fn a_step_of_which_every_run_fails_is_left_out() {
    if cpus() < 2 {
        return skipped("a_step_of_which_every_run_fails_is_left_out", "one CPU");
    }
    let place = folder();
    let record = typed(place.path(), &["-i", "--steps", "1,2", "-r", "2"], "test {threads} = 1");
    let threads: Vec<_> =
        record.measurements_of("workload.throughput").map(|m| m.labels.count(Label::Threads)).collect();
    assert_eq!(threads, [Some(1)]);
    says_lost(&record, "scale: 2 CPUs", "every run failed");
}

#[test]
fn a_fixed_time_is_reported_with_the_way_out() {
    if cpus() < 2 {
        return skipped("a_fixed_time_is_reported_with_the_way_out", "one CPU");
    }
    let place = folder();
    // Long, so that what starting it takes is of no weight on a busy machine.
    let record = typed(place.path(), &["--quick", "--steps", "1,2"], "sleep 1.5 # {threads}");
    let line = record.coverage.iter().find(|c| c.what == "scale: time of a run");
    let best: Vec<f64> = record.measurements_of("workload.throughput").map(|m| m.summary.max).collect();
    let (least, most) =
        (best.iter().copied().fold(f64::MAX, f64::min), best.iter().copied().fold(0.0, f64::max));
    match line {
        Some(line) => {
            let (reason, remedy) = (line.why(), line.remedy.as_ref().unwrap().to_string());
            assert!(reason.contains("runs for a fixed time"), "{reason}");
            assert!(remedy.contains("[[score]]") && remedy.contains("--recipe FILE"), "{remedy}");
            // It does not use more CPUs, so this one's speed-up may mean something; that of what stops by the clock does not.
            assert!(
                record.measurements_of("workload.throughput").all(|m| m.doubt.is_some()),
                "{:?}",
                record.measurements
            );
        }
        None => {
            assert!(best.len() == 2 && most > least * 1.02, "nothing is said of equal times: {best:?}");
            skipped(
                "a_fixed_time_is_reported_with_the_way_out",
                "other programs came between, so that its times differ",
            );
        }
    }
    let clocked = "timeout 1.5 sh -c 'while :; do :; done' & if test {threads} = 2; then timeout 1.5 sh -c 'while :; do :; done' & fi; wait";
    let file = place.path().join("clocked.json");
    let record = typed(place.path(), &["--quick", "--steps", "1,2"], clocked);
    std::fs::write(&file, record.to_json().unwrap()).unwrap();
    // Lines are wrapped where the terminal ends.
    let report = shown(&file).split_whitespace().collect::<Vec<_>>().join(" ");
    if record.measurements_of("workload.throughput").any(|m| m.detail.has(detail::FIXED_TIME)) {
        assert!(report.contains("fixed time"), "{report}");
        assert!(!report.contains("the work of one") && !report.contains('×'), "{report}");
    } else {
        skipped(
            "a_fixed_time_is_reported_with_the_way_out",
            "other programs left it no more CPUs at two than at one",
        );
    }
    // As copies, each has its own work.
    let copies = typed(place.path(), &["--quick", "--steps", "1,2"], "sleep 0.3");
    assert!(!copies.coverage.iter().any(|c| c.what == "scale: time of a run"));
}

#[test]
fn a_score_that_is_no_usable_number_is_shown() {
    let place = folder();
    for number in ["0", "-5", "nan", "1e999"] {
        let ran = measured(printing(place.path(), &format!("the rate: {number} ops")));
        let says = format!("the score {number} is not a usable number");
        ran.fails(3, &["recipe mine", &says, &format!("the rate: {number} ops")]);
    }
    let huge = measured(printing(place.path(), "rate: 1e308"));
    assert_eq!(huge.code, Some(3), "{huge:?}");
    let said = huge.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("e296 T/s at") && said.contains("the range of real hardware"), "{}", huge.stdout);
    assert!(huge.stdout.len() + huge.stderr.len() < 4000, "{huge:?}");
}

#[test]
fn a_service_that_dies_without_a_word_is_reported_so() {
    let place = folder();
    let file = place.path().join("mine.toml");
    let text = "name = \"mine\"\nwhat = \"x\"\ncommand = [\"true\"]\n[service]\nstart = [\"sh\", \"-c\", \"sleep 0.2; exit 7\"]\nready = [\"false\"]\n";
    std::fs::write(&file, text).unwrap();
    let ran = measured(scale(place.path(), &["--quick", "--recipe", file.to_str().unwrap()]));
    ran.fails(3, &["exited with code 7 during the run and printed nothing"]);
}

#[test]
fn a_database_runs_in_a_folder_with_a_blank_in_its_name() {
    let test = "a_database_runs_in_a_folder_with_a_blank_in_its_name";
    if ["mariadbd", "mariadb-install-db", "sysbench"].iter().any(|program| !installed(program)) {
        return skipped(test, "no mariadbd and sysbench");
    }
    let place = folder();
    let blank = place.path().join("with blank");
    std::fs::create_dir(&blank).unwrap();
    let args = ["--recipe", "mysql-point-select", "--quick", "--steps", "1", "--json"];
    let record = measured(scale(&blank, &args)).succeeds().record();
    assert_eq!(figures(&record, "workload.throughput"), 1);
    assert!(is_empty(&blank));
}

#[test]
fn a_limit_of_processes_is_named_with_the_way_out() {
    let test = "a_limit_of_processes_is_named_with_the_way_out";
    if !root() || emulated() {
        return skipped(test, "not root, or emulated: the limit of another user cannot be set");
    }
    let place = folder();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = place.path().join("linespeed");
    crate::support::copied_to(&copy);
    let command = program(&copy, ["scale", "--quick", "--json", "--", "true"]);
    // Root may start any number, so the limit is set before the user changes.
    let limited = command.step(|| {
        let one = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        // SAFETY: the limit outlives the call.
        match unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &one) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    });
    let mut limited = limited.by_nobody();
    limited.current_dir("/");
    measured(limited).fails(126, &["no more processes", "ulimit -u"]);
}

#[test]
fn exit_codes_stand_in_the_help() {
    let help = run(linespeed(["scale", "--help"])).succeeds().stdout;
    for words in ["127", "126", "128+n", "linespeed scale -- "] {
        assert!(help.contains(words), "no {words:?} in\n{help}");
    }
}

#[test]
fn a_record_of_an_interrupted_run_is_sound() {
    if emulated() {
        return skipped("a_record_of_an_interrupted_run_is_sound", "emulated");
    }
    let place = folder();
    let sleep = long_sleep(8);
    let started = Started::new(scale(place.path(), &["--json", "--", "sleep", &sleep]));
    soon("the command does not start", || processes(&sleep).len() >= 2);
    started.send(libc::SIGTERM);
    let ran = started.ended();
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    let record = sound::record(ran.stdout.as_bytes());
    assert_eq!(record.ended, Ended::Interrupted { signal: libc::SIGTERM });
    says_lost(&record, "scale", "interrupted by signal 15");
}
