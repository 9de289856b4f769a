//! A process that waits until the process that started it has ended, for whatever reason, and then cleans up.

use std::ffi::CStr;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

use crate::error::OsError;

/// The number that tells a guardian that it is no longer needed.
const DISMISSED: i32 = i32::MIN;

/// A waiting guardian. If it is dropped without [`Guardian::dismiss`], it acts as if this process had ended.
#[derive(Debug)]
pub struct Guardian {
    lifeline: OwnedFd,
    pid: i32,
}

/// A message that a guardian receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A number from [`Guardian::tell`].
    Number(i32),
    /// The guardian is no longer needed.
    Dismissed,
    /// The process that started the guardian has ended.
    Gone,
}

/// The guardian's end of the pipe, which closes when the process that started the guardian ends.
#[derive(Debug)]
pub struct Lifeline(RawFd);

impl Lifeline {
    /// Waits for the next message.
    pub fn hear(&self) -> Message {
        let mut bytes = [0u8; 4];
        loop {
            // SAFETY: the kernel writes at most four bytes.
            let length = unsafe { libc::read(self.0, bytes.as_mut_ptr().cast(), bytes.len()) };
            match length {
                4 => {
                    return match i32::from_ne_bytes(bytes) {
                        DISMISSED => Message::Dismissed,
                        number => Message::Number(number),
                    };
                }
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return Message::Gone,
            }
        }
    }
}

impl Guardian {
    /// Starts a guardian with this `name` (at most 15 bytes, a kernel limit) that does `work`. The descriptors in
    /// `keep`, mostly locks, stay open in the guardian, so that they are not released before it ends.
    ///
    /// # Errors
    ///
    /// This process has several threads (a forked copy would lack all but one), this process is the init of its
    /// namespace (all processes there end together with init), or the kernel reports an error.
    pub fn post(name: &'static CStr, keep: &[RawFd], work: impl FnOnce(&Lifeline)) -> io::Result<Self> {
        if !Self::is_possible()? {
            return Err(OsError::CannotFork.into());
        }
        // SAFETY: this process has only one thread, so nothing, including the allocator's locks, is in a state in which
        // the copy could not continue.
        unsafe { Self::post_beside_threads(name, keep, work) }
    }

    /// Whether this process can start a guardian: it must be single-threaded and must not be the init of its namespace.
    ///
    /// # Errors
    ///
    /// The kernel does not report the number of threads.
    pub fn is_possible() -> io::Result<bool> {
        Ok(std::process::id() != 1 && has_one_thread()?)
    }

    /// Like [`Guardian::post`], but also works if this process has several threads.
    ///
    /// # Safety
    ///
    /// If there are several threads, `work` must only make system calls: it must not allocate memory or take locks.
    ///
    /// # Errors
    ///
    /// The process cannot be created.
    pub unsafe fn post_beside_threads(
        name: &'static CStr,
        keep: &[RawFd],
        work: impl FnOnce(&Lifeline),
    ) -> io::Result<Self> {
        let (watched, lifeline) = io::pipe()?;
        let (mut ready, getting_ready) = io::pipe()?;
        let (watched, lifeline): (OwnedFd, OwnedFd) = (watched.into(), lifeline.into());
        // SAFETY: the copy makes system calls, does the work for which the caller is responsible, and ends with _exit.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: the call takes an integer; this copy has no other use for the descriptor, and never drops its
                // owner.
                unsafe { libc::close(lifeline.as_raw_fd()) };
                detach(name, watched.as_raw_fd(), keep);
                work(&Lifeline(watched.as_raw_fd()));
                // SAFETY: the call ends this copy without running the exit handlers of the original process.
                unsafe { libc::_exit(0) }
            }
            pid => {
                // This process waits until the guardian has set its name and closed its inherited descriptors. Without its name, the
                // guardian would be terminated like a regular process of the run.
                drop(getting_ready);
                let _ = ready.read(&mut [0]);
                Ok(Self { lifeline, pid })
            }
        }
    }

    /// The guardian's PID.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a number to the guardian.
    pub fn tell(&self, number: i32) {
        tell(&self.lifeline, number);
    }

    /// Returns a function that sends numbers to the guardian and does not borrow this value. As long as this process has the function,
    /// dropping this value does not notify the guardian.
    ///
    /// # Errors
    ///
    /// No file descriptor is available.
    pub fn teller(&self) -> io::Result<impl Fn(i32) + Send + use<>> {
        let lifeline = self.lifeline.try_clone()?;
        Ok(move |number| tell(&lifeline, number))
    }

    /// Notifies the guardian that it is no longer needed.
    pub fn dismiss(&self) {
        self.tell(DISMISSED);
    }

    /// Waits until the guardian exits, which it does after a message or after the pipe is closed.
    pub fn wait(self) {
        let Self { lifeline, pid } = self;
        drop(lifeline);
        crate::child::wait_for(pid);
    }
}

fn tell(lifeline: &OwnedFd, number: i32) {
    let bytes = number.to_ne_bytes();
    // SAFETY: the bytes outlive the call. Four bytes are written to a pipe atomically. If the guardian has already
    // exited, the bytes are not needed; SIGPIPE
    // is ignored in every Rust program.
    unsafe { libc::write(lifeline.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
}

/// Whether this process is single-threaded.
fn has_one_thread() -> io::Result<bool> {
    const TASKS: &str = "/proc/self/task";
    // On Linux, the link count of the directory is two plus the number of threads. Sandboxes with their own /proc may
    // report another link count, so the entries of the directory are also counted.
    Ok(std::fs::metadata(TASKS).is_ok_and(|folder| folder.nlink() == 3)
        || std::fs::read_dir(TASKS)?.count() == 1)
}

/// Detaches this copy from signals and terminals. Only the pipe and the descriptors in `keep` stay open, so that
/// readers of our output see the end of file when the original process ends. Makes system calls only.
fn detach(name: &CStr, watched: RawFd, keep: &[RawFd]) {
    let stays = |fd: RawFd| fd == watched || keep.contains(&fd);
    // SAFETY: the calls take integers, and strings that live as long as the program. The closed descriptors are not
    // used here.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::chdir(c"/".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in 0..3 {
            if !stays(fd) && null >= 0 {
                libc::dup2(null, fd);
            }
        }
    }
    let mut from = 3;
    // `next` is the next descriptor that stays open; all descriptors before it are closed.
    while let Some(next) = keep.iter().copied().chain([watched]).filter(|fd| *fd >= from).min() {
        close_range(from, next - 1);
        from = next + 1;
    }
    close_range(from, i32::MAX);
}

/// Closes the descriptors from `first` to `last`.
fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: the calls take integers, and a limit that the kernel fills; these descriptors are not used here.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        // Before Linux 5.9, all descriptors up to this process's limit are closed one by one.
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let most = i32::try_from(limit.rlim_cur).unwrap_or(i32::MAX).min(1 << 20);
        for fd in first..=last.min(most) {
            libc::close(fd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Starts a guardian that writes each number it receives into a pipe, as one byte.
    fn reporter() -> (Guardian, io::PipeReader) {
        let (heard, tells) = io::pipe().unwrap();
        let out = tells.as_raw_fd();
        let work = move |lifeline: &Lifeline| loop {
            let message = lifeline.hear();
            let letter = match message {
                Message::Number(7) => b'7',
                Message::Number(_) => b'?',
                Message::Dismissed => b'd',
                Message::Gone => b'g',
            };
            // SAFETY: one byte that belongs to this closure.
            unsafe { libc::write(out, (&raw const letter).cast(), 1) };
            if !matches!(message, Message::Number(_)) {
                return;
            }
        };
        // SAFETY: the work only reads and writes descriptors.
        let guardian = unsafe { Guardian::post_beside_threads(c"linespeed-test", &[out], work) }.unwrap();
        (guardian, heard)
    }

    #[test]
    fn it_hears_numbers_and_its_dismissal() {
        let (guardian, mut heard) = reporter();
        guardian.tell(7);
        guardian.dismiss();
        guardian.wait();
        let mut text = String::new();
        heard.read_to_string(&mut text).unwrap();
        assert_eq!(text, "7d");
    }

    #[test]
    fn it_hears_the_end_of_the_one_that_posted_it_and_closes_what_it_does_not_keep() {
        let (guardian, mut heard) = reporter();
        guardian.wait();
        let mut text = String::new();
        heard.read_to_string(&mut text).unwrap();
        assert_eq!(text, "g");
    }
}
