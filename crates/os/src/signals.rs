//! The first signal that requests termination stops the run and preserves its results. A second one ends the program
//! immediately, unless both arrive almost together: `timeout` signals the program and then its process group.

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use rustix::time::ClockId;

use crate::Stop;

static STOP: Stop = Stop::new();

/// Whether a signal has requested that the run stop.
pub(crate) fn is_asked() -> bool {
    STOP.signal().is_some()
}

/// The command to which signals are forwarded; 0 for none.
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// Time of the last signal that was not a repetition, in ns on the monotonic clock; 0 if there was none.
static LAST: AtomicI64 = AtomicI64::new(0);

/// Signals at most this far apart, in ns, count as one signal sent twice: users cannot intentionally press Ctrl-C again
/// that fast.
const ONE_MOMENT: i64 = 200_000_000;

/// Forwards signals to a command instead of handling them, until [`keep`]. Call this after [`install`].
pub fn pass_on_to(command: i32) {
    COMMAND.store(command, Ordering::SeqCst);
}

/// The command has exited: this process handles signals again. Async-signal-safe.
pub fn keep() {
    COMMAND.store(0, Ordering::SeqCst);
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let command = COMMAND.load(Ordering::SeqCst);
    if command <= 0 {
        return heed(signal);
    }
    // SAFETY: the kernel passes its own siginfo; kill only takes integers and is async-signal-safe.
    unsafe {
        // Signals from a terminal also reach the command, so they are not forwarded. SIGHUP is forwarded anyway: when a terminal closes, it
        // first signals only the leader of the session.
        let from_terminal = !info.is_null() && (*info).si_code == libc::SI_KERNEL;
        if !from_terminal || signal == libc::SIGHUP {
            libc::kill(command, signal);
        }
    }
}

/// Whether this signal repeats the last one. Async-signal-safe.
fn is_repeated() -> bool {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    let now = now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec);
    let last = LAST.load(Ordering::Relaxed);
    let is_repeated = last != 0 && now.saturating_sub(last) < ONE_MOMENT;
    if !is_repeated {
        // Repetitions do not update the time, so holding down Ctrl-C for longer than [`ONE_MOMENT`] counts as a second signal.
        LAST.store(now, Ordering::Relaxed);
    }
    is_repeated
}

fn heed(signal: i32) {
    if is_repeated() && STOP.signal().is_some() {
        return;
    }
    // If children have a grace period, the second signal ends them immediately, and the third one ends this process.
    if STOP.signal().is_some() && !crate::child::hurry() {
        // SAFETY: both calls are async-signal-safe; the default action ends the process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    STOP.ask(signal);
}

/// Turns a limit on file sizes (ulimit -f) into a write error that does not end the process.
pub fn expect_full_disks() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Signals that end a program by default and can be handled. While children are running, none of these signals may end
/// this process alone.
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

/// Installs the handlers and returns the stop request that they set.
pub fn install() -> &'static Stop {
    for signal in ENDING {
        // SAFETY: the handler accesses one atomic and only calls async-signal-safe functions. A signal that the parent
        // had ignored (nohup) stays ignored.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction != libc::SIG_IGN {
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = handle;
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
    &STOP
}
