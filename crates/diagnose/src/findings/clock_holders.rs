//! Clock limits other than cpufreq settings, each as a cause.

use std::collections::BTreeSet;

use record::clock_holders::{ClockHolders, HeldBy, HwpRange, PowerLimit};
use record::conditions::ClockSetting;

use super::prelude::*;

/// A cause with its evidence and its remedy.
#[derive(Default)]
pub(super) struct Cause {
    /// A short description: `a frequency limit is set`.
    pub what: Text,
    pub evidence: Vec<Evidence>,
    pub remedy: Vec<Remedy>,
    pub undo: Vec<Remedy>,
    /// Whether a setting proves the cause; otherwise, the cause is only the most likely one.
    pub is_set: bool,
}

impl Cause {
    /// A cause proven by a setting or a count, with the place of this evidence in the record.
    pub(super) fn shown(what: Text, says: Text, from: impl Into<Place>, remedy: Vec<Remedy>) -> Self {
        Self { what, evidence: vec![cite_fact(says, from)], remedy, undo: Vec::new(), is_set: true }
    }
}

pub(super) const HOLDERS: &str = "conditions.before.clock_holders";
/// A package counts as limited if its power is at least this share of the limit.
const AT_LIMIT: f64 = 0.95;
/// Limits of two interfaces count as equal if their ratio is at least this.
const ALIKE: f64 = 0.95;

/// The window of PL1, which limits the sustained power; the windows of PL2 and PL4 are shorter.
pub(super) const LONG: &str = "long_term";

/// A power limit of a package: the lowest limit for its window, which is the one in effect, and the highest possible limit.
pub(super) struct Held<'a> {
    at: usize,
    pub limit: &'a PowerLimit,
    /// The highest sustained power that another limit allows or for which the package is rated, W.
    pub allowed: f64,
}

/// The limit of the most restricted package. A limit for a short window matters if it is below the sustained power limit.
pub(super) fn power_limit(holders: &ClockHolders) -> Option<Held<'_>> {
    let limits = || holders.power_limits.iter();
    let held = limits().enumerate().filter_map(|(at, limit)| {
        let of_zone = || limits().filter(|other| other.zone == limit.zone);
        let long = || of_zone().filter(|other| other.window == LONG);
        let is_lowest = of_zone().all(|of| of.window != limit.window || limit.watts <= of.watts);
        // Implausible ratings are ignored: some firmware reports one watt, or thousands of watts, for no limit.
        let is_plausible = |watts: &f64| (3.0..2000.0).contains(watts);
        let rated = long().filter_map(|of| of.rated_watts).filter(is_plausible);
        let watts = long().map(|other| other.watts);
        let other = match limit.window == LONG {
            true => watts.max_by(f64::total_cmp),
            false => watts.filter(is_plausible).min_by(f64::total_cmp),
        };
        let allowed = other.into_iter().chain(rated).fold(0.0, f64::max);
        is_lowest.then_some(Held { at, limit, allowed })
    });
    held.min_by(|a, b| (a.limit.watts / a.allowed).total_cmp(&(b.limit.watts / b.allowed)))
}

/// The highest measured power of all packages together, and its mean per package, W.
fn most_drawn<'a>(case: &Case<'a>) -> Option<(&'a Measurement, f64)> {
    let holders = &case.record.conditions.before.clock_holders;
    let zones: BTreeSet<&str> = holders.power_limits.iter().map(|l| l.zone.as_str()).collect();
    let drawn =
        case.figures_of(metrics::POWER_PACKAGE).filter(|m| has_labels(m, &[(Label::Scope, "packages")]));
    let most = drawn.max_by(|a, b| a.value().total_cmp(&b.value()))?;
    Some((most, most.value() / zones.len().max(1) as f64))
}

impl Held<'_> {
    /// Describes the limit as a cause, with the measured power, which proves the cause if it reaches the limit.
    pub(super) fn cause(&self, case: &Case) -> Cause {
        let PowerLimit { interface, watts, zone, limit_file, window, .. } = self.limit;
        let limit = Value::Figure(*watts, "W");
        let mut evidence = vec![cite_fact(
            text!("{interface} limits {zone} to {limit}", limit = limit.clone()),
            format!("{HOLDERS}.power_limits[{}].watts", self.at),
        )];
        let drawn = most_drawn(case).filter(|(_, watts)| watts / self.limit.watts >= AT_LIMIT);
        evidence.extend(drawn.map(|(of, watts)| {
            cite_fact(text!("each package drew {watts} under load", watts = Value::Figure(watts, "W")), of)
        }));
        let (mut remedy, mut undo) = (Vec::new(), Vec::new());
        if let Some(file) = pasteable_file(limit_file).filter(|_| self.is_lowered()) {
            let microwatts = |watts: f64| ((watts * 1e6).round() as u64).to_string();
            let raised = microwatts(self.allowed);
            let lift = Remedy::command(write_command(&raised, file));
            remedy.push(match window == LONG {
                true => lift.sets(KnobValue::new(KnobName::PowerLimit, &*raised)),
                false => lift,
            });
            undo.push(Remedy::command(write_command(&microwatts(*watts), file)));
        }
        remedy.extend(remedies("clock power-limit"));
        let what = text!("clock-cause-power-limit", "a power limit of {limit} ({interface})");
        Cause { what, evidence, remedy, undo, is_set: drawn.is_some() }
    }

    /// Whether the limit is below the highest possible one.
    pub(super) fn is_lowered(&self) -> bool {
        self.limit.watts < self.allowed * ALIKE
    }
}

/// The name of a powercap file, which may contain colons, if it is safe in a command.
fn pasteable_file(file: &str) -> Option<&str> {
    let rest = file.strip_prefix("/sys/class/powercap/")?;
    pasteable(&rest.replace(':', "_")).map(|_| file)
}

/// The cause of a clock below `promised` Hz, the first of: the firmware's limit, the limit that the processor currently reports, heat, the
/// driver's limit, a power limit that the package reaches, a limit set by the kernel's thermal management.
pub(super) fn cause(case: &Case, cpu: u32, promised: f64) -> Option<Cause> {
    let holders = &case.record.conditions.before.clock_holders;
    firmware_limit(case, |cpus| cpus.contains(cpu))
        .filter(|(hz, _)| *hz < promised * (1.0 - RESOLUTION))
        .map(|(_, cause)| cause)
        .or_else(|| by_processor(case))
        .or_else(|| by_heat(case))
        .or_else(|| by_driver(holders))
        .or_else(|| power_limit(holders).map(|held| held.cause(case)).filter(|cause| cause.is_set))
        .or_else(|| by_cooling(holders))
}

/// A likely cause that no measurement confirms: a power limit below the highest possible one, a lowered maximum performance level, or a
/// limit logged by the processor.
pub(super) fn suspect(case: &Case) -> Option<Cause> {
    let holders = &case.record.conditions.before.clock_holders;
    let lowered = power_limit(holders).filter(Held::is_lowered).map(|held| held.cause(case));
    lowered.or_else(|| by_range(holders)).or_else(|| {
        let held = *holders.held_before.first()?;
        let logged = held.to_string();
        let says = text!("the processor has logged {logged} since boot", logged = logged.clone());
        let what = text!("clock-cause-logged", "likely {logged}, logged by the processor");
        let cause = Cause::shown(what, says, format!("{HOLDERS}.held_before"), advise_for(held));
        Some(Cause { is_set: false, ..cause })
    })
}

fn advise_for(held: HeldBy) -> Vec<Remedy> {
    remedies(match held {
        HeldBy::Prochot => "clock prochot",
        HeldBy::Heat | HeldBy::AverageHeat => "clock cooling",
        HeldBy::RegulatorHeat => "clock regulator-heat",
        HeldBy::RegulatorCurrent | HeldBy::Current => "clock current",
        HeldBy::LongPower | HeldBy::ShortPower => "clock power",
    })
}

/// The firmware's limit for these CPUs, Hz.
pub(super) fn firmware_limit(case: &Case, concerns: impl Fn(&CpuList) -> bool) -> Option<(f64, Cause)> {
    let settings = case.record.conditions.before.clocks.iter().enumerate();
    let limited = settings.filter(|(_, setting)| concerns(&setting.cpus));
    let of_firmware = |setting: &ClockSetting| setting.bios_hz.filter(|hz| !is_of_table(case, setting, *hz));
    let limits = limited.filter_map(|(at, setting)| Some((at, of_firmware(setting)?)));
    let (at, hz) = limits.min_by_key(|(_, hz)| *hz)?;
    let limit = Value::Figure(hz as f64, "Hz");
    let what = text!("the firmware limits the clock to {limit}", limit = limit.clone());
    let from = format!("conditions.before.clocks[{at}].bios_hz");
    let says = text!("firmware limit {limit}");
    Some((hz as f64, Cause::shown(what, says, from, remedies("clock firmware"))))
}

/// Whether a limit is only the frequency of the first state in acpi-cpufreq's table, which is the base clock although the state includes
/// boost (acpi-cpufreq.c, acpi_cpufreq_cpu_init).
fn is_of_table(case: &Case, setting: &ClockSetting, hz: u64) -> bool {
    let is_base = |base: u64| hz as f64 >= base as f64 * (1.0 - RESOLUTION);
    setting.driver.as_deref() == Some("acpi-cpufreq") && base_hz(case.record).is_none_or(is_base)
}

/// Whether a user set the cpufreq limit. Drivers also lower it to the firmware's limit, or while the kernel cools the processor.
pub(super) fn is_set(case: &Case, setting: &ClockSetting) -> bool {
    let Some(limit) = setting.max_hz else { return false };
    let is_cooled = |kind: &str| match kind.strip_prefix("cpufreq-cpu") {
        Some(cpu) => cpu.parse().is_ok_and(|cpu| setting.cpus.contains(cpu)),
        None => kind != "intel_powerclamp",
    };
    !is_of_table(case, setting, limit)
        && setting.bios_hz.is_none_or(|bios| limit < bios)
        && !case.record.conditions.before.clock_holders.cooling.iter().any(|one| is_cooled(&one.kind))
}

/// The limit that the processor itself reports: heat, an external signal or a regulator. Power limits are reported elsewhere, with their
/// values.
pub(super) fn by_processor(case: &Case) -> Option<Cause> {
    let conditions = &case.record.conditions;
    let snapshots = [Some((&conditions.before, "before")), conditions.after.as_ref().map(|s| (s, "after"))];
    let mut held = snapshots
        .into_iter()
        .flatten()
        .flat_map(|(snapshot, when)| snapshot.clock_holders.holding.iter().map(move |held| (*held, when)));
    let (held, when) = held.find(|(held, _)| !matches!(held, HeldBy::LongPower | HeldBy::ShortPower))?;
    let name = held.to_string();
    let what = text!("clock-cause-processor", "{name} limits the clock", name = name.clone());
    let from = format!("conditions.{when}.clock_holders.holding");
    Some(Cause::shown(what, text!("the processor reports {name}"), from, advise_for(held)))
}

/// Heat that lowered the clocks of a core or package during the run, from the kernel's count of the throttled time.
pub(super) fn by_heat(case: &Case) -> Option<Cause> {
    let conditions = &case.record.conditions;
    let (before, after) = (&conditions.before.clock_holders, &conditions.after.as_ref()?.clock_holders);
    let ms = after.heat_ms?.checked_sub(before.heat_ms.unwrap_or(0)).filter(|ms| *ms > 0)?;
    let what = text!("heat reduced the clock for {held} in this run", held = Value::Figure(ms as f64, "ms"));
    let from = "conditions.after.clock_holders.heat_ms";
    Some(Cause::shown(what, describe_heat(after)?, from, advise_for(HeldBy::Heat)))
}

/// The time for which heat has lowered the clocks since boot, if it is known.
pub(super) fn describe_heat(holders: &ClockHolders) -> Option<Text> {
    let all = holders.heat_ms.filter(|ms| *ms > 0)?;
    let [all, longest] =
        [all, holders.longest_heat_ms.unwrap_or(all)].map(|ms| Value::Figure(ms as f64, "ms"));
    Some(text!("throttled for {all} since boot, for at most {longest} at a time"))
}

/// The driver's limit, as a share of maximum performance.
pub(super) fn by_driver(holders: &ClockHolders) -> Option<Cause> {
    const FILE: &str = "/sys/devices/system/cpu/intel_pstate/max_perf_pct";
    let percent = holders.max_percent.filter(|percent| *percent < 100)?;
    let share = Value::Share(percent as f64 / 100.0);
    let says = text!("max_perf_pct {share}", share = share.clone());
    let what = text!("clock-cause-driver", "intel_pstate allows {share} of maximum performance");
    let [remedy, undo] =
        ["100", &percent.to_string()].map(|to| vec![Remedy::command(write_command(to, FILE))]);
    Some(Cause { undo, ..Cause::shown(what, says, format!("{HOLDERS}.max_percent"), remedy) })
}

/// A maximum performance level that is set below the processor's own maximum.
pub(super) fn by_range(holders: &ClockHolders) -> Option<Cause> {
    let HwpRange { highest, allowed, .. } = holders.hwp.filter(|range| range.allowed < range.highest)?;
    let what = text!("clock-cause-range", "hardware P-states are capped at level {allowed} of {highest}");
    let says = text!("highest P-state level {allowed} of {highest}");
    Some(Cause::shown(what, says, format!("{HOLDERS}.hwp"), remedies("clock range")))
}

/// The cooling device that the kernel currently uses most.
pub(super) fn by_cooling(holders: &ClockHolders) -> Option<Cause> {
    let (at, cooling) = holders.cooling.iter().enumerate().max_by_key(|(_, cooling)| cooling.step)?;
    let (kind, step, most) = (&cooling.kind, u64::from(cooling.step), u64::from(cooling.highest_step));
    let what = text!("the kernel lowers clocks for cooling ({kind}, step {step} of {most})");
    let says = text!("{kind} at step {step} of {most}");
    Some(Cause::shown(what, says, format!("{HOLDERS}.cooling[{at}]"), advise_for(HeldBy::Heat)))
}
