//! linespeed: how far a Linux machine runs below the speed of its own hardware.

mod commands;
mod failure;
mod files;
mod options;
mod output;
mod progress;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    let options = options::parse();
    match commands::run(&options) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if !failure.is_broken_pipe() {
                eprintln!("linespeed: {failure}");
            }
            ExitCode::from(failure.code())
        }
    }
}
