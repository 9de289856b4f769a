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

/// The folder for this user: root's is the machine's, another user's lies in the state folder given.
pub fn folder(state: Option<&Path>) -> Option<PathBuf> {
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::geteuid() } == 0 { Some(PathBuf::from(SYSTEM)) } else { state.map(Path::to_owned) }
}

/// Makes the folder where it is not there, and looks whether it may be trusted.
pub fn prepare(folder: &Path) -> Result<(), String> {
    let told = |error: io::Error| format!("{}: {error}", folder.display());
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(told)?;
    let metadata = std::fs::symlink_metadata(folder).map_err(told)?;
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
        let number =
            holder.strip_prefix("process ").and_then(|rest| rest.split_once(':')).map(|(pid, _)| pid);
        let dead = number.is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if !dead || from.elapsed() > PATIENCE {
            return Some(holder);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Putting back takes no longer, on the largest machines too.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Root's journal, for another user who may only see that there is one.
pub fn system_journal() -> Option<PathBuf> {
    let path = Path::new(SYSTEM).join(crate::journal::NAME);
    std::fs::symlink_metadata(&path).is_ok().then_some(path)
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
        let system = |error: io::Error| Refused::System(format!("{}: {error}", path.display()));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(system)?;
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
    fn a_folder_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path()).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(prepare(folder.path()).unwrap_err().contains("others may write there"));
    }
}
