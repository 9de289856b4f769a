//! Requests to the virtual machine over a serial port, and its answers. Each request and each answer is a line of JSON.
//! A request that announces a piece of a file is followed by that piece.

use std::ops::Range;

use record::{Text, text};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Pass, Unavailable};

/// The longest line that the machine reads.
pub(super) const LINE: u64 = 256;
/// The longest piece of a file, bytes: the limit of a terminal's line discipline.
pub(super) const PIECE: usize = 4096;

/// The place in the machine where the routine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Whether the routine runs in a kernel thread; otherwise, it runs in the guest's only user program.
    pub kernel: bool,
    /// Whether the routine is pinned to the first vCPU; otherwise, it may run on all vCPUs.
    pub bound: bool,
    /// Whether interrupts are enabled.
    pub interrupts: bool,
}

/// A request to the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GuestCommand {
    /// Report the kernel release.
    About,
    /// Receive the next part of the kernel module: this many bytes, which follow the request.
    Piece(usize),
    /// Load the module.
    Load,
    /// Count the primes in a range; the routine runs in this place.
    Pass(Place, Range<u64>),
}

/// A request or an answer as a line of JSON.
pub(super) fn line(said: &impl Serialize) -> String {
    format!("{}\n", json!(said))
}

/// An answer from the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The release of the machine's kernel.
    Release(String),
    /// The request was executed.
    Done,
    /// The pass, including the events that disturbed the thread, as counted by the machine.
    Pass(Pass),
    /// The reason why the request failed, and the remedy.
    Failed(String, Option<Text>),
}

impl From<Result<Answer, Unavailable>> for Answer {
    fn from(done: Result<Answer, Unavailable>) -> Self {
        done.unwrap_or_else(|failure| Self::Failed(failure.reason.to_string(), failure.remedy))
    }
}

/// The error for a reply that does not match its request.
pub(super) fn unclear(answer: &str) -> Unavailable {
    let line = format!("{:?}", answer.chars().take(80).collect::<String>());
    Unavailable::new(text!("the guest answered {line}"))
}

/// Parses the answer in a line, or returns the reason why the machine failed.
pub(super) fn answer(line: &str) -> Result<Answer, Unavailable> {
    match serde_json::from_str(line).map_err(|_| unclear(line))? {
        Answer::Failed(reason, remedy) => {
            Err(Unavailable { reason: text!("in the guest: {reason}"), remedy })
        }
        answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked() -> impl Strategy<Value = GuestCommand> {
        let place = (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(kernel, bound, interrupts)| Place { kernel, bound, interrupts });
        prop_oneof![
            Just(GuestCommand::About),
            Just(GuestCommand::Load),
            (0..=PIECE).prop_map(GuestCommand::Piece),
            (place, any::<u64>(), any::<u64>())
                .prop_map(|(place, start, end)| GuestCommand::Pass(place, start..end)),
        ]
    }

    proptest! {
        #[test]
        fn what_is_asked_is_what_is_read(asked in asked()) {
            let line = line(&asked);
            prop_assert!(line.len() < LINE as usize);
            prop_assert_eq!(serde_json::from_str::<GuestCommand>(&line).unwrap(), asked);
        }

        #[test]
        fn no_line_panics(line in "\\PC{0,60}") {
            let _ = answer(&line);
        }
    }

    #[test]
    fn a_failure_comes_back_with_its_way_out() {
        let failure = Unavailable::new("no such CPU").with_remedy("name another");
        let reported = answer(&line(&Answer::from(Err(failure)))).unwrap_err();
        assert_eq!(
            (reported.reason.value("reason"), reported.remedy),
            (Some(&"no such CPU".into()), Some("name another".into()))
        );
    }
}
