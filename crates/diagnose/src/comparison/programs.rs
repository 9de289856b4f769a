//! Different programs that do the same work (linespeed's own loop, another program, or another version). Results may then differ because of
//! the programs rather than the machines.

use std::collections::{BTreeMap, BTreeSet};

use record::{Label, Text, metrics, text};

use super::Known;
use super::table::TableRow;
use super::work::{Program, Work, Works};

/// Notes work done by different programs.
pub(super) fn note_programs(known: &[Known], rows: &[TableRow]) -> Vec<Text> {
    let works: Vec<Works> = known.iter().map(|known| Works::of(known.record, false)).collect();
    let mut notes = BTreeMap::new();
    let is_of_work =
        |row: &&TableRow| matches!(row.key.metric, metrics::WORKLOAD_THROUGHPUT | metrics::WORKLOAD_TIME);
    for row in rows.iter().filter(is_of_work) {
        let sides = known.iter().zip(&works).filter_map(|(known, works)| {
            let entry = known.rows.get(row.key)?;
            let work = works.named(entry.place.word(Label::Workload)?)?;
            Some((known, work))
        });
        let sides: Vec<(&Known, &Work)> = sides.collect();
        let own = sides.iter().filter(|(_, work)| matches!(work.program, Program::Own(_))).count();
        let versions: BTreeSet<_> = sides.iter().map(|(_, work)| work.version.as_deref()).collect();
        if own == sides.len() || own == 0 && versions.len() < 2 {
            continue;
        }
        let each = sides.into_iter().map(|(known, work)| {
            let by = match (&work.program, &work.version) {
                (Program::Own(workload), _) => {
                    format!("linespeed's {workload}, linespeed {}", known.record.tool.version)
                }
                (Program::Other(program), Some(version)) => {
                    let program = program.split(' ').next().unwrap_or_default();
                    format!("{program} {version}, compiler not recorded")
                }
                (Program::Other(program), None) => format!("{program}, version and compiler not recorded"),
            };
            format!("{}: {by}.", known.name)
        });
        let each = each.collect::<Vec<_>>().join(" ");
        let work = row.key.subject.clone();
        let note = text!(
            "comparison-programs-differ",
            "{work}: different programs did the same work. {each}",
            work = &work
        );
        notes.entry(work).or_insert(note);
    }
    notes.into_values().collect()
}
