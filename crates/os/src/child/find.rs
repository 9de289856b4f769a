//! Finds the program of a command, as a shell would, and says why there is none.

use std::ffi::{CString, OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::{Hint, NotExecutable, SpawnError};

/// Where programs are looked for when PATH is not set: execvp's own default (confstr _CS_PATH).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A program that can be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its file, relative to the child's folder where it was given so.
    pub path: PathBuf,
    /// Whether it is neither a binary nor names an interpreter: shells and execvp hand such a file to `sh`.
    pub script: bool,
}

/// Finds the program `name` in `path` (the child's PATH), for a child that starts in `folder`.
pub(crate) fn program(
    name: &OsStr,
    path: Option<&OsStr>,
    folder: Option<&Path>,
) -> Result<Program, SpawnError> {
    let shown = || name.to_string_lossy().into_owned();
    if name.is_empty() {
        return Err(SpawnError::NotFound { program: String::new(), hint: Hint::Empty });
    }
    let here = |file: &Path| folder.map_or_else(|| file.to_owned(), |folder| folder.join(file));
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match refusal(&here(&file)) {
            None => Ok(Program { script: is_script(&here(&file)), path: file }),
            Some(Refusal::Missing) => Err(SpawnError::NotFound { program: shown(), hint: Hint::NoSuchFile }),
            Some(Refusal::Because(why)) => Err(SpawnError::NotExecutable { program: shown(), why }),
        };
    }
    let mut refused = None;
    for place in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        // An empty entry is the current folder.
        let file = if place.as_os_str().is_empty() { Path::new(".").join(name) } else { place.join(name) };
        match refusal(&here(&file)) {
            None => return Ok(Program { script: is_script(&here(&file)), path: file }),
            Some(Refusal::Missing) => {}
            Some(Refusal::Because(why)) => refused = refused.or(Some((file, why))),
        }
    }
    Err(match refused {
        Some((file, why)) => SpawnError::NotExecutable { program: file.to_string_lossy().into_owned(), why },
        None => SpawnError::NotFound { program: shown(), hint: hint(name, folder) },
    })
}

enum Refusal {
    Missing,
    Because(NotExecutable),
}

/// Why a file cannot be run; `None` when it seems that it can.
fn refusal(file: &Path) -> Option<Refusal> {
    let data = match std::fs::metadata(file) {
        Ok(data) => data,
        Err(error) => {
            return Some(match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG) => Refusal::Missing,
                _ => Refusal::Because(NotExecutable::Unreadable((&error).into())),
            });
        }
    };
    if data.is_dir() {
        return Some(Refusal::Because(NotExecutable::Folder));
    }
    let name = CString::new(file.as_os_str().as_bytes()).ok()?;
    // SAFETY: the name is a string that ends in 0 and outlives the call.
    if unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0 {
        return None;
    }
    Some(Refusal::Because(NotExecutable::NoPermission(file.display().to_string())))
}

/// Whether a file that may be executed is neither an ELF binary nor begins with `#!`.
fn is_script(file: &Path) -> bool {
    let mut head = [0u8; 4];
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut head));
    match read {
        Ok(count) => !(head[..count].starts_with(b"\x7fELF") || head[..count].starts_with(b"#!")),
        // A program that may be run but not read is a binary.
        Err(_) => false,
    }
}

/// What is known of a name that is nowhere on PATH.
fn hint(name: &OsStr, folder: Option<&Path>) -> Hint {
    let text = name.to_string_lossy();
    let line = text.contains(|c: char| c.is_whitespace() || "|&;<>()$`\"'*?".contains(c));
    if line {
        return Hint::ShellLine;
    }
    if is_builtin(&text) {
        return Hint::ShellBuiltin;
    }
    let here = folder.unwrap_or(Path::new(".")).join(name);
    if here.is_file() { Hint::InThisFolder } else { Hint::NotOnPath }
}

fn is_builtin(name: &str) -> bool {
    const BUILTINS: &[&str] = &[
        "alias", "bg", "cd", "command", "eval", "exec", "exit", "export", "fg", "for", "if", "jobs", "read",
        "set", "source", "time", "trap", "type", "ulimit", "umask", "unset", "wait", "while",
    ];
    BUILTINS.contains(&name)
}

/// The interpreter that the first line of a script names.
pub(crate) fn interpreter(file: &Path) -> Option<String> {
    let mut head = [0u8; 256];
    let count = std::fs::File::open(file).ok()?.read(&mut head).ok()?;
    let line = head[..count].strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let name = String::from_utf8_lossy(line);
    name.split_whitespace().next().map(str::to_owned)
}

/// The value of a variable in a child's environment: the last of `more`, else ours.
pub(crate) fn variable(name: &str, more: &[(OsString, OsString)]) -> Option<OsString> {
    let own = more.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    own.or_else(|| std::env::var_os(name))
}
