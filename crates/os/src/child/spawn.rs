//! Starting a child, and hearing whether it could be started.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::capture::Captured;
use super::start::{Descriptors, Plan, Step, start};
use super::{Child, Input, Output, SpawnError, Spec, find, tree, wait};

/// One child is started at a time: another one would keep our ends of its pipes open.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What a child says of its start.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    step: Step,
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
    pipe: OwnedFd,
    file: PathBuf,
    cpus: String,
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

/// An error of the system in words; where a limit is reached, which one.
fn limit(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            "no more processes are allowed; raise the limit (ulimit -u, or pids.max of the cgroup)".to_owned()
        }
        Some(libc::EMFILE) => "no more open files are allowed; raise the limit (ulimit -n)".to_owned(),
        _ => error.to_string(),
    }
}

/// Starts a child; `beside` has its process number while it sets itself up.
pub(super) fn spawn(spec: &Spec, beside: &mut dyn FnMut(i32)) -> Result<Child, SpawnError> {
    let empty = OsString::new();
    let name = spec.argv.first().unwrap_or(&empty);
    let path = find::variable("PATH", spec.env);
    let found = find::program(name, path.as_deref(), spec.folder)?;
    let failed = |error: io::Error| SpawnError::Other {
        program: name.to_string_lossy().into_owned(),
        why: limit(&error),
    };
    let _ = super::become_subreaper();
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (report_in, report_out) = pipe().map_err(failed)?;
    let (gate_in, gate_out) = pipe().map_err(failed)?;
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = if needs_null(spec) { Some(null.map_err(failed)?) } else { None };
    let (stdout, stdout_end) = target(spec.stdout, null.as_ref()).map_err(failed)?;
    let (stderr, stderr_end) = target(spec.stderr, null.as_ref()).map_err(failed)?;
    let stdin = match spec.stdin {
        Input::Inherit => None,
        Input::Null => null.as_ref().map(AsRawFd::as_raw_fd),
    };
    let descriptors = Descriptors {
        streams: [stdin, stdout_end.fd(), stderr_end.fd()],
        report: report_out.as_raw_fd(),
        gate: gate_in.as_raw_fd(),
    };
    let plan = Plan::new(spec, &found, descriptors).map_err(failed)?;
    let started = Instant::now();
    let pid = start(&plan).map_err(failed)?;
    if spec.own_group {
        // The child does it too; whoever comes first, it is done before either goes on.
        // SAFETY: takes numbers.
        unsafe { libc::setpgid(pid, pid) };
    }
    tree::register(pid, spec.own_group);
    drop((report_out, gate_in, stdout_end, stderr_end));
    let here = spec.folder.unwrap_or(Path::new("")).join(&found.path);
    let cpus = spec.cpus.map(ToString::to_string).unwrap_or_default();
    let reports = Reports { pipe: report_in, file: here, cpus };
    let mut child = Child {
        pid,
        own_group: spec.own_group,
        program: name.clone(),
        gate: Some(gate_out),
        report: None,
        failed: None,
        stdout,
        stderr,
        started,
        ended: None,
    };
    beside(pid);
    // A gated child says when it stands at its gate; any child that failed before says so here.
    if let Some(failure) = read_report(&reports) {
        let error = failure.explain(name);
        wait::abandon(&mut child);
        return Err(error);
    }
    child.report = spec.gate.then_some(reports);
    if !spec.gate {
        child.gate = None;
    }
    Ok(child)
}

fn needs_null(spec: &Spec) -> bool {
    spec.stdin == Input::Null || matches!(spec.stdout, Output::Null) || matches!(spec.stderr, Output::Null)
}

/// The child's end of a stream: ours to close, or somebody else's, or none.
enum End {
    Ours(OwnedFd),
    Theirs(RawFd),
    None,
}

impl End {
    fn fd(&self) -> Option<RawFd> {
        match self {
            End::Ours(fd) => Some(fd.as_raw_fd()),
            End::Theirs(fd) => Some(*fd),
            End::None => None,
        }
    }
}

fn target(output: Output, null: Option<&File>) -> io::Result<(Option<Captured>, End)> {
    Ok(match output {
        Output::Inherit => (None, End::None),
        Output::Null => (None, null.map_or(End::None, |null| End::Theirs(null.as_raw_fd()))),
        Output::File(file) => (None, End::Theirs(file.as_raw_fd())),
        Output::Capture { limit } => {
            let (read, write) = pipe()?;
            // SAFETY: sets a flag of a descriptor that we own.
            unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
            (Some(Captured::new(read, limit)), End::Ours(write))
        }
    })
}

/// A pipe that no program which we start inherits: reading end, writing end.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: pipe2 fills two descriptors that nobody else owns.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
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

/// Lets the child behind `gate` go on.
pub(super) fn open_gate(gate: &OwnedFd) {
    // SAFETY: one byte of a live constant. SIGPIPE, should the child be gone, is ignored in every Rust program.
    unsafe { libc::write(gate.as_raw_fd(), c"g".as_ptr().cast(), 1) };
}
