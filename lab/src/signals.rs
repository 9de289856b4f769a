//! SIGINT, SIGTERM and SIGHUP request an orderly exit: the running machine is powered off first.

use os::Stop;

/// The received signal, if any.
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
