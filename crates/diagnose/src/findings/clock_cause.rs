//! What holds a clock down, as far as the settings tell.

use record::conditions::{ClockSetting, Snapshot};
use record::diagnosis::Evidence;
use record::text::Value;
use record::{Record, Remedy, Text, text};

use super::is_virtual;
use crate::figures::{RESOLUTION, cite_fact, pasteable, restore_command, write_command, write_for_cpus};

/// A cause with what speaks for it and what to do.
#[derive(Default)]
pub(super) struct Cause {
    /// In a few words: `a frequency limit is set`.
    pub what: Text,
    pub evidence: Vec<Evidence>,
    pub remedy: Vec<Remedy>,
    pub undo: Vec<Remedy>,
    /// Whether a setting says so; otherwise it is what is left.
    pub is_set: bool,
}

/// A setting of cpufreq that holds the clock down.
struct Setting<'a> {
    /// The entry of `conditions.before.clocks`.
    at: usize,
    setting: &'a ClockSetting,
    /// Whether all CPUs have the same settings.
    only: bool,
}

impl Setting<'_> {
    /// The command that writes `file` of all CPUs with this setting; others have one that is not to be touched.
    fn write(&self, value: &str, file: &str) -> Remedy {
        if !self.only {
            return write_for_cpus(value, &self.setting.cpus, &format!("cpufreq/{file}"));
        }
        Remedy::command(write_command(value, &format!("/sys/devices/system/cpu/cpufreq/policy*/{file}")))
    }

    /// The way back to what the record has.
    fn undo(&self, old: &str, file: &str) -> Remedy {
        match pasteable(old) {
            Some(old) => self.write(old, file),
            None => restore_command(old, &format!("/sys/devices/system/cpu/cpufreq/policy*/{file}")),
        }
    }

    fn seen(&self, says: Text, file: &str) -> Vec<Evidence> {
        vec![cite_fact(says, format!("conditions.before.clocks[{}].{file}", self.at))]
    }
}

/// Why a CPU may run below `promised` Hz: the first of a limit, boost, the energy preference, the governor, the energy
/// bias, the hypervisor, the battery.
pub(super) fn cause(record: &Record, cpu: u32, promised: f64) -> Cause {
    let snapshot = &record.conditions.before;
    let mut settings = snapshot.clocks.iter().enumerate().map(|(at, setting)| Setting {
        at,
        setting,
        only: snapshot.clocks.len() == 1,
    });
    let setting = settings.find(|setting| setting.setting.cpus.contains(cpu));
    let by_setting = setting.as_ref().and_then(|setting| limited(setting, promised));
    if let Some(cause) = by_setting.or_else(|| no_boost(snapshot)) {
        return cause;
    }
    if let Some(setting) = &setting
        && let Some(cause) = preferred(setting).or_else(|| governed(setting)).or_else(|| biased(setting))
    {
        return cause;
    }
    if is_virtual(record) {
        return Cause {
            what: text!("clock-cause-hypervisor", "the hypervisor decides"),
            remedy: vec![Remedy::advice(text!(
                "clock-cause-from-outside",
                "none from inside: compare instance types, or choose a dedicated host"
            ))],
            ..Cause::default()
        };
    }
    if snapshot.power_supply.as_deref() == Some("battery") {
        return Cause {
            what: text!("clock-cause-battery", "the machine runs on battery"),
            evidence: vec![cite_fact(
                text!("clock-cause-on-battery", "on battery"),
                "conditions.before.power_supply",
            )],
            remedy: vec![Remedy::advice(text!("clock-cause-mains", "connect mains power"))],
            is_set: true,
            ..Cause::default()
        };
    }
    Cause {
        what: text!(
            "clock-cause-no-setting",
            "no setting explains it: likely heat, a power limit or other load"
        ),
        remedy: vec![
            Remedy::advice(text!("clock-cause-idle-machine", "measure again on an idle machine")),
            Remedy::both(
                text!("clock-cause-limits", "check temperatures and power limits"),
                "grep . /sys/class/hwmon/hwmon*/temp*_input /sys/class/powercap/*/constraint_*_power_limit_uw",
            ),
        ],
        ..Cause::default()
    }
}

fn limited(setting: &Setting, promised: f64) -> Option<Cause> {
    const FILE: &str = "scaling_max_freq";
    let limit = setting.setting.max_hz.filter(|limit| (*limit as f64) < promised * (1.0 - RESOLUTION))?;
    let says = text!(
        "clock-cause-limit-set",
        "frequency limit {limit} on CPUs {cpus}",
        limit = Value::Figure(limit as f64, "Hz"),
        cpus = &setting.setting.cpus
    );
    Some(Cause {
        what: text!("clock-cause-limit", "a frequency limit is set"),
        evidence: setting.seen(says, "max_hz"),
        remedy: vec![setting.write(&((promised / 1e3) as u64).to_string(), FILE)],
        undo: vec![setting.write(&(limit / 1000).to_string(), FILE)],
        is_set: true,
    })
}

/// Boost (turbo) switched off, with the way to switch it on and off again.
pub(super) fn no_boost(snapshot: &Snapshot) -> Option<Cause> {
    snapshot.boost.filter(|boost| !boost)?;
    let mut cause = Cause {
        what: text!("clock-cause-boost", "boost is off"),
        evidence: vec![cite_fact(text!("clock-cause-boost-off", "boost off"), "conditions.before.boost")],
        is_set: true,
        ..Cause::default()
    };
    let source = snapshot.boost_source.as_deref();
    match source.and_then(pasteable).filter(|path| path.starts_with("/sys/")) {
        Some(path) => {
            // Intel's file says the opposite of all others.
            let (on, off) = if path.ends_with("no_turbo") { ("0", "1") } else { ("1", "0") };
            cause.remedy.push(Remedy::command(write_command(on, path)));
            cause.undo.push(Remedy::command(write_command(off, path)));
        }
        None => cause
            .remedy
            .push(Remedy::advice(text!("boost-in-firmware", "enable boost (turbo) in the firmware"))),
    }
    Some(cause)
}

/// The energy-performance preference, where there is one: then the governor's name says little.
fn preferred(setting: &Setting) -> Option<Cause> {
    const FILE: &str = "energy_performance_preference";
    let epp = setting.setting.epp.as_deref();
    let epp = epp.filter(|epp| !matches!(*epp, "performance" | "default" | "0"))?;
    Some(Cause {
        what: text!(
            "clock-cause-energy-preference",
            "the energy-performance preference is {epp}",
            epp = epp.to_owned()
        ),
        evidence: setting.seen(
            text!("clock-cause-epp", "energy-performance preference {epp}", epp = epp.to_owned()),
            "epp",
        ),
        remedy: vec![setting.write("performance", FILE)],
        undo: vec![setting.undo(epp, FILE)],
        is_set: true,
    })
}

fn governed(setting: &Setting) -> Option<Cause> {
    const FILE: &str = "scaling_governor";
    let governor = setting.setting.governor.as_deref().filter(|governor| *governor != "performance")?;
    Some(Cause {
        what: text!("clock-cause-governor", "the governor is {governor}", governor = governor.to_owned()),
        evidence: setting.seen(
            text!("clock-cause-governed", "governor {governor}", governor = governor.to_owned()),
            "governor",
        ),
        remedy: vec![setting.write("performance", FILE)],
        undo: vec![setting.undo(governor, FILE)],
        is_set: true,
    })
}

/// The energy-performance bias: 0 is performance, 15 saves the most.
fn biased(setting: &Setting) -> Option<Cause> {
    const FILE: &str = "power/energy_perf_bias";
    let bias = setting.setting.epb.filter(|bias| *bias > 0)?;
    let cpus = &setting.setting.cpus;
    Some(Cause {
        what: text!("clock-cause-energy-bias", "the energy-performance bias is {bias} of 15", bias),
        evidence: setting
            .seen(text!("clock-cause-epb", "energy-performance bias {bias} (0 is performance)", bias), "epb"),
        remedy: vec![write_for_cpus("0", cpus, FILE)],
        undo: vec![write_for_cpus(&bias.to_string(), cpus, FILE)],
        is_set: true,
    })
}
