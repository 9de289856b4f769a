//! linespeed's kernel module: built against Debian's headers by the program's own code, and tried out in a machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::headers;
use crate::kernel::output;
use crate::shape::Architecture;

/// The program that builds the module and tries it out, an example of the crate `measure`.
pub const PROGRAM: &str = "kernel_module";

/// The program beside a linespeed of the same build.
pub fn program(linespeed: &Path) -> Result<PathBuf, Failure> {
    let program = linespeed.with_file_name("examples").join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    let how = "cargo build -p linespeed-overhead --example kernel_module";
    Err(Failure::Cannot(format!("{}: there is none; run: {how}", program.display())))
}

/// The release of a kernel by its file's name, `vmlinuz-6.1.0-56-cloud-amd64`.
pub fn release(kernel: &Path) -> Result<&str, Failure> {
    let name = kernel.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("vmlinuz-")).ok_or_else(|| {
        Failure::Usage(format!(
            "{}: its name does not tell its release, as vmlinuz-6.1.0-56-amd64",
            kernel.display()
        ))
    })
}

/// Builds the module for a kernel into `file`, with every warning on; what the program said.
pub fn build(
    program: &Path,
    architecture: Architecture,
    release: &str,
    cache: &Path,
    file: &Path,
) -> Result<String, Failure> {
    let headers = headers::find(cache, architecture, release)?;
    let mut arguments = vec!["W=1", "KCFLAGS=-Werror"];
    let mut command = if architecture.name() == std::env::consts::ARCH {
        Command::new(program)
    } else {
        arguments.extend(match architecture {
            Architecture::X86_64 => ["ARCH=x86_64", "CROSS_COMPILE=x86_64-linux-gnu-"],
            Architecture::Aarch64 => ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"],
        });
        let mut emulator = Command::new(format!("qemu-{}", architecture.name()));
        emulator.arg(program);
        emulator
    };
    command.arg("build").arg(&headers).arg(file).args(arguments);
    let done = command.output().map_err(|error| Failure::Cannot(format!("{command:?}: {error}")))?;
    let said = String::from_utf8_lossy(&done.stdout).trim_end().to_owned();
    if done.status.success() {
        return Ok(said);
    }
    let complaint = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    Err(Failure::Cannot(format!("{release}: {said}{complaint}")))
}

/// Builds it for one kernel into a folder that goes again; what went wrong, in one line.
pub fn build_alone(
    architecture: Architecture,
    linespeed: &Path,
    release: &str,
    cache: &Path,
) -> Result<Option<String>, Failure> {
    let program = program(linespeed)?;
    let folder = tempfile::tempdir().map_err(|error| Failure::Cannot(format!("a folder: {error}")))?;
    let file = folder.path().join(format!("linespeed-{release}.ko"));
    match build(&program, architecture, release, cache, &file) {
        Ok(_) => Ok(takes_no_more(&file)?.map(|odd| format!("FAILED {release}: {odd}"))),
        Err(Failure::Cannot(why)) => Ok(Some(format!("FAILED {why}"))),
        Err(other) => Err(other),
    }
}

/// What is odd about a module's code: the routine must be in a section that begins a page.
fn takes_no_more(file: &Path) -> Result<Option<String>, Failure> {
    let sections = output(Command::new("readelf").arg("-SW").arg(file))
        .map_err(|why| Failure::Cannot(format!("readelf: {why}")))?;
    let own = sections.lines().find(|line| line.contains(" .linespeed.text "));
    Ok(match own.map(|line| line.split_whitespace().next_back() == Some("4096")) {
        Some(true) => None,
        Some(false) => Some("its routine does not begin a page".to_owned()),
        None => Some("it has no section of the routine".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_file_tells_its_release() {
        assert_eq!(release(Path::new("/x/vmlinuz-6.1.0-56-cloud-amd64")).unwrap(), "6.1.0-56-cloud-amd64");
        assert!(release(Path::new("/x/bzImage")).unwrap_err().to_string().contains("release"));
    }
}
