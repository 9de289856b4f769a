//! System files quoted in texts: read with the same code as on the machine itself, and added to the output of the tools.

use record::import::Origin;
use record::{Machine, Snapshot, Text, text};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::merge::several;
use crate::error::Error;
use crate::facts::{Facts, Lscpu, key};
use crate::sink::fill;

/// Adds the content of files to the inventory and the state, and returns the path and the origin of each file that was used.
pub(super) fn read(
    facts: &Facts,
    lscpu: &Lscpu,
    machine: &mut Machine,
    state: &mut Snapshot,
) -> Result<Vec<(String, Origin)>, Error> {
    if let Some(clash) = &facts.clash {
        return Err(several(&clash[0], &clash[1]));
    }
    let mut stood: Vec<(String, Origin)> = Vec::new();
    let notes = std::mem::take(&mut machine.notes);
    if !facts.files.is_empty() {
        stood.extend(files(facts, lscpu, machine, state)?);
    }
    machine.notes = notes;
    let source = facts.files.get("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let tsc = source.filter(|fact| fact.value.trim() == "tsc").map(|fact| &fact.origin);
    for (kind, (count, reason)) in &facts.log {
        // If the kernel uses the TSC now, the TSC was unstable only in an earlier boot.
        let Origin { text, line, .. } = &reason.origin;
        let is_over = |now: &Origin| now.tool != "dmesg" || now.text == *text && now.line > *line;
        // Several lines are about one event: those of the memory controller count, or else those of the first part in this order.
        let (event, part) = kind.split_once('/').unwrap_or((kind, ""));
        let tells = |other: &String| other.starts_with("memory") || other.starts_with(event) && other < kind;
        let is_known = !part.is_empty() && facts.log.keys().any(tells);
        if is_known || kind == "tsc-unstable" && tsc.is_some_and(is_over) {
            continue;
        }
        machine.notes.push(logged(event, *count, reason.value.trim().to_owned()));
        stood.push((format!("machine.notes[{}]", machine.notes.len() - 1), reason.origin.clone()));
    }
    Ok(stood)
}

fn files(
    facts: &Facts,
    lscpu: &Lscpu,
    machine: &mut Machine,
    state: &mut Snapshot,
) -> Result<Vec<(String, Origin)>, Error> {
    // CPU lists printed by lscpu also serve as the content of the files from which lscpu read them.
    let listed =
        [("present", [key::ONLINE, key::OFFLINE]), ("online", [key::ONLINE; 2])].map(|(name, keys)| {
            let lists = keys.iter().filter_map(|key| lscpu.machine.cpus(key));
            let all = lists.fold(record::CpuList::new(), |all, list| all.union(&list));
            (format!("/sys/devices/system/cpu/{name}"), all.to_string())
        });
    let listed = listed.iter().filter(|(path, list)| !list.is_empty() && !facts.files.contains_key(path));
    let listed = listed.map(|(path, list)| (path.as_str(), list.as_str()));
    let quoted = facts.files.iter().map(|(path, fact)| (path.as_str(), fact.value.as_str()));
    let root = machine::Root::excerpt(quoted.chain(listed));
    let machine::Inspection { machine: mut found, snapshot, .. } = machine::inspect_excerpt(&root);
    let listed = lscpu.kinds.first().and_then(|kind| kind.get(key::MODEL_NAME));
    if let (Some(listed), Some(name), Some(file)) =
        (listed, &found.processor.model_name, facts.files.get("/proc/cpuinfo"))
        && machine.architecture == "x86_64"
        && listed.value.split_whitespace().ne(name.split_whitespace())
    {
        return Err(several(&listed.origin, &file.origin));
    }
    // Prefer the more detailed of two lists.
    if !machine.caches.is_empty() {
        found.caches.clear();
    }
    if !machine.processor.features.is_empty() {
        found.processor.features.clear();
    }
    if !snapshot.clocks.is_empty() {
        state.clocks.clear();
    }
    *machine = filled(machine, &found);
    machine.cpus.sort_by_key(|cpu| cpu.id);
    *state = filled(state, &snapshot);
    let read = facts.files.iter().filter(|(path, _)| root.was_read(path));
    Ok(read.map(|(path, fact)| (place(path), fact.origin.clone())).collect())
}

/// The path of a file, without names chosen by the user.
fn place(path: &str) -> String {
    match path.strip_prefix("/sys/fs/cgroup/").and_then(|rest| rest.rsplit_once('/')) {
        Some((_, file)) => format!("/sys/fs/cgroup/*/{file}"),
        None => path.to_owned(),
    }
}

fn filled<T: Clone + Serialize + DeserializeOwned>(mine: &T, others: &T) -> T {
    let both = (serde_json::to_value(mine), serde_json::to_value(others));
    let (Ok(one), Ok(other)) = both else { return mine.clone() };
    serde_json::from_value(fill(one, other)).unwrap_or_else(|_| mine.clone())
}

/// The note about all lines of one kind in the kernel log.
fn logged(kind: &str, count: u64, reason: String) -> Text {
    match kind {
        "tsc-unstable" => text!("tsc-unstable", "the kernel marked the TSC as unstable: {reason}", reason),
        "machine-check" => text!("machine-check", "machine checks in the kernel log: {count}", count),
        "memory-corrected" => {
            text!("memory-corrected", "kernel log lines with corrected memory errors: {count} ({reason})")
        }
        "memory-uncorrected" => {
            text!("memory-uncorrected", "kernel log lines with uncorrected memory errors: {count} ({reason})")
        }
        _ => text!("numa-off", "the kernel does not use NUMA: {reason}", reason),
    }
}
