//! Facts from the inventory and conditions of records that can affect speed, and the differences between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use record::comparison::{Difference, FactKind};
use record::machine::{CacheKind, MemoryDevice};
use record::units::{bytes, figure, percent_to};
use record::{Record, Template, Text};
use serde_json::Value as Json;

use super::commands::find_conditions;
use super::explain::{clock_at_import, find_running};
use crate::cpu_accounting::used_by_others;
use crate::memory_channels::{channels, populated};
use crate::shape::facts as seen;
use crate::tables::rows;

/// The fact: CPU time of other processes while a record was measured.
pub(super) const OTHER_WORK: Template =
    Template::new("comparison-fact-other-work", "Load of other processes");
/// The fact: number of memory devices, with their size and type.
pub const MEMORY_DEVICES: Template = Template::new("comparison-fact-memory-devices", "Memory devices");
/// The facts by kind, the order in which differences are listed, and facts that follow from others.
pub(crate) const FACTS: &str = include_str!("facts.txt");

/// The beginning of the paths of facts about the host's placement of CPUs. These facts include how often each placement was observed, which
/// differs between any two records.
pub(crate) const SHAPE: &str = "diagnosis.shape.";

/// How a fact is read from a record.
enum Source {
    /// Read from the distinct values of the fact, formatted with this function.
    At(fn(&Json) -> Option<String>),
    /// Read from the value of the fact, which is a number in this unit.
    With(&'static str),
    /// Read from several values of the record.
    Of(fn(&Record) -> Option<String>),
    /// Read from the data caches or unified caches of a level.
    Caches(u32, bool),
}
use Source::{At, Caches, Of, With};

/// How a fact is read, from the keyword in the table; any other word is a unit.
fn source(word: &'static str) -> Source {
    if let Some((kind, level)) = word.split_once(' ') {
        return Caches(level.parse().unwrap_or_default(), kind == "data");
    }
    match word {
        "plain" => At(plain),
        "hertz" => At(hertz),
        "size" => At(|size| size.as_u64().map(bytes)),
        "on-or-off" => At(|on| on.as_bool().map(|on| if on { "on" } else { "off" }.to_owned())),
        // Formatted as in the reports of the records.
        "share" => At(|share| share.as_f64().map(|share| percent_to(share, 2))),
        "system" => Of(system),
        "processor" => Of(processor),
        "identity" => Of(identity),
        "cpus-per-core" => Of(cpus_per_core),
        "devices" => Of(devices),
        "devices-run-at" => Of(|record| transfer_rates(record, |device| device.configured_mt_s)),
        "devices-allow" => Of(|record| transfer_rates(record, |device| device.rated_mt_s)),
        "used-channels" => Of(|record| Some(channels(&record.machine)?.populated.to_string())),
        "options" => Of(|record| Some(record.machine.kernel.options.join(" "))),
        "isolated" => Of(|record| Some(record.machine.kernel.isolated.to_string())),
        "tickless" => Of(|record| Some(record.machine.kernel.nohz_full.to_string())),
        "cpuset" => Of(|record| Some(record.machine.limits.cpuset.to_string())),
        "nodes-allowed" => Of(|record| Some(record.machine.limits.memory_nodes.to_string())),
        "mitigations" => Of(mitigations),
        "idle-states" => Of(idle_states),
        "huge-pages" => Of(huge_pages),
        "run-under" => Of(run_under),
        "clock-then" => Of(clock_then),
        "load-averages" => Of(load_averages),
        // Rounded to one decimal place, because smaller differences occur between runs on every machine.
        "other-work" => Of(|record| used_by_others(record).map(|cpus| format!("{cpus:.1} CPUs"))),
        "throttled" => Of(throttled),
        "cpus-move" => Of(seen::cpus_move),
        "cores-shared" => Of(seen::cores_shared),
        "domains-hidden" => Of(seen::domains_hidden),
        unit => With(unit),
    }
}

/// The wrappers under which a record's command was run.
fn run_under(record: &Record) -> Option<String> {
    let conditions = find_conditions(record)?;
    Some(if conditions.is_empty() { "nothing".to_owned() } else { conditions })
}

/// A fact that can affect speed.
pub struct Fact {
    /// The kind of the fact.
    pub kind: FactKind,
    /// The name of the fact: `Highest clock`.
    pub what: Text,
    /// The path of the fact in a record: `machine.processor.max_hz`.
    pub from: String,
    source: Source,
    marks: &'static str,
}

impl Fact {
    /// Whether the fact has this mark in the table.
    pub(crate) fn is(&self, mark: &str) -> bool {
        self.marks.split(' ').any(|own| own == mark)
    }

    /// Whether machines that differ in this fact belong to different classes. All other facts may differ within a class because of a
    /// failure or a setting: a missing memory device, SMT, an offline core.
    pub fn is_of_kind(&self) -> bool {
        self.is("kind")
    }
}

/// All facts, hardware first.
pub fn facts() -> &'static [Fact] {
    static ALL: LazyLock<Vec<Fact>> = LazyLock::new(|| {
        let kinds = [FactKind::Hardware, FactKind::Setting, FactKind::State];
        let rows_of = kinds.into_iter().zip(["hardware", "setting", "state"]);
        let all = rows_of.flat_map(|(kind, of)| rows(FACTS, of).into_iter().map(move |row| (kind, row)));
        let facts = all.filter_map(|(kind, row)| {
            let [code, words, from, how, marks @ ..] = row.as_slice() else { return None };
            let (what, marks) = (Template { code, words }.into(), marks.first().copied().unwrap_or_default());
            Some(Fact { kind, what, from: (*from).to_owned(), source: source(how), marks })
        });
        facts.collect()
    });
    &ALL
}

/// The value of each of [`facts`] in a record; `None` if it is unknown.
pub fn tell_facts(record: &Record) -> Vec<Option<String>> {
    let inventory = inventory(record);
    // An imported text or a part of a machine's files may lack the limits that apply to a process.
    let is_inspected = record.import.is_none() && record.machine.counts.cpus_allowed.is_some();
    let tell = |fact: &Fact| {
        let value = match &fact.source {
            At(show) => show_each(&look_up(&inventory, &fact.from), show),
            With(unit) => show_each(&look_up(&inventory, &fact.from), |value| {
                value.as_f64().map(|value| format!("{} {unit}", (value * 10.0).round() / 10.0))
            }),
            Of(make) => make(record),
            Caches(level, data) => caches(record, *level, *data),
        };
        let is_read = is_inspected && (!fact.is("cgroup") || record.machine.limits.cgroup_version.is_some());
        let none = || (is_read && fact.is("limit")).then(|| "none".to_owned());
        value.filter(|value| !value.trim().is_empty()).or_else(none)
    };
    facts().iter().map(tell).collect()
}

/// Facts that differ between at least two records, hardware first. A fact known for only some records is not a
/// difference.
pub(super) fn find_differences(records: &[&Record]) -> Vec<Difference> {
    let all: Vec<Vec<Option<String>>> = records.iter().map(|record| tell_facts(record)).collect();
    let mut found: Vec<Difference> = (0..facts().len()).filter_map(|at| difference(at, &all)).collect();
    // Facts in the first record precede those that only later records contain.
    found.sort_by_key(|difference| (difference.kind, difference.values.iter().position(Option::is_some)));
    found
}

/// Hardware and settings that only some of the records contain, so that it is unknown whether they differ.
pub(super) fn find_one_sided(known: &[super::Known]) -> Vec<Text> {
    let all: Vec<_> = known.iter().map(|one| tell_facts(one.record)).collect();
    let some = |at: usize, known: bool| all.iter().any(|values| values[at].is_some() == known);
    let found = facts().iter().enumerate().filter(|(at, _)| some(*at, true) && some(*at, false));
    found.filter(|(_, fact)| fact.kind != FactKind::State).map(|(_, fact)| fact.what.clone()).collect()
}

/// The fact at this index, if it differs between records.
pub(crate) fn difference(at: usize, all: &[Vec<Option<String>>]) -> Option<Difference> {
    let fact = facts().get(at)?;
    let values: Vec<Option<String>> = all.iter().map(|record| record.get(at).cloned().flatten()).collect();
    let mut reported = values.iter().flatten();
    let first = reported.next();
    reported.any(|value| Some(value) != first).then(|| Difference {
        kind: fact.kind,
        what: fact.what.clone(),
        code: fact.what.code().unwrap_or_default().to_owned(),
        from: fact.from.clone(),
        values,
    })
}

/// The parts of a record from which facts are read, as JSON.
pub(crate) fn inventory(record: &Record) -> Json {
    let parts = [
        ("machine", serde_json::to_value(&record.machine)),
        ("conditions", serde_json::to_value(&record.conditions)),
    ];
    parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part.ok()?))).collect()
}

/// The values at a path.
pub(crate) fn look_up<'a>(inventory: &'a Json, place: &str) -> Vec<&'a Json> {
    place.split('.').fold(vec![inventory], |values, step| {
        let name = step.trim_end_matches("[]");
        let values = values.into_iter().filter_map(|value| value.get(name));
        match name == step {
            true => values.collect(),
            false => values.filter_map(Json::as_array).flatten().collect(),
        }
    })
}

/// Formats the distinct values.
fn show_each(values: &[&Json], show: impl Fn(&Json) -> Option<String>) -> Option<String> {
    let all: BTreeSet<String> = values.iter().filter_map(|value| show(value)).collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join(", "))
}

fn plain(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(word) => Some(word.clone()),
        other => Some(other.to_string()),
    }
}

fn hertz(value: &Json) -> Option<String> {
    value.as_u64().filter(|hz| *hz > 0).map(|hz| figure(hz as f64, "Hz"))
}

fn system(record: &Record) -> Option<String> {
    let system = &record.machine.system;
    let names: Vec<_> = [&system.vendor, &system.product].into_iter().flatten().map(String::as_str).collect();
    Some(names.join(" "))
}

fn processor(record: &Record) -> Option<String> {
    let processor = &record.machine.processor;
    processor.model_name.clone().or_else(|| processor.firmware_name.clone())
}

fn identity(record: &Record) -> Option<String> {
    let p = &record.machine.processor;
    let part = |name: &str, of: Option<u32>| of.map_or(String::new(), |of| format!(", {name} {of}"));
    let by_part = || p.model.map(|part| format!("part {part:#05x}"));
    let by_family = |f| format!("family {f}{}{}", part("model", p.model), part("stepping", p.stepping));
    p.family.map(by_family).or_else(by_part)
}

fn cpus_per_core(record: &Record) -> Option<String> {
    let counts = &record.machine.counts;
    let cores = counts.cores.filter(|cores| *cores > 0)?;
    Some((f64::from(counts.cpus_online?) / f64::from(cores)).to_string())
}

fn caches(record: &Record, level: u32, data: bool) -> Option<String> {
    let machine = &record.machine;
    let first = machine.data_caches(level).next().filter(|_| level <= machine.last_level())?;
    if (first.kind == CacheKind::Data) != data {
        return None;
    }
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for size in machine.data_caches(level).filter_map(|cache| cache.bytes) {
        *counts.entry(size).or_default() += 1;
    }
    let sizes = counts.iter().map(|(size, count)| match count {
        1 => bytes(*size),
        _ => format!("{count} × {}", bytes(*size)),
    });
    Some(sizes.collect::<Vec<_>>().join(", "))
}

fn devices(record: &Record) -> Option<String> {
    let count = populated(&record.machine).count();
    (count > 0).then(|| count.to_string())
}

fn transfer_rates(record: &Record, rate: fn(&MemoryDevice) -> Option<u32>) -> Option<String> {
    let all: BTreeSet<u32> = find_running(&record.machine).filter_map(rate).filter(|mt| *mt > 0).collect();
    let all: Vec<String> = all.iter().map(u32::to_string).collect();
    (!all.is_empty()).then(|| format!("{} MT/s", all.join(", ")))
}

fn mitigations(record: &Record) -> Option<String> {
    let all = &record.machine.kernel.mitigations;
    // `Mitigation: PTI` (in lscpu, `Mitigation; PTI`), `Vulnerable`, `Not affected`. The method follows the first colon or semicolon.
    let on = all.iter().filter_map(|(name, report)| {
        let (status, rest) = report.split_once([':', ';']).unwrap_or((report, ""));
        let how = if status == "Vulnerable" { "vulnerable" } else { rest.split([';', ',']).next()?.trim() };
        (!status.starts_with("Not")).then(|| format!("{name} ({how})"))
    });
    let on: Vec<String> = on.collect();
    (!all.is_empty()).then(|| if on.is_empty() { "none".to_owned() } else { on.join(", ") })
}

fn idle_states(record: &Record) -> Option<String> {
    let enabled = record.machine.idle_states.iter().filter(|state| state.disabled != Some(true));
    let states = enabled.map(|state| match state.exit_ns {
        Some(ns) => format!("{} ({})", state.name, figure(ns as f64, "ns")),
        None => state.name.clone(),
    });
    Some(states.collect::<Vec<_>>().join(", "))
}

fn huge_pages(record: &Record) -> Option<String> {
    let all = &record.conditions.before.huge_pages;
    let reserved = all.iter().filter(|pages| pages.total > 0);
    let each: Vec<_> =
        reserved.map(|pages| format!("{} × {}", pages.total, bytes(pages.page_bytes))).collect();
    (!all.is_empty()).then(|| if each.is_empty() { "none".to_owned() } else { each.join(", ") })
}

/// The current clock, used only from other tools' output: current clocks always differ, even on one machine, and linespeed measures the
/// clock itself.
fn clock_then(record: &Record) -> Option<String> {
    record.import.as_ref()?;
    Some(figure(clock_at_import(record)? as f64, "Hz"))
}

fn load_averages(record: &Record) -> Option<String> {
    record.conditions.before.load.map(|[one, five, fifteen]| format!("{one:.2}, {five:.2}, {fifteen:.2}"))
}

fn throttled(record: &Record) -> Option<String> {
    let (before, after) = (record.conditions.before.throttled?, record.conditions.after.as_ref()?.throttled?);
    Some(format!("{} times", after.saturating_sub(before)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves a reference in the schema.
    fn resolve(schema: &Json, place: &Json) -> Json {
        let either = || place.get("anyOf")?.as_array()?.iter().find_map(|either| either.get("$ref"));
        match place.get("$ref").or_else(either).and_then(Json::as_str) {
            Some(name) => resolve(schema, schema.pointer(name.trim_start_matches('#')).unwrap()),
            None => place.clone(),
        }
    }

    #[test]
    fn every_fact_stands_in_a_record_where_it_says() {
        let schema: Json =
            serde_json::from_str(include_str!("../../../record/src/schema/record.json")).unwrap();
        for Fact { what, from, source, .. } in facts().iter().filter(|fact| !fact.what.is(&OTHER_WORK)) {
            let mut place = schema.clone();
            for step in from.split('.') {
                let name = step.trim_end_matches("[]");
                place = resolve(&schema, &place["properties"][name]);
                assert!(!place.is_null(), "{what}: no {name} in {from}");
                if name != step {
                    place = resolve(&schema, &place["items"]);
                }
            }
            let list = place["type"] == "array" || place["type"] == "object";
            assert!(!(list && matches!(source, At(_) | With(_))), "{what}: {from} is not a single value");
        }
    }

    #[test]
    fn what_makes_a_kind_is_among_the_facts() {
        assert_eq!(facts().iter().filter(|fact| fact.is_of_kind()).count(), 6);
    }

    #[test]
    fn limits_that_an_inspection_does_not_show_are_none() {
        let value_of = |record: &Record, code: &str| {
            let at = facts().iter().position(|fact| fact.what.code() == Some(code)).unwrap();
            tell_facts(record).swap_remove(at)
        };
        let record = crate::samples::machine(4);
        let imported = Record { import: Some(Default::default()), ..record.clone() };
        let mut tree = record.clone();
        tree.machine.counts.cpus_allowed = None;
        for code in ["cpu-quota", "memory-limit", "kernel-options", "isolated-cpus"] {
            let code = format!("comparison-fact-{code}");
            assert_eq!(value_of(&record, &code).as_deref(), Some("none"), "{code}");
            assert_eq!([&imported, &tree].map(|record| value_of(record, &code)), [None, None], "{code}");
        }
    }

    #[test]
    fn what_holds_the_clock_and_limits_a_process_differs() {
        let mut one = crate::samples::machine(4);
        let limit = |watts| record::clock_holders::PowerLimit { watts, ..Default::default() };
        let clock =
            |bios_hz| record::conditions::ClockSetting { bios_hz: Some(bios_hz), ..Default::default() };
        one.conditions.before.clock_holders.power_limits = vec![limit(270.0), limit(324.0)];
        one.conditions.before.clock_holders.max_percent = Some(100);
        one.conditions.before.clocks = vec![clock(3_000_000_000)];
        let mut other = one.clone();
        other.conditions.before.clock_holders.power_limits[0].watts = 150.0;
        other.conditions.before.clock_holders.max_percent = Some(60);
        other.conditions.before.clocks = vec![clock(2_000_000_000)];
        (one.machine.limits.cpuset, other.machine.limits.cpuset) = ((0..4).collect(), (0..2).collect());
        other.machine.limits.memory_bytes = Some(4 << 30);
        other.machine.kernel.options = vec!["numa=off".to_owned()];
        let found = find_differences(&[&one, &other]);
        let of = |one: &Difference| {
            (one.code.trim_start_matches("comparison-fact-").to_owned(), one.values.clone())
        };
        let found: BTreeMap<_, _> = found.iter().map(of).collect();
        let both = |one: &str, other: &str| vec![Some(one.to_owned()), Some(other.to_owned())];
        let expected = [
            ("power-limit", both("270 W, 324 W", "150 W, 324 W")),
            ("performance-limit", both("100 %", "60 %")),
            ("firmware-clock-limit", both("3.00 GHz", "2.00 GHz")),
            ("cpuset", both("0-3", "0-1")),
            ("memory-limit", both("none", "4 GiB")),
            ("kernel-options", both("none", "numa=off")),
        ];
        assert_eq!(found, expected.map(|(code, values)| (code.to_owned(), values)).into());
    }

    #[test]
    fn a_place_with_brackets_stands_for_each_of_a_list() {
        let list = serde_json::json!({"clocks": [{"governor": "b"}, {"governor": "a"}, {}, {"governor": "b"}], "n": 3});
        assert_eq!(show_each(&look_up(&list, "clocks[].governor"), plain).as_deref(), Some("a, b"));
        assert_eq!(show_each(&look_up(&list, "n"), plain).as_deref(), Some("3"));
        assert_eq!(show_each(&look_up(&list, "m.n"), plain), None);
    }
}
