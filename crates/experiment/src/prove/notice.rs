//! What a proof tells while it goes on.

use std::fmt;

use record::phrase::count_noun;
use record::units::{bytes, figure};

/// How far a proof is, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// So many rounds of blocks follow.
    Blocks {
        /// Rounds.
        rounds: usize,
        /// Blocks of a round.
        blocks: usize,
        /// All of it, seconds.
        seconds: f64,
    },
    /// So many runs of the command follow.
    Runs {
        /// Runs.
        runs: usize,
        /// One of them, seconds.
        each: f64,
        /// All of it, seconds.
        seconds: f64,
    },
    /// The first round took another time than was told: so many seconds remain.
    Corrected(f64),
    /// More was read into the page cache than memory has room for, bytes.
    TooMuchWarmed {
        /// What was read.
        bytes: u64,
        /// What is free.
        free: u64,
    },
}

impl Notice {
    /// Whether it is a warning, which is told to those too who want no progress.
    pub fn is_warning(&self) -> bool {
        matches!(self, Notice::TooMuchWarmed { .. })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Blocks { rounds, blocks, seconds } => {
                let (rounds, time) = (count_noun(*rounds, "round"), figure(*seconds, "s"));
                write!(f, "{rounds} of {blocks} blocks in turn: about {time}")
            }
            Notice::Runs { runs, each, seconds } => {
                let (each, time) = (figure(*each, "s"), figure(*seconds, "s"));
                write!(f, "{runs} runs of about {each} in turn, their output dropped: about {time}")
            }
            Notice::Corrected(seconds) => {
                write!(f, "estimate corrected after the first round: about {} more", figure(*seconds, "s"))
            }
            Notice::TooMuchWarmed { bytes: read, free } => {
                let (read, free) = (bytes(*read), bytes(*free));
                write!(f, "--warm: {read} read, only {free} of memory free: some may be evicted again")
            }
        }
    }
}
