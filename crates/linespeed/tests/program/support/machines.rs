//! Captured machines, and trees that are none.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Unpacks a captured machine into `folder` and returns where it lies.
pub fn unpack(name: &str, folder: &Path) -> PathBuf {
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/tests/machines");
    let archive = archives.join(format!("{name}.tar.bz2"));
    let done = Command::new("tar").arg("xjf").arg(&archive).arg("-C").arg(folder).status().unwrap();
    assert!(done.success(), "tar could not unpack {}", archive.display());
    folder.to_owned()
}

/// Writes files of a tree: path below `folder` and content.
pub fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}
