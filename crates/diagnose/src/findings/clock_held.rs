//! Clock limits other than cpufreq settings: power limits, firmware limits, signals from the board, heat.

use record::clock_holders::{ClockHolders, PowerLimit, UncoreClock};

use super::clock_cause::preference;
use super::clock_holders::{
    Cause, HOLDERS, Held, by_cooling, by_driver, by_processor, by_range, firmware_limit, power_limit,
};
use super::clock_limit;
use super::prelude::*;

/// Power limits below the package's rating or below the limit in another interface, firmware limits, limits reported by the processor,
/// and limits set by the kernel's thermal management or the firmware's power profile. A limit that `clock-limit` reports with its cost is
/// not repeated.
pub(super) const RULE: Rule = Rule { name: "clock-held", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let holders = &case.record.conditions.before.clock_holders;
    let holders = Some(holders).filter(|_| !case.record.machine.is_virtual())?;
    let mut findings = Vec::new();

    let report = |severity, what: Text, cause: Cause| {
        RULE.report_fact(severity, what).cite_all(cause.evidence).mend(cause.remedy).undo(cause.undo)
    };
    let power = power_limit(holders).filter(Held::is_lowered).map(|held| (held.cause(case), held));
    if let Some((cause, held)) = power.filter(|(cause, _)| !clock_limit::names(case, cause)) {
        let PowerLimit { zone, interface, window, .. } = held.limit;
        let [limit, allowed] = [held.limit.watts, held.allowed].map(|watts| Value::Figure(watts, "W"));
        let what = text!(
            "power-limited",
            "the sustained power of {zone} is limited to {limit}; up to {allowed} is possible ({interface}, {window})"
        );
        findings.push(report(if cause.is_set { Severity::Warning } else { Severity::Note }, what, cause));
    }
    let most = case.record.machine.processor.max_hz.map(|hz| hz as f64);
    if let Some((most, (hz, cause))) = most.zip(firmware_limit(case, |_| true))
        && let Some(loss) = modelled(1.0 - hz / most).filter(|_| !clock_limit::names(case, &cause))
    {
        let [limit, most] = [hz, most].map(|hz| Value::Figure(hz, "Hz"));
        let what = text!("firmware-limited", "the firmware limits the clock to {limit} (maximum {most})");
        findings.push(RULE.report_model(loss, what).cite_all(cause.evidence).mend(cause.remedy));
    }
    let held = by_processor(case).or_else(|| by_cooling(holders));
    let is_boosting = case.record.conditions.before.boost != Some(false);
    let set = by_driver(holders).or_else(|| by_range(holders).filter(|_| is_boosting));
    for cause in held.into_iter().chain(set).filter(|cause| !clock_limit::names(case, cause)) {
        let what =
            text!("clock-held-by", "the processor's clock is limited: {cause}", cause = cause.what.clone());
        findings.push(report(Severity::Warning, what, cause));
    }
    let preference = preference(case).filter(|_| case.clocks("scalar", "one").next().is_none());
    findings.extend(preference.map(|cause| report(Severity::Note, cause.what.clone(), cause)));
    findings.extend(uncore_limit(holders));
    findings.extend(profile(holders));
    Some(findings)
}

/// The clock of the mesh, the last-level cache and the memory controllers, if it is limited below the maximum set by the firmware at boot.
fn uncore_limit(holders: &ClockHolders) -> Option<Finding> {
    let ratio = |clock: &UncoreClock| clock.max_hz as f64 / clock.initial_max_hz.max(1) as f64;
    let clocks = holders.uncore.iter().enumerate();
    let (at, clock) = clocks.min_by(|(_, a), (_, b)| ratio(a).total_cmp(&ratio(b)))?;
    (ratio(clock) < 1.0 - RESOLUTION).then_some(())?;
    let [limit, most] = [clock.max_hz, clock.initial_max_hz].map(|hz| Value::Figure(hz as f64, "Hz"));
    let domain = &clock.domain;
    let write = |hz: u64| {
        let path =
            format!("/sys/devices/system/cpu/intel_uncore_frequency/{}/max_freq_khz", pasteable(domain)?);
        Some(Remedy::command(write_command(&(hz / 1000).to_string(), &path)))
    };
    let what = text!(
        "uncore-limited",
        "the uncore clock (mesh and memory controllers) is limited to {limit} (hardware maximum {most})"
    );
    let finding = RULE.report_fact_as("clock-held uncore", Severity::Warning, what).locate(text!("{domain}"));
    let finding = finding.cite(text!("limit of {domain}"), format!("{HOLDERS}.uncore[{at}].max_hz"));
    Some(finding.mend(write(clock.initial_max_hz)).undo(write(clock.max_hz)))
}

/// A firmware profile that reduces power or fan noise.
fn profile(holders: &ClockHolders) -> Option<Finding> {
    let name =
        holders.platform_profile.as_deref().filter(|name| matches!(*name, "low-power" | "quiet" | "cool"))?;
    let file = "/sys/firmware/acpi/platform_profile";

    let what = text!("profile-saves", "the firmware's power profile is {name}");
    let finding = RULE.report_fact_as("clock-held profile", Severity::Note, what);
    let finding = finding.cite(text!("platform profile {name}"), format!("{HOLDERS}.platform_profile"));
    let perform = Remedy::command(write_command("performance", file));
    Some(finding.mend([perform]).undo([restore_command(name, file)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::found;
    use crate::samples::{figure_in, machine, measured};
    use record::clock_holders::{Cooling, HeldBy, HwpRange};
    use record::conditions::ClockSetting;
    use record::{Labels, Record};

    fn limit(interface: &str, watts: f64, rated: Option<f64>) -> PowerLimit {
        PowerLimit {
            interface: interface.to_owned(),
            zone: "package-0".to_owned(),
            window: "long_term".to_owned(),
            watts,
            rated_watts: rated,
            window_seconds: Some(28.0),
            limit_file: format!("/sys/class/powercap/{interface}:0/constraint_0_power_limit_uw"),
        }
    }

    fn record_with(limits: Vec<PowerLimit>) -> Record {
        let mut record = machine(1);
        record.machine.processor.max_hz = Some(4_000_000_000);
        record.conditions.before.clock_holders.power_limits = limits;
        record
    }

    fn draw(record: &mut Record, watts: f64) {
        let place = Labels::new().with_label(Label::Workload, "flops").with_label(Label::Scope, "packages");
        record.measurements.push(measured("power.package", place, watts));
    }

    #[test]
    fn the_lower_of_two_interfaces_is_the_one_that_holds() {
        let mut record = record_with(vec![
            limit("intel-rapl", 35.0, Some(28.0)),
            limit("intel-rapl-mmio", 15.0, Some(28.0)),
        ]);
        let finding = &found(&record, RULE)[0];
        assert_eq!((finding.what.code(), finding.severity), (Some("power-limited"), Severity::Note));
        assert_eq!([figure_in(&finding.what, "limit"), figure_in(&finding.what, "allowed")], [15.0, 35.0]);
        let raised = KnobValue::new(KnobName::PowerLimit, "35000000");
        assert_eq!(finding.remedy[0].sets, Some(raised));
        assert!(finding.undo[0].to_string().starts_with("echo 15000000 |"));
        draw(&mut record, 14.9);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Warning);
    }

    #[test]
    fn a_short_limit_below_the_sustained_power_holds_the_clock() {
        let short = |watts| PowerLimit {
            window: "short_term".to_owned(),
            limit_file: "/sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw".to_owned(),
            ..limit("intel-rapl", watts, None)
        };
        for (long, watts, rated, allowed) in [
            (28.0, 15.0, Some(28.0), Some(28.0)),
            (28.0, 15.0, None, Some(28.0)),
            // The rating counts if firmware reports no limit as thousands of watts.
            (4095.0, 90.0, Some(125.0), Some(125.0)),
            (4095.0, 253.0, Some(125.0), None),
            (28.0, 28.0, Some(28.0), None),
            (28.0, 51.0, Some(28.0), None),
        ] {
            let record = record_with(vec![limit("intel-rapl", long, rated), short(watts)]);
            let all = found(&record, RULE);
            let of = all.first().map(|one| [figure_in(&one.what, "limit"), figure_in(&one.what, "allowed")]);
            assert_eq!(of, allowed.map(|allowed| [watts, allowed]), "{long} {watts} {rated:?}: {all:?}");
            // The knob sets long windows.
            let file = "constraint_1_power_limit_uw";
            assert!(
                all.iter().all(|one| one.remedy[0].sets.is_none() && one.undo[0].to_string().ends_with(file))
            );
        }
        // The lowest limit of all is reported, once.
        let record = record_with(vec![limit("intel-rapl", 15.0, Some(28.0)), short(20.0)]);
        let all = found(&record, RULE);
        assert_eq!((all.len(), figure_in(&all[0].what, "limit")), (1, 15.0), "{all:?}");
    }

    #[test]
    fn a_server_at_its_rated_power_and_what_is_not_rated_are_silence() {
        let server = |rated| record_with(vec![limit("intel-rapl", 250.0, rated)]);
        for rated in [Some(250.0), Some(1.0), Some(0.0), None, Some(1e9)] {
            let mut record = server(rated);
            draw(&mut record, 249.0);
            assert_eq!(found(&record, RULE), [], "{rated:?}");
        }
        let mut guest = server(Some(500.0));
        guest.machine.virtualization.hypervisor = Some("kvm".to_owned());
        assert_eq!(found(&guest, RULE), []);
    }

    #[test]
    fn firmware_pin_cooling_mesh_and_profile_are_each_found() {
        let mut record = record_with(Vec::new());
        record.conditions.before.clocks = vec![ClockSetting {
            cpus: (0..4).collect(),
            bios_hz: Some(1_000_000_000),
            ..ClockSetting::default()
        }];
        let by_firmware = &found(&record, RULE)[0];
        assert_eq!(by_firmware.what.code(), Some("firmware-limited"));
        assert!((share_of(&by_firmware.loss) - 0.75).abs() < 1e-9);

        let holders = &mut record.conditions.before.clock_holders;
        holders.holding = vec![HeldBy::LongPower, HeldBy::Prochot];
        holders.uncore = vec![UncoreClock {
            domain: "package_00_die_00".to_owned(),
            max_hz: 1_400_000_000,
            initial_max_hz: 2_400_000_000,
        }];
        holders.platform_profile = Some("low-power".to_owned());
        record.conditions.before.clocks.clear();
        let findings = found(&record, RULE);
        let codes: Vec<_> = findings.iter().map(|finding| finding.what.code()).collect();
        assert_eq!(codes, [Some("clock-held-by"), Some("uncore-limited"), Some("profile-saves")]);

        let holders = &mut record.conditions.before.clock_holders;
        *holders = ClockHolders::default();
        holders.cooling = vec![Cooling { kind: "cpufreq-cpu0".to_owned(), step: 3, highest_step: 12 }];
        assert_eq!(found(&record, RULE)[0].what.code(), Some("clock-held-by"));
    }

    #[test]
    fn a_profile_of_performance_and_a_power_limit_once_reached_are_none() {
        let mut record = record_with(Vec::new());
        let holders = &mut record.conditions.before.clock_holders;
        holders.platform_profile = Some("balanced".to_owned());
        holders.holding = vec![HeldBy::LongPower, HeldBy::ShortPower];
        holders.held_before = vec![HeldBy::Prochot, HeldBy::LongPower];
        holders.uncore = vec![UncoreClock { domain: "d".to_owned(), max_hz: 24, initial_max_hz: 24 }];
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn a_low_clock_is_explained_by_what_holds_it() {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Active, "one")
            .with_label(Label::Vector, "scalar");
        let cause_of = |record: &Record| match found(record, clock_limit::RULE)[0].what.value("cause") {
            Some(Value::Sentence(cause)) => cause.code().map(str::to_owned),
            _ => None,
        };
        let mut record = record_with(vec![limit("intel-rapl-mmio", 15.0, Some(28.0))]);
        record.measurements.push(measured("core.clock", place, 1.9e9));
        assert_eq!(cause_of(&record).as_deref(), Some("clock-cause-power-limit"));
        draw(&mut record, 15.1);
        let finding = &found(&record, clock_limit::RULE)[0];
        assert_eq!(finding.confidence, Confidence::High);
        record.conditions.before.clock_holders.holding = vec![HeldBy::Prochot];
        assert_eq!(cause_of(&record).as_deref(), Some("clock-cause-processor"));
        record.conditions.before.clock_holders = ClockHolders::default();
        record.conditions.before.clock_holders.held_before = vec![HeldBy::RegulatorHeat];
        assert_eq!(cause_of(&record).as_deref(), Some("clock-cause-logged"));
        let holders = &mut record.conditions.before.clock_holders;
        holders.hwp = Some(HwpRange { highest: 40, guaranteed: 24, allowed: 19 });
        assert_eq!(cause_of(&record).as_deref(), Some("clock-cause-range"));
        record.conditions.before.clock_holders.max_percent = Some(47);
        assert_eq!(cause_of(&record).as_deref(), Some("clock-cause-driver"));
        let finding = &found(&record, clock_limit::RULE)[0];
        let file = "| sudo tee /sys/devices/system/cpu/intel_pstate/max_perf_pct";
        assert!(finding.remedy[0].to_string().starts_with(&format!("echo 100 {file}")), "{finding:?}");
        assert!(finding.undo[0].to_string().starts_with(&format!("echo 47 {file}")), "{finding:?}");
        // A range that extends to the highest level is not a limit.
        let holders = &mut record.conditions.before.clock_holders;
        holders.max_percent = Some(100);
        holders.hwp = Some(HwpRange { highest: 40, guaranteed: 24, allowed: 40 });
        holders.held_before.clear();
        assert_eq!(cause_of(&record), None);
    }

    #[test]
    fn a_limit_that_a_driver_only_passes_on_is_not_called_a_setting() {
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Active, "one")
            .with_label(Label::Vector, "scalar");
        let mut record = record_with(Vec::new());
        record.machine.processor.base_hz = Some(2_600_000_000);
        record.measurements.push(measured("core.clock", place, 1.9e9));
        let cause_with = |driver: &str, bios: Option<u64>, cooled: Option<&str>, limit: u64| {
            let mut record = record.clone();
            let conditions = &mut record.conditions.before;
            conditions.clocks = vec![ClockSetting {
                cpus: (0..4).collect(),
                driver: Some(driver.to_owned()),
                bios_hz: bios,
                max_hz: Some(limit),
                ..ClockSetting::default()
            }];
            let cooling = |kind: &str| Cooling { kind: kind.to_owned(), step: 4, highest_step: 12 };
            conditions.clock_holders.cooling = cooled.map(cooling).into_iter().collect();
            let finding = found(&record, clock_limit::RULE).remove(0);
            (finding.remedy[0].to_string(), finding.evidence.last().unwrap().says.to_string())
        };
        let is_set = |(remedy, _): &(String, String)| remedy.contains("scaling_max_freq");
        assert!(is_set(&cause_with("acpi-cpufreq", Some(2_600_000_000), None, 1_900_000_000)));
        let firmware = cause_with("acpi-cpufreq", Some(1_900_000_000), None, 1_900_000_000);
        assert!(!is_set(&firmware) && firmware.1.contains("firmware limit"), "{firmware:?}");
        // The first state of the table is not a limit, because it includes boost.
        let table = cause_with("acpi-cpufreq", Some(2_600_000_000), None, 2_600_000_000);
        assert!(!is_set(&table) && !table.1.contains("firmware"), "{table:?}");
        for kind in ["cpufreq-cpu0", "thermal-cpufreq-1", "Processor"] {
            let cooled = cause_with("cppc_cpufreq", None, Some(kind), 1_900_000_000);
            assert!(!is_set(&cooled) && cooled.1.contains("step 4 of 12"), "{kind}: {cooled:?}");
        }
        for kind in ["cpufreq-cpu8", "intel_powerclamp"] {
            assert!(is_set(&cause_with("cppc_cpufreq", None, Some(kind), 1_900_000_000)), "{kind}");
        }
    }

    /// The value of the register is quoted if the kernel has no name for it.
    #[test]
    fn a_preference_for_saving_energy_is_found_by_name_and_by_number() {
        for (epp, findings) in [("power", 1), ("255", 1), ("balance_power", 1), ("192", 1), ("128", 0)] {
            let mut record = record_with(Vec::new());
            let setting = ClockSetting { epp: Some(epp.to_owned()), ..ClockSetting::default() };
            record.conditions.before.clocks = vec![setting];
            assert_eq!(found(&record, RULE).len(), findings, "{epp}");
        }
    }
}
