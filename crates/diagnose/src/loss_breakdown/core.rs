//! The loss of core clock with all cores busy.

use record::text::Value;
use record::{Measurement, text};

use super::Steps;
use crate::figures::{median, middle, spread};
use crate::findings::Case;

/// From the advertised clock down to the clock that all cores reach together, with one step for each clock limit. CPU time lost to other
/// processes does not affect the clock.
pub(super) fn descend(case: &Case, steps: &mut Steps) {
    let scalar = |active: &str| case.clocks("scalar", active);
    let (one, all) = (middle(scalar("one")), middle(scalar("all")));
    limit(case, steps, one.or(all));
    if let (Some(one), Some(all)) = (one, all) {
        let ((one_low, one_high), (all_low, all_high)) = (spread(&one.summary), spread(&all.summary));
        let between = Some((one_low - all_high, one_high - all_low));
        steps.take(text!("all cores busy"), None, one.value() - all.value(), between, true);
    }
}

/// A clock limit, if it keeps a single busy core below the ceiling.
fn limit(case: &Case, steps: &mut Steps, alone: Option<&Measurement>) {
    let Some(alone) = alone else { return };
    let before = &case.record.conditions.before;
    let upper = median(before.clocks.iter().filter_map(|setting| Some(setting.max_hz? as f64)));
    let base = case.record.machine.processor.base_hz.filter(|_| before.boost == Some(false));
    let upper = upper.map(|hz| {
        let limit = Value::Figure(hz, "Hz");
        (hz, text!("the clock is limited to {limit}"))
    });
    let base = base.map(|hz| (hz as f64, text!("boost is off")));
    let least = upper.into_iter().chain(base).min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((hz, cause)) = least else { return };
    let ceiling = steps.breakdown.ceiling;
    steps.take(cause, Some("clock-limit"), (ceiling - hz).min(ceiling - alone.value()), None, true);
}
