//! Settings that end with a process and therefore need no journal, and settings for a command before it starts.

pub mod dma_latency;
pub mod process;

use crate::knob::ProcessSetting;
use machine::Root;
use process::SettingRefusal;
use record::CpuList;

/// Applies settings to a child that has not started its program. Returns the failed settings with the reasons.
///
/// Fixed addresses must be set before a program starts and are handled by [`process::with_fixed_addresses`]; the
/// latency of idle states is handled by [`dma_latency::hold`].
pub fn apply_settings(pid: i32, settings: &[ProcessSetting]) -> Vec<(ProcessSetting, SettingRefusal)> {
    let given = |setting: &ProcessSetting| match setting {
        ProcessSetting::Affinity(cpus) => process::set_affinity(pid, cpus),
        ProcessSetting::Nice(nice) => process::set_nice(pid, *nice),
        ProcessSetting::Fifo(priority) => process::set_policy(pid, libc::SCHED_FIFO, *priority),
        ProcessSetting::IoPriority(level) => process::set_io_class(pid, process::IOPRIO_CLASS_BE, *level),
        ProcessSetting::DmaLatency(_) | ProcessSetting::FixedAddresses => Ok(()),
    };
    settings.iter().filter_map(|setting| Some((setting.clone(), given(setting).err()?))).collect()
}

/// Moves this process off the quiet CPUs, if permitted.
pub fn leave_cpus(quiet: &CpuList) {
    let online = Root::live().cpu_list("/sys/devices/system/cpu/online").unwrap_or_default();
    let rest = online.difference(quiet);
    if !rest.is_empty() {
        let _ = process::set_affinity(0, &rest);
    }
}

/// Runs `work` while this thread has a command's setting; commands started by `work` inherit the setting. An error
/// means that the setting failed, in which case the result of the work is meaningless.
pub fn run_with_setting<T>(setting: &ProcessSetting, work: impl FnOnce() -> T) -> Result<T, SettingRefusal> {
    if *setting == ProcessSetting::FixedAddresses {
        let (done, fixed) = process::with_fixed_addresses(work);
        return fixed.map(|()| done);
    }
    let own = process::read_attributes();
    let cpus = os::pin::affinity(0);
    if let Some((_, why)) = apply_settings(0, std::slice::from_ref(setting)).into_iter().next() {
        return Err(why);
    }
    let done = work();
    match setting {
        ProcessSetting::Affinity(_) => cpus.map_or(Ok(()), |cpus| process::set_affinity(0, &cpus))?,
        ProcessSetting::Nice(_) => process::set_nice(0, own.nice)?,
        ProcessSetting::Fifo(_) => process::set_policy(0, own.policy, 0)?,
        ProcessSetting::IoPriority(_) => {
            let (class, level) = own.io.unwrap_or_default();
            process::set_io_class(0, class, if class == 0 { 0 } else { level })?;
        }
        ProcessSetting::DmaLatency(_) | ProcessSetting::FixedAddresses => {}
    }
    Ok(done)
}
