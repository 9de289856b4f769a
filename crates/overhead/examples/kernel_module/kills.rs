//! Killed at any point: the module is unloaded, and no folder and no process stay.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::trial::{Trial, is_loaded, load, request};

/// How many are killed.
const KILLS: u64 = 25;
/// The guardian's name as the kernel has it.
const GUARDIAN: &str = "linespeed-kmod";
/// How long everything may take to be put back in a slow emulator.
const PATIENCE: Duration = Duration::from_secs(40);

/// Loads the module and makes passes until it is killed.
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

/// Processes that bear the guardian's name and have not ended.
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

/// Waits until nothing is left; what is there after that.
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

/// Kills some.
pub fn run(file: &Path, trial: &mut Trial) -> Result<(), String> {
    let mut loaded = 0;
    for kill in 0..KILLS {
        let mut child = start(file)?;
        // From its first steps to its passes.
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

/// The guardian is killed, too: the next one clears away.
fn both(file: &Path, trial: &mut Trial) -> Result<(), String> {
    let (mut child, began) = (start(file)?, Instant::now());
    while !is_loaded() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(100));
    for pid in guardians() {
        // SAFETY: takes numbers.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
    trial.hold(is_loaded(), "without a guardian it stays", || "it is gone".to_owned())?;
    let module = load(file)?;
    drop(module);
    let left = left();
    trial.hold(left.is_none(), "the next linespeed clears away what was left", || left.unwrap_or_default())
}
