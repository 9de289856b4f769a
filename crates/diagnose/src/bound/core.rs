//! What the cores waited for while they ran a command, by counters and ceilings.

use record::Label;
use record::Measurement;
use record::units::{figure, percent, significant};

use super::time::used_by_others;
use super::{Cause, Facts, detail};
use crate::figures::{cite_fact, evidence};

/// Bytes that a miss of the last cache moves.
const LINE: f64 = 64.0;
/// Cycles that a mispredicted branch throws away: 15 to 20 on cores since 2010 (Fog, microarchitecture.pdf, "Branch
/// misprediction penalty").
const MISPREDICT_CYCLES: f64 = 17.0;
/// From this share of a bandwidth ceiling on, requests queue for memory.
const NEAR_CEILING: f64 = 0.6;

/// What its misses of the last cache move, B/s of the time in which it ran, with the count.
fn traffic<'a>(facts: &Facts<'a>) -> Option<(f64, &'a Measurement)> {
    let misses = ["LLC-load-misses", "cache-misses"].into_iter().find_map(|event| {
        facts.index.figures_of("counter.count").find(|m| {
            m.labels.word(Label::Workload) == Some("command") && m.labels.word(Label::Event) == Some(event)
        })
    })?;
    Some((misses.value() * LINE / (facts.wall - facts.off_cpu).max(1e-9), misses))
}

pub(super) fn bandwidth(facts: &Facts) -> Option<Cause> {
    let (traffic, misses) = traffic(facts)?;
    let one = facts.ceiling("bandwidth_one").filter(|_| facts.used() < 1.5);
    let (ceiling, whose) = match one {
        Some(one) => (one, "one CPU"),
        None => (facts.ceiling("bandwidth_all")?, "all CPUs"),
    };
    let share = traffic / ceiling;
    Some(Cause {
        by: "memory-bandwidth",
        share: if share >= NEAR_CEILING { share.min(1.0) } else { 0.0 },
        says: format!(
            "It reads {} from memory, {} of what {whose} can get here.",
            figure(traffic, "B/s"),
            percent(share)
        ),
        advice: vec![
            "touch less memory: smaller types, blocks that fit the caches, each line once".to_owned(),
        ],
        evidence: vec![
            evidence(misses, "misses of the last cache"),
            cite_fact(format!("the ceiling is {}", figure(ceiling, "B/s")), detail("ceilings")),
        ],
    })
}

pub(super) fn latency(facts: &Facts) -> Option<Cause> {
    // Where requests queue, more of them at once make nothing faster.
    if bandwidth(facts).is_some_and(|cause| cause.share > 0.0) {
        return None;
    }
    let back_end = facts.share("backend-bound").map(|m| (m.value(), m));
    let (_, misses) = traffic(facts)?;
    let modelled = facts.ceiling("latency_ns").map(|ns| misses.value() * ns / 1e9 / facts.cpu().max(1e-9));
    // Loads overlap, so misses times latency is the most that it can be; what the core says is exact.
    let share = match (back_end, modelled) {
        (Some((share, _)), Some(modelled)) => share.min(modelled),
        (Some((share, _)), None) => share,
        (None, Some(modelled)) => modelled.min(1.0),
        (None, None) => return None,
    };
    let on_cpu = (facts.cpu() / facts.wall).min(1.0);
    let mut all = vec![evidence(misses, "misses of the last cache")];
    all.extend(back_end.map(|(_, m)| evidence(m, "issue slots that waited for memory or a unit")));
    Some(Cause {
        by: "memory-latency",
        share: if share >= 0.3 { share * on_cpu } else { 0.0 },
        says: format!(
            "Up to {} of its time on a CPU it waits for memory: {} loads missed all caches.",
            percent(share),
            figure(misses.value(), "count")
        ),
        advice: vec![
            "keep together what is used together, ask early (prefetch, several at once), use huge pages"
                .to_owned(),
        ],
        evidence: all,
    })
}

pub(super) fn front_end(facts: &Facts) -> Option<Cause> {
    let share = facts.share("frontend-bound")?;
    let on_cpu = (facts.cpu() / facts.wall).min(1.0);
    Some(Cause {
        by: "frontend",
        share: if share.value() >= 0.3 { share.value() * on_cpu } else { 0.0 },
        says: format!(
            "{} of the core's issue slots were empty because instructions did not come fast enough.",
            percent(share.value())
        ),
        advice: vec![
            "make the hot code smaller: profile-guided optimisation, BOLT, huge pages for code".to_owned(),
        ],
        evidence: vec![evidence(share, "issue slots without an instruction")],
    })
}

pub(super) fn branches(facts: &Facts) -> Option<Cause> {
    let misses = facts.count("branch-misses")?;
    let cycles = facts.counted("cycles").filter(|cycles| *cycles > 0.0)?;
    let modelled = misses.value() * MISPREDICT_CYCLES / cycles;
    let share = facts.share("bad-speculation").map_or(modelled, Measurement::value).min(1.0);
    let on_cpu = (facts.cpu() / facts.wall).min(1.0);
    Some(Cause {
        by: "branches",
        share: if share >= 0.15 { share * on_cpu } else { 0.0 },
        says: format!("About {} of its time on a CPU went into wrongly predicted branches.", percent(share)),
        advice: vec!["make branches on random data into arithmetic, or sort the data first".to_owned()],
        evidence: vec![evidence(misses, "wrongly predicted branches")],
    })
}

/// CPUs that others used from which on they are named.
const LEAST_OTHERS: f64 = 0.1;

/// When nothing stands out: it computes, as far as counters show that it does not wait for memory.
pub(super) fn compute(facts: &Facts) -> Cause {
    let used = facts.used();
    let what = if facts.cpus < 1.5 {
        format!("it was on its one CPU for {} of the time.", percent(used.min(1.0)))
    } else {
        // Whoever asks why not more of them were has the answer here.
        let others = match used_by_others(facts).filter(|others| *others >= LEAST_OTHERS) {
            Some(others) => format!(", other programs {}", significant(others)),
            None => String::new(),
        };
        format!("it kept {} of {} CPUs busy{others}.", significant(used), facts.cpus)
    };
    let mut says = match facts.ipc() {
        Some(_) => format!("It computes: {what}"),
        None => {
            let what = what.replacen("it", "It", 1);
            format!("{what} Whether it computed there or waited for memory, only counters would tell.")
        }
    };
    let mut evidence = Vec::new();
    if let Some(ipc) = facts.ipc() {
        says.push_str(&format!(" {} instructions a cycle", significant(ipc.value())));
        match facts.ipc_of_workloads(ipc.value()) {
            Some((near, near_ipc, best, best_ipc)) => says.push_str(&format!(
                "; on this machine {near} reaches {} and {best}, the most, {}.",
                significant(near_ipc),
                significant(best_ipc)
            )),
            None => says.push('.'),
        }
        evidence.push(crate::figures::evidence(ipc, "instructions a cycle:"));
    }
    Cause {
        by: "cpu",
        share: 1.0,
        says,
        advice: vec!["a profile tells where: perf record -g, perf report".to_owned()],
        evidence,
    }
}
