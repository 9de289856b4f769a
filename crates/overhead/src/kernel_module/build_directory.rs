//! The private directory in which modules are built, by one linespeed at a time. A guardian cleans up, regardless of
//! how linespeed exits.

use record::{Text, text};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::guardian::ModuleGuardian;
use super::{build, headers, loaded, sources};
use crate::Unavailable;
use os::Stop;

/// Builds modules for the running kernel and for other kernels whose headers are installed. The directory is set up on
/// first use; dropping this value undoes the setup.
#[derive(Debug, Default)]
pub struct BuildDirectory(OnceLock<Result<Prepared, Unavailable>>);

/// The resources that were set up.
#[derive(Debug)]
struct Prepared {
    folder: PathBuf,
    guardian: Option<ModuleGuardian>,
    /// Kernel releases for which modules were built, each in a directory named after its index in this list.
    built: Mutex<Vec<String>>,
    /// Whether a module could not be unloaded. If so, the guardian must keep trying.
    left: AtomicBool,
    /// The lock, which is held until everything is reverted.
    _lock: File,
}

impl BuildDirectory {
    fn prepared(&self) -> Result<&Prepared, Unavailable> {
        self.0.get_or_init(|| Prepared::new(&os::places::temporary_folder())).as_ref().map_err(Clone::clone)
    }

    /// The directory, which is removed when this value is dropped or when linespeed is killed.
    ///
    /// # Errors
    ///
    /// Another linespeed uses the module, or no directory or process can be created.
    pub(super) fn folder(&self) -> Result<&Path, Unavailable> {
        self.prepared().map(|prepared| prepared.folder.as_path())
    }

    /// The file of the module for the kernel `release`. The module is built if necessary.
    ///
    /// # Errors
    ///
    /// The obstacle, with its remedy.
    pub fn module(&self, release: &str, stop: &Stop) -> Result<PathBuf, Unavailable> {
        let root = Path::new("/");
        let path =
            std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin:/usr/sbin:/sbin"));
        let headers = headers::find_headers(root, release, &path)?;
        let prepared = self.prepared()?;
        let mut releases = prepared.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = releases.iter().position(|built| built == release) {
            return Ok(prepared.folder.join(at.to_string()).join(build::MODULE));
        }
        let folder = prepared.folder.join(releases.len().to_string());
        // Removes files left behind by a failed build.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder)
            .and_then(|()| sources::write(&folder))
            .map_err(|error| elsewhere(format!("{}: {error}", folder.display()).into()))?;
        let watch_group = |group| prepared.guardian.iter().for_each(|guardian| guardian.watch_group(group));
        let built = build::build(build::LIMIT, &headers, &folder, &path, stop, watch_group);
        // The guardian must forget the build's process group, because another group may soon have the same ID.
        watch_group(0);
        let built = built.map_err(|failure| add_remedy(failure, root, release, stop))?;
        releases.push(release.to_owned());
        Ok(built.module)
    }

    /// Records that a module could not be unloaded.
    pub(super) fn keep_guardian(&self) {
        if let Some(Ok(prepared)) = self.0.get() {
            prepared.left.store(true, Ordering::Relaxed);
        }
    }
}

impl Prepared {
    fn new(temporary: &Path) -> Result<Self, Unavailable> {
        let lock = loaded::lock()?;
        loaded::clear_leftovers(temporary)?;
        let folder = temporary.join(format!("{}{}", loaded::FOLDER, std::process::id()));
        let guardian = ModuleGuardian::post(Some(&folder), lock.as_raw_fd()).map_err(|error| {
            text!("cannot start the process that unloads the kernel module: {error}")
                .with_remedy(text!("raise the process limit (ulimit -u, or pids.max of the cgroup)"))
        })?;
        // The directory is private: other users must not be able to change the module before it is loaded.
        if let Err(error) = fs::DirBuilder::new().mode(0o700).create(&folder) {
            // If the directory already exists, its files must not be removed.
            guardian.dismiss();
            return Err(elsewhere(format!("{}: {error}", folder.display()).into()));
        }
        Ok(Self {
            folder,
            guardian: Some(guardian),
            built: Mutex::default(),
            left: AtomicBool::new(false),
            _lock: lock,
        })
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        // If the module or the directory remains, the guardian is not dismissed: it detects that its pipe is closed when this value is
        // dropped, and keeps trying.
        if let Some(guardian) =
            self.guardian.take().filter(|_| !self.left.load(Ordering::Relaxed) && !self.folder.exists())
        {
            guardian.dismiss();
        }
    }
}

/// The error if the module cannot be built in the directory for temporary files.
fn elsewhere(reason: Text) -> Unavailable {
    Unavailable::new(reason).with_remedy(build::BUILD_ELSEWHERE)
}

/// Adds the remedy to a failed build that lacks one.
fn add_remedy(failure: Unavailable, root: &Path, release: &str, stop: &Stop) -> Unavailable {
    if failure.remedy.is_some() || stop.signal().is_some() {
        return failure;
    }
    let install = headers::install_headers(root, release);
    failure.with_remedy(text!("reinstall the build tools: {install}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_failed_says_what_to_look_at_unless_it_was_ended() {
        let (root, stop) = (Path::new("/nowhere"), Stop::new());
        let reported = |failure: Unavailable| add_remedy(failure, root, "6.1.0", &stop).remedy;
        assert!(reported(Unavailable::new("x")).unwrap().to_string().contains("6.1.0"));
        assert_eq!(reported(Unavailable::new("x").with_remedy("y")), Some("y".into()));
        stop.ask(2);
        assert_eq!(add_remedy(Unavailable::new("a signal came"), root, "6.1.0", &stop).remedy, None);
    }

    #[test]
    fn a_kernel_without_headers_here_is_a_reason_and_nothing_is_set_up_for_it() {
        let build_directory = BuildDirectory::default();
        let failure = build_directory.module("0.0.0-none", &Stop::new()).unwrap_err();
        assert_eq!(failure.reason.code(), Some("module-headers-missing"), "{failure:?}");
        assert!(failure.remedy.is_some() && build_directory.0.get().is_none());
    }

    #[test]
    fn what_was_set_up_is_gone_afterwards() {
        let build_directory = BuildDirectory::default();
        // Another test process may briefly hold the lock.
        let Ok(folder) = build_directory.folder().map(Path::to_owned) else { return };
        assert!(folder.is_dir());
        drop(build_directory);
        assert!(!folder.exists());
    }
}
