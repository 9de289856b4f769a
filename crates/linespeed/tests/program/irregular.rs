//! Pipes, folders, sockets, devices and links where linespeed expects files of its own: nothing waits for them.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, folder, linespeed, run, share_of};

/// What can lie in a file's place. A pipe is waited for by whoever opens it, a device never ends.
const KINDS: [&str; 6] = ["pipe", "folder", "socket", "link to a pipe", "link to a device", "link to itself"];

fn lay(kind: &str, path: &Path) {
    let pipe = |path: &Path| {
        let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the string outlives the call.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o644) }, 0);
    };
    match kind {
        "pipe" => pipe(path),
        "folder" => std::fs::create_dir(path).unwrap(),
        "socket" => drop(UnixListener::bind(path).unwrap()),
        "link to a pipe" => {
            let pipe_path = PathBuf::from(format!("{}.pipe", path.display()));
            pipe(&pipe_path);
            symlink(pipe_path, path).unwrap();
        }
        "link to a device" => symlink("/dev/zero", path).unwrap(),
        _ => symlink(path, path).unwrap(),
    }
}

struct Home(tempfile::TempDir);

impl Home {
    fn ran(&self, args: &[&str]) -> Ran {
        let mut command: Command = linespeed(args);
        command.env("HOME", self.0.path()).current_dir(self.0.path());
        run(command)
    }

    fn state(&self) -> PathBuf {
        self.0.path().join(".local/state/linespeed")
    }
}

#[test]
fn no_command_waits_for_what_lies_in_the_state_folder() {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for kind in share_of("no_command_waits_for_what_lies_in_the_state_folder", 3, KINDS) {
        let home = Home(folder());
        std::fs::create_dir_all(home.state().join("labels")).unwrap();
        let name = record::file_name::record_name(Some(host.trim()), "2026-01-02T03:04:05Z");
        let names = ["ceilings.json", "noise.json", "quiet.lock", "quiet.journal", &format!("{name}.json")];
        for name in names {
            lay(kind, &home.state().join(name));
        }
        symlink(home.state().join(format!("{name}.json")), home.state().join("labels/before")).unwrap();
        let listed = home.ran(&["records", "--json"]).succeeds().stdout;
        assert_eq!(listed.trim(), "[]", "{kind}");
        home.ran(&["records", "prune", "--keep", "0"]).succeeds();
        home.ran(&["show", "."]).fails(3, &["no record of this machine"]);
        home.ran(&["compare", ".", "."]).fails(3, &["no record of this machine"]);
        for name in [&name, "before"] {
            home.ran(&["show", name]).fails(3, &["linespeed records lists them"]);
        }
        home.ran(&["plan"]).succeeds();
        // They write there, too.
        let ran = home.ran(&["stat", "-q", "--label", "new", "--", "true"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{kind}");
        home.ran(&["run", "costs", "--quick", "-q"]).succeeds();
        for name in names {
            assert!(!home.state().join(name).is_file(), "{kind} {name}: it was replaced");
        }
        home.ran(&["show", ".", "-q"]).succeeds();
        assert!(home.ran(&["quiet", "--status"]).code.is_some(), "{kind}");
    }
}

#[test]
fn a_home_that_is_no_folder_has_no_options() {
    let mut command = linespeed(["list"]);
    command.env("HOME", "/dev/null");
    run(command).succeeds();
}
