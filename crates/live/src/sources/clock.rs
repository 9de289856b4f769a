//! The clock of the cores, either counted by the processor between two readings (ACPI CPPC) or currently reported by
//! the driver (`scaling_cur_freq`).

use machine::Root;
use record::live::Clock;
use record::{CpuList, Summary};

/// Maximum number of CPUs read, because each read may require a call to the firmware or an interrupt on the other CPU.
const MOST_CPUS: usize = 16;
/// The range of plausible core clocks, Hz. A source that reports a clock outside this range is broken.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e8..=1.2e10;

/// The CPPC counters of one CPU: cycles of the reference clock, and delivered cycles.
type Feedback = (u64, u64);

/// One reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clocks {
    /// The counters of CPPC, by CPU.
    feedback: Vec<(u32, Feedback)>,
    /// Clocks reported by the driver, Hz.
    cpufreq: Vec<f64>,
}

fn folder(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}")
}

/// `ref:123 del:456` (Documentation/admin-guide/acpi/cppc_sysfs.rst).
fn parse_feedback(text: &str) -> Option<Feedback> {
    let value = |name: &str| text.split_ascii_whitespace().find_map(|w| w.strip_prefix(name)?.parse().ok());
    Some((value("ref:")?, value("del:")?))
}

impl Clocks {
    /// Whether the clock is available from a source other than the probe.
    pub(crate) fn is_shown(&self) -> bool {
        !(self.feedback.is_empty() && self.cpufreq.is_empty())
    }

    /// Reads an evenly spaced subset of these CPUs.
    pub(crate) fn look(root: &Root, cpus: &CpuList) -> Self {
        let step = cpus.len().div_ceil(MOST_CPUS).max(1);
        let mut all = Self::default();
        for cpu in cpus.iter().step_by(step) {
            let feedback = root.text(&format!("{}/acpi_cppc/feedback_ctrs", folder(cpu)));
            all.feedback.extend(feedback.as_deref().and_then(parse_feedback).map(|both| (cpu, both)));
            let khz: Option<f64> = root.number(&format!("{}/cpufreq/scaling_cur_freq", folder(cpu)));
            all.cpufreq.extend(khz.map(|khz| khz * 1e3).filter(|hz| PLAUSIBLE.contains(hz)));
        }
        all
    }

    /// The clock from this reading to `now`. If the kernel reports the reference clock, this is the ratio of delivered
    /// to reference counts, multiplied by the reference clock. Otherwise, it is the clock reported by the driver.
    pub(crate) fn until(&self, now: &Self, root: &Root) -> Option<Clock> {
        let delivered: Vec<f64> = now
            .feedback
            .iter()
            .filter_map(|(cpu, after)| {
                let (_, before) = self.feedback.iter().find(|(other, _)| other == cpu)?;
                // On some CPUs, the counters wrap at 32 bits or are not monotonic; such CPUs are omitted.
                let (reference, cycles) = (after.0.checked_sub(before.0)?, after.1.checked_sub(before.1)?);
                let file = |name: &str| root.number::<f64>(&format!("{}/acpi_cppc/{name}", folder(*cpu)));
                // Both performance values use the same scale; the nominal frequency is in MHz.
                let hz = file("nominal_freq")? * 1e6 * file("reference_perf")? / file("nominal_perf")?;
                let hz = hz * cycles as f64 / reference as f64;
                (reference > 0 && PLAUSIBLE.contains(&hz)).then_some(hz)
            })
            .collect();
        let median = |all: &[f64]| Summary::from_samples(all).median;
        if !delivered.is_empty() {
            return Some(Clock { hz: median(&delivered), source: "cppc".to_owned() });
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
        // Counters that went backwards, and counters that did not advance.
        for again in [tree(10, 6500, 2_100_000), tree(1000, 5000, 2_100_000)] {
            let clock = before.until(&Clocks::look(&again.root(), &cpus), &again.root()).unwrap();
            assert_eq!((clock.hz, clock.source.as_str()), (2.1e9, "cpufreq"));
        }
        let none = Tree::new();
        assert!(before.is_shown() && !Clocks::look(&none.root(), &cpus).is_shown());
        assert_eq!(before.until(&Clocks::look(&none.root(), &cpus), &none.root()), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(ref:|del:| |[0-9]{1,25}){0,9}") {
            let _ = parse_feedback(&text);
        }
    }
}
