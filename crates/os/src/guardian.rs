//! A process that waits until the process that started it ends, for whatever reason, and then cleans up.

use std::ffi::CStr;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

use crate::error::OsError;

/// Sent to a guardian that is no longer needed.
const DISMISSED: i32 = i32::MIN;

/// A guardian that waits. Dropped without [`Guardian::dismiss`], it acts as if this process had ended.
#[derive(Debug)]
pub struct Guardian {
    lifeline: OwnedFd,
    pid: i32,
}

/// What a guardian receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A number from [`Guardian::tell`].
    Number(i32),
    /// It is no longer needed.
    Dismissed,
    /// The process that posted it has ended.
    Gone,
}

/// The guardian's end of the pipe that closes with the process that posted it.
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
    /// Posts a guardian with this `name` (at most 15 bytes, a kernel limit) that does `work`. The descriptors in `keep`, mostly locks, stay
    /// open in it, so that they are free only when it has ended.
    ///
    /// # Errors
    ///
    /// This process already has threads, in the middle of which a copy could not continue; or it is the init of its namespace, after which
    /// nothing survives; or a kernel error.
    pub fn post(name: &'static CStr, keep: &[RawFd], work: impl FnOnce(&Lifeline)) -> io::Result<Self> {
        if !Self::is_possible()? {
            return Err(OsError::CannotFork.into());
        }
        // SAFETY: this process has one thread, so that nothing, the allocator's locks included, is in a state that the copy
        // could not go on from.
        unsafe { Self::post_beside_threads(name, keep, work) }
    }

    /// Whether a guardian can be posted from this process: it needs a single thread, and must not be the init of its namespace.
    ///
    /// # Errors
    ///
    /// The kernel does not report it.
    pub fn is_possible() -> io::Result<bool> {
        Ok(std::process::id() != 1 && has_one_thread()?)
    }

    /// As [`Guardian::post`], also if this process has threads.
    ///
    /// # Safety
    ///
    /// If there are threads, `work` must only make system calls: it allocates no memory and takes no lock.
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
        // SAFETY: the copy makes system calls and does what the caller answers for, and ends with _exit.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: takes a number; this copy has no other use of it, and never drops its owner.
                unsafe { libc::close(lifeline.as_raw_fd()) };
                detach(name, watched.as_raw_fd(), keep);
                work(&Lifeline(watched.as_raw_fd()));
                // SAFETY: ends this copy without running what the original registered for its own end.
                unsafe { libc::_exit(0) }
            }
            pid => {
                // It closes foreign descriptors once it has its name, which protects it from being ended as another process.
                drop(getting_ready);
                let _ = ready.read(&mut [0]);
                Ok(Self { lifeline, pid })
            }
        }
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends it a number.
    pub fn tell(&self, number: i32) {
        tell(&self.lifeline, number);
    }

    /// Sends it numbers from elsewhere; until it is dropped, the guardian does not notice this one's end.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub fn teller(&self) -> io::Result<impl Fn(i32) + Send + use<>> {
        let lifeline = self.lifeline.try_clone()?;
        Ok(move |number| tell(&lifeline, number))
    }

    /// Informs it that it is no longer needed.
    pub fn dismiss(&self) {
        self.tell(DISMISSED);
    }

    /// Waits for its end, which a message or the end of the pipe brings about.
    pub fn wait(self) {
        let Self { lifeline, pid } = self;
        drop(lifeline);
        crate::child::wait_for(pid);
    }
}

fn tell(lifeline: &OwnedFd, number: i32) {
    let bytes = number.to_ne_bytes();
    // SAFETY: the bytes outlive the call. Four bytes go into a pipe whole or not at all. If it is gone already nobody needs them; SIGPIPE
    // is ignored in every Rust program.
    unsafe { libc::write(lifeline.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
}

/// Whether this process has one thread.
fn has_one_thread() -> io::Result<bool> {
    const TASKS: &str = "/proc/self/task";
    // Linux gives the folder a link from itself, one from above and one for each thread; sandboxes with a /proc of their own
    // may not, and there its entries are counted.
    Ok(std::fs::metadata(TASKS).is_ok_and(|folder| folder.nlink() == 3)
        || std::fs::read_dir(TASKS)?.count() == 1)
}

/// Detaches this copy from signals and terminals. Readers of our output must see its end when the original ends, so that only the pipe and
/// the kept descriptors stay open. System calls only.
fn detach(name: &CStr, watched: RawFd, keep: &[RawFd]) {
    let stays = |fd: RawFd| fd == watched || keep.contains(&fd);
    // SAFETY: numbers, and strings that live as long as the program; nothing here uses what is closed.
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
    // The next descriptor that stays open, from the lowest on: neighbours have an empty range between them.
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
    // SAFETY: numbers, and a limit that the kernel fills; nothing here uses these descriptors.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        // Before Linux 5.9: as many as this process may have.
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

    /// Posts a guardian that writes what it receives into a pipe, one byte each.
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
            // SAFETY: one byte of this closure's own.
            unsafe { libc::write(out, (&raw const letter).cast(), 1) };
            if !matches!(message, Message::Number(_)) {
                return;
            }
        };
        // SAFETY: the work reads and writes descriptors, nothing else.
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
