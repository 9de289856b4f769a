//! A share of a count, with its interval.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// The number of samples of one kind, their share, and the 95 % CI of the share of time (Wilson, 1927). The
/// interval has a width above zero even if the count is zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Share {
    /// Number of samples.
    pub count: u64,
    /// The share of these samples among all decoded samples.
    pub share: f64,
    /// The lower end of the interval. The interval covers both cases: all undecided samples are of this kind, or none.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Default for Share {
    fn default() -> Self {
        Self::of(0, 0, 0)
    }
}

impl Share {
    /// The share for `count` of `all` samples if a further `untold` samples are undecided.
    pub fn of(count: u64, all: u64, untold: u64) -> Self {
        let whole = count.saturating_add(untold).min(all.max(count));
        let share = if all == 0 { 0.0 } else { count as f64 / all as f64 };
        let low = if count == 0 { 0.0 } else { wilson(count, all).0 };
        Self { count, share, low, high: wilson(whole, all).1 }
    }
}

/// The two-sided 95 % quantile of the standard normal distribution.
const Z: f64 = 1.959_964;

/// Wilson's interval for a share.
fn wilson(count: u64, all: u64) -> (f64, f64) {
    if all == 0 {
        return (0.0, 1.0);
    }
    let (n, share) = (all as f64, (count as f64 / all as f64).min(1.0));
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}
