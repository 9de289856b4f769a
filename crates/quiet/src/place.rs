//! Where the journal and the lock are: a folder that only their owner can write.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The lock's name in its folder.
const LOCK: &str = "quiet.lock";
/// The folder of root, which lives through a power loss.
pub const SYSTEM: &str = "/var/lib/linespeed";
/// Root's where that one cannot be written: it ends with the boot, as the values do.
pub const OF_THE_BOOT: &str = "/run/linespeed";

fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The folder for this user: root's is the machine's, another user's lies in the state folder given.
pub fn folder(state: Option<&Path>) -> Option<PathBuf> {
    if !is_root() {
        return state.map(Path::to_owned);
    }
    let [lasting, of_the_boot] = [SYSTEM, OF_THE_BOOT].map(PathBuf::from);
    // A journal is where it was begun, whatever was mounted since.
    let elsewhere = has_journal(&of_the_boot) || !can_be_written(&lasting) && can_be_written(&of_the_boot);
    Some(if elsewhere && !has_journal(&lasting) { of_the_boot } else { lasting })
}

fn has_journal(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder.join(crate::journal::NAME)).is_ok()
}

/// Whether this user may write a folder, or make it.
fn can_be_written(folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Some(there) = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok()) else {
        return false;
    };
    let Ok(there) = std::ffi::CString::new(there.as_os_str().as_bytes()) else { return false };
    // SAFETY: a string that ends with a zero byte and lives until the call returns.
    unsafe { libc::faccessat(libc::AT_FDCWD, there.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0 }
}

/// Whether a folder is somebody else's, as after `su` without `-`: nothing that this user wrote lies there.
pub fn is_foreign(folder: &Path) -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    let me = unsafe { libc::geteuid() };
    match std::fs::symlink_metadata(folder) {
        Ok(there) => there.uid() != me,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// Why nothing can be kept at a path, and the way out.
fn told(path: &Path, error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EROFS) => "its file system is for reading only".to_owned(),
        Some(libc::ENOSPC | libc::EDQUOT) => "there is no room left".to_owned(),
        Some(libc::ELOOP) => {
            "it is a symbolic link, which is not followed; look at it and remove it".to_owned()
        }
        Some(libc::ENOTDIR | libc::EEXIST) => "something on the way to it is no folder".to_owned(),
        Some(libc::EISDIR) => "it is a folder; look at it and remove it".to_owned(),
        Some(libc::EACCES | libc::EPERM) if !is_root() => {
            "this user may not write there; let HOME or XDG_STATE_HOME name a folder of your own".to_owned()
        }
        _ => error.to_string(),
    };
    format!("what knobs were cannot be written down, so none is set: {}: {why}", path.display())
}

/// Makes the folder where it is not there, and looks whether it may be trusted.
pub fn prepare(folder: &Path) -> Result<(), String> {
    let refused = |error: io::Error| told(folder, &error);
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(refused)?;
    let metadata = std::fs::symlink_metadata(folder).map_err(refused)?;
    // SAFETY: the call takes nothing and cannot fail.
    let me = unsafe { libc::geteuid() };
    if !metadata.is_dir() {
        return Err(format!("{}: is no folder of its own", folder.display()));
    }
    if metadata.uid() != me || metadata.mode() & 0o022 != 0 {
        let why = "others may write there, so nothing is kept in it";
        return Err(format!("{}: {why}; chmod go-w it, or remove it", folder.display()));
    }
    Ok(())
}

/// Who holds the lock, in its own words; `None` where nobody does, or this user may not know.
pub fn holder(folder: &Path) -> Option<String> {
    let path = folder.join(LOCK);
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
    // SAFETY: a descriptor that is open; the lock that is tried ends with it.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } == 0 {
        return None;
    }
    Some(words_of(&mut file))
}

/// Who holds the lock and lives. After a process was killed its guardian holds it until everything is back: that is waited
/// for.
pub fn living_holder(folder: &Path) -> Option<String> {
    let from = std::time::Instant::now();
    loop {
        let holder = holder(folder)?;
        let dead = number_of(&holder).is_some_and(|pid| !lives(pid));
        if !dead || from.elapsed() > PATIENCE {
            return Some(holder);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Putting back takes no longer, on the largest machines too.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// The number of the process that has the lock, in its own words.
pub fn number_of(holder: &str) -> Option<u32> {
    holder.strip_prefix("process ")?.split_once(':')?.0.parse().ok()
}

/// Whether there is a process with this number, as far as this user may see.
pub fn lives(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// More than processes are ever nested; this bounds what numbers that change meanwhile cost.
const MOST_NESTED: usize = 10_000;

/// Whether this process was started below that one.
pub fn is_below(pid: u32) -> bool {
    let mut at = std::process::id();
    for _ in 0..MOST_NESTED {
        let Some(parent) = parent_of(at) else { return false };
        if parent == pid {
            return true;
        }
        at = parent;
    }
    false
}

/// The parent of a process; `None` for the first one.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold any character (proc_pid_stat(5)).
    let after = stat.rsplit_once(')')?.1;
    after.split_ascii_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

/// Root's journal, read by another user: what root has set, or why that cannot be told.
pub fn of_root() -> Option<Result<crate::journal::Kept, String>> {
    if is_root() {
        return None;
    }
    let read =
        |folder: &Path| crate::journal::read_of_root(folder).map_err(|error| error.to_string()).transpose();
    [SYSTEM, OF_THE_BOOT].map(Path::new).into_iter().find_map(read)
}

/// What stands in the lock.
fn words_of(file: &mut File) -> String {
    let mut holder = String::new();
    let _ = file.take(4096).read_to_string(&mut holder);
    let holder = holder.lines().next().unwrap_or("").trim();
    if holder.is_empty() { "another process".to_owned() } else { holder.to_owned() }
}

/// The right to turn knobs: one process has it, and passes it on to the guardian that it leaves behind.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Why there is no lock.
#[derive(Debug)]
pub enum Refused {
    /// Another process has it, in its own words.
    Held(String),
    /// The system refuses.
    System(String),
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub fn take(folder: &Path, command: &str) -> Result<Self, Refused> {
        let path = folder.join(LOCK);
        let system = |error: io::Error| Refused::System(told(&path, &error));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(system)?;
        if !file.metadata().map_err(system)?.is_file() {
            let why = "it is no regular file; look at it and remove it";
            return Err(system(io::Error::other(why)));
        }
        // SAFETY: a descriptor that is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
                return Err(system(error));
            }
            return Err(Refused::Held(words_of(&mut file)));
        }
        let one_line: String = command.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        file.set_len(0)
            .and_then(|()| writeln!(&file, "process {}: {one_line}", std::process::id()))
            .map_err(system)?;
        Ok(Self { file })
    }

    /// Its descriptor, which a guardian keeps open.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path(), "linespeed quiet -- make\nbench").unwrap();
        let Err(Refused::Held(holder)) = Lock::take(folder.path(), "another") else { panic!("taken twice") };
        assert_eq!(holder, format!("process {}: linespeed quiet -- make bench", std::process::id()));
        drop(first);
        // What another test forks in that moment has a copy of the descriptor until it closes all that it does not need.
        let from = std::time::Instant::now();
        while let Err(refused) = Lock::take(folder.path(), "another") {
            assert!(matches!(refused, Refused::Held(_)) && from.elapsed() < PATIENCE, "{refused:?}");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    #[test]
    fn a_lock_that_is_a_link_or_a_folder_is_refused_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join(LOCK);
        std::os::unix::fs::symlink("/etc/hostname", &lock).unwrap();
        let refused = |folder: &Path| match Lock::take(folder, "test") {
            Err(Refused::System(why)) => why,
            other => panic!("{other:?}"),
        };
        let why = refused(folder.path());
        assert!(why.contains("quiet.lock: it is a symbolic link") && why.contains("remove it"), "{why}");
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        let why = refused(folder.path());
        assert!(why.contains("it is a folder") && !why.contains("os error"), "{why}");
    }

    #[test]
    fn who_was_started_below_whom_is_known() {
        // SAFETY: takes nothing and cannot fail.
        let parent = unsafe { libc::getppid() } as u32;
        assert!(is_below(parent) && !is_below(std::process::id()) && !is_below(u32::MAX));
        assert!(
            number_of("process 12: linespeed quiet") == Some(12) && number_of("another process").is_none()
        );
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path()).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(prepare(folder.path()).unwrap_err().contains("others may write there"));
    }
}
