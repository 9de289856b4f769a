//! Two states that differ in one thing, and the rounds in which both were tried.

use std::time::Duration;

use record::phrase::count_noun;
use record::{Text, text, units};

use super::figure::FigureOf;
use super::{Proof, ProofError, ProofRequest};
use crate::rounds::run_comparisons;

/// A governor's or a sleep state's change is in force by then. Each block comes after as long a rest, set or not.
const SETTLING: Duration = Duration::from_millis(20);

/// Two states that differ in one thing. `S` is what is set, `R` what came of one trial.
pub(super) struct Comparison<S, R> {
    pub(super) name: Text,
    pub(super) before: S,
    pub(super) after: S,
    rounds: Vec<(R, R)>,
    /// Why it could not be tried any more.
    pub(super) refused: Option<Text>,
}

impl<S, R> Comparison<S, R> {
    pub(super) fn new(name: impl Into<Text>, before: S, after: S) -> Self {
        Self { name: name.into(), before, after, rounds: Vec::new(), refused: None }
    }

    /// Tries both states, in this order or the other, unless one was refused before. A trial without a result was cut short.
    pub(super) fn run_pair(
        &mut self,
        before_first: bool,
        mut run: impl FnMut(&S) -> Result<Option<R>, ProofError>,
    ) {
        if self.refused.is_some() {
            return;
        }
        let (first, second) =
            if before_first { (&self.before, &self.after) } else { (&self.after, &self.before) };
        match run(first).and_then(|one| Ok((one, run(second)?))) {
            Ok((Some(first), Some(second))) => {
                self.rounds.push(if before_first { (first, second) } else { (second, first) });
            }
            Ok(_) => {}
            Err(why) => self.refused = Some(why.to_string().into()),
        }
    }
}

impl Proof {
    /// Tries every comparison in `rounds` rounds of blocks, each of about `each` seconds; the first is of one state with itself.
    pub(super) fn of_blocks<S, R>(
        request: ProofRequest,
        [title, head]: [&'static str; 2],
        mut comparisons: Vec<Comparison<S, R>>,
        (rounds, each): (usize, f64),
        figures: &[FigureOf<R>],
        mut run: impl FnMut(&S) -> Result<Option<R>, ProofError>,
    ) -> Self {
        let (stop, blocks) = (request.stop, comparisons.len() * 2);
        let time = units::figure((rounds * blocks) as f64 * each, "s");
        (request.tell)(&format!("{} of {blocks} blocks in turn: about {time}", count_noun(rounds, "round")));
        let run_pair = |_: &mut (), comparison: &mut Comparison<S, R>, before_first| {
            comparison.run_pair(before_first, &mut run);
        };
        let is_enough = |_: &()| stop.signal().is_some();
        let rounds = run_comparisons(&mut (), &mut comparisons, rounds, run_pair, is_enough, |_| {});
        let mut proof = Self { title, head, rounds, interrupted: stop.signal(), ..Self::default() };
        proof.judge(comparisons, figures);
        proof
    }

    /// Judges comparisons, the first of which is of one state with itself, by whose differences the others are judged. Each figure
    /// is read from what came of a trial.
    pub(super) fn judge<S, R>(&mut self, comparisons: Vec<Comparison<S, R>>, figures: &[FigureOf<R>]) {
        let values = |comparison: &Comparison<S, R>, read: fn(&R) -> Option<f64>| -> Vec<(f64, f64)> {
            comparison.rounds.iter().filter_map(|(a, b)| Some((read(a)?, read(b)?))).collect()
        };
        let mut tried = Vec::new();
        for (number, mut comparison) in comparisons.into_iter().enumerate() {
            match comparison.refused.take() {
                Some(why) if number > 0 => self.missing.push((comparison.name, why)),
                _ => tried.push(comparison),
            }
        }
        let Some((same, others)) = tried.split_first() else { return };
        let count = |comparison: &Comparison<S, R>| {
            figures.iter().filter(|(_, read)| !values(comparison, *read).is_empty()).count()
        };
        let together = Some(others.iter().map(count).sum()).filter(|some| *some > 0).unwrap_or(count(same));
        let mut floors = vec![None; figures.len()];
        for (number, comparison) in tried.iter().enumerate() {
            for ((figure, read), floor) in figures.iter().zip(&mut floors) {
                let Some(mut compared) = figure.compare(values(comparison, *read), together, *floor) else {
                    continue;
                };
                if number == 0 {
                    compared.comparison = compared.comparison.as_floor();
                    *floor = compared.comparison.floor;
                }
                self.compared.push((comparison.name.clone(), *figure, compared));
            }
        }
        self.remarks.push(text!(
            "Medians of {rounds}; 95 % intervals, corrected for {comparisons}. {name} is the A/A control: its interval is the \
             noise floor, and no smaller difference counts. (+N rounds): so many more are needed, with --rounds.",
            rounds = count_noun(self.rounds, "round"),
            comparisons = count_noun(together, "comparison"),
            name = format!("{:?}", same.name.to_string())
        ));
    }
}

/// What `run` gives with these knobs set; `None` where a signal cut it short.
pub(super) fn run_with_knobs<R>(
    request: ProofRequest,
    knobs: &[&'static str],
    run: impl FnOnce() -> R,
) -> Result<Option<R>, ProofError> {
    let session = (!knobs.is_empty()).then(|| (request.begin_session)(knobs)).transpose()?;
    std::thread::sleep(SETTLING);
    let result = run();
    if let Some(session) = session {
        session.end();
    }
    Ok(request.stop.signal().is_none().then_some(result))
}
