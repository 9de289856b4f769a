//! How long the rest of a curve will take, from what its last points took.

/// What a point costs beside making and warming its memory: samples and looks at the clock, s.
const POINT_SECONDS: f64 = 0.012;

/// The cost of one curve's memory, in seconds a byte, as last seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TimeEstimate {
    grow: f64,
    warm: f64,
    /// Growth that is not yet enough to estimate from: bytes and seconds.
    growing: (usize, f64),
}

/// Less growth tells of single page faults, not of a rate; a smaller set's warming likewise.
const TELLING: usize = 4 << 20;

impl TimeEstimate {
    /// Notes that the working set grew.
    pub(crate) fn grew(&mut self, bytes: usize, seconds: f64) {
        self.growing.0 += bytes;
        self.growing.1 += seconds;
        if self.growing.0 >= TELLING {
            self.grow = self.growing.1 / self.growing.0 as f64;
            self.growing = (0, 0.0);
        }
    }

    /// Notes that a working set was warmed.
    pub(crate) fn warmed(&mut self, bytes: usize, seconds: f64) {
        if bytes >= TELLING {
            self.warm = seconds / bytes as f64;
        }
    }

    /// Seconds for working sets of `rest` bytes each, ascending, coming from one of `from` bytes.
    pub(crate) fn seconds(&self, from: usize, rest: impl Iterator<Item = usize>) -> f64 {
        let (mut largest, mut sum, mut points) = (from, 0.0, 0.0);
        for bytes in rest {
            largest = largest.max(bytes);
            sum += bytes as f64;
            points += 1.0;
        }
        self.grow * (largest - from) as f64 + self.warm * sum + POINT_SECONDS * points
    }
}

/// The sizes of `rest` that are measured when only each `stride`-th is, the last always among them.
pub(crate) fn thin(rest: &[usize], stride: usize) -> impl Iterator<Item = usize> + '_ {
    let last = rest.len().saturating_sub(1);
    rest.iter()
        .enumerate()
        .filter(move |(index, _)| index % stride == 0 || *index == last)
        .map(|(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_counts_once_and_warming_at_each_size() {
        let estimate = TimeEstimate { grow: 2.0, warm: 1.0, ..TimeEstimate::default() };
        let seconds = estimate.seconds(100, [150, 200].into_iter());
        assert!((seconds - (200.0 + 350.0 + 2.0 * POINT_SECONDS)).abs() < 1e-9);
        assert_eq!(estimate.seconds(100, std::iter::empty()), 0.0);
    }

    #[test]
    fn one_page_fault_is_no_estimate() {
        let mut estimate = TimeEstimate::default();
        estimate.grew(448, 0.005);
        estimate.warmed(4096, 1.0);
        assert_eq!(estimate.seconds(0, std::iter::once(1 << 30)), POINT_SECONDS);
        estimate.grew(TELLING, 1.0);
        assert!(estimate.seconds(0, std::iter::once(1 << 30)) > 100.0);
    }

    #[test]
    fn thinning_keeps_the_largest() {
        let rest = [1, 2, 3, 4, 5, 6];
        assert_eq!(thin(&rest, 4).collect::<Vec<_>>(), [1, 5, 6]);
        assert_eq!(thin(&rest, 1).count(), 6);
        assert_eq!(thin(&[], 2).count(), 0);
    }
}
