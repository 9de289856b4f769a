//! Causes of slow machines that are visible in summaries: facts that differ from the class, and other measured activity.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use diagnose::{Fact, facts};
use record::fleet::{Family, FleetCause};
use record::text::Value;
use record::{Template, Text, text};

use crate::brief::Brief;
use crate::group::Group;
use crate::robust::median;
use Family::{
    AllCpus, Core, CoreToCore, KernelCosts, MemoryBandwidth, MemoryLatency, Nodes, SlowestCpu, WakeUp,
};

/// A function that returns the share of a machine's CPU time that other processes or other guests used.
type Part = fn(&Brief) -> Option<f64>;

/// A fact that can make a machine slow.
struct Rule {
    /// The fact's place in a record.
    from: &'static str,
    /// Families of which at least one must be slow.
    shows_in: Vec<Family>,
    /// Families that may also be slow.
    acts_on: Vec<Family>,
}

const CLOCK: &[Family] =
    &[Core, AllCpus, MemoryLatency, MemoryBandwidth, CoreToCore, WakeUp, KernelCosts, Nodes];
const MEMORY: &[Family] = &[MemoryBandwidth, MemoryLatency, Nodes, AllCpus];
const CPUS: &[Family] = &[AllCpus, MemoryBandwidth];
const KERNEL: &[Family] = &[KernelCosts, WakeUp, AllCpus, CoreToCore];
const ANY: &[Family] = Family::ALL;
/// Names for groups of families.
const GROUPS: [(&str, &[Family]); 5] =
    [("clock", CLOCK), ("memory", MEMORY), ("work of CPUs", CPUS), ("kernel", KERNEL), ("any", ANY)];

/// Rules in the order of their table.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let lines = include_str!("causes.txt").lines().filter(|line| !line.starts_with('#'));
    let rules = lines.filter_map(|line| {
        let mut cells = line.split(" :: ");
        Some(Rule {
            from: cells.next()?,
            shows_in: families(cells.next()?),
            acts_on: families(cells.next()?),
        })
    });
    rules.collect()
});

/// Parses the names of families.
fn families(words: &str) -> Vec<Family> {
    let named = |word: &str| match GROUPS.iter().find(|(group, _)| *group == word) {
        Some((_, all)) => all.to_vec(),
        None => ANY.iter().copied().filter(|family| family.word() == word).collect(),
    };
    words.split(", ").flat_map(named).collect()
}

/// A value explains nothing if at least this share of the machines that are not slow also has it.
const USUAL: f64 = 0.2;
/// Smaller differences between shares of CPU time are insignificant.
const TAKEN: f64 = 0.02;
/// Lost CPU time counts as the cause of a loss only if it exceeds the usual share by at least this part of the loss.
const LEAST_PART: f64 = 0.1;

/// The cause is a fact that no rule covers and that no other machine of the class shares.
pub(crate) const ONLY_HERE: Template =
    Template::new("fleet-cause-only-here", "only on this machine: {what} {value} ({usual} on all others)");
/// No visible cause.
pub(crate) const BY_NONE: Template =
    Template::new("fleet-cause-none", "inventory and settings match the class");

/// No visible cause, but the record lacks facts that other machines of the class have.
const UNKNOWN: Template =
    Template::new("fleet-cause-unknown", "not recorded: {facts}; all else matches the class");

/// Causes that take CPU time: other processes, and other guests.
const BY_OTHERS: Template = Template::new(
    "fleet-cause-others",
    "other processes used {share} of this machine's CPUs during the run, but {usual} on the other machines",
);
const BY_STEAL: Template = Template::new(
    "fleet-cause-steal",
    "steal time was {share} of this machine's CPU time, but {usual} on the other machines",
);

/// A machine to explain.
pub(crate) struct Case<'a> {
    /// The machine's class.
    pub(crate) group: &'a Group<'a>,
    /// The machine.
    pub(crate) at: usize,
    /// Whether each machine of the class is slow.
    pub(crate) slow: &'a [bool],
    /// The slow families, with the machine's speed in each.
    pub(crate) families: &'a [(Family, f64)],
    /// The speed of the machine's clock relative to the class, if the clock is slow.
    pub(crate) clock: Option<f64>,
}

/// Possible explanations, likeliest first; never empty.
pub(crate) fn find_causes(case: &Case) -> Vec<FleetCause> {
    let Some(machine) = case.group.members.get(case.at) else { return Vec::new() };
    let mut found: Vec<(f64, FleetCause)> = Vec::new();
    let mut add = |likely: Option<f64>, by: f64, says: Text, fact: Option<&Fact>| {
        if let Some(likely) = likely.filter(|likely| *likely > 0.0) {
            let code = fact.map_or(says.code(), |fact| fact.what.code()).unwrap_or_default().to_owned();
            found.push((likely * by, FleetCause { code, says }));
        }
    };
    if let Some((_, speed)) = case.families.iter().find(|(family, _)| *family == SlowestCpu) {
        let cpu = machine.slowest_cpu.map_or_else(|| "?".to_owned(), |cpu| cpu.to_string());
        let share = Value::Share(*speed);
        let says = text!("fleet-cause-slowest-cpu", "CPU {cpu} runs at {share} of the other CPUs' clock");
        add(case.likelihood(&[SlowestCpu], ANY), 2.0, says, None);
    }
    for (number, rule) in RULES.iter().enumerate() {
        let mut known = facts().iter().enumerate();
        let Some((at, fact)) = known.find(|(_, fact)| fact.from == rule.from) else { continue };
        let Some((says, unusual)) = case.differs(machine, at) else { continue };
        // Each later rule counts slightly less, so that causes precede their consequences.
        let by = unusual * (1.0 - 1e-3 * number as f64);
        add(case.likelihood(&rule.shows_in, &rule.acts_on), by, says, Some(fact));
    }
    let taken: [Part; 2] = [|brief| brief.others, |brief| brief.steal];
    for (of, by) in taken.into_iter().zip([BY_OTHERS, BY_STEAL]) {
        let Some((share, usual)) = case.takes_more(machine, of) else { continue };
        add(case.likelihood(ANY, ANY), 0.9, text!(by, share, usual), None);
    }
    if let Some(speed) = case.clock {
        let usual = case.sound().filter(|member| member.throttled.unwrap_or(0) > 0).count();
        if let Some(times) = machine.throttled.filter(|times| *times > 0 && usual == 0) {
            let says = text!("the clock was throttled by heat (throttle events during the run: {times})");
            add(case.likelihood(&[Core], CLOCK), 1.0, says, None);
        }
        let speed = Value::Share(speed);
        let says = text!(
            "fleet-cause-clock",
            "core clock at {speed} of the class median: limited by power, heat or firmware"
        );
        add(case.likelihood(&[Core], CLOCK), 0.7, says, None);
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut causes: Vec<FleetCause> = found.into_iter().map(|(_, cause)| cause).collect();
    case.add_only_here(machine, &mut causes);
    if causes.is_empty() {
        let is_known = |at: usize| case.sound().any(|member| member.fact(at).is_some());
        let unknown =
            facts().iter().enumerate().filter(|(at, _)| machine.fact(*at).is_none() && is_known(*at));
        let unknown: Vec<Text> = unknown.map(|(_, fact)| fact.what.clone()).collect();
        let says = if unknown.is_empty() { text!(BY_NONE) } else { text!(UNKNOWN, facts = unknown) };
        causes.push(FleetCause { code: BY_NONE.code.to_owned(), says });
    }
    causes
}

impl Case<'_> {
    /// The machines of the class that are not slow.
    fn sound(&self) -> impl Iterator<Item = &Brief> {
        let all = self.group.members.iter().zip(self.slow).enumerate();
        all.filter(|(at, (_, slow))| !**slow && *at != self.at).map(|(_, (member, _))| *member)
    }

    /// The part of the machine's loss that a cause with these families would explain, minus the part that it would not explain; `None` if
    /// no affected family is slow.
    fn likelihood(&self, shows_in: &[Family], acts_on: &[Family]) -> Option<f64> {
        let loss = |(_, speed): &(Family, f64)| -speed.ln();
        let is = |families: &[Family], of: &(Family, f64)| families.contains(&of.0);
        self.families.iter().any(|of| is(shows_in, of)).then_some(())?;
        let all: f64 = self.families.iter().map(loss).sum();
        let shown: f64 = self.families.iter().filter(|of| is(shows_in, of)).map(loss).sum();
        let explained: f64 = self.families.iter().filter(|of| is(acts_on, of)).map(loss).sum();
        Some(((2.0 * explained - all) / all).max(0.01) * (0.5 + 0.5 * shown / all))
    }

    /// Adds facts in which only this machine differs while all others of the class agree, unless a rule has already
    /// covered them.
    fn add_only_here(&self, machine: &Brief, causes: &mut Vec<FleetCause>) {
        for (number, fact) in facts().iter().enumerate() {
            let code = fact.what.code().unwrap_or_default();
            let others = self.group.members.iter().enumerate().filter(|(at, _)| *at != self.at);
            let mut others = others.map(|(_, member)| member.fact(number));
            let (Some(own), Some(Some(usual))) = (machine.fact(number), others.next()) else { continue };
            let alone = own != usual && others.all(|value| value == Some(usual));
            if alone && causes.iter().all(|cause| cause.code != code) {
                let [value, usual] = [own, usual].map(|value| self.group.known.value(value).to_owned());
                let says = text!(ONLY_HERE, what = fact.what.clone(), value, usual);
                causes.push(FleetCause { code: code.to_owned(), says });
            }
        }
    }

    /// If a fact of the machine differs from most of its class, returns the difference and the rarity of the value.
    fn differs(&self, machine: &Brief, number: usize) -> Option<(Text, f64)> {
        let fact = facts().get(number)?;
        let own = machine.fact(number)?;
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for value in self.sound().filter_map(|member| member.fact(number)) {
            *counts.entry(value).or_default() += 1;
        }
        let all: usize = counts.values().sum();
        let (usual, count) = counts.iter().max_by_key(|(_, count)| **count)?;
        let alike = counts.get(&own).copied().unwrap_or(0) as f64 / all as f64;
        if own == *usual || alike >= USUAL {
            return None;
        }
        let says = text!(
            "{what}: {value} ({share} of the others: {usual})",
            what = fact.what.clone(),
            value = self.group.known.value(own),
            usual = self.group.known.value(*usual),
            share = Value::Share(*count as f64 / all as f64)
        );
        Some((says, 1.0 - alike))
    }

    /// This machine's share of lost CPU time and the usual share, if the difference is large enough to be the cause.
    fn takes_more(&self, machine: &Brief, of: fn(&Brief) -> Option<f64>) -> Option<(Value, Value)> {
        let own = of(machine)?;
        let usual = median(self.sound().filter_map(of).collect());
        let loss = self.families.iter().map(|(_, speed)| 1.0 - speed).fold(0.0, f64::max);
        (own - usual > TAKEN.max(LEAST_PART * loss)).then_some((Value::Share(own), Value::Share(usual)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_of_a_fact_and_of_families_that_there_are() {
        assert_eq!(RULES.len(), 34);
        for rule in RULES.iter() {
            assert!(facts().iter().any(|fact| fact.from == rule.from), "{}", rule.from);
        }
        for line in include_str!("causes.txt").lines().filter(|line| !line.starts_with('#')) {
            for word in line.split(" :: ").skip(1).flat_map(|cell| cell.split(", ")) {
                assert!(!families(word).is_empty(), "{line}: {word}");
            }
        }
    }
}
