//! What programs wait at in user mode, by samples of their instructions and registers.

use record::diagnosis::BoundBy;
use record::live::Sampled;
use record::text::Value;
use record::{Measurement, Template, Text, detail as place, text};

use super::{Cause, FIRST, Facts, SHARE_LESS, TOUCH_LESS_MEMORY, USE_MEMORY_TOGETHER, detail};

/// Samples whose instructions were read, from which on they tell.
const ENOUGH: u64 = 30;
/// From this part on memory is gone through in order: its bandwidth bounds that, not its latency.
const IN_ORDER: f64 = 0.5;
/// From this share of accesses on whose addresses are not known, the rest tells nothing.
const HIDDEN: f64 = 0.25;
/// Loops that spin for less are those of any lock.
const SPINNING: f64 = 0.2;

const AT_STREAMS: Template = Template {
    code: "bound-sampled-stream",
    words: "{share} of samples in user mode at instructions that stream through more memory than the last-level cache holds.",
};
const AT_LOADS: Template = Template {
    code: "bound-sampled-loads",
    words: "{share} of samples in user mode at accesses to more memory than the last-level cache holds: about {bytes}.",
};

/// Samples that tell something.
fn enough(facts: &Facts) -> Option<Sampled> {
    let sampled = facts.time.detail.get(place::SAMPLED)?;
    (sampled.samples.saturating_sub(sampled.unread) >= ENOUGH).then_some(sampled)
}

/// In whole per cent, as the line of samples has it.
fn share(share: f64) -> Value {
    let digits = if share < 0.1 { 1 } else { 2 };
    Value::Rounded(Box::new(Value::Share(share)), digits)
}

/// Adds what samples say to other causes; `user`: the share of the time that they are of.
pub(super) fn add(causes: &mut Vec<Cause>, facts: &Facts, user: f64) {
    let Some(sampled) = enough(facts) else { return };
    // What counters, experiments or the probe say of memory is exact: slots that do not wait for it are spent elsewhere.
    let stalled = facts.share("backend-bound").map_or(1.0, Measurement::value);
    let of_memory = |cause: &Cause| [BoundBy::MemoryLatency, BoundBy::MemoryBandwidth].contains(&cause.by);
    let known = causes.iter().any(|cause| of_memory(cause) && cause.share >= FIRST);
    let seen = text!("bound-samples", "samples of user mode {count}", count = sampled.samples);
    let together = run_together(facts);
    let at_memory = memory(&sampled, most_memory(facts), user.min(stalled));
    let all = [at_memory, lines(&sampled, user, together), spinning(&sampled, user)];
    let more = all.into_iter().flatten().filter(|cause| !known || !of_memory(cause));
    causes.extend(more.map(|cause| cause.cite(seen.clone(), detail("sampled"))));
}

/// What its samples in user mode say of memory, where that is much of them.
pub(super) fn at_memory(facts: &Facts) -> Option<Cause> {
    let sampled = enough(facts).filter(|sampled| sampled.far >= FIRST)?;
    memory(&sampled, most_memory(facts), facts.user / facts.cpu().max(1e-9) * facts.on_cpu())
}

/// No process goes through more memory than it had at the most, bytes.
fn most_memory(facts: &Facts) -> f64 {
    facts.time.detail.get(place::MAX_RSS_BYTES).map_or(f64::INFINITY, |bytes| bytes as f64)
}

/// The part of its CPU time, at least, in which two of its threads ran at once: only those take lines from each other. While any
/// of them can run, so many do on average; of one and a half, two run together half the time, which is two thirds of what all use.
fn run_together(facts: &Facts) -> f64 {
    let at_once = facts.cpu() / (facts.wall - facts.off_cpu).max(1e-9);
    (2.0 * (at_once - 1.0) / at_once.max(1e-9)).clamp(0.0, 1.0)
}

/// What they leave open where nothing else stands out; `None` where they tell too little.
pub(super) fn computes(facts: &Facts) -> Option<Text> {
    let sampled = enough(facts).filter(|sampled| sampled.hidden < HIDDEN)?;
    Some(text!(
        "bound-sampled-computes",
        "By samples, memory beyond the caches takes {share} of user time; caches and branch misses need hardware counters.",
        share = share(sampled.far)
    ))
}

/// Bytes to one digit of KiB, MiB or GiB: the estimate rests on few pairs of samples that met.
fn first_digit(bytes: f64) -> f64 {
    let unit = 1024_f64.powf(bytes.max(1.0).log(1024.0).floor());
    let place = 10_f64.powf((bytes / unit).max(1.0).log10().floor());
    (bytes / unit / place).round() * place * unit
}

fn memory(sampled: &Sampled, most: f64, user: f64) -> Option<Cause> {
    let bytes = sampled.working_set.filter(|bytes| bytes.is_finite())?.min(most);
    let (by, says, advice) = if sampled.sequential >= IN_ORDER * sampled.far {
        (BoundBy::MemoryBandwidth, text!(AT_STREAMS, share = share(sampled.far)), TOUCH_LESS_MEMORY)
    } else {
        let bytes = Value::Figure(first_digit(bytes), "B");
        (BoundBy::MemoryLatency, text!(AT_LOADS, share = share(sampled.far), bytes), USE_MEMORY_TOGETHER)
    };
    Some(Cause::new(by, user * sampled.far, says, advice))
}

/// Samples count where they met in time, within a window that threads in turns at a lock may meet in too: no more of them than
/// there was time with two at once.
fn lines(sampled: &Sampled, user: f64, together: f64) -> Option<Cause> {
    let taken = sampled.shared.min(together);
    let says = text!(
        "bound-sampled-lines",
        "{share} of samples in user mode at cache lines that several threads write: they take them from each other.",
        share = share(sampled.shared)
    );
    (taken > 0.0).then(|| Cause::new(BoundBy::OwnThreads, user * taken, says, SHARE_LESS))
}

fn spinning(sampled: &Sampled, user: f64) -> Option<Cause> {
    let says = text!(
        "bound-sampled-spin",
        "{share} of samples in user mode in loops that spin: threads wait for each other and keep their CPUs.",
        share = share(sampled.spinning)
    );
    let advice = text!(
        "let threads sleep while they wait, and start no more of them than there are CPUs; where: perf top"
    );
    (sampled.spinning >= SPINNING)
        .then(|| Cause::new(BoundBy::OwnThreads, user * sampled.spinning, says, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_set_has_one_digit() {
        let mib = f64::from(1 << 20);
        for (bytes, digit) in
            [(226.0, 200.0), (256.0, 300.0), (96.0, 100.0), (47.0, 50.0), (1.5 * 1024.0, 2048.0)]
        {
            assert_eq!(first_digit(bytes * mib), digit * mib);
        }
        assert_eq!(first_digit(0.0), 0.0);
    }
}
