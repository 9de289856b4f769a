//! How far each machine is from the others in its group, and the probability that such a distance arises by chance.

use record::difference::{WORTH_TELLING, student_tail};
use record::fleet::Family;

use crate::group::{Cell, Column, Group, LEAST};
use crate::robust::{expected_fastest, median, scale, simes};

/// Machines with a lower probability are excluded from the median and the scale. This limit is equivalent to 3.5 standard deviations.
const FAR: f64 = 2.3e-4;
/// Minimum share of the machines that remain after outliers are excluded.
const LEAST_KEPT: f64 = 0.65;
/// Minimum share of a family's results, by weight, that a machine must have so that the mean over the entire family is judged.
const LEAST_WHOLE: f64 = 0.9;
/// Maximum number of times that outliers are excluded; twice is usually enough.
const ROUNDS: usize = 8;
/// Minimum scale; machines that agree more closely do so only because of rounding.
const LEAST_SCALE: f64 = 0.001;
/// If there are at least this many machines, the scatter of the fastest ones is used as a measure of chance.
const FOR_TAILS: usize = 50;
/// Rank of the machine that determines this scatter, counted from the fastest; faster machines may be outliers.
const FASTEST: f64 = 3.0;
/// Efficiency of Qn, relative to the standard deviation of the same number of values.
const EFFICIENCY: f64 = 0.82;

/// A column with its estimated median and scale.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) column: Column,
    /// The median of the machines without outliers.
    pub(crate) middle: f64,
    /// The robust standard deviation of the column's values.
    pub(crate) scale: f64,
    /// How much slower each machine is, in scales.
    pub(crate) z: Vec<f64>,
    /// The probability that a machine is this slow by chance.
    pub(crate) chance: Vec<f64>,
}

impl Judged {
    /// Whether the machine is slower than the median by more than the smallest relevant difference, even at the faster end of its interval.
    pub(crate) fn is_beyond(&self, at: usize) -> bool {
        self.column.cell(at).is_some_and(|cell| {
            self.middle - cell.log > WORTH_TELLING && self.middle - cell.fast > WORTH_TELLING
        })
    }

    /// The logarithm of the machine's speed relative to the median.
    pub(crate) fn loss(&self, at: usize) -> Option<f64> {
        Some(self.column.cell(at)?.log - self.middle)
    }
}

/// Judges a column; `None` if too few machines have a result in it.
pub(crate) fn judge(column: Column) -> Option<Judged> {
    let mut kept = column.logs();
    if kept.len() < LEAST {
        return None;
    }
    let least = LEAST.max((kept.len() as f64 * LEAST_KEPT).ceil() as usize);
    let (mut middle, mut found) = (0.0, LEAST_SCALE);
    for _ in 0..ROUNDS {
        middle = median(kept.clone());
        found = scale(&kept)?.max(LEAST_SCALE);
        let freedom = freedom(kept.len());
        let is_near =
            |log: &f64| middle - log < WORTH_TELLING || student_tail((middle - log) / found, freedom) > FAR;
        let near: Vec<f64> = kept.iter().copied().filter(is_near).collect();
        if near.len() == kept.len() || near.len() < least {
            break;
        }
        kept = near;
    }
    if kept.len() >= FOR_TAILS {
        // Only chance makes a machine faster than the others, so the scatter of fast machines shows how slow a machine may be by chance.
        kept.sort_by(|a, b| b.total_cmp(a));
        let reached = kept.get(FASTEST as usize - 1).map_or(0.0, |fast| fast - middle);
        found = found.max(reached / expected_fastest(FASTEST, kept.len()));
    }
    let usual = median(column.cells.iter().flatten().map(|cell| cell.spread).collect());
    let freedom = freedom(kept.len());
    let between = found * found * (1.0 + 1.0 / kept.len() as f64);
    let z = |cell: &Option<Cell>| {
        let Some(cell) = cell else { return 0.0 };
        // The speed of a noisier machine is known less precisely.
        let own = (cell.spread * cell.spread - usual * usual).max(0.0);
        (middle - cell.log) / (between + own).sqrt()
    };
    let z: Vec<f64> = column.cells.iter().map(z).collect();
    let chance = z.iter().map(|z| if *z > 0.0 { student_tail(*z, freedom) } else { 1.0 }).collect();
    Some(Judged { column, middle, scale: found, z, chance })
}

/// Degrees of freedom of a scale that is estimated from this many values.
fn freedom(values: usize) -> f64 {
    (EFFICIENCY * values.saturating_sub(1) as f64).max(1.0)
}

/// A family with all its columns, plus a column for the entire family if it has several columns.
pub(crate) struct FamilyJudged {
    pub(crate) family: Family,
    pub(crate) columns: Vec<Judged>,
    pub(crate) whole: Option<Judged>,
}

impl FamilyJudged {
    /// The probability that chance alone makes one of the family's results this slow. Results that measure the same quantity have one joint
    /// probability.
    pub(crate) fn chance(&self, at: usize) -> Option<f64> {
        let all = self.columns.iter().chain(&self.whole);
        let has = |judged: &&Judged| judged.column.cell(at).is_some();
        let chances: Vec<f64> = all.filter(has).filter_map(|judged| judged.chance.get(at).copied()).collect();
        (!chances.is_empty()).then(|| simes(chances))
    }

    /// Of the results in which the machine is slower by more than the smallest relevant difference, the most certain one, if any.
    pub(crate) fn slowest(&self, at: usize) -> Option<&Judged> {
        let whole = self.whole.as_ref().is_some_and(|whole| whole.is_beyond(at));
        let beyond = |judged: &&Judged| {
            judged.is_beyond(at) || whole && judged.loss(at).is_some_and(|loss| loss < -WORTH_TELLING)
        };
        let sure = |judged: &&Judged| judged.z.get(at).copied().unwrap_or(0.0);
        self.columns.iter().filter(beyond).max_by(|a, b| sure(a).total_cmp(&sure(b)))
    }
}

/// Judges all families of a group; the result is empty if the group has too few machines.
pub(crate) fn judge_families(group: &Group) -> Vec<FamilyJudged> {
    let families = group.columns.chunk_by(|a, b| a.family == b.family);
    let judged = families.filter_map(|columns| {
        let family = columns.first()?.family;
        let columns: Vec<Judged> = columns.iter().cloned().filter_map(judge).collect();
        let whole = (columns.len() > 1).then(|| judge(join(family, &columns))).flatten();
        (!columns.is_empty()).then_some(FamilyJudged { family, columns, whole })
    });
    judged.collect()
}

/// The mean of a family's results, weighted by their precision. The scatter of this mean among the machines shows how strongly the results
/// depend on each other.
fn join(family: Family, columns: &[Judged]) -> Column {
    let machines = columns.first().map_or(0, |judged| judged.column.cells.len());
    let all: f64 = columns.iter().map(|judged| judged.scale.powi(-2)).sum();
    let cell = |at: usize| {
        let (mut sum, mut spread, mut weights) = (0.0, 0.0, 0.0);
        for judged in columns {
            if let Some(cell) = judged.column.cell(at) {
                let weight = judged.scale.powi(-2);
                sum += weight * (cell.log - judged.middle);
                // A disturbance of a run affects all of its results.
                spread += weight * cell.spread;
                weights += weight;
            }
        }
        let (log, spread) = (sum / weights, spread / weights);
        // The mean of a machine that has only a few of the family's results scatters more than the means of the others.
        (weights >= LEAST_WHOLE * all).then_some(Cell { log, spread, fast: log + 2.0 * spread })
    };
    Column { figure: None, family, cells: (0..machines).map(cell).collect() }
}
