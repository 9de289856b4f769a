//! The machine's current sensor readings: temperatures, thermal throttling, and the power supply.

use std::collections::BTreeMap;

use record::CpuList;

use crate::{Root, text};

/// Maximum number of stored temperatures, in total and per chip, because a CPU with 64 cores has a sensor for each
/// core.
const MAX_TEMPERATURES: usize = 64;
const MAX_OF_A_CHIP: usize = 16;
/// Maximum number of chips, zones and supplies read.
const MAX_DEVICES: usize = 64;

/// Chips that do not concern the processor and are slow to read: a disk or a memory module takes milliseconds to answer
/// over its bus.
const SLOW_CHIPS: &str =
    "nvme drivetemp jc42 spd5118 iwlwifi mlx5 i350 ixgbe bnxt amdgpu nouveau ucsi BAT AC";

/// Temperatures in °C by chip and label (`coretemp Package id 0`), from hwmon, and from the thermal zones if hwmon has none.
pub(crate) fn temperatures(root: &Root) -> BTreeMap<String, f64> {
    let mut temperatures = BTreeMap::new();
    for chip in root.numbered("/sys/class/hwmon", "hwmon").iter().take(MAX_DEVICES) {
        let folder = format!("/sys/class/hwmon/hwmon{chip}");
        let name = root.text(&format!("{folder}/name")).as_deref().and_then(text::name);
        let name = name.unwrap_or_else(|| format!("hwmon{chip}"));
        if SLOW_CHIPS.split(' ').any(|slow| name.starts_with(slow)) {
            continue;
        }
        let inputs: Vec<String> = root.list(&folder);
        let sensors =
            inputs.iter().filter_map(|file| file.strip_suffix("_input").filter(|s| s.starts_with("temp")));
        for sensor in sensors.take(MAX_OF_A_CHIP) {
            let Some(celsius) = celsius(root, &format!("{folder}/{sensor}_input")) else { continue };
            let label = root.text(&format!("{folder}/{sensor}_label")).as_deref().and_then(text::name);
            add(&mut temperatures, format!("{name} {}", label.as_deref().unwrap_or(sensor)), celsius);
        }
    }
    if temperatures.is_empty() {
        for zone in root.numbered("/sys/class/thermal", "thermal_zone").iter().take(MAX_DEVICES) {
            let folder = format!("/sys/class/thermal/thermal_zone{zone}");
            let Some(celsius) = celsius(root, &format!("{folder}/temp")) else { continue };
            let kind = root.text(&format!("{folder}/type")).as_deref().and_then(text::name);
            add(&mut temperatures, kind.unwrap_or_else(|| format!("thermal_zone{zone}")), celsius);
        }
    }
    temperatures
}

/// Stores a temperature under its name, with a number added if two sensors share it.
fn add(temperatures: &mut BTreeMap<String, f64>, name: String, celsius: f64) {
    if temperatures.len() >= MAX_TEMPERATURES {
        return;
    }
    let unused = (2..=MAX_TEMPERATURES).map(|n| format!("{name} #{n}"));
    let mut names = std::iter::once(name.clone()).chain(unused);
    if let Some(name) = names.find(|name| !temperatures.contains_key(name)) {
        temperatures.insert(name, celsius);
    }
}

/// Reads a temperature file, whose unit is a thousandth of a degree. Temperatures that no processor survives are
/// discarded, because they indicate a broken sensor.
fn celsius(root: &Root, file: &str) -> Option<f64> {
    let thousandths: i64 = root.number(file)?;
    (-50_000..=200_000).contains(&thousandths).then_some(thousandths as f64 / 1000.0)
}

/// Thermal throttling of one core or package since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Number of times the clock was lowered.
    pub times: Option<u64>,
    /// Total duration of all throttled periods, ms.
    pub total_ms: Option<u64>,
    /// Duration of the longest throttled period, ms.
    pub longest_ms: Option<u64>,
}

/// Thermal throttling of these CPUs' cores and packages, with keys such as `package 0` and `core 0.3`; empty if the
/// kernel does not count it. Every CPU has a copy of its package's counts, and each sibling has a copy of its core's
/// counts. Copies may lag, so only the largest is used (Linux, drivers/thermal/intel/therm_throt.c).
pub fn throttling(root: &Root, cpus: &CpuList) -> BTreeMap<String, Throttling> {
    let mut all: BTreeMap<String, Throttling> = BTreeMap::new();
    for (index, cpu) in cpus.iter().enumerate() {
        // If the first CPUs have no counts, no CPU has any.
        if index >= 4 && all.is_empty() {
            break;
        }
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        if !root.exists(&format!("{folder}/thermal_throttle")) {
            continue;
        }
        let id = |name: &str| root.text(&format!("{folder}/topology/{name}"));
        let package = id("physical_package_id").unwrap_or_default();
        // Without ids, as in a pasted text, CPUs may be siblings: the largest count is certain, and a sum would be too high.
        let core = format!("{package}.{}", id("core_id").unwrap_or_default());
        for (of, place) in [("core", core), ("package", package)] {
            let file =
                |name: &str| root.number::<u64>(&format!("{folder}/thermal_throttle/{of}_throttle_{name}"));
            let times = file("count");
            // The other files need not be opened if throttling never occurred.
            let time = |name: &str| if times == Some(0) { times } else { file(name) };
            let seen = Throttling { times, total_ms: time("total_time_ms"), longest_ms: time("max_time_ms") };
            if seen != Throttling::default() {
                let most = all.entry(format!("{of} {place}")).or_default();
                most.times = most.times.max(seen.times);
                most.total_ms = most.total_ms.max(seen.total_ms);
                most.longest_ms = most.longest_ms.max(seen.longest_ms);
            }
        }
    }
    all
}

/// Corrected and uncorrected errors as counted by the memory controllers, by the label of the memory module or, on old kernels, by csrow; by
/// controller if the module is unknown (Linux, Documentation/ABI/testing/sysfs-devices-edac). Modules without errors are omitted.
pub(crate) fn memory_errors(root: &Root) -> BTreeMap<String, [u64; 2]> {
    const EDAC: &str = "/sys/devices/system/edac/mc";
    let mut errors = BTreeMap::new();
    for mc in root.numbered(EDAC, "mc").iter().take(MAX_DEVICES) {
        let folder = format!("{EDAC}/mc{mc}");
        let count = |name: String| root.number::<u64>(&format!("{folder}/{name}_count")).unwrap_or(0);
        let counts = |of: &str| [count(format!("{of}ce")), count(format!("{of}ue"))];
        let mut rest = counts("");
        // `dimm0`, `rank0` or `csrow0`; a kernel may list the errors of modules again by csrow.
        let mut names = root.list(&folder);
        names.retain(|name| name.ends_with(char::is_numeric));
        let is_row = |name: &String| name.starts_with("csrow");
        let has_modules = !names.iter().all(is_row);
        for name in names.iter().filter(|name| !(has_modules && is_row(name))).take(MAX_DEVICES) {
            let label = root.text(&format!("{folder}/{name}/dimm_label")).as_deref().and_then(text::name);
            let own = counts(&format!("{name}/dimm_")).max(counts(&format!("{name}/")));
            rest = [0, 1].map(|kind| rest[kind].saturating_sub(own[kind]));
            // Several ranks may have the label of their module.
            let all: &mut [u64; 2] =
                errors.entry(label.unwrap_or_else(|| format!("mc{mc} {name}"))).or_default();
            *all = [0, 1].map(|kind| all[kind].saturating_add(own[kind]));
        }
        errors.insert(format!("mc{mc}"), rest);
    }
    errors.retain(|_, counts| *counts != [0, 0]);
    errors
}

/// A package's energy counter (RAPL).
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyCounter {
    /// The counter's file.
    pub file: String,
    /// The value at which it wraps around, µJ.
    pub range: u64,
    /// The counter's value, µJ; `None` if this process may not read it.
    pub uj: Option<u64>,
}

/// The energy counters of the packages. Counters of subdomains or of the platform are omitted, and so are duplicates
/// from another interface (`intel-rapl-mmio:0`).
pub fn energy_counters(root: &Root) -> Vec<EnergyCounter> {
    const FOLDER: &str = "/sys/class/powercap";
    let zones = root.list(FOLDER).into_iter().filter(|zone| zone.starts_with("intel-rapl:"));
    let packages = zones.map(|zone| format!("{FOLDER}/{zone}")).filter(|zone| {
        root.text(&format!("{zone}/name")).is_some_and(|name| name.split('-').next() == Some("package"))
    });
    let counter = |zone: String| {
        let file = format!("{zone}/energy_uj");
        let range = root.number(&format!("{zone}/max_energy_range_uj")).unwrap_or(u64::MAX);
        EnergyCounter { range, uj: root.number(&file), file }
    };
    packages.take(MAX_DEVICES).map(counter).collect()
}

/// Microjoules between two readings of a counter that wraps at most once between them.
pub fn energy_between(before: u64, after: u64, range: u64) -> u64 {
    if after >= before { after - before } else { range.saturating_sub(before).saturating_add(after) }
}

/// `mains` or `battery`; `None` if unknown.
pub fn power_supply(root: &Root) -> Option<String> {
    let folder = "/sys/class/power_supply";
    let mut on_battery = None;
    for supply in root.list(folder).into_iter().take(MAX_DEVICES) {
        let file = |name: &str| root.text(&format!("{folder}/{supply}/{name}"));
        // The battery of a mouse does not power the machine.
        if file("scope").is_some_and(|scope| scope == "Device") {
            continue;
        }
        match file("type").as_deref() {
            Some("Mains" | "USB" | "USB_PD") if file("online").as_deref() == Some("1") => {
                return Some("mains".to_owned());
            }
            Some("Battery") => {
                let discharging = file("status").is_some_and(|status| status == "Discharging");
                on_battery = Some(on_battery.unwrap_or(false) || discharging);
            }
            _ => {}
        }
    }
    on_battery.map(|discharging| if discharging { "battery" } else { "mains" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    #[test]
    fn sensors_are_named_by_chip_and_label() {
        let tree = Tree::new()
            .files(
                "sys/class/hwmon/hwmon1",
                &[
                    ("name", "coretemp\n"),
                    ("temp1_input", "47500\n"),
                    ("temp1_label", "Package id 0\n"),
                    ("temp2_input", "x"),
                ],
            )
            .files(
                "sys/class/hwmon/hwmon2",
                &[("name", "coretemp"), ("temp1_input", "51000"), ("temp1_label", "Package id 0")],
            )
            .files("sys/class/hwmon/hwmon3", &[("name", "k10temp\n"), ("temp1_input", "999999999\n")])
            .files("sys/class/hwmon/hwmon4", &[("name", "nvme\n"), ("temp1_input", "35000\n")]);
        let reported: Vec<_> = temperatures(&tree.root()).into_iter().collect();
        assert_eq!(
            reported,
            [("coretemp Package id 0".to_owned(), 47.5), ("coretemp Package id 0 #2".to_owned(), 51.0)]
        );
    }

    #[test]
    fn zones_stand_in_where_there_is_no_chip() {
        let tree = Tree::new()
            .files("sys/class/thermal/thermal_zone0", &[("type", "cpu-thermal\n"), ("temp", "61000\n")]);
        assert_eq!(temperatures(&tree.root()).get("cpu-thermal"), Some(&61.0));
    }

    #[test]
    fn memory_errors_are_those_of_modules_or_of_their_controllers() {
        let folder = "sys/devices/system/edac/mc";
        let of = |label: &'static str, corrected: &'static str| {
            [("dimm_label", label), ("dimm_ce_count", corrected), ("dimm_ue_count", "1\n")]
        };
        let tree = Tree::new()
            .files(&format!("{folder}/mc0"), &[("ce_count", "0\n"), ("ue_count", "0\n")])
            .files(&format!("{folder}/mc1"), &[("ce_count", "48213\n"), ("ue_count", "2\n")])
            .files(&format!("{folder}/mc1/dimm0"), &of("P1-DIMMA1\n", "48000\n"))
            .files(&format!("{folder}/mc1/dimm1"), &[("dimm_label", "P1-DIMMA1\n"), ("dimm_ce_count", "0\n")])
            .files(&format!("{folder}/mc1/csrow0"), &[("ce_count", "48000\n"), ("ue_count", "1\n")])
            .files(&format!("{folder}/mc2"), &[("ce_count", "7\n")])
            .files(&format!("{folder}/mc2/csrow3"), &[("ce_count", "7\n"), ("ue_count", "x\n")])
            .files(&format!("{folder}/mc3"), &[("ue_count", "5\n")]);
        let expected =
            [("P1-DIMMA1", [48000, 1]), ("mc1", [213, 1]), ("mc2 csrow3", [7, 0]), ("mc3", [0, 5])];
        assert_eq!(memory_errors(&tree.root()), expected.map(|(name, of)| (name.to_owned(), of)).into());
    }

    #[test]
    fn a_thousand_sensors_do_not_fill_the_record() {
        let mut tree = Tree::new();
        for chip in 0..10 {
            for sensor in 1..100 {
                tree = tree.file(&format!("sys/class/hwmon/hwmon{chip}/temp{sensor}_input"), "40000");
            }
        }
        assert!(temperatures(&tree.root()).len() <= MAX_TEMPERATURES);
    }

    #[test]
    fn throttling_of_a_package_is_its_largest_copy_and_not_the_sum() {
        let cpu = |cpu: u32, package: &str, core: &str, counts: [&str; 2], tree: Tree| {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            let [of_core, of_package] = counts;
            tree.files(
                &format!("{folder}/thermal_throttle"),
                &[("core_throttle_count", of_core), ("package_throttle_count", of_package)],
            )
            .files(&format!("{folder}/topology"), &[("physical_package_id", package), ("core_id", core)])
        };
        // Two siblings of one core, another core, and another package.
        let tree = cpu(0, "0", "0", ["3", "5"], Tree::new());
        let tree = cpu(1, "0", "0", ["2", "6"], tree);
        let tree = cpu(2, "0", "1", ["4", "5"], tree);
        let tree = cpu(3, "1", "0", ["1", "7"], tree);
        let cpus: CpuList = "0-3".parse().unwrap();
        let times = |tree: &Tree| {
            throttling(&tree.root(), &cpus).values().map(|of| of.times.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(times(&tree), [3, 4, 1, 6, 7]);
        assert!(throttling(&Tree::new().root(), &cpus).is_empty());
        // A text quotes the counts of siblings without their topology.
        let count = |cpu: u32, tree: Tree| {
            tree.file(&format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"), "3")
        };
        assert_eq!(times(&count(0, count(2, Tree::new()))), [3]);
        let folder = "sys/devices/system/cpu/cpu1/thermal_throttle";
        let long = [("package_throttle_total_time_ms", "812"), ("package_throttle_max_time_ms", "40")];
        let package = throttling(&tree.files(folder, &long).root(), &cpus)["package 0"];
        assert_eq!((package.total_ms, package.longest_ms), (Some(812), Some(40)));
    }

    #[test]
    fn a_laptop_off_the_mains_says_so() {
        let supply = |name: &str, files: &[(&str, &str)]| {
            Tree::new().files(&format!("sys/class/power_supply/{name}"), files)
        };
        let battery = |status: &str| supply("BAT0", &[("type", "Battery\n"), ("status", status)]);
        assert_eq!(power_supply(&battery("Discharging\n").root()).as_deref(), Some("battery"));
        assert_eq!(power_supply(&battery("Not charging\n").root()).as_deref(), Some("mains"));
        let both = battery("Discharging\n")
            .files("sys/class/power_supply/AC", &[("type", "Mains"), ("online", "1")]);
        assert_eq!(power_supply(&both.root()).as_deref(), Some("mains"));
        let mouse = supply("hid-1", &[("type", "Battery"), ("scope", "Device"), ("status", "Discharging")]);
        assert_eq!(power_supply(&mouse.root()), None);
    }

    proptest! {
        // Each case writes a tree, so fewer than the usual 256 cases run.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_contents_panic(value in "[-0-9]{0,22}|\\PC{0,8}", label in "\\PC{0,20}") {
            let tree = Tree::new()
                .files("sys/class/hwmon/hwmon0", &[("name", &label), ("temp1_input", &value), ("temp1_label", &label)])
                .files("sys/class/power_supply/x", &[("type", &label), ("status", &value)])
                .files("sys/devices/system/cpu/cpu0/thermal_throttle", &[("core_throttle_count", &value)]);
            let root = tree.root();
            let _ = (temperatures(&root), power_supply(&root), throttling(&root, &"0-3".parse().unwrap()));
        }
    }
}
