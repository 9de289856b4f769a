//! Files that the command line names: a wrong one is told before anything is measured, not as one layer that is missing.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;
use crate::options::Overhead;

/// Bytes in which all that is looked for lies.
const HEAD: u64 = 0x210;

/// Refuses a kernel or a module that cannot be read, or that by its first bytes is none.
pub fn check(overhead: &Overhead) -> Result<(), Failure> {
    if let Some(path) = &overhead.vm_kernel
        && !is_kernel(&head(path, "--vm-kernel")?)
    {
        let why = "is no kernel image: name one with --vm-kernel, for instance /boot/vmlinuz-RELEASE";
        return Err(Failure::Input { path: path.clone(), why: why.to_owned() });
    }
    let modules = [(&overhead.kernel_module, "--kernel-module"), (&overhead.vm_module, "--vm-module")];
    for (path, flag) in modules {
        if let Some(path) = path
            && !is_module(&head(path, flag)?)
        {
            let why = format!(
                "is no kernel module (a relocatable ELF file, .ko, that is not compressed): name another with {flag}, or \
                 leave it out: --kernel builds one"
            );
            return Err(Failure::Input { path: path.clone(), why });
        }
    }
    Ok(())
}

/// The file's first bytes.
fn head(path: &Path, flag: &str) -> Result<Vec<u8>, Failure> {
    let unreadable = |why: String| Failure::Input {
        path: path.to_owned(),
        why: format!("cannot be read: {why}; name another file with {flag}"),
    };
    let known = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    // A pipe would be waited for, and is nothing that can be read twice.
    if !known.is_file() {
        return Err(unreadable("it is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(HEAD).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    Ok(bytes)
}

/// Whether these bytes stand there.
fn has(bytes: &[u8], at: usize, magic: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

/// Whether QEMU may boot what begins so: x86's image (Documentation/arch/x86/boot.rst), aarch64's (arm64/booting.rst), one with
/// an EFI stub, one that gzip has compressed, U-Boot's, an ELF kernel.
fn is_kernel(bytes: &[u8]) -> bool {
    let magics: [(usize, &[u8]); 6] = [
        (0x202, b"HdrS"),
        (0x38, b"ARM\x64"),
        (0, b"MZ"),
        (0, b"\x1f\x8b"),
        (0, b"\x27\x05\x19\x56"),
        (0, b"\x7fELF"),
    ];
    magics.iter().any(|(at, magic)| has(bytes, *at, magic))
}

/// Whether it is a relocatable ELF file (elf(5)); its order of bytes is the machine's, or it is another machine's.
fn is_module(bytes: &[u8]) -> bool {
    const ET_REL: u16 = 1;
    has(bytes, 0, b"\x7fELF") && has(bytes, 16, &ET_REL.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_modules_are_known_by_their_first_bytes() {
        let at = |at: usize, magic: &[u8]| [vec![0u8; at], magic.to_vec(), vec![0; 8]].concat();
        for image in [at(0x202, b"HdrS"), at(0x38, b"ARM\x64"), at(0, b"MZ"), at(0, b"\x7fELF")] {
            assert!(is_kernel(&image));
        }
        assert!(!is_kernel(b"") && !is_kernel(b"#!/bin/sh\n") && !is_kernel(&at(0x200, b"HdrS")));
        let elf = |kind: u16| [&b"\x7fELF"[..], &[2, 1, 1, 0], &[0; 8], &kind.to_ne_bytes()].concat();
        assert!(is_module(&elf(1)));
        assert!(!is_module(&elf(2)) && !is_module(&elf(3)) && !is_module(b"\x7fELF") && !is_module(b"xz"));
    }
}
