//! A process that unloads the module and removes the build directory after the process that loaded the module has ended
//! for any reason.
//!
//! The guardian is a forked copy of a process that may have several threads. Therefore, after the fork, it makes only
//! system calls and neither allocates memory nor takes locks.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use os::guardian::{Guardian, Lifeline, Message};

/// The guardian's process name.
const NAME: &CStr = c"linespeed-kmod";
/// The module's name, as passed to delete_module.
pub(super) const MODULE: &CStr = c"linespeed";
/// Maximum number of attempts to unload the module, with pauses. Several attempts are needed because a pass that the
/// ended process requested may still be in its last burst.
const TRIES: u32 = 600;
/// The pause between two attempts, ns.
const PAUSE_NS: i64 = 50_000_000;
/// Maximum depth of subdirectories that are removed.
const DEPTH: u32 = 8;

/// A guardian that waits for this process to end.
#[derive(Debug)]
pub(crate) struct ModuleGuardian(Guardian);

impl ModuleGuardian {
    /// Starts a guardian for the module and a `folder`, which need not exist yet. The descriptor `lock` remains open in
    /// the guardian, so that no other linespeed can take the lock before everything is reverted.
    ///
    /// # Errors
    ///
    /// The process cannot be created. In this case, no module may be loaded.
    pub(crate) fn post(folder: Option<&Path>, lock: RawFd) -> io::Result<Self> {
        let folder = folder.map(|folder| CString::new(folder.as_os_str().as_bytes())).transpose()?;
        let work = |lifeline: &Lifeline| watch_over(lifeline, folder.as_deref());
        // SAFETY: the work only makes system calls.
        unsafe { Guardian::post_beside_threads(NAME, &[lock], work) }.map(Self)
    }

    /// Sends the guardian the process group of the build, which the guardian must also terminate.
    pub(crate) fn watch_group(&self, group: i32) {
        self.0.tell(group);
    }

    /// Dismisses the guardian after everything has been reverted, and waits until it has exited.
    pub(crate) fn dismiss(self) {
        self.0.dismiss();
        self.0.wait();
    }
}

/// Waits until the original process has ended, then reverts everything.
fn watch_over(lifeline: &Lifeline, folder: Option<&CStr>) {
    let mut group = 0;
    loop {
        match lifeline.hear() {
            Message::Number(number) => group = number,
            Message::Dismissed => return,
            Message::Gone => break,
        }
    }
    if group > 1 {
        // SAFETY: the call only takes integers.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    for _ in 0..TRIES {
        match unload() {
            Err(libc::EAGAIN | libc::EBUSY) => pause(),
            _ => break,
        }
    }
    let Some(folder) = folder else { return };
    // Removal is repeated, because processes that were just killed may still be writing to the directory.
    for _ in 0..TRIES {
        remove(libc::AT_FDCWD, folder, DEPTH);
        // SAFETY: the string outlives the call.
        if unsafe { libc::access(folder.as_ptr(), libc::F_OK) } != 0 {
            break;
        }
        pause();
    }
}

fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
    // SAFETY: the time outlives the call.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// Unloads the module. Returns the error number on failure.
pub(super) fn unload() -> Result<(), i32> {
    // SAFETY: the string lives as long as the program; the flags are an integer.
    match unsafe { libc::syscall(libc::SYS_delete_module, MODULE.as_ptr(), libc::O_NONBLOCK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Removes a directory with its contents, using only system calls.
fn remove(at: i32, name: &CStr, depth: u32) {
    /// The offsets of an entry's length and name (struct linux_dirent64).
    const LENGTH: usize = 16;
    const ENTRY: usize = 19;
    let mut buffer = [0u64; 512];
    // SAFETY: the name outlives the calls; the kernel writes as many complete records as it reports, each with a
    // zero-terminated name.
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
        let guardian = ModuleGuardian::post(Some(folder.path()), 2).unwrap();
        guardian.dismiss();
        assert!(folder.path().exists());
    }

    #[test]
    fn a_guardian_that_is_left_alone_ends_the_build_and_removes_the_folder() {
        use std::os::unix::process::CommandExt;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), "x").unwrap();
        let mut build = std::process::Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let guardian = ModuleGuardian::post(Some(folder.path()), 2).unwrap();
        guardian.watch_group(build.id().cast_signed());
        let pid = guardian.0.pid();
        // This also happens when this process ends.
        drop(guardian);
        assert!(!build.wait().unwrap().success());
        let mut status = 0;
        // SAFETY: the kernel fills the status.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert!(!folder.path().exists());
    }
}
