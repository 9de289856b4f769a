//! Recognizes kernel images and modules by their first bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The first bytes, which contain all magic numbers.
const HEAD: u64 = 0x210;

/// Rejects files that are not kernel images bootable by QEMU, and reports the actual file type and the remedy.
///
/// # Errors
///
/// The file cannot be read, or its first bytes are not those of an image.
pub fn check_kernel(path: &Path, flag: &str) -> Result<(), String> {
    check(path, flag, is_kernel, ["is not a kernel image", "for example /boot/vmlinuz-RELEASE"])
}

/// Rejects files that are not kernel modules for this architecture, and reports the actual file type and the remedy.
///
/// # Errors
///
/// The file cannot be read, or its first bytes are not those of a module.
pub fn check_module(path: &Path, flag: &str) -> Result<(), String> {
    let what = "is not an uncompressed kernel module (a relocatable ELF file, .ko)";
    check(path, flag, is_module, [what, "or omit it (--kernel builds one)"])
}

fn check(path: &Path, flag: &str, is_it: fn(&[u8]) -> bool, [what, hint]: [&str; 2]) -> Result<(), String> {
    match head(path) {
        Ok(head) if is_it(&head) => Ok(()),
        Ok(_) => Err(format!("{what}; specify another with {flag}, {hint}")),
        Err(why) => Err(format!("cannot be read: {why}; specify another with {flag}")),
    }
}

/// The file's first bytes.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would block, and a pipe cannot be read twice.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the bytes at this offset match.
fn has(bytes: &[u8], at: usize, magic: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

/// Whether QEMU can boot a file with these first bytes: an x86 image (Documentation/arch/x86/boot.rst), an aarch64
/// image (arm64/booting.rst), an image with an EFI stub, a gzip-compressed image, a U-Boot image, or an ELF kernel.
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

/// Whether the file is a relocatable ELF file (elf(5)) with the byte order of this machine.
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
