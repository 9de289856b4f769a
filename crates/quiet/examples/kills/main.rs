//! Kills sessions on this machine's own files, or measures how long applying and restoring take on a synthetic machine.
//!
//! ```text
//! kills live KILLS SECONDS [CPU [SEED [KNOB]]]
//!                                  changes everything (but KNOB) that root can change here, kills it, and
//!                                  restores; for a machine of the lab
//! kills program FILE KILLS SECONDS the same with the program linespeed itself, with the knobs that it sets by default
//! kills times CPUS [CPU]           apply and restore once on a synthetic machine with CPUS CPUs; with /, on this one
//! ```

mod kernel;
mod settings;
#[path = "../../tests/support/mod.rs"]
mod support;
mod tracer;
mod trials;
mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use machine::Root;
use quiet::change::Change;
use quiet::files::Files;
use quiet::knob::KnobContext;
use quiet::session::{self, Request, Session};
use record::CpuList;

use crate::kernel::Kernel;
use crate::trials::{Bench, Dice};
use crate::watchdog::Watchdog;

/// Directories that contain the knobs' files.
const FOLDERS: [&str; 6] = [
    "/proc/sys",
    "/proc/irq",
    "/sys/devices/system/cpu",
    "/sys/devices/virtual/workqueue",
    "/sys/kernel/mm",
    "/sys/module/workqueue",
];

/// The default seed. Another seed kills at other system calls.
const SEED: u64 = 11;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["live", kills, seconds, cpu @ ..] => match (kills.parse(), seconds.parse()) {
            (Ok(kills), Ok(seconds)) => {
                let seed = cpu.get(1).and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
                live(None, kills, Duration::from_secs(seconds), cpu.first().copied(), seed, cpu.get(2).copied())
            }
            _ => Err("kills live KILLS SECONDS: two numbers".into()),
        },
        ["program", file, kills, seconds] => match (kills.parse(), seconds.parse()) {
            (Ok(kills), Ok(seconds)) => live(Some(file), kills, Duration::from_secs(seconds), None, SEED, None),
            _ => Err("kills program FILE KILLS SECONDS: a path and two numbers".into()),
        },
        ["times", machine, cpu @ ..] => times(machine, cpu.first().copied()),
        _ => {
            Err("kills live KILLS SECONDS [CPU [SEED [KNOB]]], kills program FILE KILLS SECONDS, or kills times CPUS [CPU]"
                .into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("kills: {why}");
            ExitCode::FAILURE
        }
    }
}

/// All changes for keeping this CPU quiet.
fn changes(files: &dyn Files, cpu: Option<&str>) -> Result<Vec<Change>, Box<dyn std::error::Error>> {
    let quiet = match cpu {
        Some(text) => text.parse().map_err(|_| format!("{text} is no list of CPUs"))?,
        None => CpuList::new(),
    };
    Ok(trials::all_changes(&KnobContext::new(files, quiet)))
}

fn live(
    program: Option<&str>,
    kills: u32,
    limit: Duration,
    cpu: Option<&str>,
    seed: u64,
    without: Option<&str>,
) -> Result<(), Box<dyn std::error::Error>> {
    let root = Root::live();
    let read_files = || settings::contents(&FOLDERS.map(Path::new));
    let state = Path::new(if program.is_some() { quiet::state_directory::SYSTEM } else { "/tmp/kills" });
    if program.is_none() {
        let _ = std::fs::remove_dir_all(state);
        std::fs::create_dir_all(state).map_err(|error| format!("{}: {error}", state.display()))?;
    }
    let moving = moving(&read_files);
    let mut all = changes(&root, cpu)?;
    all.retain(|change| without.is_none_or(|knob| change.knob.as_str() != knob));
    let knobs: BTreeSet<&str> = all.iter().map(|change| change.knob.as_str()).collect();
    let names: Vec<&str> = knobs.into_iter().collect();
    println!("{} values of {}", all.len(), names.join(", "));
    let before = read_files();
    println!(
        "{} settings are compared, {} that move by themselves are not",
        before.len() - moving.len(),
        moving.len()
    );
    let began = Instant::now();
    // This shows that slow machines are making progress.
    let dog = Watchdog::start();
    let on_tally = |tally: &trials::Tally| {
        dog.heard();
        if tally.trials.is_multiple_of(10) {
            println!(
                "{:.0} s: {} kills in {} trials",
                began.elapsed().as_secs_f64(),
                tally.kills,
                tally.trials
            );
        }
    };
    let bench = Bench {
        program: program.map(PathBuf::from),
        on_tally: &on_tally,
        files: &root,
        changes: all,
        folder: state.to_owned(),
        read_files: &read_files,
        before,
        moving,
    };
    let tally = bench.kill(kills, began + limit, &mut Dice::new(seed));
    println!(
        "{} kills in {} trials, {:.0} s, {} not put back",
        tally.kills,
        tally.trials,
        began.elapsed().as_secs_f64(),
        tally.wrong.len()
    );
    let enough = tally.kills >= kills;
    match (tally.wrong.as_slice(), enough) {
        ([], true) => Ok(()),
        ([], false) => Err(format!("the time ended after {} of {kills} kills", tally.kills).into()),
        (wrong, _) => Err(wrong.join("\n").into()),
    }
}

/// Settings that change by themselves (random numbers, lists filled by the kernel).
fn moving(read_files: &dyn Fn() -> BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let mut moving = BTreeSet::new();
    let mut last = read_files();
    for _ in 0..3 {
        // Some change with every process that is created.
        let _ = tracer::follow(|| {}, &[]);
        std::thread::sleep(Duration::from_millis(300));
        let now = read_files();
        moving
            .extend(now.keys().chain(last.keys()).filter(|path| now.get(*path) != last.get(*path)).cloned());
        last = now;
    }
    moving
}

fn times(machine: &str, cpu: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let live = machine == "/";
    let made = support::temporary();
    let root = if live {
        Root::live()
    } else {
        let cpus: u32 = machine.parse().map_err(|_| format!("{machine} is no number of CPUs"))?;
        let tree = made.path().join("machine");
        support::made_up(&tree, cpus);
        Root::captured(&tree).map_err(|error| error.to_string())?
    };
    let kernel = Kernel::new(&root);
    let files: &dyn Files = if live { &root } else { &kernel };
    let began = Instant::now();
    let all = changes(files, cpu)?;
    let audited = began.elapsed();
    let count = all.len();
    let state = std::env::temp_dir().join(format!("kills-{}", std::process::id()));
    let request = Request {
        folder: state.clone(),
        boot: "times".to_owned(),
        command: "kills times".to_owned(),
        date: String::new(),
        stays: false,
    };
    let began = Instant::now();
    let cpu = cpu_seconds();
    let lock = session::lock(&request)?;
    let (session, written) = Session::start(files, lock, &request, all)?;
    let applied = began.elapsed();
    let restored = session.end(files)?;
    let whole = began.elapsed();
    let cpu = cpu_seconds() - cpu;
    let _ = std::fs::remove_dir_all(&state);
    let set = written.iter().filter(|written| matches!(written, quiet::apply::WriteOutcome::Set)).count();
    let back = restored
        .iter()
        .filter(|(_, restored)| matches!(restored, quiet::apply::RestoreOutcome::Back))
        .count();
    println!(
        "{count} values: looked at in {:.1} ms, {set} set in {:.1} ms, {back} put back in {:.1} ms; both took {:.1} ms of a CPU",
        audited.as_secs_f64() * 1e3,
        applied.as_secs_f64() * 1e3,
        (whole - applied).as_secs_f64() * 1e3,
        cpu * 1e3
    );
    Ok(())
}

/// CPU time of this process so far, seconds.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure, which outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
