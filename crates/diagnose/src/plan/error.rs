//! Why there is no plan.

use record::CpuList;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More processes than fit, or zero.
    #[error("--processes {asked}: {}use 1 to {most}", there_are(*room))]
    Processes {
        /// The requested number.
        asked: u32,
        /// The usable CPUs, if the record has them.
        room: Option<u32>,
        /// The maximum.
        most: u32,
    },
    /// The list of CPUs to stay on is empty.
    #[error("--cpus: the list is empty; use for example --cpus 0-3,8")]
    NoCpusAsked,
    /// CPUs to stay on cannot be used.
    #[error("--cpus {asked}: CPU {missing} cannot be used; usable CPUs: {usable}")]
    CpusNotUsable {
        /// The CPUs asked for.
        asked: CpuList,
        /// Those of them that cannot be used.
        missing: CpuList,
        /// Those that can.
        usable: CpuList,
    },
    /// CPUs to stay on are named, and the record does not list the machine's.
    #[error("--cpus: the record does not list the machine's CPUs")]
    CpusNotReported,
    /// No CPU of the record is online and may be used.
    #[error("the record has no CPU that is both online and allowed")]
    NoUsableCpu,
    /// The record has neither CPUs nor several nodes.
    #[error("the record lists neither the machine's CPUs nor several NUMA nodes")]
    NothingReported,
}

impl PlanError {
    /// Whether the request is wrong, rather than the record.
    pub fn is_of_request(&self) -> bool {
        !matches!(self, PlanError::NoUsableCpu | PlanError::NothingReported)
    }
}

fn there_are(room: Option<u32>) -> String {
    room.map_or(String::new(), |room| format!("there are {room} usable CPUs; "))
}
