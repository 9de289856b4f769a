//! Determines the terminal's capabilities from the terminal and from environment variables, and shows long text in a
//! pager.

use std::env::{var, var_os};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::termios::{Winsize, tcgetwinsize};

/// The options of less if `LESS` is unset: exit immediately if the text fits the screen, pass colors through, do not
/// clear the screen.
const LESS: &str = "FRX";

/// Whether the terminal is dumb, that is, supports no colors and only ASCII.
fn is_dumb() -> bool {
    var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether colors are enabled for this file. Any non-empty value of NO_COLOR disables them (<https://no-color.org>).
pub fn wants_colors(file: &impl IsTerminal) -> bool {
    file.is_terminal() && var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb()
}

/// Whether UTF-8 may be written, according to the locale variables in the order of setlocale(3). If none is set, UTF-8 is used. On a dumb
/// terminal, UTF-8 is never used.
pub fn knows_utf8(file: &impl IsTerminal) -> bool {
    if is_dumb() && file.is_terminal() {
        return false;
    }
    let set = |name: &&str| var(name).ok().filter(|value| !value.is_empty());
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).map(|locale| locale.to_ascii_lowercase());
    locale.is_none_or(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

/// Columns of the terminal; `None` if unknown.
pub fn columns(file: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if let Some(columns) = var("COLUMNS").ok().and_then(|columns| columns.parse().ok()) {
        return Some(columns);
    }
    size(file).map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Lines of the terminal on which this file is open.
pub fn rows(file: &impl AsFd) -> Option<usize> {
    size(file).map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// Text drawn over the previous text, line by line: nothing scrolls, and nothing has to be restored at
/// the end.
#[derive(Debug, Default)]
pub struct Redrawn {
    lines: usize,
    /// Rows and columns of the terminal when the text was last drawn.
    size: (u16, u16),
}

impl Redrawn {
    /// The output to write to `file` for this text. On a terminal, it contains as many lines as fit. Otherwise, it is the complete text,
    /// separated from the previous text by an empty line.
    pub fn over(&mut self, text: &str, file: &(impl IsTerminal + AsFd)) -> String {
        let before = self.lines;
        if !file.is_terminal() || is_dumb() {
            self.lines = text.lines().count();
            return format!("{}{text}", if before > 0 { "\n" } else { "" });
        }
        let room = rows(file).unwrap_or(usize::MAX).saturating_sub(1).max(1);
        let lines: String = text.lines().take(room).map(|line| format!("{line}\x1b[K\n")).collect();
        self.lines = lines.matches('\n').count();
        let now = size(file).map_or((0, 0), |size| (size.ws_row, size.ws_col));
        let resized = std::mem::replace(&mut self.size, now) != now;
        let up = match before {
            0 => String::new(),
            // The lines on the screen may have been re-wrapped, so their starting positions are unknown.
            _ if resized => "\x1b[H\x1b[J".to_owned(),
            _ => format!("\x1b[{before}F"),
        };
        format!("{up}{lines}\x1b[J")
    }
}

fn size(file: &impl AsFd) -> Option<Winsize> {
    tcgetwinsize(file).ok()
}

/// Shows text with `$PAGER` or less; returns whether the pager accepted the text. Quitting the pager early is not an
/// error.
pub fn page(text: &str) -> bool {
    let pager = var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if pager.trim().is_empty() || is_dumb() || var_os("TERM").is_none() {
        return false;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    // SAFETY: signal(2) with SIG_IGN runs no code of ours. An interrupt is meant for the pager, which would otherwise
    // outlive us.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
    // The shell's exit codes for a missing or non-executable program.
    child.wait().is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::fd::FromRawFd;

    /// Both ends of a pseudo-terminal of this size.
    fn terminal(rows: u16, columns: u16) -> (File, File) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut seen, mut printed, none) = (-1, -1, std::ptr::null_mut());
        // SAFETY: openpty fills two file descriptors that have no other owner; the size outlives the call.
        unsafe {
            assert_eq!(libc::openpty(&mut seen, &mut printed, none, std::ptr::null(), &size), 0);
            (File::from_raw_fd(seen), File::from_raw_fd(printed))
        }
    }

    fn resize(terminal: &File, rows: u16, columns: u16) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the kernel reads the winsize, which outlives the call.
        unsafe { assert_eq!(libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &size), 0) };
    }

    #[test]
    fn a_terminal_that_is_resized_is_drawn_anew_and_never_fuller_than_it_is() {
        let (_seen, printed) = terminal(24, 80);
        let mut screen = Redrawn::default();
        let three = "a\nb\nc\n";
        assert_eq!(screen.over(three, &printed), "a\x1b[K\nb\x1b[K\nc\x1b[K\n\x1b[J");
        assert!(screen.over(three, &printed).starts_with("\x1b[3Fa"));
        resize(&printed, 24, 40);
        assert!(screen.over(three, &printed).starts_with("\x1b[H\x1b[Ja"));
        assert!(screen.over(three, &printed).starts_with("\x1b[3Fa"));
        // Three rows have room for two lines and the line of the cursor.
        resize(&printed, 3, 40);
        assert_eq!(screen.over(three, &printed), "\x1b[H\x1b[Ja\x1b[K\nb\x1b[K\n\x1b[J");
        assert!(screen.over(three, &printed).starts_with("\x1b[2Fa"));
        // Output that is not a terminal gets all texts, one after another.
        let (mut screen, file) = (Redrawn::default(), File::open("/dev/null").unwrap());
        assert_eq!(
            (screen.over(three, &file).as_str(), screen.over("d\n", &file).as_str()),
            (three, "\nd\n")
        );
    }
}
