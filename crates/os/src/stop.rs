//! The atomic variable through which a signal requests that everything be stopped.

use std::sync::atomic::{AtomicI32, Ordering};

/// The signal that requested a stop; 0 if there was none. Signal handlers store it; loops check it.
#[derive(Debug, Default)]
pub struct Stop(AtomicI32);

impl Stop {
    /// Nothing requested.
    pub const fn new() -> Self {
        Self(AtomicI32::new(0))
    }

    /// Requests a stop because of `signal`. Async-signal-safe.
    pub fn ask(&self, signal: i32) {
        self.0.store(signal, Ordering::Relaxed);
    }

    /// The signal, if any.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }
}
