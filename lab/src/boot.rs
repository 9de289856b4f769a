//! The components with which a machine is booted: linespeed, a kernel, and additional files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::guest::{self, Job, Outcome};
use crate::options::Parts;
use crate::shape::Shape;
use crate::tree::Tree;
use crate::{kernel, program};

/// Cargo's target directory: from its environment variable, otherwise `target` in the source tree.
pub fn target() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/")).join("target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from)
}

/// The directory of downloaded kernels, inside cargo's target directory.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/")).join("target/lab")
}

/// The linespeed that runs in the machine.
pub fn program_of(shape: &Shape, parts: &Parts) -> Result<PathBuf, Failure> {
    parts.program.clone().map_or_else(|| program::find(&target(), shape.architecture), Ok)
}

/// The kernel that the machine boots.
pub fn kernel_of(shape: &Shape, parts: &Parts) -> Result<PathBuf, Failure> {
    match &parts.kernel {
        Some(path) if !path.is_file() => {
            Err(Failure::Usage(format!("--kernel {}: no such file", path.display())))
        }
        Some(path) => Ok(path.clone()),
        None => kernel::find(&cache(), shape.architecture),
    }
}

/// Additional files for a machine.
#[derive(Default)]
pub struct Along {
    /// Files for its `/bin`.
    pub files: Vec<PathBuf>,
    /// Files with their own paths.
    pub tree: Tree,
}

impl Along {
    /// These files.
    pub fn files(files: impl Into<Vec<PathBuf>>) -> Self {
        Self { files: files.into(), tree: Tree::default() }
    }
}

/// Boots a machine. With `record`, linespeed writes its record to the path from which the machine returns it.
pub fn boot_shape(
    shape: &Shape,
    arguments: &[String],
    record: bool,
    with: &Along,
    pass_on: bool,
    parts: &Parts,
) -> Result<Outcome, Failure> {
    let program = program_of(shape, parts)?;
    let bytes = program::load(&program, shape.architecture)?;
    let initramfs = program::initramfs(&bytes, &with.files, &with.tree)?;
    let kernel = kernel_of(shape, parts)?;
    let mut all = Vec::new();
    if record {
        // Before the command: arguments after `--` belong to another program.
        all.extend(["--output".to_owned(), wire::RECORD.to_owned()]);
    }
    all.extend_from_slice(arguments);
    guest::run(&Job {
        shape,
        kernel,
        initramfs: &initramfs,
        arguments: &all,
        limit: Duration::from_secs(parts.seconds.unwrap_or(shape.seconds)),
        pass_on,
        verbose: parts.verbose,
    })
}
