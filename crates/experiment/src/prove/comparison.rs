//! Two states that differ in one setting, and the rounds in which both are tried.

use std::time::Duration;

use record::phrase::count_noun;
use record::{Text, text, units};

use super::figure::FigureOf;
use super::{Proof, ProofError, ProofRequest};
use crate::rounds::is_forward;

/// The pause before each block, in which a change of governor or idle state takes effect. The pause is always the same,
/// whether or not anything was set.
const SETTLING: Duration = Duration::from_millis(20);
/// The comparison of the unchanged machine with itself.
pub(super) const TWICE: &str = "as it is, twice";

/// Two states that differ in one setting. `S` is the setting, `R` the result of one trial.
pub(super) struct Comparison<S, R> {
    pub(super) name: Text,
    pub(super) before: S,
    pub(super) after: S,
    rounds: Vec<(R, R)>,
    /// The reason why the comparison can no longer be tried.
    pub(super) refused: Option<Text>,
}

impl<S, R> Comparison<S, R> {
    pub(super) fn new(name: impl Into<Text>, before: S, after: S) -> Self {
        Self { name: name.into(), before, after, rounds: Vec::new(), refused: None }
    }

    /// Tries both states, `before` first if `before_first` is set, unless one of them was refused in an earlier round.
    /// A trial that returns no result was interrupted.
    ///
    /// # Errors
    ///
    /// An error that aborts the proof.
    fn run_pair(
        &mut self,
        before_first: bool,
        run: &mut impl FnMut(&S) -> Result<Option<R>, ProofError>,
    ) -> Result<(), ProofError> {
        if self.refused.is_some() {
            return Ok(());
        }
        let (first, second) =
            if before_first { (&self.before, &self.after) } else { (&self.after, &self.before) };
        match run(first).and_then(|one| Ok((one, run(second)?))) {
            Ok((Some(first), Some(second))) => {
                self.rounds.push(if before_first { (first, second) } else { (second, first) });
            }
            Ok(_) => {}
            // These errors concern the whole proof, not only one setting.
            Err(why @ (ProofError::CannotStart(_) | ProofError::CommandFailed(_))) => return Err(why),
            Err(why) => self.refused = Some(why.to_string().into()),
        }
        Ok(())
    }
}

/// Tries both states of each comparison in `rounds` rounds of trials that take about `each` seconds, and reports their
/// expected duration; `what` names the trials in this message. The order of the two states alternates between rounds
/// and between comparisons. Returns the number of completed rounds.
pub(super) fn run_rounds<S, R>(
    request: ProofRequest,
    comparisons: &mut [Comparison<S, R>],
    (rounds, each): (usize, f64),
    what: &str,
    mut run: impl FnMut(&S) -> Result<Option<R>, ProofError>,
) -> Result<usize, ProofError> {
    let (stop, trials) = (request.stop, comparisons.len() * 2);
    let all = units::figure((rounds * trials) as f64 * each, "s");
    (request.tell)(&format!("{} of {trials} {what}: about {all}", count_noun(rounds, "round")));
    for round in 0..rounds {
        for (at, comparison) in comparisons.iter_mut().enumerate() {
            comparison.run_pair(is_forward(round + at), &mut run)?;
            if stop.signal().is_some() {
                return Ok(round);
            }
        }
    }
    Ok(rounds)
}

impl Proof {
    /// Tries every comparison in `rounds` rounds of blocks, each of about `each` seconds. The first comparison compares
    /// a state with itself.
    pub(super) fn of_blocks<S, R>(
        request: ProofRequest,
        [title, head]: [&'static str; 2],
        mut comparisons: Vec<Comparison<S, R>>,
        extent: (usize, f64),
        figures: &[FigureOf<R>],
        run: impl FnMut(&S) -> Result<Option<R>, ProofError>,
    ) -> Result<Self, ProofError> {
        let rounds = run_rounds(request, &mut comparisons, extent, "alternating blocks", run)?;
        let mut proof = Self { title, head, rounds, interrupted: request.stop.signal(), ..Self::default() };
        proof.judge(comparisons, figures);
        Ok(proof)
    }

    /// Evaluates comparisons. The first one compares a state with itself, and its differences are the noise floor for
    /// the others. Each result is read from the outcome of a trial.
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
            "Medians of {rounds} with 95 % CIs, corrected for {comparisons}. {name} is the A/A \
             control: its interval is the noise floor, and smaller differences do not count. (+N rounds) \
             means that N more rounds are needed (--rounds).",
            rounds = count_noun(self.rounds, "round"),
            comparisons = count_noun(together, "comparison"),
            name = format!("{:?}", same.name.to_string())
        ));
    }
}

/// The result of `run` with these knobs set; `None` if a signal interrupted it.
pub(super) fn run_with_knobs<R>(
    request: ProofRequest,
    knobs: &[&'static str],
    run: impl FnOnce() -> R,
) -> Result<Option<R>, ProofError> {
    let session = (!knobs.is_empty()).then(|| (request.begin_session)(knobs)).transpose()?;
    std::thread::sleep(SETTLING);
    let result = run();
    drop(session);
    Ok(request.stop.signal().is_none().then_some(result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::Stop;
    use os::child::Exit;
    use quiet::error::Error;

    fn tried(
        run: impl FnMut(&bool) -> Result<Option<bool>, ProofError>,
    ) -> (Result<usize, ProofError>, Vec<usize>) {
        let stop = Stop::new();
        let (begin_session, tell) = (|_: &[&'static str]| Err(Error::NoCpus), |_: &str| {});
        let (begin_session, tell): (&_, &_) = (&begin_session, &tell);
        let (names, value, cpus, rounds) = (&[][..], None, None, None);
        let request = ProofRequest { names, value, cpus, rounds, stop: &stop, begin_session, tell };
        let mut all = ["a", "b"].map(|name| Comparison::new(name, false, true));
        let done = run_rounds(request, &mut all, (3, 0.1), "tries", run);
        (done, all.iter().map(|one| one.rounds.len()).collect())
    }

    #[test]
    fn who_comes_first_changes_from_round_to_round_and_from_comparison_to_comparison() {
        let mut order = Vec::new();
        let (done, rounds) = tried(|after| {
            order.push(*after);
            Ok(Some(*after))
        });
        assert_eq!((done.unwrap(), rounds), (3, vec![3, 3]));
        let first: Vec<bool> = order.iter().step_by(2).map(|after| !after).collect();
        assert_eq!(first, [true, false, false, true, true, false]);
    }

    #[test]
    fn a_command_that_fails_ends_all_and_a_refused_setting_itself() {
        let (done, _) = tried(|_| Err(ProofError::CommandFailed(Exit::Code(3))));
        assert!(matches!(done, Err(ProofError::CommandFailed(_))));
        let mut trials = 0;
        let (done, rounds) = tried(|after| {
            trials += 1;
            if trials == 1 { Err(ProofError::NoFigure("wakeup")) } else { Ok(Some(*after)) }
        });
        assert_eq!((done.unwrap(), rounds), (3, vec![0, 3]));
    }
}
