//! fork and exec. The standard library's way waits until the program runs, so it has no room for a gate.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::capture::Captured;
use super::{Child, Input, Output, SpawnError, Spec, find, tree, wait};
use crate::sys;

/// One child is started at a time: another one's fork would keep our ends of its pipes open.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Steps of a child between fork and exec at which it can fail, as it reports them.
const READY: u32 = 0;
const FOLDER: u32 = 1;
const AFFINITY: u32 = 2;
const STREAMS: u32 = 3;
const EXEC: u32 = 4;
const MEMORY: u32 = 5;

/// All that a child needs after fork, where it may allocate nothing.
struct Plan {
    program: CString,
    argv: Vec<CString>,
    /// `sh FILE ARGS`, for a file that is neither a binary nor names an interpreter.
    shell: Option<Vec<CString>>,
    env: Vec<CString>,
    folder: Option<CString>,
    mask: Option<Vec<u64>>,
    /// Mode and nodes of its memory policy.
    memory: Option<(libc::c_int, Vec<u64>)>,
    own_group: bool,
    gated: bool,
    stdin: Option<RawFd>,
    stdout: Option<RawFd>,
    stderr: Option<RawFd>,
    report: RawFd,
    gate: RawFd,
    parent: i32,
}

/// What a child says of its start.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    stage: u32,
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
        match (self.stage, self.errno) {
            (FOLDER, _) => other(format!("its folder cannot be entered: {error}")),
            (AFFINITY, libc::EINVAL) => other(format!(
                "CPU {} is not there, offline, or not allowed for this process; see linespeed inspect",
                self.cpus
            )),
            (AFFINITY, _) => other(format!("it cannot be bound to CPU {}: {error}", self.cpus)),
            (MEMORY, libc::EPERM | libc::ENOSYS) => other(
                "its memory cannot be bound to nodes: this kernel or sandbox refuses it (docker: --cap-add SYS_NICE)"
                    .to_owned(),
            ),
            (MEMORY, _) => other(format!("its memory cannot be bound to nodes: {error}; see linespeed inspect")),
            (STREAMS, _) => other(format!("its input and outputs cannot be set up: {error}")),
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

/// Starts a child.
pub(super) fn spawn(spec: &Spec) -> Result<Child, SpawnError> {
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
    let mut plan = Plan::new(spec, &found).map_err(failed)?;
    plan.stdin = match spec.stdin {
        Input::Inherit => None,
        Input::Null => null.as_ref().map(AsRawFd::as_raw_fd),
    };
    plan.stdout = stdout_end.fd();
    plan.stderr = stderr_end.fd();
    plan.report = report_out.as_raw_fd();
    plan.gate = gate_in.as_raw_fd();
    let started = Instant::now();
    let pid = fork(&plan).map_err(failed)?;
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

fn c_string(text: &OsStr) -> io::Result<CString> {
    let refused = || io::Error::other(format!("{text:?} has a NUL byte in it"));
    CString::new(text.as_bytes()).map_err(|_| refused())
}

impl Plan {
    fn new(spec: &Spec, found: &find::Program) -> io::Result<Self> {
        let program = c_string(found.path.as_os_str())?;
        let argv = spec.argv.iter().map(|word| c_string(word)).collect::<io::Result<Vec<_>>>()?;
        let shell = found.script.then(|| {
            let mut words = vec![c"sh".to_owned(), program.clone()];
            words.extend(argv.iter().skip(1).cloned());
            words
        });
        let mut env = Vec::new();
        for (key, value) in std::env::vars_os() {
            if !spec.env.iter().any(|(other, _)| *other == key) {
                env.push((key, value));
            }
        }
        env.extend(spec.env.iter().cloned());
        let line = |(mut key, value): (OsString, OsString)| {
            key.push("=");
            key.push(value);
            c_string(&key)
        };
        Ok(Self {
            program,
            argv,
            shell,
            env: env.into_iter().map(line).collect::<io::Result<Vec<_>>>()?,
            folder: spec.folder.map(|folder| c_string(folder.as_os_str())).transpose()?,
            mask: spec.cpus.map(crate::pin::mask_of),
            memory: spec
                .memory
                .map(|memory| (sys::mode_of(memory.interleave), crate::pin::mask_of(memory.nodes))),
            own_group: spec.own_group,
            gated: spec.gate,
            stdin: None,
            stdout: None,
            stderr: None,
            report: -1,
            gate: -1,
            // SAFETY: no arguments, no memory.
            parent: unsafe { libc::getpid() },
        })
    }
}

fn pointers(words: &[CString]) -> Vec<*const libc::c_char> {
    words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Forks; the child never returns from here.
fn fork(plan: &Plan) -> io::Result<i32> {
    let (argv, env) = (pointers(&plan.argv), pointers(&plan.env));
    let shell = plan.shell.as_deref().map(pointers);
    // SAFETY: signal sets are plain data, which sigfillset fills. All signals wait during the fork, so that no handler
    // of ours runs in the child. The child only makes async-signal-safe calls on what was made before.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let pid = libc::fork();
        let error = io::Error::last_os_error();
        if pid == 0 {
            become_child(plan, &argv, shell.as_deref(), &env);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if pid < 0 { Err(error) } else { Ok(pid) }
    }
}

/// What the child does between fork and exec.
///
/// # Safety
/// Only in a child after fork, with all signals blocked; the pointers are lists that end in null of strings in `plan`.
unsafe fn become_child(
    plan: &Plan,
    argv: &[*const libc::c_char],
    shell: Option<&[*const libc::c_char]>,
    env: &[*const libc::c_char],
) -> ! {
    // SAFETY: async-signal-safe calls on numbers and on memory that outlives them.
    unsafe {
        // Handlers are ours, and what we ignore (SIGPIPE, SIGXFSZ) a command expects not to be ignored. SIGHUP and SIGINT
        // that somebody above us ignores (nohup, a job in the background) stay ignored.
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            libc::signal(signal, libc::SIG_DFL);
        }
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction != libc::SIG_IGN {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if libc::getppid() != plan.parent {
            libc::_exit(125);
        }
        if plan.own_group {
            libc::setpgid(0, 0);
        }
        for (from, to) in [(plan.stdin, 0), (plan.stdout, 1), (plan.stderr, 2)] {
            if let Some(from) = from
                && libc::dup2(from, to) < 0
            {
                fail(plan, STREAMS);
            }
        }
        if let Some(folder) = &plan.folder
            && libc::chdir(folder.as_ptr()) < 0
        {
            fail(plan, FOLDER);
        }
        if let Some(mask) = &plan.mask
            && libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len() * 8, mask.as_ptr()) < 0
        {
            fail(plan, AFFINITY);
        }
        if let Some((mode, nodes)) = &plan.memory
            // The kernel reads one bit less than it is told.
            && libc::syscall(libc::SYS_set_mempolicy, *mode, nodes.as_ptr(), nodes.len() * 64 + 1) < 0
        {
            fail(plan, MEMORY);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        if plan.gated {
            report(plan, READY, 0);
            let mut byte = 0u8;
            loop {
                match libc::read(plan.gate, (&raw mut byte).cast(), 1) {
                    1 => break,
                    count if count < 0 && errno() == libc::EINTR => {}
                    // Nobody will ever open it.
                    _ => libc::_exit(125),
                }
            }
        }
        libc::execve(plan.program.as_ptr(), argv.as_ptr(), env.as_ptr());
        if errno() == libc::ENOEXEC
            && let Some(shell) = shell
        {
            libc::execve(c"/bin/sh".as_ptr(), shell.as_ptr(), env.as_ptr());
        }
        fail(plan, EXEC)
    }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// # Safety
/// As [`become_child`].
unsafe fn fail(plan: &Plan, stage: u32) -> ! {
    let errno = errno();
    // SAFETY: as the caller promises.
    unsafe {
        report(plan, stage, errno);
        libc::_exit(if errno == libc::ENOENT { 127 } else { 126 })
    }
}

/// # Safety
/// As [`become_child`].
unsafe fn report(plan: &Plan, stage: u32, errno: i32) {
    let words = [stage, errno as u32];
    // SAFETY: eight bytes of a live array; so few are written whole.
    unsafe { libc::write(plan.report, words.as_ptr().cast(), size_of_val(&words)) };
}

/// Waits for what a child says of its start: `None` when it stands at its gate or its program runs.
pub(super) fn read_report(reports: &Reports) -> Option<Failure> {
    let mut words = [0u32; 2];
    loop {
        // SAFETY: the kernel writes at most as many bytes as the array has.
        let count =
            unsafe { libc::read(reports.pipe.as_raw_fd(), words.as_mut_ptr().cast(), size_of_val(&words)) };
        match count {
            8 if words[0] == READY => return None,
            8 => {
                let (file, cpus) = (reports.file.clone(), reports.cpus.clone());
                return Some(Failure { stage: words[0], errno: words[1] as i32, file, cpus });
            }
            count if count < 0 && errno() == libc::EINTR => {}
            // The pipe closed as the program began.
            _ => return None,
        }
    }
}

/// Lets the child behind `gate` go on.
pub(super) fn open_gate(gate: &OwnedFd) {
    // SAFETY: one byte of a live constant. SIGPIPE, should the child be gone, is ignored in every Rust program.
    unsafe { libc::write(gate.as_raw_fd(), c"g".as_ptr().cast(), 1) };
}
