//! The clock of the cores, as the processor counted it (ACPI CPPC) or as the driver tells it: its time at each clock between two
//! looks (`stats/time_in_state`), or the clock now (`scaling_cur_freq`).

use machine::Root;
use record::live::Clock;
use record::{CpuList, Summary};

/// CPUs that are asked: each may cost a call to the firmware, or an interrupt of the other CPU.
const MOST_CPUS: usize = 16;
/// What no core runs at, Hz: what says so is broken.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e8..=1.2e10;

/// One CPU's counters of CPPC: cycles at the reference clock, cycles delivered.
type Feedback = (u64, u64);

/// One look.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clocks {
    /// By CPU.
    feedback: Vec<(u32, Feedback)>,
    /// Ticks at each clock in kHz, by CPU.
    times: Vec<(u32, Vec<(u64, u64)>)>,
    /// As the driver tells them, Hz.
    cpufreq: Vec<f64>,
}

fn folder(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}")
}

/// `ref:123 del:456` (Documentation/admin-guide/acpi/cppc_sysfs.rst).
fn parse_feedback(text: &str) -> Option<Feedback> {
    let value =
        |name: &str| text.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.parse().ok());
    Some((value("ref:")?, value("del:")?))
}

/// `1200000 4711`: kHz and ticks, a line each (Documentation/cpu-freq/cpufreq-stats.rst).
fn parse_times(text: &str) -> Vec<(u64, u64)> {
    let line = |line: &str| {
        let (khz, ticks) = line.split_once(' ')?;
        Some((khz.parse().ok()?, ticks.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// The mean clock between two looks, Hz: `None` where no tick passed or a time went backwards, as after a reset of the statistics.
fn mean_clock(before: &[(u64, u64)], now: &[(u64, u64)]) -> Option<f64> {
    let (mut cycles, mut ticks) = (0.0, 0.0);
    for (khz, after) in now {
        let (_, was) = before.iter().find(|(other, _)| other == khz)?;
        let grown = after.checked_sub(*was)? as f64;
        cycles += grown * *khz as f64 * 1e3;
        ticks += grown;
    }
    Some(cycles / ticks).filter(|hz| PLAUSIBLE.contains(hz))
}

impl Clocks {
    /// Whether anything but the probe tells of the clock.
    pub(crate) fn is_shown(&self) -> bool {
        !(self.feedback.is_empty() && self.times.is_empty() && self.cpufreq.is_empty())
    }

    /// Looks at some of these CPUs, evenly chosen.
    pub(crate) fn look(root: &Root, cpus: &CpuList) -> Self {
        let step = cpus.len().div_ceil(MOST_CPUS).max(1);
        let mut all = Self::default();
        for cpu in cpus.iter().step_by(step) {
            let feedback = root.text(&format!("{}/acpi_cppc/feedback_ctrs", folder(cpu)));
            all.feedback.extend(feedback.as_deref().and_then(parse_feedback).map(|both| (cpu, both)));
            let times = root.text(&format!("{}/cpufreq/stats/time_in_state", folder(cpu)));
            all.times.extend(times.map(|text| (cpu, parse_times(&text))));
            let khz: Option<f64> = root.number(&format!("{}/cpufreq/scaling_cur_freq", folder(cpu)));
            all.cpufreq.extend(khz.map(|khz| khz * 1e3).filter(|hz| PLAUSIBLE.contains(hz)));
        }
        all
    }

    /// The clock from this look to `now`: what was delivered over the reference, times the reference clock where the kernel
    /// tells it; else as the driver says.
    pub(crate) fn until(&self, now: &Self, root: &Root) -> Option<Clock> {
        let delivered: Vec<f64> = now
            .feedback
            .iter()
            .filter_map(|(cpu, after)| {
                let (_, before) = self.feedback.iter().find(|(other, _)| other == cpu)?;
                // They wrap at 32 bits here and there, and are not monotonic on some: such a CPU is left out.
                let (reference, cycles) = (after.0.checked_sub(before.0)?, after.1.checked_sub(before.1)?);
                let file = |name: &str| root.number::<f64>(&format!("{}/acpi_cppc/{name}", folder(*cpu)));
                // Both in steps of one scale; nominal in MHz.
                let hz = file("nominal_freq")? * 1e6 * file("reference_perf")? / file("nominal_perf")?;
                let hz = hz * cycles as f64 / reference as f64;
                (reference > 0 && PLAUSIBLE.contains(&hz)).then_some(hz)
            })
            .collect();
        let median = |all: &[f64]| Summary::from_samples(all).median;
        if !delivered.is_empty() {
            return Some(Clock { hz: median(&delivered), source: "cppc".to_owned() });
        }
        let means: Vec<f64> = now
            .times
            .iter()
            .filter_map(|(cpu, after)| {
                let (_, before) = self.times.iter().find(|(other, _)| other == cpu)?;
                mean_clock(before, after)
            })
            .collect();
        if !means.is_empty() {
            return Some(Clock { hz: median(&means), source: "time_in_state".to_owned() });
        }
        (!now.cpufreq.is_empty()).then(|| Clock { hz: median(&now.cpufreq), source: "cpufreq".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    #[test]
    fn what_was_delivered_over_the_reference_is_the_clock() {
        let tree = |reference: u64, delivered: u64, khz: u64| {
            Tree::new()
                .file(
                    "sys/devices/system/cpu/cpu0/acpi_cppc/feedback_ctrs",
                    &format!("ref:{reference} del:{delivered}\n"),
                )
                .file("sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq", "2600\n")
                .file("sys/devices/system/cpu/cpu0/acpi_cppc/nominal_perf", "200\n")
                .file("sys/devices/system/cpu/cpu0/acpi_cppc/reference_perf", "100\n")
                .file("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", &format!("{khz}\n"))
        };
        let cpus: CpuList = "0".parse().unwrap();
        let (first, second) = (tree(1000, 5000, 2_000_000), tree(2000, 6500, 2_100_000));
        let before = Clocks::look(&first.root(), &cpus);
        let clock = before.until(&Clocks::look(&second.root(), &cpus), &second.root()).unwrap();
        assert_eq!((clock.hz, clock.source.as_str()), (1.95e9, "cppc"));
        // Counters that went backwards, and those that stood still.
        for again in [tree(10, 6500, 2_100_000), tree(1000, 5000, 2_100_000)] {
            let clock = before.until(&Clocks::look(&again.root(), &cpus), &again.root()).unwrap();
            assert_eq!((clock.hz, clock.source.as_str()), (2.1e9, "cpufreq"));
        }
        // The time at each clock tells of throttling between two looks, too.
        let slow = |ticks: u64| {
            let path = "sys/devices/system/cpu/cpu0/cpufreq/stats/time_in_state";
            tree(1000, 5000, 2_100_000).file(path, &format!("2100000 {ticks}\n800000 {}\n", 3 * ticks))
        };
        let (first, second) = (slow(100), slow(200));
        let (then, now) = (Clocks::look(&first.root(), &cpus), Clocks::look(&second.root(), &cpus));
        let clock = then.until(&now, &second.root()).unwrap();
        assert_eq!((clock.hz, clock.source.as_str()), (1.125e9, "time_in_state"));
        for still in [(&then, &then), (&now, &then)] {
            assert_eq!(still.0.until(still.1, &first.root()).unwrap().source, "cpufreq");
        }
        let none = Tree::new();
        assert!(then.is_shown() && !Clocks::look(&none.root(), &cpus).is_shown());
        assert_eq!(before.until(&Clocks::look(&none.root(), &cpus), &none.root()), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(ref:|del:| |[0-9]{1,25}){0,9}") {
            let _ = (parse_feedback(&text), mean_clock(&parse_times(&text), &parse_times(&text)));
        }
    }
}
