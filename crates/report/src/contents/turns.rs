//! Commands run alternately, with their times side by side.

use record::command_run::RunEnd;
use record::in_turn::times;
use record::turns::Turns;
use record::{Label, Measurement, Record, detail, metrics};

use super::command::{bound_parts, ended_by, find_state_of, seconds};
use super::side_by_side::group_by;
use super::{Block, Part};
use crate::table::Table;
use crate::text::{clean, range};

/// Maximum number of commands with a sentence each on one screen.
pub(crate) const FEW: usize = 3;

/// The commands of a record; `None` for records without alternating commands.
pub(crate) fn find_turns(record: &Record) -> Option<&Turns> {
    record.diagnosis.turns.as_ref().filter(|turns| record.import.is_none() && !turns.commands.is_empty())
}

/// The faster command and the bottleneck of each command, for the top of a page; empty for records without alternating commands.
pub(crate) fn verdict(record: &Record) -> Block {
    let mut parts = Vec::new();
    if let Some(turns) = find_turns(record) {
        for one in turns.commands.iter().filter_map(|one| one.against_first.as_ref()) {
            parts.extend(
                [&one.says].into_iter().chain(&one.explained).map(|says| Part::Says(says.to_string())),
            );
        }
        let floor = turns.floor_says.as_ref().map_or(String::new(), |floor| format!("; {floor}"));
        parts.push(Part::Says(describe_rounds(record) + &floor));
        parts.push(Part::Table(table(record, turns).finished()));
        for (one, bound) in turns.commands.iter().filter_map(|one| Some((one, one.bound.as_ref()?))) {
            parts.push(Part::Says(format!("`{}`", clean(&one.workload))));
            parts.extend(bound_parts(bound));
        }
    }
    Block::new("Commands compared", None, parts)
}

/// The name of a command.
pub(crate) fn name(time: &Measurement) -> &str {
    time.labels.word(Label::Workload).unwrap_or_default()
}

/// One row per command: its times, and how its runs ended if one failed.
pub(crate) fn table(record: &Record, turns: &Turns) -> Table {
    // If there is too little room, the last columns are omitted first.
    let heads =
        ",command,exit code,#mean ± σ,?bound by,?#median,?#min – max,?#user,?#sys,?#CPU time,?#95 % CI";
    let mut table = Table::new("Commands compared", Some(metrics::WORKLOAD_TIME.name()), heads.split(','));
    let times = times(record);
    let states: Vec<[Option<&Measurement>; 2]> = times
        .iter()
        .map(|time| ["user", "system"].map(|state| find_state_of(record, name(time), state)))
        .collect();
    // If there are too few samples to separate user time from system time, the sum of both is still valid.
    let split = states.iter().flatten().flatten().all(|m| m.doubt.is_none());
    let all_well = times.iter().all(|time| ends(time).iter().all(|end| *end == RunEnd::Code(0)));
    for (at, time) in times.iter().enumerate() {
        let command = turns.commands.get(at);
        // If there are only a few commands, a sentence for each of them shows its bottleneck instead.
        let bound = command.and_then(|one| one.bound.as_ref()).filter(|_| turns.commands.len() > FEW);
        let slower = command.and_then(|one| one.against_first.as_ref()?.slower);
        table.weigh_row(slower);
        table.tells(time);
        let [user, system] = states[at];
        let sum = user.zip(system).filter(|_| !split).map(|(user, system)| user.value() + system.value());
        let part =
            |m: Option<&Measurement>| m.filter(|_| split).map_or(String::new(), |m| seconds(m.value()));
        let between = |(low, high): (f64, f64)| range(&seconds(low), &seconds(high));
        let (min, max) = (time.summary.min, time.summary.max);
        table.row(vec![
            (at + 1).to_string(),
            name(time).to_owned(),
            if all_well { String::new() } else { describe_ends(time) },
            mean(time),
            bound.map_or(String::new(), |bound| bound.by.name().to_string()),
            seconds(time.value()),
            if time.summary.n > 1 { between((min, max)) } else { String::new() },
            part(user),
            part(system),
            sum.map_or(String::new(), seconds),
            time.summary.interval.map_or(String::new(), between),
        ]);
    }
    table
}

fn ends(time: &Measurement) -> Vec<RunEnd> {
    time.detail.get(detail::ENDS).unwrap_or_default()
}

/// The mean and the standard deviation in the same unit, as in hyperfine: `101 ± 0.96 ms`.
fn mean(time: &Measurement) -> String {
    let mean = time.summary.mean.unwrap_or(time.summary.median);
    let whole = seconds(mean);
    let deviation = time.summary.variation.map(|variation| variation * mean).filter(|one| one.is_finite());
    let (Some(deviation), Some((number, unit))) = (deviation, whole.split_once(' ')) else { return whole };
    let Some(scale) = number.parse().ok().map(|number: f64| mean / number).filter(|scale| *scale > 0.0)
    else {
        return whole;
    };
    let deviation = deviation / scale;
    // Two digits.
    let decimals = if deviation > 0.0 { (1.0 - deviation.log10().floor()).clamp(0.0, 3.0) } else { 0.0 };
    format!("{number} ± {deviation:.*} {unit}", decimals as usize)
}

/// The exit codes of the command's runs, each once: `0, 7`.
fn describe_ends(time: &Measurement) -> String {
    let words = |end: RunEnd| match end {
        RunEnd::Code(code) => code.to_string(),
        RunEnd::Signal(signal) => format!("signal {signal}"),
        RunEnd::Stopped(_) => "stopped".to_owned(),
        RunEnd::TimedOut(_) => "timed out".to_owned(),
    };
    let ends = group_by(ends(time).into_iter().map(words), String::clone);
    ends.into_iter().map(|(end, _)| end).collect::<Vec<_>>().join(", ")
}

/// The number of rounds, and whether they ended early.
pub(crate) fn describe_rounds(record: &Record) -> String {
    let runs: Vec<usize> = times(record).iter().map(|time| ends(time).len()).collect();
    let (least, most) = (runs.iter().min().copied().unwrap_or(0), runs.iter().max().copied().unwrap_or(0));
    let rounds = record::phrase::count_noun(most, "round");
    let Some(by) = ended_by(&record.ended) else {
        return format!("{rounds}, with the order reversed in every other round");
    };
    let rounds = if runs.len() < 2 { "no complete round".to_owned() } else { rounds };
    let cut = times(record).iter().any(|time| ends(time).iter().any(|end| matches!(end, RunEnd::Stopped(_))));
    let whole = if least == most { rounds } else { format!("{rounds}, the last one incomplete") };
    let whole = if cut { "the results are from an incomplete run".to_owned() } else { whole };
    format!("ended early {by}: {whole}")
}
