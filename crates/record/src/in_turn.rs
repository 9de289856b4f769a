//! Access to the results of alternating commands in a record: the names of the commands, and the results of each
//! command.

use std::collections::{BTreeMap, BTreeSet};

use crate::command_line::comparable_name;
use crate::label::Label;
use crate::phrase::quote_word;
use crate::text::{Template, Text};
use crate::{Measurement, Record, detail, metrics};

/// The name of the workload if a record contains a single command.
pub const COMMAND: &str = "command";

/// Distinct names for commands, each of which is a list of words. A command is named as in comparisons of its runs if
/// that name is unique, otherwise as it was typed. A repeated command gets a number.
pub fn name_commands(commands: &[Vec<String>]) -> Vec<String> {
    let typed: Vec<String> = commands
        .iter()
        .map(|words| words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" "))
        .collect();
    let comparable: Vec<String> = typed.iter().map(|line| comparable_name(line)).collect();
    let is_once = |name: &String, all: &[String]| all.iter().filter(|other| *other == name).count() == 1;
    let mut names: Vec<String> = Vec::new();
    for (line, name) in typed.iter().zip(&comparable) {
        let name = if is_once(name, &comparable) && !name.is_empty() { name } else { line };
        let mut free = name.clone();
        let mut number = 1;
        while names.contains(&free) {
            number += 1;
            free = format!("{name} ({number})");
        }
        names.push(free);
    }
    names
}

/// The times of alternating commands, in the order of the commands; empty for other records.
pub fn times(record: &Record) -> Vec<&Measurement> {
    let turn = |m: &Measurement| m.detail.get(detail::TURN);
    let mut times: Vec<&Measurement> =
        record.measurements_of(metrics::WORKLOAD_TIME).filter(|m| turn(m).is_some()).collect();
    times.sort_by_key(|m| turn(m));
    times
}

/// The template for a coverage reason that concerns one of the commands; the reason starts with the command's name.
pub const COVERAGE_OF: Template = Template::new("turns-coverage-of", "{command}: {reason}");

/// Tools whose records contain results of a user's commands, identified by the first word of their names; other tools
/// run built-in work.
const RUN_COMMANDS: [&str; 3] = ["hyperfine", "perf", "time"];

/// The record with its commands renamed, and without the texts that quote them; `None` for records without commands.
pub(crate) fn rename(record: &Record, name: &mut dyn FnMut(&str) -> String) -> Option<Record> {
    let timed = |m: &&Measurement| {
        let tool = m.origin.as_ref().map_or("", |origin| origin.tool.as_str());
        RUN_COMMANDS.contains(&tool.split(' ').next().unwrap_or_default())
    };
    let all = times(record).into_iter().chain(record.measurements.iter().filter(timed));
    let own: BTreeSet<&str> = all.filter_map(|m| m.labels.word(Label::Workload)).collect();
    (!own.is_empty()).then_some(())?;
    let names: BTreeMap<&str, String> = own.into_iter().map(|own| (own, name(own))).collect();
    let mut renamed = record.clone();
    renamed.diagnosis.turns = None;
    for m in &mut renamed.measurements {
        if let Some(name) = m.labels.word(Label::Workload).and_then(|own| names.get(own)) {
            m.labels = std::mem::take(&mut m.labels).with_label(Label::Workload, name.clone());
        }
    }
    for reason in renamed.coverage.iter_mut().filter_map(|one| one.reason.as_mut()) {
        if !reason.is(&COVERAGE_OF) {
            continue;
        }
        let words = reason.to_string();
        // The longest match is used, because one name may be a prefix of another.
        let found = names.iter().filter_map(|(own, name)| Some((own.len(), name, words.strip_prefix(*own)?)));
        if let Some((_, name, rest)) = found.max_by_key(|(length, ..)| *length) {
            *reason = Text::read(Some(COVERAGE_OF.code.to_owned()), format!("{name}{rest}"));
        }
    }
    Some(renamed)
}

/// A record with the results of only one workload and without conclusions, so that it resembles the record of a single
/// command.
pub fn alone(record: &Record, workload: &str) -> Record {
    let own = record.measurements.iter().filter(|m| m.labels.word(Label::Workload) == Some(workload));
    let renamed = own.map(|m| {
        let mut m = m.clone();
        m.labels = m.labels.with_label(Label::Workload, COMMAND);
        m
    });
    Record {
        measurements: renamed.collect(),
        machine: record.machine.clone(),
        conditions: record.conditions.clone(),
        coverage: record.coverage.clone(),
        ended: record.ended.clone(),
        seconds: record.seconds,
        ..Record::new(&record.tool.version, record.started.clone(), record.command.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(lines: &[&str]) -> Vec<String> {
        let words = |line: &&str| line.split(' ').map(str::to_owned).collect();
        name_commands(&lines.iter().map(words).collect::<Vec<_>>())
    }

    #[test]
    fn commands_are_known_by_what_differs() {
        assert_eq!(names(&["./a -n 5", "/usr/bin/b"]), ["a -n 5", "b"]);
        assert_eq!(names(&["./old/prog -x", "./new/prog -x"]), ["./old/prog -x", "./new/prog -x"]);
        assert_eq!(names(&["prog", "taskset -c 0 prog"]), ["prog", "taskset -c 0 prog"]);
        assert_eq!(names(&["true", "true", "true"]), ["true", "true (2)", "true (3)"]);
    }
}
