//! As whom this process runs, and makes files.

use std::path::PathBuf;

/// The effective user's number.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid takes and touches nothing.
    unsafe { libc::geteuid() }
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    effective_user() == 0
}

/// Whether a file of this owner is the user's that we run as, or root's: what others' files name is not run.
pub fn is_ours(owner: u32) -> bool {
    [0, effective_user()].contains(&owner)
}

/// Who ran sudo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoker {
    /// The user's number.
    pub user: u32,
    /// The number of the user's group.
    pub group: u32,
    /// The user's home.
    pub home: PathBuf,
}

impl Invoker {
    /// The user who runs this as root by sudo; `None` where nobody does, or the user has no home.
    pub fn of_sudo() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        let (user, group) = (number("SUDO_UID").filter(|user| *user != 0 && is_root())?, number("SUDO_GID")?);
        let home = home_of(user, &std::fs::read_to_string("/etc/passwd").ok()?)?;
        Some(Self { user, group, home })
    }

    /// Until this is dropped, this thread makes and opens files as that user.
    pub fn assume(&self) -> Assumed {
        set_file_owner(self.user, self.group);
        Assumed(())
    }
}

/// Files are another user's.
pub struct Assumed(());

impl Drop for Assumed {
    fn drop(&mut self) {
        // SAFETY: getegid takes and touches nothing.
        set_file_owner(effective_user(), unsafe { libc::getegid() });
    }
}

/// Sets as whom this thread makes and opens files. Root's right to set it (CAP_SETUID, CAP_SETGID) stays through both.
fn set_file_owner(user: u32, group: u32) {
    // SAFETY: both take numbers and touch no memory of ours.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
}

/// The home of a user, by the lines of /etc/passwd.
fn home_of(user: u32, passwd: &str) -> Option<PathBuf> {
    let line = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut homes = line.filter(|fields| fields.get(2).is_some_and(|id| id.parse() == Ok(user)));
    homes.next()?.get(5).map(PathBuf::from).filter(|home| home.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_is_there_is_found_by_the_users_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/tmp:/bin/sh\nbob:x:1001:1001::/no/such:/bin/sh\n";
        assert_eq!(home_of(1000, passwd), Some("/tmp".into()));
        assert_eq!((home_of(1001, passwd), home_of(7, passwd)), (None, None));
    }

    #[test]
    fn files_are_the_users_while_assumed_and_ours_after() {
        use std::os::unix::fs::MetadataExt;
        if !is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let private = folder.path().join("private");
        std::fs::create_dir(&private).unwrap();
        for (path, mode) in [(folder.path(), 0o777), (private.as_path(), 0o700)] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        }
        let made = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            let data = std::fs::metadata(path).unwrap();
            (data.uid(), data.gid())
        };
        let invoker = Invoker { user: 65_534, group: 65_533, home: "/".into() };
        let assumed = invoker.assume();
        assert_eq!(made("theirs"), (65_534, 65_533));
        // Root's powers over files are not the user's.
        assert!(std::fs::read_dir(&private).is_err());
        drop(assumed);
        assert!(std::fs::read_dir(&private).is_ok());
        assert_eq!(made("ours").0, 0);
    }
}
