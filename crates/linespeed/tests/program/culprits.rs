//! Who works beside it is named, with its scheduling class, in `run`, `stat` and `live`.

use std::process::{Child, Command};

use record::Record;
use record::live::Process;

use crate::support::confine::Confine;
use crate::support::started::spawned;
use crate::support::{emulated, folder, linespeed, root, run, skipped};

/// A shell that computes for a while and then sleeps for a hundredth of a second, again and again.
fn worker(confine: impl FnOnce(Command) -> Command) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.01; done"]);
    spawned(&mut confine(command))
}

/// The worker among those that are named; `None`, which is said, where as many others had more.
fn named<'a>(test: &str, all: &'a [Process], worker: &Child) -> Option<&'a Process> {
    let found = all.iter().find(|one| one.pid as u32 == worker.id());
    if found.is_none() {
        assert!(all.len() >= 3, "it is not among {all:?}");
        skipped(test, "others had more of the CPUs");
    }
    found
}

#[test]
fn who_works_beside_is_named_with_its_class_by_run_stat_and_live() {
    let test = "who_works_beside_is_named_with_its_class_by_run_stat_and_live";
    if emulated() {
        return skipped(test, "the emulator's own threads are seen");
    }
    let nice = |command: Command| {
        command.step(|| {
            // SAFETY: takes numbers.
            match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -5) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    };
    if !root() {
        return skipped(test, "it needs root for another nice value and SCHED_FIFO");
    }
    let mut workers = [worker(nice), worker(|command| command.step(|| os::set_fifo(10)))];
    let folder = folder();
    let places = ["run.json", "stat.json"].map(|name| folder.path().join(name));
    let commands = [
        vec!["run", "clock", "costs", "--quick", "--output", places[0].to_str().unwrap()],
        vec!["stat", "--output", places[1].to_str().unwrap(), "--", "sleep", "1.5"],
    ];
    let ran = commands.map(|words| run(linespeed(words)));
    let live = run(linespeed(["live", "--once", "1500ms", "--json"]));
    workers.iter_mut().for_each(|worker| {
        worker.kill().unwrap();
        worker.wait().unwrap();
    });
    assert!(ran.iter().all(|ran| ran.code == Some(0)) && live.code == Some(0), "{ran:?} {live:?}");
    let screen: serde_json::Value = serde_json::from_str(live.stdout.lines().last().unwrap()).unwrap();
    let of_live: Vec<Process> = serde_json::from_value(screen["interval"]["processes"].clone()).unwrap();
    let of_records = places.map(|place| Record::read(&place).unwrap().conditions.beside);
    for all in of_records.into_iter().chain([of_live]) {
        let [Some(nice), Some(urgent)] = [&workers[0], &workers[1]].map(|worker| named(test, &all, worker))
        else {
            return;
        };
        assert!(nice.cpu > 0.0 && nice.nice == Some(-5) && nice.name == "sh", "{nice:?}");
        let class = (urgent.class.as_deref(), urgent.priority, urgent.real_time);
        assert_eq!(class, (Some("SCHED_FIFO"), Some(10), true), "{urgent:?}");
    }
}
