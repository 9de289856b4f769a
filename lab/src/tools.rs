//! The host's tools for building a kernel module in a machine: programs, their libraries, the compiler's own files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::kernel::output;
use crate::program::read_elf;
use crate::shape::Architecture;
use crate::tree::Tree;

/// Programs called by the kernel's makefiles: make, the compiler and its tools, a shell and the commands in its
/// scripts.
const TOOLS: [&str; 49] = [
    "make", "gcc", "as", "ld", "ar", "nm", "objcopy", "objdump", "readelf", "strip", "sh", "awk", "sed",
    "grep", "find", "xargs", "cmp", "basename", "cat", "chmod", "comm", "cp", "cut", "date", "dirname",
    "echo", "env", "expr", "false", "head", "ln", "ls", "mkdir", "mktemp", "mv", "printf", "pwd", "readlink",
    "rm", "sort", "tail", "tee", "test", "touch", "tr", "true", "uname", "uniq", "wc",
];
/// Programs of the kernel's own headers that a build of a module runs.
const OF_HEADERS: [&str; 3] = ["scripts/basic/fixdep", "scripts/mod/modpost", "tools/objtool/objtool"];

/// Adds the tools to the tree: each program at its original path, because it searches for its files relative to that
/// path, with a link in `/bin`.
pub fn gather(tree: &mut Tree, architecture: Architecture) -> Result<(), Failure> {
    if architecture.name() != std::env::consts::ARCH {
        return Err(Failure::Cannot(format!(
            "the compiler in the machine is this host's own, which runs only on {}",
            std::env::consts::ARCH
        )));
    }
    let mut programs = BTreeSet::new();
    for name in TOOLS {
        let program = on_path(name)?;
        tree.link(&format!("/bin/{name}"), &program)?;
        programs.insert(program);
    }
    let gcc = on_path("gcc")?;
    // Distributions' headers call the compiler by the version with which the kernel was built.
    for name in names_of(&gcc) {
        tree.link(&format!("/bin/{name}"), &gcc)?;
    }
    let asked = |what: &str| {
        let reported = output(Command::new(&gcc).arg(what)).map_err(Failure::Cannot)?;
        let path = PathBuf::from(reported.trim());
        if path.is_absolute() { Ok(path) } else { Err(Failure::Cannot(format!("gcc {what} prints no path"))) }
    };
    // It finds its files by this path, which may contain links.
    let compiler = asked("-print-prog-name=cc1")?;
    programs.insert(compiler);
    let headers = asked("-print-file-name=include")?;
    tree.folder(&headers, &headers, &|_| false)?;
    for program in programs {
        tree.file(&program, &program)?;
        libraries(tree, &program)?;
    }
    Ok(())
}

/// The libraries of the programs in a kernel's headers, which are in `kept`.
pub fn libraries_of_headers(tree: &mut Tree, kept: &Path) -> Result<(), Failure> {
    for name in OF_HEADERS {
        libraries(tree, &kept.join(name))?;
    }
    Ok(())
}

fn search_path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

/// A program on the search path, without links.
fn on_path(name: &str) -> Result<PathBuf, Failure> {
    let found = search_path().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let found = found.ok_or_else(|| Failure::Cannot(format!("{name} is not installed; modules need it")))?;
    fs::canonicalize(&found).map_err(Failure::of_path(&found))
}

/// Other names of a program on the search path, with a version suffix: `gcc-12`.
fn names_of(program: &Path) -> BTreeSet<String> {
    let entries =
        search_path().into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("gcc-")?;
        let numbers = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        (numbers && fs::canonicalize(entry.path()).ok()? == program).then_some(name)
    });
    named.collect()
}

/// Adds the libraries of a program, and its loader.
fn libraries(tree: &mut Tree, program: &Path) -> Result<(), Failure> {
    let bytes = fs::read(program).map_err(Failure::of_path(program))?;
    // A static program has none, which ldd reports as a failure.
    if !read_elf(&bytes).is_some_and(|(_, has_loader)| has_loader) {
        return Ok(());
    }
    let listed = output(Command::new("ldd").arg(program)).map_err(Failure::Cannot)?;
    for library in needed(&listed).map_err(|name| {
        Failure::Cannot(format!("{} needs {name}, which is not installed", program.display()))
    })? {
        tree.file(library, library)?;
    }
    Ok(())
}

/// The paths listed by `ldd`; otherwise the name of a missing library.
fn needed(listed: &str) -> Result<Vec<&Path>, &str> {
    let mut paths = Vec::new();
    for line in listed.lines().map(str::trim) {
        let (name, path) = line.split_once(" => ").unwrap_or((line, line));
        match path.split_whitespace().next() {
            Some(path) if path.starts_with('/') => paths.push(Path::new(path)),
            Some("not") => return Err(name),
            // The library mapped by the kernel itself (linux-vdso) has no file.
            _ => {}
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_that_lie_somewhere() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibelf.so.1 => /lib/x86_64-linux-gnu/libelf.so.1 (0x00007f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths = ["/lib/x86_64-linux-gnu/libelf.so.1", "/lib64/ld-linux-x86-64.so.2"].map(Path::new);
        assert_eq!(needed(listed).unwrap(), paths);
        assert_eq!(needed("\tlibelf.so.1 => not found\n"), Err("libelf.so.1"));
        assert!(needed("\tstatically linked\n").is_ok_and(|paths| paths.is_empty()));
    }

    #[test]
    fn a_tool_that_is_not_there_is_named() {
        let why = on_path("no-such-tool-anywhere").unwrap_err().to_string();
        assert!(why.contains("no-such-tool-anywhere is not installed"), "{why}");
    }
}
