//! The user under which this process runs and creates files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The effective UID.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid takes no arguments and touches no memory.
    unsafe { libc::geteuid() }
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    effective_user() == 0
}

/// Whether a file with this owner belongs to the current user or root. Programs named in other users' files are not
/// run.
pub fn is_ours(owner: u32) -> bool {
    [0, effective_user()].contains(&owner)
}

/// Whether anyone other than root and this user may change the file at a path, because the file, a directory or a link in the path belongs
/// to another user or is writable by other users.
pub fn others_may_change(path: &Path) -> bool {
    // The check is omitted in a user namespace: root has only the permissions of the user who created the namespace, and most owners have
    // no UID there.
    let users = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if !users.is_empty() && !users.split_whitespace().eq(["0", "0", "4294967295"]) {
        return false;
    }
    let exposed = |path: &Path| {
        let data = path.ancestors().filter_map(|place| place.symlink_metadata().ok());
        data.into_iter().any(|data| {
            let writers = if data.gid() == 0 { libc::S_IWOTH } else { libc::S_IWOTH | libc::S_IWGRP };
            let open = data.mode() & writers != 0 && data.mode() & libc::S_ISVTX == 0;
            !is_ours(data.uid()) || open && !data.is_symlink()
        })
    };
    let there = path.ancestors().find_map(|place| place.canonicalize().ok());
    exposed(path) || there.is_some_and(|there| exposed(&there))
}

/// The user who ran sudo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoker {
    /// The user's UID.
    pub user: u32,
    /// The user's GID.
    pub group: u32,
    /// The user's home directory.
    pub home: PathBuf,
}

impl Invoker {
    /// The user who runs this program as root through sudo; `None` without sudo, or if the user has no home directory.
    pub fn of_sudo() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        let (user, group) = (number("SUDO_UID").filter(|user| *user != 0 && is_root())?, number("SUDO_GID")?);
        let home = home_of(user, &std::fs::read_to_string("/etc/passwd").ok()?)?;
        Some(Self { user, group, home })
    }

    /// Makes this thread create and open files as that user until the result is dropped.
    pub fn assume(&self) -> Assumed {
        set_file_owner(self.user, self.group);
        Assumed(())
    }
}

/// While this value exists, this thread creates files as another user.
pub struct Assumed(());

impl Drop for Assumed {
    fn drop(&mut self) {
        // SAFETY: getegid takes no arguments and touches no memory.
        set_file_owner(effective_user(), unsafe { libc::getegid() });
    }
}

/// Sets the user under which this thread creates and opens files. Root keeps the permission to change it again (CAP_SETUID,
/// CAP_SETGID).
fn set_file_owner(user: u32, group: u32) {
    // SAFETY: both calls only take integers and touch no memory.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
}

/// The name of the current user, or the UID if /etc/passwd has no entry for the user. The C library's own lookup would load other
/// libraries into this static program.
pub fn user_name() -> String {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_of(effective_user(), &passwd).map_or_else(|| effective_user().to_string(), str::to_owned)
}

/// The name of a user, from the lines of /etc/passwd.
pub fn name_of(user: u32, passwd: &str) -> Option<&str> {
    field_of(user, passwd, 0)
}

/// The home directory of a user, from the lines of /etc/passwd.
fn home_of(user: u32, passwd: &str) -> Option<PathBuf> {
    field_of(user, passwd, 5).map(PathBuf::from).filter(|home| home.is_dir())
}

/// A non-empty field of a user's line in /etc/passwd (passwd(5)).
fn field_of(user: u32, passwd: &str, at: usize) -> Option<&str> {
    let is_theirs = |line: &&str| line.split(':').nth(2).is_some_and(|id| id.parse() == Ok(user));
    passwd.lines().find(is_theirs)?.split(':').nth(at).filter(|field| !field.is_empty())
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
    fn users_have_names_or_numbers() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\n::7:7\nbroken\ndb:x:104:1:,,,:/:/bin/sh\n";
        assert_eq!(field_of(104, passwd, 0), Some("db"));
        assert_eq!((field_of(10, passwd, 0), field_of(7, passwd, 0)), (None, None));
    }

    #[test]
    fn what_lies_below_another_users_folder_or_link_others_may_change() {
        use std::os::unix::fs::{PermissionsExt, lchown, symlink};
        if !is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let may_change = |name: &str| others_may_change(&at(name));
        for name in ["theirs", "ours", "open", "sticky"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        lchown(at("theirs"), Some(65_534), None).unwrap();
        for (name, mode) in [("open", 0o777), ("sticky", 0o1777)] {
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(at("ours"), at("sticky/link")).unwrap();
        symlink(at("theirs"), at("ours/link")).unwrap();
        lchown(at("sticky/link"), Some(65_534), None).unwrap();
        let all = ["ours/a/b", "sticky/a", "theirs/a/b", "open/a", "sticky/link/a", "ours/link/a"];
        assert_eq!(all.map(may_change), [false, false, true, true, true, true]);
    }

    #[test]
    fn files_are_the_users_while_assumed_and_ours_after() {
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
        // The user does not have root's file permissions.
        assert!(std::fs::read_dir(&private).is_err());
        drop(assumed);
        assert!(std::fs::read_dir(&private).is_ok());
        assert_eq!(made("ours").0, 0);
    }
}
