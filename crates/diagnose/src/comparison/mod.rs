//! Compares records: the differences, their size and explanation, and each machine's gain from another machine's best
//! setting. Pure functions of records.

mod averages;
mod commands;
pub(crate) mod datum;
mod derived_rows;
mod explain;
pub(crate) mod facts;
mod gate;
mod level_rows;
mod method;
pub(crate) mod nodes;
mod order;
mod programs;
mod projection;
mod ratio;
mod row_builder;
mod row_figures;
mod row_names;
mod rows;
mod suggestions;
mod table;
mod uncompared;
mod verdict;
mod watches;
mod work;

use std::collections::HashMap;

use record::comparison::{COMPARISON_VERSION, Comparison, Relation, Subject};
use record::document::Tool;
use record::phrase::count_noun;
use record::{Coverage, Ended, Machine, Record, Template, Text, text};

use crate::cpu_accounting::disturbance;

pub use gate::{LEAST_BOUND, Ungated, gate, gate_turns};
pub use method::remark_scope;
pub(crate) use row_figures::name_alone;
pub use row_figures::{Figure, RowFigure, row_figures};
use rows::Rows;
pub use suggestions::{comparable_references, suggest};
pub use table::OTHER_COMMAND;
pub use uncompared::{drop_uncompared, ignore_commands};
pub use verdict::TOO_NOISY;

/// Each record gets its own notes if there are at most this many records.
const FEW: usize = 6;

/// A record in a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The record's name; duplicate names get a number.
    pub name: &'a str,
    /// The record's source.
    pub source: &'a str,
    /// The record.
    pub record: &'a Record,
}

/// The level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Includes only summarized results, for display.
    Summary,
    /// Also includes every result that two records share.
    All,
}

/// One side of a comparison; its record is analyzed only once.
pub(crate) struct Known<'a> {
    pub(crate) name: String,
    pub(crate) record: &'a Record,
    pub(crate) rows: Rows,
}

/// Compares records with the record at index `baseline` (the last one if out of range).
pub fn compare(sides: &[Side], baseline: usize, tool: Tool, extent: Extent) -> Comparison {
    let baseline = baseline.min(sides.len().saturating_sub(1));
    let mut comparison = begin(sides, baseline, tool);
    let relation = comparison.relation;
    if sides.iter().all(|side| side.record.watch.is_some()) {
        watches::compare(&mut comparison, sides);
        return comparison;
    }
    let has_average = |side: &Side| side.record.measurements_of(averages::AVERAGE).next().is_some();
    let averages = sides.iter().any(has_average);
    let commands = sides.iter().all(|side| work::is_of_command(side.record));
    let only = work::OnlySizes::of(sides.iter().map(|side| side.record), commands);
    let known = sides.iter().zip(&comparison.subjects).map(|(side, subject)| {
        let (record, name) = (side.record, subject.name.clone());
        let mut rows = row_builder::build_rows(&crate::RecordIndex::new(record), commands, &only);
        if averages {
            averages::add_averages(record, &mut rows);
        }
        Known { name, record, rows }
    });
    let known: Vec<Known> = known.collect();
    for (one, subject) in known.iter().zip(&mut comparison.subjects) {
        let others = || known.iter().filter(|other| other.name != one.name);
        let alone = one.rows.keys().filter(|key| !others().any(|other| other.rows.contains_key(*key)));
        subject.alone = alone.filter(|key| key.better().is_some()).map(|key| key.metric).collect();
    }
    let (rows, refused) = table::build_rows(&known, baseline);
    comparison.refused = refused;
    if extent == Extent::All {
        comparison.figures = table::build_figures(&known, baseline);
    }
    if relation != Relation::SameRecord {
        comparison.explanations = explain::explain_results(&known, baseline, relation);
        comparison.what_if = projection::project_settings(&known, baseline, &comparison.explanations);
    }
    comparison.orders = order::build_orders(&rows, &known);
    let sampling = averages::note_sampling(&known, &rows);
    let programs = programs::note_programs(&known, &rows);
    comparison.rows = rows.into_iter().map(|row| row.row).collect();
    comparison.notes = note_whole(&comparison);
    comparison.notes.extend(sampling.into_iter().chain(programs));
    comparison.answer = verdict::state_verdict(&comparison, &facts::find_one_sided(&known));
    let differs = comparison.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.slower.is_some());
    if differs || !comparison.explanations.is_empty() {
        comparison.answer.extend(state_disturbed(&known));
    }
    if relation == Relation::Machines && known.len() <= FEW {
        for this in &known {
            comparison.within.extend(nodes::describe_nodes(this));
            comparison.within.extend(explain::describe_scaling(this));
        }
    }
    comparison
}

/// The records whose results allow few conclusions about their machines.
fn state_disturbed(known: &[Known]) -> Option<Text> {
    let why = |one: &Known| Some(text!("{who}: {why}", who = &*one.name, why = disturbance(one.record)?));
    let runs: Vec<Text> = known.iter().filter_map(why).take(FEW).collect();
    (!runs.is_empty()).then(|| text!("Disturbances may have caused some differences ({runs}).", runs))
}

/// Starts a comparison: the compared records, and the facts in which they differ.
fn begin(sides: &[Side], baseline: usize, tool: Tool) -> Comparison {
    let subjects = describe_subjects(sides);
    let records: Vec<&Record> = sides.iter().map(|side| side.record).collect();
    Comparison {
        comparison: COMPARISON_VERSION,
        tool,
        relation: relate(sides, &subjects),
        subjects,
        baseline,
        differences: facts::find_differences(&records),
        ..Comparison::default()
    }
}

/// Gives each record a unique name and notes.
fn describe_subjects(sides: &[Side]) -> Vec<Subject> {
    let mut taken: HashMap<&str, usize> = HashMap::new();
    let subjects = sides.iter().enumerate().map(|(index, side)| {
        let record = side.record;
        let plain = if side.name.trim().is_empty() { "record" } else { side.name.trim() };
        let count = taken.entry(plain).or_insert(0);
        *count += 1;
        Subject {
            name: if *count == 1 { plain.to_owned() } else { format!("{plain} ({count})") },
            source: side.source.to_owned(),
            started: record.started.clone(),
            machine: describe_machine(&record.machine),
            figures: u32::try_from(record.measurements.len()).unwrap_or(u32::MAX),
            imported: record.import.is_some(),
            alone: Vec::new(),
            newest: false,
            same_as: sides[..index].iter().position(|earlier| earlier.record == record),
            notes: note_record(record),
        }
    });
    subjects.collect()
}

/// A short description of a machine.
pub fn describe_machine(machine: &Machine) -> String {
    let counts = &machine.counts;
    let processor = machine.processor.model_name.as_ref().or(machine.processor.firmware_name.as_ref());
    let design = machine.processor.microarchitecture.as_ref().or(machine.processor.vendor.as_ref());
    let count = |n: Option<u32>, one: &str| n.map(|n| count_noun(n, one));
    let hypervisor = machine.virtualization.hypervisor.as_deref().filter(|name| *name != "none");
    let parts = [
        processor.or(design).cloned(),
        count(counts.packages, "socket"),
        count(counts.cores, "core"),
        count(counts.cpus_online, "CPU"),
        count(counts.nodes.filter(|nodes| *nodes > 1), "NUMA node"),
        machine.memory_bytes.map(record::units::bytes),
        hypervisor.map(|name| format!("under {name}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn note_record(record: &Record) -> Vec<Text> {
    let emulated = record.machine.virtualization.emulated == Some(true);
    let ended = match &record.ended {
        Ended::Complete => None,
        Ended::Interrupted { signal } => {
            let signal = signal.to_string();
            Some(text!("ended early by signal {signal}"))
        }
        Ended::Failed { reason } => Some(text!("ended early: {reason}", reason = reason.to_string())),
    };
    let imported = text!("imported from other tools' output");
    let withheld = record.coverage.iter().filter(|line| line.is_for(&Coverage::CHANGED_OR_DAMAGED)).count();
    let withheld = (withheld > 0).then(|| {
        let figures = count_noun(withheld, "result");
        text!("changed or damaged; {figures} omitted")
    });
    let empty = text!("inventory only, no results");
    let notes = [
        emulated.then(|| text!(Coverage::EMULATED)),
        ended,
        record.import.is_some().then_some(imported),
        withheld,
        (record.measurements.is_empty() && record.watch.is_none()).then_some(empty),
    ];
    notes.into_iter().flatten().collect()
}

fn relate(sides: &[Side], subjects: &[Subject]) -> Relation {
    if subjects.len() > 1 && subjects.iter().skip(1).all(|subject| subject.same_as == Some(0)) {
        return Relation::SameRecord;
    }
    let first = sides.first().and_then(|side| identify_machine(side.record));
    if first.is_some() && sides.iter().all(|side| identify_machine(side.record) == first) {
        Relation::SameMachine
    } else {
        Relation::Machines
    }
}

/// The identity of the machine, which is equal in two records of the same machine; `None` if it is unknown.
fn identify_machine(record: &Record) -> Option<impl PartialEq> {
    let machine = &record.machine;
    let p = &machine.processor;
    // If no host name is set, the kernel reports (none).
    let host = machine.hostname.as_deref().filter(|name| !matches!(*name, "" | "(none)"))?;
    let processor = (&p.vendor, &p.model_name, p.family, p.model, p.implementer);
    Some((host, &machine.architecture, &machine.system.vendor, &machine.system.product, processor))
}

/// All are the same record.
const SAME_RECORD: Template = Template::new("comparison-same-record", "All are the same record.");

fn note_whole(comparison: &Comparison) -> Vec<Text> {
    let subjects = &comparison.subjects;
    let mut notes = Vec::new();
    match comparison.relation {
        Relation::SameRecord => notes.push(text!(SAME_RECORD)),
        Relation::SameMachine => {
            notes.push(text!("Records of the same machine: differences are changes over time."))
        }
        Relation::Machines => {}
    }
    let different = subjects.iter().filter(|_| comparison.relation != Relation::SameRecord);
    notes.extend(different.filter_map(|subject| {
        let (name, other) = (&subject.name, &subjects.get(subject.same_as?)?.name);
        Some(text!("{name} is the same record as {other}."))
    }));
    let of_commands = comparison.refused.iter().filter(|refusal| refusal.why.is(&table::OTHER_COMMAND));
    let of_commands: Vec<Text> = of_commands
        .map(|refusal| {
            text!(
                "comparison-commands-differ",
                "The records are of {why}. Their results are not compared; use --different-commands to compare them anyway.",
                why = &refusal.why
            )
        })
        .collect();
    if !of_commands.is_empty() {
        notes.extend(of_commands);
    } else if comparison.rows.is_empty() {
        let all_have_figures = subjects.iter().all(|subject| subject.figures > 0);
        // The reason that applies to most results comes first.
        notes.push(match (comparison.refused.first(), all_have_figures) {
            (Some(refusal), _) => text!(
                "comparison-nothing-comparable",
                "No common result is comparable: {why}.",
                why = refusal.why.clone()
            ),
            (None, true) => {
                text!("comparison-no-shared-metric", "No common metric; only the inventories are compared.")
            }
            (None, false) => text!("At most one record has results; only the inventories are compared."),
        });
    }
    notes
}

#[cfg(test)]
mod conclusions;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod not_concluded;
#[cfg(test)]
mod tests;
