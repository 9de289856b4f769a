//! A terminal for the program to print on.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, ExitStatus};

use super::started::spawned;

/// A pseudo-terminal of 100 columns: the end that people see, and the end that the program prints on.
pub fn open() -> (File, OwnedFd) {
    let size = libc::winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut seen, mut printed) = (-1, -1);
    // SAFETY: openpty fills two file descriptors that nobody else owns; the size outlives the call.
    unsafe {
        let none = std::ptr::null_mut();
        assert_eq!(libc::openpty(&mut seen, &mut printed, none, std::ptr::null(), &size), 0);
        (File::from_raw_fd(seen), OwnedFd::from_raw_fd(printed))
    }
}

/// What a command prints on a terminal, and how it ended.
pub fn shown(mut command: Command) -> (String, ExitStatus) {
    let (seen, printed) = open();
    command.stdout(printed.try_clone().unwrap()).stderr(printed);
    let mut child = spawned(&mut command);
    // The command holds the other end open until it goes.
    drop(command);
    let text = all(seen);
    (text, child.wait().unwrap())
}

/// All that was printed, once the other end is closed everywhere.
pub fn all(mut seen: File) -> String {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    // The last read fails with EIO: that is how Linux says that a terminal's other end is closed.
    while let Ok(count) = seen.read(&mut part) {
        if count == 0 {
            break;
        }
        text.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&text).into_owned()
}
