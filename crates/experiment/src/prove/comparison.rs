//! Two states that differ in one thing, and the rounds in which both were tried.

use record::Text;

use super::figure::Figure;
use super::{Proof, ProofError, Rounds};

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
    /// Judges comparisons, the first of which is of one state with itself; `read` takes a figure from what came of a trial.
    pub(super) fn judge_all<S, R>(
        &mut self,
        comparisons: Vec<Comparison<S, R>>,
        figures: &[Figure],
        read: impl Fn(usize, &R) -> Option<f64>,
    ) {
        let collect = |rounds: &[(R, R)]| -> Rounds {
            let values = |at| rounds.iter().filter_map(|(a, b)| Some((read(at, a)?, read(at, b)?))).collect();
            figures.iter().enumerate().map(|(at, figure)| (*figure, values(at))).collect()
        };
        let mut comparisons = comparisons.into_iter();
        let Some(same) = comparisons.next() else { return };
        let mut others = Vec::new();
        for comparison in comparisons {
            match comparison.refused {
                Some(why) => self.missing.push((comparison.name, why)),
                None => others.push((comparison.name, collect(&comparison.rounds))),
            }
        }
        self.judge((same.name, collect(&same.rounds)), others);
    }
}
