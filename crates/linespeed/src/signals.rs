//! The first signal that people or machines end programs with asks the run to stop and keep what it has; a second one ends it
//! at once.

use measure::Stop;

static STOP: Stop = Stop::new();

extern "C" fn handle(signal: i32) {
    // With children that are given time to end, the second signal ends them at once, and the third ends us.
    if STOP.signal().is_some() && !measure::child::hurry() {
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
