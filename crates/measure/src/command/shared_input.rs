//! Standard input shared by several runs of a command: each run reads a file from the same position.

use std::fs::File;
use std::io::{IsTerminal, Seek, SeekFrom};
use std::os::fd::AsFd;

/// The input of several runs of a command.
#[derive(Debug)]
pub enum SharedInput {
    /// A file, which each run reads from the same position.
    File(File, u64),
    /// A pipe, from which each run reads the data left by earlier runs. The flag shows whether the pipe could provide data at the start.
    Pipe(bool),
    /// A terminal, or input for a single run.
    Other,
}

impl SharedInput {
    /// Standard input before `all` runs.
    pub fn of_runs(all: u32) -> Self {
        let stdin = std::io::stdin();
        if all < 2 || stdin.is_terminal() {
            return Self::Other;
        }
        // The copy shares its file position with the command's input.
        let Ok(copy) = stdin.as_fd().try_clone_to_owned() else { return Self::Other };
        let mut file = File::from(copy);
        match file.stream_position() {
            Ok(at) => Self::File(file, at),
            Err(_) => Self::Pipe(!is_used_up()),
        }
    }

    /// Prepares another run: rewinds to the position where the first run began. Returns whether there is data to read
    /// again.
    pub fn again(&mut self) -> bool {
        self.before(1);
        matches!(self, Self::File(..))
    }

    /// Whether standard input is a pipe with data, which later runs cannot read again.
    pub fn is_pipe_with_content(&self) -> bool {
        matches!(self, Self::Pipe(_)) && poll_input() & libc::POLLIN != 0
    }

    /// Prepares run `number`, counted from 0: rewinds to the position where the first run began. Returns whether a pipe
    /// has no data left for this run.
    pub fn before(&mut self, number: u32) -> bool {
        match self {
            // The position could be read, so it can also be set. If the file no longer exists, the command will report that.
            Self::File(file, at) if number > 0 => {
                let _ = file.seek(SeekFrom::Start(*at));
            }
            // A pipe that no run has read, as over ssh, is unchanged, so this run can use it.
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

/// The current poll events of standard input.
fn poll_input() -> libc::c_short {
    let mut asked = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    // SAFETY: the structure is local to this function, and the call does not block.
    let reported = unsafe { libc::poll(&mut asked, 1, 0) };
    if reported == 1 { asked.revents } else { 0 }
}
