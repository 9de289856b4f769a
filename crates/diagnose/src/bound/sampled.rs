//! Causes of stalls in user mode, from samples of a program's instructions and registers.

use record::diagnosis::{BoundBy, BoundKind};
use record::live::{MemoryLevel, Sampled};
use record::text::Value;
use record::{Measurement, Text, detail as place, text};

use super::{Cause, FIRST, Facts, WORDS, detail, share, verdict};
use crate::tables::{sentences, word};

/// Minimum number of decoded samples for a conclusion.
pub(super) const ENOUGH: u64 = 30;
/// Above this share of sequential accesses, bandwidth is the limit rather than latency.
const IN_ORDER: f64 = 0.5;
/// Above this share of accesses with unknown addresses, samples are inconclusive.
const HIDDEN: f64 = 0.25;
/// A smaller share of spinning is normal for any lock and is not reported.
const SPINNING: f64 = 0.2;
/// A smaller share of cache loads is not reported: they overlap with the program's other work.
const OF_CACHES: f64 = 0.6;

/// Minimum size of a reported working set, bytes.
const LEAST_BYTES: f64 = 4096.0;

/// The samples, if there are enough for a conclusion.
pub(super) fn enough(facts: &Facts) -> Option<Sampled> {
    facts.time.detail.get(place::SAMPLED).filter(|sampled: &Sampled| sampled.decoded() >= ENOUGH)
}

/// Adds the samples' evidence to other causes; `user` is the share of the time that the samples cover.
pub(super) fn add(causes: &mut Vec<Cause>, facts: &Facts, user: f64) {
    let Some(sampled) = enough(facts) else { return };
    // For memory, counters, experiments and the probe take precedence over samples. The share of stalled issue slots limits the share of
    // memory, because slots that are not stalled do not wait for memory.
    let stalled = facts.share("backend-bound").map_or(1.0, Measurement::value);
    let of_memory = |cause: &Cause| [BoundBy::MemoryLatency, BoundBy::MemoryBandwidth].contains(&cause.by);
    let known = causes.iter().any(|cause| of_memory(cause) && cause.share >= FIRST);
    let seen = text!("bound-samples", "user-mode samples: {count}", count = sampled.samples);
    // The minimum share of the command's CPU time during which two of its threads ran simultaneously, which is when they can take cache lines
    // from each other. It is derived from the average number of running threads while any thread can run: with an average of 1.5, two threads
    // run together half of the time, which is two thirds of their CPU time.
    let at_once = facts.cpu() / (facts.wall - facts.off_cpu).max(1e-9);
    let together = (2.0 * (at_once - 1.0) / at_once.max(1e-9)).clamp(0.0, 1.0);
    let at_memory = memory(&sampled, facts, user.min(stalled));
    let all = [at_memory, lines(&sampled, user, together), spinning(&sampled, user)];
    let more = all.into_iter().flatten().filter(|cause| !known || !of_memory(cause));
    causes.extend(more.map(|cause| cause.cite(seen.clone(), detail("sampled"))));
}

/// Memory as the cause, if it accounts for a large share of the user-mode samples.
pub(super) fn at_memory(facts: &Facts) -> Option<Cause> {
    let sampled = enough(facts).filter(|sampled| sampled.far.share >= FIRST)?;
    memory(&sampled, facts, facts.user / facts.cpu().max(1e-9) * facts.on_cpu())
}

/// Describes where user time is spent according to samples, if no cause stands out; `None` if there are too few samples.
pub(super) fn computes(facts: &Facts) -> Option<Text> {
    let sampled = enough(facts)?;
    if sampled.hidden.share >= HIDDEN {
        let [low, high] = [sampled.far.low, sampled.far.high].map(|share| format!("{:.0}", share * 100.0));
        return Some(text!(verdict("hidden-loads"), share = share(sampled.hidden), low, high));
    }
    let mut says = text!(verdict("far-loads"), share = share(sampled.far));
    let others = [
        (sampled.long, text!("divisions and roots")),
        (sampled.float, text!("dependent floating-point operations")),
        (sampled.atomic, text!("atomic operations and fences")),
        (sampled.jumps, text!("branch targets (mispredictions or instruction fetch)")),
        (sampled.loads, text!("loads from the caches")),
    ];
    let most = others.into_iter().max_by(|a, b| a.0.share.total_cmp(&b.0.share));
    if let Some((most, what)) = most.filter(|(most, _)| most.share >= SPINNING) {
        says.push(text!("The largest other part: {what}, {share}.", what, share = share(most)));
    }
    Some(says)
}

/// Rounds a size to one significant digit in KiB, MiB or GiB, because the estimate is based on few matching pairs of samples.
fn first_digit(bytes: f64) -> f64 {
    let unit = 1024_f64.powf(bytes.max(1.0).log(1024.0).floor());
    let place = 10_f64.powf((bytes / unit).max(1.0).log10().floor());
    (bytes / unit / place).round() * place * unit
}

/// Names the threads that wait.
fn who(facts: &Facts) -> Text {
    if super::convoy::is_one_at_a_time(facts) { text!("One thread") } else { text!("All running threads") }
}

/// Loads from memory or the last-level cache as the cause, if they account for much of the time.
fn memory(sampled: &Sampled, facts: &Facts, user: f64) -> Option<Cause> {
    if sampled.far.count > 0 && sampled.sequential.share >= IN_ORDER * sampled.far.share {
        let says = text!(verdict("streams"), who = who(facts), share = share(sampled.far));
        return Some(Cause::new(BoundBy::MemoryBandwidth, user * sampled.far.share, says, "touch-less"));
    }
    let of_level = sampled.level.unwrap_or(MemoryLevel::CachesOrMemory);
    let is_cache = [MemoryLevel::L2, MemoryLevel::L3].contains(&of_level);
    let at = match of_level {
        MemoryLevel::L2 => sampled.own_cache,
        MemoryLevel::L3 => sampled.last_cache,
        MemoryLevel::CachesOrMemory if sampled.last_cache.count > sampled.far.count => sampled.last_cache,
        _ => sampled.far,
    };
    if at.count == 0 || (is_cache && at.share < OF_CACHES) {
        return None;
    }
    let level = word(&of_level);
    let (level, kind) = (*sentences(WORDS, "levels", &level).first()?, super::kind(&level));
    // A working set cannot exceed the process's peak memory.
    let most = facts.time.detail.get(place::MAX_RSS_BYTES).map_or(f64::INFINITY, |bytes| bytes as f64);
    let bytes = sampled.working_set.filter(|bytes| bytes.is_finite()).unwrap_or(0.0).min(most);
    // Even small working sets are reported, because their lines cost a memory access if other data has evicted them.
    let size = (bytes >= LEAST_BYTES)
        .then(|| text!(", about {bytes}", bytes = Value::Figure(first_digit(bytes), "B")));
    let time = sampled
        .load_ns
        .map(|ns| text!("{ns} per load, ", ns = Value::Rounded(Box::new(Value::Figure(ns, "ns")), 3)));
    let (size, time) = (size.unwrap_or_default(), time.unwrap_or_default());
    let (who, level) = (who(facts), Text::from(level));
    let says = text!(verdict("loads"), who, level, size, time, share = share(at));
    Some(Cause::new(BoundBy::MemoryLatency, user * at.share, says, "use-together").of_kind(kind))
}

/// Shared cache lines as the cause. Samples within a time window count as simultaneous, but threads that alternate at a lock also produce
/// such samples. The share is therefore limited to the time in which two threads ran simultaneously.
fn lines(sampled: &Sampled, user: f64, together: f64) -> Option<Cause> {
    // Spin loops always access a shared line, but have a different remedy.
    if sampled.spinning.share >= SPINNING {
        return None;
    }
    let taken = sampled.shared.share.min(together);
    let says = text!(verdict("shared-lines"), share = share(sampled.shared));
    let cause = Cause::new(BoundBy::OwnThreads, user * taken, says, "share-less");
    (taken > 0.0).then(|| cause.of_kind(BoundKind::SharedLines))
}

fn spinning(sampled: &Sampled, user: f64) -> Option<Cause> {
    let says = text!(verdict("spin-loops"), share = share(sampled.spinning));
    // A thread that acquires the lock also waits for the same cache line.
    let taken = sampled.spinning.share.max(sampled.shared.share.min(2.0 * sampled.spinning.share));
    let cause = Cause::new(BoundBy::OwnThreads, user * taken, says, "spinning");
    (sampled.spinning.share >= SPINNING).then(|| cause.of_kind(BoundKind::Spinning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::live::Share;

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

    #[test]
    fn nothing_seen_has_an_upper_bound() {
        assert_eq!(share(Share::of(0, 100, 0)).to_string(), "< 4 %");
        assert_eq!(share(Share::of(96, 100, 0)).to_string(), "96 % [90–98]");
    }
}
