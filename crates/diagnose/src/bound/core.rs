//! Causes of stalled cores while a command ran, from counters and ceilings.

use record::diagnosis::BoundBy;
use record::text::Value;
use record::units::{self, significant};
use record::{Measurement, Text, text};

use super::time::reported_of_others;
use super::{Cause, Facts, detail, sampled, verdict};
use crate::figures::cite_fact;

/// Bytes transferred per last-level cache miss.
const LINE: f64 = 64.0;
/// Cycles lost per mispredicted branch: 15 to 20 on cores since 2010 (Fog, microarchitecture.pdf, "Branch
/// misprediction penalty").
const MISPREDICT_CYCLES: f64 = 17.0;
/// At or above this share of a bandwidth ceiling, requests queue for memory.
const NEAR_CEILING: f64 = 0.6;

/// Memory traffic caused by the command's last-level cache misses (B/s, averaged over the time that it was not blocked), and their count.
fn traffic<'a>(facts: &Facts<'a>) -> Option<(f64, &'a Measurement)> {
    let misses = ["LLC-load-misses", "cache-misses"].into_iter().find_map(|event| facts.count(event))?;
    Some((misses.value() * LINE / (facts.wall - facts.off_cpu).max(1e-9), misses))
}

fn describe_misses(misses: &Measurement) -> Text {
    text!("last-level cache misses: {misses}", misses)
}

pub(super) fn describe_stalled(share: &Measurement) -> Text {
    text!("issue slots stalled on memory or an execution unit: {share}", share)
}

pub(super) fn bandwidth(facts: &Facts) -> Option<Cause> {
    let (traffic, misses) = traffic(facts)?;
    let one = facts.ceilings().bandwidth_one.filter(|value| *value > 0.0).filter(|_| facts.used() < 1.5);
    let (ceiling, says) = match one {
        Some(one) => (one, "bandwidth-one"),
        None => (facts.ceilings().bandwidth_all.filter(|value| *value > 0.0)?, "bandwidth-all"),
    };
    let share = traffic / ceiling;
    let says = text!(verdict(says), traffic = Value::Figure(traffic, "B/s"), share = Value::Share(share));
    let seen = text!("ceiling {ceiling}", ceiling = Value::Figure(ceiling, "B/s"));
    let share = if share >= NEAR_CEILING { share.min(1.0) } else { 0.0 };
    let cause = Cause::new(BoundBy::MemoryBandwidth, share, says, "touch-less");
    Some(cause.cite(describe_misses(misses), misses).cite(seen, detail("ceilings")))
}

pub(super) fn latency(facts: &Facts) -> Option<Cause> {
    // If requests already queue for memory, latency is not the limit: more parallel requests would not help.
    if bandwidth(facts).is_some_and(|cause| cause.share > 0.0) {
        return None;
    }
    let back_end = facts.share("backend-bound");
    let (_, misses) = traffic(facts)?;
    let modelled = facts
        .ceilings()
        .latency_ns
        .filter(|value| *value > 0.0)
        .map(|ns| misses.value() * ns / 1e9 / facts.cpu().max(1e-9));
    // Both values are upper limits: loads overlap, and back-end stalls include waits for execution units.
    let share = match (back_end.map(Measurement::value), modelled) {
        (Some(share), Some(modelled)) => share.min(modelled),
        (Some(share), None) => share,
        (None, Some(modelled)) => modelled.min(1.0),
        (None, None) => return None,
    };
    let count = Value::Figure(misses.value(), "count");
    let says = text!(verdict("memory-latency"), share = Value::Share(share), misses = count);
    let share = if share >= 0.3 { share * facts.on_cpu() } else { 0.0 };
    let cause =
        Cause::new(BoundBy::MemoryLatency, share, says, "use-together").cite(describe_misses(misses), misses);
    Some(cause.cite_all(back_end.map(|share| cite_fact(describe_stalled(share), share))))
}

pub(super) fn front_end(facts: &Facts) -> Option<Cause> {
    let slots = facts.share("frontend-bound")?;
    let says = text!(verdict("front-end"), share = Value::Share(slots.value()));
    let seen = text!("empty issue slots: {share}", share = slots);
    let share = if slots.value() >= 0.3 { slots.value() * facts.on_cpu() } else { 0.0 };
    Some(Cause::new(BoundBy::Frontend, share, says, "front-end").cite(seen, slots))
}

pub(super) fn branches(facts: &Facts) -> Option<Cause> {
    let misses = facts.count("branch-misses")?;
    let cycles = facts.counted("cycles").filter(|cycles| *cycles > 0.0)?;
    let modelled = misses.value() * MISPREDICT_CYCLES / cycles;
    let share = facts.share("bad-speculation").map_or(modelled, Measurement::value).min(1.0);
    let says = text!(verdict("branches"), share = Value::Share(share));
    let share = if share >= 0.15 { share * facts.on_cpu() } else { 0.0 };
    let seen = text!("mispredicted branches: {misses}", misses);
    Some(Cause::new(BoundBy::Branches, share, says, "branches").cite(seen, misses))
}

/// Other processes are mentioned if they use at least this many CPUs.
const LEAST_OTHERS: f64 = 0.1;

/// The verdict if no cause stands out: the command is compute-bound if counters show that it does not wait for
/// memory.
pub(super) fn compute(facts: &Facts) -> Cause {
    let used = facts.used();
    // Explains why the command did not use more CPUs.
    let others = reported_of_others(facts).filter(|others| *others >= LEAST_OTHERS);
    let (in_use, cpus) = (significant(used), facts.cpus.to_string());
    let busy = match others.map(units::cpus_in_use) {
        _ if facts.cpus < 1.5 => text!(verdict("cpu-one"), share = Value::Share(used.min(1.0))),
        Some(others) => text!(verdict("cpu-beside-others"), used = in_use, cpus, others),
        None => text!(verdict("cpu-busy"), used = in_use, cpus),
    };
    let computes = known(facts).unwrap_or_else(|| text!(verdict("cpu-uncounted")));
    Cause::new(BoundBy::Cpu, 1.0, Text::sequence([busy, computes]), "profile").cite_ipc(facts.ipc())
}

/// Describes a command for which no cause stands out, based on its counters or samples.
pub(super) fn known(facts: &Facts) -> Option<Text> {
    facts.ipc().map(|ipc| computes(facts, ipc.value())).or_else(|| sampled::computes(facts))
}

/// Whether most of the CPU time is spent waiting for loads of an unknown level, and neither counters nor experiments show the cause.
pub(super) fn is_hidden(facts: &Facts) -> bool {
    let is_known = facts.ipc().is_some() || !facts.probes().is_empty() || facts.user < facts.system;
    !is_known && sampled::enough(facts).is_some_and(|sampled| sampled.hidden.share >= 0.5)
}

/// Compares instructions per cycle with those of the built-in workloads on this machine.
pub(super) fn computes(facts: &Facts, ipc: f64) -> Text {
    let Some((near, near_ipc, best, best_ipc)) = facts.ipc_of_workloads(ipc) else {
        return text!(verdict("ipc"), ipc = significant(ipc));
    };
    let [ipc, near_ipc, best_ipc] = [ipc, near_ipc, best_ipc].map(significant);
    match near == best {
        true => text!(verdict("ipc-highest"), ipc, near_ipc, near),
        false => text!(verdict("ipc-beside"), ipc, near, near_ipc, best, best_ipc),
    }
}
