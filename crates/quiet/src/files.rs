//! Reads, writes and lists the files of a machine, or of a tree captured from one.

use std::io::Write;
use std::path::Path;

use machine::Root;
use rustix::fs::{Access, AtFlags, CWD, accessat};

/// The system error for a file that could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct Refusal {
    /// The path on the machine, such as `/sys/…`.
    pub path: String,
    /// The system's error number, if any.
    pub errno: Option<i32>,
    /// The error message.
    pub why: String,
}

const DENIED: &str = "permission denied";
const MISSING: &str = "no such file";

impl Refusal {
    /// Converts the error of a system call.
    pub fn new(path: &str, error: &std::io::Error) -> Self {
        let why = match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => DENIED.to_owned(),
            Some(libc::EBUSY) => "busy".to_owned(),
            Some(libc::EINVAL) => "the kernel does not accept this value".to_owned(),
            Some(libc::ENOENT | libc::ENOTDIR) => MISSING.to_owned(),
            Some(libc::EIO) => "not supported by the kernel on this machine".to_owned(),
            Some(libc::EROFS) => "mounted read-only".to_owned(),
            _ => error.to_string(),
        };
        Self { path: path.to_owned(), errno: error.raw_os_error(), why }
    }

    /// Whether the file does not exist, or no longer exists.
    pub fn is_missing(&self) -> bool {
        matches!(self.errno, Some(libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ENXIO))
    }
}

/// Whether this user may write to a path.
pub(crate) fn may_write(path: &Path) -> bool {
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Access to a machine's files by their path on the machine. By default, these are the files under a root; an
/// implementation may provide others.
pub trait Files: Sync {
    /// The machine.
    fn root(&self) -> &Root;

    /// The text of a file, without leading and trailing white space.
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

    /// Writes a value to an existing file with one `write` call, because sysfs expects the whole value at once.
    fn write(&self, path: &str, value: &str) -> Result<(), Refusal> {
        let refused = |error: std::io::Error| Refusal::new(path, &error);
        let root = self.root();
        let real =
            root.real_path(path).map_err(|_| refused(std::io::Error::from_raw_os_error(libc::ENOENT)))?;
        // Files in a captured tree are regular files, which retain the rest of a longer value unless they are
        // truncated.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).truncate(!root.is_live()).open(real).map_err(refused)?;
        let text = format!("{value}\n");
        match file.write(text.as_bytes()) {
            Ok(written) if written == text.len() => Ok(()),
            Ok(_) => Err(refused(std::io::Error::from_raw_os_error(libc::EIO))),
            Err(error) => Err(refused(error)),
        }
    }

    /// The names in a directory, in natural order (`cpu2` before `cpu10`); empty if the directory cannot be read.
    fn list(&self, folder: &str) -> Vec<String> {
        self.root().list(folder)
    }

    /// Whether this user may write to the file.
    fn writable(&self, path: &str) -> bool {
        self.root().real_path(path).is_ok_and(|real| may_write(&real))
    }

    /// Whether the file cannot be written by anyone, including root, according to its mode.
    fn is_fixed(&self, path: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let metadata = self.root().real_path(path).ok().and_then(|real| std::fs::metadata(real).ok());
        metadata.is_some_and(|metadata| metadata.permissions().mode() & 0o222 == 0)
    }
}

/// The files under this root.
impl Files for Root {
    fn root(&self) -> &Root {
        self
    }
}
