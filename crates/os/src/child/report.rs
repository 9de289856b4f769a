//! What a child says of its start, by the pipe that closes as its program begins.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use super::error::SpawnError;
use super::find;
use super::start::Step;

/// What a child says of its start.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) step: Step,
    errno: i32,
    file: PathBuf,
    cpus: String,
}

impl Failure {
    /// In words.
    pub(super) fn explain(&self, program: &OsStr) -> SpawnError {
        let name = program.to_string_lossy().into_owned();
        let error = io::Error::from_raw_os_error(self.errno);
        let other = |why: String| SpawnError::Other { program: name.clone(), why };
        match (self.step, self.errno) {
            (Step::Folder, _) => other(format!("its folder cannot be entered: {error}")),
            (Step::Affinity, libc::EINVAL) => other(format!(
                "CPU {} is not there, offline, or not allowed for this process; see linespeed inspect",
                self.cpus
            )),
            (Step::Affinity, _) => other(format!("it cannot be bound to CPU {}: {error}", self.cpus)),
            (Step::Memory, libc::EPERM | libc::ENOSYS) => other(
                "its memory cannot be bound to nodes: this kernel or sandbox refuses it (docker: --cap-add SYS_NICE)"
                    .to_owned(),
            ),
            (Step::Memory, _) => other(format!("its memory cannot be bound to nodes: {error}; see linespeed inspect")),
            (Step::Streams, _) => other(format!("its input and outputs cannot be set up: {error}")),
            (_, libc::ENOENT) => {
                let why = match find::interpreter(&self.file) {
                    Some(interpreter) => format!("its interpreter {interpreter:?} is missing: install it"),
                    None => "its loader is missing: it was built for another system".to_owned(),
                };
                SpawnError::NotExecutable { program: name, why }
            }
            (_, libc::ENOEXEC) => {
                let why = "it is no program of this architecture".to_owned();
                SpawnError::NotExecutable { program: name, why }
            }
            (_, libc::EACCES | libc::EPERM) => {
                let why = format!("{error}: its file system may forbid it (mount option noexec)");
                SpawnError::NotExecutable { program: name, why }
            }
            (_, libc::E2BIG) => other("its arguments and environment are too long (E2BIG)".to_owned()),
            (_, libc::ETXTBSY) => other("somebody is writing to its file; try again".to_owned()),
            _ => other(error.to_string()),
        }
    }
}

/// Our end of a child's report, with what is needed to explain it.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) pipe: OwnedFd,
    pub(super) file: PathBuf,
    pub(super) cpus: String,
}

impl Reports {
    /// Reads the child's next words; `None` at the end of them.
    fn next(&self) -> Option<[u32; 2]> {
        let mut words = [0u32; 2];
        loop {
            // SAFETY: the kernel writes at most as many bytes as the array has.
            let count =
                unsafe { libc::read(self.pipe.as_raw_fd(), words.as_mut_ptr().cast(), size_of_val(&words)) };
            match count {
                8 => return Some(words),
                count if count < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return None,
            }
        }
    }
}

/// Waits for what a child says of its start: `None` when it stands at its gate or its program runs.
pub(super) fn read_report(reports: &Reports) -> Option<Failure> {
    match reports.next() {
        Some([number, errno]) => match Step::from_number(number) {
            Step::Ready => None,
            step => {
                let (file, cpus) = (reports.file.clone(), reports.cpus.clone());
                Some(Failure { step, errno: errno as i32, file, cpus })
            }
        },
        // The pipe closed as the program began.
        None => None,
    }
}
