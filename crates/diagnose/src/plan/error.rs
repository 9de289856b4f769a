//! Why there is no plan.

use std::fmt;

use record::CpuList;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// More processes than can be laid out, or none.
    Processes {
        /// So many are asked for.
        asked: u32,
        /// The CPUs to use, where the record has them.
        room: Option<u32>,
        /// The most that there may be.
        most: u32,
    },
    /// The list of CPUs to stay on is empty.
    NoCpusAsked,
    /// CPUs to stay on cannot be used.
    CpusNotUsable {
        /// The CPUs asked for.
        asked: CpuList,
        /// Those of them that cannot be used.
        missing: CpuList,
        /// Those that can.
        usable: CpuList,
    },
    /// CPUs to stay on are named, and the record does not list the machine's.
    CpusNotReported,
    /// No CPU of the record is online and may be used.
    NoUsableCpu,
    /// The record has neither CPUs nor several nodes.
    NothingReported,
}

impl PlanError {
    /// Whether what is asked for is wrong, and not the record.
    pub fn is_of_request(&self) -> bool {
        !matches!(self, PlanError::NoUsableCpu | PlanError::NothingReported)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Processes { asked, room: Some(room), most } => {
                write!(f, "--processes {asked}: there are {room} CPUs to use; write 1 to {most}")
            }
            PlanError::Processes { asked, room: None, most } => {
                write!(f, "--processes {asked}: write 1 to {most}")
            }
            PlanError::NoCpusAsked => {
                f.write_str("--cpus: the list is empty; write for instance --cpus 0-3,8")
            }
            PlanError::CpusNotUsable { asked, missing, usable } => {
                write!(f, "--cpus {asked}: CPU {missing} cannot be used; usable are {usable}")
            }
            PlanError::CpusNotReported => f.write_str("--cpus: the record does not list the machine's CPUs"),
            PlanError::NoUsableCpu => f.write_str("the record has no CPU that is online and allowed"),
            PlanError::NothingReported => {
                f.write_str("the record has neither the machine's CPUs nor several NUMA nodes")
            }
        }
    }
}

impl std::error::Error for PlanError {}
