//! Captured machines whose files are damaged, missing or replaced.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::Root;
use record::Record;
use tempfile::TempDir;

use crate::mutate::{Random, harmed};

/// Captured machines, each in a directory, with their regular files.
pub struct Tree {
    machines: Vec<(TempDir, Vec<PathBuf>)>,
}

impl Tree {
    /// Unpacks the archives in a directory.
    pub fn new(archives: &Path) -> Self {
        let entries = fs::read_dir(archives).expect("the tests' machines exist").flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "bz2"));
        paths.sort();
        Self { machines: paths.iter().map(|path| unpack(path)).collect() }
    }

    /// Damages some files of a machine as determined by these bytes, inspects it, and restores it.
    pub fn read(&self, input: &[u8]) {
        let mix = |mixed: u64, byte: &u8| mixed.wrapping_mul(0x100_0000_01b3) ^ u64::from(*byte);
        let mut random = Random(input.iter().fold(0xcbf2_9ce4_8422_2325, mix));
        let (folder, files) = &self.machines[random.below(self.machines.len())];
        let chosen: Vec<&PathBuf> =
            (0..=random.below(12)).map(|_| &files[random.below(files.len())]).collect();
        let whole: Vec<(&PathBuf, Vec<u8>)> =
            chosen.into_iter().filter_map(|path| Some((path, fs::read(path).ok()?))).collect();
        for (path, content) in &whole {
            // A file selected twice has already been replaced.
            if path.symlink_metadata().is_ok_and(|there| there.is_file()) {
                lay(path, content, &mut random);
            }
        }
        let inspected = std::panic::catch_unwind(|| inspect(folder.path()));
        for (path, content) in &whole {
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
            fs::write(path, content).expect("a file can be restored");
        }
        if let Err(panic) = inspected {
            std::panic::resume_unwind(panic);
        }
    }
}

fn unpack(archive: &Path) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a directory can be created");
    let done = Command::new("tar").arg("xjf").arg(archive).arg("-C").arg(folder.path()).status();
    assert!(done.is_ok_and(|status| status.success()), "tar could not unpack {}", archive.display());
    let (mut files, mut folders) = (Vec::new(), vec![folder.path().to_owned()]);
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    (folder, files)
}

/// Replaces a file with something else.
fn lay(path: &Path, content: &[u8], random: &mut Random) {
    fs::remove_file(path).expect("a file can be removed");
    let _ = match random.below(8) {
        0 => Ok(()),
        1 => fs::create_dir(path),
        2 => symlink(
            ["/etc/passwd", "/dev/zero", "../../../../../../../etc/passwd", "."][random.below(4)],
            path,
        ),
        3 => symlink(path, path),
        4 => {
            let name = CString::new(path.as_os_str().as_bytes()).expect("a path has no NUL byte");
            // SAFETY: the string outlives the call.
            unsafe { libc::mkfifo(name.as_ptr(), 0o644) };
            Ok(())
        }
        _ => fs::write(path, harmed(&[content.to_vec()], random)),
    };
}

fn inspect(folder: &Path) {
    let root = Root::captured(folder).expect("the directory is a captured machine");
    let mut record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
    record.machine = machine::inspect(&root).machine;
    let json = record.to_json().expect("a record can be written as JSON");
    Record::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("it cannot be read back: {error}"));
}
