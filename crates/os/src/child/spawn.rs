//! Starts a child and reports whether it could be started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::capture::Captured;
use super::error::SpawnError;
use super::process::Child;
use super::report::Reports;
use super::spec::{Input, Output, Spec};
use super::start::{Descriptors, Plan, fork_child};
use super::{find, tree, wait};

/// Children are started one at a time: a second one would inherit our ends of the first one's pipes.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Child {
    /// Starts a child. With a gate, it pauses right before starting its program; otherwise the program runs.
    pub fn spawn(spec: &Spec) -> Result<Child, SpawnError> {
        Self::spawn_beside(spec, &mut |_| ())
    }

    /// Like [`Child::spawn`], but also calls `beside` with the PID while the child sets itself up, on another CPU if
    /// available. `beside` can attach counters that must count from the program's start. At that point, a gated child
    /// has not passed its gate.
    pub fn spawn_beside(spec: &Spec, beside: &mut dyn FnMut(i32)) -> Result<Child, SpawnError> {
        let empty = OsString::new();
        let name = spec.argv.first().unwrap_or(&empty);
        let path = find::read_variable("PATH", spec.env);
        let found = find::find_program(name, path.as_deref(), spec.folder)?;
        let failed = |error: io::Error| SpawnError::Other {
            program: name.to_string_lossy().into_owned(),
            why: (&error).into(),
        };
        let _ = tree::become_subreaper();
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (report_in, report_out) = io::pipe().map_err(failed)?;
        let (gate_in, gate_out) = io::pipe().map_err(failed)?;
        let (stdout, stdout_end) = open_output(spec.stdout).map_err(failed)?;
        let (stderr, stderr_end) = open_output(spec.stderr).map_err(failed)?;
        let stdin_end = match spec.stdin {
            Input::Inherit => None,
            Input::Null => Some(open_null().map_err(failed)?),
        };
        let streams = [&stdin_end, &stdout_end, &stderr_end].map(|end| end.as_ref().map(AsRawFd::as_raw_fd));
        let descriptors = Descriptors { streams, report: report_out.as_raw_fd(), gate: gate_in.as_raw_fd() };
        let plan = Plan::new(spec, &found, descriptors).map_err(failed)?;
        let started = Instant::now();
        let pid = fork_child(&plan).map_err(failed)?;
        if spec.own_group {
            // The child also makes this call: whichever call comes first, the group exists before either process continues.
            // SAFETY: the call only takes integers.
            unsafe { libc::setpgid(pid, pid) };
        }
        tree::register(pid, spec.own_group);
        drop((report_out, gate_in, stdin_end, stdout_end, stderr_end));
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
        // A gated child reports here when it reaches its gate; any child that failed earlier also reports here.
        if let Some(error) = reports.read_failure(name) {
            wait::abandon(&mut child);
            return Err(error);
        }
        if spec.gate {
            child.report = Some(reports);
        } else {
            child.gate = None;
        }
        Ok(child)
    }

    /// Lets a gated child start its program, and starts its timer. It does not wait, because many children may start
    /// together; [`Child::started`] shows whether the program could be started. Without a gate, it does nothing.
    pub fn release(&mut self) {
        if let Some(mut gate) = self.gate.take() {
            self.started = Instant::now();
            // If the child has exited, nothing reads the byte; SIGPIPE is ignored in every Rust program.
            let _ = gate.write_all(b"g");
        }
    }

    /// Waits until the program runs, or returns the reason why it could not be started. In that case, the child has
    /// exited with 127 or 126.
    pub fn started(&mut self) -> Result<(), SpawnError> {
        if let Some(report) = self.report.take() {
            self.failed = report.read_failure(&self.program);
        }
        self.failed.clone().map_or(Ok(()), Err)
    }
}

fn open_null() -> io::Result<OwnedFd> {
    File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from)
}

/// The captured part of a stream and the child's end of the pipe; `None` for an inherited stream.
fn open_output(output: Output) -> io::Result<(Option<Captured>, Option<OwnedFd>)> {
    Ok(match output {
        Output::Inherit => (None, None),
        Output::Null => (None, Some(open_null()?)),
        Output::File(file) => (None, Some(file.as_fd().try_clone_to_owned()?)),
        Output::Capture { limit } => {
            let (read, write) = io::pipe()?;
            // SAFETY: sets a flag of a descriptor that we own.
            unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
            (Some(Captured::new(read.into(), limit)), Some(write.into()))
        }
    })
}
