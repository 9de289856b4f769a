//! What holds a clock down, as far as the settings tell.

use record::Record;
use record::conditions::{ClockSetting, Snapshot};
use record::diagnosis::Evidence;
use record::units::figure;

use super::{is_virtual, lines};
use crate::figures::{RESOLUTION, pasteable, told, write_command};

/// A cause with what speaks for it and what to do.
#[derive(Default)]
pub(super) struct Cause {
    /// In a few words: `a limit is set`.
    pub what: String,
    pub evidence: Vec<Evidence>,
    pub remedy: Vec<String>,
    pub undo: Vec<String>,
    /// Whether a setting says so; otherwise it is what is left.
    pub is_set: bool,
}

/// Where cpufreq keeps a setting of all CPUs.
fn policy(file: &str) -> String {
    format!("/sys/devices/system/cpu/cpufreq/policy*/{file}")
}

/// Why a CPU may run below `promised` Hz: the first of a limit, boost, the energy preference, the governor, the energy
/// bias, the hypervisor, the battery.
pub(super) fn cause(record: &Record, cpu: u32, promised: f64) -> Cause {
    let snapshot = &record.conditions.before;
    let setting = snapshot.clocks.iter().enumerate().find(|(_, setting)| setting.cpus.contains(cpu));
    let by_setting = setting.and_then(|(at, setting)| limited(at, setting, promised));
    if let Some(cause) = by_setting.or_else(|| no_boost(snapshot)) {
        return cause;
    }
    if let Some((at, setting)) = setting
        && let Some(cause) =
            preferred(at, setting).or_else(|| governed(at, setting)).or_else(|| biased(at, setting))
    {
        return cause;
    }
    if is_virtual(record) {
        return Cause {
            what: "the hypervisor decides".to_owned(),
            remedy: lines(["none from inside: compare instance types, or ask for a host that is not shared"]),
            ..Cause::default()
        };
    }
    if snapshot.power_supply.as_deref() == Some("battery") {
        return Cause {
            what: "the machine runs on battery".to_owned(),
            evidence: vec![told("on battery", "conditions.before.power_supply")],
            remedy: lines(["plug it in"]),
            is_set: true,
            ..Cause::default()
        };
    }
    Cause {
        what: "no setting explains it, so heat, a power limit or other load does".to_owned(),
        remedy: lines([
            "measure again on an idle machine; then look at cooling and power limits (sudo turbostat)",
        ]),
        ..Cause::default()
    }
}

fn limited(at: usize, setting: &ClockSetting, promised: f64) -> Option<Cause> {
    let limit = setting.max_hz.filter(|limit| (*limit as f64) < promised * (1.0 - RESOLUTION))?;
    let says = format!("upper limit set to {} for CPUs {}", figure(limit as f64, "Hz"), setting.cpus);
    let path = policy("scaling_max_freq");
    Some(Cause {
        what: "a limit is set".to_owned(),
        evidence: vec![told(says, format!("conditions.before.clocks[{at}].max_hz"))],
        remedy: vec![write_command(&((promised / 1e3) as u64).to_string(), &path)],
        undo: vec![write_command(&(limit / 1000).to_string(), &path)],
        is_set: true,
    })
}

fn no_boost(snapshot: &Snapshot) -> Option<Cause> {
    snapshot.boost.filter(|boost| !boost)?;
    let mut cause = Cause {
        what: "boost is switched off".to_owned(),
        evidence: vec![told("boost off", "conditions.before.boost")],
        is_set: true,
        ..Cause::default()
    };
    let source = snapshot.boost_source.as_deref();
    match source.and_then(pasteable).filter(|path| path.starts_with("/sys/")) {
        Some(path) => {
            // Intel's file says the opposite of all others.
            let (on, off) = if path.ends_with("no_turbo") { ("0", "1") } else { ("1", "0") };
            cause.remedy.push(write_command(on, path));
            cause.undo.push(write_command(off, path));
        }
        None => cause.remedy.push("switch boost (turbo) on in the firmware".to_owned()),
    }
    Some(cause)
}

/// The energy-performance preference, where there is one: then the governor's name says little.
fn preferred(at: usize, setting: &ClockSetting) -> Option<Cause> {
    let epp = setting.epp.as_deref().filter(|epp| !matches!(*epp, "performance" | "default" | "0"))?;
    let path = policy("energy_performance_preference");
    Some(Cause {
        what: format!("the energy preference is {epp}"),
        evidence: vec![told(
            format!("energy-performance preference {epp}"),
            format!("conditions.before.clocks[{at}].epp"),
        )],
        remedy: vec![write_command("performance", &path)],
        undo: pasteable(epp).map(|old| write_command(old, &path)).into_iter().collect(),
        is_set: true,
    })
}

fn governed(at: usize, setting: &ClockSetting) -> Option<Cause> {
    let governor = setting.governor.as_deref().filter(|governor| *governor != "performance")?;
    let path = policy("scaling_governor");
    Some(Cause {
        what: format!("the governor is {governor}"),
        evidence: vec![told(
            format!("governor {governor}"),
            format!("conditions.before.clocks[{at}].governor"),
        )],
        remedy: vec![write_command("performance", &path)],
        undo: pasteable(governor).map(|old| write_command(old, &path)).into_iter().collect(),
        is_set: true,
    })
}

/// The energy-performance bias: 0 is performance, 15 saves the most.
fn biased(at: usize, setting: &ClockSetting) -> Option<Cause> {
    const PATH: &str = "/sys/devices/system/cpu/cpu*/power/energy_perf_bias";
    let bias = setting.epb.filter(|bias| *bias > 0)?;
    Some(Cause {
        what: format!("the energy bias is {bias} of 15"),
        evidence: vec![told(
            format!("energy-performance bias {bias}, 0 is performance"),
            format!("conditions.before.clocks[{at}].epb"),
        )],
        remedy: vec![write_command("0", PATH)],
        undo: vec![write_command(&bias.to_string(), PATH)],
        is_set: true,
    })
}
