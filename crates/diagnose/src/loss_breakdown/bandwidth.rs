//! Bytes a second between all CPUs and memory.

use record::diagnosis::CeilingSource;
use record::{Label, Text, text};

use super::{BreakdownInputs, Steps};
use crate::{memory_channels, resources};

/// From what the devices are rated for over the speed that they are set to and the best mix of reads and writes down to
/// triad.
pub(super) fn descend(inputs: BreakdownInputs, steps: &mut Steps) -> Option<Text> {
    if steps.breakdown.source == CeilingSource::Parts
        && let Some(channels) = memory_channels::channels(&inputs.index.record.machine)
        && let Some(rated) = channels.rated_bytes_per_second
        && rated > channels.bytes_per_second
    {
        steps.breakdown.ceiling = rated;
        steps.level = rated;
        steps.breakdown.ceiling_is = channels.describe_at(channels.rated_mt_s.unwrap_or(channels.mt_s));
        let (slowest, _) = channels.mt_s;
        let cause =
            text!("breakdown-memory-speed", "memory set to {slowest} MT/s", slowest = slowest.to_string());
        steps.take(cause, Some("memory-speed"), rated - channels.bytes_per_second, None, false);
    }
    let (best, triad) = resources::bandwidths(inputs.index)?;
    if let Some((alone, words)) = resources::bandwidth_alone(inputs.index)
        && alone > best.value()
    {
        if steps.breakdown.source == CeilingSource::Measured {
            (steps.breakdown.ceiling, steps.level) = (alone, alone);
            steps.breakdown.ceiling_is = words;
        }
        // The same loop moved as much alone: no mix of reads and writes is what it lacks, others are.
        let cause = text!("breakdown-others", "others on the CPUs");
        steps.take(cause, Some("bandwidth-shared"), alone - triad.value(), None, true);
        return None;
    }
    let op = best.labels.word(Label::Op).unwrap_or("another mix");
    let (fewer, all) = (best.labels.count(Label::Threads), triad.labels.count(Label::Threads));
    let cause = match (fewer, all) {
        (Some(fewer), Some(all)) if fewer != all => {
            text!(
                "breakdown-triad-on-all",
                "triad on all {all} CPUs ({op} on {fewer} is the fastest here)",
                all,
                op = op.to_owned(),
                fewer
            )
        }
        _ => text!(
            "breakdown-triad",
            "triad's reads and writes in turn ({op} is the fastest here)",
            op = op.to_owned()
        ),
    };
    steps.between(cause, None, best, triad);
    None
}
