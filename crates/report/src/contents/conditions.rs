//! The state of a machine before and after the measurements.

use std::collections::BTreeMap;

use record::clock_holders::{Cooling, HeldBy, HwpRange, PowerLimit};
use record::{Conditions, Record, Snapshot, units};

use super::{Section, listed};
use crate::table::Table;
use crate::text::range;
use record::phrase::count_noun;

/// The kernel counts steal time in ticks, so it is always shown with two digits.
pub(crate) fn steal_share(share: f64) -> String {
    units::percent_to(share, 2)
}

/// A condition with its values before and after the run; a value is empty if the condition did not apply.
type Condition = [String; 3];

/// The conditions, then those that applied only afterwards, and finally the knobs.
fn conditions(conditions: &Conditions) -> Vec<Condition> {
    let mut after = conditions.after.as_ref().map_or_else(Vec::new, |after| snapshot(after).facts);
    let before = snapshot(&conditions.before).facts.into_iter().map(|fact| {
        let later = after.iter().position(|later| later.key == fact.key);
        [fact.key, fact.value, later.map_or_else(String::new, |at| after.remove(at).value)]
    });
    let mut all: Vec<Condition> = before.collect();
    all.extend(after.into_iter().map(|fact| [fact.key, String::new(), fact.value]));
    for (key, set) in [("Set for the run", true), ("Could not be set", false)] {
        all.extend(knobs(conditions, set).map(|value| [key.to_owned(), value, String::new()]));
    }
    all
}

/// Whether other processes used part of the measured resources.
pub(crate) fn is_disturbed(record: &Record) -> bool {
    record.diagnosis.used_by_others.is_some_and(|used| used >= diagnose::DISTURBED)
}

/// The conditions as facts: the state before the run, and differences after it.
pub(crate) fn section(of: &Conditions) -> Section {
    let mut section = Section::new("Conditions");
    for [key, before, after] in conditions(of).into_iter().filter(|[_, before, _]| !before.is_empty()) {
        let changed = !after.is_empty() && after != before;
        section.add(key, if changed { format!("{before}; after the run {after}") } else { before });
    }
    section
}

/// The knobs that were set for the run, or those that could not be set.
fn knobs(conditions: &Conditions, set: bool) -> Option<String> {
    let one = |knob: &record::Knob| match (&knob.set_to, &knob.not_set) {
        (Some(to), None) if set => Some(format!("{} {} → {to}", knob.name, knob.was)),
        (_, Some(why)) if !set => Some(format!("{}: {why}", knob.name)),
        _ => None,
    };
    let all: Vec<String> = conditions.knobs.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// One line with the knobs set for the run (`--quiet-machine`); `None` if not requested.
pub fn quiet(conditions: &Conditions) -> Option<String> {
    let names = |set: bool| {
        let mut names: Vec<&str> = Vec::new();
        for knob in
            conditions.knobs.iter().filter(|knob| (knob.set_to.is_some() && knob.not_set.is_none()) == set)
        {
            names.extend((!names.contains(&knob.name.as_str())).then_some(knob.name.as_str()));
        }
        names
    };
    let (set, not) = (names(true), names(false));
    let set_words = match (set.as_slice(), not.as_slice()) {
        ([], []) => return None,
        ([], _) => "no knob could be set".to_owned(),
        (some, _) => format!("set for the run: {}", some.join(", ")),
    };
    let not_words = if not.is_empty() { String::new() } else { format!(" (not set: {})", not.join(", ")) };
    Some(format!("Quiet machine, {set_words}{not_words}."))
}

/// The conditions as a table, with the states before and after the run side by side.
pub(crate) fn table(of: &Conditions) -> Table {
    let mut table = Table::new("Conditions", None, ["condition", "before", "after"]);
    for [key, before, after] in conditions(of) {
        table.row(vec![key, if before.is_empty() { "-".to_owned() } else { before }, after]);
    }
    table.finished()
}

/// The facts at one point in time.
fn snapshot(state: &Snapshot) -> Section {
    let mut section = Section::new("");
    for setting in &state.clocks {
        let hz = |hz: u64| units::figure(hz as f64, "Hz");
        let limits = match (setting.min_hz, setting.max_hz) {
            (Some(low), Some(high)) => Some(format!("limits {}", range(&hz(low), &hz(high)))),
            (None, Some(high)) => Some(format!("at most {}", hz(high))),
            (Some(low), None) => Some(format!("at least {}", hz(low))),
            (None, None) => None,
        };
        let value = listed([
            setting.driver.clone(),
            setting.governor.as_ref().map(|governor| format!("governor {governor}")),
            setting.epp.as_ref().map(|epp| format!("EPP {epp}")),
            setting.epb.map(|epb| format!("EPB {epb}")),
            limits,
            setting.set_hz.map(|set| format!("set to {}", hz(set))),
            setting.bios_hz.map(|limit| format!("firmware allows {}", hz(limit))),
            setting.current_hz.map(|(low, high)| format!("now {}", range(&hz(low), &hz(high)))),
        ]);
        let key = if state.clocks.len() == 1 {
            "Clock".to_owned()
        } else {
            format!("Clock, CPUs {}", setting.cpus)
        };
        section.add(key, value);
    }
    let source = state.boost_source.as_ref().map_or(String::new(), |source| format!(" ({source})"));
    let boost = state.boost.map(|on| format!("{}{source}", if on { "on" } else { "off" }));
    section.add_some("Boost", boost);
    let holders = &state.clock_holders;
    let mut limits: BTreeMap<(&str, &str), Vec<Option<String>>> = BTreeMap::new();
    for PowerLimit { interface, zone, window, watts, .. } in &holders.power_limits {
        let says = format!("{} ({interface})", units::figure(*watts, "W"));
        limits.entry((zone, window)).or_default().push(Some(says));
    }
    for ((zone, window), says) in limits {
        section.add(format!("Power limit, {zone} {}", window.replace('_', " ")), listed(says));
    }
    let names = |held: &[HeldBy]| listed(held.iter().map(|held| Some(held.to_string())));
    section.add("Clock limited by", names(&holders.holding));
    section.add("Clock limited since boot by", names(&holders.held_before));
    for clock in &holders.uncore {
        let [limit, most] = [clock.max_hz, clock.initial_max_hz].map(|hz| units::figure(hz as f64, "Hz"));
        section.add(format!("Uncore clock, {}", clock.domain), format!("at most {limit} instead of {most}"));
    }
    for Cooling { kind, step, highest_step } in &holders.cooling {
        section.add(format!("Cooling, {kind}"), format!("step {step} of {highest_step}"));
    }
    section.add_some("Platform profile", holders.platform_profile.as_ref());
    let range = |range: HwpRange| {
        format!("up to level {} of {}, level {} guaranteed", range.allowed, range.highest, range.guaranteed)
    };
    section.add_some("Hardware P-states", holders.hwp.map(range));
    let percent = holders.max_percent.filter(|percent| *percent < 100);
    section.add_some("Maximum performance allowed", percent.map(|percent| format!("{percent} %")));
    let held = |ms: u64| units::figure(ms as f64, "ms");
    let longest =
        holders.longest_heat_ms.map_or(String::new(), |ms| format!(", longest period {}", held(ms)));
    section.add_some("Throttled for", holders.heat_ms.map(|ms| format!("{} since boot{longest}", held(ms))));
    section.add_some("SMT", state.smt.as_deref().map(smt));
    let clocksource = state.clocksource.as_ref().map(|current| {
        let others: Vec<&str> =
            state.clocksources.iter().filter(|c| *c != current).map(String::as_str).collect();
        if others.is_empty() { current.clone() } else { format!("{current} (also {})", others.join(", ")) }
    });
    section.add_some("Clock source", clocksource);
    section.add_some("THP", state.thp.as_ref());
    section.add_some("THP defrag", state.thp_defrag.as_ref());
    for pages in &state.huge_pages {
        let key = format!("Huge pages, {}", units::bytes(pages.page_bytes));
        section.add(key, format!("{} reserved, {} free", pages.total, pages.free));
    }
    let zero_is_off = |value: u32| if value == 0 { "off".to_owned() } else { format!("on ({value})") };
    section.add_some("NUMA balancing", state.numa_balancing.map(zero_is_off));
    section.add_some("ASLR", state.aslr.map(zero_is_off));
    section.add_some("perf_event_paranoid", state.perf_event_paranoid);
    section.add_some("KSM", state.ksm.map(zero_is_off));
    section.add_some("zone_reclaim_mode", state.zone_reclaim);
    let load = |[one, five, fifteen]: [f64; 3]| format!("{one:.2}, {five:.2}, {fifteen:.2} (1, 5, 15 min)");
    section.add_some("Load average", state.load.map(load));
    section.add_some("Running", state.running.map(|tasks| count_noun(tasks as usize, "task")));
    let pressure = state.pressure.iter().map(|(what, share)| {
        Some(format!("{} {}", what.replace("_full", " (all tasks)"), units::percent(*share)))
    });
    section.add("Pressure, 10 s", listed(pressure));
    section.add_some("Steal", state.steal_share.map(steal_share));
    section.add_some("Memory available", state.memory_available_bytes.map(units::bytes));
    let swap = match (state.swap_used_bytes, state.swap_bytes) {
        (_, Some(0)) => Some("none".to_owned()),
        (Some(used), Some(all)) => Some(format!("{} of {} in use", units::bytes(used), units::bytes(all))),
        (None, Some(all)) => Some(units::bytes(all)),
        (Some(used), None) => Some(format!("{} in use", units::bytes(used))),
        (None, None) => None,
    };
    section.add_some("Swap", swap);
    let swapped = state.swapped_pages.map(|(read, written)| format!("{read} in, {written} out since boot"));
    section.add_some("Pages swapped", swapped);
    for (sensor, degrees) in &state.temperatures {
        section.add(format!("Temperature, {sensor}"), units::figure(*degrees, "°C"));
    }
    section.add_some("Throttled", state.throttled.map(|times| format!("{times} times since boot")));
    let of_all = state.quota_periods.map(|all| format!(" of {all}")).unwrap_or_default();
    let throttled = state.quota_throttled.filter(|periods| *periods > 0);
    section.add_some("Throttled by quota", throttled.map(|periods| format!("{periods}{of_all} periods")));
    section.add_some("Power supply", state.power_supply.as_ref());
    section.add_some("Uptime", state.uptime_seconds.map(duration));
    section
}

/// A duration in the usual units: `58 s`, `3 h 20 min`, `12 days`.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "-".to_owned();
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => units::figure(seconds, "s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..172_800 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} days", whole / 86_400),
    }
}

/// The kernel's SMT control state in plain words.
pub(crate) fn smt(control: &str) -> &str {
    match control {
        "notsupported" => "not supported",
        "notimplemented" => "not implemented",
        "forceoff" => "off, cannot be switched on",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_during_the_run_is_said() {
        let before = Snapshot { thp: Some("always".to_owned()), boost: Some(true), ..Snapshot::default() };
        let after = Snapshot { thp: Some("never".to_owned()), boost: Some(true), ..Snapshot::default() };
        let section = section(&Conditions { before, after: Some(after), ..Conditions::default() });
        let find =
            |key: &str| section.facts.iter().find(|fact| fact.key == key).map(|fact| fact.value.as_str());
        assert_eq!(find("THP"), Some("always; after the run never"));
        assert_eq!(find("Boost"), Some("on"));
        assert_eq!(find("Swap"), None);
    }

    #[test]
    fn what_the_kernel_writes_as_one_word_is_said_in_two() {
        let before = Snapshot { smt: Some("notsupported".to_owned()), ..Snapshot::default() };
        let section = section(&Conditions { before, ..Conditions::default() });
        assert!(section.facts.iter().any(|fact| fact.key == "SMT" && fact.value == "not supported"));
    }

    #[test]
    fn knobs_that_were_set_for_a_run_are_reported_in_a_line() {
        let knob = |name: &str, why: Option<&str>| record::Knob {
            name: name.to_owned(),
            was: "1".to_owned(),
            set_to: why.is_none().then(|| "0".to_owned()),
            not_set: why.map(str::to_owned),
        };
        let reported = |knobs: Vec<record::Knob>| quiet(&Conditions { knobs, ..Conditions::default() });
        assert_eq!(reported(vec![]), None);
        let (thp, boost, irq) = (knob("thp", None), knob("boost", None), knob("interrupts", Some("busy")));
        assert_eq!(
            reported(vec![boost.clone(), boost, thp, irq.clone()]).as_deref(),
            Some("Quiet machine, set for the run: boost, thp (not set: interrupts).")
        );
        assert_eq!(
            reported(vec![irq]).as_deref(),
            Some("Quiet machine, no knob could be set (not set: interrupts).")
        );
    }
}
