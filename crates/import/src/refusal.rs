//! Why no record can be made of a text.

use std::collections::BTreeSet;
use std::fmt;

use crate::parts::MOST_PARTS;

/// Figures, facts and outputs that a record of one machine can hold: more would make a record that no reader takes.
pub const MOST_ENTRIES: usize = 40_000;

/// Those of all machines of one import: what is kept of them takes about 2 KiB each.
pub const MOST_IN_ALL: usize = 250_000;

/// Why no record can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No tool's output that is known is in the texts.
    Nothing {
        /// Lines that there are, blank ones left out.
        lines: u64,
    },
    /// Outputs are there, and nothing could be read of them: a tool that was not allowed to look, a header alone.
    Empty {
        /// What tells it, one sentence.
        says: String,
    },
    /// The outputs are of several machines, and nothing says which is which.
    Several {
        /// What tells it, one sentence.
        says: String,
    },
    /// There is more than one record can hold.
    TooMuch {
        /// Of what, one sentence.
        says: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Nothing { lines: 0 } => f.write_str("the text is empty"),
            Refusal::Nothing { lines } => {
                let none =
                    if *lines == 1 { "its one line is no" } else { &format!("none of the {lines} lines is") };
                write!(f, "{none} output of a tool that is known")
            }
            Refusal::Empty { says } | Refusal::Several { says } | Refusal::TooMuch { says } => {
                f.write_str(says)
            }
        }
    }
}

impl Refusal {
    /// One machine has more entries than a record holds.
    pub fn entries() -> Self {
        let says = format!(
            "the text has more than {MOST_ENTRIES} figures and facts of one machine, the most that a record holds: import it \
             in pieces"
        );
        Self::TooMuch { says }
    }

    /// All machines together have more entries than one import takes.
    pub fn in_all() -> Self {
        let says = format!(
            "the texts have more than {MOST_IN_ALL} figures and facts of all machines together, the most that one import \
             takes: import them in pieces"
        );
        Self::TooMuch { says }
    }

    /// There are more machines than one import makes.
    pub fn machines() -> Self {
        let says = format!(
            "the text is of more than {MOST_PARTS} machines, the most that one import makes: import it in pieces"
        );
        Self::TooMuch { says }
    }

    /// These tools told nothing.
    pub fn empty<'a>(tools: impl Iterator<Item = &'a str>) -> Self {
        let tools: BTreeSet<&str> = tools.collect();
        let tools: Vec<&str> = tools.into_iter().collect();
        let says = format!("the text has output of {} that tells nothing", tools.join(", "));
        Self::Empty { says }
    }
}
