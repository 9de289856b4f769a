//! Who holds the clocks of made-up machines: each holder is named with the line that lifts it, and healthy machines accuse nobody.

use std::path::Path;

use crate::support::{folder, ran};

const CPU: &str = "sys/devices/system/cpu";

/// Files below a root, each with its content.
#[derive(Clone, Default)]
struct Made(Vec<(String, Vec<u8>)>);

impl Made {
    /// Four CPUs of a vendor, with one cpufreq policy each, whose files are these.
    fn of(cpuinfo: &str, policy: &[(&str, &str)]) -> Self {
        let mut made =
            Self::default().and(&format!("{CPU}/online"), "0-3").and(&format!("{CPU}/present"), "0-3");
        let one = |cpu: u32| format!("processor\t: {cpu}\n{cpuinfo}\n\n");
        made = made.and("proc/cpuinfo", &(0..4).map(one).collect::<String>());
        for cpu in 0..4 {
            made = made.and(&format!("{CPU}/cpu{cpu}/topology/core_id"), &cpu.to_string());
            made = made.and(&format!("{CPU}/cpu{cpu}/topology/physical_package_id"), "0");
            made = made.and(&format!("{CPU}/cpu{cpu}/topology/package_cpus_list"), "0-3");
            for (name, content) in policy {
                made = made.and(&format!("{CPU}/cpufreq/policy{cpu}/{name}"), content);
            }
        }
        made
    }

    /// With this file, which replaces an earlier one.
    fn and(mut self, path: &str, content: &str) -> Self {
        self.0.push((path.to_owned(), format!("{content}\n").into_bytes()));
        self
    }

    /// With registers of the first CPU.
    fn and_registers(mut self, all: &[(usize, u64)]) -> Self {
        let mut bytes = vec![0; 0x800];
        for (address, value) in all {
            bytes[*address..address + 8].copy_from_slice(&value.to_le_bytes());
        }
        self.0.push(("dev/cpu/0/msr".to_owned(), bytes));
        self
    }

    fn power(self, interface: &str, watts: u32, rated: u32) -> Self {
        let folder = format!("sys/class/powercap/{interface}:0");
        let micro = |watts: u32| format!("{watts}000000");
        self.and(&format!("{folder}/name"), "package-0")
            .and(&format!("{folder}/enabled"), "1")
            .and(&format!("{folder}/constraint_0_name"), "long_term")
            .and(&format!("{folder}/constraint_0_power_limit_uw"), &micro(watts))
            .and(&format!("{folder}/constraint_0_max_power_uw"), &micro(rated))
            .and(&format!("{folder}/constraint_0_time_window_us"), "27983872")
    }

    /// The short-term power limit (PL2) of an interface.
    fn and_short(self, interface: &str, watts: u32) -> Self {
        let folder = format!("sys/class/powercap/{interface}:0");
        self.and(&format!("{folder}/constraint_1_name"), "short_term")
            .and(&format!("{folder}/constraint_1_power_limit_uw"), &format!("{watts}000000"))
    }

    fn cooled(self, kind: &str, step: u32) -> Self {
        let folder = "sys/class/thermal/cooling_device0";
        let step = step.to_string();
        self.and(&format!("{folder}/type"), kind)
            .and(&format!("{folder}/cur_state"), &step)
            .and(&format!("{folder}/max_state"), "12")
    }

    fn write(&self, root: &Path) {
        for (path, content) in &self.0 {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }

    /// Of the rules about clocks: each with its sentence, its remedies and how to undo them.
    fn findings(&self) -> Vec<Found> {
        let folder = folder();
        self.write(folder.path());
        let root = folder.path().to_str().unwrap();
        let record = ran(["inspect", "--root", root, "--json"]).succeeds().record();
        let lines =
            |all: &[record::Remedy]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let all = diagnose::diagnose(&record).findings;
        let of_clocks = all.iter().filter(|finding| {
            ["clock-held", "clock-limit", "boost-off", "all-core-clock"].contains(&finding.rule.as_str())
        });
        let lines_of = |all: &[record::diagnosis::Evidence]| {
            all.iter().map(|one| one.says.to_string()).collect::<Vec<_>>().join("; ")
        };
        of_clocks
            .map(|finding| Found {
                rule: finding.rule.clone(),
                says: format!("{}; {}", finding.what, lines_of(&finding.evidence)),
                lifts: lines(&finding.remedy),
                undo: lines(&finding.undo),
            })
            .collect()
    }

    /// One finding, of this rule, which says all of these words, with a remedy and its undo that begin so.
    #[track_caller]
    fn is_held(&self, rule: &str, says: &[&str], lifts: &str, undo: &str) {
        let all = self.findings();
        let [one] = all.as_slice() else { panic!("{all:#?}") };
        assert_eq!(one.rule, rule, "{one:#?}");
        assert!(says.iter().all(|word| one.says.contains(word)), "{one:#?}");
        assert!(one.lifts.starts_with(lifts) && one.undo.starts_with(undo), "{one:#?}");
    }

    /// Findings of these rules, in this order, with remedies that begin so.
    #[track_caller]
    fn are_held(&self, lifts: &[(&str, &str)]) {
        let all = self.findings();
        assert_eq!(all.len(), lifts.len(), "{all:#?}");
        for (one, (rule, lifts)) in all.iter().zip(lifts) {
            assert!(one.rule == *rule && one.lifts.starts_with(lifts), "{all:#?}");
        }
    }

    #[track_caller]
    fn is_healthy(&self) {
        let all = self.findings();
        assert!(all.is_empty(), "{all:#?}");
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "for the messages of failed assertions")]
struct Found {
    rule: String,
    says: String,
    lifts: String,
    undo: String,
}

const INTEL: &str =
    "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 142\nmodel name\t: Intel(R) Core(TM) i7-8650U";
const AMD: &str =
    "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 97\nmodel name\t: AMD Ryzen 9 7900X";
const ARM: &str = "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c";

fn intel() -> Made {
    let policy = [
        ("scaling_driver", "intel_pstate"),
        ("scaling_governor", "performance"),
        ("base_frequency", "1900000"),
        ("cpuinfo_min_freq", "400000"),
        ("cpuinfo_max_freq", "4200000"),
        ("scaling_min_freq", "400000"),
        ("scaling_max_freq", "4200000"),
    ];
    let pstate = format!("{CPU}/intel_pstate");
    Made::of(INTEL, &policy)
        .and(&format!("{pstate}/no_turbo"), "0")
        .and(&format!("{pstate}/max_perf_pct"), "100")
}

fn amd() -> Made {
    let policy = [
        ("scaling_driver", "amd-pstate-epp"),
        ("scaling_governor", "performance"),
        ("cpuinfo_min_freq", "545000"),
        ("cpuinfo_max_freq", "5732000"),
        ("scaling_min_freq", "545000"),
        ("scaling_max_freq", "5732000"),
    ];
    let nominal = |made: Made, cpu: u32| made.and(&format!("{CPU}/cpu{cpu}/acpi_cppc/nominal_freq"), "4700");
    (0..4).fold(Made::of(AMD, &policy), nominal).and(&format!("{CPU}/cpufreq/boost"), "1")
}

/// acpi-cpufreq of Linux 5.11 and later: its table ends at the base clock, which includes boost.
fn acpi() -> Made {
    let policy = [
        ("scaling_driver", "acpi-cpufreq"),
        ("scaling_governor", "performance"),
        ("cpuinfo_min_freq", "1500000"),
        ("cpuinfo_max_freq", "5732000"),
        ("scaling_min_freq", "1500000"),
        ("scaling_max_freq", "4700000"),
        ("bios_limit", "4700000"),
    ];
    let nominal = |made: Made, cpu: u32| made.and(&format!("{CPU}/cpu{cpu}/acpi_cppc/nominal_freq"), "4700");
    (0..4).fold(Made::of(AMD, &policy), nominal).and(&format!("{CPU}/cpufreq/boost"), "1")
}

fn arm() -> Made {
    let policy = [
        ("scaling_driver", "cppc_cpufreq"),
        ("scaling_governor", "performance"),
        ("cpuinfo_min_freq", "1000000"),
        ("cpuinfo_max_freq", "3000000"),
        ("scaling_min_freq", "1000000"),
        ("scaling_max_freq", "3000000"),
    ];
    Made::of(ARM, &policy)
}

/// All policies with this value in a file.
fn all(made: Made, file: &str, value: &str) -> Made {
    (0..4).fold(made, |made, cpu| made.and(&format!("{CPU}/cpufreq/policy{cpu}/{file}"), value))
}

#[test]
fn healthy_machines_accuse_nobody() {
    intel().is_healthy();
    intel().power("intel-rapl", 15, 15).power("intel-rapl-mmio", 15, 15).is_healthy();
    intel().power("intel-rapl", 28, 28).and_short("intel-rapl", 51).is_healthy();
    intel().power("intel-rapl", 4095, 125).and_short("intel-rapl", 253).is_healthy();
    // These drivers let the processor choose, whatever the governor is called.
    all(
        all(intel(), "scaling_governor", "powersave"),
        "energy_performance_preference",
        "balance_performance",
    )
    .is_healthy();
    all(amd(), "scaling_governor", "powersave").is_healthy();
    // Levels are open to the highest; power limits were reached at boot, as on every machine.
    intel()
        .and_registers(&[(0x770, 1), (0x771, 0x0101_132a), (0x774, 0x2a04), (0x64f, 0xc00 << 16)])
        .is_healthy();
    amd().is_healthy();
    acpi().is_healthy();
    arm().is_healthy();
    arm().cooled("cpufreq-cpu0", 0).cooled("Fan", 3).is_healthy();
}

#[test]
fn a_limit_of_cpufreq_is_named_with_its_file() {
    all(intel(), "scaling_max_freq", "400000").is_held(
        "clock-limit",
        &["frequency limit"],
        "echo 4200000 | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
        "echo 400000 | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
    );
    all(arm(), "scaling_max_freq", "2000000").is_held(
        "clock-limit",
        &["frequency limit"],
        "echo 3000000 |",
        "echo 2000000 |",
    );
    intel().and(&format!("{CPU}/cpufreq/policy2/scaling_max_freq"), "400000").is_held(
        "clock-limit",
        &["frequency limit"],
        "for cpu in 2; do echo 4200000 |",
        "for cpu in 2; do echo 400000 |",
    );
}

#[test]
fn the_firmwares_limit_and_cooling_are_not_called_settings() {
    let limited = |made: Made| all(all(made, "scaling_max_freq", "2200000"), "bios_limit", "2200000");
    limited(acpi()).is_held("clock-limit", &["firmware limit"], "raise the firmware's limit", "");
    limited(intel()).is_held("clock-limit", &["firmware limit"], "raise the firmware's limit", "");
    let cooled = all(arm(), "scaling_max_freq", "1500000").cooled("cpufreq-cpu0", 6);
    cooled.is_held("clock-limit", &["step 6 of 12"], "check fans", "");
    arm().cooled("cpufreq-cpu0", 6).is_held("clock-held", &["step 6 of 12"], "check fans", "");
}

#[test]
fn boost_is_switched_on_where_it_was_switched_off() {
    let echo = |value: &str, file: &str| format!("echo {value} | sudo tee /{CPU}/{file}");
    for (made, file, on, off) in [
        (intel().and(&format!("{CPU}/intel_pstate/no_turbo"), "1"), "intel_pstate/no_turbo", "0", "1"),
        (amd().and(&format!("{CPU}/cpufreq/boost"), "0"), "cpufreq/boost", "1", "0"),
        (all(arm(), "boost", "0"), "cpufreq/policy*/boost", "1", "0"),
    ] {
        made.is_held("boost-off", &["boost is off"], &echo(on, file), &echo(off, file));
    }
}

#[test]
fn the_drivers_own_maximum_is_named() {
    let file = "max_perf_pct";
    let made = intel().and(&format!("{CPU}/intel_pstate/{file}"), "40");
    let echo = |value: &str| format!("echo {value} | sudo tee /{CPU}/intel_pstate/{file}");
    made.is_held("clock-held", &["40.0 %", "max_perf_pct"], &echo("100"), &echo("40"));
    let capped = intel().and_registers(&[(0x770, 1), (0x771, 0x0101_132a), (0x774, 0x1304)]);
    capped.is_held("clock-held", &["level 19 of 42"], "raise the maximum HWP performance level", "");
    // With boost off the guaranteed level is the highest.
    let file = format!("{CPU}/intel_pstate/no_turbo");
    capped.and(&file, "1").is_held("boost-off", &["boost is off"], "echo 0 |", "echo 1 |");
}

#[test]
fn power_limits_and_prochot_are_named_with_their_interface() {
    let file = "sudo tee /sys/class/powercap/intel-rapl-mmio:0/constraint_0_power_limit_uw";
    intel().power("intel-rapl", 35, 15).power("intel-rapl-mmio", 10, 15).is_held(
        "clock-held",
        &["intel-rapl-mmio", "10.0 W"],
        &format!("echo 35000000 | {file}"),
        &format!("echo 10000000 | {file}"),
    );
    let signal = intel().and_registers(&[(0x19c, 0b1100)]);
    signal.is_held("clock-held", &["PROCHOT"], "find the source of the signal", "");
}

#[test]
fn a_guests_clock_is_its_hosts() {
    let made = all(intel(), "scaling_max_freq", "400000").and("sys/hypervisor/type", "xen");
    made.is_healthy();
}

#[test]
fn a_short_power_limit_below_the_sustained_one_is_shown_with_its_line() {
    let made = intel().power("intel-rapl", 28, 28).and_short("intel-rapl", 15);
    let file = "/sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw";
    made.is_held(
        "clock-held",
        &["short_term", "15.0 W", "28.0 W"],
        &format!("echo 28000000 | sudo tee {file}"),
        &format!("echo 15000000 | sudo tee {file}"),
    );
    // The screen shows the line although it is longer than the screen and no knob sets it.
    let folder = folder();
    made.write(folder.path());
    let record = folder.path().join("record.json");
    let [root, record] = [folder.path(), &record].map(|path| path.to_str().unwrap());
    ran(["inspect", "--root", root, "--output", record]).succeeds();
    let screen = ran(["show", record]).succeeds().stdout;
    assert!(screen.contains("$ echo 28000000 |") && screen.contains(file), "{screen}");
}

#[test]
fn two_causes_have_two_findings() {
    let no_turbo = format!("{CPU}/intel_pstate/no_turbo");
    let both = all(intel(), "scaling_max_freq", "1200000").and(&no_turbo, "1");
    both.are_held(&[("boost-off", "echo 0 |"), ("clock-limit", "echo 4200000 |")]);
    let both = all(amd(), "scaling_max_freq", "2000000").and(&format!("{CPU}/cpufreq/boost"), "0");
    both.are_held(&[("clock-limit", "echo 5732000 |"), ("boost-off", "echo 1 |")]);
    let both =
        all(intel(), "scaling_max_freq", "2000000").and(&format!("{CPU}/intel_pstate/max_perf_pct"), "50");
    both.are_held(&[("clock-limit", "echo 4200000 |"), ("clock-held", "echo 100 |")]);
    let both = all(all(intel(), "scaling_max_freq", "1200000"), "bios_limit", "3000000");
    both.are_held(&[("clock-limit", "echo 4200000 |"), ("clock-held", "raise the firmware's limit")]);
}

#[test]
fn governors_and_preferences_that_save_energy_are_named() {
    let lowest = |made: Made| all(made, "scaling_governor", "powersave");
    lowest(acpi()).is_held(
        "clock-limit",
        &["1.50 GHz instead of 5.73 GHz", "the governor is powersave"],
        "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        "echo powersave |",
    );
    lowest(arm()).is_held(
        "clock-limit",
        &["1.00 GHz instead of 3.00 GHz"],
        "echo performance |",
        "echo powersave |",
    );
    let file = "energy_performance_preference";
    let mixed = all(lowest(intel()), file, "performance");
    let mixed =
        (2..4).fold(mixed, |made, cpu| made.and(&format!("{CPU}/cpufreq/policy{cpu}/{file}"), "power"));
    mixed.is_held(
        "clock-held",
        &["the energy-performance preference is power"],
        "for cpu in $(seq 2 3); do echo performance |",
        "for cpu in $(seq 2 3); do echo power |",
    );
}
