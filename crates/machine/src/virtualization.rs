//! The hypervisor of the machine, and the container of this process.

use record::machine::Virtualization;
use record::{Coverage, Machine};

use crate::Root;
use crate::system::DMI;
use crate::text::{self, field};

/// Fills [`Machine::virtualization`]. The architecture must already be known.
pub fn read(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let hypervisor = hypervisor(root, &machine.architecture);
    let emulated = emulated(root, hypervisor.as_deref());
    // QEMU's virtual board looks the same with and without KVM.
    let hypervisor =
        if emulated && hypervisor.as_deref() == Some("kvm") { Some("qemu".to_owned()) } else { hypervisor };
    let container = container(root).map(str::to_owned);
    machine.virtualization = Virtualization { hypervisor, container, emulated: emulated.then_some(true) };
    if emulated {
        coverage.push(
            Coverage::degraded("times", Coverage::EMULATED)
                .with_remedy(record::text!("measure on bare metal, or in a KVM guest")),
        );
    }
}

/// The kernel parameter that marks an emulated test machine, regardless of the processor that it emulates.
const EMULATED_PARAMETER: &str = "linespeed.emulated";
/// Implementer and part of QEMU's processor (`-cpu max`). Arm reserves implementer 0 for software, but HiSilicon's
/// Hi1910 also uses it, so the part (`Q`) is also compared.
const OF_QEMU: (u64, u64) = (0x00, 0x51);

/// Whether there is evidence that this machine's instructions are emulated in software.
fn emulated(root: &Root, hypervisor: Option<&str>) -> bool {
    // CPUID's signature TCGTCGTCGTCG is required; the firmware only shows that the board is QEMU's.
    let signed =
        root.is_live() && hypervisor == Some("qemu") && native::hypervisor().as_deref() == Some("qemu");
    let parameters = root.text("/proc/cmdline").unwrap_or_default();
    signed
        || parameters.split_ascii_whitespace().any(|word| word == EMULATED_PARAMETER)
        || root.text("/proc/cpuinfo").is_some_and(|text| {
            let number = |key: &str| field(&text, key).and_then(text::number);
            number("CPU implementer").zip(number("CPU part")) == Some(OF_QEMU)
        })
}

/// The hypervisor's name, `none`, or `unknown` if an unidentified one is present.
fn hypervisor(root: &Root, architecture: &str) -> Option<String> {
    if let Some(found) = native::hypervisor().filter(|_| root.is_live()) {
        return Some(found);
    }
    if let Some(kind) = root.text("/sys/hypervisor/type").as_deref().and_then(text::name) {
        // Xen's first domain (dom0) runs alongside the hypervisor on bare metal.
        let owner = root.text("/proc/xen/capabilities").is_some_and(|text| text.contains("control_d"));
        return Some(if owner { "none".to_owned() } else { kind });
    }
    let named = from_pci(root).or_else(|| from_firmware(root)).or_else(|| from_device_tree(root));
    let by_firmware = named.map(str::to_owned);
    if architecture == "x86_64" {
        // The flags of the CPU show whether there is a hypervisor.
        let cpuinfo = root.text("/proc/cpuinfo")?;
        let flags = field(&cpuinfo, "flags")?;
        if !flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") {
            return Some(from_pci(root).unwrap_or("none").to_owned());
        }
        return by_firmware.filter(|found| found != "none").or_else(|| Some("unknown".to_owned()));
    }
    // Clouds give the same name in the firmware to guests and to bare metal, which has no virtual devices. On Arm, KVM
    // is available only in a kernel that was started at EL2, which means that no hypervisor is below it.
    let is_arm_host = architecture == "aarch64" && from_pci(root).is_none() && root.exists("/dev/kvm");
    let is_host = is_arm_host && from_firmware(root) == Some("kvm");
    by_firmware.map(|name| if is_host { "none".to_owned() } else { name })
}

/// The hypervisor from the names in virtual firmware; `none` on a physical machine.
fn from_firmware(root: &Root) -> Option<&'static str> {
    const NAMES: &str = include_str!("hypervisors.txt");
    let file = |name: &str| root.text(&format!("{DMI}/{name}")).unwrap_or_default();
    let (vendor, product) = (file("sys_vendor"), file("product_name"));
    (!vendor.is_empty() || !product.is_empty()).then_some(())?;
    // Real and virtual machines of Amazon and Microsoft have the same vendor name.
    match (vendor.as_str(), product.as_str()) {
        ("Amazon EC2", name) if name.ends_with(".metal") || name.contains(".metal-") => return Some("none"),
        ("Amazon EC2", _) => return Some("kvm"),
        ("Microsoft Corporation", "Virtual Machine") => return Some("hyperv"),
        _ => {}
    }
    let vendor_in_product = vendor.is_empty();
    let strings = [product, vendor, file("board_vendor"), file("bios_vendor")];
    // The kernel's log contains vendor and product as a single text, so only known names in it are conclusive.
    let is_named =
        |text: &str, name: &str| text.starts_with(name) || vendor_in_product && text.contains(name);
    let named = |(_, names): &(&str, &str)| {
        names.split('|').any(|name| strings.iter().any(|text| is_named(text, name)))
    };
    let mut rows = NAMES.lines().filter_map(|line| line.split_once('\t'));
    rows.find(named).map(|(word, _)| word).or((!vendor_in_product).then_some("none"))
}

/// Devices that only hypervisors provide, identified by vendor and device number after the address in a line of
/// `/proc/bus/pci/devices`. They exist even in guests whose CPU does not set the hypervisor flag.
fn from_pci(root: &Root) -> Option<&'static str> {
    const DEVICES: [(&str, &str); 4] =
        [("80eebeef", "virtualbox"), ("80eecafe", "virtualbox"), ("15ad0710", "vmware"), ("58530001", "xen")];
    let text = root.text("/proc/bus/pci/devices")?;
    let found: Vec<&str> = text.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    DEVICES.iter().find(|(device, _)| found.contains(device)).map(|(_, word)| *word)
}

fn from_device_tree(root: &Root) -> Option<&'static str> {
    if let Some(compatible) = root.text("/proc/device-tree/hypervisor/compatible") {
        let known = ["xen", "kvm", "vmware"].into_iter().find(|name| compatible.contains(name));
        return known.or(Some("unknown"));
    }
    let compatible = root.text("/proc/device-tree/compatible")?;
    // The name of the virtual board of QEMU; Firecracker and Cloud Hypervisor use the same name.
    Some(if compatible.contains("linux,dummy-virt") || compatible.contains("qemu") { "kvm" } else { "none" })
}

#[cfg(target_arch = "x86_64")]
mod native {
    use raw_cpuid::{CpuId, Hypervisor};

    /// The hypervisor's signature; `None` if the CPU reports no hypervisor or the hypervisor has no signature.
    pub(super) fn hypervisor() -> Option<String> {
        let kind = CpuId::new().get_hypervisor_info()?.identify();
        Some(match kind {
            Hypervisor::Unknown(ebx, ecx, edx) => signed(ebx, ecx, edx),
            known => format!("{known:?}").to_lowercase(),
        })
    }

    fn signed(ebx: u32, ecx: u32, edx: u32) -> String {
        let bytes: Vec<u8> = [ebx, ecx, edx].into_iter().flat_map(u32::to_le_bytes).collect();
        match bytes.as_slice() {
            b"VBoxVBoxVBox" => "virtualbox".to_owned(),
            b" lrpepyh  vr" => "parallels".to_owned(),
            b"SRESRESRESRE" => "sre".to_owned(),
            b"Apple VZ\0\0\0\0" => "apple".to_owned(),
            _ => crate::text::name(&String::from_utf8_lossy(&bytes)).unwrap_or_else(|| "unknown".to_owned()),
        }
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn an_unknown_signature_is_reported_as_it_is() {
            let register = |text: &[u8; 4]| u32::from_le_bytes(*text);
            assert_eq!(super::signed(register(b"VBox"), register(b"VBox"), register(b"VBox")), "virtualbox");
            assert_eq!(
                super::signed(register(b"NEWH"), register(b"YPER"), register(b"\x1b\0\0\0")),
                "NEWHYPER"
            );
            assert_eq!(super::signed(0, 0, 0), "unknown");
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod native {
    pub(super) fn hypervisor() -> Option<String> {
        None
    }
}

/// The container's name, `none`, or `None` if unknown.
fn container(root: &Root) -> Option<&'static str> {
    let release = root.text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = root.text("/proc/version").unwrap_or_default();
    let is_wsl = |text: &str| text.contains("microsoft") || text.contains("WSL");
    if is_wsl(&release.to_lowercase()) || is_wsl(&version) {
        return Some("wsl");
    }
    // gVisor reports one fixed build line as the kernel.
    if version.contains(" 4.4.0 #1 SMP ") && version.contains("10 15:06:54 PST 2016") {
        return Some("gvisor");
    }
    if let Some(word) = root.text("/run/systemd/container") {
        let word = word.strip_suffix("-libvirt").unwrap_or(&word);
        let known =
            ["docker", "podman", "lxc", "systemd-nspawn", "rkt"].into_iter().find(|name| *name == word);
        return known.or(Some("unknown"));
    }
    let cgroup = root.text("/proc/self/cgroup");
    let mounts = root.text("/proc/self/mountinfo").unwrap_or_default();
    let in_cgroup =
        |parts: &[&str]| cgroup.as_deref().is_some_and(|text| parts.iter().any(|part| text.contains(part)));
    if in_cgroup(&["/kubepods"]) || of_a_pod(root, &mounts) {
        return Some("kubernetes");
    }
    if in_cgroup(&["/libpod-", "/libpod_"]) || root.exists("/run/.containerenv") {
        return Some("podman");
    }
    if in_cgroup(&["/docker/", "/docker-", "/ecs/"])
        || (root.exists("/.dockerenv") && is_mounted_by_docker(&mounts))
    {
        return Some("docker");
    }
    if in_cgroup(&["/lxc/", "/lxc.payload"]) {
        return Some("lxc");
    }
    if root.exists("/.singularity.d") {
        return Some("apptainer");
    }
    cgroup.map(|_| "none")
}

/// Whether a pod's own files are mounted here. This is needed because a namespace may hide the cgroup's path. A node
/// that runs pods also has their directories mounted, but not over its `/etc/hosts`.
fn of_a_pod(root: &Root, mounts: &str) -> bool {
    let from_pod = |line: &str| {
        let (source, point) = (line.split(' ').nth(3).unwrap_or(""), line.split(' ').nth(4).unwrap_or(""));
        ["/etc/hosts", "/dev/termination-log"].contains(&point) && source.contains("/pods/")
    };
    mounts.lines().any(from_pod) || root.exists("/run/secrets/kubernetes.io")
}

/// Whether Docker mounted a container's own files. An image booted as a machine retains its `/.dockerenv`, regardless
/// of its processes' namespaces, but lacks these mounts. Unknown mounts do not exclude Docker.
fn is_mounted_by_docker(mounts: &str) -> bool {
    let points = || mounts.lines().filter_map(|line| line.split(' ').nth(4));
    mounts.is_empty()
        || points().any(|point| ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"].contains(&point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    fn found(tree: &Tree, architecture: &str) -> Virtualization {
        let mut machine = Machine { architecture: architecture.into(), ..Machine::default() };
        read(&tree.root(), &mut machine, &mut Vec::new());
        machine.virtualization
    }

    fn dmi(vendor: &str, product: &str) -> Tree {
        Tree::new().files("sys/class/dmi/id", &[("sys_vendor", vendor), ("product_name", product)])
    }

    #[test]
    fn real_machines_are_not_called_virtual() {
        let cpuinfo = "flags\t: fpu lm vmx\n";
        let dell = dmi("Dell Inc.\n", "PowerEdge R740\n").file("proc/cpuinfo", cpuinfo);
        assert_eq!(found(&dell, "x86_64").hypervisor.as_deref(), Some("none"));
        assert_eq!(found(&dmi("Huawei", "TaiShan 200"), "aarch64").hypervisor.as_deref(), Some("none"));
        assert_eq!(found(&dmi("Amazon EC2", "c6g.metal"), "aarch64").hypervisor.as_deref(), Some("none"));
        let metal = dmi("Amazon EC2", "c5.metal").file("proc/cpuinfo", cpuinfo);
        assert_eq!(found(&metal, "x86_64").hypervisor.as_deref(), Some("none"));
        for (vendor, product) in [("Google", "Google Compute Engine"), ("Alibaba Cloud", "Alibaba Cloud ECS")]
        {
            let metal = dmi(vendor, product).file("dev/kvm", "");
            assert_eq!(found(&metal, "aarch64").hypervisor.as_deref(), Some("none"), "{vendor}");
            let metal = dmi(vendor, product).file("proc/cpuinfo", cpuinfo);
            assert_eq!(found(&metal, "x86_64").hypervisor.as_deref(), Some("none"), "{vendor}");
            assert_eq!(
                found(&dmi(vendor, product), "aarch64").hypervisor.as_deref(),
                Some("kvm"),
                "{vendor}"
            );
        }
        // A Surface also has Microsoft as its vendor.
        assert_eq!(
            found(&dmi("Microsoft Corporation", "Surface Pro X"), "aarch64").hypervisor.as_deref(),
            Some("none")
        );
        // In the kernel's log, vendor and product are a single text, in which only the names are conclusive.
        let logged = |text| found(&dmi("", text), "aarch64").hypervisor;
        assert_eq!(logged("Dell Inc. PowerEdge R640/0H28RR"), None);
        assert_eq!(logged("Alibaba Cloud Alibaba Cloud ECS").as_deref(), Some("kvm"));
        let dom0 =
            Tree::new().file("sys/hypervisor/type", "xen\n").file("proc/xen/capabilities", "control_d\n");
        assert_eq!(found(&dom0, "x86_64").hypervisor.as_deref(), Some("none"));
    }

    #[test]
    fn guests_are_reported_by_their_firmware() {
        let guest = "flags\t: fpu lm hypervisor\n";
        for (vendor, product, word) in [
            ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "qemu"),
            ("OpenStack Foundation", "OpenStack Nova", "kvm"),
            ("VMware, Inc.", "VMware7,1", "vmware"),
            ("Microsoft Corporation", "Virtual Machine", "hyperv"),
            ("Amazon EC2", "m6i.large", "kvm"),
            ("Google", "Google Compute Engine", "kvm"),
            ("innotek GmbH", "VirtualBox", "virtualbox"),
            ("Acme", "Cloud 9", "unknown"),
        ] {
            let tree = dmi(vendor, product).file("proc/cpuinfo", guest);
            assert_eq!(found(&tree, "x86_64").hypervisor.as_deref(), Some(word), "{vendor} {product}");
        }
        assert_eq!(found(&dmi("Amazon EC2", "c7g.large"), "aarch64").hypervisor.as_deref(), Some("kvm"));
        let tree = Tree::new().file("proc/device-tree/hypervisor/compatible", "linux,kvm\0");
        assert_eq!(found(&tree, "aarch64").hypervisor.as_deref(), Some("kvm"));
        assert_eq!(found(&Tree::new(), "aarch64").hypervisor, None);
        assert_eq!(found(&Tree::new(), "x86_64").hypervisor, None);
    }

    #[test]
    fn hypervisors_without_firmware_of_their_own_are_reported() {
        let word = |tree: Tree, architecture: &str| found(&tree, architecture).hypervisor;
        let pci = |devices: &str| {
            Tree::new().file("proc/cpuinfo", "flags\t: fpu lm\n").file("proc/bus/pci/devices", devices)
        };
        let named = |word: &str| Some(word.to_owned());
        assert_eq!(word(pci("0000\t80861237\t0\n0010\t80eebeef\t12\n"), "x86_64"), named("virtualbox"));
        assert_eq!(word(pci("0000\t80861237\t0\n"), "x86_64"), named("none"));
        let native = Tree::new().file("proc/device-tree/compatible", "ibm,powernv\0ibm,p8-firenze\0");
        assert_eq!(word(native, "ppc64"), named("none"));
    }

    #[test]
    fn an_emulated_machine_is_reported_and_its_times_are_doubted() {
        let board = || Tree::new().file("proc/device-tree/compatible", "linux,dummy-virt\0");
        let cpuinfo = |implementer: &str| {
            let part = if implementer == "0x00" { "0x051" } else { "0xd08" };
            format!("processor\t: 0\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n")
        };
        for (tree, emulated, hypervisor) in [
            (board().file("proc/cpuinfo", cpuinfo("0x00")), Some(true), "qemu"),
            (board().file("proc/cpuinfo", cpuinfo("0x41")), None, "kvm"),
            // HiSilicon's Hi1910.
            (
                dmi("Huawei", "Atlas").file("proc/cpuinfo", "CPU implementer\t: 0x00\nCPU part\t: 0xd05\n"),
                None,
                "none",
            ),
            (
                board()
                    .file("proc/cpuinfo", cpuinfo("0x41"))
                    .file("proc/cmdline", "quiet linespeed.emulated\n"),
                Some(true),
                "qemu",
            ),
            (dmi("QEMU", "Standard PC"), None, "qemu"),
            (dmi("Dell Inc.", "PowerEdge").file("proc/cmdline", "linespeed.emulated=no x"), None, "none"),
        ] {
            let mut machine = Machine { architecture: "aarch64".into(), ..Machine::default() };
            let mut coverage = Vec::new();
            read(&tree.root(), &mut machine, &mut coverage);
            assert_eq!(machine.virtualization.emulated, emulated);
            assert_eq!(machine.virtualization.hypervisor.as_deref(), Some(hypervisor));
            let doubted = coverage.iter().any(|entry| entry.is_for(&Coverage::EMULATED));
            assert_eq!(doubted, emulated.is_some());
        }
    }

    #[test]
    fn containers_are_reported_by_what_they_leave() {
        let cgroup = |text: &str| Tree::new().file("proc/self/cgroup", text);
        for (tree, word) in [
            (cgroup("0::/\n"), "none"),
            (cgroup("0::/user.slice/user-1000.slice/session-2.scope\n"), "none"),
            (cgroup("4:memory:/docker/0123abcd\n"), "docker"),
            (cgroup("0::/system.slice/docker-0123.scope\n"), "docker"),
            (cgroup("0::/\n").file(".dockerenv", ""), "docker"),
            (cgroup("0::/\n").file("run/.containerenv", ""), "podman"),
            (cgroup("0::/machine.slice/libpod-0123.scope\n"), "podman"),
            (cgroup("0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-1.scope\n"), "kubernetes"),
            (cgroup("0::/lxc.payload.web/init.scope\n"), "lxc"),
            (cgroup("0::/\n").file("run/systemd/container", "systemd-nspawn\n"), "systemd-nspawn"),
            (
                cgroup("0::/\n").file("proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n"),
                "wsl",
            ),
        ] {
            assert_eq!(found(&tree, "x86_64").container.as_deref(), Some(word));
        }
        assert_eq!(found(&Tree::new(), "x86_64").container, None);
    }

    #[test]
    fn an_image_that_was_booted_as_a_machine_is_no_container() {
        let tree = |point: &str| {
            let mounts =
                format!("1 2 254:0 / / rw - ext4 /dev/vda rw\n3 1 254:0 /x {point} rw - ext4 /dev/vda rw\n");
            Tree::new()
                .file("proc/self/cgroup", "0::/\n")
                .file(".dockerenv", "")
                .file("proc/self/mountinfo", mounts)
        };
        assert_eq!(found(&tree("/sys"), "x86_64").container.as_deref(), Some("none"));
        assert_eq!(found(&tree("/etc/hosts"), "x86_64").container.as_deref(), Some("docker"));
    }

    #[test]
    fn a_node_that_runs_pods_is_not_a_pod() {
        let pod = "/var/lib/kubelet/pods/1-2/volumes";
        let node = Tree::new().file("proc/self/cgroup", "0::/user.slice\n").file(
            "proc/self/mountinfo",
            format!("1 2 0:3 / {pod}/kubernetes.io~projected/x rw - tmpfs tmpfs rw\n"),
        );
        assert_eq!(found(&node, "x86_64").container.as_deref(), Some("none"));
        let inside = Tree::new().file("proc/self/cgroup", "0::/\n").file(
            "proc/self/mountinfo",
            "1 2 8:1 /var/lib/kubelet/pods/1-2/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n",
        );
        assert_eq!(found(&inside, "x86_64").container.as_deref(), Some("kubernetes"));
    }

    proptest! {
        // Each case writes a tree, so fewer than the usual 256 cases run.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_contents_panic(texts in proptest::collection::vec("\\PC{0,40}", 5)) {
            let tree = dmi(&texts[0], &texts[1])
                .file("proc/self/cgroup", &texts[2])
                .file("proc/self/mountinfo", &texts[3])
                .file("proc/cpuinfo", format!("flags: {}", texts[4]));
            let _ = (found(&tree, "x86_64"), found(&tree, "aarch64"));
        }
    }
}
