//! Rounds in which several alternatives run one after the other. Every other round has the reverse order (A B, B A), so
//! that drift favors none of them.

use std::ops::ControlFlow;

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The round, from 0.
    pub round: usize,
    /// The index of the alternative, from 0.
    pub alternative: usize,
}

/// All turns of this many rounds, in the order in which they run.
pub fn order_turns(alternatives: usize, rounds: usize) -> impl ExactSizeIterator<Item = Turn> + Clone {
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

/// The completed rounds and, if the rounds ended early, the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds<T, E> {
    /// The results of the alternatives in order, by round, without incomplete rounds.
    pub whole: Vec<Vec<T>>,
    /// The reason why the rounds ended early.
    pub ended: Option<E>,
}

/// Runs rounds until all are completed, or until a run ends them.
pub fn run_rounds<T, E>(
    alternatives: usize,
    rounds: usize,
    mut run: impl FnMut(Turn) -> ControlFlow<E, T>,
) -> Rounds<T, E> {
    let mut whole = Vec::with_capacity(rounds);
    let mut round: Vec<T> = Vec::with_capacity(alternatives);
    for turn in order_turns(alternatives, rounds) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_forwards_and_backwards_in_turn() {
        let order: Vec<usize> = order_turns(3, 4).map(|turn| turn.alternative).collect();
        assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]);
        assert_eq!(order_turns(0, 4).count(), 0);
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
}
