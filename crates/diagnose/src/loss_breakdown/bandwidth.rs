//! The loss of bandwidth between memory and all CPUs, in bytes per second.

use record::diagnosis::Finding;
use record::difference::Verdict;
use record::text::Value;
use record::{Label, text, write_allocate_avoided};

use super::Steps;
use crate::figures::has_labels;
use crate::findings::Case;
use crate::findings::bandwidth_shared::{AT_TIMES, RULE};
use crate::{memory_channels, resources};

/// From the rated bandwidth of the devices down to triad, with steps for the configured speed, the load of other processes, and the
/// write-allocate reads of stores.
pub(super) fn descend(case: &Case, steps: &mut Steps) {
    if let Some(channels) = memory_channels::channels(&case.record.machine)
        && let Some(rated) = channels.rated_bytes_per_second
        && rated > channels.bytes_per_second
    {
        steps.breakdown.ceiling = rated;
        steps.level = rated;
        steps.breakdown.ceiling_is = channels.describe_at(channels.rated_mt_s.unwrap_or(channels.mt_s));
        let (slowest, _) = channels.mt_s;
        let cause = text!("memory set to {slowest} MT/s", slowest = slowest.to_string());
        steps.take(cause, Some("memory-speed"), rated - channels.bytes_per_second, None, false);
    }
    let delivered = steps.breakdown.delivered;
    // The share in the finding is relative to the bandwidth that would have been reached without other processes.
    let of_others = |share: f64| delivered * share / (1.0 - share);
    // The rule is applied again here, because the list of findings may contain its finding only merged with the finding about general load.
    let found = RULE.findings(case).pop();
    if let Some(Finding { loss: Verdict::Costs { share, interval: (low, high) }, what, measured, .. }) = found
        && !what.is(&AT_TIMES)
        && of_others(share) < steps.level - delivered
    {
        let cause =
            text!("other processes ({share} below the result without them)", share = Value::Share(share));
        let between = Some((of_others(low), of_others(high)));
        steps.take(cause, Some(RULE.name), of_others(share), between, measured);
    }
    if let Some((triad, _)) = resources::triad_and_read(case)
        && has_labels(triad, &[(Label::Stores, "regular")])
        && let Some((least, most)) = write_allocate_avoided(case.record, triad)
    {
        // Triad writes one of three arrays.
        let read_first = |avoided: f64| delivered / 3.0 * (1.0 - avoided);
        let cause = text!("write-allocate reads for regular stores");
        let between = Some((read_first(most), read_first(least)));
        steps.take(cause, None, read_first((least + most) / 2.0), between, true);
    }
}
