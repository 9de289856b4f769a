//! What tells this machine from others, without looking at all of it.

use std::collections::BTreeMap;
use std::io::Read;

use crate::Root;

/// Host, kernel, processor, CPUs online: each as its file says it.
pub fn identity(root: &Root) -> BTreeMap<&'static str, Option<String>> {
    BTreeMap::from([
        ("hostname", root.text("/proc/sys/kernel/hostname")),
        ("kernel", root.text("/proc/sys/kernel/osrelease")),
        ("processor", processor(root)),
        ("cpus_online", root.text("/sys/devices/system/cpu/online")),
    ])
}

/// The first processor of /proc/cpuinfo: its name, or on aarch64 its implementer and part. One page of the file is read,
/// since the kernel takes its time for hundreds of CPUs.
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
        assert!(here["kernel"].is_some(), "{here:?}");
    }
}
