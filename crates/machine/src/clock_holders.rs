//! Reads the limits on the clock that are not cpufreq settings.

use std::collections::BTreeMap;

use record::CpuList;
use record::clock_holders::{ClockHolders, Cooling, HeldBy, HwpRange, PowerLimit, UncoreClock};

use crate::sensors::Throttling;
use crate::{Root, text};

const POWERCAP: &str = "/sys/class/powercap";
const UNCORE: &str = "/sys/devices/system/cpu/intel_uncore_frequency";
const MAX_PERCENT: &str = "/sys/devices/system/cpu/intel_pstate/max_perf_pct";
/// MSR_PM_ENABLE, IA32_HWP_CAPABILITIES and IA32_HWP_REQUEST.
const HWP: [u64; 3] = [0x770, 0x771, 0x774];
const THERMAL: &str = "/sys/class/thermal";
/// Maximum number of zones, dies and devices read.
const MAX_DEVICES: usize = 64;
/// Maximum number of packages whose registers are read.
const MAX_PACKAGES: usize = 16;

/// A register with bits that show what limits the clock. Only the bits in `has` exist. The logged state of each cause is in
/// the bit `log` positions higher.
struct Register {
    address: u64,
    log: u32,
    has: u64,
    bits: &'static [(u32, HeldBy)],
}

/// Intel SDM volume 4: IA32_THERM_STATUS and IA32_PACKAGE_THERM_STATUS of all processors, MSR_CORE_PERF_LIMIT_REASONS at 64FH
/// since Skylake and at 690H before. Every machine reaches its limits on power and electrical current at boot, so they are
/// always logged.
const REGISTERS: [Register; 4] = [
    Register { address: 0x19c, log: 1, has: 0x5, bits: &[(0, HeldBy::Heat), (2, HeldBy::Prochot)] },
    Register { address: 0x1b1, log: 1, has: 0x5, bits: &[(0, HeldBy::Heat), (2, HeldBy::Prochot)] },
    Register { address: 0x64f, log: 16, has: 0xde3, bits: REASONS },
    Register { address: 0x690, log: 16, has: 0xd43, bits: REASONS },
];
const REASONS: &[(u32, HeldBy)] = &[
    (0, HeldBy::Prochot),
    (1, HeldBy::Heat),
    (5, HeldBy::AverageHeat),
    (6, HeldBy::RegulatorHeat),
    (7, HeldBy::RegulatorCurrent),
    (8, HeldBy::Current),
    (10, HeldBy::LongPower),
    (11, HeldBy::ShortPower),
];

/// The current limits on the clock that this process may read; only root can read registers.
pub(crate) fn read(root: &Root, heat: &BTreeMap<String, Throttling>) -> ClockHolders {
    let (holding, held_before, hwp) = registers(root);
    let most = |ms: fn(&Throttling) -> Option<u64>| heat.values().filter_map(ms).max().filter(|ms| *ms > 0);
    ClockHolders {
        hwp,
        max_percent: root.number(MAX_PERCENT).filter(|percent| (1..=100).contains(percent)),
        heat_ms: most(|of| of.total_ms),
        longest_heat_ms: most(|of| of.longest_ms),
        power_limits: power_limits(root),
        holding,
        held_before,
        uncore: uncore(root),
        cooling: cooling(root),
        platform_profile: root.text("/sys/firmware/acpi/platform_profile").as_deref().and_then(text::name),
    }
}

/// Active power limits of packages, but not those of subdomains, memory or the platform. A limit of 0 means that there is no
/// limit (Documentation/power/powercap/powercap.rst).
pub fn power_limits(root: &Root) -> Vec<PowerLimit> {
    let mut limits = Vec::new();
    for zone in root.list(POWERCAP).into_iter().take(MAX_DEVICES) {
        let Some((interface, number)) = zone.split_once(':') else { continue };
        let folder = format!("{POWERCAP}/{zone}");
        let name = root.text(&format!("{folder}/name")).as_deref().and_then(text::name).unwrap_or_default();
        let is_off = || root.text(&format!("{folder}/enabled")).as_deref() == Some("0");
        if number.contains(':') || !name.starts_with("package-") || is_off() {
            continue;
        }
        for constraint in 0..4 {
            let file = |name: &str| format!("{folder}/constraint_{constraint}_{name}");
            let watts = |name: &str| {
                root.number::<u64>(&file(name)).filter(|uw| *uw > 0).map(|microwatts| microwatts as f64 / 1e6)
            };
            let Some(limit) = watts("power_limit_uw") else { continue };
            limits.push(PowerLimit {
                interface: interface.to_owned(),
                zone: name.clone(),
                window: root.text(&file("name")).as_deref().and_then(text::name).unwrap_or_default(),
                watts: limit,
                rated_watts: watts("max_power_uw"),
                window_seconds: root.number::<u64>(&file("time_window_us")).map(|us| us as f64 / 1e6),
                limit_file: file("power_limit_uw"),
            });
        }
    }
    limits
}

/// Over all packages: the causes that currently limit the clock, the causes logged since the log was cleared, and the
/// range of performance levels of the package with the lowest allowed level. Only the first CPU of each package is read.
fn registers(root: &Root) -> (Vec<HeldBy>, Vec<HeldBy>, Option<HwpRange>) {
    let (mut now, mut before, mut lowest) = (Vec::new(), Vec::new(), None::<HwpRange>);
    let mut seen = CpuList::default();
    let cpus = root.numbered("/dev/cpu", "");
    for cpu in (0..MAX_PACKAGES).map_while(|_| next_not_in(&cpus, &mut seen, root)) {
        let file = format!("/dev/cpu/{cpu}/msr");
        lowest = lowest.into_iter().chain(hwp_range(root, &file)).min_by_key(|range| range.allowed);
        for register in &REGISTERS {
            let Some(value) = root.word_at(&file, register.address) else { continue };
            let those_in = |value: u64| {
                let set = move |bit: u32| (value & register.has) >> bit & 1 == 1;
                register.bits.iter().filter(move |(bit, _)| set(*bit)).map(|(_, held)| *held)
            };
            now.extend(those_in(value));
            before.extend(those_in(value >> register.log));
        }
    }
    for held in [&mut now, &mut before] {
        held.sort_unstable();
        held.dedup();
    }
    (now, before, lowest)
}

/// The range from which the processor chooses its performance level, if it does so autonomously. `file` gives access to the
/// processor's registers.
fn hwp_range(root: &Root, file: &str) -> Option<HwpRange> {
    let [enabled, able, asked] = HWP.map(|address| root.word_at(file, address));
    let byte = |word: u64, at: u32| word >> (8 * at) & 0xff;
    let (able, asked) = (able?, asked?);
    let range = HwpRange { highest: byte(able, 0), guaranteed: byte(able, 1), allowed: byte(asked, 1) };
    (enabled? & 1 == 1 && range.highest > 0 && range.allowed > 0).then_some(range)
}

/// The first CPU of a package that has not been visited yet. Marks all CPUs of the package as visited.
fn next_not_in(cpus: &CpuList, seen: &mut CpuList, root: &Root) -> Option<u32> {
    let cpu = cpus.iter().find(|cpu| !seen.contains(*cpu))?;
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
    let file = |name: &str| root.cpu_list(&format!("{folder}/{name}"));
    let siblings = file("package_cpus_list").or_else(|| file("core_siblings_list")).unwrap_or_default();
    siblings.iter().chain([cpu]).for_each(|sibling| seen.insert(sibling));
    Some(cpu)
}

/// The maximum uncore clocks of the dies, for dies that also report the maximum set at boot.
fn uncore(root: &Root) -> Vec<UncoreClock> {
    let dies = root.list(UNCORE).into_iter().take(MAX_DEVICES);
    let clock = |domain: String| {
        let hz = |file: &str| root.number::<u64>(&format!("{UNCORE}/{domain}/{file}"))?.checked_mul(1000);
        let (max_hz, initial_max_hz) = (hz("max_freq_khz")?, hz("initial_max_freq_khz")?);
        Some(UncoreClock { domain: text::name(&domain)?, max_hz, initial_max_hz })
    };
    dies.filter_map(clock).collect()
}

/// Cooling devices that lower the clock and are active, that is, above their lowest state
/// (Documentation/driver-api/thermal/sysfs-api.rst).
fn cooling(root: &Root) -> Vec<Cooling> {
    let devices = root.numbered(THERMAL, "cooling_device");
    let device = |number: u32| {
        let file = |name: &str| format!("{THERMAL}/cooling_device{number}/{name}");
        let kind = root.text(&file("type")).as_deref().and_then(text::name)?;
        let lowers = kind == "Processor" || kind == "intel_powerclamp" || kind.contains("cpufreq");
        let step = root.number(&file("cur_state")).filter(|step| lowers && *step > 0)?;
        Some(Cooling { kind, step, highest_step: root.number(&file("max_state")).unwrap_or(step) })
    };
    devices.iter().take(MAX_DEVICES).filter_map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    /// A register from a sparse file, at the address that the device uses.
    fn msr(registers: &[(usize, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; 0x780];
        for (address, value) in registers {
            bytes[*address..*address + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn both_interfaces_of_a_laptop_and_what_its_board_pulls_are_read() {
        let zone = |microwatts: &'static str| {
            [
                ("name", "package-0\n"),
                ("enabled", "1\n"),
                ("constraint_0_name", "long_term\n"),
                ("constraint_0_power_limit_uw", microwatts),
                ("constraint_0_time_window_us", "27983872\n"),
                ("constraint_0_max_power_uw", "28000000\n"),
                ("constraint_1_name", "short_term\n"),
                ("constraint_1_power_limit_uw", "0\n"),
            ]
        };
        let tree = Tree::new()
            .files("sys/class/powercap/intel-rapl:0", &zone("35000000\n"))
            .files(
                "sys/class/powercap/intel-rapl:0:0",
                &[("name", "core\n"), ("constraint_0_power_limit_uw", "1\n")],
            )
            .files("sys/class/powercap/intel-rapl-mmio:0", &zone("15000000\n"))
            .files(
                "sys/class/powercap/intel-rapl:1",
                &[("name", "psys\n"), ("constraint_0_power_limit_uw", "1\n")],
            )
            .file("sys/devices/system/cpu/cpu0/topology/package_cpus_list", "0-1\n")
            .file("dev/cpu/0/msr", msr(&[(0x19c, 0b1100), (0x64f, 1 << 26 | 1), (0x770, 0x1400_0018_2601)]))
            .file("dev/cpu/1/msr", msr(&[(0x19c, 0b11)]))
            .files(
                "sys/class/thermal/cooling_device3",
                &[("type", "Processor\n"), ("cur_state", "2\n"), ("max_state", "10\n")],
            )
            .files("sys/class/thermal/cooling_device4", &[("type", "Fan\n"), ("cur_state", "1\n")])
            .file("sys/devices/system/cpu/intel_pstate/max_perf_pct", "60\n")
            .file("sys/firmware/acpi/platform_profile", "low-power\n");
        let heat = Throttling { times: Some(3), total_ms: Some(812), longest_ms: Some(40) };
        let holders = read(&tree.root(), &BTreeMap::from([("package 0".to_owned(), heat)]));
        let limits: Vec<(&str, f64, Option<f64>)> =
            holders.power_limits.iter().map(|l| (l.interface.as_str(), l.watts, l.rated_watts)).collect();
        assert_eq!(limits, [("intel-rapl-mmio", 15.0, Some(28.0)), ("intel-rapl", 35.0, Some(28.0))]);
        assert_eq!(holders.holding, [HeldBy::Prochot]);
        assert_eq!(holders.held_before, [HeldBy::Prochot, HeldBy::LongPower]);
        assert_eq!(holders.cooling, [Cooling { kind: "Processor".to_owned(), step: 2, highest_step: 10 }]);
        assert_eq!(holders.platform_profile.as_deref(), Some("low-power"));
        assert_eq!(holders.hwp, Some(HwpRange { highest: 38, guaranteed: 24, allowed: 20 }));
        assert_eq!(
            (holders.max_percent, holders.heat_ms, holders.longest_heat_ms),
            (Some(60), Some(812), Some(40))
        );
    }

    #[test]
    fn the_clock_outside_the_cores_is_read_with_what_it_was_at_boot() {
        let tree = Tree::new().files(
            "sys/devices/system/cpu/intel_uncore_frequency/package_01_die_00",
            &[("max_freq_khz", "1400000\n"), ("initial_max_freq_khz", "2400000\n")],
        );
        let clock = UncoreClock {
            domain: "package_01_die_00".to_owned(),
            max_hz: 1_400_000_000,
            initial_max_hz: 2_400_000_000,
        };
        assert_eq!(read(&tree.root(), &BTreeMap::new()).uncore, [clock]);
    }

    #[test]
    fn a_machine_that_tells_nothing_holds_nothing() {
        assert!(read(&Tree::new().root(), &BTreeMap::new()).is_empty());
        let off = Tree::new().files(
            "sys/class/powercap/intel-rapl:0",
            &[("name", "package-0\n"), ("enabled", "0\n"), ("constraint_0_power_limit_uw", "9\n")],
        );
        assert!(read(&off.root(), &BTreeMap::new()).is_empty());
    }
}
