//! Sensor readings: temperature, fan speed, power, and the duration of thermal throttling.

use std::collections::BTreeMap;

use machine::Root;
use machine::sensors::{EnergyCounter, Throttling, energy_between, energy_counters, throttling};
use record::CpuList;
use record::live::Sensors;

/// Maximum number of chips and sensors read.
const MOST_CHIPS: usize = 32;
const MOST_SENSORS: usize = 64;
/// Maximum plausible power, W.
const MOST_WATTS: f64 = 1e5;
/// Maximum number of CPUs whose throttle counters are read.
const MOST_CPUS: usize = 1024;
/// Chips that do not measure the processor and are read through separate, slow buses.
const SLOW_CHIPS: [&str; 6] = ["nvme", "drivetemp", "jc42", "spd5118", "iwlwifi", "mlx5"];

/// Counters since boot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heat {
    /// Time for which packages and cores were throttled, ms, by package and core.
    throttled_ms: BTreeMap<String, u64>,
    /// The energy counter of each package, µJ, and the value at which it wraps around, by zone.
    energy_uj: BTreeMap<String, (u64, u64)>,
}

impl Heat {
    /// Whether packages count their energy and this process may read the counters.
    pub(crate) fn counts_energy(&self) -> bool {
        !self.energy_uj.is_empty()
    }

    /// Reads the counters.
    pub(crate) fn look(root: &Root, cpus: &CpuList) -> Self {
        let throttled = throttling(root, &cpus.iter().take(MOST_CPUS).collect());
        let ms = |(place, of): (String, Throttling)| Some((place, of.total_ms?));
        let mut all =
            Self { throttled_ms: throttled.into_iter().filter_map(ms).collect(), ..Self::default() };
        for EnergyCounter { file, range, uj } in energy_counters(root) {
            all.energy_uj.extend(uj.map(|uj| (file, (uj, range))));
        }
        all
    }

    /// The sensor readings from this reading to `now`, this many seconds later.
    pub(crate) fn until(&self, now: &Self, root: &Root, seconds: f64) -> Sensors {
        let mut sensors = read_chips(root);
        let throttled =
            now.throttled_ms.iter().filter_map(|(place, ms)| ms.checked_sub(*self.throttled_ms.get(place)?));
        let worst = throttled.max().map(|ms| (ms as f64 / 1e3 / seconds.max(1e-9)).min(1.0));
        sensors.heat_throttled = worst;
        let joules: Vec<f64> = now
            .energy_uj
            .iter()
            .filter_map(|(zone, (after, wraps))| {
                let (before, _) = self.energy_uj.get(zone)?;
                Some(energy_between(*before, *after, *wraps) as f64 / 1e6)
            })
            .collect();
        if !joules.is_empty() {
            let watts = joules.iter().sum::<f64>() / seconds.max(1e-9);
            // A counter is unchanged if it was read twice between two updates. A counter that restarted looks as if it had wrapped
            // around.
            sensors.watts =
                Some(watts).filter(|watts| *watts > 0.0 && *watts <= MOST_WATTS).or(sensors.watts);
        }
        sensors
    }
}

/// Whether a chip has a temperature, fan or power sensor.
pub(crate) fn has_fans_or_temperatures(root: &Root) -> bool {
    read_chips(root) != Sensors::default()
}

/// The highest value of each kind of sensor in hwmon.
fn read_chips(root: &Root) -> Sensors {
    let mut sensors = Sensors::default();
    for chip in root.numbered("/sys/class/hwmon", "hwmon").iter().take(MOST_CHIPS) {
        let folder = format!("/sys/class/hwmon/hwmon{chip}");
        let name = root.text(&format!("{folder}/name")).unwrap_or_default();
        if SLOW_CHIPS.iter().any(|slow| name.starts_with(slow)) {
            continue;
        }
        for file in root.list(&folder).into_iter().take(MOST_SENSORS) {
            let Some((kind, _)) = file.split_once(|c: char| c.is_ascii_digit()) else { continue };
            let (scale, plausible, most) = match kind {
                "temp" if file.ends_with("_input") => (1e3, -50.0..=200.0, &mut sensors.celsius),
                "fan" if file.ends_with("_input") => (1.0, 0.0..=1e5, &mut sensors.fan_rpm),
                "power" if file.ends_with("_input") || file.ends_with("_average") => {
                    (1e6, 0.0..=MOST_WATTS, &mut sensors.watts)
                }
                _ => continue,
            };
            let value = root.number::<f64>(&format!("{folder}/{file}")).map(|value| value / scale);
            *most = value.filter(|value| plausible.contains(value)).into_iter().chain(*most).reduce(f64::max);
        }
    }
    sensors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    fn tree(core: [u64; 4], package: [u64; 4], energy: u64) -> Tree {
        let mut tree = Tree::new()
            .file("sys/class/hwmon/hwmon0/name", "coretemp\n")
            .file("sys/class/hwmon/hwmon0/temp1_input", "61000\n")
            .file("sys/class/hwmon/hwmon0/temp2_input", "74500\n")
            .file("sys/class/hwmon/hwmon0/temp2_max", "99000\n")
            .file("sys/class/hwmon/hwmon1/name", "nct6775\n")
            .file("sys/class/hwmon/hwmon1/fan2_input", "4200\n")
            .file("sys/class/hwmon/hwmon2/name", "nvme\n")
            .file("sys/class/hwmon/hwmon2/temp1_input", "90000\n")
            .file("sys/class/powercap/intel-rapl:0/name", "package-0\n")
            .file("sys/class/powercap/intel-rapl:0/energy_uj", &energy.to_string())
            .file("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000000")
            .file("sys/class/powercap/intel-rapl:0:0/energy_uj", "999999");
        for cpu in 0..4 {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            tree = tree
                .file(&format!("{folder}/topology/physical_package_id"), &format!("{}\n", cpu / 2))
                .file(&format!("{folder}/topology/core_id"), &format!("{cpu}\n"))
                .file(
                    &format!("{folder}/thermal_throttle/core_throttle_total_time_ms"),
                    &core[cpu].to_string(),
                )
                .file(
                    &format!("{folder}/thermal_throttle/package_throttle_total_time_ms"),
                    &package[cpu].to_string(),
                );
        }
        tree
    }

    #[test]
    fn names_of_chips_show_nowhere_and_what_is_no_number_is_none() {
        let long = format!("\u{1b}]0;{}\u{7}", "x".repeat(4096));
        let hwmon = "sys/class/hwmon";
        let tree = Tree::new()
            .file(&format!("{hwmon}/hwmon0/name"), &long)
            .file(&format!("{hwmon}/hwmon0/temp1_label"), &long)
            .file(&format!("{hwmon}/hwmon0/temp1_input"), "61000\n")
            .file(&format!("{hwmon}/hwmon0/temp2_input"), "\u{1b}[2J99000\n")
            .file(&format!("{hwmon}/hwmon0/temp3_input"), "9".repeat(4096).as_str())
            .file(&format!("{hwmon}/hwmon0/temp\u{1b}4_input"), "70000\n")
            .file(&format!("{hwmon}/hwmon0/fan1_input"), &long)
            .file(&format!("{hwmon}/hwmon1\u{1b}[2J/temp1_input"), "80000\n");
        let sensors = read_chips(&tree.root());
        assert_eq!(sensors, Sensors { celsius: Some(61.0), ..Sensors::default() });
    }

    #[test]
    fn a_packages_time_is_its_largest_copy_and_not_the_sum() {
        let cpus: CpuList = "0-3".parse().unwrap();
        let (first, second) =
            (tree([0; 4], [100, 90, 7, 7], 999_000_000), tree([50, 0, 0, 0], [400, 400, 7, 7], 49_000_000));
        let before = Heat::look(&first.root(), &cpus);
        let sensors = before.until(&Heat::look(&second.root(), &cpus), &second.root(), 2.0);
        assert_eq!(sensors.heat_throttled, Some(0.15));
        assert_eq!((sensors.celsius, sensors.fan_rpm), (Some(74.5), Some(4200.0)));
        // The energy counter wrapped around: 1 J up to its limit of 1,000 J, then 49 J more.
        assert_eq!(sensors.watts, Some(25.0));
        // A counter that restarted, and a counter that did not advance.
        let energy = |from: u64, to: u64| {
            let (from, to) = (tree([0; 4], [0; 4], from), tree([0; 4], [0; 4], to));
            Heat::look(&from.root(), &cpus).until(&Heat::look(&to.root(), &cpus), &to.root(), 0.005).watts
        };
        assert_eq!((energy(5_000_000, 1000), energy(5_000_000, 5_000_000)), (None, None));
        assert_eq!(energy(5_000_000, 6_000_000), Some(200.0));
        let none = Tree::new();
        let nothing = Heat::look(&none.root(), &cpus);
        assert!(nothing.until(&nothing, &none.root(), 1.0).is_empty());
    }
}
