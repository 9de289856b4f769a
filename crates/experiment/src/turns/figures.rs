//! Combines the results of alternating commands in one record.

use measure::command;
use record::in_turn::{COVERAGE_OF, name_commands};
use record::{Coverage, Measurement, detail, text};

use super::{Extent, InTurns, Request, USUAL_ROUNDS};

/// The part of a record for alternating commands.
#[derive(Debug, Default)]
pub struct Measured {
    /// The name of each command, used as the `workload` of its results.
    pub names: Vec<String>,
    /// The results, in the order of the commands.
    pub measurements: Vec<Measurement>,
    /// Items that could not be measured, for all commands or for one.
    pub coverage: Vec<Coverage>,
}

/// Converts the runs of commands to results; a command without runs has none. `cpus` is the number of CPUs on which
/// each command may run.
pub fn figures(done: &InTurns, request: &Request, cpus: usize) -> Measured {
    let words = |argv: &[std::ffi::OsString]| argv.iter().map(|w| w.to_string_lossy().into_owned()).collect();
    let argvs: Vec<Vec<String>> = request.commands.iter().map(|one| words(one.job.argv)).collect();
    let mut measured = Measured { names: name_commands(&argvs), ..Measured::default() };
    let mut coverages: Vec<(&str, Vec<Coverage>)> = Vec::new();
    for (turn, ((runs, one), name)) in done.runs.iter().zip(request.commands).zip(&measured.names).enumerate()
    {
        if runs.is_empty() {
            continue;
        }
        let mut figures = command::figures(runs, &one.job, cpus).in_turn(name, turn + 1);
        if let (Some(time), Some(asked)) =
            (figures.measurements.first_mut(), asked(request.extent, runs.len()))
        {
            time.detail.set(detail::RUNS_ASKED, asked);
        }
        measured.measurements.append(&mut figures.measurements);
        coverages.push((name, figures.coverage));
    }
    measured.coverage = merge(&coverages);
    measured
}

/// The requested number of runs, if it is a number.
fn asked(extent: Extent, runs: usize) -> Option<usize> {
    match extent {
        Extent::Rounds(rounds) => Some(rounds as usize),
        Extent::Usual => Some(runs.max(USUAL_ROUNDS as usize)),
        Extent::Time(_) => None,
    }
}

/// Merges coverage: entries that apply to all commands are listed once, others with the name of their command.
fn merge(all: &[(&str, Vec<Coverage>)]) -> Vec<Coverage> {
    let mut merged: Vec<Coverage> = Vec::new();
    for (name, coverage) in all {
        for one in coverage {
            if all.iter().all(|(_, others)| others.contains(one)) {
                if !merged.contains(one) {
                    merged.push(one.clone());
                }
                continue;
            }
            let reason = one.reason.clone().unwrap_or_default();
            let reason = text!(COVERAGE_OF, command = (*name).to_owned(), reason);
            merged.push(Coverage { reason: Some(reason), ..one.clone() });
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_lack_stands_once_and_what_one_lacks_with_its_name() {
        let both = Coverage::skipped("counters", "no PMU");
        let one = Coverage::skipped("threads", "too short");
        let merged = merge(&[("a", vec![both.clone(), one]), ("b", vec![both.clone()])]);
        assert_eq!((merged.len(), &merged[0]), (2, &both));
        let value = merged[1].reason.as_ref().and_then(|reason| reason.value("command"));
        assert_eq!(value.map(ToString::to_string).as_deref(), Some("a"));
    }
}
