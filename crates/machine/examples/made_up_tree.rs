//! Writes the tree of a synthetic machine, to test `linespeed inspect --root` on a large one:
//! `made_up_tree DIR CPUS NODES PACKAGES THREADS`.

#[path = "../tests/all/support/tree.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod tree;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match write(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("made_up_tree: {reason}");
            ExitCode::from(2)
        }
    }
}

fn write(arguments: &[String]) -> Result<(), String> {
    let [folder, numbers @ ..] = arguments else {
        return Err("usage: made_up_tree DIR CPUS NODES PACKAGES THREADS".to_owned());
    };
    let numbers: Vec<u32> = numbers
        .iter()
        .map(|text| text.parse().map_err(|_| format!("{text:?} is not a number")))
        .collect::<Result<_, String>>()?;
    let [cpus, nodes, packages, threads] = numbers[..] else {
        return Err("usage: made_up_tree DIR CPUS NODES PACKAGES THREADS".to_owned());
    };
    let shape = tree::Shape { cpus, nodes, packages, threads };
    shape.check()?;
    shape.files().write(Path::new(folder)).map_err(|error| format!("{folder}: {error}"))
}
