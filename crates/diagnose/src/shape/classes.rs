//! Classes of distances, separated by the valleys in the density of all measured times (on a logarithmic scale).

/// Bin width on the logarithmic scale: 3 %.
const BIN: f64 = 0.03;
/// Values are spread over this many bins to either side: 12 %, about as much as the time of one pair of CPUs varies from one cache line to
/// another.
const SPREAD: usize = 4;
/// Two peaks of handover times are separate classes only if they differ at least by this factor; within one mesh, pairs differ by up to
/// 1.4×.
pub(super) const LINES_APART: f64 = 1.5;
/// The corresponding factor for loads from one page, which depend less on the CPU's location.
pub(super) const LOADS_APART: f64 = 1.3;
/// The density between two peaks must also fall to this fraction of the lower peak.
const VALLEY: f64 = 0.4;
/// Minimum number of values in a class: a single value may be a disturbance.
const LEAST: usize = 2;

/// Upper bounds of all classes except the last, ascending; ignores times of 0 or below. The peaks of two classes differ at least by the
/// factor `apart`.
pub(super) fn bounds(values: &[f64], apart: f64) -> Vec<f64> {
    let mut logs: Vec<f64> =
        values.iter().filter(|value| **value > 0.0 && value.is_finite()).map(|value| value.ln()).collect();
    logs.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (logs.first().copied(), logs.last().copied()) else { return Vec::new() };
    let bin = |log: f64| ((log - first) / BIN) as usize + SPREAD;
    let mut density = vec![0.0; bin(last) + SPREAD + 1];
    for log in &logs {
        let at = bin(*log);
        for distance in 0..=SPREAD {
            let weight = (SPREAD + 1 - distance) as f64;
            density[at + distance] += weight;
            if distance > 0 {
                density[at - distance] += weight;
            }
        }
    }
    let log_at = |bin: usize| first + (bin as f64 - SPREAD as f64 + 0.5) * BIN;
    let count = |from: f64, to: f64| logs.iter().filter(|log| (from..to).contains(*log)).count();
    let mut peaks = peaks(&density);
    // Merge neighbors that are not separate classes, starting with the shallowest valley.
    loop {
        let valleys: Vec<usize> = peaks.windows(2).map(|pair| valley(&density, pair[0], pair[1])).collect();
        let bounds: Vec<f64> = valleys.iter().map(|at| log_at(*at)).collect();
        let from = |at: usize| at.checked_sub(1).map_or(f64::NEG_INFINITY, |at| bounds[at]);
        let to = |at: usize| bounds.get(at).copied().unwrap_or(f64::INFINITY);
        let depth = |at: usize| density[valleys[at]] / density[peaks[at]].min(density[peaks[at + 1]]);
        let is_one = |at: &usize| {
            let few = count(from(*at), to(*at)) < LEAST || count(from(at + 1), to(at + 1)) < LEAST;
            few || depth(*at) > VALLEY || log_at(peaks[at + 1]) - log_at(peaks[*at]) < apart.ln()
        };
        let Some(at) = (0..valleys.len()).filter(is_one).max_by(|a, b| depth(*a).total_cmp(&depth(*b)))
        else {
            return bounds.into_iter().map(f64::exp).collect();
        };
        let lower = if density[peaks[at]] < density[peaks[at + 1]] { at } else { at + 1 };
        peaks.remove(lower);
    }
}

/// The highest bin of each hill.
fn peaks(density: &[f64]) -> Vec<usize> {
    let mut peaks = Vec::new();
    let mut rising = None;
    for (at, pair) in density.windows(2).enumerate() {
        match pair[1].total_cmp(&pair[0]) {
            std::cmp::Ordering::Greater => rising = Some(at + 1),
            std::cmp::Ordering::Less => peaks.extend(rising.take()),
            std::cmp::Ordering::Equal => {}
        }
    }
    peaks.extend(rising);
    peaks
}

/// The center of the lowest part between two peaks.
fn valley(density: &[f64], from: usize, to: usize) -> usize {
    let least = density[from..=to].iter().copied().fold(f64::INFINITY, f64::min);
    let lowest: Vec<usize> = (from..=to).filter(|at| density[*at] <= least).collect();
    lowest.get(lowest.len() / 2).copied().unwrap_or(from)
}

/// The class of a time, given the classes' bounds.
pub(super) fn class_of(bounds: &[f64], value: f64) -> usize {
    bounds.iter().filter(|bound| value > **bound).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn about(middle: f64, n: usize, spread: f64) -> Vec<f64> {
        (0..n).map(|at| middle * (1.0 + spread * (at as f64 / (n.max(2) - 1) as f64 - 0.5))).collect()
    }

    fn classes(groups: &[Vec<f64>]) -> Vec<usize> {
        let all: Vec<f64> = groups.concat();
        let bounds = bounds(&all, LINES_APART);
        groups
            .iter()
            .flat_map(|group| [class_of(&bounds, group[0]), class_of(&bounds, group[group.len() - 1])])
            .collect()
    }

    #[test]
    fn times_far_apart_are_classes_and_a_mesh_is_one() {
        assert_eq!(
            classes(&[about(8.5, 40, 0.1), about(87.0, 3500, 0.5), about(190.0, 60, 0.3)]),
            [0, 0, 1, 1, 2, 2]
        );
        assert_eq!(classes(&[about(75.0, 500, 0.7)]), [0, 0]);
        assert_eq!(classes(&[about(27.0, 20, 0.05), about(155.0, 10, 0.05)]), [0, 0, 1, 1]);
        assert_eq!(
            classes(&[about(25.0, 20, 0.1), about(95.0, 90, 0.3), about(180.0, 100, 0.2)]),
            [0, 0, 1, 1, 2, 2]
        );
        // A single value is not a class.
        assert_eq!(classes(&[about(27.0, 20, 0.05), vec![300.0]]), [0, 0, 0, 0]);
        assert_eq!(bounds(&[], LINES_APART), Vec::<f64>::new());
        assert_eq!(bounds(&[50.0], LINES_APART), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn bounds_ascend_whatever_the_times(values in prop::collection::vec(prop::num::f64::ANY, 0..200)) {
            let values: Vec<f64> = values.iter().map(|v| v.clamp(-1.0, 1e9)).collect();
            let bounds = bounds(&values, LINES_APART);
            prop_assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
        }

        #[test]
        fn a_faster_machine_has_the_same_classes(scale in 0.2f64..5.0) {
            let values = [about(20.0, 30, 0.2), about(90.0, 30, 0.3)].concat();
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let (one, other) = (bounds(&values, LINES_APART), bounds(&scaled, LINES_APART));
            let class = |bounds: &[f64], values: &[f64]| values.iter().map(|v| class_of(bounds, *v)).collect::<Vec<_>>();
            prop_assert_eq!(class(&one, &values), class(&other, &scaled));
        }
    }
}
