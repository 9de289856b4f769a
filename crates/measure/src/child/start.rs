//! The way of a child from its making to its program.
//!
//! It shares this process's memory on the way, on a stack of its own, as with vfork, but without keeping its parent waiting:
//! copying the page tables, and then each page that either writes to, takes longer than a short command. So it makes system
//! calls and nothing else, and what it reads stays where it is until it has left.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;

use super::raw::{self, Disposition};
use super::{Spec, find};
use crate::sys;

/// Steps at which a child can fail, as it reports them.
pub(super) const READY: u32 = 0;
pub(super) const FOLDER: u32 = 1;
pub(super) const AFFINITY: u32 = 2;
pub(super) const STREAMS: u32 = 3;
pub(super) const EXEC: u32 = 4;
pub(super) const MEMORY: u32 = 5;

/// The child's stack: calls of a few levels, without arrays.
const STACK: usize = 64 << 10;

/// The highest signal.
const MOST_SIGNALS: i32 = 64;

/// The child's descriptors: those that become its streams, where it reports, what it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptors {
    pub(super) streams: [Option<RawFd>; 3],
    pub(super) report: RawFd,
    pub(super) gate: RawFd,
}

/// Strings as the kernel takes them: a list of pointers that ends in null.
#[derive(Debug)]
struct Words {
    /// Held, since the pointers lead there.
    _strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Words {
    fn new(strings: Vec<CString>) -> Self {
        // A string's bytes stay where they are when the list is moved.
        let pointers = strings.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _strings: strings, pointers }
    }
}

/// All that a child reads on its way.
#[derive(Debug)]
pub(super) struct Plan {
    program: CString,
    argv: Words,
    /// `sh FILE ARGS`, for a file that is neither a binary nor names an interpreter.
    shell: Option<Words>,
    env: Words,
    folder: Option<CString>,
    mask: Option<Vec<u64>>,
    /// Mode and nodes of its memory policy.
    memory: Option<(libc::c_int, Vec<u64>)>,
    own_group: bool,
    gated: bool,
    descriptors: Descriptors,
    parent: i32,
}

/// What a child uses of our memory until its program runs or it is gone.
pub(super) struct Lent {
    plan: Box<Plan>,
    stack: Box<[MaybeUninit<u128>]>,
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lent").field("program", &self.plan.program).finish_non_exhaustive()
    }
}

// SAFETY: the pointers lead to strings that the same value owns, and nobody writes to them.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

fn c_string(text: &OsStr) -> io::Result<CString> {
    let refused = || io::Error::other(format!("{text:?} has a NUL byte in it"));
    CString::new(text.as_bytes()).map_err(|_| refused())
}

impl Plan {
    pub(super) fn new(spec: &Spec, found: &find::Program, descriptors: Descriptors) -> io::Result<Self> {
        let program = c_string(found.path.as_os_str())?;
        let argv = spec.argv.iter().map(|word| c_string(word)).collect::<io::Result<Vec<_>>>()?;
        let shell = found.script.then(|| {
            let mut words = vec![c"sh".to_owned(), program.clone()];
            words.extend(argv.iter().skip(1).cloned());
            Words::new(words)
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
            argv: Words::new(argv),
            shell,
            env: Words::new(env.into_iter().map(line).collect::<io::Result<Vec<_>>>()?),
            folder: spec.folder.map(|folder| c_string(folder.as_os_str())).transpose()?,
            mask: spec.cpus.map(crate::pin::mask_of),
            memory: spec
                .memory
                .map(|memory| (sys::mode_of(memory.interleave), crate::pin::mask_of(memory.nodes))),
            own_group: spec.own_group,
            gated: spec.gate,
            descriptors,
            // SAFETY: no arguments, no memory.
            parent: unsafe { libc::getpid() },
        })
    }
}

/// Makes the child: its number, and what must live until it has left our memory.
pub(super) fn start(plan: Plan) -> io::Result<(i32, Lent)> {
    let lent = Lent { plan: Box::new(plan), stack: Box::new_uninit_slice(STACK / size_of::<u128>()) };
    let plan: *const Plan = &raw const *lent.plan;
    let top = lent.stack.as_ptr_range().end.cast_mut().cast();
    // SAFETY: signal sets are plain data, which sigfillset fills. All signals wait meanwhile, so that no handler of ours runs
    // in the child. The child has its own stack, and of our memory it only reads the plan; both are on the heap and are
    // the caller's to keep. It ends or becomes its program in `enter`.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let argument = plan.cast_mut().cast();
        let mut pid = libc::clone(enter, top, libc::CLONE_VM | libc::SIGCHLD, argument);
        let full = [Some(libc::EAGAIN), Some(libc::ENOMEM)];
        if pid < 0 && !full.contains(&io::Error::last_os_error().raw_os_error()) {
            // Emulators of user programs, and some sandboxes, share memory between threads alone.
            pid = libc::fork();
            if pid == 0 {
                enter(argument);
            }
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if pid < 0 { Err(error) } else { Ok((pid, lent)) }
    }
}

/// Where a child begins.
extern "C" fn enter(plan: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` hands a plan over that outlives the child's way; nobody writes to it.
    unsafe { go(&*plan.cast::<Plan>()) }
}

/// What a child does.
///
/// # Safety
/// Only in a child of [`start`], with all signals blocked.
unsafe fn go(plan: &Plan) -> ! {
    // SAFETY: system calls on numbers and on memory that outlives them.
    unsafe {
        default_signals();
        call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0]);
        if call(libc::SYS_getppid, [0; 4]) != plan.parent as isize {
            leave(125);
        }
        if plan.own_group {
            call(libc::SYS_setpgid, [0; 4]);
        }
        let [stdin, stdout, stderr] = plan.descriptors.streams;
        for (from, to) in [(stdin, 0), (stdout, 1), (stderr, 2)] {
            if let Some(from) = from {
                become_stream(plan, from, to);
            }
        }
        if let Some(folder) = &plan.folder {
            let answer = call(libc::SYS_chdir, [folder.as_ptr() as usize, 0, 0, 0]);
            check(plan, FOLDER, answer);
        }
        if let Some(mask) = &plan.mask {
            let answer =
                call(libc::SYS_sched_setaffinity, [0, size_of_val(&mask[..]), mask.as_ptr() as usize, 0]);
            check(plan, AFFINITY, answer);
        }
        if let Some((mode, nodes)) = &plan.memory {
            // The kernel reads one bit less than it is told.
            let bits = size_of_val(&nodes[..]).wrapping_mul(8).wrapping_add(1);
            let answer = call(libc::SYS_set_mempolicy, [*mode as usize, nodes.as_ptr() as usize, bits, 0]);
            check(plan, MEMORY, answer);
        }
        let none = 0u64;
        let set = [libc::SIG_SETMASK as usize, &raw const none as usize, 0, raw::SIGNALS];
        call(libc::SYS_rt_sigprocmask, set);
        if plan.gated {
            report(plan, READY, 0);
            wait_at_gate(plan);
        }
        let env = plan.env.pointers.as_ptr() as usize;
        let mut answer = call(
            libc::SYS_execve,
            [plan.program.as_ptr() as usize, plan.argv.pointers.as_ptr() as usize, env, 0],
        );
        if answer == -(libc::ENOEXEC as isize)
            && let Some(shell) = &plan.shell
        {
            answer = call(
                libc::SYS_execve,
                [c"/bin/sh".as_ptr() as usize, shell.pointers.as_ptr() as usize, env, 0],
            );
        }
        check(plan, EXEC, answer);
        leave(126)
    }
}

/// # Safety
/// As [`raw::call`].
unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> isize {
    // SAFETY: as the caller promises.
    unsafe { raw::call(number, arguments) }
}

/// Handlers are ours, and would run on our memory; what we ignore (SIGPIPE, SIGXFSZ) a command expects not to be ignored.
/// SIGHUP and SIGINT that somebody above us ignores (nohup, a job in the background) stay ignored.
///
/// # Safety
/// As [`go`].
unsafe fn default_signals() {
    for signal in 1..=MOST_SIGNALS {
        let mut now = Disposition::default();
        let none = Disposition::default();
        // SAFETY: two structures of this function's own, as large as the kernel's.
        unsafe {
            let asked = [signal as usize, 0, &raw mut now as usize, raw::SIGNALS];
            if call(libc::SYS_rt_sigaction, asked) != 0 || now.handler == libc::SIG_DFL {
                continue;
            }
            if now.handler != libc::SIG_IGN || matches!(signal, libc::SIGPIPE | libc::SIGXFSZ) {
                call(libc::SYS_rt_sigaction, [signal as usize, &raw const none as usize, 0, raw::SIGNALS]);
            }
        }
    }
}

/// # Safety
/// As [`go`].
unsafe fn become_stream(plan: &Plan, from: RawFd, to: RawFd) {
    // SAFETY: takes numbers.
    let answer = unsafe {
        if from == to {
            call(libc::SYS_fcntl, [from as usize, libc::F_SETFD as usize, 0, 0])
        } else {
            call(libc::SYS_dup3, [from as usize, to as usize, 0, 0])
        }
    };
    // SAFETY: as the caller promises.
    unsafe { check(plan, STREAMS, answer) };
}

/// # Safety
/// As [`go`].
unsafe fn wait_at_gate(plan: &Plan) {
    let mut byte = 0u8;
    loop {
        // SAFETY: one byte of this function's own.
        let answer =
            unsafe { call(libc::SYS_read, [plan.descriptors.gate as usize, &raw mut byte as usize, 1, 0]) };
        match answer {
            1 => return,
            interrupted if interrupted == -(libc::EINTR as isize) => {}
            // Nobody will ever open it.
            // SAFETY: as the caller promises.
            _ => unsafe { leave(125) },
        }
    }
}

/// Reports a failure, and leaves.
///
/// # Safety
/// As [`go`].
unsafe fn check(plan: &Plan, stage: u32, answer: isize) {
    if answer >= 0 {
        return;
    }
    let errno = answer.wrapping_neg() as i32;
    // SAFETY: as the caller promises.
    unsafe {
        report(plan, stage, errno);
        leave(if errno == libc::ENOENT { 127 } else { 126 })
    }
}

/// # Safety
/// As [`go`].
unsafe fn report(plan: &Plan, stage: u32, errno: i32) {
    let words = [stage, errno as u32];
    // SAFETY: eight bytes of a live array; so few are written whole.
    unsafe {
        call(
            libc::SYS_write,
            [plan.descriptors.report as usize, words.as_ptr() as usize, size_of_val(&words), 0],
        );
    }
}

/// # Safety
/// As [`go`].
unsafe fn leave(code: i32) -> ! {
    loop {
        // SAFETY: takes a number, and does not return.
        unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0]) };
    }
}
