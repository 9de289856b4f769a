//! The lab: boots virtual machines of any shape with linespeed as their only program, retrieves their records, and
//! compares the records with the shapes. Emulated time is not real time: only placement, counts, shapes and orders are
//! checked, never speed.

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
    // On this thread, because the kernel kills a machine when the thread that started it exits.
    match commands::run(&options::Options::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("lab: {failure}");
            ExitCode::from(failure.code())
        }
    }
}
