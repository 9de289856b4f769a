//! The process that unloads the module and removes the folder when the one that loaded it is gone, however that ended.
//!
//! It is a copy of a process that may have threads, so it does nothing but system calls: no memory is allocated and
//! no lock taken from the fork on.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Its name as the kernel has it.
const NAME: &CStr = c"linespeed-kmod";
/// The module's name, as delete_module takes it.
pub(super) const MODULE: &CStr = c"linespeed";
/// Tries to unload, a pause apart: a pass of the process that died may still be on its last burst.
const TRIES: u32 = 600;
/// Between two tries, ns.
const PAUSE_NS: i64 = 50_000_000;
/// How deep the folder's own folders are looked into.
const DEPTH: u32 = 8;

/// Everything is put back: it may go.
const DONE: i32 = -1;

/// A guardian that waits for our end.
#[derive(Debug)]
pub struct Guardian {
    lifeline: OwnedFd,
    pid: i32,
}

impl Guardian {
    /// Posts a guardian over the module and a `folder`, which need not be there yet. The descriptor `lock` stays open in
    /// it, so that the next linespeed finds the lock free only when all is put back.
    ///
    /// # Errors
    ///
    /// Whatever keeps a process from being made: then nothing may be loaded.
    pub fn post(folder: Option<&Path>, lock: i32) -> io::Result<Self> {
        let folder = folder.map(|folder| CString::new(folder.as_os_str().as_bytes())).transpose()?;
        let mut ends = [0i32; 2];
        // SAFETY: the kernel fills the two numbers, which are descriptors of ours alone then.
        let (watched, lifeline) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        // SAFETY: the copy makes system calls only, and ends with _exit.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                settle(watched.as_raw_fd(), lock);
                guard(watched.as_raw_fd(), folder.as_deref());
                // SAFETY: ends this copy without running what the original registered for its own end.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Self { lifeline, pid }),
        }
    }

    /// Tells it the process group of the build, to be ended, too.
    pub fn mind(&self, group: i32) {
        self.tell(group);
    }

    fn tell(&self, number: i32) {
        let bytes = number.to_ne_bytes();
        // SAFETY: the bytes outlive the call. Four bytes go into a pipe whole or not at all.
        unsafe { libc::write(self.lifeline.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Everything is put back: it goes, and is waited for.
    pub fn dismiss(self) {
        self.tell(DONE);
        let mut status = 0;
        // SAFETY: the kernel fills the status.
        while unsafe { libc::waitpid(self.pid, &mut status, 0) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// Makes this copy one that nobody's signals and terminals reach.
fn settle(watched: i32, lock: i32) {
    let (low, high) = if watched < lock { (watched, lock) } else { (lock, watched) };
    // SAFETY: numbers, and strings that live as long as the program; nothing here uses what is closed.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::chdir(c"/".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in 0..3 {
            if fd != watched && fd != lock && null >= 0 {
                libc::dup2(null, fd);
            }
        }
        close(3, low - 1);
        close(low + 1, high - 1);
        close(high + 1, i32::MAX);
    }
}

/// Closes the descriptors of a range, above the standard ones.
fn close(from: i32, to: i32) {
    let from = from.max(3);
    if from > to {
        return;
    }
    // SAFETY: numbers; nothing here uses these descriptors.
    unsafe {
        if libc::syscall(libc::SYS_close_range, from, to, 0) != 0 {
            // Before Linux 5.9: as many as a process usually has.
            for fd in from..=to.min(4096) {
                libc::close(fd);
            }
        }
    }
}

/// Waits for the end of the original, then puts everything back.
fn guard(watched: i32, folder: Option<&CStr>) {
    let mut group = 0;
    loop {
        let mut bytes = [0u8; 4];
        // SAFETY: the kernel writes at most four bytes.
        let length = unsafe { libc::read(watched, bytes.as_mut_ptr().cast(), bytes.len()) };
        match length {
            4 => match i32::from_ne_bytes(bytes) {
                DONE => return,
                number => group = number,
            },
            -1 if interrupted() => {}
            _ => break,
        }
    }
    if group > 1 {
        // SAFETY: takes numbers.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    for _ in 0..TRIES {
        match unload() {
            Err(libc::EAGAIN | libc::EBUSY) => pause(),
            _ => break,
        }
    }
    let Some(folder) = folder else { return };
    // What has been killed a moment ago may still be writing there.
    for _ in 0..TRIES {
        remove(libc::AT_FDCWD, folder, DEPTH);
        // SAFETY: a string that outlives the call.
        if unsafe { libc::access(folder.as_ptr(), libc::F_OK) } != 0 {
            break;
        }
        pause();
    }
}

fn interrupted() -> bool {
    io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
}

fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
    // SAFETY: the time outlives the call.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// Unloads the module; the error's number where that fails.
pub(super) fn unload() -> Result<(), i32> {
    // SAFETY: a string that lives as long as the program, and flags.
    match unsafe { libc::syscall(libc::SYS_delete_module, MODULE.as_ptr(), libc::O_NONBLOCK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Removes a folder with all that is in it, by system calls alone.
fn remove(at: i32, name: &CStr, depth: u32) {
    /// Where the record of an entry has its length and its name (struct linux_dirent64).
    const LENGTH: usize = 16;
    const ENTRY: usize = 19;
    let mut buffer = [0u64; 512];
    // SAFETY: the name outlives the calls; the kernel writes whole records of what it says it has written, each with a
    // name that ends with a zero byte inside of it.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let folder = libc::openat(at, name.as_ptr(), flags);
        if folder < 0 {
            return;
        }
        let start = buffer.as_mut_ptr().cast::<u8>();
        loop {
            let bytes = libc::syscall(libc::SYS_getdents64, folder, start, size_of_val(&buffer));
            if bytes <= 0 {
                break;
            }
            let (mut place, end) = (0usize, bytes as usize);
            while place + ENTRY < end {
                let record = start.add(place);
                let entry = CStr::from_ptr(record.add(ENTRY).cast());
                place += usize::from(record.add(LENGTH).cast::<u16>().read_unaligned()).max(ENTRY);
                if matches!(entry.to_bytes(), b"." | b"..") || libc::unlinkat(folder, entry.as_ptr(), 0) == 0
                {
                    continue;
                }
                if depth > 0 {
                    remove(folder, entry, depth - 1);
                }
            }
        }
        libc::close(folder);
        libc::unlinkat(at, name.as_ptr(), libc::AT_REMOVEDIR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_with_all_that_is_in_it_and_nothing_else() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("kept"), "x").unwrap();
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("linespeed-module-x");
        std::fs::create_dir_all(folder.join(".tmp_7/deeper")).unwrap();
        for at in 0..300 {
            std::fs::write(folder.join(format!("file with a long name, number {at}")), "x").unwrap();
            std::fs::write(folder.join(format!(".tmp_7/deeper/{at}")), "x").unwrap();
        }
        std::os::unix::fs::symlink(outside.path(), folder.join("link")).unwrap();
        let name = CString::new(folder.as_os_str().as_bytes()).unwrap();
        for _ in 0..4 {
            remove(libc::AT_FDCWD, &name, DEPTH);
        }
        assert!(!folder.exists() && outside.path().join("kept").exists());
    }

    #[test]
    fn a_guardian_that_is_dismissed_leaves_everything() {
        let folder = tempfile::tempdir().unwrap();
        let guardian = Guardian::post(Some(folder.path()), 2).unwrap();
        guardian.dismiss();
        assert!(folder.path().exists());
    }

    #[test]
    fn a_guardian_that_is_left_alone_ends_the_build_and_removes_the_folder() {
        use std::os::unix::process::CommandExt;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), "x").unwrap();
        let mut build = std::process::Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let guardian = Guardian::post(Some(folder.path()), 2).unwrap();
        guardian.mind(build.id().cast_signed());
        let pid = guardian.pid;
        // As the end of this process does.
        drop(guardian);
        assert!(!build.wait().unwrap().success());
        let mut status = 0;
        // SAFETY: the kernel fills the status.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert!(!folder.path().exists());
    }
}
