//! A command that waited most of the time, according to another tool.

use super::prelude::*;

/// User and system time of a command compared with its run time. Commands run by `linespeed stat` itself are analyzed
/// in more detail.
pub(super) const RULE: Rule = Rule { name: "off-cpu-command", find };

/// Minimum run time, s: shorter commands mostly measure process start and exit.
const LEAST: f64 = 0.01;
/// A command waits more than it computes if it is on-CPU for less than this share of its run time.
const MOSTLY: f64 = 0.5;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let foreign = case
        .figures_of(metrics::WORKLOAD_TIME)
        .filter(|m| !m.detail.has(detail::COMMAND) && m.value() >= LEAST);
    Some(foreign.filter_map(|wall| find_waiting(case, wall)).collect())
}

fn find_waiting(case: &Case, wall: &Measurement) -> Option<Finding> {
    let place = labels_without(wall, Label::State);
    let own: Vec<&Measurement> = case
        .figures_of(metrics::WORKLOAD_CPU_TIME)
        .filter(|m| labels_without(m, Label::State) == place)
        .collect();
    let in_state = |state| own.iter().find(|m| has_labels(m, &[(Label::State, state)]));
    let (user, system) = (in_state("user")?, in_state("system")?);
    let used = user.value() + system.value();
    let share = 1.0 - used / wall.value();
    if share < MOSTLY {
        return None;
    }
    let workload = wall.labels.word(Label::Workload).unwrap_or("the command").to_owned();
    let off = Value::Share(share);
    let what = text!("{workload} spent {off} of its run time off-CPU", workload = &workload);

    let [cpu, wall_time] = [used, wall.value()].map(|seconds| Value::Figure(seconds, "s"));
    Some(
        RULE.report_fact(Severity::Note, what)
            .locate(quote_name(&workload))
            .cite(text!("run time: {wall_time}"), wall)
            .cite(text!("user and system time: {cpu}"), *user),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::found;
    use crate::samples::{figure_in, machine, measured};
    use record::{Labels, Record};

    fn record_with([wall, user, system]: [f64; 3]) -> Record {
        let mut record = machine(1);
        let place = || Labels::new().with_label(Label::Workload, "waits");
        record.measurements.push(measured("workload.time", place(), wall));
        for (state, seconds) in [("user", user), ("system", system)] {
            record.measurements.push(measured(
                "workload.cpu_time",
                place().with_label(Label::State, state),
                seconds,
            ));
        }
        record
    }

    #[test]
    fn a_command_that_hardly_runs_waits_and_one_of_many_threads_does_not() {
        let finding = &found(&record_with([0.1, 0.008, 0.002]), RULE)[0];
        assert!((figure_in(&finding.what, "off") - 0.9).abs() < 1e-9, "{finding:?}");
        assert_eq!(finding.severity, Severity::Note);
        for busy in [[0.1, 0.09, 0.01], [0.1, 0.7, 0.1], [0.1, 0.05, 0.01], [0.001, 0.0, 0.0002]] {
            assert_eq!(found(&record_with(busy), RULE), [], "{busy:?}");
        }
        let mut unknown = record_with([0.1, 0.008, 0.002]);
        unknown.measurements.pop();
        assert_eq!(found(&unknown, RULE), [], "the system time is unknown");
    }
}
