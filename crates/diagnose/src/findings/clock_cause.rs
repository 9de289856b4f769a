//! Finds the cause of a low clock in the settings.

use record::conditions::{ClockSetting, Snapshot};

use super::clock_holders::{self, Cause};
use super::prelude::*;

/// A cpufreq setting that limits the clock.
struct Setting<'a> {
    /// The entry of `conditions.before.clocks`.
    at: usize,
    setting: &'a ClockSetting,
    /// Whether all CPUs have the same settings.
    only: bool,
}

impl Setting<'_> {
    /// A knob with a value for the CPUs that have this setting.
    fn knob(&self, knob: KnobName, value: &str) -> KnobValue {
        let cpus = (!self.only).then(|| self.setting.cpus.clone());
        KnobValue { cpus, ..KnobValue::new(knob, value) }
    }

    /// The command that writes `file` for all CPUs with this setting and leaves other CPUs unchanged.
    fn write(&self, value: &str, file: &str) -> Remedy {
        if !self.only {
            return write_for_cpus(value, &self.setting.cpus, &format!("cpufreq/{file}"));
        }
        Remedy::command(write_command(value, &format!("/sys/devices/system/cpu/cpufreq/policy*/{file}")))
    }

    /// A command that writes `performance` to `file`, and one that restores the recorded value.
    fn perform(&self, old: &str, file: &str, knob: KnobName) -> [Remedy; 2] {
        let undo = match pasteable(old) {
            Some(old) => self.write(old, file),
            None => restore_command(old, &format!("/sys/devices/system/cpu/cpufreq/policy*/{file}")),
        };
        [self.write("performance", file).sets(self.knob(knob, "performance")), undo]
    }

    /// A cause, with a field of this setting as evidence.
    fn explain(&self, what: Text, says: Text, field: &str, [remedy, undo]: [Remedy; 2]) -> Cause {
        let from = format!("conditions.before.clocks[{}].{field}", self.at);
        Cause { undo: vec![undo], ..Cause::shown(what, says, from, vec![remedy]) }
    }
}

/// Whether a policy always runs at one clock: at the lowest with the governor `powersave`, except if the processor chooses its own clocks,
/// and at the clock that a program set with the governor `userspace`.
pub(super) fn is_fixed(setting: &ClockSetting) -> bool {
    let chooses = |driver: &str| matches!(driver, "intel_pstate" | "amd-pstate-epp");
    let driver = setting.driver.as_deref();
    let is_lowest = setting.governor.as_deref() == Some("powersave") && driver.is_some_and(|n| !chooses(n));
    is_lowest || setting.set_hz.is_some()
}

/// The reason why a CPU may run below `promised` Hz. The first that applies is returned: a governor that runs at one
/// clock, a cpufreq limit, a limit outside cpufreq, disabled boost, the energy preference, the governor, the energy bias, the hypervisor,
/// battery power, or a limit logged by the processor.
pub(super) fn cause(case: &Case, cpu: u32, promised: f64) -> Cause {
    let snapshot = &case.record.conditions.before;
    let only = snapshot.clocks.len() == 1;
    let mut settings = snapshot.clocks.iter().enumerate();
    let setting = settings.find(|(_, setting)| setting.cpus.contains(cpu));
    let setting = setting.map(|(at, setting)| Setting { at, setting, only });
    let by_setting = |find: fn(&Setting, f64) -> Option<Cause>| find(setting.as_ref()?, promised);
    let of = |holds: &dyn Fn(&ClockSetting) -> bool| setting.as_ref().filter(|one| holds(one.setting));
    // If a policy runs at one clock, no other limit can be the reason, because this clock is within them.
    of(&is_fixed)
        .filter(|one| one.setting.set_hz.is_none_or(|hz| (hz as f64) < promised * (1.0 - RESOLUTION)))
        .and_then(|one| saving(one, promised))
        .or_else(|| limited(of(&|one| clock_holders::is_set(case, one))?, promised))
        .or_else(|| clock_holders::cause(case, cpu, promised))
        .or_else(|| no_boost(snapshot))
        .or_else(|| by_setting(saving))
        .or_else(|| by_setting(biased))
        .or_else(|| decided_by_host(case, cpu))
        .or_else(|| on_battery(snapshot))
        .or_else(|| clock_holders::suspect(case))
        .unwrap_or_else(|| Cause {
            what: text!("no setting explains this (likely heat, a power limit or other processes)"),
            remedy: remedies("clock unexplained"),
            ..Cause::default()
        })
}

fn decided_by_host(case: &Case, cpu: u32) -> Option<Cause> {
    let mut clocks =
        case.figures_of(metrics::CORE_CLOCK).filter(|m| has_labels(m, &[(Label::Cpu, &cpu.to_string())]));
    let moved = clocks.find_map(|m| Some(cite_fact(case.moved_during(m)?, m)));

    case.record.machine.is_virtual().then(|| Cause {
        what: text!("the hypervisor controls the clock"),
        evidence: moved.into_iter().collect(),
        remedy: remedies("clock host"),
        ..Cause::default()
    })
}

fn on_battery(snapshot: &Snapshot) -> Option<Cause> {
    snapshot.power_supply.as_deref().filter(|supply| *supply == "battery")?;
    let (what, says) = (text!("the machine runs on battery power"), text!("on battery"));
    Some(Cause::shown(what, says, "conditions.before.power_supply", remedies("clock battery")))
}

fn limited(setting: &Setting, promised: f64) -> Option<Cause> {
    const FILE: &str = "scaling_max_freq";
    let limit = setting.setting.max_hz.filter(|limit| (*limit as f64) < promised * (1.0 - RESOLUTION))?;
    let says = text!(
        "frequency limit {limit} on CPUs {cpus}",
        limit = Value::Figure(limit as f64, "Hz"),
        cpus = &setting.setting.cpus
    );
    let promised = ((promised / 1e3) as u64).to_string();
    let raised = setting.write(&promised, FILE).sets(setting.knob(KnobName::ClockRange, &promised));
    let ways = [raised, setting.write(&(limit / 1000).to_string(), FILE)];
    Some(setting.explain(text!("clock-cause-limit", "a frequency limit is set"), says, "max_hz", ways))
}

/// Boost (turbo) switched off, with commands to switch it on and off again. The firmware may override the
/// kernel's setting.
pub(super) fn no_boost(snapshot: &Snapshot) -> Option<Cause> {
    snapshot.boost.filter(|boost| !boost)?;
    let what = text!("boost is off");
    let mut cause = Cause::shown(what, text!("boost off"), "conditions.before.boost", Vec::new());
    let source = snapshot.boost_source.as_deref();
    if let Some(path) = source.and_then(pasteable).filter(|path| path.starts_with("/sys/")) {
        // In Intel's file, the values have the opposite meaning to those in all other files.
        let (on, off) = if path.ends_with("no_turbo") { ("0", "1") } else { ("1", "0") };
        let (boost, path) = (KnobValue::new(KnobName::Boost, "on"), path.replace("/policy0/", "/policy*/"));
        cause.remedy.push(Remedy::command(write_command(on, &path)).sets(boost));
        cause.undo.push(Remedy::command(write_command(off, &path)));
    }
    cause.remedy.extend(remedies("clock boost"));
    Some(cause)
}

/// The energy-performance preference as the cause, if the driver has one, because the governor's name then has little meaning. Otherwise,
/// the governor as the cause.
fn saving(setting: &Setting, _: f64) -> Option<Cause> {
    let (epp, governor) = (setting.setting.epp.as_ref(), setting.setting.governor.as_ref());
    let is_chosen = |epp: &&String| !matches!(epp.as_str(), "performance" | "default" | "0");
    if let Some(epp) = epp.filter(|epp| setting.setting.set_hz.is_none() && is_chosen(epp)) {
        let what = text!("clock-cause-energy-preference", "the energy-performance preference is {epp}");
        let ways = setting.perform(epp, "energy_performance_preference", KnobName::Epp);
        return Some(setting.explain(what, text!("energy-performance preference {epp}"), "epp", ways));
    }
    let governor = governor.filter(|governor| *governor != "performance")?;
    let what = text!("clock-cause-governor", "the governor is {governor}");
    let ways = setting.perform(governor, "scaling_governor", KnobName::Governor);
    let mut cause = setting.explain(what, text!("governor {governor}"), "governor", ways);
    // The governor `userspace` starts with another clock.
    let clock = setting.setting.set_hz.map(|hz| setting.write(&(hz / 1000).to_string(), "scaling_setspeed"));
    cause.undo.extend(clock);
    Some(cause)
}

/// A preference for saving energy that is not the default of a distribution.
pub(super) fn preference(case: &Case) -> Option<Cause> {
    let clocks = &case.record.conditions.before.clocks;
    let saves = |epp: &str| matches!(epp, "power" | "255" | "balance_power" | "192");
    let at = clocks.iter().position(|setting| setting.epp.as_deref().is_some_and(saves))?;
    saving(&Setting { at, setting: &clocks[at], only: clocks.len() == 1 }, 0.0)
}

/// The energy-performance bias, from 0 (performance) to 15 (maximum power saving).
fn biased(setting: &Setting, _: f64) -> Option<Cause> {
    let bias = setting.setting.epb.filter(|bias| *bias > 0)?;
    let what = text!("clock-cause-energy-bias", "the energy-performance bias is {bias} of 15");
    let says = text!("energy-performance bias {bias} (0 is performance)");
    let write = |bias: &str| write_for_cpus(bias, &setting.setting.cpus, "power/energy_perf_bias");
    let ways = [write("0").sets(setting.knob(KnobName::Epb, "0")), write(&bias.to_string())];
    Some(setting.explain(what, says, "epb", ways))
}
