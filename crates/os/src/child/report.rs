//! What a child says of its start, by the pipe that closes as its program begins.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use super::error::{NotExecutable, Obstacle, SpawnError, SystemError};
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
    /// As the error of the start.
    pub(super) fn explain(&self, program: &OsStr) -> SpawnError {
        let program = program.to_string_lossy().into_owned();
        let system = io::Error::from_raw_os_error(self.errno);
        let error = SystemError::from(&system);
        let not_executable = match (self.step, self.errno) {
            (Step::Folder | Step::Affinity | Step::Memory | Step::Streams, _) => None,
            (_, libc::ENOENT) => Some(
                find::interpreter(&self.file).map_or(NotExecutable::NoLoader, NotExecutable::NoInterpreter),
            ),
            (_, libc::ENOEXEC) => Some(NotExecutable::OtherArchitecture),
            (_, libc::EACCES | libc::EPERM) => Some(NotExecutable::Forbidden(error)),
            _ => None,
        };
        if let Some(why) = not_executable {
            return SpawnError::NotExecutable { program, why };
        }
        let why = match (self.step, self.errno) {
            (Step::Folder, _) => Obstacle::Folder(error),
            (Step::Affinity, libc::EINVAL) => Obstacle::NoSuchCpus(self.cpus.clone()),
            (Step::Affinity, _) => Obstacle::Affinity(self.cpus.clone(), error),
            (Step::Memory, libc::EPERM | libc::ENOSYS) => Obstacle::MemoryPolicyRefused,
            (Step::Memory, _) => Obstacle::Memory(error),
            (Step::Streams, _) => Obstacle::Streams(error),
            (_, libc::E2BIG) => Obstacle::TooLong,
            (_, libc::ETXTBSY) => Obstacle::BeingWritten,
            _ => Obstacle::System(error),
        };
        SpawnError::Other { program, why }
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
