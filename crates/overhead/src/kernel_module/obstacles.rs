//! Checks for obstacles to loading a module into this kernel, before anything is built.

use record::{Template, Text, text};
use std::fs;
use std::path::Path;

use crate::Unavailable;

/// The number of CAP_SYS_MODULE (include/uapi/linux/capability.h).
const CAP_SYS_MODULE: u32 = 16;

/// The remedy if the kernel has no module support.
pub(super) const BOOT_WITH_MODULES: Template =
    Template::new("module-boot-with-modules", "boot a kernel with loadable modules (CONFIG_MODULES)");

/// The first obstacle, from the files under `root`; `None` if there is none.
pub(crate) fn find_obstacle(root: &Path) -> Option<Unavailable> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    if let Some(missing) = find_missing_support(root) {
        return Some(missing);
    }
    if read("proc/sys/kernel/modules_disabled").is_some_and(|text| text.trim() == "1") {
        return Some(
            text!(
                "module-loading-disabled",
                "module loading is disabled until the next boot (kernel.modules_disabled is 1)"
            )
            .with_remedy(text!(
                "module-reboot-first",
                "reboot, and measure before kernel.modules_disabled is set"
            )),
        );
    }
    if let Some(mode) = read("sys/kernel/security/lockdown").as_deref().and_then(locked_down) {
        return Some(unsigned(root, text!("the kernel is locked down ({mode})", mode = mode.to_owned())));
    }
    if read("sys/module/module/parameters/sig_enforce").is_some_and(|text| text.trim() == "Y") {
        return Some(unsigned(root, text!("the kernel enforces module signatures (module.sig_enforce)")));
    }
    match read("proc/self/status").as_deref().and_then(effective_capabilities) {
        Some(held) if held >> CAP_SYS_MODULE & 1 == 0 => Some(
            text!("module-needs-root", "loading a module requires root (CAP_SYS_MODULE)")
                .with_remedy("sudo linespeed overhead --kernel"),
        ),
        _ => None,
    }
}

/// The reason why no module can ever be loaded into this kernel, from the files under `root`; `None` if the kernel supports modules.
pub fn find_missing_support(root: &Path) -> Option<Unavailable> {
    (!root.join("proc/modules").exists()).then(|| {
        text!("module-unsupported", "this kernel does not support loadable modules (no /proc/modules)")
            .with_remedy(BOOT_WITH_MODULES)
    })
}

/// The lockdown mode, which is the word in brackets in `none [integrity] confidentiality`; `None` if lockdown is off.
fn locked_down(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    let (mode, _) = rest.split_once(']')?;
    (mode != "none").then_some(mode)
}

/// The effective capabilities in /proc/self/status.
fn effective_capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn unsigned(root: &Path, why: Text) -> Unavailable {
    if secure_boot(root) {
        let reason =
            text!("module-unsigned-secure-boot", "{why} and secure boot is on: unsigned modules are refused");
        Unavailable::new(reason).with_remedy(text!(
            "module-secure-boot-off",
            "disable secure boot in the firmware settings; only the kernel layers require a module"
        ))
    } else {
        text!("module-unsigned", "{why}: unsigned modules are refused").with_remedy(text!(
            "module-signature-off",
            "boot without lockdown= and module.sig_enforce on the kernel command line; only the kernel layers require a module"
        ))
    }
}

/// Whether the firmware reports secure boot as enabled: the variable's fifth byte, after its attributes.
fn secure_boot(root: &Path) -> bool {
    let path = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    fs::read(root.join(path)).is_ok_and(|bytes| bytes.get(4) == Some(&1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(files: &[(&str, &str)]) -> Option<Unavailable> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        find_obstacle(root.path())
    }

    const MODULES: (&str, &str) = ("proc/modules", "");
    const ROOT: (&str, &str) = ("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");

    #[test]
    fn each_obstacle_is_named_with_its_way_out() {
        let efi = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
        let lockdown = ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        for (files, reason, remedy) in [
            (vec![ROOT], "module-unsupported", BOOT_WITH_MODULES.code),
            (
                vec![MODULES, ROOT, ("proc/sys/kernel/modules_disabled", "1\n")],
                "module-loading-disabled",
                "module-reboot-first",
            ),
            (vec![MODULES, ROOT, lockdown], "module-unsigned", "module-signature-off"),
            (
                vec![MODULES, ROOT, lockdown, (efi, "\x06\0\0\0\x01")],
                "module-unsigned-secure-boot",
                "module-secure-boot-off",
            ),
            (
                vec![MODULES, ROOT, ("sys/module/module/parameters/sig_enforce", "Y\n")],
                "module-unsigned",
                "module-signature-off",
            ),
            (vec![MODULES, ("proc/self/status", "CapEff:\t00000000a80425fb\n")], "module-needs-root", ""),
        ] {
            let failure = reported(&files).unwrap();
            assert_eq!(failure.reason.code(), Some(reason), "{failure:?}");
            assert_eq!(failure.remedy.as_ref().unwrap().code().unwrap_or_default(), remedy, "{failure:?}");
        }
    }

    #[test]
    fn an_open_kernel_is_no_obstacle() {
        let open = [
            MODULES,
            ROOT,
            ("proc/sys/kernel/modules_disabled", "0\n"),
            ("sys/kernel/security/lockdown", "[none] integrity confidentiality\n"),
            ("sys/module/module/parameters/sig_enforce", "N\n"),
        ];
        assert_eq!(reported(&open), None);
        // Obstacles whose files cannot be read are detected when the module is loaded.
        let damaged =
            [MODULES, ("proc/self/status", "CapEff: x\n"), ("sys/kernel/security/lockdown", "integrity")];
        assert_eq!(reported(&damaged), None);
    }
}
