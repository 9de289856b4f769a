//! Children that never become their program, under QEMU's user emulation.
//!
//! There a fork copies the emulator with only the thread that forked: a lock that another of its threads held at that
//! moment is never given back, and the child hangs before it executes anything (seen with QEMU 7.2). The parent then waits
//! for ever, in `Command::spawn` itself where something is to be done between fork and exec.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Far longer than a child of these tests is still one of them.
const PATIENCE: Duration = Duration::from_secs(10);

static ENDED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Ends such children from now on.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            let mut seen = HashMap::new();
            loop {
                std::thread::sleep(PATIENCE / 5);
                look(&mut seen);
            }
        });
    });
}

/// How many were ended.
pub fn ended() -> usize {
    ENDED.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Waits until a child is its program; whether it became it.
pub fn begins(pid: u32) -> bool {
    watch();
    while is_still_these_tests(pid) {
        std::thread::sleep(Duration::from_millis(1));
    }
    !ENDED.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
}

fn look(seen: &mut HashMap<u32, Instant>) {
    let ours: Vec<u32> = children().filter(|pid| is_still_these_tests(*pid)).collect();
    seen.retain(|pid, _| ours.contains(pid));
    for pid in ours {
        if seen.entry(pid).or_insert_with(Instant::now).elapsed() < PATIENCE {
            continue;
        }
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        eprintln!("process {pid} hung between fork and exec, in the emulator; it is started again");
        // SAFETY: takes numbers; nobody has waited for the child, whose parent waits for it to begin.
        unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
    }
}

fn children() -> impl Iterator<Item = u32> {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent(*pid) == Some(std::process::id()))
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name between parentheses may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether the process has these tests among its arguments, as the emulator that runs them has.
fn is_still_these_tests(pid: u32) -> bool {
    let tests = std::env::args_os().next().map(OsString::into_encoded_bytes).unwrap_or_default();
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    !tests.is_empty() && arguments.split(|byte| *byte == 0).any(|word| word == tests)
}

#[test]
fn a_child_that_never_becomes_its_program_is_ended() {
    use std::os::unix::process::CommandExt;
    if !super::emulated() {
        return super::skipped("a_child_that_never_becomes_its_program_is_ended", "there is no emulator");
    }
    watch();
    let mut command = std::process::Command::new("true");
    // SAFETY: both calls are async-signal-safe and take numbers. Other tests wait for the ends of pipes that this child has a
    // copy of.
    unsafe {
        command.pre_exec(|| {
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
            libc::sleep(60);
            Ok(())
        });
    }
    let from = Instant::now();
    let mut child = command.spawn().unwrap();
    assert!(!begins(child.id()) && from.elapsed() < 6 * PATIENCE, "it was waited for");
    assert!(!child.wait().unwrap().success());
    let mut child = std::process::Command::new("true").spawn().unwrap();
    assert!(begins(child.id()) && child.wait().unwrap().success());
}
