//! Loads the module, communicates with it through its device, and unloads it.

use record::text;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::tempfile;

use super::guardian;
use super::obstacles::BOOT_WITH_MODULES;
use super::request::{Answer, Request};
use crate::Unavailable;

/// The device.
const DEVICE: &str = "/dev/linespeed";
/// The directory in /sys that exists while the module is loaded.
const LOADED: &str = "/sys/module/linespeed";
/// The lock file: only the linespeed that holds the lock may use the module. The file belongs to root, so that no other
/// user can lock it.
const LOCK: &str = "module.lock";
/// The prefix of build directories.
pub(super) const FOLDER: &str = "linespeed-module-";
/// Maximum number of attempts to unload the module, with pauses between them.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// Takes the lock: no other linespeed loads or unloads the module while this one holds it.
///
/// # Errors
///
/// Another linespeed holds the lock.
pub(super) fn lock() -> Result<File, Unavailable> {
    let failed = |error| Unavailable::new(text!("cannot lock the kernel module: {error}"));
    let file = lock_file().map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(text!("module-in-use", "another linespeed process is using the kernel module")
                .with_remedy(text!("wait for the other linespeed process to finish, then retry")))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Opens the lock file. Users other than root cannot load modules and need no lock.
fn lock_file() -> io::Result<File> {
    if !os::is_root() {
        return tempfile();
    }
    let folder = Path::new(os::places::RUNTIME);
    DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(folder.join(LOCK))
}

/// Cleans up after a linespeed that was killed together with its guardian. The caller must hold the lock.
///
/// # Errors
///
/// The module is in use and cannot be unloaded.
pub(super) fn clear_leftovers(temporary: &Path) -> Result<(), Unavailable> {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(FOLDER));
        // Only our own directories are removed; links are not followed.
        if named && is_own_folder(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    if !Path::new(LOADED).exists() {
        return Ok(());
    }
    unload().map_err(|error| {
        text!("a module named linespeed is already loaded and cannot be unloaded: {error}")
            .with_remedy(text!("stop the programs that use /dev/linespeed, then run: sudo rmmod linespeed"))
    })
}

fn is_own_folder(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == os::effective_user())
}

/// Loads a module from its file.
///
/// # Errors
///
/// The reason why the kernel rejects the module.
pub(super) fn load(module: &Path, release: &str) -> Result<(), Unavailable> {
    let file =
        File::open(module).map_err(|error| Unavailable::new(format!("{}: {error}", module.display())))?;
    // SAFETY: the descriptor is open and the parameters are a string that ends with a zero byte.
    let done = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    if done == 0 { Ok(()) } else { Err(refused(&io::Error::last_os_error(), release)) }
}

/// The reason why the kernel rejected the module.
fn refused(error: &io::Error, release: &str) -> Unavailable {
    let number = error.raw_os_error().unwrap_or(0);
    let remedy = match number {
        libc::ENOEXEC | libc::ESRCH => Some(text!(
            "module-of-another-kernel",
            "the module was not built for kernel {release}: install this kernel's headers and omit --kernel-module",
            release = release.to_owned()
        )),
        libc::ENOENT => Some(text!("the kernel lacks a symbol that the module needs: see dmesg")),
        libc::EKEYREJECTED | libc::ENOKEY | libc::EBADMSG => Some(text!(
            "module-needs-signature",
            "the kernel loads only signed modules: disable secure boot or module.sig_enforce"
        )),
        libc::EPERM => Some(text!(
            "module-loading-forbidden",
            "loading modules is forbidden here (container, lockdown or kernel.modules_disabled): run on the host"
        )),
        libc::ENOSYS => Some(BOOT_WITH_MODULES.into()),
        libc::EEXIST => Some("sudo rmmod linespeed".into()),
        _ => None,
    };
    Unavailable { reason: text!("the kernel refuses the module: {error}"), remedy }
}

/// Unloads the module. The module may still be busy with its last burst for a short time.
///
/// # Errors
///
/// The reason why the module remains loaded.
pub(super) fn unload() -> io::Result<()> {
    let mut last = 0;
    for _ in 0..TRIES {
        match guardian::unload() {
            Ok(()) | Err(libc::ENOENT) => return Ok(()),
            Err(number @ (libc::EAGAIN | libc::EBUSY)) => last = number,
            Err(number) => return Err(io::Error::from_raw_os_error(number)),
        }
        std::thread::sleep(PAUSE);
    }
    Err(io::Error::from_raw_os_error(last))
}

/// The device of a loaded module.
#[derive(Debug)]
pub(super) struct Device(File);

impl Device {
    /// Opens the device. If /dev has no node for it, a node is created in `folder` and used instead.
    pub(super) fn open(folder: &Path) -> Result<Self, Unavailable> {
        let opened = OpenOptions::new().read(true).write(true).open(DEVICE).or_else(|error| {
            let own = (error.kind() == io::ErrorKind::NotFound).then(|| own_node(folder)).flatten();
            let opened = own.as_ref().map(|path| OpenOptions::new().read(true).write(true).open(path));
            if let Some(path) = own {
                let _ = fs::remove_file(path);
            }
            opened.unwrap_or(Err(error))
        });
        opened
            .map(Self)
            .map_err(|error| Unavailable::new(text!("cannot open {device}: {error}", device = DEVICE)))
    }

    /// Requests passes, and returns the module's report.
    pub(super) fn ask(&self, request: &Request) -> Result<Answer, Unavailable> {
        let reported =
            self.raw(&request.bytes(), request.answer_bytes()).map_err(|error| explained(&error))?;
        Answer::read(&reported, request.passes).ok_or_else(|| {
            let bytes = reported.len();
            Unavailable::new(text!("the kernel module returned an invalid answer of {bytes} bytes"))
        })
    }

    /// Writes these bytes, and returns at most `answer` bytes of the reply.
    pub(super) fn raw(&self, bytes: &[u8], answer: usize) -> io::Result<Vec<u8>> {
        let _ = self.0.write_at(bytes, 0)?;
        let mut reported = vec![0; answer];
        let read = self.0.read_at(&mut reported, 0)?;
        reported.truncate(read);
        Ok(reported)
    }
}

/// Creates a node for the device from its number in the kernel.
fn own_node(folder: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string("/sys/class/misc/linespeed/dev").ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    let device = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
    let path = folder.join("device");
    let name = std::ffi::CString::new(path.to_str()?).ok()?;
    // SAFETY: the string outlives the call, and the other arguments are integers.
    (unsafe { libc::mknod(name.as_ptr(), libc::S_IFCHR | 0o600, device) } == 0).then_some(path)
}

fn explained(error: &io::Error) -> Unavailable {
    match error.raw_os_error() {
        Some(libc::ENODEV) => text!("the CPU is offline, so the kernel module cannot use it")
            .with_remedy(text!("choose a CPU that is online: see linespeed inspect")),
        Some(libc::ETIME) => Unavailable::new(text!(
            "testing a single number took longer than 2 ms, the limit for disabled interrupts, so the kernel module ended the pass"
        )),
        Some(libc::EINVAL) => {
            text!("module-of-another-version", "the kernel module belongs to another linespeed version")
                .with_remedy(text!("module-build-anew", "omit --kernel-module to rebuild the module"))
        }
        Some(libc::EINTR) => Unavailable::new(text!("interrupted by a signal in the kernel module")),
        _ => Unavailable::new(text!("the kernel module did not run the routine: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_refusals_are_reported_with_a_way_out() {
        for (number, said) in [
            (libc::ENOEXEC, "module-of-another-kernel"),
            (libc::EKEYREJECTED, "module-needs-signature"),
            (libc::EPERM, "module-loading-forbidden"),
            (libc::ENOSYS, BOOT_WITH_MODULES.code),
        ] {
            let failure = refused(&io::Error::from_raw_os_error(number), "6.1.0");
            assert_eq!(failure.remedy.as_ref().unwrap().code(), Some(said), "{failure:?}");
        }
        assert_eq!(refused(&io::Error::from_raw_os_error(libc::ENOMEM), "6.1.0").remedy, None);
    }

    #[test]
    fn a_module_of_another_version_is_reported_as_one() {
        let failure = explained(&io::Error::from_raw_os_error(libc::EINVAL));
        assert_eq!(failure.reason.code(), Some("module-of-another-version"), "{failure:?}");
        assert_eq!(failure.remedy.unwrap().code(), Some("module-build-anew"));
    }

    #[test]
    fn leftover_folders_are_removed_and_nobody_elses() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        fs::create_dir_all(at("linespeed-module-1/x")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("linespeed-module-file"), "").unwrap();
        std::os::unix::fs::symlink(at("other"), at("linespeed-module-link")).unwrap();
        if Path::new(LOADED).exists() {
            return;
        }
        clear_leftovers(temporary.path()).unwrap();
        assert!(!at("linespeed-module-1").exists() && at("other").exists());
        assert!(
            at("linespeed-module-file").exists() && at("linespeed-module-link").symlink_metadata().is_ok()
        );
    }

    #[test]
    fn the_lock_is_one_processs_at_a_time() {
        // Another test process may briefly hold the lock.
        let Ok(held) = lock() else { return };
        let failure = lock().unwrap_err();
        assert_eq!(failure.reason.code(), Some("module-in-use"), "{failure:?}");
        drop(held);
    }
}
