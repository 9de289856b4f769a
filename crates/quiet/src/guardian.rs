//! The process that puts everything back when the one that changed it is gone, however that ended.

use std::ffi::CStr;
use std::io;
use std::os::fd::RawFd;

use os::guardian::Message;

/// The guardian's name as the kernel has it.
const NAME: &CStr = c"linespeed-quiet";

/// The values are to stay; it holds what only a process can hold.
const STAY: i32 = 1;

/// A guardian that waits.
#[derive(Debug)]
pub(crate) struct Guardian(os::Guardian);

/// Posts a guardian. In it `on_death` is called when this process ends without a word, `on_stay` when it is told to stay.
/// `keep` are descriptors that stay open in it: the lock.
///
/// `None` where this process has threads already, in whose middle a copy could not go on, or is the init of its namespace,
/// which nobody outlives.
///
/// # Errors
///
/// There could be one, and the system has no descriptor, process or memory left for it.
pub(crate) fn post(
    keep: &[RawFd],
    on_death: impl FnOnce(),
    on_stay: impl FnOnce(),
) -> io::Result<Option<Guardian>> {
    if !os::Guardian::is_possible()? {
        return Ok(None);
    }
    let work = |lifeline: &os::guardian::Lifeline| match lifeline.hear() {
        Message::Dismissed => {}
        Message::Number(_) => on_stay(),
        Message::Gone => on_death(),
    };
    os::Guardian::post(NAME, keep, work).map(|posted| Some(Guardian(posted)))
}

impl Guardian {
    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.0.pid()
    }

    /// Everything is back: it may go. Waits for its end.
    pub(crate) fn dismiss(self) {
        self.0.dismiss();
        self.0.wait();
    }

    /// It is to put everything back in this process's place. Waits for its end.
    pub(crate) fn take_over(self) {
        self.0.wait();
    }

    /// The values are to stay, and nobody is needed for that. Waits for its end: whoever comes next finds the lock free.
    pub(crate) fn stay(self) {
        self.0.tell(STAY);
        self.0.wait();
    }
}
