//! What lives no longer than a process, and so needs no journal; and what a command is given before it begins.

pub mod dma_latency;
pub mod process;

use crate::knob::Hold;

/// Gives a child that stands before its program what it is to have. What of it could not be had, and why.
///
/// Addresses are laid out when a program begins, so they are [`process::with_fixed_addresses`]'s; the latency of idle states
/// is [`dma_latency::DmaLatency`]'s.
pub fn dress(pid: i32, holds: &[Hold]) -> Vec<(Hold, String)> {
    let given = |hold: &Hold| match hold {
        Hold::Affinity(cpus) => process::set_affinity(pid, cpus),
        Hold::Nice(nice) => process::set_nice(pid, *nice),
        Hold::Fifo(priority) => process::set_fifo(pid, *priority),
        Hold::IoPriority(level) => process::set_io_priority(pid, *level),
        Hold::DmaLatency(_) | Hold::FixedAddresses => Ok(()),
    };
    holds.iter().filter_map(|hold| Some((hold.clone(), given(hold).err()?))).collect()
}
