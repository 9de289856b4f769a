//! Why knobs cannot be set, or not be put back.

use std::fmt;

use record::{CpuList, Text};

use crate::audit::CpuRefusal;
use crate::compound_change::CompoundError;
use crate::journal;
use crate::session_owner::{Lack, Owner};
use crate::state_directory::DirectoryError;

/// Why something of a session cannot be done.
#[derive(Debug)]
pub enum Error {
    /// Nothing says where the state directory is.
    NoStateDirectory,
    /// It cannot be written, or not be trusted.
    Directory(DirectoryError),
    /// Another process has the lock, in its own words.
    Held(String),
    /// What this option does has to wait for the session of a process under which this one runs.
    Nested {
        /// That process.
        pid: u32,
        /// The option.
        option: &'static str,
    },
    /// The journal cannot be read or written.
    Journal(journal::Error),
    /// Something compound cannot be done.
    Compound(CompoundError),
    /// A list of quiet CPUs without a CPU.
    NoCpus,
    /// These CPUs cannot be made quiet.
    Cpus(CpuList, CpuRefusal),
    /// An existing session does not do what was asked for.
    Existing {
        /// Whose it is.
        owner: Owner,
        /// What it does not.
        lack: Lack,
    },
    /// Knobs that were named and cannot be set, each with why.
    NotSet {
        /// The knobs.
        knobs: Vec<(&'static str, Text)>,
        /// Whether others had been set, and are put back.
        restored: bool,
    },
    /// An earlier session's values are to stay, with whose.
    Standing(String),
    /// What an earlier session left cannot be put back.
    LeftoverStays,
}

impl Error {
    /// Whether the command line asked for something that does not exist.
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::NoCpus | Error::Cpus(..))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoStateDirectory => f.write_str(
                "neither XDG_STATE_HOME nor HOME says where it is written down what knobs were; set one of them",
            ),
            Error::Directory(error) => write!(f, "{error}"),
            Error::Held(holder) => write!(f, "the knobs are held by {holder}: wait for it, or end it"),
            Error::Nested { pid, option } => write!(
                f,
                "this runs under process {pid}, which puts its knobs back when it ends: {option} has to wait until then"
            ),
            Error::Journal(error) => write!(f, "{error}"),
            Error::Compound(error) => write!(f, "{error}"),
            Error::NoCpus => f.write_str("--cpus: the list is empty; write for instance --cpus 2,3"),
            Error::Cpus(cpus, why) => write!(f, "--cpus {cpus}: {why}"),
            Error::Existing { owner, lack } => {
                let comma = if matches!(owner, Owner::Parent(_)) { "," } else { "" };
                write!(f, "{owner}{comma} {lack}; {}", owner.way_out())
            }
            Error::NotSet { knobs, restored } => {
                let each: Vec<String> = knobs.iter().map(|(knob, why)| format!("{knob}: {why}")).collect();
                let after = if *restored { "; everything is as it was" } else { "" };
                write!(f, "{}{after}", each.join("; "))
            }
            Error::Standing(who) => {
                write!(f, "knobs stand already: {who}; put them back first: linespeed quiet --restore")
            }
            Error::LeftoverStays => f.write_str(
                "what was left behind cannot be put back; linespeed quiet --status tells what it is",
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<DirectoryError> for Error {
    fn from(error: DirectoryError) -> Self {
        Self::Directory(error)
    }
}

impl From<journal::Error> for Error {
    fn from(error: journal::Error) -> Self {
        Self::Journal(error)
    }
}

impl From<CompoundError> for Error {
    fn from(error: CompoundError) -> Self {
        Self::Compound(error)
    }
}
