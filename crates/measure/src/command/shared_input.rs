//! Standard input shared by several runs of a command: each reads a file from the same place.

use std::fs::File;
use std::io::{IsTerminal, Seek, SeekFrom};
use std::os::fd::AsFd;

/// The input of several runs of a command.
#[derive(Debug)]
pub enum SharedInput {
    /// Each from its beginning.
    File(File, u64),
    /// The rest of earlier runs: whether there was anything.
    Pipe(bool),
    /// One run, or a terminal.
    Other,
}

impl SharedInput {
    /// Standard input before `all` runs.
    pub fn of_runs(all: u32) -> Self {
        let stdin = std::io::stdin();
        if all < 2 || stdin.is_terminal() {
            return Self::Other;
        }
        // The copy shares its position with what the command is given.
        let Ok(copy) = stdin.as_fd().try_clone_to_owned() else { return Self::Other };
        let mut file = File::from(copy);
        match file.stream_position() {
            Ok(at) => Self::File(file, at),
            Err(_) => Self::Pipe(!is_used_up()),
        }
    }

    /// Before another run: rewinds to where the first began. Returns whether there is something to read again.
    pub fn again(&mut self) -> bool {
        self.before(1);
        matches!(self, Self::File(..))
    }

    /// Whether it is a pipe with data, which later runs cannot read again.
    pub fn is_pipe_with_content(&self) -> bool {
        matches!(self, Self::Pipe(_)) && poll_input() & libc::POLLIN != 0
    }

    /// Before run `number`, counted from 0: rewinds to where the first began. Returns whether a pipe has nothing left for it.
    pub fn before(&mut self, number: u32) -> bool {
        match self {
            // It could be told where it stood, so it can be set there; a file that is gone by then is the command's to tell.
            Self::File(file, at) if number > 0 => {
                let _ = file.seek(SeekFrom::Start(*at));
            }
            // An unread pipe, as over ssh, is unchanged.
            Self::Pipe(true) => return number == 1 && is_used_up(),
            _ => {}
        }
        false
    }
}

/// Whether standard input is an empty pipe without writers.
fn is_used_up() -> bool {
    let state = poll_input();
    state & libc::POLLHUP != 0 && state & libc::POLLIN == 0
}

/// What a reader can currently get from standard input.
fn poll_input() -> libc::c_short {
    let mut asked = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure of this function's own, and no waiting.
    let reported = unsafe { libc::poll(&mut asked, 1, 0) };
    if reported == 1 { asked.revents } else { 0 }
}
