//! By which programs the same work was done: what a figure of linespeed's own loop and one of another program differ by
//! besides the machines.

use std::collections::BTreeMap;

use record::{Label, Text, text};

use super::Known;
use super::table::TableRow;
use super::work::{Program, Works};

/// By what programs work was done that a loop of linespeed's did on one side and another program on the other.
pub(super) fn note_programs(known: &[Known], rows: &[TableRow]) -> Vec<Text> {
    let works: Vec<Works> = known.iter().map(|known| Works::of(known.record, false)).collect();
    let mut notes = BTreeMap::new();
    for row in
        rows.iter().filter(|row| matches!(row.key.metric.as_str(), "workload.throughput" | "workload.time"))
    {
        let sides = known.iter().zip(&works).filter_map(|(known, works)| {
            let entry = known.rows.get(row.key)?;
            let work = works.named(entry.place.word(Label::Workload)?)?;
            Some((known, &work.program))
        });
        let sides: Vec<(&Known, &Program)> = sides.collect();
        let own = sides.iter().filter(|(_, program)| matches!(program, Program::Own(_))).count();
        if own == 0 || own == sides.len() {
            continue;
        }
        let each = Text::sequence(sides.into_iter().map(|(known, program)| match program {
            Program::Own(workload) => text!(
                "comparison-program-own",
                "{name}: linespeed's {workload}, linespeed {version}.",
                name = &known.name,
                workload = (*workload).to_owned(),
                version = &known.record.tool.version
            ),
            Program::Other(program) => text!(
                "comparison-program-other",
                "{name}: {program}, version and compiler not recorded.",
                name = &known.name,
                program
            ),
        }));
        let work = row.key.subject.clone();
        let note = text!(
            "comparison-programs-differ",
            "{work}: the same work by different programs. {each}",
            work = &work,
            each
        );
        notes.entry(work).or_insert(note);
    }
    notes.into_values().collect()
}
