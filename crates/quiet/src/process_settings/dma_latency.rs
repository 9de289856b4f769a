//! `/dev/cpu_dma_latency`: while this file is open, no CPU enters an idle state with a longer exit latency than the number written to the
//! file
//! (Documentation/power/pm_qos_interface.rst).

use std::fs::File;
use std::io::Read;

use crate::files::Refusal;

/// The path of the file.
pub const PATH: &str = "/dev/cpu_dma_latency";

/// Disables all idle states with an exit latency above `us` microseconds until the file is closed or the process ends.
pub fn hold(us: u32) -> Result<File, Refusal> {
    os::hold_idle_states(i32::try_from(us).unwrap_or(i32::MAX)).map_err(|error| Refusal::new(PATH, &error))
}

/// The limit in force, microseconds, which is the lowest of all requested limits. `None` if it cannot be read.
pub fn read_latency_in_force() -> Option<u32> {
    let mut bytes = [0u8; 4];
    File::open(PATH).ok()?.read_exact(&mut bytes).ok()?;
    u32::try_from(i32::from_ne_bytes(bytes)).ok()
}
