//! Starts a child, from the fork to the start of its program.
//!
//! The child is forked here because the standard library waits until the program runs, so a child could not wait at a
//! gate. Between fork and exec, the child only makes system calls, because the parent may have threads.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;

use super::find;
use super::spec::Spec;
use crate::error::OsError;
use crate::memory;

/// Steps at which a child can fail, as reported by the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Step {
    /// No error: the child has reached its gate.
    Ready = 0,
    Folder = 1,
    Affinity = 2,
    Streams = 3,
    Exec = 4,
    Memory = 5,
}

impl Step {
    /// The step with this number.
    pub(super) fn from_number(number: u32) -> Self {
        let all = [Step::Ready, Step::Folder, Step::Affinity, Step::Streams, Step::Memory];
        all.into_iter().find(|step| *step as u32 == number).unwrap_or(Step::Exec)
    }
}

/// The highest signal number.
const MOST_SIGNALS: i32 = 64;

/// The child's descriptors: its future standard streams, its report pipe and its gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptors {
    pub(super) streams: [Option<RawFd>; 3],
    pub(super) report: RawFd,
    pub(super) gate: RawFd,
}

/// Strings in the format of the kernel: a null-terminated list of pointers.
#[derive(Debug)]
struct StringList {
    /// Keeps the strings alive while the pointers are used.
    _strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl StringList {
    fn new(strings: Vec<CString>) -> Self {
        // Moving the list does not move the strings' bytes.
        let pointers = strings.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _strings: strings, pointers }
    }

    fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// Everything that a child needs between fork and exec.
#[derive(Debug)]
pub(super) struct Plan {
    program: CString,
    argv: StringList,
    /// `sh FILE ARGS`, for a script without a `#!` line.
    shell: Option<StringList>,
    env: StringList,
    folder: Option<CString>,
    mask: Option<Vec<u64>>,
    /// The mode and nodes of the child's memory policy.
    memory: Option<(libc::c_int, Vec<u64>)>,
    own_group: bool,
    gated: bool,
    descriptors: Descriptors,
    parent: i32,
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| OsError::ZeroByte(format!("{text:?}")).into())
}

impl Plan {
    pub(super) fn new(spec: &Spec, found: &find::Program, descriptors: Descriptors) -> io::Result<Self> {
        let program = c_string(found.path.as_os_str())?;
        let argv = spec.argv.iter().map(|word| c_string(word)).collect::<io::Result<Vec<_>>>()?;
        let shell = found.script.then(|| {
            let mut words = vec![c"sh".to_owned(), program.clone()];
            words.extend(argv.iter().skip(1).cloned());
            StringList::new(words)
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
            argv: StringList::new(argv),
            shell,
            env: StringList::new(env.into_iter().map(line).collect::<io::Result<Vec<_>>>()?),
            folder: spec.folder.map(|folder| c_string(folder.as_os_str())).transpose()?,
            mask: spec.cpus.map(crate::pin::bit_mask),
            memory: spec
                .memory
                .map(|memory| (memory::policy_mode(memory.interleave), crate::pin::bit_mask(memory.nodes))),
            own_group: spec.own_group,
            gated: spec.gate,
            descriptors,
            parent: std::process::id() as i32,
        })
    }
}

/// Forks the child; returns its PID.
pub(super) fn fork_child(plan: &Plan) -> io::Result<i32> {
    // SAFETY: signal sets are plain data, which sigfillset fills. All signals are blocked meanwhile, so none of this
    // process's handlers runs in the child, which only makes system calls and exits or execs its program in
    // `become_program`.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let pid = libc::fork();
        if pid == 0 {
            become_program(plan);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if pid < 0 { Err(error) } else { Ok(pid) }
    }
}

/// The code that runs in the child.
///
/// # Safety
/// Only in a child of [`fork_child`], with all signals blocked.
unsafe fn become_program(plan: &Plan) -> ! {
    // SAFETY: the system calls take integers and memory that outlives the calls.
    unsafe {
        reset_signals();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if libc::getppid() != plan.parent {
            libc::_exit(125);
        }
        if plan.own_group {
            libc::setpgid(0, 0);
        }
        let [stdin, stdout, stderr] = plan.descriptors.streams;
        for (from, to) in [(stdin, 0), (stdout, 1), (stderr, 2)] {
            if let Some(from) = from {
                check(plan, Step::Streams, become_stream(from, to));
            }
        }
        if let Some(folder) = &plan.folder {
            check(plan, Step::Folder, libc::chdir(folder.as_ptr()).into());
        }
        if let Some(mask) = &plan.mask {
            let answer = libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&mask[..]), mask.as_ptr());
            check(plan, Step::Affinity, answer);
        }
        if let Some((mode, nodes)) = &plan.memory {
            // The kernel uses one bit less than the specified number.
            let bits = size_of_val(&nodes[..]).wrapping_mul(8).wrapping_add(1);
            let answer = libc::syscall(libc::SYS_set_mempolicy, *mode, nodes.as_ptr(), bits);
            check(plan, Step::Memory, answer);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        if plan.gated {
            report(plan, Step::Ready, 0);
            wait_at_gate(plan);
        }
        libc::execve(plan.program.as_ptr(), plan.argv.as_ptr(), plan.env.as_ptr());
        if last_error() == libc::ENOEXEC
            && let Some(shell) = &plan.shell
        {
            libc::execve(c"/bin/sh".as_ptr(), shell.as_ptr(), plan.env.as_ptr());
        }
        check(plan, Step::Exec, -1);
        libc::_exit(126)
    }
}

/// Resets our signal handlers, which must not run in a child at its gate, and the signals that we ignore (SIGPIPE,
/// SIGXFSZ), because commands expect the default actions. SIGHUP and SIGINT stay ignored if a parent ignored them
/// (nohup, a background job).
///
/// # Safety
/// As [`become_program`].
unsafe fn reset_signals() {
    for signal in 1..=MOST_SIGNALS {
        // SAFETY: the calls use two local structures, for which all zeros is a valid value (the default action).
        unsafe {
            let none: libc::sigaction = std::mem::zeroed();
            let mut now = none;
            if libc::sigaction(signal, std::ptr::null(), &mut now) != 0 || now.sa_sigaction == libc::SIG_DFL {
                continue;
            }
            if now.sa_sigaction != libc::SIG_IGN || matches!(signal, libc::SIGPIPE | libc::SIGXFSZ) {
                libc::sigaction(signal, &none, std::ptr::null_mut());
            }
        }
    }
}

/// # Safety
/// As [`become_program`].
unsafe fn become_stream(from: RawFd, to: RawFd) -> libc::c_long {
    // SAFETY: the call only takes integers.
    let answer =
        unsafe { if from == to { libc::fcntl(from, libc::F_SETFD, 0) } else { libc::dup2(from, to) } };
    answer.into()
}

/// # Safety
/// As [`become_program`].
unsafe fn wait_at_gate(plan: &Plan) {
    let mut byte = 0u8;
    loop {
        // SAFETY: the call writes at most one byte, to a local variable.
        let count = unsafe { libc::read(plan.descriptors.gate, (&raw mut byte).cast(), 1) };
        match count {
            1 => return,
            -1 if last_error() == libc::EINTR => {}
            // Nothing will ever open the gate.
            // SAFETY: the call only takes an integer.
            _ => unsafe { libc::_exit(125) },
        }
    }
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Reports a failure and exits.
///
/// # Safety
/// As [`become_program`].
unsafe fn check(plan: &Plan, step: Step, answer: libc::c_long) {
    if answer >= 0 {
        return;
    }
    let errno = last_error();
    // SAFETY: guaranteed by the caller.
    unsafe {
        report(plan, step, errno);
        libc::_exit(if errno == libc::ENOENT { 127 } else { 126 })
    }
}

/// # Safety
/// As [`become_program`].
unsafe fn report(plan: &Plan, step: Step, errno: i32) {
    let numbers = [step as u32, errno as u32];
    // SAFETY: eight bytes of a live array. A write of so few bytes is never partial.
    unsafe { libc::write(plan.descriptors.report, numbers.as_ptr().cast(), size_of_val(&numbers)) };
}
