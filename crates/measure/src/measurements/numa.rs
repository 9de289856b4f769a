//! NUMA.
pub mod plan;
