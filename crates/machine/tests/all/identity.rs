//! Four machines captured by others must be identified correctly.

use std::sync::OnceLock;

use crate::support::unpack;
use machine::{Inspection, Root, inspect};

/// Reads a captured machine once for all tests.
fn captured(name: &'static str) -> &'static Inspection {
    const NAMES: [&str; 4] = [ARM, OPTERON, XEON, HYBRID];
    static READ: [OnceLock<Inspection>; 4] = [const { OnceLock::new() }; 4];
    let index = NAMES.iter().position(|known| *known == name).unwrap();
    READ[index].get_or_init(|| {
        let folder = unpack(name);
        inspect(&Root::captured(folder.path()).unwrap())
    })
}

const ARM: &str = "128arm-2pa2n8cluster4co";
const OPTERON: &str = "16amd64-8n2c";
const XEON: &str = "16em64t-4s2c2t-offlines";
const HYBRID: &str = "20em64t-hybrid-1p6c2t+2ca4co1t";

#[test]
fn a_kunpeng_920_is_one_on_any_host() {
    let machine = &captured(ARM).machine;
    let processor = &machine.processor;
    assert_eq!(machine.architecture, "aarch64");
    assert_eq!(processor.vendor.as_deref(), Some("HiSilicon"));
    assert_eq!(processor.model_name.as_deref(), Some("Kunpeng-920"));
    assert_eq!(processor.microarchitecture.as_deref(), Some("TaiShan v110"));
    assert_eq!((processor.implementer, processor.model), (Some(0x48), Some(0xd01)));
    assert_eq!(processor.revision.as_deref(), Some("r1p0"));
    assert_eq!(processor.counter_hz, Some(100_000_000));
    assert_eq!(processor.vector_bits, Some(128));
    assert!(
        ["asimd", "atomics", "crc32", "aes", "asimddp"]
            .iter()
            .all(|name| processor.features.contains(&name.to_string()))
    );
    assert!(!processor.features.contains(&"sve".to_owned()));
    assert_eq!(machine.system.vendor.as_deref(), Some("Huawei"));
    assert_eq!(machine.hostname.as_deref(), Some("ubuntu"));
    assert_eq!(machine.kernel.release.as_deref(), Some("5.15.0-rc1-00005-g4c1b4a4d90b6-dirty"));
    assert_eq!(machine.kernel.preemption.as_deref(), Some("full"));
    assert_eq!(machine.kernel.options, ["iommu.passthrough=1"]);
    assert_eq!(machine.kernel.page_bytes, Some(4096));
    assert_eq!(machine.virtualization.hypervisor.as_deref(), Some("none"));
    let state = &captured(ARM).snapshot;
    assert_eq!(state.huge_pages.len(), 4);
    assert_eq!(state.clocks, [], "the capture has no cpufreq and cpuinfo no clock");
}

#[test]
fn a_hybrid_processor_has_its_boot_core_s_clocks_and_its_own_groups() {
    let machine = &captured(HYBRID).machine;
    let processor = &machine.processor;
    assert_eq!(processor.model_name.as_deref(), Some("13th Gen Intel(R) Core(TM) i7-1370P"));
    assert_eq!((processor.family, processor.model, processor.stepping), (Some(6), Some(186), Some(2)));
    assert_eq!(processor.microcode.as_deref(), Some("0x4119"));
    assert_eq!(processor.microarchitecture.as_deref(), Some("Raptor Lake (Raptor Cove + Gracemont)"));
    assert_eq!(processor.vector_bits, Some(256));
    assert_eq!(processor.address_bits, Some((46, 48)));
    assert_eq!((processor.counter_hz, processor.counter_invariant), (Some(2_188_800_000), Some(true)));
    assert!(
        ["avx2", "avx_vnni", "fsrm", "waitpkg"]
            .iter()
            .all(|name| processor.features.contains(&name.to_string()))
    );
    // The favored cores reach 5.2 GHz, the boot core 5.0 GHz.
    assert_eq!((processor.base_hz, processor.max_hz), (Some(1_900_000_000), Some(5_200_000_000)));
    assert_eq!(processor.min_hz, Some(400_000_000));
    let clocks = |id: u32| machine.cpu(id).map(|cpu| (cpu.base_hz.unwrap(), cpu.max_hz.unwrap()));
    assert_eq!(clocks(0), Some((1_900_000_000, 5_000_000_000)));
    assert_eq!(clocks(19), Some((1_400_000_000, 3_900_000_000)));
    assert_eq!(machine.kernel.preemption.as_deref(), Some("dynamic"));
    assert_eq!(machine.virtualization.hypervisor.as_deref(), Some("none"));
    let state = &captured(HYBRID).snapshot;
    assert_eq!(state.boost, Some(true));
    assert_eq!(state.boost_source.as_deref(), Some("/sys/devices/system/cpu/intel_pstate/no_turbo"));
    assert_eq!(state.smt.as_deref(), Some("on"));
    let mut cpus: Vec<u32> = Vec::new();
    for group in &state.clocks {
        assert_eq!(group.driver.as_deref(), Some("intel_pstate"));
        assert_eq!(group.governor.as_deref(), Some("powersave"));
        assert_eq!(group.epp.as_deref(), Some("balance_performance"));
        cpus.extend(group.cpus.iter());
    }
    cpus.sort_unstable();
    assert_eq!(cpus, (0..20).collect::<Vec<_>>(), "each CPU in exactly one group");
}

#[test]
fn an_old_opteron_reads_from_the_little_that_its_kernel_reported() {
    let machine = &captured(OPTERON).machine;
    let processor = &machine.processor;
    assert_eq!(machine.architecture, "x86_64");
    assert_eq!(processor.vendor.as_deref(), Some("AuthenticAMD"));
    assert_eq!(processor.model_name.as_deref(), Some("Dual Core AMD Opteron(tm) Processor 865"));
    assert_eq!(processor.microarchitecture.as_deref(), Some("K8"));
    assert_eq!(processor.counter_invariant, Some(false), "its counter changes rate with the clock");
    assert_eq!(processor.vector_bits, Some(128));
    assert!(machine.system.board.is_some());
    assert!(machine.idle.governor.is_some() || machine.idle.driver.is_some());
    // Its kernel has no cpufreq, and its CPUs do not count their clock: /proc/cpuinfo contains the clock at boot.
    assert_eq!(captured(OPTERON).snapshot.clocks, []);
}

#[test]
fn a_netburst_xeon_has_the_base_clock_of_its_name() {
    let inspection = captured(XEON);
    let processor = &inspection.machine.processor;
    assert_eq!(processor.model_name.as_deref(), Some("Intel(R) Xeon(TM) CPU 2.60GHz"));
    assert_eq!(processor.microarchitecture.as_deref(), Some("NetBurst (Cedar Mill/Tulsa)"));
    assert_eq!(processor.base_hz, Some(2_600_000_000));
}

#[test]
fn nothing_of_this_machine_gets_into_a_captured_one() {
    // The old captures contain neither kernel nor load; those of this machine must not be used.
    let inspection = captured(XEON);
    assert_eq!(inspection.machine.kernel.release, None);
    assert_eq!(inspection.machine.kernel.distribution, None);
    assert_eq!(inspection.machine.processor.counter_hz, None);
    assert_eq!(inspection.snapshot.load, None);
    assert_eq!(inspection.snapshot.uptime_seconds, None);
    assert_eq!(inspection.machine.virtualization.container, None);
}

#[test]
fn this_machine_tells_its_kernel_and_its_page() {
    let Inspection { machine, snapshot, .. } = inspect(&Root::live());
    assert_eq!(machine.architecture, std::env::consts::ARCH);
    assert!(machine.kernel.release.is_some());
    assert!(machine.kernel.page_bytes.is_some_and(u64::is_power_of_two));
    assert!(snapshot.uptime_seconds.is_some_and(|uptime| uptime > 0.0));
    assert!(snapshot.cpu_seconds.contains_key("user"));
}
