//! Why no record can be made of a text.

use std::collections::BTreeSet;
use std::fmt;

use record::import::Origin;

use crate::limits::{MOST_ENTRIES, MOST_ENTRIES_IN_ALL, MOST_MACHINES};

/// Why no record can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No tool's output that is known is in the texts.
    NothingKnown {
        /// Lines that there are, blank ones left out.
        lines: u64,
    },
    /// Outputs are there, and nothing could be read of them: a tool that was not allowed to look, a header alone.
    NothingRead {
        /// Whose outputs.
        tools: BTreeSet<String>,
    },
    /// The outputs are of several machines, and nothing says which is which.
    SeveralMachines(Clash),
    /// One machine has more figures and facts than a record holds.
    TooManyEntries,
    /// All machines together have more of them than one import takes.
    TooManyEntriesInAll,
    /// There are more machines than one import makes.
    TooManyMachines,
}

/// What can stand only once of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clash {
    /// Two lines that cannot be of the same machine.
    Lines(Box<[Origin; 2]>),
    /// Two first cells of a table's rows, each with its line.
    Labels([(String, u64); 2]),
}

/// What to do when two machines stand in one text and nothing tells them apart.
const WAY_OUT: &str = "two machines, and no host name says which is which: tell where each begins with --split headings, \
                       --split files, or --split REGEX";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NothingKnown { lines: 0 } => f.write_str("the text is empty"),
            Error::NothingKnown { lines: 1 } => {
                f.write_str("its one line is no output of a tool that is known")
            }
            Error::NothingKnown { lines } => {
                write!(f, "none of the {lines} lines is output of a tool that is known")
            }
            Error::NothingRead { tools } => {
                let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
                write!(f, "the text has output of {} that tells nothing", tools.join(", "))
            }
            Error::SeveralMachines(clash) => write!(f, "{clash}: {WAY_OUT}"),
            Error::TooManyEntries => write!(
                f,
                "the text has more than {MOST_ENTRIES} figures and facts of one machine, the most that a record holds: \
                 import it in pieces"
            ),
            Error::TooManyEntriesInAll => write!(
                f,
                "the texts have more than {MOST_ENTRIES_IN_ALL} figures and facts of all machines together, the most that \
                 one import takes: import them in pieces"
            ),
            Error::TooManyMachines => write!(
                f,
                "the text is of more than {MOST_MACHINES} machines, the most that one import makes: import it in pieces"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |origin: &Origin| {
            let words: Vec<&str> = origin.says.split_whitespace().collect();
            let says: String = words.join(" ").chars().take(60).collect();
            format!("{} line {} says {says:?}", origin.text, origin.line)
        };
        match self {
            Clash::Lines(lines) => write!(f, "{}, and {}", short(&lines[0]), short(&lines[1])),
            Clash::Labels([(first, line), (other, other_line)]) => {
                write!(
                    f,
                    "a table has figures of {first:?} (line {line}) and of {other:?} (line {other_line})"
                )
            }
        }
    }
}
