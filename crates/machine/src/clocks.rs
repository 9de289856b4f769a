//! Clock settings from cpufreq: drivers, governors, limits and current clocks, with one group for all CPUs that have
//! equal settings. Also reads the clocks that each CPU advertises, and whether boost is allowed.

use std::collections::{BTreeMap, BTreeSet};

use record::conditions::ClockSetting;
use record::machine::Processor;
use record::{CpuList, Machine};

use crate::Root;
use crate::cpus::set_each;
use crate::text::{self, fields};

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
const CPUS: &str = "/sys/devices/system/cpu";

/// Maximum number of policies whose current clock is read. Each reading may interrupt a CPU of the policy.
const MAX_CURRENT: usize = 64;

/// The cpufreq data of all CPUs, read once for the inventory and the conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Policies(Vec<Policy>);

/// One policy: CPUs that share a clock setting.
#[derive(Clone, Debug, Default, PartialEq)]
struct Policy {
    cpus: CpuList,
    setting: ClockSetting,
    least_hz: Option<u64>,
    most_hz: Option<u64>,
    base_hz: Option<u64>,
    current_hz: Option<u64>,
}

/// Reads all cpufreq policies.
pub(crate) fn policies(root: &Root) -> Policies {
    let folders: Vec<(u32, String)> =
        root.numbered(CPUFREQ, "policy").iter().map(|n| (n, format!("{CPUFREQ}/policy{n}"))).collect();
    let online = text::cpu_list(root.text("/sys/devices/system/cpu/online"));
    // If there is one policy per CPU, as with intel_pstate and amd-pstate, the files that list the CPUs of each policy
    // need not be read. There may be a thousand of them.
    let one_a_cpu = folders.len() > 1 && folders.len() >= online.len();
    let step = folders.len().div_ceil(MAX_CURRENT).max(1);
    let mut known = Present::default();
    let mut policies = Vec::with_capacity(folders.len());
    for (index, (first, folder)) in folders.iter().enumerate() {
        let cpus = if one_a_cpu {
            CpuList::from_iter([*first])
        } else {
            let spaced = |text: String| -> CpuList {
                text.split_ascii_whitespace().filter_map(|cpu| cpu.parse::<u32>().ok()).collect()
            };
            let related = || root.text(&format!("{folder}/affected_cpus")).map(spaced);
            related().filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| CpuList::from_iter([*first]))
        };
        let mut file = |name: &'static str| known.text(root, folder, index, name);
        let mut policy = Policy {
            least_hz: file("cpuinfo_min_freq").and_then(khz),
            most_hz: file("cpuinfo_max_freq").and_then(khz),
            base_hz: file("base_frequency").and_then(khz),
            ..Policy::default()
        };
        policy.setting = ClockSetting {
            driver: file("scaling_driver").as_deref().and_then(text::name),
            governor: file("scaling_governor").as_deref().and_then(text::name),
            epp: file("energy_performance_preference").as_deref().and_then(text::name),
            min_hz: file("scaling_min_freq").and_then(khz),
            max_hz: file("scaling_max_freq").and_then(khz),
            bios_hz: file("bios_limit").and_then(khz),
            set_hz: file("scaling_setspeed").and_then(khz),
            ..ClockSetting::default()
        };
        if index % step == 0 {
            policy.current_hz = file("scaling_cur_freq").and_then(khz);
        }
        let cpu = format!("{CPUS}/cpu{first}");
        let epb = known.text(root, &cpu, index, "power/energy_perf_bias");
        policy.setting.epb = epb.and_then(|epb| epb.parse().ok()).filter(|epb| *epb <= 15);
        let mut nominal = || known.text(root, &cpu, index, "acpi_cppc/nominal_freq").and_then(mhz);
        policy.base_hz = policy.base_hz.or_else(&mut nominal);
        // The fastest state of acpi-cpufreq is the base clock, except where the state above it, by 1 MHz, stands for turbo.
        if policy.base_hz.is_none() && policy.setting.driver.as_deref() == Some("acpi-cpufreq") {
            let states = known.text(root, folder, index, "scaling_available_frequencies").unwrap_or_default();
            let mut states: Vec<u64> = states.split(' ').filter_map(|state| khz(state.to_owned())).collect();
            states.sort_unstable_by(|a, b| b.cmp(a));
            let has_turbo = matches!(states[..], [turbo, base, ..] if turbo - base == 1_000_000);
            policy.base_hz = states.get(usize::from(has_turbo)).copied();
        }
        policy.cpus = cpus;
        policies.push(policy);
    }
    Policies(policies)
}

/// Records which files exist in the first policies. A file that is missing from all of these is not read in the other
/// policies.
#[derive(Default)]
struct Present(BTreeSet<&'static str>);

impl Present {
    /// Number of policies checked before a file is considered absent everywhere. Hybrid machines list their kinds of
    /// core one after another, but all kinds use the same driver.
    const TRIED: usize = 4;

    fn text(&mut self, root: &Root, folder: &str, index: usize, name: &'static str) -> Option<String> {
        (index < Self::TRIED || self.0.contains(name)).then_some(())?;
        let text = root.text(&format!("{folder}/{name}"))?;
        self.0.insert(name);
        Some(text)
    }
}

/// Fills in the clocks of [`Machine::cpus`] and [`Machine::processor`]. The CPUs must already be listed.
pub(crate) fn fill(root: &Root, policies: &Policies, machine: &mut Machine) {
    for policy in &policies.0 {
        set_each(&mut machine.cpus, &policy.cpus, |cpu| {
            (cpu.min_hz, cpu.max_hz, cpu.base_hz) = (policy.least_hz, policy.most_hz, policy.base_hz);
        });
    }
    let all = |hz: fn(&Policy) -> Option<u64>| policies.0.iter().filter_map(hz);
    machine.processor.min_hz = all(|p| p.least_hz).min();
    machine.processor.max_hz = all(|p| p.most_hz).max().or(machine.processor.max_hz);
    // Like everything in `processor`, the base clock is that of the boot CPU's kind of core. If it is unknown, the clock
    // reported by CPUID or the firmware is used.
    let cppc = || root.text("/sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq").and_then(mhz);
    let stated = || stated_hz(&machine.processor).filter(|_| machine.architecture == "x86_64");
    let base = all(|p| p.base_hz).next().or_else(cppc).or_else(stated);
    machine.processor.base_hz = base.or(machine.processor.base_hz);
}

/// The nominal clock stated in the processor's name.
fn stated_hz(processor: &Processor) -> Option<u64> {
    [&processor.model_name, &processor.firmware_name].into_iter().flatten().find_map(|name| hz_in_name(name))
}

/// The nominal clock in a model name: `… CPU E5-2680 v3 @ 2.50GHz`, `Intel(R) Xeon(TM) CPU 2.60GHz`.
pub fn hz_in_name(name: &str) -> Option<u64> {
    let number = name.split_whitespace().rev().find_map(|word| word.strip_suffix("GHz"))?;
    let ghz: f64 = number.trim_start_matches('@').parse().ok()?;
    (0.1..=20.0).contains(&ghz).then(|| (ghz * 1e9).round() as u64)
}

/// The clock settings, with one group per set of CPUs that have equal settings. Without cpufreq, there is one group with
/// the clocks in `/proc/cpuinfo`, or none.
pub(crate) fn settings(root: &Root, policies: &Policies) -> Vec<ClockSetting> {
    type Key = (Option<String>, Option<String>, Option<String>, Option<u32>, [Option<u64>; 4]);
    let mut groups: BTreeMap<Key, ClockSetting> = BTreeMap::new();
    for Policy { cpus, setting, current_hz, .. } in &policies.0 {
        let s = setting.clone();
        let key = (s.driver, s.governor, s.epp, s.epb, [s.min_hz, s.max_hz, s.bios_hz, s.set_hz]);
        let group = groups.entry(key).or_insert_with(|| setting.clone());
        for cpu in cpus.iter() {
            group.cpus.insert(cpu);
        }
        if let Some(hz) = *current_hz {
            let (low, high) = group.current_hz.unwrap_or((hz, hz));
            group.current_hz = Some((low.min(hz), high.max(hz)));
        }
    }
    if groups.is_empty() {
        return without_cpufreq(root).into_iter().collect();
    }
    let mut settings: Vec<ClockSetting> = groups.into_values().collect();
    settings.sort_by_key(|setting| setting.cpus.first());
    settings
}

/// The clock in /proc/cpuinfo, if the CPUs count their cycles (APERF, MPERF) or their clocks differ. Otherwise, as in
/// most virtual machines, that line contains the rate of the TSC, regardless of the actual clock (`arch_freq_get_on_cpu` and `show_cpuinfo` in
/// arch/x86/kernel).
fn without_cpufreq(root: &Root) -> Option<ClockSetting> {
    let cpuinfo = root.text("/proc/cpuinfo")?;
    let flags = fields(&cpuinfo, "flags").next().unwrap_or_default();
    let clocks = fields(&cpuinfo, "cpu MHz").filter_map(|value| value.parse::<f64>().ok());
    let hz: Vec<u64> =
        clocks.filter(|mhz| (1.0..=100_000.0).contains(mhz)).map(|mhz| (mhz * 1e6).round() as u64).collect();
    let current_hz = (*hz.iter().min()?, *hz.iter().max()?);
    let differ = current_hz.0 < current_hz.1 / 10 * 9;
    (differ || flags.split_whitespace().any(|flag| flag == "aperfmperf")).then_some(())?;
    let cpus = fields(&cpuinfo, "processor").filter_map(|value| value.parse::<u32>().ok()).collect();
    Some(ClockSetting { cpus, current_hz: Some(current_hz), ..ClockSetting::default() })
}

/// Whether clocks above the nominal clock are allowed, and the file that shows this.
pub(crate) fn boost(root: &Root) -> Option<(bool, String)> {
    let off_when_one = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    // The files are tried in this order. Drivers for hardware P-states, acpi-cpufreq and cppc have the first, a single
    // policy has the second (Linux 6.11), and AMD's powernow has the third.
    let on_when_one =
        [format!("{CPUFREQ}/boost"), format!("{CPUFREQ}/policy0/boost"), format!("{CPUFREQ}/policy0/cpb")];
    let flag = |path: &str| root.number::<u8>(path).filter(|flag| *flag <= 1).map(|flag| flag == 1);
    if let Some(off) = flag(off_when_one) {
        return Some((!off, off_when_one.to_owned()));
    }
    on_when_one.into_iter().find_map(|path| flag(&path).map(|on| (on, path)))
}

/// Hz from a file in kHz. 0, or a value above 100 GHz, is not a clock.
fn khz(text: String) -> Option<u64> {
    text.parse::<u64>().ok().filter(|khz| (1..=100_000_000).contains(khz)).map(|khz| khz * 1000)
}

/// Hz from a file in MHz, as used by CPPC.
fn mhz(text: String) -> Option<u64> {
    text.parse::<u64>().ok().filter(|mhz| (1..=100_000).contains(mhz)).map(|mhz| mhz * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;
    use record::machine::Cpu;

    const POLICY: &str = "sys/devices/system/cpu/cpufreq/policy";

    fn machine(cpus: u32) -> Machine {
        let cpus = (0..cpus).map(|id| Cpu { id, online: true, ..Cpu::default() }).collect();
        Machine { cpus, ..Machine::default() }
    }

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    #[test]
    fn intel_pstate_active_groups_cores_by_their_settings() {
        let mut tree = Tree::new().files(
            "sys/devices/system/cpu/intel_pstate",
            &[("status", "active\n"), ("no_turbo", "1\n"), ("max_perf_pct", "100\n")],
        );
        for cpu in 0..4 {
            let (most, base) = if cpu < 2 { ("5000000", "1900000") } else { ("3900000", "1400000") };
            tree = tree
                .files(
                    &format!("{POLICY}{cpu}"),
                    &[
                        ("affected_cpus", &format!("{cpu}\n")),
                        ("scaling_driver", "intel_pstate\n"),
                        ("scaling_governor", "powersave\n"),
                        ("energy_performance_preference", "balance_performance\n"),
                        ("cpuinfo_min_freq", "400000\n"),
                        ("cpuinfo_max_freq", most),
                        ("base_frequency", base),
                        ("scaling_min_freq", "400000\n"),
                        ("scaling_max_freq", most),
                        ("scaling_cur_freq", &format!("{}\n", 1_000_000 + cpu * 1000)),
                    ],
                )
                .file(&format!("sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias"), "6\n");
        }
        let root = tree.root();
        let policies = policies(&root);
        let settings = settings(&root, &policies);
        assert_eq!(settings.len(), 2, "{settings:?}");
        assert_eq!((&settings[0].cpus, &settings[1].cpus), (&list("0-1"), &list("2-3")));
        assert_eq!(settings[0].driver.as_deref(), Some("intel_pstate"));
        assert_eq!(settings[0].epp.as_deref(), Some("balance_performance"));
        assert_eq!(settings[0].epb, Some(6));
        assert_eq!(settings[1].max_hz, Some(3_900_000_000));
        assert_eq!(settings[1].current_hz, Some((1_002_000_000, 1_003_000_000)));
        assert_eq!(boost(&root), Some((false, "/sys/devices/system/cpu/intel_pstate/no_turbo".into())));
        let mut machine = machine(4);
        fill(&root, &policies, &mut machine);
        assert_eq!(machine.cpus[3].base_hz, Some(1_400_000_000));
        assert_eq!(machine.processor.max_hz, Some(5_000_000_000));
        assert_eq!(machine.processor.min_hz, Some(400_000_000));
        assert_eq!(machine.processor.base_hz, Some(1_900_000_000));
    }

    #[test]
    fn intel_pstate_passive_shares_the_switch_of_active() {
        let tree = Tree::new()
            .files("sys/devices/system/cpu/intel_pstate", &[("status", "passive\n"), ("no_turbo", "0\n")])
            .files(
                &format!("{POLICY}0"),
                &[
                    ("affected_cpus", "0\n"),
                    ("scaling_driver", "intel_cpufreq"),
                    ("scaling_governor", "schedutil"),
                ],
            );
        let root = tree.root();
        let settings = settings(&root, &policies(&root));
        assert_eq!(settings[0].driver.as_deref(), Some("intel_cpufreq"));
        assert_eq!(settings[0].governor.as_deref(), Some("schedutil"));
        assert_eq!(settings[0].epp, None);
        assert!(boost(&root).is_some_and(|(on, _)| on));
    }

    #[test]
    fn acpi_cpufreq_tells_boost_in_its_own_file() {
        let tree = Tree::new().file("sys/devices/system/cpu/cpufreq/boost", "0\n").files(
            &format!("{POLICY}0"),
            &[
                ("affected_cpus", "0 1 2 3\n"),
                ("scaling_driver", "acpi-cpufreq"),
                ("scaling_governor", "ondemand"),
                ("cpuinfo_max_freq", "2250000"),
                ("cpuinfo_min_freq", "1500000"),
                ("scaling_available_frequencies", "2251000 2250000 2000000 1500000 \n"),
            ],
        );
        let root = tree.root();
        let policies = policies(&root);
        assert_eq!(settings(&root, &policies)[0].cpus, list("0-3"));
        assert_eq!(boost(&root), Some((false, "/sys/devices/system/cpu/cpufreq/boost".into())));
        let mut machine = machine(6);
        fill(&root, &policies, &mut machine);
        assert_eq!(machine.cpus[3].max_hz, Some(2_250_000_000));
        assert_eq!(machine.cpus[3].base_hz, Some(2_250_000_000));
        assert_eq!(machine.cpus[4].max_hz, None);
    }

    #[test]
    fn amd_pstate_has_its_base_in_cppc() {
        let tree = Tree::new()
            .file("sys/devices/system/cpu/amd_pstate/status", "active\n")
            .file("sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq", "2400\n")
            .files(
                &format!("{POLICY}0"),
                &[
                    ("affected_cpus", "0\n"),
                    ("boost", "1\n"),
                    ("scaling_driver", "amd-pstate-epp\n"),
                    ("scaling_governor", "powersave\n"),
                    ("energy_performance_preference", "performance\n"),
                    ("cpuinfo_max_freq", "3707812\n"),
                ],
            );
        let root = tree.root();
        let policies = policies(&root);
        assert_eq!(settings(&root, &policies)[0].epp.as_deref(), Some("performance"));
        assert_eq!(boost(&root), Some((true, "/sys/devices/system/cpu/cpufreq/policy0/boost".into())));
        let mut machine = machine(1);
        fill(&root, &policies, &mut machine);
        assert_eq!(machine.cpus[0].base_hz, Some(2_400_000_000));
        assert_eq!(machine.processor.base_hz, Some(2_400_000_000));
    }

    #[test]
    fn cppc_on_arm_has_a_clock_a_cluster() {
        let mut tree = Tree::new().file("sys/devices/system/cpu/online", "0-7\n");
        for first in [0, 4] {
            tree = tree.files(
                &format!("{POLICY}{first}"),
                &[
                    ("affected_cpus", &format!("{first} {} {} {}\n", first + 1, first + 2, first + 3)),
                    ("scaling_driver", "cppc_cpufreq\n"),
                    ("scaling_governor", "performance\n"),
                    ("scaling_min_freq", "200000\n"),
                    ("scaling_max_freq", "2600000\n"),
                    ("scaling_cur_freq", "2599000\n"),
                ],
            );
        }
        let root = tree.root();
        let settings = settings(&root, &policies(&root));
        assert_eq!(settings.len(), 1);
        assert_eq!(settings[0].cpus, list("0-7"));
        assert_eq!(settings[0].current_hz, Some((2_599_000_000, 2_599_000_000)));
        assert_eq!(boost(&root), None);
    }

    #[test]
    fn without_cpufreq_the_clock_of_cpuinfo_is_reported() {
        let cpuinfo = "processor\t: 0\ncpu MHz\t\t: 2599.998\nflags\t\t: fpu aperfmperf sse\n\n\
            processor\t: 1\ncpu MHz\t\t: 2600.5\nflags\t\t: fpu aperfmperf sse\n";
        let root = Tree::new().file("proc/cpuinfo", cpuinfo);
        let root = root.root();
        let settings = settings(&root, &policies(&root));
        assert_eq!(settings.len(), 1);
        assert_eq!(settings[0].cpus, list("0-1"));
        assert_eq!(settings[0].current_hz, Some((2_599_998_000, 2_600_500_000)));
        assert_eq!(settings[0].driver, None);
        let guest = Tree::new().file("proc/cpuinfo", cpuinfo.replace("aperfmperf", "hypervisor"));
        assert!(super::settings(&guest.root(), &Policies::default()).is_empty(), "that is the TSC's rate");
        let none = Tree::new();
        assert!(super::settings(&none.root(), &Policies::default()).is_empty());
    }

    #[test]
    fn the_base_clock_stands_in_old_model_names() {
        assert_eq!(hz_in_name("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"), Some(2_500_000_000));
        assert_eq!(hz_in_name("Intel(R) Xeon(TM) CPU 2.60GHz"), Some(2_600_000_000));
        assert_eq!(hz_in_name("Dual Core AMD Opteron(tm) Processor 865"), None);
        assert_eq!(hz_in_name("GHz 9999999GHz"), None);
        let firmware_name = Some("Intel(R) Xeon(R) E-2386G CPU @ 3.50GHz".to_owned());
        assert_eq!(stated_hz(&Processor { firmware_name, ..Processor::default() }), Some(3_500_000_000));
    }

    #[test]
    fn current_clocks_are_asked_of_at_most_64_cpus() {
        let mut tree = Tree::new();
        for cpu in 0..200 {
            let current = format!("{}\n", 1_000_000 + cpu);
            tree = tree.files(
                &format!("{POLICY}{cpu}"),
                &[("scaling_governor", "performance"), ("scaling_cur_freq", &current)],
            );
        }
        let root = tree.root();
        let policies = policies(&root);
        let asked = policies.0.iter().filter(|policy| policy.current_hz.is_some()).count();
        assert!((1..=64).contains(&asked), "{asked}");
        assert_eq!(settings(&root, &policies).len(), 1);
    }

    proptest! {
        // Each case writes a tree, so fewer than the usual 256 cases run.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_contents_panic(values in proptest::collection::vec("[0-9]{0,22}|[a-z ]{0,8}|-1|\\PC{0,6}", 8)) {
            let names = ["affected_cpus", "scaling_driver", "scaling_governor", "scaling_min_freq", "base_frequency",
                "cpuinfo_max_freq", "scaling_cur_freq", "boost"];
            let tree = names.iter().zip(&values).fold(Tree::new(), |tree, (name, value)| {
                tree.file(&format!("{POLICY}0/{name}"), value)
            });
            let root = tree.root();
            let policies = policies(&root);
            let mut machine = machine(2);
            fill(&root, &policies, &mut machine);
            let _ = boost(&root);
            for setting in settings(&root, &policies) {
                prop_assert!(setting.max_hz.is_none_or(|hz| hz <= 100_000_000_000));
            }
        }
    }
}
