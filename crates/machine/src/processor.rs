//! The processor: names, numbers, features, cycle counter. The data is read from `/proc/cpuinfo`, so that a captured
//! tree of one architecture can be read on another. On the running machine, registers supply the missing data.

use record::machine::Processor;
use record::{Coverage, Machine};

use crate::midr::{self, Midr};
use crate::text::{self, field};
use crate::{Root, cpuinfo, features, x86_names};

/// Fills [`Machine::architecture`] and [`Machine::processor`]; among the clocks, only those that the CPU itself reports.
pub(crate) fn read(root: &Root, machine: &mut Machine, _coverage: &mut Vec<Coverage>) {
    let cpuinfo = match root.try_text("/proc/cpuinfo") {
        Ok(text) => text,
        Err(unreadable) => {
            machine.notes.push(record::text!(
                "processor-unknown",
                "{unreadable}: the processor's name and features are unknown",
                unreadable = unreadable.to_string()
            ));
            String::new()
        }
    };
    machine.architecture = cpuinfo::architecture(root, &cpuinfo);
    machine.processor = match machine.architecture.as_str() {
        // The lines of the first CPU.
        "x86_64" => x86_64(cpuinfo.split("\n\n").next().unwrap_or_default()),
        "aarch64" => aarch64(root, &cpuinfo),
        "arm" | "armv6l" | "armv7l" => arm(root, &cpuinfo),
        other => cpuinfo::processor(other, &cpuinfo),
    };
    if root.is_live() {
        native::complete(&mut machine.processor);
    }
}

fn x86_64(block: &str) -> Processor {
    let word = |key: &str| field(block, key).and_then(text::name).filter(|value| value != "unknown");
    let number = |key: &str| field(block, key).and_then(|value| value.parse::<u32>().ok());
    let flags = field(block, "flags").unwrap_or("");
    let mut processor = Processor {
        // Zhaoxin pads its vendor id with spaces, which cleaning removes.
        vendor: word("vendor_id"),
        model_name: word("model name"),
        family: number("cpu family"),
        model: number("model"),
        stepping: number("stepping"),
        microcode: word("microcode"),
        features: features::select("x86_64", flags),
        address_bits: field(block, "address sizes").and_then(address_bits),
        ..Processor::default()
    };
    if let (Some(vendor), Some(family), Some(model)) = (&processor.vendor, processor.family, processor.model)
    {
        let identity =
            x86_names::Identity { vendor, family, model, stepping: processor.stepping.unwrap_or(0), flags };
        processor.microarchitecture = x86_names::microarchitecture(&identity).map(str::to_owned);
    }
    processor.vector_bits = features::vector_bits("x86_64", &processor.features);
    if !flags.is_empty() {
        let has = |name: &str| processor.features.iter().any(|feature| feature == name);
        processor.counter_invariant = Some(has("constant_tsc") && has("nonstop_tsc"));
        // If the CPU or the hypervisor reported the TSC's rate to the kernel, the delay loop has that rate; if the
        // kernel had to calibrate the TSC, the delay loop has the first, rough result.
        if has("tsc_known_freq") {
            processor.counter_hz = field(block, "bogomips").and_then(counter_hz);
        }
    }
    processor
}

/// `46 bits physical, 48 bits virtual`.
fn address_bits(value: &str) -> Option<(u32, u32)> {
    let (physical, virtual_) = value.split_once(',')?;
    let bits = |part: &str, kind: &str| match part.split_whitespace().collect::<Vec<_>>()[..] {
        [bits, "bits", word] if word == kind => bits.parse::<u32>().ok().filter(|bits| *bits <= 64),
        _ => None,
    };
    Some((bits(physical, "physical")?, bits(virtual_, "virtual")?))
}

/// An Arm core, identified by its MIDR, on 32-bit and 64-bit kernels. Some kernels list all CPUs first and then
/// describe their core only once.
fn arm(root: &Root, cpuinfo: &str) -> Processor {
    let number = |key: &str| field(cpuinfo, key).and_then(text::number).and_then(|n| u32::try_from(n).ok());
    let from_cpuinfo = match (number("CPU implementer"), number("CPU part")) {
        (Some(implementer), Some(part)) => Some(Midr {
            implementer,
            part,
            variant: number("CPU variant").unwrap_or(0),
            revision: number("CPU revision").unwrap_or(0),
        }),
        _ => None,
    };
    let midr = from_cpuinfo.or_else(|| Midr::of_cpu(root, 0));
    Processor {
        vendor: midr.and_then(|midr| midr::vendor(midr.implementer)).map(str::to_owned),
        model_name: midr.and_then(|midr| midr::name(midr.implementer, midr.part)).map(str::to_owned),
        model: midr.map(|midr| midr.part),
        revision: midr.map(|midr| format!("r{}p{}", midr.variant, midr.revision)),
        implementer: midr.map(|midr| midr.implementer),
        microarchitecture: midr.and_then(|midr| midr::microarchitecture(midr.implementer, midr.part)),
        ..Processor::default()
    }
}

fn aarch64(root: &Root, cpuinfo: &str) -> Processor {
    let features = features::select("aarch64", field(cpuinfo, "Features").unwrap_or(""));
    let sve_bits = || {
        let bytes = root.number::<u32>("/proc/sys/abi/sve_default_vector_length")?;
        (16..=256).contains(&bytes).then_some(bytes * 8)
    };
    let sve = features.iter().any(|feature| feature == "sve");
    let vector_bits = if sve { sve_bits() } else { features::vector_bits("aarch64", &features) };
    Processor {
        features,
        vector_bits,
        counter_hz: field(cpuinfo, "BogoMIPS").and_then(counter_hz),
        // The generic timer counts at the same rate in every power state (Arm Architecture Reference Manual, D12.1).
        counter_invariant: Some(true),
        ..arm(root, cpuinfo)
    }
}

/// The cycle counter's rate, derived from BogoMIPS. If the kernel uses a timer with a known rate instead of calibrating
/// its delay loop, as it always does on arm64, BogoMIPS is that rate divided by 500,000 and truncated to two decimals,
/// so the error is at most 5 kHz (`arch/arm64/kernel/time.c`, `arch/x86/kernel/tsc.c`, `init/calibrate.c`).
fn counter_hz(bogomips: &str) -> Option<u64> {
    let value: f64 = bogomips.parse().ok()?;
    // No such counter is below 1 MHz or above 10 GHz.
    let hz = (value * 500_000.0).round();
    (1e6..=1e10).contains(&hz).then_some(hz as u64)
}

/// Data that is available only in the registers of the running processor.
#[cfg(target_arch = "x86_64")]
mod native {
    use record::machine::Processor;

    pub(super) fn complete(processor: &mut Processor) {
        let cpuid = raw_cpuid::CpuId::new();
        // A hypervisor may report the guest's TSC rate here, in
        // kHz (VMware's and KVM's timing leaf). On bare metal, the rate is
        // crystal × ratio from leaf 0x15. A crystal of 0 means unknown.
        let reported = cpuid
            .get_hypervisor_info()
            .and_then(|info| info.tsc_frequency())
            .map(|khz| u64::from(khz) * 1000);
        let ratio = || cpuid.get_tsc_info().and_then(|info| info.tsc_frequency());
        processor.counter_hz = reported.filter(|hz| *hz > 0).or_else(ratio).or(processor.counter_hz);
        // Leaf 0x16, all zero if a hypervisor hides it. The values from cpufreq are read later and take precedence.
        if let Some(clocks) = cpuid.get_processor_frequency_info() {
            let hz = |mhz: u16| (mhz > 0).then(|| u64::from(mhz) * 1_000_000);
            processor.base_hz = hz(clocks.processor_base_frequency());
            processor.max_hz = hz(clocks.processor_max_frequency());
        }
        if let Some(power) = cpuid.get_advanced_power_mgmt_info() {
            processor.counter_invariant = Some(power.has_invariant_tsc());
        }
        // The standard library also checks XCR0: registers that the kernel does not save are unusable.
        processor.vector_bits = Some(if std::is_x86_feature_detected!("avx512f") {
            512
        } else if std::is_x86_feature_detected!("avx") {
            256
        } else {
            128
        });
    }
}

#[cfg(target_arch = "aarch64")]
mod native {
    use record::machine::Processor;

    /// `prctl(2)`: the SVE vector length of this thread, in bytes, in the lower 16 bits.
    const PR_SVE_GET_VL: libc::c_int = 51;

    pub(super) fn complete(processor: &mut Processor) {
        let rate: u64;
        // SAFETY: CNTFRQ_EL0 is readable at EL0 on Linux and reading it changes nothing.
        unsafe {
            std::arch::asm!("mrs {}, cntfrq_el0", out(reg) rate, options(nomem, nostack, preserves_flags))
        };
        if rate > 0 {
            processor.counter_hz = Some(rate);
        }
        if processor.features.iter().any(|feature| feature == "sve") {
            // SAFETY: this prctl takes no pointer and changes nothing.
            let length = unsafe { libc::prctl(PR_SVE_GET_VL) };
            if length > 0 {
                processor.vector_bits = Some((length as u32 & 0xffff) * 8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    fn processor(tree: &Tree) -> (Machine, Processor) {
        let mut machine = Machine::default();
        read(&tree.root(), &mut machine, &mut Vec::new());
        (machine.clone(), machine.processor)
    }

    #[test]
    fn an_x86_capture_reads_the_same_on_any_machine() {
        let tree = Tree::new().file(
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\n\
             model name\t: AMD EPYC 7742 64-Core Processor\nstepping\t: 0\nmicrocode\t: 0x8301034\n\
             flags\t\t: fpu lm constant_tsc nonstop_tsc sse4_2 avx fma avx2 sha_ni clzero\n\
             address sizes\t: 43 bits physical, 48 bits virtual\n\nprocessor\t: 1\nvendor_id\t: Other\n",
        );
        let (machine, processor) = processor(&tree);
        assert_eq!(machine.architecture, "x86_64");
        assert_eq!(processor.vendor.as_deref(), Some("AuthenticAMD"));
        assert_eq!(processor.model_name.as_deref(), Some("AMD EPYC 7742 64-Core Processor"));
        assert_eq!((processor.family, processor.model, processor.stepping), (Some(23), Some(49), Some(0)));
        assert_eq!(processor.microcode.as_deref(), Some("0x8301034"));
        assert_eq!(processor.microarchitecture.as_deref(), Some("Zen 2"));
        assert_eq!(processor.address_bits, Some((43, 48)));
        assert_eq!(processor.vector_bits, Some(256));
        assert_eq!(processor.counter_invariant, Some(true));
        // This machine's counter must not be reported as that of the captured machine.
        assert_eq!(processor.counter_hz, None);
    }

    #[test]
    fn an_arm_capture_reads_the_same_on_any_machine() {
        let tree = Tree::new().file(
            "proc/cpuinfo",
            "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd atomics sve\nCPU implementer\t: 0x41\n\
             CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n",
        );
        let (machine, processor) = processor(&tree);
        assert_eq!(machine.architecture, "aarch64");
        assert_eq!(processor.vendor.as_deref(), Some("ARM"));
        assert_eq!(processor.model_name.as_deref(), Some("Neoverse-V1"));
        assert_eq!(processor.revision.as_deref(), Some("r1p1"));
        assert_eq!(processor.counter_hz, Some(25_000_000));
        assert_eq!(processor.vector_bits, None, "no flag shows the width of SVE");
        let tree = tree.file("proc/sys/abi/sve_default_vector_length", "32\n");
        assert_eq!(super::tests::processor(&tree).1.vector_bits, Some(256));
    }

    #[test]
    fn a_32_bit_arm_is_no_aarch64_and_its_delay_loop_no_counter() {
        let tree = Tree::new().file(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nBogoMIPS\t: 1694.10\n\
             Features\t: swp half thumb neon\nCPU implementer\t: 0x41\nCPU architecture: 7\nCPU variant\t: 0x0\n\
             CPU part\t: 0xc0f\nCPU revision\t: 4\n",
        );
        let (machine, processor) = processor(&tree);
        assert_eq!(machine.architecture, "armv7l");
        assert_eq!(processor.model_name.as_deref(), Some("Cortex-A15"));
        assert_eq!((processor.counter_hz, processor.counter_invariant), (None, None));
    }

    #[test]
    fn a_core_listed_after_all_cpus_has_its_name() {
        let tree = Tree::new().file(
            "proc/cpuinfo",
            "Processor\t: AArch64 Processor rev 0 (aarch64)\nprocessor\t: 0\nprocessor\t: 1\n\n\
             Features\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: AArch64\nCPU part\t: 0xd03\n",
        );
        let (machine, processor) = processor(&tree);
        assert_eq!(machine.architecture, "aarch64");
        assert_eq!((processor.model_name.as_deref(), processor.vector_bits), (Some("Cortex-A53"), Some(128)));
    }

    #[test]
    fn a_core_that_cpuinfo_hides_is_named_by_its_register() {
        let file = "sys/devices/system/cpu/cpu0/regs/identification/midr_el1";
        let (machine, processor) = processor(&Tree::new().file(file, "0x00000000481fd010\n"));
        assert_eq!(machine.architecture, "aarch64");
        assert_eq!(processor.model_name.as_deref(), Some("Kunpeng-920"));
        assert_eq!(machine.notes.len(), 1, "{:?}", machine.notes);
    }

    #[test]
    fn a_missing_cpuinfo_is_said_and_guessed_nothing() {
        let (machine, processor) = processor(&Tree::new().file("proc/version", "x"));
        assert_eq!(processor, Processor::default());
        assert!(machine.notes[0].code() == Some("processor-unknown"), "{:?}", machine.notes);
    }

    proptest! {
        // Each case writes a tree, so fewer than the usual 256 cases run.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_cpuinfo_panics(lines in proptest::collection::vec(("[a-zA-Z ]{0,16}|vendor_id|cpu family|model|stepping|flags|\
            CPU implementer|CPU part|BogoMIPS|address sizes", "\\PC{0,24}|[0-9]{0,20}|0x[0-9a-f]{0,20}"), 0..24)) {
            let text: String = lines.iter().map(|(key, value)| format!("{key}\t: {value}\n")).collect();
            let tree = Tree::new().file("proc/cpuinfo", &text);
            let (_, processor) = processor(&tree);
            prop_assert!(processor.vector_bits.is_none_or(|bits| bits <= 2048));
            prop_assert!(processor.address_bits.is_none_or(|(p, v)| p <= 64 && v <= 64));
        }
    }
}
