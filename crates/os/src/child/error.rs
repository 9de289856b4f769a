//! The reason why a command could not be started, in one line, with the remedy.

use std::io;

use rustix::io::Errno;

/// The reason why a command could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// The program does not exist.
    #[error("{program:?}: command not found; {}", hint.way_out(program))]
    NotFound {
        /// The program, as specified by the user.
        program: String,
        /// Details about the name.
        hint: Hint,
    },
    /// The file exists, but cannot be run.
    #[error("{program:?}: cannot be run: {why}")]
    NotExecutable {
        /// The file.
        program: String,
        /// The reason.
        why: NotExecutable,
    },
    /// Another obstacle.
    #[error("{program:?}: cannot be started: {why}")]
    Other {
        /// The program, as specified by the user.
        program: String,
        /// The obstacle.
        why: Obstacle,
    },
}

/// Details about the name of a missing program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The command has no name.
    Empty,
    /// A path without a file.
    NoSuchFile,
    /// A whole shell command line.
    ShellLine,
    /// A shell builtin.
    ShellBuiltin,
    /// The file exists in the child's directory, which is not on PATH.
    InThisFolder,
    /// No directory on PATH contains the program.
    NotOnPath,
}

/// The reason why an existing file cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExecutable {
    /// The file is a directory.
    #[error("it is a directory")]
    Folder,
    /// This user may not execute this file.
    #[error("not executable by this user; run chmod +x {0}, or start it through its interpreter")]
    NoPermission(String),
    /// The interpreter in the file's first line is missing.
    #[error("its interpreter {0:?} is missing: install it")]
    NoInterpreter(String),
    /// A binary whose loader is missing.
    #[error("its loader is missing, so it is probably built for another system")]
    NoLoader,
    /// A binary for a different architecture.
    #[error("not a program for this CPU architecture")]
    OtherArchitecture,
    /// The system forbids executing the file.
    #[error("{0}: its file system may be mounted noexec")]
    Forbidden(Errno),
    /// The system does not allow reading the file.
    #[error("{0}")]
    Unreadable(Errno),
}

/// An obstacle to starting a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The child's working directory cannot be entered.
    #[error("cannot enter its working directory: {0}")]
    Folder(Errno),
    /// The CPUs do not exist, or none of them is online and allowed.
    #[error("CPU {0} does not exist, is offline, or is not allowed for this process; see linespeed inspect")]
    NoSuchCpus(String),
    /// The program cannot be pinned to these CPUs.
    #[error("cannot be pinned to CPU {0}: {1}")]
    Affinity(String, Errno),
    /// The kernel or a sandbox refuses to bind memory.
    #[error(
        "this kernel or sandbox refuses to bind memory to NUMA nodes (with docker, use --cap-add SYS_NICE)"
    )]
    MemoryPolicyRefused,
    /// The child's memory cannot be bound to the nodes.
    #[error("its memory cannot be bound to NUMA nodes ({0}); see linespeed inspect")]
    Memory(Errno),
    /// The child's standard input or outputs cannot be connected.
    #[error("its input and output cannot be connected: {0}")]
    Streams(Errno),
    /// Arguments and environment exceed the kernel's limit.
    #[error("its arguments and environment are too long (E2BIG)")]
    TooLong,
    /// The program's file is open for writing.
    #[error("its file is open for writing (ETXTBSY); try again")]
    BeingWritten,
    /// The process limit is reached.
    #[error("no more processes are allowed; raise the limit (ulimit -u, or pids.max of the cgroup)")]
    TooManyProcesses,
    /// The open-file limit is reached.
    #[error("no more open files are allowed; raise the limit (ulimit -n)")]
    TooManyFiles,
    /// Any other system error.
    #[error("{0}")]
    System(Errno),
}

/// The error number. Errors that the standard library itself creates are mapped to the corresponding number.
pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::INVAL)
}

impl From<&io::Error> for Obstacle {
    /// The limit that is reached, if any.
    fn from(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EAGAIN) => Obstacle::TooManyProcesses,
            Some(libc::EMFILE) => Obstacle::TooManyFiles,
            _ => Obstacle::System(errno(error)),
        }
    }
}

impl SpawnError {
    /// The exit code that shells, env and timeout use for this error: 127 for not found, 126 for not executable.
    pub fn code(&self) -> u8 {
        match self {
            SpawnError::NotFound { .. } => 127,
            SpawnError::NotExecutable { .. } | SpawnError::Other { .. } => 126,
        }
    }

    /// The same error with another program name.
    pub fn with_program(mut self, name: &str) -> Self {
        match &mut self {
            SpawnError::NotFound { program, .. }
            | SpawnError::NotExecutable { program, .. }
            | SpawnError::Other { program, .. } => *program = name.to_owned(),
        }
        self
    }
}

impl Hint {
    fn way_out(self, program: &str) -> String {
        match self {
            Hint::Empty => "specify a program after --".to_owned(),
            Hint::NoSuchFile => "there is no such file (check the path)".to_owned(),
            Hint::ShellLine => "a shell command line needs a shell: -- sh -c 'LINE'".to_owned(),
            Hint::ShellBuiltin => format!("it is a shell builtin: -- sh -c '{program} …'"),
            Hint::InThisFolder => format!("found in the current directory: -- ./{program}"),
            Hint::NotOnPath => "not on PATH: install it, or specify its path".to_owned(),
        }
    }
}
