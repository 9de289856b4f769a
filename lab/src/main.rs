//! The lab: boots virtual machines of any shape with linespeed as their only program, brings their records back, and
//! holds the records against the shapes. Emulated time is no real time: what is checked is placement, counts, shapes
//! and orders, never a speed.

mod boot;
mod checks;
mod commands;
mod failure;
mod guest;
mod headers;
mod kernel;
mod module;
mod options;
mod program;
mod qemu;
mod shape;
mod shapes;
mod signals;
mod smbios;
mod tools;
mod tree;
mod trials;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    signals::install();
    // On this thread: the kernel kills a machine when the thread that started it ends.
    match commands::run(&options::Options::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("lab: {failure}");
            ExitCode::from(failure.code())
        }
    }
}
