//! Who tuned the machine already, what that session lacks for another one, and the way out.

use std::fmt;

use record::CpuList;

use crate::value_syntax::name_cpus;

/// Whose session it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A process under which this one runs.
    Parent(u32),
    /// An earlier start, whose values stay.
    Earlier {
        /// When it set them.
        date: String,
        /// Its command line.
        command: String,
    },
}

impl Owner {
    pub(crate) fn is_parent(&self) -> bool {
        matches!(self, Owner::Parent(_))
    }

    /// What has to be done to set more.
    pub fn way_out(&self) -> WayOut {
        if self.is_parent() { WayOut::AskThere } else { WayOut::Restore }
    }
}

/// What has to be done to set more than an existing session has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// The command that the session is for has to ask for it.
    AskThere,
    /// Its values have to be put back.
    Restore,
}

impl fmt::Display for WayOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WayOut::AskThere => "ask for it there",
            WayOut::Restore => "put its values back first: linespeed quiet --restore",
        })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Parent(pid) => write!(f, "process {pid}, under which this runs"),
            Owner::Earlier { date, command } => write!(f, "what stands since {date} ({command})"),
        }
    }
}

/// What an existing session does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// These knobs are not set by it.
    Knobs(Vec<&'static str>),
    /// These CPUs are not quiet under it.
    Cpus(CpuList),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::Knobs(knobs) => write!(f, "does not set {}", knobs.join(", "))?,
            Lack::Cpus(cpus) => write!(f, "does not keep {} quiet", name_cpus(cpus))?,
        }
        f.write_str(", and only one session can exist at a time")
    }
}
