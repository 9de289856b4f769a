//! Builds the kernel module outside a run, and tests it in a machine that may be damaged.
//!
//! ```text
//! kernel_module build HEADERS FILE.ko [MAKE-ARGUMENT…]   builds it with these headers; a warning is a failure
//! kernel_module trial FILE.ko [exact]                    loads it and runs all tests (root, in a virtual machine);
//!                                                        exact: time is proportional to instructions, and a known load
//!                                                        must be measured correctly
//! kernel_module command FILE.ko                          runs linespeed overhead --kernel, also with faults (root,
//!                                                        in a virtual machine with headers and a compiler)
//! kernel_module hold FILE.ko                             loads it and runs passes until it is killed
//! ```

mod command;
mod fuzz;
mod kills;
mod trial;
mod weather;

use std::path::Path;
use std::process::ExitCode;

use os::Stop;
use overhead::kernel_module::{Headers, LIMIT, build, sources};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["build", headers, file, more @ ..] => built(headers, file, more),
        ["trial", file] => trial::run(Path::new(file), false),
        ["trial", file, "exact"] => trial::run(Path::new(file), true),
        ["command", file] => command::run(Path::new(file)),
        ["hold", file] => kills::hold(Path::new(file)),
        _ => Err(
            "arguments: build HEADERS FILE.ko [MAKE-ARGUMENT…] | trial FILE.ko [exact] | command FILE.ko | \
                  hold FILE.ko"
                .to_owned(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the module and saves it. Warnings of a compiler or checker count as failures.
fn built(headers: &str, file: &str, more: &[&str]) -> Result<(), String> {
    let folder =
        tempfile::Builder::new().prefix("linespeed-build-").tempdir().map_err(|error| error.to_string())?;
    sources::write(folder.path()).map_err(|error| error.to_string())?;
    let arguments = more.iter().map(|word| (*word).to_owned()).collect();
    let headers = Headers { folder: headers.into(), arguments };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let done = build(LIMIT, &headers, folder.path(), &path, &Stop::new(), |_| {})
        .map_err(|failure| failure.to_string())?;
    if let Some(line) = done.words.lines().find(|line| line.to_lowercase().contains("warning")) {
        return Err(format!("the build warns: {line}"));
    }
    std::fs::copy(&done.module, file).map_err(|error| format!("{file}: {error}"))?;
    println!("{file}: built without warnings");
    Ok(())
}
