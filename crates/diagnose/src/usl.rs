//! The Universal Scalability Law (Gunther, Guerrilla Capacity Planning, 2007), fitted to the throughput of increasing
//! thread counts.

use record::Text;
use serde::Serialize;

use crate::figures::median;
use crate::tables::{sentences, word};

/// The table of reasons why a step allows no conclusion.
const DOUBTS: &str = include_str!("scaling/doubts.txt");

/// The number of rounds in which steps far from the fit lose weight.
const ROUNDS: usize = 12;
/// The distance from the fit, in units of the usual distance, beyond which steps lose weight (Huber 1964).
const FAR: f64 = 1.345;

/// One step: the number of threads, the throughput, and the uncertainty of the throughput.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Number of threads, at least 1.
    pub threads: u32,
    /// Work per second.
    pub throughput: f64,
    /// The lower bound of the throughput.
    pub low: f64,
    /// The upper bound of the throughput.
    pub high: f64,
    /// Relative uncertainty, never 0.
    pub error: f64,
    /// The reason why the step allows no conclusion, if any.
    pub doubt: Option<FitDoubt>,
    /// Whether the bounds are a 95 % CI, not merely the range of a few samples.
    pub has_interval: bool,
}

/// Reasons for drawing no conclusion from a step, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FitDoubt {
    /// A CPU quota throttled the step.
    Quota,
    /// Other processes ran on the CPUs of the step.
    Switched,
    /// The hypervisor stole time.
    Stolen,
    /// The step is noisy for another reason.
    Noisy,
    /// The step ran only once.
    Once,
}

impl FitDoubt {
    /// The reason in a sentence.
    pub(crate) fn describe(self) -> Text {
        sentences(DOUBTS, "doubts", &word(&self)).pop().map_or_else(Text::default, Text::from)
    }
}

/// The three parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    /// Throughput of one thread.
    pub rate: f64,
    /// Serialized share of the work.
    pub contention: f64,
    /// Coherency cost per pair of threads.
    pub coherency: f64,
}

impl Fit {
    /// The throughput predicted for this many threads.
    pub(crate) fn throughput_at(&self, threads: u32) -> f64 {
        throughput(self.rate, self.contention, self.coherency, threads.into())
    }
}

/// The throughput of this many threads according to the law: rate N / (1 + contention (N - 1) + coherency N (N - 1)).
pub(crate) fn throughput(rate: f64, contention: f64, coherency: f64, threads: f64) -> f64 {
    rate * threads / (1.0 + contention * (threads - 1.0) + coherency * threads * (threads - 1.0))
}

/// Fits the law with contention and coherency not below 0. N / X(N) is linear in 1/rate, contention/rate and
/// coherency/rate, so weighted least squares give the solution directly. Further rounds then reduce the weight of steps
/// far from the fit. With fewer than 4 steps, coherency is not fitted; with two steps, the contention is that of Karp
/// and Flatt (1990).
pub(crate) fn fit(points: &[Point], distinct: usize) -> Option<Fit> {
    // Values are scaled by the first step's throughput, so that no power overflows or underflows.
    let scale = points.first()?.throughput;
    let rows: Vec<Row> = points
        .iter()
        .map(|point| {
            let n = f64::from(point.threads);
            let y = n * scale / point.throughput;
            Row { x: [1.0, n - 1.0, n * (n - 1.0)], y, weight: 1.0 / (y * point.error).powi(2) }
        })
        .collect();
    let mut weights: Vec<f64> = rows.iter().map(|row| row.weight).collect();
    let parameters = if distinct >= 4 { 3 } else { 2 };
    let mut best = constrained(&rows, &weights, parameters)?;
    for _ in 0..if distinct > parameters + 1 { ROUNDS } else { 0 } {
        let distances: Vec<f64> =
            rows.iter().map(|row| (row.y - row.by(&best)).abs() * row.weight.sqrt()).collect();
        // If the usual distance is below 1, most steps deviate from the fit by less than their own uncertainty. The uncertainty is then
        // used instead of the usual distance.
        let usual = median(distances.iter().copied())?.max(1.0) * FAR;
        weights = rows
            .iter()
            .zip(&distances)
            .map(|(row, distance)| row.weight * (usual / distance.max(usual)))
            .collect();
        best = constrained(&rows, &weights, parameters)?;
    }
    let [a, b, c] = best;
    // The serialized share cannot exceed 1.
    let fit = Fit { rate: scale / a, contention: (b / a).min(1.0), coherency: c / a };
    [fit.rate, fit.contention, fit.coherency].iter().all(|value| value.is_finite()).then_some(fit)
}

struct Row {
    x: [f64; 3],
    y: f64,
    weight: f64,
}

impl Row {
    fn by(&self, parameters: &[f64; 3]) -> f64 {
        self.x.iter().zip(parameters).map(|(x, p)| x * p).sum()
    }
}

/// Least squares with the second and third parameter not below 0. Each subset of these two parameters is fixed at 0 in
/// turn, and the best valid solution is returned. The problem is convex, so one of the at most four solutions is the
/// optimum.
fn constrained(rows: &[Row], weights: &[f64], parameters: usize) -> Option<[f64; 3]> {
    let sets: &[&[usize]] =
        if parameters >= 3 { &[&[0, 1, 2], &[0, 1], &[0, 2], &[0]] } else { &[&[0, 1], &[0]] };
    let cost = |p: &[f64; 3]| -> f64 {
        rows.iter().zip(weights).map(|(row, weight)| weight * (row.y - row.by(p)).powi(2)).sum()
    };
    sets.iter()
        .filter_map(|set| solve(rows, weights, set))
        .filter(|p| p[0] > 0.0 && p[1] >= 0.0 && p[2] >= 0.0 && p.iter().all(|value| value.is_finite()))
        .min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// Least squares over these parameters, with all other parameters 0. Uses a QR decomposition by modified Gram-Schmidt, because normal
/// equations would lose half of the digits.
fn solve(rows: &[Row], weights: &[f64], set: &[usize]) -> Option<[f64; 3]> {
    let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
    let mut columns: Vec<Vec<f64>> =
        set.iter().map(|at| rows.iter().zip(&roots).map(|(row, root)| row.x[*at] * root).collect()).collect();
    let mut y: Vec<f64> = rows.iter().zip(&roots).map(|(row, root)| row.y * root).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let sizes: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    let mut upper = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for at in 0..columns.len() {
        let size = dot(&columns[at], &columns[at]).sqrt();
        // If a column depends linearly on the others (all steps alike), there is nothing to solve for.
        if !size.is_finite() || size <= sizes[at] * 1e-10 {
            return None;
        }
        columns[at].iter_mut().for_each(|value| *value /= size);
        upper[at][at] = size;
        let unit = columns[at].clone();
        for (later, column) in columns.iter_mut().enumerate().skip(at + 1) {
            upper[at][later] = dot(&unit, column);
            column.iter_mut().zip(&unit).for_each(|(value, u)| *value -= upper[at][later] * u);
        }
        right[at] = dot(&unit, &y);
        y.iter_mut().zip(&unit).for_each(|(value, u)| *value -= right[at] * u);
    }
    let mut solution = [0.0; 3];
    let mut answers = [0.0; 3];
    for at in (0..set.len()).rev() {
        let known: f64 = (at + 1..set.len()).map(|later| upper[at][later] * answers[later]).sum();
        answers[at] = (right[at] - known) / upper[at][at];
        // Rounding errors around zero count as zero.
        if answers[at].abs() * sizes[at] < 1e-12 * sizes[0] {
            answers[at] = 0.0;
        }
        solution[set[at]] = answers[at];
    }
    Some(solution)
}
