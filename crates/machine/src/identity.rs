//! The identity of this machine, without a full inspection.

use std::collections::BTreeMap;
use std::io::Read;

use crate::Root;

/// The processor, the machine ID (or the boot ID), and the part of the machine that this process may use. All values
/// except the quota are unparsed text from files.
pub fn identity(root: &Root) -> BTreeMap<&'static str, Option<String>> {
    let status = root.text("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let number = || root.text("/proc/sys/kernel/random/boot_id");
    BTreeMap::from([
        ("processor", processor(root)),
        ("machine", root.text("/etc/machine-id").filter(|id| !id.is_empty()).or_else(number)),
        ("cpus_online", root.text("/sys/devices/system/cpu/online")),
        ("cpus_allowed", allowed.map(|cpus| cpus.trim().to_owned())),
        ("quota", crate::limits::quota(root).map(|cpus| cpus.to_string())),
    ])
}

/// The first processor in /proc/cpuinfo: its name, or on aarch64 its implementer and part. Only one page of the file is
/// read, because the kernel needs a long time to generate it if there are hundreds of CPUs.
fn processor(root: &Root) -> Option<String> {
    let mut page = [0u8; 4096];
    let count = std::fs::File::open(root.path().join("proc/cpuinfo")).ok()?.read(&mut page).ok()?;
    let text = String::from_utf8_lossy(&page[..count]);
    let first = text.split("\n\n").next()?;
    let keys = ["model name", "CPU implementer", "CPU part", "CPU variant"];
    let values = first.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        keys.contains(&key.trim()).then(|| value.trim().to_owned())
    });
    Some(values.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_an_identity() {
        let here = identity(&Root::live());
        assert_eq!(here, identity(&Root::live()));
        assert!(here["cpus_allowed"].is_some() && here["machine"].is_some(), "{here:?}");
    }
}
