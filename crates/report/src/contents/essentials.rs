//! The inventory on one screen: the data that lscpu shows, the limits of this process, and settings, one fact per line.

use record::{Machine, Record};

use super::{Fact, Section, inventory, listed, memory};

/// Maximum number of facts of one kind that have their own lines.
const MOST: usize = 2;
/// Maximum number of kinds of caches that have their own lines.
const CACHES: usize = 7;

/// The lines above packages, memory devices, caches and nodes, and the lines below them.
const LINES: &str = include_str!("essentials.txt");

/// The lines of a section: a key, and parts that each contain a fact of the inventory.
fn lines(section: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = LINES.split_once(&format!("[{section}]\n")).map_or("", |(_, rest)| rest);
    all.lines().map_while(|line| line.split_once(" :: "))
}

/// The facts, always in the same order; facts that the machine does not report are omitted.
pub(crate) fn facts(record: &Record) -> Section {
    let machine = &record.machine;
    let sections = inventory::sections(record);
    let all = || sections.iter().flat_map(|section| &section.facts);
    // A setting that differs between CPUs has several facts; the first is used, and named as one of several.
    let value = |key: &str| {
        let all = all().filter_map(|fact| Some((fact.key.strip_prefix(key)?, fact.value.as_str())));
        let mut own = all.filter(|(rest, _)| rest.is_empty() || rest.starts_with(','));
        let (of, first) = own.next()?;
        let (of, differs) = (of.trim_start_matches([',', ' ']), own.any(|(_, value)| value != first));
        Some(if differs { format!("{first} ({of}), others differ") } else { first.to_owned() })
    };
    let part = |words: &str| {
        let (before, rest) = words.split_once('{')?;
        let (key, after) = rest.split_once('}')?;
        Some(format!("{before}{}{after}", value(key)?))
    };
    let says = |parts: &str| listed(parts.split(", ").map(part));
    let mut section = Section::new("");
    // Imported facts are always shown, even if there is little room.
    let is_import = record.import.is_some();
    let devices: Vec<Fact> = memory::devices(machine, is_import).into_iter().take(1 + MOST).collect();
    let (first, later) = if is_import { (devices, Vec::new()) } else { (Vec::new(), devices) };
    section.facts.extend(first);
    lines("above").for_each(|(key, parts)| section.add(key, says(parts)));
    for kind in all().filter(|fact| fact.key.starts_with("Kind ")).take(MOST) {
        section.facts.push(kind.clone());
    }
    let numbered = |section: &mut Section, what: &str| {
        let all = all().filter_map(|f| Some((f.key.strip_prefix(what)?.strip_prefix(' ')?, &f.value)));
        let all: Vec<(&str, &String)> = all.collect();
        // A few items have a line each; many items share one line.
        if all.len() > MOST {
            let all = all.iter().map(|(number, says)| format!("{number}: {}", says.replace("; ", ", ")));
            let all: Vec<String> = all.collect();
            return section.add(format!("{what}s"), all.join("; "));
        }
        all.iter().for_each(|(number, says)| section.add(format!("{what} {number}"), says));
    };
    // For a single package with one CPU per core, this line would only repeat the line of CPUs.
    if machine.counts.packages != Some(1) || machine.cpus.iter().any(|cpu| cpu.siblings.len() > 1) {
        numbered(&mut section, "Package");
    }
    section.facts.extend(later);
    section.facts.extend(memory::caches(machine, false).into_iter().take(CACHES));
    if machine.nodes.len() > 1 {
        numbered(&mut section, "Node");
    }
    section.add("Mitigations", mitigations(machine));
    lines("below").for_each(|(key, parts)| section.add(key, says(parts)));
    section
}

/// The number of active mitigations, and the unmitigated vulnerabilities in the kernel's words.
fn mitigations(machine: &Machine) -> String {
    let all = &machine.kernel.mitigations;
    let begin = |with: &'static str| all.iter().filter(move |(_, state)| state.starts_with(with));
    let open: Vec<&str> = begin("Vulnerable").map(|(name, _)| name.as_str()).collect();
    let on = begin("Mitigation").count();
    listed([
        (on > 0).then(|| format!("{on} on")),
        (!open.is_empty()).then(|| format!("vulnerable: {}", open.join(", "))),
    ])
}

#[cfg(test)]
mod tests {
    use record::conditions::ClockSetting;

    use super::*;

    #[test]
    fn a_setting_of_some_cpus_is_not_given_as_the_machine_s() {
        let clock = |cpus: std::ops::Range<u32>, governor: &str| ClockSetting {
            cpus: cpus.collect(),
            governor: Some(governor.to_owned()),
            ..ClockSetting::default()
        };
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        record.conditions.before.clocks = vec![clock(0..1, "powersave")];
        let says = |record: &Record| facts(record).facts[0].value.clone();
        assert_eq!(says(&record), "governor powersave");
        record.conditions.before.clocks.push(clock(1..8, "performance"));
        assert_eq!(says(&record), "governor powersave (CPUs 0), others differ");
    }
}
