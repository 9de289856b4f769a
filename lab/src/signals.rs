//! SIGINT, SIGTERM and SIGHUP ask for an orderly end: the machine that runs is switched off first.

use os::Stop;

/// The signal that came, if one did.
pub static STOP: Stop = Stop::new();

extern "C" fn handle(signal: i32) {
    STOP.ask(signal);
}

/// Installs the handlers.
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler stores to one atomic.
        unsafe { libc::signal(signal, handle as extern "C" fn(i32) as libc::sighandler_t) };
    }
}
