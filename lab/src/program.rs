//! The program that runs in the machine, and its file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::shape::Architecture;
use crate::tree::Tree;

/// The newest linespeed that cargo built for `architecture` below its target directory, as in `./test`.
pub fn find(target: &Path, architecture: Architecture) -> Result<PathBuf, Failure> {
    let triple = format!("{}-unknown-linux-gnu", architecture.name());
    let folders = [target.join(&triple), target.join("foreign").join(&triple)];
    let programs = folders
        .iter()
        .flat_map(|folder| ["release", "debug"].map(|profile| folder.join(profile).join("linespeed")))
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)));
    programs.max().map(|(_, path)| path).ok_or_else(|| {
        let how = match architecture {
            Architecture::X86_64 => "run: cargo build --release",
            Architecture::Aarch64 => "run: ./test smoke, which builds it",
        };
        let name = architecture.name();
        Failure::Cannot(format!("there is no linespeed for {name} below {}; {how}", target.display()))
    })
}

/// The bytes of a program, verified to run on `architecture` without any library, and stripped of debug information.
pub fn load(path: &Path, architecture: Architecture) -> Result<Vec<u8>, Failure> {
    let fail = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let bytes = fs::read(path).map_err(|error| fail(error.to_string()))?;
    check(&bytes, architecture).map_err(fail)?;
    Ok(stripped(path, architecture).unwrap_or(bytes))
}

/// e_machine of the ELF specification.
fn elf_machine(architecture: Architecture) -> u16 {
    match architecture {
        Architecture::X86_64 => 62,
        Architecture::Aarch64 => 183,
    }
}

/// PT_INTERP: the path of a loader.
const INTERPRETER: usize = 3;

/// The target machine of a 64-bit little-endian program (e_machine), and whether it specifies a loader (elf(5)); `None`
/// for anything else, such as a script.
pub fn read_elf(file: &[u8]) -> Option<(u16, bool)> {
    let number = |from: usize, bytes: usize| {
        let field = file.get(from..from.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) as usize)
    };
    let head = (number(0x12, 2)?, number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    let (machine, headers, size, count) = Some(head).filter(|_| file.starts_with(b"\x7fELF\x02\x01"))?;
    let kind = |index: usize| number(headers.checked_add(index * size)?, 4);
    Some((machine as u16, (0..count).any(|index| kind(index) == Some(INTERPRETER))))
}

fn check(elf: &[u8], architecture: Architecture) -> Result<(), String> {
    match read_elf(elf) {
        None => Err("is not a program for a 64-bit machine".to_owned()),
        Some((machine, _)) if machine != elf_machine(architecture) => {
            Err(format!("is not a program for {}", architecture.name()))
        }
        Some((_, true)) => Err("needs libraries, which the machine lacks; build it statically".to_owned()),
        Some((_, false)) => Ok(()),
    }
}

/// A debug build is five times as large as without debug information, and is in the machine's memory twice during boot.
/// If `strip` is not available, it is left unchanged.
fn stripped(path: &Path, architecture: Architecture) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().ok()?;
    let target = folder.path().join("init");
    let names = [format!("{}-linux-gnu-strip", architecture.name()), "strip".to_owned()];
    let strip = |name: &String| {
        let mut command = Command::new(name);
        command.arg("-o").arg(&target).arg(path).stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let bytes = names.iter().any(strip).then(|| fs::read(&target).ok())??;
    check(&bytes, architecture).is_ok().then_some(bytes)
}

/// The machine's initial file system, with `files` in `/bin`, which is on its search path, and a tree of further files.
pub fn initramfs(program: &[u8], files: &[PathBuf], tree: &Tree) -> Result<Vec<u8>, Failure> {
    let too_long = |error: wire::TooLong| Failure::Usage(error.to_string());
    let mut archive = wire::first_file_system(program).map_err(too_long)?;
    for path in files {
        let fail = |why: &dyn std::fmt::Display| Failure::Usage(format!("--with {}: {why}", path.display()));
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| fail(&"has no name"))?;
        let contents = fs::read(path).map_err(|error| fail(&error))?;
        archive.file(&format!("bin/{name}"), 0o755, &contents).map_err(too_long)?;
    }
    tree.write(&mut archive)?;
    Ok(archive.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minimal ELF file: a file header, and program headers of these `kinds`.
    fn elf(machine: u16, kinds: &[u32]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[0x12..0x14].copy_from_slice(&machine.to_le_bytes());
        bytes[0x20] = 64;
        bytes[0x36] = 56;
        bytes[0x38] = kinds.len() as u8;
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.resize(bytes.len() + 52, 0);
        }
        bytes
    }

    #[test]
    fn a_program_that_would_not_start_is_refused_before_the_machine_boots() {
        use Architecture::{Aarch64, X86_64};
        assert_eq!(check(&elf(62, &[1, 6]), X86_64), Ok(()));
        assert_eq!(check(&elf(183, &[1]), Aarch64), Ok(()));
        for (bytes, said) in [
            (elf(183, &[1]), "not a program for x86_64"),
            (elf(62, &[1, 3]), "build it static"),
            (b"#!/bin/sh".to_vec(), "not a program for a 64-bit machine"),
            (Vec::new(), "not a program"),
        ] {
            let why = check(&bytes, X86_64).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn the_newest_build_is_taken() {
        let target = tempfile::tempdir().unwrap();
        let missing = find(target.path(), Architecture::Aarch64).unwrap_err().to_string();
        assert!(missing.contains("no linespeed for aarch64"), "{missing}");
        let build = |profile: &str, seconds: u64| {
            let folder = target.path().join("foreign/aarch64-unknown-linux-gnu").join(profile);
            fs::create_dir_all(&folder).unwrap();
            let file = fs::File::create(folder.join("linespeed")).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            folder.join("linespeed")
        };
        let (_, debug) = (build("release", 1), build("debug", 2));
        assert_eq!(find(target.path(), Architecture::Aarch64).unwrap(), debug);
    }
}
