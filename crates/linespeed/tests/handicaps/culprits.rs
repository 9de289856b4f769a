//! Who takes what from a machine is named by `run`, `stat` and `live`: its name, its number, and what it takes.

use std::io::Write;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use record::Record;

use crate::cpus::{allowed, spin};
use crate::disturbance::Watch;
use crate::live::{compute, for_ever, homes};
use crate::memory::{triad, walk};
use crate::support::cgroup::Group;
use crate::support::confine::Confine;
use crate::support::{folder, linespeed, measured, skipped};
use crate::trial::{counted, wanted, without_precedence};
use crate::worker::Worker;

/// What each of the three commands says of the process with this number, in all that it prints as JSON.
fn said_of(pid: i32, cpu: u32) -> [(&'static str, String); 3] {
    let folder = folder();
    let place = folder.path().join("stat.json");
    // Loops that meet the process on its CPU.
    let line = format!("taskset -c {cpu} sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'");
    let stat = ["stat", "--quiet-output", "--output", place.to_str().unwrap(), "--", "sh", "-c", &line];
    let ran = measured(linespeed(["run", "clock", "bandwidth", "costs", "--quick", "--json"])).succeeds();
    // With the ceilings of this machine, of which a share is told.
    let recorded = |line: &[&str]| {
        let mut command = linespeed(line);
        command.env("HOME", &homes().0);
        measured(command).succeeds()
    };
    recorded(&stat);
    let live = recorded(&["live", "--once", "5s", "--json"]);
    let stat = serde_json::to_value(Record::read(&place).unwrap()).unwrap();
    let all = [
        ("run", serde_json::from_str(&ran.stdout).unwrap()),
        ("stat", stat),
        ("live", serde_json::from_str(live.stdout.lines().last().unwrap()).unwrap()),
    ];
    all.map(|(command, value)| (command, sentence_of(&value, &format!("pid {pid}")).unwrap_or_default()))
}

/// The first text in it that holds these words, from them on.
fn sentence_of(value: &serde_json::Value, words: &str) -> Option<String> {
    match value {
        serde_json::Value::String(text) => text.find(words).map(|at| text[at..].to_owned()),
        serde_json::Value::Array(all) => all.iter().find_map(|one| sentence_of(one, words)),
        serde_json::Value::Object(all) => all.values().find_map(|one| sentence_of(one, words)),
        _ => None,
    }
}

/// Each of the commands says one of these words of it, before it says anything of another process.
#[track_caller]
fn is_named(test: &str, takes: &[&str], stage: impl Fn(u32) -> Result<Culprit, String>) {
    if !wanted(test) {
        return;
    }
    let _alone = without_precedence();
    homes();
    let cpu = allowed().iter().last().unwrap();
    let trial = || {
        let culprit = stage(cpu)?;
        let beside = Watch::begin();
        std::thread::sleep(Duration::from_millis(500));
        let said = said_of(culprit.pid, cpu);
        let seen = beside.seen();
        let _ = writeln!(std::io::stderr(), "{test}: {said:?}; {seen}");
        if seen.is_too_much() { Err(seen.to_string()) } else { Ok(said) }
    };
    let Some(all) = counted(test, trial) else { return };
    for at in 0..3 {
        let of_it = |said: &str| said.split("pid ").nth(1).unwrap_or("").to_owned();
        let named = |said: &str| takes.iter().any(|words| of_it(said).contains(words));
        let right = all.iter().filter(|said| named(&said[at].1)).count();
        assert!(2 * right > all.len(), "{} does not say {takes:?} of it: {all:#?}", all[0][at].0);
    }
}

/// A process that takes something until this is dropped.
struct Culprit {
    pid: i32,
    _ends: Box<dyn std::any::Any>,
}

fn begun<W: FnMut() -> f64>(worker: Worker, work: impl FnOnce() -> W) -> Culprit {
    let running = worker.start(work);
    running.begin();
    Culprit { pid: running.pid(), _ends: Box::new(running) }
}

/// A unit of systemd that is stopped when this is dropped.
struct Unit(String);

impl Drop for Unit {
    fn drop(&mut self) {
        let _ = Command::new("systemctl").args(["stop", &self.0]).output();
    }
}

#[test]
fn a_hog_is_named_with_its_share_of_the_bandwidth() {
    is_named("a_hog_is_named_with_its_share_of_the_bandwidth", &["% of the memory bandwidth"], |cpu| {
        Ok(begun(Worker::default().on_cpu(cpu), || {
            let mut streams = triad(Duration::from_millis(100));
            move || for_ever(|| _ = streams())
        }))
    });
}

#[test]
fn who_goes_through_the_last_cache_is_named() {
    // Of half of what the CPU's last cache holds as the machine shows it, each line again and again.
    is_named(
        "who_goes_through_the_last_cache_is_named",
        &["larger than its core's caches", "memory bandwidth"],
        |cpu| {
            Ok(begun(Worker::default().on_cpu(cpu), || {
                let mut walks = walk(24 << 20);
                move || for_ever(|| _ = walks())
            }))
        },
    );
}

#[test]
fn a_storm_of_datagrams_is_named_with_its_softirqs() {
    is_named("a_storm_of_datagrams_is_named_with_its_softirqs", &["softirqs"], |cpu| {
        Ok(begun(Worker::default().on_cpu(cpu), || {
            let to = UdpSocket::bind("127.0.0.1:0").unwrap();
            to.set_nonblocking(true).unwrap();
            let (from, place) = (UdpSocket::bind("127.0.0.1:0").unwrap(), to.local_addr().unwrap());
            move || {
                for_ever(|| {
                    let _ = from.send_to(&[0; 64], place);
                    let _ = to.recv(&mut [0; 64]);
                })
            }
        }))
    });
}

#[test]
fn a_containers_process_is_named_with_its_cgroup() {
    const TEST: &str = "a_containers_process_is_named_with_its_cgroup";
    let group = match Group::new("cpu", &[]) {
        Ok(group) => group,
        Err(why) => return skipped(TEST, &why),
    };
    let name = format!("cgroup /{}", group.path().file_name().unwrap().to_string_lossy());
    is_named(TEST, &[&name], |cpu| Ok(begun(Worker::default().on_cpu(cpu).in_group(&group), spin)));
}

#[test]
fn a_units_process_is_named_with_its_unit() {
    const TEST: &str = "a_units_process_is_named_with_its_unit";
    if !std::path::Path::new("/run/systemd/system").exists() {
        return skipped(TEST, "systemd does not run here");
    }
    let unit = format!("linespeed-test-{}.service", std::process::id());
    is_named(TEST, &[&unit], |cpu| {
        let line = format!("exec taskset -c {cpu} sh -c 'while :; do :; done'");
        let printed = |words: &[&str]| {
            let ran = Command::new(words[0]).args(&words[1..]).output().map_err(|error| error.to_string())?;
            Ok::<String, String>(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
        };
        printed(&["systemd-run", "--unit", &unit, "sh", "-c", &line])?;
        let ends = Unit(unit.clone());
        let pid = printed(&["systemctl", "show", "--property", "MainPID", "--value", &unit])?;
        let pid = pid.parse().map_err(|_| "the unit has no process".to_owned())?;
        Ok(Culprit { pid, _ends: Box::new(ends) })
    });
}

#[test]
fn a_real_time_thief_is_named_with_class_and_priority() {
    is_named("a_real_time_thief_is_named_with_class_and_priority", &["SCHED_FIFO priority 10"], |cpu| {
        let urgent = Worker::default().on_cpu(cpu).step(|| os::set_fifo(10));
        let thief = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            begun(urgent, || {
                || {
                    for_ever(|| {
                        let began = Instant::now();
                        while began.elapsed() < Duration::from_millis(10) {
                            compute();
                        }
                        std::thread::sleep(Duration::from_millis(10));
                    })
                }
            })
        }));
        thief.map_err(|_| "SCHED_FIFO is refused".to_owned())
    });
}
