//! linespeed's kernel module: built against Debian's headers with the program's own code, and tested in a machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::headers;
use crate::kernel::{command_for, output};
use crate::shape::Architecture;

/// The program that builds and tests the module, an example of the crate `overhead`.
pub const PROGRAM: &str = "kernel_module";

/// An example of one of linespeed's crates, next to linespeed from the same build.
pub fn find_example(linespeed: &Path, of_crate: &str, name: &str) -> Result<PathBuf, Failure> {
    let program = linespeed.with_file_name("examples").join(name);
    if program.is_file() {
        return Ok(program);
    }
    let how = format!("cargo build -p linespeed-{of_crate} --example {name}");
    Err(Failure::Cannot(format!("{}: no such file; run: {how}", program.display())))
}

/// The program that builds the module.
pub fn find_builder(linespeed: &Path) -> Result<PathBuf, Failure> {
    find_example(linespeed, "overhead", PROGRAM)
}

/// Builds the module for a kernel into `file`, with all warnings enabled; returns the program's output.
pub fn build(
    program: &Path,
    architecture: Architecture,
    release: &str,
    cache: &Path,
    file: &Path,
) -> Result<String, Failure> {
    let headers = headers::find(cache, architecture, release)?;
    let mut command = command_for(architecture, program);
    command.arg("build").arg(&headers).arg(file).args(["W=1", "KCFLAGS=-Werror"]);
    if architecture.name() != std::env::consts::ARCH {
        command.args(match architecture {
            Architecture::X86_64 => ["ARCH=x86_64", "CROSS_COMPILE=x86_64-linux-gnu-"],
            Architecture::Aarch64 => ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"],
        });
    }
    let done = command.output().map_err(|error| Failure::Cannot(format!("{command:?}: {error}")))?;
    let said = String::from_utf8_lossy(&done.stdout).trim_end().to_owned();
    if done.status.success() {
        return Ok(said);
    }
    let complaint = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    Err(Failure::Cannot(format!("{release}: {said}{complaint}")))
}

/// Builds the module for one kernel in a temporary directory; returns the error, in one line.
pub fn build_alone(
    architecture: Architecture,
    linespeed: &Path,
    release: &str,
    cache: &Path,
) -> Result<Option<String>, Failure> {
    let program = find_builder(linespeed)?;
    let folder = tempfile::tempdir().map_err(Failure::of_path(Path::new("a folder")))?;
    let file = folder.path().join(format!("linespeed-{release}.ko"));
    match build(&program, architecture, release, cache, &file) {
        Ok(_) => Ok(takes_no_more(&file)?.map(|odd| format!("FAILED {release}: {odd}"))),
        Err(Failure::Cannot(why)) => Ok(Some(format!("FAILED {why}"))),
        Err(other) => Err(other),
    }
}

/// Checks a module's code: the routine must be in a section that begins a page.
fn takes_no_more(file: &Path) -> Result<Option<String>, Failure> {
    let sections = output(Command::new("readelf").arg("-SW").arg(file))
        .map_err(|why| Failure::Cannot(format!("readelf: {why}")))?;
    let own = sections.lines().find(|line| line.contains(" .linespeed.text "));
    Ok(match own.map(|line| line.split_whitespace().next_back() == Some("4096")) {
        Some(true) => None,
        Some(false) => Some("its routine does not start on a page boundary".to_owned()),
        None => Some("it has no section for the routine".to_owned()),
    })
}
