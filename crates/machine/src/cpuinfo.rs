//! The architecture and, for processors other than x86 and Arm, the processor, from `/proc/cpuinfo`. Each architecture
//! has its own keys (`show_cpuinfo` in arch/*/kernel).

use record::machine::Processor;

use crate::Root;
use crate::text::{self, field};

/// `x86_64` or `aarch64`; the kernel's name for any other architecture; empty if unknown.
pub(crate) fn architecture(root: &Root, cpuinfo: &str) -> String {
    if root.is_live() {
        return std::env::consts::ARCH.to_owned();
    }
    // hwloc's captures contain the output of uname.
    let uname = root.text("/proc/hwloc-nofile-info").unwrap_or_default();
    if let Some(name) = field(&uname, "Architecture").and_then(text::name) {
        return if name == "arm64" { "aarch64".to_owned() } else { name };
    }
    if let Some(name) = root.text("/proc/sys/kernel/arch").as_deref().and_then(text::name) {
        return name;
    }
    let register = "/sys/devices/system/cpu/cpu0/regs/identification";
    by_keys(cpuinfo).or_else(|| root.exists(register).then_some("aarch64")).unwrap_or_default().to_owned()
}

/// Other architectures, identified by a characteristic line (its key and the beginning of its value), with the keys of
/// the vendor, the processor and its nominal clock in MHz.
const OTHERS: [(&str, &str, &str, [&str; 3]); 9] = [
    ("vendor_id", "IBM/S390", "s390x", ["vendor_id", "", "cpu MHz static"]),
    ("CPU Family", "Loongson-64bit", "loongarch64", ["", "Model Name", "CPU MHz"]),
    ("isa", "rv64", "riscv64", ["", "uarch", ""]),
    ("isa", "rv32", "riscv32", ["", "uarch", ""]),
    ("type", "sun4", "sparc64", ["", "cpu", ""]),
    ("arch", "IA-64", "ia64", ["vendor", "family", "cpu MHz"]),
    ("cpu", "POWER", "ppc64", ["", "cpu", "clock"]),
    ("cpu", "PPC970", "ppc64", ["", "cpu", "clock"]),
    ("timebase", "", "ppc", ["", "cpu", "clock"]),
];

fn by_keys(cpuinfo: &str) -> Option<&'static str> {
    if field(cpuinfo, "CPU implementer").is_some() {
        return Some(match field(cpuinfo, "CPU architecture") {
            None | Some("8" | "AArch64") => "aarch64",
            Some(version) if version.starts_with('7') => "armv7l",
            Some(_) => "arm",
        });
    }
    let begins = |key: &str, start: &str| field(cpuinfo, key).is_some_and(|value| value.starts_with(start));
    let other = OTHERS.iter().find(|(key, start, ..)| begins(key, start)).map(|(_, _, name, _)| *name);
    other.or_else(|| {
        let of_x86 = |name: &str| name.contains("Intel(R)") || name.starts_with("AMD ");
        field(cpuinfo, "vendor_id").or_else(|| field(cpuinfo, "model name").filter(|name| of_x86(name)))?;
        // `lm` is long mode; processors without it are not supported. In a text that quotes only a part of the file,
        // flags may be missing.
        let flags = field(cpuinfo, "flags").map(str::split_ascii_whitespace);
        Some(if flags.is_none_or(|mut flags| flags.any(|flag| matches!(flag, "lm" | "avx"))) {
            "x86_64"
        } else {
            "i686"
        })
    })
}

/// The processor of an architecture other than x86 and Arm: its name and nominal clock.
pub(crate) fn processor(architecture: &str, cpuinfo: &str) -> Processor {
    let architecture = if architecture == "ppc64le" { "ppc64" } else { architecture };
    let Some((.., [vendor, name, clock])) = OTHERS.iter().find(|(_, _, one, _)| *one == architecture) else {
        return Processor::default();
    };
    let word = |key: &str| field(cpuinfo, key).and_then(text::name);
    let mhz =
        field(cpuinfo, clock).and_then(|mhz| mhz.strip_suffix("MHz").unwrap_or(mhz).trim().parse().ok());
    let base_hz = mhz.filter(|mhz| (1.0..=20_000.0).contains(mhz)).map(|mhz: f64| (mhz * 1e6).round() as u64);
    Processor { vendor: word(vendor), model_name: word(name), base_hz, ..Processor::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    #[test]
    fn every_architecture_is_known_by_its_cpuinfo() {
        for (cpuinfo, architecture, vendor, name, mhz) in [
            (
                "processor\t: 0\ncpu\t\t: POWER7 (architected), altivec supported\nclock\t\t: 3550.000000MHz\n\
                 revision\t: 2.1 (pvr 003f 0201)\n\ntimebase\t: 512000000\nplatform\t: pSeries\n",
                "ppc64",
                None,
                Some("POWER7 (architected), altivec supported"),
                Some(3550),
            ),
            (
                "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\n",
                "riscv64",
                None,
                Some("sifive,u74-mc"),
                None,
            ),
            (
                "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\nCPU Family\t\t: Loongson-64bit\n\
                 Model Name\t\t: Loongson-3A5000-HV\nCPU MHz\t\t\t: 2500.00\n",
                "loongarch64",
                None,
                Some("Loongson-3A5000-HV"),
                Some(2500),
            ),
            (
                "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 14367.00\nfeatures\t: esan3 zarch\n\
                 processor 0: version = FF,  identification = 0A1B2C,  machine = 2817\n\n\
                 cpu number      : 0\ncpu MHz dynamic : 5000\ncpu MHz static  : 5200\n",
                "s390x",
                Some("IBM/S390"),
                None,
                Some(5200),
            ),
            (
                "cpu\t\t: TI UltraSparc II  (BlackBird)\ntype\t\t: sun4u\nncpus active\t: 6\n\
                 Cpu6Bogo\t: 800.00\nCpu6ClkTck\t: 0000000017d78400\n",
                "sparc64",
                None,
                Some("TI UltraSparc II (BlackBird)"),
                None,
            ),
            (
                "processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\nfamily     : Itanium 2\ncpu MHz    : 1300.000\n",
                "ia64",
                Some("GenuineIntel"),
                Some("Itanium 2"),
                Some(1300),
            ),
            ("processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu sse\n", "i686", None, None, None),
            ("processor\t: 0\n", "", None, None, None),
        ] {
            let tree = Tree::new().file("proc/cpuinfo", cpuinfo);
            assert_eq!(super::architecture(&tree.root(), cpuinfo), architecture);
            let read = processor(architecture, cpuinfo);
            assert_eq!((read.vendor.as_deref(), read.model_name.as_deref()), (vendor, name));
            assert_eq!(read.base_hz, mhz.map(|mhz: u64| mhz * 1_000_000), "{architecture}");
        }
    }

    proptest! {
        #[test]
        fn no_cpuinfo_panics(lines in proptest::collection::vec(("[a-zA-Z ]{0,8}|Cpu[0-9]ClkTck|clock|cpu|processor 0", "\\PC{0,24}|[0-9a-f.]{0,20}|machine = "), 0..12)) {
            let text: String = lines.iter().map(|(key, value)| format!("{key}\t: {value}\n")).collect();
            let _ = by_keys(&text);
            for architecture in ["ppc64", "riscv64", "loongarch64", "s390x", "sparc64", "ia64"] {
                let clock = processor(architecture, &text).base_hz;
                prop_assert!(clock.is_none_or(|hz| (1_000_000..=20_000_000_000).contains(&hz)));
            }
        }
    }
}
