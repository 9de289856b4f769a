//! The reasons why a run does not count.

use std::collections::HashSet;
use std::fmt;

use os::Stop;
use os::child::{Exit, SpawnError};
use record::{Text, text};

/// Maximum number of output characters shown in an error.
const SHOWN: usize = 600;

/// The failure of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// How the command exited.
    pub exit: Exit,
    /// The failed program, if it is a command of the service rather than the measured command.
    pub program: Option<String>,
    /// The number of failed copies, and the number of all copies.
    pub copies: (usize, usize),
    /// The last output, of limited length.
    pub last_output: String,
}

impl Failed {
    /// The failure of a command that ran once, based on the complete output.
    pub(crate) fn alone(exit: Exit, program: Option<String>, printed: &[u8]) -> Self {
        Self { exit, program, copies: (1, 1), last_output: last_words(&String::from_utf8_lossy(printed)) }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(program) = &self.program {
            write!(f, "{program} ")?;
        }
        self.exit.fmt(f)?;
        if let (failed, all @ 2..) = self.copies {
            write!(f, " in {failed} of {all} copies")?;
        }
        LastOutput(&self.last_output).fmt(f)
    }
}

/// The end of a sentence about a program that has exited: its last output, or a note that the program printed nothing.
pub(crate) struct LastOutput<'a>(pub(crate) &'a str);

impl fmt::Display for LastOutput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str(" and printed nothing"),
            output => write!(f, "; its last output: {output}"),
        }
    }
}

/// The reason why a run does not count.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Trouble {
    /// This signal requested a stop.
    #[error("stopped by signal {0}")]
    Stopped(i32),
    /// The command cannot be started.
    #[error(transparent)]
    CannotStart(SpawnError),
    /// The command failed or was killed.
    #[error("the command {0}")]
    Failed(Failed),
    /// The shell command line before a run failed.
    #[error("--prepare {line:?} {how}. If it may fail, use --prepare {:?}", format!("{line} || true"))]
    Prepare {
        /// The line.
        line: String,
        /// How the line failed.
        how: Failed,
    },
    /// The command failed because this version of the program does not support a value; the text explains this.
    #[error("{0}")]
    Gone(String),
    /// The command failed in every run. Failed runs count if the user requests it, but no work was completed, so there is no throughput.
    #[error("every run failed, so there is no throughput: the command {0}")]
    AllFailed(Failed),
    /// The command exceeded the time limit (in seconds).
    #[error("the command was stopped: it exceeded the --timeout of {0} s")]
    TimedOut(f64),
    /// The output has no usable score or lacks the required text. The message contains the expected text and the actual output.
    #[error("{0}")]
    Unreadable(String),
    /// The service exited or did not start, for this reason.
    #[error("{0}")]
    Service(String),
    /// The copies need more memory than is available.
    #[error("{0}")]
    NoRoom(Text),
}

/// Whether a signal has asked to stop.
pub(crate) fn check_stop(stop: &Stop) -> Result<(), Trouble> {
    stop.signal().map_or(Ok(()), |signal| Err(Trouble::Stopped(signal)))
}

impl Trouble {
    /// The remedy, if the message does not include it.
    pub fn way_out(&self) -> Option<Text> {
        match self {
            Trouble::Failed(Failed { exit: Exit::Code(_), program: None, .. }) => {
                Some(text!("with -i, failed runs also count, unless all runs fail"))
            }
            Trouble::AllFailed(Failed { exit: Exit::Code(_), .. }) => Some(text!(
                "if this exit code does not mean failure, run the command in a shell: -- sh -c 'COMMAND; exit 0'"
            )),
            _ => None,
        }
    }
}

/// The last output of a failed program, on one line. Repeated lines are shown once. Entries of OpenSSL's error queue are omitted if there
/// is other text, because they refer to OpenSSL's source code.
pub(crate) fn last_words(output: &str) -> String {
    let mut seen = HashSet::new();
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| seen.insert(*line)).collect();
    let own: Vec<&str> = lines.iter().copied().filter(|line| !is_queued_error(line)).collect();
    let kept = if own.iter().all(|line| line.is_empty()) { lines } else { own };
    shorten(&kept.join("\n"))
}

/// Whether a line is an entry of OpenSSL's error queue: `THREAD:error:CODE:…`, in which `THREAD` and `CODE` are hexadecimal.
fn is_queued_error(line: &str) -> bool {
    let is_number = |part: &str| part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = line.split(':');
    parts.next().is_some_and(is_number)
        && parts.next() == Some("error")
        && parts.next().is_some_and(is_number)
}

/// The last characters of a program's output on one line.
pub(crate) fn shorten(output: &str) -> String {
    let line = output.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count().checked_sub(SHOWN) {
        Some(over @ 1..) => format!("… {}", line.chars().skip(over).collect::<String>()),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_said_twice_is_shown_once_and_without_places_in_its_sources() {
        let queued = "4067EC568D7F0000:error:0308010C:digital envelope routines:inner_evp_generic_fetch:unsupported:../crypto/\
                      evp/evp_fetch.c:386:Global default library context, Algorithm (nonsense : 0), Properties (<null>)";
        let said = "speed: nonsense is an unknown cipher or digest";
        assert_eq!(last_words(&format!("{said}\n{queued}\n{queued}\n")), said);
        assert_eq!(last_words(&format!("{queued}\n{queued}\n")), queued);
        assert_eq!(last_words("no table\n  no table\n\nbye"), "no table bye");
        for own in [
            "deadbeef:error: no disk",
            "error:0308010C:x",
            "deadbeef:error:12:x",
            "zzzzzzzz:error:0308010C:x",
        ] {
            assert_eq!(last_words(&format!("{own}\nbye")), format!("{own} bye"));
        }
    }
}
