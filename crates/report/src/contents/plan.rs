//! Sentences of a plan.

use record::Mark;
use record::plan::{Gain, Verification};
use record::units::{figure, percent, significant};

/// What one kind of program gains and why.
pub fn gain(gain: &Gain) -> String {
    let between = match gain.interval {
        Some((low, high)) => format!(" ({} to {})", significant(low), significant(high)),
        None => String::new(),
    };
    format!(
        "A program that {} does {} times the work{between}, modelled. {}",
        gain.program,
        significant(gain.factor),
        gain.why
    )
}

/// What running a command both ways gave, a sentence a line.
pub fn verification(verified: &Verification) -> Vec<String> {
    let mut lines = vec![verified.says.clone(), verified.how.clone()];
    let median = |values: &[f64]| figure(record::Summary::of(values).median, "s");
    if !verified.planned.is_empty() {
        let noise = verified.noise.map_or(String::new(), |noise| {
            format!("; two runs of one kind in a row differ by {}", percent(noise))
        });
        lines.push(format!(
            "As planned {}, unbound {}, the medians of {} rounds{noise}.",
            median(&verified.planned),
            median(&verified.unbound),
            verified.planned.len()
        ));
        for (mark, count) in &verified.marks {
            let all = verified.planned.len() + verified.unbound.len();
            lines.push(format!("In {count} of {all} runs {}.", happened(*mark)));
        }
    }
    lines
}

/// What a mark says of a run.
fn happened(mark: Mark) -> &'static str {
    match mark {
        Mark::ClockMoved => "the core clock moved",
        Mark::Switched => "other programs ran on these CPUs",
        Mark::Migrated => "threads found themselves on other CPUs",
        Mark::Stolen => "the hypervisor took time",
        Mark::Throttled => "heat or power held the clock down",
        Mark::Quota => "a CPU quota stopped the command",
    }
}
