//! Pairings: a round-robin tournament, and disjoint pairs.

use std::collections::BTreeSet;

/// Two CPUs, given by their positions.
pub(super) type Pair = (usize, usize);

/// The partner of each CPU in a round.
pub(super) type Round = Vec<Option<usize>>;

/// The pairs of a round, the lower one first.
pub(super) fn pairs_of(round: &Round) -> impl Iterator<Item = (usize, usize)> + '_ {
    round.iter().enumerate().filter_map(|(one, other)| Some((one, (*other)?))).filter(|(a, b)| a < b)
}

pub(super) fn ordered(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

/// Selects disjoint pairs in the given order; returns them and the remaining pairs.
pub(super) fn disjoint(pairs: Vec<Pair>) -> (Vec<Pair>, Vec<Pair>) {
    let mut taken = BTreeSet::new();
    pairs.into_iter().partition(|(a, b)| {
        let free = !taken.contains(a) && !taken.contains(b);
        if free {
            taken.extend([*a, *b]);
        }
        free
    })
}

/// Number of rounds in which each of `n` CPUs meets every other CPU once.
pub(super) fn rounds_of(n: usize) -> usize {
    (n + n % 2).saturating_sub(1)
}

/// The partner of one of `n` CPUs in a round of a round-robin tournament; `None` in a round without a partner.
pub(super) fn partner(round: usize, one: usize, n: usize) -> Option<usize> {
    let rounds = rounds_of(n);
    // The last CPU of an even number stays in place, and the others rotate around it.
    let other = if one == rounds {
        (0..rounds).find(|other| 2 * other % rounds == round)?
    } else {
        match (round + rounds - one) % rounds {
            other if other == one => rounds,
            other => other,
        }
    };
    (other < n).then_some(other)
}
