//! Finds the program of a command, as a shell would, or the reason why it cannot be found.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::{Hint, NotExecutable, SpawnError, errno};

/// The default search path if PATH is unset, as in execvp (confstr _CS_PATH).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A program that can be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The program's file, relative to the child's directory if a relative path was specified.
    pub path: PathBuf,
    /// Whether the file is a script without a `#!` line. Shells and execvp run such a file with `sh`.
    pub script: bool,
}

/// Finds the program `name` in `path` (the child's PATH) for a child whose working directory is `folder`.
pub(crate) fn find_program(
    name: &OsStr,
    path: Option<&OsStr>,
    folder: Option<&Path>,
) -> Result<Program, SpawnError> {
    let missing = |hint| SpawnError::NotFound { program: name.to_string_lossy().into_owned(), hint };
    if name.is_empty() {
        return Err(missing(Hint::Empty));
    }
    let is_path = name.as_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if is_path {
        vec![PathBuf::from(name)]
    } else {
        // An empty entry means the current directory.
        let place = |place: PathBuf| if place.as_os_str().is_empty() { PathBuf::from(".") } else { place };
        let places = std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
        places.map(|entry| place(entry).join(name)).collect()
    };
    let mut refused = None;
    for file in candidates {
        let here = folder.map_or_else(|| file.clone(), |folder| folder.join(&file));
        match check_executable(&here) {
            Ok(()) => return Ok(Program { script: is_script(&here), path: file }),
            Err(None) => {}
            Err(Some(why)) => refused = refused.or(Some((file, why))),
        }
    }
    Err(match refused {
        Some((file, why)) => SpawnError::NotExecutable { program: file.to_string_lossy().into_owned(), why },
        None => missing(if is_path { Hint::NoSuchFile } else { find_hint(name, folder) }),
    })
}

/// Rejects a file that cannot be run, and returns the reason, or `None` if the file is missing.
fn check_executable(file: &Path) -> Result<(), Option<NotExecutable>> {
    let data = std::fs::metadata(file).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG) => None,
        _ => Some(NotExecutable::Unreadable(errno(&error))),
    })?;
    if data.is_dir() {
        return Err(Some(NotExecutable::Folder));
    }
    if rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() {
        return Ok(());
    }
    Err(Some(NotExecutable::NoPermission(file.display().to_string())))
}

/// Whether an executable file is not an ELF binary and does not begin with `#!`.
fn is_script(file: &Path) -> bool {
    let mut head = [0u8; 4];
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut head));
    match read {
        Ok(count) => !(head[..count].starts_with(b"\x7fELF") || head[..count].starts_with(b"#!")),
        // A program that may be executed but not read is treated as a binary.
        Err(_) => false,
    }
}

/// Shell builtins.
const BUILTINS: &[&str] = &[
    "alias", "bg", "cd", "command", "eval", "exec", "exit", "export", "fg", "for", "if", "jobs", "read",
    "set", "source", "time", "trap", "type", "ulimit", "umask", "unset", "wait", "while",
];

/// Details about a name that is not on PATH.
fn find_hint(name: &OsStr, folder: Option<&Path>) -> Hint {
    let text = name.to_string_lossy();
    if text.contains(|c: char| c.is_whitespace() || "|&;<>()$`\"'*?".contains(c)) {
        Hint::ShellLine
    } else if BUILTINS.contains(&&*text) {
        Hint::ShellBuiltin
    } else if folder.unwrap_or(Path::new(".")).join(name).is_file() {
        Hint::InThisFolder
    } else {
        Hint::NotOnPath
    }
}

/// The interpreter specified in the first line of a script.
pub(crate) fn read_interpreter(file: &Path) -> Option<String> {
    let mut head = [0u8; 256];
    let count = std::fs::File::open(file).ok()?.read(&mut head).ok()?;
    let line = head[..count].strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let name = String::from_utf8_lossy(line);
    name.split_whitespace().next().map(str::to_owned)
}

/// The value of a variable in a child's environment: its last value in `more` or, if `more` does not contain it, its
/// value in this process's environment.
pub(crate) fn read_variable(name: &str, more: &[(OsString, OsString)]) -> Option<OsString> {
    let own = more.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    own.or_else(|| std::env::var_os(name))
}
