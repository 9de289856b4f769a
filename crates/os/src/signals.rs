//! The first signal that people or machines end programs with asks the run to stop and keep what it has; a second one ends it
//! at once.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::Stop;

static STOP: Stop = Stop::new();

/// The command that signals are passed on to; 0 for none.
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// Passes signals on to a command instead of heeding them, until [`keep`]. For after [`install`].
pub fn pass_on_to(command: i32) {
    COMMAND.store(command, Ordering::SeqCst);
    for signal in ENDING {
        // SAFETY: the handler touches atomics and calls only async-signal-safe functions. What is ignored stays so.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action.sa_sigaction =
                pass_on as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// The command has ended: signals are ours again. Async-signal-safe.
pub fn keep() {
    COMMAND.store(0, Ordering::SeqCst);
}

extern "C" fn pass_on(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let command = COMMAND.load(Ordering::SeqCst);
    if command <= 0 {
        handle(signal);
        return;
    }
    // SAFETY: the kernel hands a siginfo of its own; kill takes numbers and is async-signal-safe.
    unsafe {
        // A terminal has told the command too; but when it goes it tells the leader of the session first.
        let from_terminal = !info.is_null() && (*info).si_code == libc::SI_KERNEL;
        if !from_terminal || signal == libc::SIGHUP {
            libc::kill(command, signal);
        }
    }
}

extern "C" fn handle(signal: i32) {
    // With children that are given time to end, the second signal ends them at once, and the third ends us.
    if STOP.signal().is_some() && !crate::child::hurry() {
        // SAFETY: both calls are async-signal-safe; the default action ends the process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    STOP.ask(signal);
}

/// A limit on file sizes (ulimit -f) becomes an error of the write instead of the end of the process.
pub fn expect_full_disks() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// What ends a program by default and can be handled: with children to end, none of them may end us alone.
const ENDING: [i32; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGALRM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGXCPU,
];

/// Installs the handlers and returns what they set.
pub fn install() -> &'static Stop {
    for signal in ENDING {
        // SAFETY: the handler touches one atomic and calls only async-signal-safe functions. A signal that the parent
        // had ignored (nohup) stays ignored.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(i32) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    &STOP
}
