//! Errors of planning.

use record::CpuList;

/// The reason why no plan can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More processes than fit, or none.
    #[error("--processes {asked}: {}use 1 to {most}", .room.map_or(String::new(), |room| format!("there are {room} usable CPUs; ")))]
    Processes {
        /// The requested number.
        asked: u32,
        /// Number of usable CPUs, if the record has them.
        room: Option<u32>,
        /// The maximum.
        most: u32,
    },
    /// The list of requested CPUs is empty.
    #[error("the list of --cpus is empty; use, for example, --cpus 0-3,8")]
    NoCpusAsked,
    /// Some requested CPUs cannot be used.
    #[error("--cpus {asked}: CPU {missing} cannot be used (usable CPUs: {usable})")]
    CpusNotUsable {
        /// The requested CPUs.
        asked: CpuList,
        /// The requested CPUs that cannot be used.
        missing: CpuList,
        /// The usable CPUs.
        usable: CpuList,
    },
    /// CPUs were requested, but the record does not list the machine's CPUs.
    #[error("--cpus: the record does not list the machine's CPUs")]
    CpusNotReported,
    /// No CPU in the record is both online and allowed.
    #[error("the record has no CPU that is both online and allowed")]
    NoUsableCpu,
    /// The record lists neither CPUs nor several nodes.
    #[error("the record lists neither the machine's CPUs nor several NUMA nodes")]
    NothingReported,
}

impl PlanError {
    /// Whether the error is in the request rather than in the record.
    pub fn is_of_request(&self) -> bool {
        !matches!(self, PlanError::NoUsableCpu | PlanError::NothingReported)
    }
}
