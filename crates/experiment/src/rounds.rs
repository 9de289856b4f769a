//! Rounds in which alternatives come in turn, every other round backwards (A B, B A): what drifts favours none.

use std::ops::ControlFlow;

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The round, from 0.
    pub round: usize,
    /// Which of the alternatives, from 0.
    pub alternative: usize,
}

/// All turns of so many rounds, in order.
pub fn turns(alternatives: usize, rounds: usize) -> impl ExactSizeIterator<Item = Turn> + Clone {
    let turn = move |number: usize| {
        let (round, at) = (number / alternatives.max(1), number % alternatives.max(1));
        let alternative = if is_forward(round) { at } else { alternatives - 1 - at };
        Turn { round, alternative }
    };
    (0..rounds * alternatives).map(turn)
}

/// Whether the first alternative comes first in a round.
pub fn is_forward(round: usize) -> bool {
    round.is_multiple_of(2)
}

/// What came of rounds: the whole ones, and what ended them early.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds<T, E> {
    /// By round, the results of the alternatives in their order. A round that was begun and not ended is none.
    pub whole: Vec<Vec<T>>,
    /// What ended them early.
    pub ended: Option<E>,
}

/// Runs rounds until all are over, or one run says that it is enough.
pub fn run_rounds<T, E>(
    alternatives: usize,
    rounds: usize,
    mut run: impl FnMut(Turn) -> ControlFlow<E, T>,
) -> Rounds<T, E> {
    let mut whole = Vec::with_capacity(rounds);
    let mut round: Vec<T> = Vec::with_capacity(alternatives);
    for turn in turns(alternatives, rounds) {
        match run(turn) {
            ControlFlow::Continue(result) => round.push(result),
            ControlFlow::Break(ended) => return Rounds { whole, ended: Some(ended) },
        }
        if round.len() == alternatives {
            if !is_forward(turn.round) {
                round.reverse();
            }
            whole.push(std::mem::take(&mut round));
        }
    }
    Rounds { whole, ended: None }
}

/// Two alternatives that are compared: one with something set and one without.
pub trait Comparison {
    /// Whether it is run at all.
    fn is_wanted(&self) -> bool;
    /// Runs both, the first one first or last.
    fn run_pair(&mut self, first_comes_first: bool);
}

/// Runs all comparisons in each round, the order within each changing from round to round and from comparison to comparison.
/// After each `is_enough` is asked whether to stop at once; after each round `ended` hears how many are over. The rounds that
/// are over.
pub fn run_comparisons<C: Comparison>(
    comparisons: &mut [C],
    rounds: usize,
    mut is_enough: impl FnMut(&mut C) -> bool,
    mut ended: impl FnMut(usize),
) -> usize {
    for round in 0..rounds {
        for (at, comparison) in comparisons.iter_mut().enumerate() {
            if comparison.is_wanted() {
                comparison.run_pair(is_forward(round + at));
            }
            if is_enough(comparison) {
                return round;
            }
        }
        ended(round + 1);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_forwards_and_backwards_in_turn() {
        let order: Vec<usize> = turns(3, 4).map(|turn| turn.alternative).collect();
        assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]);
        assert_eq!(turns(0, 4).count(), 0);
    }

    #[test]
    fn only_whole_rounds_count_and_each_tells_its_alternatives_in_their_order() {
        let mut runs = 0;
        let rounds = run_rounds(2, 3, |turn| {
            runs += 1;
            if runs == 6 { ControlFlow::Break("enough") } else { ControlFlow::Continue(turn.alternative) }
        });
        assert_eq!(rounds, Rounds { whole: vec![vec![0, 1], vec![0, 1]], ended: Some("enough") });
    }

    struct Seen(Vec<bool>);

    impl Comparison for Seen {
        fn is_wanted(&self) -> bool {
            self.0.len() < 3
        }

        fn run_pair(&mut self, first_comes_first: bool) {
            self.0.push(first_comes_first);
        }
    }

    #[test]
    fn comparisons_change_their_order_from_round_to_round() {
        let mut both = [Seen(Vec::new()), Seen(Vec::new())];
        let mut heard = 0;
        assert_eq!(run_comparisons(&mut both, 4, |_| false, |done| heard = done), 4);
        assert_eq!((&both[0].0[..], &both[1].0[..]), (&[true, false, true][..], &[false, true, false][..]));
        assert_eq!((heard, run_comparisons(&mut both, 4, |_| true, |_| {})), (4, 0));
    }
}
