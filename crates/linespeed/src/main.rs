//! linespeed: measures how far a Linux machine runs below its hardware's speed.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ceilings;
mod commands;
mod delivery;
mod failure;
mod files;
mod glossary;
mod options;
mod output;
mod progress;
mod redaction;
mod sources;

use std::process::ExitCode;

use overhead::first_process;

/// A stack size, in bytes, that is sufficient for every command.
const STACK: u64 = 512 << 10;

fn main() -> ExitCode {
    match os::stack_limit().filter(|limit| *limit < STACK) {
        None => run(),
        Some(limit) => {
            let (limit, least) = (limit >> 10, STACK >> 10);
            eprintln!(
                "linespeed: the stack is limited to {limit} KiB, but {least} KiB are required: ulimit -s {least}"
            );
            ExitCode::from(3)
        }
    }
}

#[inline(never)]
fn run() -> ExitCode {
    if first_process::is_first_process() {
        first_process::run();
    }
    os::signals::expect_full_disks();
    let done = options::parse().and_then(|options| match options {
        options::Asked::Text(text) => output::print_help(text).map(|()| 0),
        options::Asked::Do(options) => commands::run(&options),
    });
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if !failure.is_broken_pipe() {
                output::complain(&failure.to_string());
            }
            ExitCode::from(failure.code())
        }
    }
}
