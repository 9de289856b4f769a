//! Other differences between a slower and a faster command: the states in which they spent their time, and event
//! counts.

use record::difference::{Scale, compare_pairs};
use record::text::Value;
use record::{Label, Measurement, Metric, Record, Template, Text, metrics, text};

use super::Named;

/// A state is omitted if it explains less than this share of the difference.
const LEAST_PART: f64 = 0.1;
/// A count is omitted if it grew by less than this share of the growth in time (both as logarithms).
const AS_MUCH: f64 = 0.5;
/// Counts below this are not reported, because so few events cost little time.
const FEW: f64 = 100.0;
/// Count ratios below this value are printed with only two digits.
const LITTLE: f64 = 0.1;
/// The counts to read, the most informative first.
const COUNTS: [&str; 7] = [
    "instructions",
    "cache-misses",
    "branch-misses",
    "page-faults",
    "major-faults",
    "context-switches",
    "cpu-migrations",
];
/// Maximum number of states that are read, including sums of states.
const STATES: usize = 5;

const CPU_TIME: Template = Template::new("turns-cpu-time", "CPU time");
const USER: Template = Template::new("turns-user", "user");
const SYSTEM: Template = Template::new("turns-sys", "sys");
const RUNNABLE: Template = Template::new("turns-runnable", "runnable (run-queue delay)");
const BLOCKED: Template = Template::new("turns-blocked", "blocked");

/// The values of one result for both commands, by round.
struct Both {
    rounds: Vec<(f64, f64)>,
    before: f64,
    after: f64,
}

/// The differences as sentences; empty if there are none.
pub(super) fn explain(record: &Record, [first, this]: [&Named; 2], comparisons: usize) -> Vec<Text> {
    let together = comparisons * (STATES + COUNTS.len());
    let of = |whose: &Named, metric: Metric, label: Label, word: &str| {
        record.measurements_of(metric).find(|m| {
            m.labels.get(Label::Workload) == whose.time.labels.get(Label::Workload)
                && m.labels.get(Label::Thread).is_none()
                && m.labels.word(label) == Some(word)
        })
    };
    let both = |metric: Metric, label: Label, word: &str| {
        Some((of(first, metric, label, word)?, of(this, metric, label, word)?))
    };
    let wall = Both::of(first.time, this.time);
    let state = |word: &str| both(metrics::WORKLOAD_CPU_TIME, Label::State, word);
    let mut states: Vec<(Template, Both)> = Vec::new();
    let doubted = |(a, b): (&Measurement, &Measurement)| a.doubt.is_some() || b.doubt.is_some();
    match (state("user"), state("system")) {
        // The split between the two states is sampled, but their sum is exact.
        (Some(user), Some(system)) if doubted(user) || doubted(system) => {
            states.push((CPU_TIME, Both::of(user.0, user.1).plus(&Both::of(system.0, system.1))));
        }
        (user, system) => {
            let known = [(USER, user), (SYSTEM, system)];
            states.extend(known.into_iter().filter_map(|(name, m)| m.map(|(a, b)| (name, Both::of(a, b)))));
        }
    }
    for (name, word) in [(RUNNABLE, "runnable"), (BLOCKED, "off-cpu")] {
        states.extend(state(word).map(|(a, b)| (name, Both::of(a, b))));
    }
    let least = LEAST_PART * wall.grew().abs();
    states.retain(|(_, both)| {
        let differs = compare_pairs(&both.rounds, Scale::Difference { worth: least }, together, None);
        differs.verdict.is_resolved() && both.grew().abs() >= least
    });
    states.sort_by(|a, b| b.1.grew().abs().total_cmp(&a.1.grew().abs()));
    let mut all = Vec::new();
    if !states.is_empty() {
        let states: Vec<Text> = states.into_iter().map(|(name, both)| both.say(name)).collect();
        let (base, this) = (first.name.clone(), this.name.clone());
        all.push(text!(
            "turns-explained-times",
            "From {base} to {this}: {states}.",
            states = Value::List(states)
        ));
    }
    let counts: Vec<Text> = COUNTS
        .iter()
        .filter_map(|event| {
            let (a, b) = both(metrics::COUNTER_COUNT, Label::Event, event)?;
            let both = Both::of(a, b);
            let ratio = both.after / both.before;
            let as_much = ratio.ln() * wall.ratio().signum() >= AS_MUCH * wall.ratio().abs();
            let differs = compare_pairs(&both.rounds, Scale::Count, together, None);
            let worth_a_word = differs.verdict.is_resolved()
                && as_much
                && ratio.is_finite()
                && both.before.max(both.after) >= FEW;
            // For such a small ratio, the third digit is meaningless.
            let digits = if ratio < LITTLE { 2 } else { 3 };
            let ratio = Value::Rounded(Box::new(Value::Factor(ratio)), digits);
            worth_a_word.then(|| text!("{event} {ratio}", event = *event))
        })
        .collect();
    if !counts.is_empty() {
        all.push(text!("turns-explained-counts", "Counter ratios: {counts}.", counts = Value::List(counts)));
    }
    all
}

impl Both {
    fn of(before: &Measurement, after: &Measurement) -> Self {
        let rounds = before.samples.iter().copied().zip(after.samples.iter().copied()).collect();
        Self { rounds, before: before.value(), after: after.value() }
    }

    /// The sum of both results, run by run.
    fn plus(self, other: &Self) -> Self {
        let sum = |(a, b): (&(f64, f64), &(f64, f64))| (a.0 + b.0, a.1 + b.1);
        let rounds: Vec<(f64, f64)> = self.rounds.iter().zip(&other.rounds).map(sum).collect();
        Self { rounds, before: self.before + other.before, after: self.after + other.after }
    }

    fn grew(&self) -> f64 {
        self.after - self.before
    }

    /// The logarithm of the ratio.
    fn ratio(&self) -> f64 {
        (self.after / self.before).ln()
    }

    fn say(&self, state: Template) -> Text {
        let (before, after) = (Value::Figure(self.before, "s"), Value::Figure(self.after, "s"));
        text!("{state} {before} → {after}", state = text!(state))
    }
}
