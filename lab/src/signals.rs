//! SIGINT, SIGTERM and SIGHUP ask for an orderly end: the machine that runs is switched off first.

use std::sync::atomic::{AtomicI32, Ordering};

static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn handle(signal: i32) {
    CAUGHT.store(signal, Ordering::Relaxed);
}

/// Installs the handlers.
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler stores to one atomic.
        unsafe { libc::signal(signal, handle as extern "C" fn(i32) as libc::sighandler_t) };
    }
}

/// The signal that came, if one did.
pub fn caught() -> Option<i32> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}
