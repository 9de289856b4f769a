//! Shared by the crate's tests: captured machines, hwloc's inventories of them, synthetic machines.

pub mod console;
pub mod sound;
pub mod tree;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The captured machines, by the names of their files.
pub const MACHINES: [&str; 4] =
    ["128arm-2pa2n8cluster4co", "16amd64-8n2c", "16em64t-4s2c2t-offlines", "20em64t-hybrid-1p6c2t+2ca4co1t"];

/// The directory with the captures.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines")
}

/// A directory that is removed when the test ends; in memory if possible, because a large machine has tens of thousands
/// of files.
pub fn temporary() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}

/// Unpacks a captured machine into a directory that is removed when the test ends.
pub fn unpack(name: &str) -> tempfile::TempDir {
    let target = temporary();
    let archive = folder().join(format!("{name}.tar.bz2"));
    let done = Command::new("tar").arg("xjf").arg(&archive).arg("-C").arg(target.path()).status().unwrap();
    assert!(done.success(), "tar could not unpack {}", archive.display());
    target
}

/// hwloc's inventory of a captured machine.
pub fn hwloc_says(name: &str) -> console::Console {
    let text = std::fs::read_to_string(folder().join(format!("{name}.console"))).unwrap();
    console::Console::read(&text)
}
