//! Cores that run below the clock that they advertise: a limit, boost switched off, a governor, heat or power.

use record::conditions::ClockSetting;
use record::diagnosis::Finding;
use record::statistics::Verdict;
use record::units::figure;
use record::{Measurement, Record};

use super::{Case, Rule, costs, finding, is_virtual, lines};
use crate::figures::{
    RESOLUTION, cpus_of, cpus_text, evidence, is_at, pasteable, share_of, spread, told, verdict,
    write_command,
};

/// One core alone against its highest clock, and all cores together against the base clock.
pub const RULE: Rule = Rule { name: "clock-limit", find };

fn find(case: &Case) -> Vec<Finding> {
    alone(case.record).into_iter().chain(together(case.record)).collect()
}

/// One CPU below what it promises.
struct Below<'a> {
    measured: &'a Measurement,
    cpu: u32,
    promised: f64,
    loss: Verdict,
}

/// The CPUs below what they promise, the worst first.
fn below<'a>(record: &'a Record, active: &str, promised: impl Fn(u32) -> Option<u64>) -> Vec<Below<'a>> {
    let mut found: Vec<Below> = record
        .of("core.clock")
        .filter(|m| is_at(m, &[("active", active), ("vector", "scalar")]))
        .filter_map(|measured| {
            let cpu = u32::try_from(measured.place.count("cpu")?).ok()?;
            let promised = promised(cpu).filter(|hz| *hz > 0)? as f64;
            let (low, high) = spread(&measured.summary);
            let interval = (1.0 - high / promised - RESOLUTION, 1.0 - low / promised + RESOLUTION);
            let loss = costs(verdict(1.0 - measured.value() / promised, interval))?;
            Some(Below { measured, cpu, promised, loss })
        })
        .collect();
    found.sort_by(|a, b| share_of(&b.loss).total_cmp(&share_of(&a.loss)));
    found
}

fn alone(record: &Record) -> Option<Finding> {
    let highest =
        |cpu: u32| record.machine.cpu(cpu).and_then(|cpu| cpu.max_hz).or(record.machine.processor.max_hz);
    let found = below(record, "one", highest);
    let Below { measured: worst, cpu, promised, loss } = found.first()?;
    let cause = cause(record, *cpu, *promised);
    let mut seen = vec![
        evidence(worst, &format!("CPU {cpu} alone runs at")),
        told(
            format!("it advertises {}", figure(*promised, "Hz")),
            "machine.cpus[].max_hz or machine.processor.max_hz",
        ),
    ];
    seen.extend(cause.evidence);
    let (is, advertised) = (figure(worst.value(), "Hz"), figure(*promised, "Hz"));
    Some(Finding {
        place: cpus_text(&cpus_of(found.iter().map(|found| found.measured))),
        evidence: seen,
        remedy: cause.remedy,
        undo: cause.undo,
        ..finding(&RULE, loss.clone(), format!("a core alone reaches {is} of {advertised}: {}", cause.what))
    })
}

fn together(record: &Record) -> Option<Finding> {
    let base =
        |cpu: u32| record.machine.cpu(cpu).and_then(|cpu| cpu.base_hz).or(record.machine.processor.base_hz);
    let found = below(record, "all", base);
    let Below { measured: worst, cpu, promised, loss } = found.first()?;
    let snapshot = &record.conditions.before;
    let mut seen = vec![
        evidence(worst, &format!("CPU {cpu} with all at work runs at")),
        told(
            format!("its base clock is {}", figure(*promised, "Hz")),
            "machine.cpus[].base_hz or machine.processor.base_hz",
        ),
    ];
    if let Some((sensor, hottest)) = snapshot.temperatures.iter().max_by(|a, b| a.1.total_cmp(b.1)) {
        seen.push(told(
            format!("hottest sensor {hottest:.0} °C"),
            format!("conditions.before.temperatures.{sensor}"),
        ));
    }
    let setting = cause(record, *cpu, *promised);
    let remedy = if is_virtual(record) {
        lines([
            "the host gives this machine less than a core; another instance type or a dedicated host gives it all",
        ])
    } else if setting.remedy.is_empty() {
        lines([
            "look for heat and power limits: cooling, fans, the firmware's power profile, a power cap (sudo turbostat)",
        ])
    } else {
        setting.remedy
    };
    let (is, base) = (figure(worst.value(), "Hz"), figure(*promised, "Hz"));
    Some(Finding {
        place: cpus_text(&cpus_of(found.iter().map(|found| found.measured))),
        evidence: seen,
        remedy,
        undo: setting.undo,
        ..finding(
            &RULE,
            loss.clone(),
            format!("all cores together run at {is}, below the base clock of {base}"),
        )
    })
}

/// What holds a clock down, as far as the settings tell.
#[derive(Default)]
struct Cause {
    what: String,
    evidence: Vec<record::diagnosis::Evidence>,
    remedy: Vec<String>,
    undo: Vec<String>,
}

fn cause(record: &Record, cpu: u32, promised: f64) -> Cause {
    let snapshot = &record.conditions.before;
    let setting = snapshot.clocks.iter().enumerate().find(|(_, setting)| setting.cpus.contains(cpu));
    if let Some((at, setting)) = setting
        && let Some(limit) = setting.max_hz.filter(|limit| (*limit as f64) < promised * (1.0 - RESOLUTION))
    {
        return limited(at, setting, limit, promised);
    }
    if snapshot.boost == Some(false) {
        return no_boost(snapshot.boost_source.as_deref());
    }
    if let Some((at, setting)) = setting
        && let Some(governor) = setting.governor.as_deref().filter(|governor| *governor != "performance")
    {
        return governed(at, governor);
    }
    if is_virtual(record) {
        return Cause {
            what: "the hypervisor decides".to_owned(),
            remedy: lines(["none from inside: compare instance types, or ask for a host that is not shared"]),
            ..Cause::default()
        };
    }
    let mut cause = Cause {
        what: "no setting explains it, so heat, a power limit or other load does".to_owned(),
        remedy: lines([
            "measure again on an idle machine; then look at cooling and power limits (sudo turbostat)",
        ]),
        ..Cause::default()
    };
    if snapshot.power_supply.as_deref() == Some("battery") {
        cause.what = "the machine runs on battery".to_owned();
        cause.evidence = vec![told("on battery", "conditions.before.power_supply")];
        cause.remedy = lines(["plug it in"]);
    }
    cause
}

fn limited(at: usize, setting: &ClockSetting, limit: u64, promised: f64) -> Cause {
    const PATH: &str = "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq";
    let says = format!("upper limit set to {} for CPUs {}", figure(limit as f64, "Hz"), setting.cpus);
    Cause {
        what: "a limit is set".to_owned(),
        evidence: vec![told(says, format!("conditions.before.clocks[{at}].max_hz"))],
        remedy: vec![write_command(&((promised / 1e3) as u64).to_string(), PATH)],
        undo: vec![write_command(&(limit / 1000).to_string(), PATH)],
    }
}

fn no_boost(source: Option<&str>) -> Cause {
    let mut cause = Cause {
        what: "boost is switched off".to_owned(),
        evidence: vec![told("boost off", "conditions.before.boost")],
        ..Cause::default()
    };
    match source.and_then(pasteable).filter(|path| path.starts_with("/sys/")) {
        Some(path) => {
            // Intel's file says the opposite of all others.
            let (on, off) = if path.ends_with("no_turbo") { ("0", "1") } else { ("1", "0") };
            cause.remedy.push(write_command(on, path));
            cause.undo.push(write_command(off, path));
        }
        None => cause.remedy.push("switch boost (turbo) on in the firmware".to_owned()),
    }
    cause
}

fn governed(at: usize, governor: &str) -> Cause {
    const PATH: &str = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor";
    Cause {
        what: format!("the governor is {governor}"),
        evidence: vec![told(
            format!("governor {governor}"),
            format!("conditions.before.clocks[{at}].governor"),
        )],
        remedy: vec![write_command("performance", PATH)],
        undo: pasteable(governor).map(|old| write_command(old, PATH)).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine, measured};
    use record::Where;

    fn with(active: &str, hz: f64) -> Record {
        let mut record = machine(1);
        record.machine.processor.max_hz = Some(4_000_000_000);
        record.machine.processor.base_hz = Some(2_500_000_000);
        record.conditions.before.boost = Some(true);
        let place = Where::new().with("cpu", 0u32).with("active", active).with("vector", "scalar");
        record.measurements.push(measured("core.clock", place, hz));
        record
    }

    fn governor(record: &mut Record, name: &str, max_hz: u64) {
        record.conditions.before.clocks = vec![ClockSetting {
            cpus: std::iter::once(0).collect(),
            governor: Some(name.to_owned()),
            max_hz: Some(max_hz),
            ..ClockSetting::default()
        }];
    }

    #[test]
    fn each_cause_is_named_with_its_remedy() {
        let mut record = with("one", 2.5e9);
        governor(&mut record, "performance", 2_500_000_000);
        let limit = &found(&record, RULE)[0];
        assert!(limit.what.ends_with("a limit is set"), "{limit:?}");
        assert!(limit.remedy[0].starts_with("echo 4000000 |") && limit.undo[0].starts_with("echo 2500000 |"));

        governor(&mut record, "schedutil", 4_000_000_000);
        let by_governor = &found(&record, RULE)[0];
        assert!(by_governor.what.ends_with("the governor is schedutil"), "{by_governor:?}");
        assert!(by_governor.undo[0].starts_with("echo schedutil |"));

        record.conditions.before.boost = Some(false);
        record.conditions.before.boost_source =
            Some("/sys/devices/system/cpu/intel_pstate/no_turbo".to_owned());
        let no_boost = &found(&record, RULE)[0];
        assert_eq!(no_boost.remedy, ["echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"]);
        record.conditions.before.boost_source = Some("/sys/x; reboot".to_owned());
        assert!(!found(&record, RULE)[0].remedy[0].contains("reboot"));
    }

    #[test]
    fn a_clock_below_base_is_found_with_all_at_work() {
        let finding = &found(&with("all", 2.0e9), RULE)[0];
        assert!(finding.what.contains("below the base clock of 2.50 GHz"), "{finding:?}");
        assert!((share_of(&finding.loss) - 0.2).abs() < 0.01);
    }

    #[test]
    fn near_enough_turbo_steps_and_unknown_clocks_are_no_loss() {
        assert_eq!(found(&with("one", 3.97e9), RULE), []);
        assert_eq!(found(&with("all", 3.0e9), RULE), []);
        let mut record = with("one", 2.0e9);
        record.machine.processor.max_hz = None;
        assert_eq!(found(&record, RULE), []);
    }
}
