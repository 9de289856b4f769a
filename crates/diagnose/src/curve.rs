//! A latency curve: its points, smoothed against noise, and the edges at which the curve climbs from one plateau to the next. This module
//! knows nothing about caches.

use record::statistics::{MAD_SCALE, median_of_sorted};

/// A slope is computed over this many octaves to each side, that is, over two steps if there are eight sizes per octave.
const HALF_SPAN: f64 = 0.25;
/// A step with a smaller rise does not start a separate level. The smallest published ratio between neighboring levels is about 1.5 (L3 to
/// memory under load); TLB limits cause ratios of 1.1 to 1.25.
const LEAST_RISE: f64 = 1.25;
/// Two climbs count as separate edges if the slope between them falls below this share of the gentler climb's slope.
const VALLEY: f64 = 0.5;
/// A plateau is the longest run of points that climbs by at most this much; on noisy curves, the limit is higher.
const FLAT: f64 = 0.08;
/// An edge begins at the point where the slope exceeds this share of its maximum: a level that drifts upward before its end (a 2 MiB L2
/// climbs by a third over two octaves) does not end at the start of the drift.
const FOOT: f64 = 0.25;
/// The last plateau is the median of at least this many points (half an octave), so one or two spikes do not determine it.
const LAST_POINTS: usize = 5;
/// The curve counts as having left a plateau after this share of the (logarithmic) climb to the next one.
const LEFT: f64 = 0.15;
/// A level ends at the latest where the latency has risen by this factor, because a climb over many octaves would reach the share defined
/// above too late.
const LEFT_RATIO: f64 = 1.15;

/// A latency curve: distinct working sets in bytes, in ascending order, with their latencies in ns, both as measured and made monotonic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    bytes: Vec<u64>,
    raw: Vec<f64>,
    /// Base-2 logarithm of `bytes`.
    x: Vec<f64>,
    /// Natural logarithm of the latency, non-decreasing: a larger working set cannot be faster.
    y: Vec<f64>,
    /// Spread of the measured points around `y`, as a share.
    noise: f64,
}

/// A run of points between two edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plateau {
    /// Latency: the median over the plateau's flattest part, ns.
    pub latency: f64,
    /// Largest working set still on the plateau, bytes; `None` for the last plateau.
    pub left_at: Option<u64>,
    /// Smallest measured working set beyond the plateau, bytes; `None` for the last plateau.
    pub gone_at: Option<u64>,
    /// Smallest and largest working set of the plateau's flattest part, bytes.
    pub flat: (u64, u64),
}

impl Curve {
    /// Builds a curve from (bytes, ns) points in any order. Omits points that are not positive numbers; several points of one size become
    /// their median.
    pub(crate) fn new(points: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let mut points: Vec<(u64, f64)> =
            points.into_iter().filter(|(bytes, ns)| *bytes > 0 && ns.is_finite() && *ns > 0.0).collect();
        points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let (mut bytes, mut raw) = (Vec::new(), Vec::new());
        for same in points.chunk_by(|a, b| a.0 == b.0) {
            let values: Vec<f64> = same.iter().map(|point| point.1).collect();
            bytes.push(same[0].0);
            raw.push(median_of_sorted(&values));
        }
        let x = bytes.iter().map(|b| (*b as f64).log2()).collect();
        let logs: Vec<f64> = raw.iter().map(|ns| ns.ln()).collect();
        let y = never_falling(&running_median(&logs));
        let mut deviations: Vec<f64> = logs.iter().zip(&y).map(|(a, b)| (a - b).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let noise = median_of_sorted(&deviations) * MAD_SCALE;
        Self { bytes, raw, x, y, noise }
    }

    /// The number of sizes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the curve has no points.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Smallest and largest working set, bytes.
    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        Some((*self.bytes.first()?, *self.bytes.last()?))
    }

    /// Latency in ns at a working set in bytes, interpolated logarithmically between points; beyond the ends, the latency of the end point.
    pub(crate) fn latency_at(&self, bytes: f64) -> Option<f64> {
        if self.is_empty() || bytes.is_nan() || bytes <= 0.0 {
            return None;
        }
        Some(self.log_at(bytes.log2()).exp())
    }

    /// The median measured latency in ns of working sets of at least this many bytes, and the smallest such set; `None` if there are none.
    pub(crate) fn from(&self, bytes: u64) -> Option<(f64, u64)> {
        let first = self.bytes.partition_point(|size| *size < bytes);
        let mut beyond = self.raw.get(first..)?.to_vec();
        beyond.sort_by(f64::total_cmp);
        Some((median_of_sorted(&beyond), *self.bytes.get(first)?))
    }

    /// The climbs between plateaus, in order.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let slopes = self.slopes();
        let mut peaks: Vec<usize> = (0..slopes.len())
            .filter(|i| {
                let before = i.checked_sub(1).map_or(f64::NEG_INFINITY, |j| slopes[j]);
                let after = slopes.get(i + 1).copied().unwrap_or(f64::NEG_INFINITY);
                slopes[*i] > 0.0 && slopes[*i] > before && slopes[*i] >= after
            })
            .collect();
        // Two maxima without a valley between them form one climb, represented by its steepest point.
        while let Some(at) = shallowest(&peaks, &slopes) {
            let lower = if slopes[peaks[at]] < slopes[peaks[at + 1]] { at } else { at + 1 };
            peaks.remove(lower);
        }
        // Then merge each climb that does not lead to another level with a neighboring climb, starting with the smallest.
        loop {
            let edges = self.climbs(&peaks, &slopes);
            let least = edges.iter().enumerate().min_by(|a, b| a.1.rise.total_cmp(&b.1.rise));
            match least {
                Some((at, edge)) if edge.rise < LEAST_RISE.ln() => {
                    peaks.remove(at);
                }
                _ => return edges,
            }
        }
    }

    /// The plateaus from first to last, separated by these edges (from [`Self::edges`], in order): one
    /// more than there are edges, or none if the curve is empty.
    pub(crate) fn plateaus(&self, edges: &[Edge]) -> Vec<Plateau> {
        let Some(last) = self.len().checked_sub(1) else {
            return Vec::new();
        };
        let mut plateaus: Vec<Plateau> = Vec::new();
        for i in 0..=edges.len() {
            let from = if i == 0 { 0 } else { edges[i - 1].peak + 1 };
            let to = edges.get(i).map_or(last, |edge| edge.peak);
            let (low, high) = if i == edges.len() { self.end(from) } else { self.longest_flat(from, to) };
            let mut values = self.raw[low..=high].to_vec();
            values.sort_by(f64::total_cmp);
            let before = plateaus.last().map_or(0.0, |plateau| plateau.latency);
            plateaus.push(Plateau {
                latency: median_of_sorted(&values).max(before),
                left_at: None,
                gone_at: None,
                flat: (self.bytes[low], self.bytes[high]),
            });
        }
        for (i, edge) in edges.iter().enumerate() {
            let (low, high) = (self.y[edge.foot], plateaus[i + 1].latency.ln());
            let bound = low + (LEFT * (high - low).max(0.0)).min(LEFT_RATIO.ln());
            let end = edges.get(i + 1).map_or(last, |next| next.peak);
            let on = (edge.foot..=end).take_while(|at| self.y[*at] <= bound).last().unwrap_or(edge.foot);
            let left = self.bytes[on].max(plateaus[i].flat.1);
            plateaus[i].left_at = Some(left);
            plateaus[i].gone_at = self.bytes.iter().copied().find(|bytes| *bytes > left);
        }
        plateaus
    }

    /// The slope d ln t / d log2 size at the midpoint of each pair of neighboring points.
    fn slopes(&self) -> Vec<f64> {
        (1..self.len())
            .map(|i| {
                let middle = (self.x[i - 1] + self.x[i]) / 2.0;
                (self.log_at(middle + HALF_SPAN) - self.log_at(middle - HALF_SPAN)) / (2.0 * HALF_SPAN)
            })
            .collect()
    }

    /// The climb around each peak of the slope, from the preceding valley to the following one.
    fn climbs(&self, peaks: &[usize], slopes: &[f64]) -> Vec<Edge> {
        let feet: Vec<usize> = std::iter::once(0)
            .chain(peaks.windows(2).map(|pair| valley(slopes, pair[0], pair[1])))
            .chain(std::iter::once(self.len().saturating_sub(1)))
            .collect();
        peaks
            .iter()
            .enumerate()
            .map(|(i, peak)| {
                let begins = slopes[feet[i]..*peak].iter().rposition(|slope| *slope < FOOT * slopes[*peak]);
                Edge {
                    foot: begins.map_or(feet[i], |at| feet[i] + at + 1),
                    peak: *peak,
                    rise: self.y[feet[i + 1]] - self.y[feet[i]],
                }
            })
            .collect()
    }

    /// Maximum climb of a flat run, as a natural logarithm.
    fn tolerance(&self) -> f64 {
        FLAT.max(4.0 * self.noise)
    }

    /// The longest flat run of points from `from` to `to`; the first if several are equally long.
    fn longest_flat(&self, from: usize, to: usize) -> (usize, usize) {
        let (mut best, mut low) = ((from, from), from);
        for high in from..=to {
            while self.y[high] - self.y[low] > self.tolerance() {
                low += 1;
            }
            if high - low > best.1 - best.0 {
                best = (low, high);
            }
        }
        best
    }

    /// The flat run that ends with the last point and starts no earlier than `from`. Memory latency is that of the largest working sets,
    /// even if the curve is still climbing there.
    fn end(&self, from: usize) -> (usize, usize) {
        let last = self.len().saturating_sub(1);
        let flat = (from..=last).rev().take_while(|at| self.y[last] - self.y[*at] <= self.tolerance() / 2.0);
        let fewest = last.saturating_sub(LAST_POINTS - 1).max(from);
        (flat.last().unwrap_or(last).min(fewest), last)
    }

    /// Natural logarithm of the latency for a working set given as its base-2 logarithm. The curve must not be empty.
    fn log_at(&self, x: f64) -> f64 {
        let right = self.x.partition_point(|at| *at < x);
        if right == 0 {
            return self.y[0];
        }
        if right == self.len() {
            return self.y[right - 1];
        }
        let share = (x - self.x[right - 1]) / (self.x[right] - self.x[right - 1]);
        self.y[right - 1] + share * (self.y[right] - self.y[right - 1])
    }
}

/// One climb of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    /// Index of the point at which the climb starts.
    foot: usize,
    /// Index of the point before the steepest part.
    peak: usize,
    /// Height of the climb, as the natural logarithm of the latency ratio.
    pub rise: f64,
}

/// The pair of neighboring peaks (by the index of the first) with the shallowest valley, if that valley is too shallow.
fn shallowest(peaks: &[usize], slopes: &[f64]) -> Option<usize> {
    peaks
        .windows(2)
        .enumerate()
        .map(|(i, pair)| {
            let low = slopes[valley(slopes, pair[0], pair[1])];
            (i, low / slopes[pair[0]].min(slopes[pair[1]]))
        })
        .filter(|(_, depth)| *depth > VALLEY)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(i, _)| i)
}

/// The position of the smallest slope between two peaks.
fn valley(slopes: &[f64], from: usize, to: usize) -> usize {
    (from..=to).min_by(|a, b| slopes[*a].total_cmp(&slopes[*b])).unwrap_or(from)
}

/// The running median of five points, or of three at the two points nearest to each end. It leaves a monotonic curve unchanged (except for
/// the two end points, which get their neighbor's value), and removes spikes of up to two points (one point at the ends).
fn running_median(values: &[f64]) -> Vec<f64> {
    let Some(last) = values.len().checked_sub(1).filter(|last| *last >= 2) else {
        return values.to_vec();
    };
    (0..=last)
        .map(|i| {
            let centre = i.clamp(1, last - 1);
            let reach = i.min(last - i).clamp(1, 2);
            let mut around = values[centre - reach..=centre + reach].to_vec();
            around.sort_by(f64::total_cmp);
            around[reach]
        })
        .collect()
}

/// The closest non-decreasing values (least squares): pools decreasing neighbors.
fn never_falling(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        pools.push((*value, 1));
        while let [.., (before, n), (last, m)] = pools[..] {
            if before <= last {
                break;
            }
            pools.truncate(pools.len() - 2);
            pools.push(((before * n as f64 + last * m as f64) / (n + m) as f64, n + m));
        }
    }
    pools.into_iter().flat_map(|(value, n)| std::iter::repeat_n(value, n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{noisy, sizes, steps};

    fn levels(curve: &Curve) -> Vec<Plateau> {
        curve.plateaus(&curve.edges())
    }

    #[test]
    fn sharp_steps_are_found_at_their_sizes() {
        let steps = [(48 << 10, 1.4), (2 << 20, 4.2), (32 << 20, 20.0), (u64::MAX, 90.0)];
        let found = levels(&Curve::new(self::steps(&sizes(4 << 10, 1 << 30), &steps)));
        let latencies: Vec<f64> = found.iter().map(|plateau| plateau.latency).collect();
        assert_eq!(latencies.len(), 4, "{found:?}");
        for (latency, (_, ns)) in latencies.iter().zip(steps) {
            assert!((latency / ns - 1.0).abs() < 0.01, "{latencies:?}");
        }
        let left: Vec<Option<u64>> = found.iter().map(|plateau| plateau.left_at).collect();
        // With steps of an eighth of an octave, the largest measured size that fits in 48 KiB is 45.25 KiB.
        assert_eq!(left, [Some(46336), Some(2 << 20), Some(32 << 20), None]);
    }

    #[test]
    fn noise_and_spikes_make_no_levels() {
        let steps = [(32 << 10, 1.3), (1 << 20, 4.0), (u64::MAX, 100.0)];
        for seed in 0..200 {
            let points = noisy(self::steps(&sizes(4 << 10, 256 << 20), &steps), 0.05, seed);
            let found = levels(&Curve::new(points));
            assert_eq!(found.len(), 3, "seed {seed}: {found:?}");
            for (plateau, (size, ns)) in found.iter().zip(steps) {
                assert!((plateau.latency / ns - 1.0).abs() < 0.05, "seed {seed}: {found:?}");
                if let Some(left) = plateau.left_at {
                    let far = (left as f64 / size as f64).log2().abs();
                    assert!(far <= 0.26, "seed {seed}: left at {left} of {size}");
                }
            }
        }
    }

    #[test]
    fn few_points_are_no_reason_to_fail() {
        assert_eq!(levels(&Curve::new([])), []);
        let one = levels(&Curve::new([(4096, 1.5)]));
        assert_eq!(one, [Plateau { latency: 1.5, left_at: None, gone_at: None, flat: (4096, 4096) }]);
        assert_eq!(levels(&Curve::new([(4096, 1.5), (8192, 1.5)])).len(), 1);
    }

    #[test]
    fn between_points_the_curve_is_read_by_the_logarithms() {
        let curve = Curve::new([(1 << 10, 1.0), (1 << 12, 4.0)]);
        assert!((curve.latency_at(2048.0).unwrap_or(0.0) - 2.0).abs() < 1e-9);
        assert_eq!(curve.latency_at(1.0), Some(1.0));
        assert_eq!(curve.latency_at(f64::NAN), None);
        assert_eq!(Curve::new([]).latency_at(1.0), None);
    }
}
