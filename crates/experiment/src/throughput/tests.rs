use std::ffi::OsString;
use std::time::Duration;

use super::run::run_step;
use super::*;
use crate::copies::{RunObserver, RunOptions};
use crate::failure::Trouble;
use crate::recipes::{self, Origin};
use os::Stop;

struct Silent;

impl RunObserver for Silent {
    fn left(&mut self, _: &[String]) {}
}

fn cpus() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().parse::<record::CpuList>().unwrap().iter().collect()
}

fn shell(line: &str) -> Job {
    let command: Vec<OsString> = ["sh", "-c", line].map(OsString::from).into();
    Job::from_command(&command)
}

fn run_within(job: &Job, cpus: &[u32], timeout: Option<Duration>, stop: &Stop) -> Result<Run, Trouble> {
    run_step(job, cpus, None, &RunOptions { timeout, ..RunOptions::default() }, stop, &mut Silent)
}

fn once(job: &Job, cpus: &[u32]) -> Result<Run, Trouble> {
    run_within(job, cpus, Some(Duration::from_secs(60)), &Stop::new())
}

/// A job from the text of a recipe.
fn recipe(text: &str) -> Job {
    let recipe =
        recipes::read_text(&format!("name = \"x\"\nwhat = \"x\"\n{text}"), "x", Origin::BuiltIn).unwrap();
    let values = recipe.values(false, &[]).unwrap();
    Job { recipe, values, ignore_failure: false }
}

#[test]
fn each_copy_has_a_cpu_of_its_own_and_one_command_has_them_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    let line = format!("grep Cpus_allowed_list /proc/self/status >> {}", file.display());
    let cpus = cpus();
    let observer = || {
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let mut lists: Vec<String> =
            text.lines().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect();
        lists.sort();
        lists
    };
    let copies = once(&shell(&line), &cpus).unwrap();
    assert_eq!(copies.seconds.len(), cpus.len());
    let mut each: Vec<String> = cpus.iter().map(u32::to_string).collect();
    each.sort();
    assert_eq!(observer(), each);
    let together = once(&shell(&format!("{line} # {{threads}}")), &cpus).unwrap();
    assert_eq!(together.seconds.len(), 1);
    let all: record::CpuList = cpus.iter().copied().collect();
    assert_eq!(observer(), [all.to_string()]);
}

#[test]
fn throughput_is_the_sum_of_what_the_copies_did() {
    let cpus = cpus();
    let run = once(&shell("sleep 0.1"), &cpus).unwrap();
    let sum: f64 = run.seconds.iter().map(|seconds| 1.0 / seconds).sum();
    assert!((run.throughput / sum - 1.0).abs() < 1e-9);
    assert!(run.seconds.iter().all(|seconds| *seconds >= 0.1), "{:?}", run.seconds);
    assert!(run.imbalance >= 1.0);
    // The program's own score is used instead, and summed.
    let scored = recipe(
        "command = [\"echo\", \"rate: 2.5e3 kB\"]\n[[score]]\npattern = \"rate: {score} kB\"\nscale = 1000\nunit = \"B\"",
    );
    let run = once(&scored, &cpus).unwrap();
    assert_eq!((run.throughput, run.unit.as_str()), (2.5e6 * cpus.len() as f64, "B"));
    let seconds = recipe(
        "command = [\"echo\", \"took 4 s\"]\nwork = 8\n[[score]]\npattern = \"took {score} s\"\nkind = \"seconds\"\nunit = \"laps\"",
    );
    assert_eq!(once(&seconds, &cpus[..1]).unwrap().throughput, 2.0);
}

#[test]
fn a_command_that_fails_is_reported_with_its_last_words() {
    let cpus = cpus();
    let reported = |line: &str| once(&shell(line), &cpus[..1]).unwrap_err().to_string();
    let words = reported("echo early >&2; echo no such table >&2; exit 3");
    assert!(words.contains("exited with code 3") && words.ends_with("no such table"), "{words}");
    assert!(reported("kill -9 $$").contains("killed (signal 9)"));
    assert!(reported("kill -11 $$").contains("signal 11"));
    assert!(reported("exit 1").contains("printed nothing"));
    let all = once(&shell("exit 1"), &cpus).unwrap_err().to_string();
    assert!(cpus.len() == 1 || all.contains(&format!("in {0} of {0} copies", cpus.len())), "{all}");
    let ignored = Job { ignore_failure: true, ..shell("exit 1") };
    let run = once(&ignored, &cpus[..1]).unwrap();
    assert_eq!(run.failed.unwrap().to_string(), "exited with code 1 and printed nothing");
}

#[test]
fn output_that_does_not_parse_is_shown_and_bounded() {
    let cpus = cpus();
    let text = "command = [\"sh\", \"-c\", \"yes nonsense | head -c 9000000\"]\n[[score]]\npattern = \"rate {score}\"\nunit = \"x\"";
    let reported = once(&recipe(text), &cpus[..1]).unwrap_err().to_string();
    assert!(reported.contains("\"rate {score}\"") && reported.contains("nonsense nonsense"), "{reported}");
    assert!(reported.len() < 1000, "the message has {} bytes", reported.len());
    let silent = recipe("command = [\"true\"]\n[[score]]\npattern = \"rate {score}\"\nunit = \"x\"");
    assert!(once(&silent, &cpus[..1]).unwrap_err().to_string().contains("printed nothing"));
    for score in ["-5", "nan", "0", "1e999"] {
        let text = format!(
            "command = [\"echo\", \"rate: {score} ops\"]\n[[score]]\npattern = \"rate: {{score}}\"\nunit = \"x\""
        );
        let reported = once(&recipe(&text), &cpus[..1]).unwrap_err().to_string();
        assert!(reported.contains(&format!("the score {score} is not a usable number")), "{reported}");
        assert!(reported.contains(&format!("rate: {score} ops")), "{reported}");
    }
    let unproven = recipe("command = [\"echo\", \"failed\"]\nexpect = \"Solution Validates\"");
    assert!(once(&unproven, &cpus[..1]).unwrap_err().to_string().contains("Solution Validates"));
}

#[test]
fn what_takes_too_long_is_ended_and_so_is_what_we_are_asked_to_stop() {
    let cpus = cpus();
    let short = Some(Duration::from_millis(100));
    let late = run_within(&shell("exec sleep 1000"), &cpus, short, &Stop::new());
    assert_eq!(late, Err(Trouble::TimedOut(0.1)));
    let stop = Stop::new();
    stop.ask(libc::SIGINT);
    let stopped = run_within(&shell("exec sleep 1000"), &cpus, None, &stop);
    assert_eq!(stopped, Err(Trouble::Stopped(libc::SIGINT)));
}

#[test]
fn a_command_reads_nothing_and_each_copy_is_reported_its_own_cpu() {
    let cpus = cpus();
    assert!(once(&shell("cat"), &cpus[..1]).is_ok());
    let job = shell("test {cpus} -ge 0");
    assert!(once(&job, &cpus).is_ok(), "a copy was given a list of CPUs instead of one CPU");
}

#[test]
fn hundreds_of_copies_start_together_and_all_are_counted() {
    // As many copies as a large machine has CPUs, on the few CPUs of this machine. The number is limited by the
    // open-file limit.
    let first = cpus()[0];
    let many = vec![first; 100];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    // All copies wait at their gates until the last one is ready, so none has run before.
    let line = format!("echo x >> {}", file.display());
    let run = once(&shell(&line), &many).unwrap();
    assert_eq!(run.seconds.len(), many.len());
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), many.len());
}
