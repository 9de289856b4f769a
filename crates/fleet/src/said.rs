//! Converts summaries into the report on a fleet.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use diagnose::{Kind, facts};
use record::baseline::ClassFigure;
use record::difference::WORTH_TELLING;
use record::document::Tool;
use record::fleet::{
    Camp, Class, Drift, FLEET_VERSION, FactValue, Family, Fleet, MachineCell, MachineRow, Reading, Remark,
    Slow, SlowFigure, Varying,
};
use record::phrase::{join_list, visible};
use record::{Template, Text, metrics, text};

use crate::brief::{Brief, Known, is_judged, log_speed};
use crate::camps::{Division, find_camps, take_out_drifts, take_out_two_valued};
use crate::causes::{Case, find_causes};
use crate::confirm::{confirm, hold_against_each_other};
use crate::group::{Group, LEAST};
use crate::judge::{FamilyJudged, Judged, judge_families};
use crate::machines::remark;
use crate::robust::{median, scale, simes, taken_up_to};

/// The maximum share of false positives among the machines reported as slow.
const WRONG: f64 = 0.05;
/// Maximum number of values listed for a fact.
const MOST_VALUES: usize = 4;
/// Maximum number of earlier collections compared.
const MOST_COLLECTIONS: usize = 8;
/// Machines without results that others have. If too few others have them, these results are not judged at all.
const MISSING: Template = Template::new(
    "fleet-missing",
    "no results for {families}, unlike {peers} peers; they are judged if {least} machines have them",
);

/// The summaries to judge.
pub struct Input<'a> {
    /// One summary per record.
    pub briefs: &'a [Brief],
    /// Indexes of summaries, one list per collection. The first list has the newest record of each machine
    /// ([`newest_of_each`](crate::newest_of_each)).
    pub collections: &'a [Vec<usize>],
    /// Names and values shared by the summaries.
    pub known: &'a Known,
}

/// A class and its results.
struct Judgement<'a> {
    group: Group<'a>,
    division: Option<Division>,
    drifts: Vec<(u32, f64)>,
    two_valued: Vec<u32>,
    families: Vec<FamilyJudged>,
    /// For each machine, the indexes of the families in which it is slow.
    slow_in: Vec<Vec<usize>>,
}

/// Judges a fleet.
pub fn judge_fleet(input: &Input, tool: Tool, mut reading: Reading) -> Fleet {
    let of = |collection: &Vec<usize>| judge_machines(input, collection);
    let newest = input.collections.first().map(of).unwrap_or_default();
    let earlier = input.collections.iter().skip(1).take(MOST_COLLECTIONS).map(of);
    let mut before: HashMap<&str, (u32, u32)> = HashMap::new();
    for judgement in earlier.flatten().filter(|judgement| !judgement.families.is_empty()) {
        for (member, slow_in) in judgement.group.members.iter().zip(&judgement.slow_in) {
            let count = before.entry(member.machine.as_str()).or_default();
            *count = (count.0 + u32::from(!slow_in.is_empty()), count.1 + 1);
        }
    }
    let mut slow = Vec::new();
    let mut classes = Vec::new();
    for (number, judgement) in newest.iter().enumerate() {
        classes.push(judgement.class());
        judgement.note_missing(&mut reading.remarks);
        slow.extend((0..judgement.group.members.len()).filter_map(|at| judgement.slow(at, number, &before)));
    }
    let worst = |slow: &Slow| slow.figures.first().map_or(1.0, |figure| figure.speed);
    slow.sort_by(|a, b| worst(a).total_cmp(&worst(b)));
    let judged = newest.iter().any(|judgement| !judgement.families.is_empty());
    let instead = if judged { Vec::new() } else { suggest(&newest) };
    // A set, because several slow machines may have the same host name.
    let hosts: BTreeSet<&str> = slow.iter().map(|slow| slow.host.as_str()).collect();
    let confirm = confirm(&Vec::from_iter(hosts));
    Fleet { fleet: FLEET_VERSION, tool, reading, classes, slow, instead, confirm }
}

/// Commands to suggest if there are too few machines. They use the records of the largest class or, if no class has several machines or if
/// it is only one of several groups of similar machines, one record of each class.
fn suggest(judgements: &[Judgement]) -> Vec<String> {
    let is_whole = |one: &&Judgement| one.group.members.len() > 1 && one.division.is_none();
    let members: Vec<&Brief> = match judgements.first().filter(is_whole) {
        Some(largest) => largest.group.members.clone(),
        None => judgements.iter().filter_map(|one| one.group.members.first().copied()).collect(),
    };
    hold_against_each_other(&members.iter().map(|member| member.called.as_path()).collect::<Vec<_>>())
}

/// Compares these records with each other, class by class.
fn judge_machines<'a>(input: &Input<'a>, records: &[usize]) -> Vec<Judgement<'a>> {
    let briefs = records.iter().filter_map(|at| input.briefs.get(*at));
    let briefs: Vec<&Brief> = briefs.filter(|brief| brief.kind.knows_processor()).collect();
    let mut judgements: Vec<Judgement> = Vec::new();
    for members in by_kind(&briefs) {
        for (mut group, division) in find_camps(Group::new(input.known, members)) {
            let two_valued = take_out_two_valued(&mut group);
            let drifts = take_out_drifts(&mut group);
            let families = if group.members.len() < LEAST { Vec::new() } else { judge_families(&group) };
            let slow_in = vec![Vec::new(); group.members.len()];
            judgements.push(Judgement { group, division, drifts, two_valued, families, slow_in });
        }
    }
    judgements.sort_by_key(|judgement| std::cmp::Reverse(judgement.group.members.len()));
    // For each family, the probability that a machine is this slow by chance. Slow machines are determined by one test over all classes.
    let chances = |judgement: &Judgement, at: usize| -> Vec<(usize, f64)> {
        let families = judgement.families.iter().enumerate();
        families.filter_map(|(number, family)| Some((number, family.chance(at)?))).collect()
    };
    let only = |of: &[(usize, f64)]| of.iter().map(|(_, chance)| *chance).collect::<Vec<f64>>();
    let all = judgements.iter().flat_map(|judgement| {
        (0..judgement.group.members.len()).map(|at| only(&chances(judgement, at))).collect::<Vec<_>>()
    });
    let cut = taken_up_to(all.filter(|of| !of.is_empty()).map(simes).collect(), WRONG);
    for judgement in &mut judgements {
        let slow_in = (0..judgement.group.members.len()).map(|at| {
            let of = chances(judgement, at);
            let cut = taken_up_to(only(&of), cut);
            let is_beyond = |number: usize| judgement.families[number].slowest(at).is_some();
            let slow = of.into_iter().filter(|(number, chance)| *chance <= cut && is_beyond(*number));
            slow.map(|(number, _)| number).collect()
        });
        judgement.slow_in = slow_in.collect();
    }
    judgements
}

/// Machines by their kind. A machine whose kind is only partly known joins a kind if exactly one fits.
fn by_kind<'a>(briefs: &[&'a Brief]) -> Vec<Vec<&'a Brief>> {
    let mut kinds: BTreeMap<&Kind, Vec<&Brief>> = BTreeMap::new();
    for brief in briefs {
        kinds.entry(&brief.kind).or_default().push(brief);
    }
    let mut order: Vec<(&Kind, Vec<&Brief>)> = kinds.into_iter().collect();
    order.sort_by_key(|(kind, members)| std::cmp::Reverse((kind.count_known(), members.len())));
    let mut classes: Vec<(&Kind, Vec<&Brief>)> = Vec::new();
    for (kind, members) in order {
        let mut fitting = classes
            .iter_mut()
            .filter(|(known, _)| known.fits(kind) && known.count_known() > kind.count_known());
        match (fitting.next(), fitting.next()) {
            (Some((_, class)), None) => class.extend(members),
            _ => classes.push((kind, members)),
        }
    }
    classes.into_iter().map(|(_, members)| members).collect()
}

impl Judgement<'_> {
    fn value(&self, fact: usize, value: Option<u32>) -> Option<FactValue> {
        let fact = facts().get(fact)?;
        let value = value.map_or("none", |value| self.group.known.value(value)).to_owned();
        Some(FactValue { what: fact.what.clone(), from: fact.from.clone(), value })
    }

    fn camp(&self) -> Option<Camp> {
        let division = self.division.as_ref()?;
        let figure = self.group.known.figure(division.figure?)?;
        Some(Camp {
            by: division.by.iter().filter_map(|(fact, value)| self.value(*fact, *value)).collect(),
            what: figure.what.clone(),
            speed: division.slower_by.exp(),
        })
    }

    /// The displayed columns: all judged columns or, if there are too few machines to judge, all columns.
    fn columns(&self) -> Vec<Judged> {
        if !self.families.is_empty() {
            return self.families.iter().flat_map(|family| family.columns.iter().cloned()).collect();
        }
        let plain = self.group.columns.iter().map(|column| Judged {
            middle: median(column.logs()),
            scale: scale(&column.logs()).unwrap_or(0.0),
            z: vec![0.0; column.cells.len()],
            chance: vec![1.0; column.cells.len()],
            column: column.clone(),
        });
        plain.collect()
    }

    fn class(&self) -> Class {
        let (group, columns) = (&self.group, self.columns());
        let medoid = group.medoid().and_then(|at| group.members.get(at)).copied();
        let first = group.members.first();
        let known = |column: &Judged| group.known.figure(column.column.figure?);
        let figure = |column: &Judged| {
            let (figure, number) = (known(column)?, column.column.figure?);
            let points = group.members.iter().filter_map(|member| member.figures.get(&number));
            let values: Vec<f64> = points.map(|point| point.value).collect();
            Some(ClassFigure {
                what: figure.what.clone(),
                metric: figure.metric,
                unit: figure.unit.clone(),
                better: figure.better,
                labels: figure.labels.clone(),
                machines: values.len() as u32,
                median: median(values),
                scale: (!self.families.is_empty()).then_some(column.scale),
            })
        };
        let row = |(at, member): (usize, &&Brief)| {
            let cells = columns.iter().map(|column| {
                let point = member.figures.get(&column.column.figure?)?;
                let speed = column.loss(at)?.exp();
                let z = column.z.get(at).copied().unwrap_or(0.0);
                Some(MachineCell { value: point.value, interval: point.interval, speed, z })
            });
            MachineRow {
                machine: member.machine.clone(),
                source: visible(&member.called),
                started: member.started.clone(),
                slow: self.slow_in.get(at).is_some_and(|slow_in| !slow_in.is_empty()),
                cells: cells.collect(),
            }
        };
        let of_kind = facts().iter().enumerate().filter(|(_, fact)| fact.is_of_kind());
        let what = |number: &u32| Some(group.known.figure(*number)?.what.clone());
        let drift = |(number, moved): &(u32, f64)| Some(Drift { what: what(number)?, speed: moved.exp() });
        Class {
            name: medoid.map_or(String::new(), |medoid| medoid.machine_is.clone()),
            facts: of_kind.filter_map(|(at, _)| self.value(at, Some(first?.fact(at)?))).collect(),
            camp: self.camp(),
            machines: group.members.len() as u32,
            judged: !self.families.is_empty(),
            note: self.note(),
            medoid: medoid.map_or(String::new(), |medoid| medoid.machine.clone()),
            medoid_path: medoid.map_or_else(Default::default, |medoid| medoid.path.clone()),
            figures: columns.iter().filter_map(figure).collect(),
            families: columns.iter().map(|column| column.column.family).collect(),
            varying: self.varying(),
            two_valued: self.two_valued.iter().filter_map(what).collect(),
            drifts: self.drifts.iter().filter_map(drift).collect(),
            rows: group.members.iter().enumerate().map(row).collect(),
        }
    }

    /// Facts in which the machines of the class differ.
    fn varying(&self) -> Vec<Varying> {
        let vary = |at: usize| {
            let fact = facts().get(at)?;
            let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
            let known = self.group.members.iter().filter_map(|member| member.fact(at));
            known.for_each(|value| *counts.entry(value).or_default() += 1);
            let mut counts: Vec<(u32, u32)> = counts.into_iter().collect();
            counts.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
            (counts.len() > 1).then_some(())?;
            let only = match counts.as_slice() {
                [(_, others), (own, 1)] if *others as usize + 1 >= LEAST => {
                    let is_own = |member: &&&Brief| member.fact(at) == Some(*own);
                    self.group.members.iter().find(is_own)
                }
                _ => None,
            };
            let only = only.map(|member| member.machine.clone());
            let named = counts.iter().take(MOST_VALUES);
            let values = named.map(|(value, count)| (self.group.known.value(*value).to_owned(), *count));
            Some(Varying { what: fact.what.clone(), from: fact.from.clone(), values: values.collect(), only })
        };
        (0..facts().len()).filter_map(vary).collect()
    }

    /// The reason why no machine of the class can be reported as slow.
    fn note(&self) -> Option<Text> {
        if !self.families.is_empty() {
            return None;
        }
        let (machines, least) = (self.group.members.len(), LEAST);
        Some(match machines {
            ..2 => text!("fleet-alone", "one machine: nothing to compare it with"),
            LEAST.. => text!(
                "fleet-none-shared",
                "{machines} machines: too few to judge, because fewer than {least} of them share any result"
            ),
            _ => text!("{machines} machines; at least {least} are required to report one as slow"),
        })
    }

    /// Adds remarks about the machines without any result of a family that others of the class have: these results are compared only
    /// among the others, or not at all if too few have them.
    fn note_missing(&self, remarks: &mut Vec<Remark>) {
        let (members, known, least) = (&self.group.members, self.group.known, LEAST);
        let mut lacking: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for family in Family::ALL.iter().filter(|_| !self.families.is_empty()) {
            let is_of = |at: &u32| known.figure(*at).is_some_and(|of| of.family == *family && is_judged(of));
            let lacks = members.iter().filter(|member| !member.figures.keys().any(is_of));
            let lacks = lacks.map(|member| member.machine.clone()).collect();
            lacking.entry(lacks).or_default().push(family.word().to_owned());
        }
        for (machines, families) in lacking.into_iter().filter(|(lacks, _)| lacks.len() < members.len()) {
            let (families, peers) = (join_list(&families), members.len() - machines.len());
            let what = text!(MISSING, families, peers, least);
            machines.into_iter().for_each(|machine| remark(remarks, what.clone(), false, Some(machine)));
        }
    }

    /// The report on a machine; `None` if the machine is not slow.
    fn slow(&self, at: usize, class: usize, before: &HashMap<&str, (u32, u32)>) -> Option<Slow> {
        let slow_in = self.slow_in.get(at).filter(|slow_in| !slow_in.is_empty())?;
        let member = self.group.members.get(at)?;
        let families: Vec<&FamilyJudged> = slow_in.iter().filter_map(|at| self.families.get(*at)).collect();
        let core = families.iter().find(|family| family.family == Family::Core);
        let clock = core.and_then(|core| self.clock(core, at));
        let mut figures: Vec<SlowFigure> =
            families.iter().filter_map(|family| self.slow_figure(family, at, clock)).collect();
        // Results that are slow only because of the clock are listed last.
        figures.sort_by(|a, b| a.follows_clock.cmp(&b.follows_clock).then(a.speed.total_cmp(&b.speed)));
        let slow: Vec<bool> = self.slow_in.iter().map(|slow_in| !slow_in.is_empty()).collect();
        let speeds: Vec<(Family, f64)> = figures.iter().map(|figure| (figure.family, figure.speed)).collect();
        let case = Case { group: &self.group, at, slow: &slow, families: &speeds, clock };
        Some(Slow {
            machine: member.machine.clone(),
            host: member.host.as_ref().unwrap_or(&member.machine).clone(),
            source: visible(&member.called),
            path: member.path.clone(),
            started: member.started.clone(),
            class,
            causes: find_causes(&case),
            figures,
            explained: Vec::new(),
            before: before.get(member.machine.as_str()).copied().unwrap_or_default(),
        })
    }

    /// The speed of a machine's clock relative to the class, if the clock is slow.
    fn clock(&self, core: &FamilyJudged, at: usize) -> Option<f64> {
        let is_clock = |judged: &&Judged| {
            let figure = judged.column.figure.and_then(|figure| self.group.known.figure(figure));
            figure.is_some_and(|figure| figure.metric == metrics::CORE_CLOCK) && judged.is_beyond(at)
        };
        let losses = core.columns.iter().filter(is_clock).filter_map(|judged| judged.loss(at));
        losses.min_by(f64::total_cmp).map(f64::exp)
    }

    fn slow_figure(&self, family: &FamilyJudged, at: usize, clock: Option<f64>) -> Option<SlowFigure> {
        let judged = family.slowest(at)?;
        let figure = self.group.known.figure(judged.column.figure?)?;
        let point = self.group.members.get(at)?.figures.get(&judged.column.figure?)?;
        let loss = judged.loss(at)?;
        let log = |value: f64| (log_speed(figure, value) - log_speed(figure, point.value) + loss).exp();
        let ends = point.interval.map(|(low, high)| (log(low), log(high)));
        let left = loss - clock.map_or(0.0, f64::ln);
        let back = match figure.better {
            Some(record::Better::Lower) => loss.exp(),
            _ => (-loss).exp(),
        };
        Some(SlowFigure {
            family: family.family,
            what: figure.what.clone(),
            metric: figure.metric,
            unit: figure.unit.clone(),
            value: point.value,
            median: point.value * back,
            speed: loss.exp(),
            interval: ends.map(|(one, other)| (one.min(other), one.max(other))),
            chance: family.chance(at).unwrap_or(1.0),
            follows_clock: clock.is_some()
                && !matches!(family.family, Family::Core | Family::SlowestCpu)
                && left > -(WORTH_TELLING + judged.scale),
        })
    }
}
