//! Reads, writes and lists the files of a machine, or of a tree captured from one.

use std::io::Write;
use std::path::Path;

use machine::Root;
use rustix::fs::{Access, AtFlags, CWD, accessat};

/// Why a file was not read or written, in the words of the system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct Refusal {
    /// The path as on the machine: `/sys/…`.
    pub path: String,
    /// The system's error number, if any.
    pub errno: Option<i32>,
    /// Why, in words.
    pub why: String,
}

const DENIED: &str = "permission denied";
const MISSING: &str = "no such file";

impl Refusal {
    /// From the error of a system call.
    pub fn new(path: &str, error: &std::io::Error) -> Self {
        let why = match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => DENIED.to_owned(),
            Some(libc::EBUSY) => "busy".to_owned(),
            Some(libc::EINVAL) => "the kernel does not accept this value".to_owned(),
            Some(libc::ENOENT | libc::ENOTDIR) => MISSING.to_owned(),
            Some(libc::EIO) => "the kernel cannot do this on this machine".to_owned(),
            Some(libc::EROFS) => "mounted read-only".to_owned(),
            _ => error.to_string(),
        };
        Self { path: path.to_owned(), errno: error.raw_os_error(), why }
    }

    /// Whether the file is not there (any more).
    pub fn is_missing(&self) -> bool {
        matches!(self.errno, Some(libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ENXIO))
    }
}

/// Whether this user may write to a path.
pub(crate) fn may_write(path: &Path) -> bool {
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// A machine's files by their path there: those below a root, as far as an implementation does not replace them.
pub trait Files: Sync {
    /// The machine.
    fn root(&self) -> &Root;

    /// The text of a file, without white space at its ends.
    fn read(&self, path: &str) -> Result<String, Refusal> {
        self.root().try_text(path).map_err(|unreadable| {
            let (errno, why) = match &unreadable.why {
                machine::Why::Missing => (Some(libc::ENOENT), MISSING.to_owned()),
                machine::Why::Denied => (Some(libc::EACCES), DENIED.to_owned()),
                other => (None, other.to_string()),
            };
            Refusal { path: path.to_owned(), errno, why }
        })
    }

    /// Writes a value to an existing file. One `write` call: sysfs expects the whole value at once.
    fn write(&self, path: &str, value: &str) -> Result<(), Refusal> {
        let refused = |error: std::io::Error| Refusal::new(path, &error);
        let root = self.root();
        let real =
            root.real_path(path).map_err(|_| refused(std::io::Error::from_raw_os_error(libc::ENOENT)))?;
        // A captured tree's file is a plain one, which retains the rest of a longer value unless it is truncated.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).truncate(!root.is_live()).open(real).map_err(refused)?;
        let text = format!("{value}\n");
        match file.write(text.as_bytes()) {
            Ok(written) if written == text.len() => Ok(()),
            Ok(_) => Err(refused(std::io::Error::from_raw_os_error(libc::EIO))),
            Err(error) => Err(refused(error)),
        }
    }

    /// Names in a folder, `cpu2` before `cpu10`; empty if it cannot be read.
    fn list(&self, folder: &str) -> Vec<String> {
        self.root().list(folder)
    }

    /// Whether this user may write the file.
    fn writable(&self, path: &str) -> bool {
        self.root().real_path(path).is_ok_and(|real| may_write(&real))
    }

    /// Whether the kernel accepts no value from anyone, including root, as the file's mode shows.
    fn is_fixed(&self, path: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let metadata = self.root().real_path(path).ok().and_then(|real| std::fs::metadata(real).ok());
        metadata.is_some_and(|metadata| metadata.permissions().mode() & 0o222 == 0)
    }
}

/// The files below a [`Root`].
#[derive(Debug)]
pub struct Tree<'a> {
    root: &'a Root,
}

impl<'a> Tree<'a> {
    /// Below this root.
    pub fn new(root: &'a Root) -> Self {
        Self { root }
    }
}

impl Files for Tree<'_> {
    fn root(&self) -> &Root {
        self.root
    }
}
