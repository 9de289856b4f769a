//! What the cores waited for while they ran a command, by counters and ceilings.

use record::diagnosis::BoundBy;
use record::text::Value;
use record::units::{self, significant};
use record::{Measurement, Template, Text, text};

use super::time::reported_of_others;
use super::{Cause, Facts, detail, sampled};

/// Bytes that a miss of the last cache moves.
const LINE: f64 = 64.0;
/// Cycles that a mispredicted branch throws away: 15 to 20 on cores since 2010 (Fog, microarchitecture.pdf, "Branch
/// misprediction penalty").
const MISPREDICT_CYCLES: f64 = 17.0;
/// From this share of a bandwidth ceiling on, requests queue for memory.
const NEAR_CEILING: f64 = 0.6;

const OF_ONE_CPU: Template = Template {
    code: "bound-bandwidth-one",
    words: "Reads {traffic} from memory, {share} of the maximum of one CPU here.",
};
const OF_ALL_CPUS: Template = Template {
    code: "bound-bandwidth-all",
    words: "Reads {traffic} from memory, {share} of the maximum of all CPUs here.",
};

/// What its misses of the last cache move, B/s of the time in which it ran, with the count.
fn traffic<'a>(facts: &Facts<'a>) -> Option<(f64, &'a Measurement)> {
    let misses = ["LLC-load-misses", "cache-misses"].into_iter().find_map(|event| facts.count(event))?;
    Some((misses.value() * LINE / (facts.wall - facts.off_cpu).max(1e-9), misses))
}

fn describe_misses(misses: &Measurement) -> Text {
    text!("last-level cache misses {misses}", misses)
}

pub(super) fn bandwidth(facts: &Facts) -> Option<Cause> {
    let (traffic, misses) = traffic(facts)?;
    let one = facts.ceilings().bandwidth_one.filter(|value| *value > 0.0).filter(|_| facts.used() < 1.5);
    let (ceiling, says) = match one {
        Some(one) => (one, OF_ONE_CPU),
        None => (facts.ceilings().bandwidth_all.filter(|value| *value > 0.0)?, OF_ALL_CPUS),
    };
    let share = traffic / ceiling;
    let says = text!(says, traffic = Value::Figure(traffic, "B/s"), share = Value::Share(share));
    let seen = text!("ceiling {ceiling}", ceiling = Value::Figure(ceiling, "B/s"));
    let share = if share >= NEAR_CEILING { share.min(1.0) } else { 0.0 };
    let cause = Cause::new(BoundBy::MemoryBandwidth, share, says, "touch-less");
    Some(cause.cite(describe_misses(misses), misses).cite(seen, detail("ceilings")))
}

pub(super) fn latency(facts: &Facts) -> Option<Cause> {
    // If requests queue, more of them at once speed nothing up.
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
    // Loads overlap, so that misses times latency is the upper limit; the core's own count is exact.
    let share = match (back_end.map(Measurement::value), modelled) {
        (Some(share), Some(modelled)) => share.min(modelled),
        (Some(share), None) => share,
        (None, Some(modelled)) => modelled.min(1.0),
        (None, None) => return None,
    };
    let says = text!(
        "bound-memory-latency",
        "Up to {share} of CPU time may be memory stalls: {misses} loads missed the last-level cache.",
        share = Value::Share(share),
        misses = Value::Figure(misses.value(), "count")
    );
    let share = if share >= 0.3 { share * facts.on_cpu() } else { 0.0 };
    let cause =
        Cause::new(BoundBy::MemoryLatency, share, says, "use-together").cite(describe_misses(misses), misses);
    let Some(share) = back_end else { return Some(cause) };
    Some(cause.cite(text!("issue slots stalled on memory or an execution unit {share}", share), share))
}

pub(super) fn front_end(facts: &Facts) -> Option<Cause> {
    let slots = facts.share("frontend-bound")?;
    let says = text!(
        "bound-front-end",
        "{share} of the core's issue slots were empty: instruction fetch and decode were too slow.",
        share = Value::Share(slots.value())
    );
    let seen = text!("issue slots without an instruction {share}", share = slots);
    let share = if slots.value() >= 0.3 { slots.value() * facts.on_cpu() } else { 0.0 };
    Some(Cause::new(BoundBy::Frontend, share, says, "front-end").cite(seen, slots))
}

pub(super) fn branches(facts: &Facts) -> Option<Cause> {
    let misses = facts.count("branch-misses")?;
    let cycles = facts.counted("cycles").filter(|cycles| *cycles > 0.0)?;
    let modelled = misses.value() * MISPREDICT_CYCLES / cycles;
    let share = facts.share("bad-speculation").map_or(modelled, Measurement::value).min(1.0);
    let says = text!(
        "bound-branches",
        "About {share} of CPU time was lost to mispredicted branches.",
        share = Value::Share(share)
    );
    let share = if share >= 0.15 { share * facts.on_cpu() } else { 0.0 };
    let seen = text!("mispredicted branches {misses}", misses);
    Some(Cause::new(BoundBy::Branches, share, says, "branches").cite(seen, misses))
}

/// CPUs that others used from which on they are named.
const LEAST_OTHERS: f64 = 0.1;

/// If nothing stands out: it computes, as far as counters show that it does not wait for memory.
pub(super) fn compute(facts: &Facts) -> Cause {
    let used = facts.used();
    // This explains why it did not use more CPUs.
    let others = reported_of_others(facts).filter(|others| *others >= LEAST_OTHERS);
    let busy = if facts.cpus < 1.5 {
        text!(
            "bound-cpu-one",
            "Its one CPU was busy {share} of the time.",
            share = Value::Share(used.min(1.0))
        )
    } else if let Some(others) = others {
        text!(
            "bound-cpu-beside-others",
            "{used} of {cpus} CPUs busy, other processes use {others}.",
            used = significant(used),
            cpus = facts.cpus.to_string(),
            others = units::cpus_in_use(others)
        )
    } else {
        text!(
            "bound-cpu-busy",
            "{used} of {cpus} CPUs busy.",
            used = significant(used),
            cpus = facts.cpus.to_string()
        )
    };
    let computes = facts.ipc().map(|ipc| computes(facts, ipc.value())).or_else(|| sampled::computes(facts));
    let computes = computes.unwrap_or_else(|| {
        text!(
            "bound-cpu-uncounted",
            "Without hardware counters, computing cannot be distinguished from stalls and spinning; stat --probe distinguishes them."
        )
    });
    let cause = Cause::new(BoundBy::Cpu, 1.0, Text::sequence([busy, computes]), "profile");
    match facts.ipc() {
        Some(ipc) => cause.cite(text!("instructions per cycle: {value}", value = ipc), ipc),
        None => cause,
    }
}

/// Instructions a cycle, beside what workloads reach here.
pub(super) fn computes(facts: &Facts, ipc: f64) -> Text {
    match facts.ipc_of_workloads(ipc) {
        Some((near, near_ipc, best, _)) if near == best => text!(
            "It runs at {ipc} instructions per cycle; the highest of any workload on this machine is {near_ipc} ({near}).",
            ipc = significant(ipc),
            near_ipc = significant(near_ipc),
            near
        ),
        Some((near, near_ipc, best, best_ipc)) => text!(
            "bound-cpu-ipc-beside",
            "It runs at {ipc} instructions per cycle; on this machine {near} reaches {near_ipc}, and the highest is {best_ipc} ({best}).",
            ipc = significant(ipc),
            near,
            near_ipc = significant(near_ipc),
            best,
            best_ipc = significant(best_ipc)
        ),
        None => {
            text!("It runs at {ipc} instructions per cycle.", ipc = significant(ipc))
        }
    }
}
