//! Counts with qemu's user-mode emulation of aarch64, which logs each instruction that it executes.
//!
//! `./test counts` builds the example for aarch64 and runs this test. Otherwise, the test is ignored, because it needs
//! a cross toolchain; if requested, it fails if something is missing.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use crate::hold;
use crate::mark::{MARK, pair};

/// The environment variable with the path of the aarch64 build of the example.
const EXAMPLE: &str = "LINESPEED_COUNT_AARCH64";

/// The option that makes qemu translate one instruction at a time. Its name changed in qemu 8.1.
fn one_instruction() -> &'static str {
    let help = Command::new("qemu-aarch64").arg("--help").output();
    let help = help.expect("qemu-aarch64 must be installed (Debian: apt-get install qemu-user)");
    let new = String::from_utf8_lossy(&help.stdout).contains("-one-insn-per-tb");
    if new { "-one-insn-per-tb" } else { "-singlestep" }
}

/// Number of instructions from each call of the mark to the next, according to the log at `path`. Each instruction is a
/// line that ends with the function's name.
fn between_marks(path: &Path) -> Vec<u64> {
    let mut log = BufReader::new(File::open(path).expect("qemu's log"));
    let mut line = String::new();
    let mut between = Vec::new();
    let (mut since, mut in_mark, mut marks) = (0, false, 0);
    while log.read_line(&mut line).expect("qemu's log is text") > 0 {
        if line.starts_with("Trace ") {
            let marked = line.trim_end().ends_with(MARK);
            if marked && !in_mark {
                if marks > 0 {
                    between.push(since);
                }
                marks += 1;
                since = 0;
            }
            in_mark = marked;
            since += 1;
        }
        line.clear();
    }
    between
}

#[test]
#[ignore = "needs a cross toolchain: run by ./test counts"]
fn qemu_counts_as_many_aarch64_instructions_as_are_declared() {
    let example = std::env::var_os(EXAMPLE).expect("LINESPEED_COUNT_AARCH64: the example built for aarch64");
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("qemu-{}.log", std::process::id()));
    let run = Command::new("qemu-aarch64")
        .args([one_instruction(), "-d", "exec,nochain", "-D"])
        .arg(&log)
        .arg(&example)
        .output()
        .expect("qemu-aarch64 runs");
    let listed = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{}\n{listed}\n{}", run.status, String::from_utf8_lossy(&run.stderr));
    let between = between_marks(&log);
    std::fs::remove_file(&log).expect("qemu's log can be removed");
    hold(&pair(&listed, &between));
}
