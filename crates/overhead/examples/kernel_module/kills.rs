//! Kills the process at any point: the module must be unloaded, and no directory or process may remain.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::trial::{Trial, is_loaded, load, request};

/// Number of kills.
const KILLS: u64 = 25;
/// The guardian's name in the kernel.
const GUARDIAN: &str = "linespeed-kmod";
/// Maximum time until everything is restored, in a slow emulator.
const PATIENCE: Duration = Duration::from_secs(40);

/// Loads the module and runs passes until it is killed.
pub fn hold(file: &Path) -> Result<(), String> {
    let module = load(file)?;
    loop {
        for (cpu, off) in [(Some(0), true), (None, false)] {
            module.ask(&request(100_000, cpu, off)).map_err(|failure| failure.reason.to_string())?;
        }
    }
}

fn start(file: &Path) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .arg("hold")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())
}

/// Processes that have the guardian's name and have not ended.
fn guardians() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains(&format!("({GUARDIAN}) ")) && !stat.contains(") Z ")
    })
    .collect()
}

fn folders() -> usize {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("linespeed-module-")).count()
}

/// Waits until nothing is left behind; returns a description of anything that remains.
pub fn left() -> Option<String> {
    let began = Instant::now();
    loop {
        let (loaded, guardians, folders) = (is_loaded(), guardians().len(), folders());
        if !loaded && guardians == 0 && folders == 0 {
            return None;
        }
        if began.elapsed() > PATIENCE {
            return Some(format!("loaded {loaded}, {guardians} guardians, {folders} folders"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs the kills.
pub fn run(file: &Path, trial: &mut Trial) -> Result<(), String> {
    let mut loaded = 0;
    for kill in 0..KILLS {
        let mut child = start(file)?;
        // Kill times from its first steps to its passes.
        std::thread::sleep(Duration::from_millis(kill * kill));
        loaded += u32::from(is_loaded());
        child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
        let left = left();
        trial.hold(
            left.is_none(),
            &format!("nothing is left of one killed after {} ms", kill * kill),
            || left.unwrap_or_default(),
        )?;
    }
    println!("{KILLS} killed, {loaded} of them with the module loaded");
    trial.hold(loaded > 0, "some had loaded it", || "none".to_owned())?;
    both(file, trial)
}

/// Also kills the guardian: the next run must clean up.
fn both(file: &Path, trial: &mut Trial) -> Result<(), String> {
    let (mut child, began) = (start(file)?, Instant::now());
    while !is_loaded() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(100));
    for pid in guardians() {
        // SAFETY: the call only takes integers.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
    trial.hold(is_loaded(), "without a guardian it stays", || "it is gone".to_owned())?;
    let module = load(file)?;
    drop(module);
    let left = left();
    trial.hold(left.is_none(), "the next linespeed clears away what was left", || left.unwrap_or_default())
}
