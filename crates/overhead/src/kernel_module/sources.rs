//! The module's sources, which are embedded in the program, and the parts of the program whose bytes the module
//! contains.

use std::fs;
use std::io;
use std::path::Path;

/// The files of kmod/ that are needed for a build.
const FILES: [(&str, &str); 6] = [
    ("Makefile", include_str!("../../../../kmod/Makefile")),
    ("linespeed.h", include_str!("../../../../kmod/linespeed.h")),
    ("main.c", include_str!("../../../../kmod/main.c")),
    ("pass.c", include_str!("../../../../kmod/pass.c")),
    ("load.c", include_str!("../../../../kmod/load.c")),
    ("bytes.S", include_str!("../../../../kmod/bytes.S")),
];

/// Writes the sources, the routine's bytes and the adds' bytes into a directory.
///
/// # Errors
///
/// The files cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    fs::write(folder.join("primes.bin"), kernels::primes::code())?;
    fs::write(folder.join("adds.bin"), kernels::adds::code())?;
    let [first, second] = kernels::primes::returns();
    let returns = format!(
        "#define PRIMES_RETURN_1 {first}\n#define PRIMES_RETURN_2 {second}\n#define ADDS_RETURN {}\n",
        kernels::adds::return_at()
    );
    fs::write(folder.join("returns.h"), returns)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_source_of_the_module_comes_along() {
        let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kmod"));
        let sources = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = sources.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name != "LICENSE" && name != "README.md");
        names.sort();
        let mut carried = super::FILES.map(|(name, _)| name);
        carried.sort_unstable();
        assert_eq!(names, carried);
    }

    #[test]
    fn the_bytes_are_the_programs_own() {
        let folder = tempfile::tempdir().unwrap();
        super::write(folder.path()).unwrap();
        let read = |name| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("primes.bin"), kernels::primes::code());
        assert_eq!(read("adds.bin"), kernels::adds::code());
    }
}
