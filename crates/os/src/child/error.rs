//! Why a command could not be started, in one line with the remedy.

use std::io;

use rustix::io::Errno;

/// Why a command could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// There is no such program.
    #[error("{program:?}: command not found; {}", hint.way_out(program))]
    NotFound {
        /// As given.
        program: String,
        /// What is known about the name.
        hint: Hint,
    },
    /// The file exists, but cannot be run.
    #[error("{program:?}: cannot be run: {why}")]
    NotExecutable {
        /// The file.
        program: String,
        /// Why.
        why: NotExecutable,
    },
    /// Another obstacle.
    #[error("{program:?}: cannot be started: {why}")]
    Other {
        /// As given.
        program: String,
        /// What.
        why: Obstacle,
    },
}

/// What is known about the name of a missing program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The command has no name.
    Empty,
    /// A path without a file.
    NoSuchFile,
    /// A whole line for a shell.
    ShellLine,
    /// A shell builtin.
    ShellBuiltin,
    /// The child's folder has such a file, but it is not on PATH.
    InThisFolder,
    /// No folder of PATH has it.
    NotOnPath,
}

/// Why an existing file cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExecutable {
    /// A folder.
    #[error("it is a directory")]
    Folder,
    /// This user may not execute this file.
    #[error("not executable for this user; chmod +x {0}, or name its interpreter before it")]
    NoPermission(String),
    /// The interpreter that its first line names is missing.
    #[error("its interpreter {0:?} is missing: install it")]
    NoInterpreter(String),
    /// A binary whose loader is missing.
    #[error("its loader is missing: built for another system")]
    NoLoader,
    /// A binary for other processors.
    #[error("not a program for this CPU architecture")]
    OtherArchitecture,
    /// The system forbids to execute it.
    #[error("{0}: its file system may be mounted noexec")]
    Forbidden(Errno),
    /// The system does not show it.
    #[error("{0}")]
    Unreadable(Errno),
}

/// What prevents a program from starting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Its folder cannot be entered.
    #[error("cannot enter its working directory: {0}")]
    Folder(Errno),
    /// There are no such CPUs, or none of them is online and allowed.
    #[error("CPU {0} does not exist, is offline, or is not allowed for this process; see linespeed inspect")]
    NoSuchCpus(String),
    /// It cannot be pinned to these CPUs.
    #[error("cannot be pinned to CPU {0}: {1}")]
    Affinity(String, Errno),
    /// The kernel or a sandbox binds no memory.
    #[error(
        "its memory cannot be bound to NUMA nodes: this kernel or sandbox refuses it (docker: --cap-add \
         SYS_NICE)"
    )]
    MemoryPolicyRefused,
    /// Its memory cannot be bound to the nodes.
    #[error("its memory cannot be bound to NUMA nodes: {0}; see linespeed inspect")]
    Memory(Errno),
    /// Its input and outputs cannot be connected.
    #[error("its input and output cannot be connected: {0}")]
    Streams(Errno),
    /// Arguments and environment exceed the kernel's limit.
    #[error("its arguments and environment are too long (E2BIG)")]
    TooLong,
    /// Its file is open for writing.
    #[error("its file is open for writing (ETXTBSY); try again")]
    BeingWritten,
    /// The limit of processes is reached.
    #[error("no more processes are allowed; raise the limit (ulimit -u, or pids.max of the cgroup)")]
    TooManyProcesses,
    /// The limit of open files is reached.
    #[error("no more open files are allowed; raise the limit (ulimit -n)")]
    TooManyFiles,
    /// Something else that the system refuses.
    #[error("{0}")]
    System(Errno),
}

/// The error number; for an error of the standard library, that of the rejected request.
pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::INVAL)
}

impl From<&io::Error> for Obstacle {
    /// Which limit is reached, if any.
    fn from(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EAGAIN) => Obstacle::TooManyProcesses,
            Some(libc::EMFILE) => Obstacle::TooManyFiles,
            _ => Obstacle::System(errno(error)),
        }
    }
}

impl SpawnError {
    /// The exit code that shells, env and timeout have for it: 127 not found, 126 not executable.
    pub fn code(&self) -> u8 {
        match self {
            SpawnError::NotFound { .. } => 127,
            SpawnError::NotExecutable { .. } | SpawnError::Other { .. } => 126,
        }
    }

    /// The same, with another name for the program.
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
            Hint::NoSuchFile => "there is no such file: check the path".to_owned(),
            Hint::ShellLine => "a shell command line needs a shell: -- sh -c 'LINE'".to_owned(),
            Hint::ShellBuiltin => format!("it is a shell builtin: -- sh -c '{program} …'"),
            Hint::InThisFolder => format!("the current directory has one: -- ./{program}"),
            Hint::NotOnPath => "not on PATH: install it, or give its path".to_owned(),
        }
    }
}
