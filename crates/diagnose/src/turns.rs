//! Evaluates commands that ran alternately. Determines the time of each command relative to the first one (round by round), the noise
//! floor, and other differences between the commands.

mod explained;

use record::command_run::RunEnd;
use record::difference::{Difference, Scale, Verdict, compare_pairs, least_rounds};
use record::in_turn::{alone, times};
use record::phrase::count_noun;
use record::text::Value;
use record::turns::{AgainstFirst, CommandInTurn, Turns};
use record::{Label, Measurement, Record, Template, Text, detail, text, units};

use crate::RecordIndex;
use crate::bound::bound;

const SLOWER: Template = Template::new("turns-slower", "{this} is {ratio}× ({interval}) slower than {base}");
const FASTER: Template = Template::new("turns-faster", "{this} is {ratio}× ({interval}) faster than {base}");
const WITHIN_NOISE: Template = Template::new(
    "turns-within-noise",
    "no significant difference between {this} and {base}: {interval}× as long, within the noise ({floor})",
);
const TOO_FEW: Template = Template::new(
    "turns-too-few-rounds",
    "{this} took {ratio}× as long as {base} in {rounds}; a confidence interval requires {least} (-r {least})",
);

/// The results of a record of alternating commands; `None` for other records.
pub fn turns(record: &Record) -> Option<Turns> {
    let times = times(record);
    let (first, others) = times.split_first()?;
    let comparisons = others.len().max(1);
    let pairs = against_themselves(&times);
    let itself = compare_pairs(&pairs, Scale::Ratio, comparisons, None).as_floor();
    let floor = itself.floor;
    let base = Named { time: first, name: spoken(first, 1) };
    let command = |(at, time): (usize, &&Measurement)| {
        let workload = workload(time);
        let this = Named { time, name: spoken(time, at + 1) };
        let against_first = (at > 0).then(|| against(record, [&base, &this], comparisons, floor)).flatten();
        CommandInTurn { bound: bound_alone(record, workload), workload: workload.to_owned(), against_first }
    };
    let floor_says = floor.map(|share| {
        let pairs = count_noun(itself.rounds, "pair");
        text!(
            "noise floor {floor} (A/A control: each command compared with itself, {pairs} of consecutive runs)",
            floor = Value::Share(share)
        )
    });
    Some(Turns { commands: times.iter().enumerate().map(command).collect(), floor, floor_says })
}

fn workload(time: &Measurement) -> &str {
    time.labels.word(Label::Workload).unwrap_or_default()
}

/// A command and its name in a sentence.
struct Named<'a> {
    time: &'a Measurement,
    name: String,
}

/// Maximum length of a name in a sentence, in characters.
const SPOKEN: usize = 32;

/// The name of a command in a sentence; `command N` if the name is too long.
fn spoken(time: &Measurement, number: usize) -> String {
    let name = workload(time);
    if name.chars().count() <= SPOKEN { name.to_owned() } else { format!("command {number}") }
}

/// The bottleneck of one of the commands.
fn bound_alone(record: &Record, workload: &str) -> Option<record::diagnosis::Bound> {
    let mut bound = bound(&RecordIndex::new(&alone(record, workload)))?;
    // Makes the evidence refer to the results in this record.
    for evidence in &mut bound.evidence {
        evidence.from = evidence.from.replace("workload=command", &format!("workload={workload}"));
    }
    Some(bound)
}

/// Times of the same command in consecutive runs. The command that runs last in one round runs first in the next: the last command after an
/// even round, and the first command after an odd round. The order within the pairs alternates, so that drift does not favor either run.
fn against_themselves(times: &[&Measurement]) -> Vec<(f64, f64)> {
    let [first, .., last] = times else { return Vec::new() };
    let neighbours = |time: &Measurement, from: usize| -> Vec<(f64, f64)> {
        let pairs = time.samples.get(from..).unwrap_or_default().chunks_exact(2);
        let pair = |(at, pair): (usize, &[f64])| match *pair {
            [a, b] if at.is_multiple_of(2) => Some((a, b)),
            [a, b] => Some((b, a)),
            _ => None,
        };
        pairs.enumerate().filter_map(pair).collect()
    };
    let mut all = neighbours(last, 0);
    all.extend(neighbours(first, 1));
    all
}

fn against(
    record: &Record,
    [base, this]: [&Named; 2],
    comparisons: usize,
    floor: Option<f64>,
) -> Option<AgainstFirst> {
    let rounds: Vec<(f64, f64)> =
        base.time.samples.iter().copied().zip(this.time.samples.iter().copied()).collect();
    let compared = compare_pairs(&rounds, Scale::Ratio, comparisons, floor);
    (compared.rounds != 0).then_some(())?;
    let (ratio, interval) = times_as_long(&compared);
    let failed = [base, this].into_iter().find_map(describe_failures);
    let slower = compared.is_less().filter(|_| failed.is_none()).map(|less| !less);
    let explained = match slower {
        Some(_) => explained::explain(record, [base, this], comparisons),
        None => Vec::new(),
    };
    Some(AgainstFirst {
        rounds: compared.rounds as u64,
        ratio,
        interval,
        slower,
        says: failed.unwrap_or_else(|| describe(&compared, [&base.name, &this.name], comparisons)),
        verdict: compared.verdict,
        explained,
    })
}

/// The message about a command that failed in most of its runs. The time of such a command is not the time of its work.
fn describe_failures(command: &Named) -> Option<Text> {
    let ends: Vec<RunEnd> = command.time.detail.get(detail::ENDS)?;
    let fails = |end: &&RunEnd| !matches!(end, RunEnd::Code(0) | RunEnd::TimedOut(_) | RunEnd::Stopped(_));
    let failed = ends.iter().filter(fails).count();
    let (name, runs) = (command.name.clone(), count_noun(ends.len(), "run"));
    let says = || text!("not compared: {name} failed in {failed} of {runs}", name, failed, runs);
    (2 * failed > ends.len()).then(says)
}

/// The time of a later command relative to the first one, with the interval.
fn times_as_long(compared: &Difference) -> (f64, Option<(f64, f64)>) {
    (1.0 - compared.less_by, compared.interval.map(|(low, high)| (1.0 - high, 1.0 - low)))
}

/// Compares the times of two commands round by round; the first command is `base`.
pub(crate) fn describe(compared: &Difference, [base, this]: [&str; 2], comparisons: usize) -> Text {
    let (this, base, (ratio, interval)) = (this.to_owned(), base.to_owned(), times_as_long(compared));
    let Some((low, high)) = interval else {
        let least = least_rounds(comparisons);
        let rounds = count_noun(compared.rounds, "round");
        return text!(TOO_FEW, this, base, ratio = units::significant(ratio), rounds, least);
    };
    // Set if the interval excludes 1; if the verdict is still unresolved, noise can explain a difference of this size.
    let within = compared.floor.filter(|_| low > 1.0 || high < 1.0);
    let (ratio, low, high) = match compared.is_less() {
        Some(true) => (1.0 / ratio, 1.0 / high, 1.0 / low),
        _ => (ratio, low, high),
    };
    let width = high - low;
    let (ratio, interval) = (factor(ratio, width), format!("{}–{}", factor(low, width), factor(high, width)));
    match (&compared.verdict, within) {
        (Verdict::Costs { share, .. }, _) if *share < 0.0 => text!(SLOWER, this, base, ratio, interval),
        (Verdict::Costs { .. }, _) => text!(FASTER, this, base, ratio, interval),
        (_, Some(floor)) => text!(WITHIN_NOISE, this, base, interval, floor = Value::Share(floor)),
        (Verdict::TooNoisy { rounds_needed: Some(more) }, _) => {
            text!(
                "too noisy to separate {this} from {base} ({interval}× as long); about {rounds} would suffice",
                rounds = count_noun(*more, "more round")
            )
        }
        (Verdict::TooNoisy { .. }, _) => text!(
            "turns-too-noisy",
            "too noisy to separate {this} from {base} ({interval}× as long); too many rounds would be needed"
        ),
        _ => text!("no significant difference between {this} and {base}: {interval}× as long"),
    }
}

/// Formats a ratio with a precision suitable for an interval of this width: three decimals if the interval is narrow.
fn factor(ratio: f64, width: f64) -> String {
    if width < 0.1 && ratio < 10.0 { format!("{ratio:.3}") } else { units::significant(ratio) }
}

#[cfg(test)]
mod tests;
