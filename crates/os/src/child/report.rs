//! A child's report on its start, sent through a pipe that closes when the child's program starts.

use std::ffi::OsStr;
use std::io::{PipeReader, Read};
use std::path::PathBuf;

use rustix::io::Errno;

use super::error::{NotExecutable, Obstacle, SpawnError};
use super::find;
use super::start::Step;

/// This process's end of a child's report pipe, with the data needed to explain an error.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) pipe: PipeReader,
    pub(super) file: PathBuf,
    pub(super) cpus: String,
}

impl Reports {
    /// Waits for a child's report on its start. `None` if the child has reached its gate, or if its program runs, so
    /// that the pipe is closed.
    pub(super) fn read_failure(&self, program: &OsStr) -> Option<SpawnError> {
        let mut numbers = [[0u8; 4]; 2];
        (&self.pipe).read_exact(numbers.as_flattened_mut()).ok()?;
        let [step, errno] = numbers.map(u32::from_ne_bytes);
        match Step::from_number(step) {
            Step::Ready => None,
            step => Some(self.explain(program, step, errno as i32)),
        }
    }

    fn explain(&self, program: &OsStr, step: Step, errno: i32) -> SpawnError {
        let program = program.to_string_lossy().into_owned();
        let error = Errno::from_raw_os_error(errno);
        let cpus = || self.cpus.clone();
        let why = match (step, errno) {
            (Step::Folder, _) => Obstacle::Folder(error),
            (Step::Affinity, libc::EINVAL) => Obstacle::NoSuchCpus(cpus()),
            (Step::Affinity, _) => Obstacle::Affinity(cpus(), error),
            (Step::Memory, libc::EPERM | libc::ENOSYS) => Obstacle::MemoryPolicyRefused,
            (Step::Memory, _) => Obstacle::Memory(error),
            (Step::Streams, _) => Obstacle::Streams(error),
            (_, libc::E2BIG) => Obstacle::TooLong,
            (_, libc::ETXTBSY) => Obstacle::BeingWritten,
            (_, errno) => {
                let why = match errno {
                    libc::ENOENT => find::read_interpreter(&self.file)
                        .map_or(NotExecutable::NoLoader, NotExecutable::NoInterpreter),
                    libc::ENOEXEC => NotExecutable::OtherArchitecture,
                    libc::EACCES | libc::EPERM => NotExecutable::Forbidden(error),
                    _ => return SpawnError::Other { program, why: Obstacle::System(error) },
                };
                return SpawnError::NotExecutable { program, why };
            }
        };
        SpawnError::Other { program, why }
    }
}
