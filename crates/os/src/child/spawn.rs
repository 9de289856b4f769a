//! Starting a child, and hearing whether it could be started.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::capture::Captured;
use super::error::SpawnError;
use super::process::Child;
use super::report::{Reports, read_report};
use super::spec::{Input, Output, Spec};
use super::start::{Descriptors, Plan, start};
use super::{find, tree, wait};

/// One child is started at a time: another one would keep our ends of its pipes open.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Child {
    /// Starts a child. With a gate it stands before its program, with everything else in place; else its program runs.
    pub fn spawn(spec: &Spec) -> Result<Child, SpawnError> {
        spawn(spec, &mut |_| ())
    }

    /// As [`Child::spawn`]; `beside` is called with its process number while it gets ready, on another CPU where there is
    /// one. What counts from its program's start on can be attached there. A child with a gate has not passed it then.
    pub fn spawn_beside(spec: &Spec, beside: &mut dyn FnMut(i32)) -> Result<Child, SpawnError> {
        spawn(spec, beside)
    }

    /// Lets a gated child start its program, and time begins. Does not wait for it, so that many start together; whether
    /// the program could be started [`Child::started`] tells. Nothing to do without a gate.
    pub fn release(&mut self) {
        if let Some(gate) = self.gate.take() {
            self.started = Instant::now();
            open_gate(&gate);
        }
    }

    /// Waits until the program runs, or says why it could not be started (then the child has ended, with 127 or 126).
    pub fn started(&mut self) -> Result<(), SpawnError> {
        if let Some(report) = self.report.take()
            && let Some(failure) = read_report(&report)
        {
            self.failed = Some(failure.explain(&self.program));
        }
        self.failed.clone().map_or(Ok(()), Err)
    }
}

/// Starts a child; `beside` has its process number while it sets itself up.
fn spawn(spec: &Spec, beside: &mut dyn FnMut(i32)) -> Result<Child, SpawnError> {
    let empty = OsString::new();
    let name = spec.argv.first().unwrap_or(&empty);
    let path = find::variable("PATH", spec.env);
    let found = find::program(name, path.as_deref(), spec.folder)?;
    let failed = |error: io::Error| SpawnError::Other {
        program: name.to_string_lossy().into_owned(),
        why: (&error).into(),
    };
    let _ = tree::become_subreaper();
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

/// Lets the child behind `gate` go on.
fn open_gate(gate: &OwnedFd) {
    // SAFETY: one byte of a live constant. SIGPIPE, should the child be gone, is ignored in every Rust program.
    unsafe { libc::write(gate.as_raw_fd(), c"g".as_ptr().cast(), 1) };
}
