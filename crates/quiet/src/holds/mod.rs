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

/// Does some work while this thread has what a command is to have: a command that begins within inherits it. An error says why
/// it could not be had; what was done then says nothing.
pub fn with<T>(hold: &Hold, work: impl FnOnce() -> T) -> Result<T, String> {
    if *hold == Hold::FixedAddresses {
        let (done, fixed) = process::with_fixed_addresses(work);
        return fixed.map(|()| done);
    }
    let own = process::own();
    let cpus = process::Mask::of_task(0);
    if let Some((_, why)) = dress(0, std::slice::from_ref(hold)).into_iter().next() {
        return Err(why);
    }
    let done = work();
    match hold {
        Hold::Affinity(_) => cpus.map_or(Ok(()), |cpus| process::set_affinity(0, &cpus.list()))?,
        Hold::Nice(_) => process::set_nice(0, own.nice)?,
        Hold::Fifo(_) => process::set_policy(0, own.policy, 0)?,
        Hold::IoPriority(_) => {
            let (class, level) = own.io.unwrap_or_default();
            process::set_io_class(0, class, if class == 0 { 0 } else { level })?;
        }
        Hold::DmaLatency(_) | Hold::FixedAddresses => {}
    }
    Ok(done)
}
