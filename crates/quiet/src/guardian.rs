//! The process that puts everything back when the one that changed it is gone, however that ended.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;

/// The guardian's name as the kernel has it.
const NAME: &std::ffi::CStr = c"linespeed-quiet";

/// What the guardian is to do at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// Everything is back already.
    Done = b'd' as isize,
    /// The values are to stay; it holds what only a process can hold.
    Stay = b's' as isize,
}

/// A guardian that waits.
#[derive(Debug)]
pub struct Guardian {
    lifeline: Option<std::io::PipeWriter>,
    /// Its process.
    pub pid: i32,
}

/// Posts a guardian. In it `on_death` is called when this process ends without a word, `on_stay` when it is told to stay.
/// `keep` are descriptors that stay open in it: the lock.
///
/// `None` where this process has threads already, in whose middle a copy could not go on, or where there can be no other
/// process.
pub fn post(keep: &[i32], on_death: impl FnOnce(), on_stay: impl FnOnce()) -> Option<Guardian> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?.count();
    if threads != 1 || std::process::id() == 1 {
        return None;
    }
    let (mut watched, lifeline) = std::io::pipe().ok()?;
    // SAFETY: this process has one thread, so that nothing, the allocator's locks included, is in a state that the copy
    // could not go on from.
    match unsafe { libc::fork() } {
        -1 => None,
        0 => {
            drop(lifeline);
            settle(watched.as_raw_fd(), keep);
            let mut word = [0u8; 1];
            loop {
                match watched.read(&mut word) {
                    Ok(1) if word[0] == Word::Done as u8 => break,
                    Ok(1) => {
                        on_stay();
                        break;
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    _ => {
                        on_death();
                        break;
                    }
                }
            }
            // SAFETY: ends this copy without running what the original registered for its own end.
            unsafe { libc::_exit(0) }
        }
        pid => Some(Guardian { lifeline: Some(lifeline), pid }),
    }
}

/// Makes this copy one that nobody's signals and terminals reach.
fn settle(watched: i32, keep: &[i32]) {
    // SAFETY: numbers and strings that outlive the calls; nothing in this copy uses the descriptors that are closed.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::chdir(c"/".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in 0..3 {
            if fd != watched && !keep.contains(&fd) && null >= 0 {
                libc::dup2(null, fd);
            }
        }
    }
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open {
        if fd > 2 && fd != watched && !keep.contains(&fd) {
            // SAFETY: takes a number; this copy uses none of them.
            unsafe { libc::close(fd) };
        }
    }
}

impl Guardian {
    fn tell(&mut self, word: Word) {
        if let Some(mut lifeline) = self.lifeline.take() {
            // Should it be gone already, there is nobody to tell.
            let _ = lifeline.write_all(&[word as u8]);
        }
    }

    /// Everything is back: it may go. Waits for its end.
    pub fn dismiss(mut self) {
        self.tell(Word::Done);
        self.wait();
    }

    fn wait(&self) {
        let mut status = 0;
        // SAFETY: the kernel fills the status.
        while unsafe { libc::waitpid(self.pid, &mut status, 0) } < 0
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
    }

    /// The values are to stay, and nobody is needed for that. Waits for its end: whoever comes next finds the lock free.
    pub fn stay(mut self) {
        self.tell(Word::Stay);
        self.wait();
    }
}
