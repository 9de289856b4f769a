//! A single busy core that runs below its advertised clock because of a limit, disabled boost, a governor, an energy preference, heat or
//! power.

use record::conditions::ClockSetting;
use record::machine::Cpu;

use super::clock_cause::{cause, is_fixed};
use super::clock_holders::Cause;
use super::prelude::*;
use crate::cores;

/// The clock of a core while other cores are idle, compared with its highest clock.
pub(super) const RULE: Rule = Rule { name: "clock-limit", find };

/// The place of a CPU's clock in the record: per CPU, or a common field for all CPUs.
pub(super) fn hz_reported(case: &Case, cpu: u32, name: &str, hz: impl Fn(&Cpu) -> Option<u64>) -> String {
    let own = case.record.machine.cpus.iter().position(|known| known.id == cpu && hz(known).is_some());
    own.map_or_else(|| format!("machine.processor.{name}"), |at| format!("machine.cpus[{at}].{name}"))
}

/// A CPU below its advertised clock.
pub(super) struct Below<'a> {
    pub measured: &'a Measurement,
    pub cpu: u32,
    /// The advertised clock, Hz.
    pub promised: f64,
    pub loss: Verdict,
}

/// The CPUs below their advertised clock, worst first. `promised` returns each CPU's advertised clock in Hz.
pub(super) fn below<'a>(
    case: &Case<'a>,
    active: &str,
    promised: impl Fn(u32, Option<&Cpu>) -> Option<f64>,
) -> Vec<Below<'a>> {
    let measure_shortfall = |measured: &'a Measurement| {
        let cpu = u32::try_from(measured.labels.count(Label::Cpu)?).ok()?;
        let promised = promised(cpu, case.record.machine.cpu(cpu)).filter(|hz| *hz > 0.0)?;
        let loss = costs(shortfall(&measured.summary, promised))?;
        Some(Below { measured, cpu, promised, loss })
    };
    let mut found: Vec<Below> = case.clocks("scalar", active).filter_map(measure_shortfall).collect();
    found.sort_by(|a, b| share_of(&b.loss).total_cmp(&share_of(&a.loss)));
    found
}

/// The highest clock that a CPU advertises, Hz.
fn advertised(case: &Case, cpu: Option<&Cpu>) -> Option<f64> {
    let machine = &case.record.machine;
    let own = cpu.and_then(|cpu| cpu.max_hz);
    own.or_else(|| of_every_core(machine, machine.processor.max_hz)).map(|hz| hz as f64)
}

/// Whether a finding of this rule reports this cause: both cite the same field of the record.
pub(super) fn names(case: &Case, cause: &Cause) -> bool {
    let field = |seen: &Evidence| seen.from.rsplit('.').next().map(str::to_owned);
    let cites = |seen: &Evidence| cause.evidence.iter().any(|own| field(own) == field(seen));
    RULE.findings(case).iter().flat_map(|finding| &finding.evidence).any(cites)
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    Some(find_slow(case).or_else(|| find_limited(case)).into_iter().collect())
}

fn find_slow(case: &Case) -> Option<Finding> {
    let found = below(case, "one", |_, cpu| advertised(case, cpu));
    let Below { measured: worst, cpu, promised, ref loss } = *found.first()?;
    let cause = cause(case, cpu, promised);
    let promised = Value::Figure(promised, "Hz");
    let what = text!(
        "a single busy core reaches {is} instead of {advertised}: {cause}",
        is = worst,
        advertised = promised.clone(),
        cause = cause.what
    );
    let finding = RULE
        .report_loss(loss.clone(), what)
        .locate_cpus(&cpus_of(found.iter().map(|found| found.measured)))
        .cite(text!("with all other CPUs idle, CPU {cpu} runs at {worst}"), worst)
        .cite(text!("the advertised maximum is {promised}"), hz_reported(case, cpu, "max_hz", |c| c.max_hz))
        .cite_all(cause.evidence)
        .mend(cause.remedy)
        .undo(cause.undo);
    Some(Finding { confidence: if cause.is_set { Confidence::High } else { Confidence::Medium }, ..finding })
}

/// CPUs whose limit is this far below that of the others count as limited, regardless of the machine's core types.
const FAR_BELOW: f64 = 1.0 / 3.0;

/// The highest clocks of equal cores differ by up to 10 % (Intel's Turbo Boost Max 3.0, AMD's preferred cores).
const FAVORED: f64 = 0.9;

/// Whether CPUs with different limits have cores of the same type. This is the case if the design has one core type or, unless the CPUs are
/// known to be of several types, if only one CPU has a lower limit than the others and there are more than three others, because hybrid
/// processors have two or more slow cores. If a text contains the highest clock but no list of CPUs, it is unknown whether the slow CPU's
/// own highest clock is lower.
fn are_equal_cores(case: &Case, highest: f64) -> bool {
    let machine = &case.record.machine;
    let has_one_kind = |known: &cores::KnownBy| known.vendor.is_some() && known.kind.is_none();
    let (mut fast, mut slow) = (0, 0);
    for setting in &case.record.conditions.before.clocks {
        let is_fast = setting.max_hz.is_none_or(|hz| hz as f64 == highest);
        *(if is_fast { &mut fast } else { &mut slow }) += setting.cpus.len();
    }
    let has_own = machine.cpus.is_empty() && machine.processor.max_hz.is_some();
    let may_be_equal = of_every_core(machine, Some(())).is_some() && !has_own;
    cores::of_machine(machine).is_some_and(|core| core.known_by.iter().all(has_one_kind))
        || may_be_equal && slow == 1 && fast > 3
}

/// The highest clock that a policy allows, Hz.
fn allowed_hz(setting: &ClockSetting) -> Option<u64> {
    setting.set_hz.or(setting.min_hz.filter(|_| is_fixed(setting))).or(setting.max_hz)
}

/// Clock limits below the advertised clock or below the limit of other CPUs, if no clock was measured.
///
/// The loss is modelled as 1 − limit ÷ advertised clock. If boost is off, drivers lower the limit to the base clock; disabled boost is a
/// separate finding.
pub(super) fn find_limited(case: &Case) -> Option<Finding> {
    let (machine, before) = (&case.record.machine, &case.record.conditions.before);
    let boosts = before.boost != Some(false);
    let measured = cpus_of(case.clocks("scalar", "one"));
    let highest = before.clocks.iter().filter_map(|setting| setting.max_hz).max();
    let highest = highest.filter(|_| !machine.is_virtual())? as f64;
    // Core types have separate limits, and the machine's highest clock is that of the fast cores.
    let are_alike = before.clocks.iter().all(|setting| setting.max_hz.is_none_or(|hz| hz as f64 == highest));
    let equal_cores = are_equal_cores(case, highest);
    let is_unmeasured = |setting: &&ClockSetting| setting.cpus.iter().all(|cpu| !measured.contains(cpu));
    // Cores of several types may have the same settings.
    let settings = before.clocks.iter().filter(is_unmeasured);
    let settings = settings.flat_map(|setting| setting.cpus.iter().map(move |cpu| (setting, cpu)));
    let limits = settings.filter_map(|(setting, cpu)| {
        let limit = allowed_hz(setting)? as f64;
        let known = machine.cpu(cpu);
        // Since Linux 5.11, acpi-cpufreq advertises the boost clock, but its highest limit is still the base clock, which includes
        // boost (acpi-cpufreq.c, acpi_cpufreq_cpu_init).
        let of_all = if boosts { machine.processor.base_hz } else { base_hz(case.record) };
        let is_acpi = setting.driver.as_deref() == Some("acpi-cpufreq");
        let base = known.and_then(|cpu| cpu.base_hz).or(of_all).or(setting.max_hz.filter(|_| is_acpi));
        let base = base.map(|hz| hz as f64);
        if (is_acpi || !boosts) && base.is_none_or(|base| limit >= base) {
            return None;
        }
        let is_reported = are_alike || known.is_some_and(|cpu| cpu.max_hz.is_some());
        let own = if boosts { advertised(case, known).filter(|_| is_reported) } else { base };
        let is_below = limit < highest * if equal_cores { FAVORED } else { FAR_BELOW };
        let could_be = own.unwrap_or(if is_below { highest } else { limit });
        Some((cpu, own.is_some(), [limit, could_be], modelled(1.0 - limit / could_be)?))
    });
    let limits: Vec<_> = limits.collect();
    let (cpu, is_own, [limit, could_be], loss) =
        limits.iter().min_by(|a, b| share_of(&b.3).total_cmp(&share_of(&a.3)))?.clone();
    // If boost is off, the remedy raises the limit to the clock that is possible with boost.
    let promised =
        advertised(case, machine.cpu(cpu)).filter(|_| is_own).map_or(could_be, |hz| hz.max(could_be));
    let cause = cause(case, cpu, promised);
    let cpus: CpuList = limits.iter().map(|limit| limit.0).collect();
    let are_all = before.clocks.iter().all(|setting| setting.cpus.iter().all(|cpu| cpus.contains(cpu)));
    let are_same = cpus.len() > 1 && are_all && limits.iter().all(|of| of.2[0] == limit);
    let whom = if are_same { text!("the clock") } else { text!("CPU {cpu}") };
    let [limit, could_be] = [limit, could_be].map(|hz| Value::Figure(hz, "Hz"));
    let what = text!(
        "clock-limit-set",
        "{whom} is limited to {limit} instead of {could_be}: {cause}",
        could_be = could_be.clone(),
        cause = cause.what
    );
    let says = match is_own {
        true if !boosts => text!("boost is off; the base clock is {could_be}"),
        true => text!("the advertised maximum is {could_be}"),
        false => text!("other CPUs can reach {could_be}"),
    };
    let from = match is_own {
        true if !boosts => hz_reported(case, cpu, "base_hz", |cpu| cpu.base_hz),
        true => hz_reported(case, cpu, "max_hz", |cpu| cpu.max_hz),
        false => "conditions.before.clocks[].max_hz".to_owned(),
    };
    let finding = RULE.report_model(loss, what).locate_cpus(&cpus).cite(says, from);
    Some(finding.cite_all(cause.evidence).mend(cause.remedy).undo(cause.undo))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured};
    use record::conditions::ClockSetting;
    use record::{KnobName, KnobValue, Labels, Record, Remedy};

    fn record_with(hz: f64) -> Record {
        let mut record = machine(1);
        record.machine.processor.max_hz = Some(4_000_000_000);
        record.conditions.before.boost = Some(true);
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Active, "one")
            .with_label(Label::Vector, "scalar");
        record.measurements.push(measured("core.clock", place, hz));
        record
    }

    fn set<'a>(record: &'a mut Record, governor: &str, max_hz: u64) -> &'a mut ClockSetting {
        record.conditions.before.clocks = vec![ClockSetting {
            cpus: std::iter::once(0).collect(),
            governor: Some(governor.to_owned()),
            max_hz: Some(max_hz),
            ..ClockSetting::default()
        }];
        &mut record.conditions.before.clocks[0]
    }

    /// The code of the cause in a finding.
    fn cause_of(finding: &Finding) -> Option<&str> {
        match finding.what.value("cause") {
            Some(Value::Sentence(cause)) => cause.code(),
            _ => None,
        }
    }

    #[test]
    fn each_cause_is_named_with_its_remedy() {
        let mut record = record_with(2.5e9);
        set(&mut record, "performance", 2_500_000_000);
        let limit = &found(&record, RULE)[0];
        assert_eq!(cause_of(limit), Some("clock-cause-limit"));
        assert!(
            limit.remedy[0].to_string().starts_with("echo 4000000 |")
                && limit.undo[0].to_string().starts_with("echo 2500000 |")
        );

        set(&mut record, "schedutil", 4_000_000_000);
        let by_governor = &found(&record, RULE)[0];
        assert_eq!(cause_of(by_governor), Some("clock-cause-governor"));
        assert!(by_governor.undo[0].to_string().starts_with("echo schedutil |"));

        // Other limits do not explain the lowest clock.
        let lowest = set(&mut record, "powersave", 2_500_000_000);
        (lowest.min_hz, lowest.driver) = (Some(800_000_000), Some("acpi-cpufreq".to_owned()));
        record.conditions.before.boost = Some(false);
        assert_eq!(cause_of(&found(&record, RULE)[0]), Some("clock-cause-governor"));
        record.conditions.before.boost = Some(true);

        set(&mut record, "powersave", 4_000_000_000).epp = Some("balance_power".to_owned());
        let by_preference = &found(&record, RULE)[0];
        assert_eq!(cause_of(by_preference), Some("clock-cause-energy-preference"));
        assert!(by_preference.undo[0].to_string().starts_with("echo balance_power |"));

        set(&mut record, "performance", 4_000_000_000).epb = Some(15);
        let by_bias = &found(&record, RULE)[0];
        assert_eq!(cause_of(by_bias), Some("clock-cause-energy-bias"));
        assert!(
            by_bias.remedy[0].to_string().contains("do echo 0 |")
                && by_bias.undo[0].to_string().contains("do echo 15 |")
        );

        record.conditions.before.boost = Some(false);
        record.conditions.before.boost_source =
            Some("/sys/devices/system/cpu/intel_pstate/no_turbo".to_owned());
        let no_boost = &found(&record, RULE)[0];
        let command = Remedy::command("echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo");
        assert_eq!(no_boost.remedy[0], command.sets(KnobValue::new(KnobName::Boost, "on")));
        assert_eq!(no_boost.remedy[1..], remedies("clock boost"));
        record.conditions.before.boost_source = Some("/sys/x; reboot".to_owned());
        assert!(!found(&record, RULE)[0].remedy[0].to_string().contains("reboot"));
    }

    #[test]
    fn settings_of_other_cpus_are_left_alone() {
        let mut record = record_with(2.5e9);
        set(&mut record, "powersave", 4_000_000_000);
        let mut others = record.conditions.before.clocks[0].clone();
        others.cpus = (1..8).collect();
        others.governor = Some("performance".to_owned());
        record.conditions.before.clocks.push(others);
        let finding = &found(&record, RULE)[0];
        assert!(
            finding.remedy[0].to_string().starts_with("for cpu in 0; do echo performance |"),
            "{finding:?}"
        );
        assert!(finding.undo[0].to_string().starts_with("for cpu in 0; do echo powersave |"), "{finding:?}");
    }

    #[test]
    fn a_limit_is_found_where_no_clock_was_measured() {
        let mut record = record_with(4.0e9);
        record.measurements.clear();
        set(&mut record, "powersave", 400_000_000);
        let limit = &found(&record, RULE)[0];
        assert_eq!((limit.what.code(), limit.severity), (Some("clock-limit-set"), Severity::Serious));
        assert!((share_of(&limit.loss) - 0.9).abs() < 1e-9 && !limit.measured, "{limit:?}");
        assert!(limit.remedy[0].to_string().starts_with("echo 4000000 |"), "{limit:?}");
        // A limit of all CPUs is not one of the first CPU.
        let whom = |record: &Record| found(record, RULE)[0].what.value("whom").cloned();
        assert_eq!(whom(&record), Some(text!("CPU {cpu}", cpu = 0u32).into()));
        record.conditions.before.clocks[0].cpus = (0..8).collect();
        assert_eq!(whom(&record), Some(text!("the clock").into()));
        set(&mut record, "powersave", 4_000_000_000);
        assert_eq!(found(&record, RULE), []);
        set(&mut record, "userspace", 4_000_000_000).set_hz = Some(1_000_000_000);
        let limit = &found(&record, RULE)[0];
        assert_eq!(cause_of(limit), Some("clock-cause-governor"));
        assert!((share_of(&limit.loss) - 0.75).abs() < 1e-9, "{limit:?}");
        // The highest P-state of acpi-cpufreq includes boost.
        record.machine.processor.base_hz = Some(2_000_000_000);
        for (hz, findings) in [(2_000_000_000, 0), (1_500_000_000, 1)] {
            set(&mut record, "schedutil", hz).driver = Some("acpi-cpufreq".to_owned());
            assert_eq!(found(&record, RULE).len(), findings, "{hz}");
        }
        // With two core types, the machine's highest clock is that of the fast cores.
        record.machine.cpus.push(record::machine::Cpu {
            id: 1,
            online: true,
            capacity: Some(446),
            ..Default::default()
        });
        set(&mut record, "powersave", 2_000_000_000);
        assert_eq!(found(&record, RULE), []);
        // Policies that differ are not limits either, if nothing indicates the core types.
        record.machine.cpus.pop();
        let slow = ClockSetting {
            cpus: [1].into_iter().collect(),
            max_hz: Some(1_800_000_000),
            ..Default::default()
        };
        set(&mut record, "powersave", 4_000_000_000);
        record.conditions.before.clocks.push(slow);
        assert_eq!(found(&record, RULE), []);
        // A single slow CPU among several is not a separate core type, unless they are known to be of several types.
        record.conditions.before.clocks[0].cpus = [0, 2, 3].into_iter().collect();
        assert_eq!(found(&record, RULE), []);
        record.conditions.before.clocks[0].cpus = [0, 2, 3, 4].into_iter().collect();
        assert_eq!(found(&record, RULE)[0].place, Some("CPU 1".into()));
        let slow_core = Cpu { id: 1, online: true, kind: Some("efficiency".to_owned()), ..Cpu::default() };
        record.machine.cpus.push(slow_core);
        assert_eq!(found(&record, RULE), []);
        record.machine.cpus.pop();
        record.conditions.before.clocks[0].cpus = [0].into_iter().collect();
        // No core type is this far below the others.
        record.conditions.before.clocks[1].max_hz = Some(400_000_000);
        assert_eq!(found(&record, RULE)[0].place, Some("CPU 1".into()));
    }

    /// 16 fast CPUs and a few slow ones, or one.
    #[test]
    fn a_hybrid_with_few_slow_cores_has_no_limit() {
        let setting = |cpus: std::ops::Range<u32>, max_hz| ClockSetting {
            cpus: cpus.collect(),
            max_hz: Some(max_hz),
            ..ClockSetting::default()
        };
        let mut record = machine(0);
        record.conditions.before.clocks = vec![setting(0..16, 4_900_000_000), setting(16..20, 3_600_000_000)];
        assert_eq!(found(&record, RULE), []);
        record.conditions.before.clocks[1] = setting(16..17, 3_600_000_000);
        assert_eq!(found(&record, RULE)[0].place, Some("CPU 16".into()));
        // An incomplete text with the highest clocks of CPUs; a list of CPUs with their highest clocks.
        record.machine.processor.max_hz = Some(4_900_000_000);
        assert_eq!(found(&record, RULE), []);
        record.machine.cpus = machine(17).machine.cpus;
        assert_eq!(found(&record, RULE)[0].place, Some("CPU 16".into()));
        record.machine.cpus[16].max_hz = Some(3_600_000_000);
        assert_eq!(found(&record, RULE), []);
        record.conditions.before.clocks[1].max_hz = Some(1_800_000_000);
        assert!((share_of(&found(&record, RULE)[0].loss) - 0.5).abs() < 1e-9);
    }

    /// The same limit for slow and fast cores, or one that only the fastest cores reach.
    #[test]
    fn a_limit_of_all_cores_is_compared_with_the_highest_clock_of_each() {
        let mut record = machine(8);
        for cpu in &mut record.machine.cpus {
            cpu.max_hz = Some(if cpu.id < 4 { 1_800_000_000 } else { 2_300_000_000 });
        }
        set(&mut record, "schedutil", 1_000_000_000).cpus = (0..8).collect();
        for (limit, whom, place, share) in [
            (1_000_000_000, "the clock", "CPUs 0-7", 1.3 / 2.3),
            (2_000_000_000, "CPU 4", "CPUs 4-7", 0.3 / 2.3),
        ] {
            record.conditions.before.clocks[0].max_hz = Some(limit);
            let finding = &found(&record, RULE)[0];
            assert_eq!(finding.what.value("whom").map(Value::to_string).as_deref(), Some(whom));
            assert_eq!(finding.place.as_ref().map(Text::to_string).as_deref(), Some(place));
            assert!((share_of(&finding.loss) - share).abs() < 1e-9, "{finding:?}");
            // The kernel lowers the value to each policy's own maximum.
            assert!(finding.remedy[0].to_string().starts_with("echo 2300000 |"), "{finding:?}");
        }
    }

    /// A design of one core type, with cores that are faster than the others.
    #[test]
    fn favored_cores_are_no_limit_of_the_others() {
        let setting = |cpus: [u32; 2], max_hz| ClockSetting {
            cpus: cpus.into_iter().collect(),
            max_hz: Some(max_hz),
            ..ClockSetting::default()
        };
        let mut record = machine(4);
        record.machine.processor.model_name = Some("AMD EPYC 9554P 64-Core Processor".to_owned());
        for (slow, findings) in [(3_500_000_000, 0), (2_000_000_000, 1)] {
            record.conditions.before.clocks = vec![setting([0, 1], 3_750_000_000), setting([2, 3], slow)];
            assert_eq!(found(&record, RULE).len(), findings, "{slow}");
        }
    }

    #[test]
    fn with_boost_off_a_limit_below_the_base_clock_is_found() {
        let mut record = record_with(4.0e9);
        record.measurements.clear();
        record.machine.processor.base_hz = Some(2_000_000_000);
        record.conditions.before.boost = Some(false);
        set(&mut record, "powersave", 2_000_000_000);
        assert_eq!(found(&record, RULE), [], "drivers lower the limit to the base clock");
        set(&mut record, "powersave", 1_600_000_000);
        assert!((share_of(&found(&record, RULE)[0].loss) - 0.2).abs() < 1e-9);
        // Without a base clock, a limit may be the driver's, unless it equals the minimum clock.
        record.machine.processor.base_hz = None;
        assert_eq!(found(&record, RULE), []);
        let note = &found(&record, super::super::boost_off::RULE)[0];
        assert_eq!(note.severity, Severity::Note);
        record.conditions.before.clocks[0].min_hz = Some(1_600_000_000);
        let off = &found(&record, super::super::boost_off::RULE)[0];
        assert!((share_of(&off.loss) - 0.6).abs() < 1e-9, "{off:?}");
    }

    /// A record of a machine whose limit and boost were both changed needs both remedies.
    #[test]
    fn boost_and_other_causes_beside_a_limit_are_findings_of_their_own() {
        use super::super::{boost_off, clock_held};
        for measured in [false, true] {
            let mut record = record_with(1.2e9);
            if !measured {
                record.measurements.clear();
            }
            record.machine.processor.base_hz = Some(2_000_000_000);
            set(&mut record, "performance", 1_200_000_000);
            record.conditions.before.boost = Some(false);
            record.conditions.before.clock_holders.max_percent = Some(50);
            let limit = &found(&record, RULE)[0];
            assert!(limit.remedy[0].to_string().starts_with("echo 4000000 |"), "{limit:?}");
            assert_eq!(found(&record, boost_off::RULE).len(), 1, "{measured}");
            assert_eq!(found(&record, clock_held::RULE)[0].what.code(), Some("clock-held-by"), "{measured}");
            // A cause that the clock's finding names is not repeated.
            set(&mut record, "performance", 4_000_000_000);
            assert_eq!(found(&record, clock_held::RULE).len(), usize::from(!measured));
            record.conditions.before.clock_holders.max_percent = None;
            assert_eq!(found(&record, boost_off::RULE).len(), usize::from(!measured));
        }
    }

    #[test]
    fn a_governor_that_selects_the_lowest_clock_is_a_limit() {
        let mut record = record_with(4.0e9);
        record.measurements.clear();
        for (driver, share) in [
            ("acpi-cpufreq", 0.8),
            ("cppc_cpufreq", 0.8),
            ("intel_cpufreq", 0.8),
            ("amd-pstate", 0.8),
            ("intel_pstate", 0.0),
            ("amd-pstate-epp", 0.0),
        ] {
            record.machine.processor.base_hz = Some(3_000_000_000);
            let setting = set(&mut record, "powersave", 4_000_000_000);
            setting.min_hz = Some(800_000_000);
            setting.driver = Some(driver.to_owned());
            let all = found(&record, RULE);
            assert!((all.first().map_or(0.0, |one| share_of(&one.loss)) - share).abs() < 1e-9, "{driver}");
            let lifts = |one: &Finding| one.remedy[0].to_string().contains("performance | sudo tee");
            assert!(
                all.iter().all(|one| lifts(one) && cause_of(one) == Some("clock-cause-governor")),
                "{all:?}"
            );
        }
    }

    #[test]
    fn near_enough_is_no_loss_whatever_is_set() {
        let mut record = record_with(3.97e9);
        set(&mut record, "powersave", 4_000_000_000).epp = Some("power".to_owned());
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn without_a_clock_to_hold_it_against_it_says_so() {
        let mut record = record_with(2.0e9);
        record.machine.processor.max_hz = None;
        assert_eq!(missing(&record, RULE), Some("the advertised maximum clock of the cores"));
        assert_eq!(missing(&machine(1), RULE), Some("core clock"));
    }
}
