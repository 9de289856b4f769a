//! One handicap: what linespeed says of it, against what the same work shows with and without it in turn.

use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use record::diagnosis::Finding;
use record::difference::Verdict;
use record::{Record, State};

use crate::disturbance::{Disturbance, Watch};
use crate::precedence::Precedence;
use crate::support::{emulated, measured, skipped};

/// With or without the handicap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Without.
    Free,
    /// With.
    Held,
}

/// Rounds of free, held, held, free before linespeed runs, and as many after it: what else the machine does, its
/// neighbours too, changes in a few seconds.
const ROUNDS: usize = 3;
/// Rounds of work on either side before linespeed runs, and as many after it.
pub const ROUNDS_IN_A_ROW: usize = 4 * ROUNDS;
/// Trials that decide: of all whose conditions were met, the first so many. Odd, so that more than half of them agree.
pub const DECIDING: usize = 3;
/// Trials at the most, with those whose conditions were not met.
pub const MOST: usize = 8;

/// What is tried.
pub struct Trial<'a> {
    /// The test.
    pub name: &'a str,
    /// The rule that must name the handicap.
    pub rule: &'a str,
    /// What linespeed must have been able to measure as planned for the rule to have its figures: subjects of coverage.
    pub needs: &'a [&'a str],
    /// linespeed with the handicap on.
    pub run: &'a dyn Fn() -> Record,
    /// The work that the finding speaks of: how much of it is done in a second with and without the handicap.
    pub work: &'a dyn Fn() -> Work<'a>,
}

/// Does a round of work on one side and says how much of it a second.
pub type Work<'a> = Box<dyn FnMut(Side) -> f64 + 'a>;

/// Held by the test that runs.
pub struct Alone {
    _precedence: Option<Precedence>,
    _one: MutexGuard<'static, ()>,
}

/// Waits for the other tests: handicaps add up. Then goes before all else on the machine.
pub fn one_at_a_time() -> Alone {
    Alone { _precedence: Precedence::take(), ..without_precedence() }
}

/// The same, but among all else: what the others then wait is part of what is seen of a whole machine.
pub fn without_precedence() -> Alone {
    static ONE: Mutex<()> = Mutex::new(());
    Alone { _precedence: None, _one: ONE.lock().unwrap_or_else(PoisonError::into_inner) }
}

/// Whether handicaps are to be put on at all; says why not.
pub fn wanted(test: &str) -> bool {
    let why = if std::env::var_os("LINESPEED_TEST_HANDICAPS").is_none_or(|value| value.is_empty()) {
        "LINESPEED_TEST_HANDICAPS is not set"
    } else if emulated() {
        "the program runs under an emulator"
    } else {
        return true;
    };
    skipped(test, why);
    false
}

/// The record of a command that measures.
#[track_caller]
pub fn record_of(command: Command) -> Record {
    measured(command).succeeds().record()
}

/// What one trial showed.
struct Outcome {
    /// The first finding.
    first: Option<Finding>,
    /// The finding of the rule that must be first, wherever it stands.
    meant: Option<Finding>,
    /// The loss that the work shows: 1 − held ÷ free, of the medians of ratios.
    shown: f64,
    /// How far two rounds without the handicap lie from each other, in the median.
    floor: f64,
    /// What linespeed says that it could not measure as planned, of what the rule needs.
    lost: Vec<String>,
    disturbance: Disturbance,
}

impl Outcome {
    fn of(trial: &Trial) -> Self {
        let watch = Watch::begin();
        let mut work = (trial.work)();
        let (mut ratios, mut floors) = (Vec::new(), Vec::new());
        let mut rounds = || {
            for _ in 0..ROUNDS {
                let rounds = [Side::Free, Side::Held, Side::Held, Side::Free].map(|side| work(side).ln());
                ratios.push((rounds[1] + rounds[2] - rounds[0] - rounds[3]) / 2.0);
                floors.push((rounds[3] - rounds[0]).abs());
            }
        };
        rounds();
        let record = (trial.run)();
        rounds();
        let (findings, disturbance) = (&record.diagnosis.findings, watch.seen());
        let lost = record.coverage.iter().filter(|line| line.state != State::Measured);
        let lost = lost.filter(|line| trial.needs.contains(&line.what.as_str()));
        Self {
            first: findings.first().cloned(),
            meant: findings.iter().find(|finding| finding.rule == trial.rule).cloned(),
            shown: 1.0 - median(ratios).exp(),
            floor: 1.0 - (-median(floors)).exp(),
            lost: lost.map(|line| format!("{}: {}", line.what, line.why())).collect(),
            disturbance,
        }
    }

    /// Why this trial decides nothing, whatever linespeed found: looked at before what it found is.
    fn unmet(&self) -> Option<String> {
        if self.disturbance.is_too_much() {
            return Some(self.disturbance.to_string());
        }
        if let [first, ..] = &self.lost[..] {
            return Some(first.clone());
        }
        let noisy = self.floor > self.shown.abs() / 3.0;
        noisy.then(|| format!("two rounds without it differ by {}", percent(self.floor)))
    }

    /// The loss that linespeed told.
    fn reported(&self) -> Option<f64> {
        match self.meant.as_ref()?.loss {
            Verdict::Costs { share, .. } => Some(share),
            _ => None,
        }
    }

    /// Named first.
    fn is_first(&self) -> bool {
        self.first.is_some() && self.first == self.meant
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn within_a_third(reported: f64, shown: f64) -> bool {
    (reported - shown).abs() <= shown.abs() / 3.0
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = self.first.as_ref();
        write!(
            f,
            "first finding: {} ({}); loss told {}, shown {} (two rounds without it differ by {}); {}",
            first.map_or("none", |finding| &finding.rule),
            first.map_or_else(String::new, |finding| finding.what.to_string()),
            self.reported().map_or("none".to_owned(), percent),
            percent(self.shown),
            percent(self.floor),
            self.disturbance
        )?;
        self.unmet().map_or(Ok(()), |why| write!(f, "; does not count: {why}"))
    }
}

/// The middle of some values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

/// The first [`DECIDING`] trials whose conditions were met. None, and said to be skipped, where [`MOST`] trials were not
/// enough.
pub fn counted<T>(test: &str, mut trial: impl FnMut() -> Result<T, String>) -> Option<Vec<T>> {
    let (mut met, mut unmet) = (Vec::new(), String::new());
    for _ in 0..MOST {
        match trial() {
            Ok(outcome) => met.push(outcome),
            Err(why) => unmet = why,
        }
        if met.len() == DECIDING {
            return Some(met);
        }
    }
    skipped(
        test,
        &format!("undecided: the conditions were met in {} of {MOST} trials; last: {unmet}", met.len()),
    );
    None
}

impl Trial<'_> {
    /// All trials whose conditions were met count: more than half of them must name the handicap first, and the loss that
    /// they tell must be within a third of what the work shows, both in the median.
    #[track_caller]
    pub fn is_named_first(&self) {
        let trial = || {
            let outcome = Outcome::of(self);
            self.say(&outcome.to_string());
            outcome.unmet().map_or(Ok(outcome), Err)
        };
        let Some(outcomes) = counted(self.name, trial) else { return };
        let all: Vec<String> = outcomes.iter().map(Outcome::to_string).collect();
        let named = outcomes.iter().filter(|outcome| outcome.is_first()).count();
        let reported: Vec<f64> = outcomes.iter().filter_map(Outcome::reported).collect();
        let shown = median(outcomes.iter().map(|outcome| outcome.shown).collect());
        self.say(&format!("{named} of {} trials named it first", outcomes.len()));
        assert!(2 * named > outcomes.len(), "{} is not named first:\n{}", self.rule, all.join("\n"));
        assert!(!reported.is_empty(), "{} is told without a loss:\n{}", self.rule, all.join("\n"));
        let reported = median(reported);
        self.say(&format!("loss in the median: told {}, shown {}", percent(reported), percent(shown)));
        assert!(within_a_third(reported, shown), "{} has another loss:\n{}", self.rule, all.join("\n"));
    }

    /// Written past the capture that hides what passing tests print.
    fn say(&self, words: &str) {
        let _ = writeln!(std::io::stderr(), "{}: {words}", self.name);
    }
}
