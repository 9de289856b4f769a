//! Interactions of a command's threads: one thread does all the work, threads run one at a time, one runs longer than the others, or all
//! wait for one lock.

use record::diagnosis::BoundBy;
use record::text::Value;
use record::units::{significant, thousands};
use record::{Text, text};

use super::convoy::{Convoy, FEW_LOOKS, LEAST_IDLE, is_fed, is_one_at_a_time, locks};
use super::time::used_by_others;
use super::{Cause, FIRST, Facts, detail, sampled, verdict};

/// Where a record stores each thread's CPU time.
const ON_CPU: &str = "workload.cpu_time workload=command state=on-cpu";
/// More CPUs do not help if at most this share of the time is spent waiting for a CPU.
const MOST_WAITED: f64 = 0.1;
/// Maximum share attributed to the fact that only one thread ran. This is the answer only if no other cause explains more.
const MOST_EXPLAINED: f64 = 0.6;

/// Describes the CPUs that the program left idle.
fn describe_idle(facts: &Facts, idle: f64) -> Text {
    let rest = facts.cpus - 1.0;
    if idle < LEAST_IDLE {
        text!("other processes used the rest")
    } else if idle < rest * 0.75 {
        text!("{idle} CPUs sat idle and other processes used the rest", idle = significant(idle))
    } else if rest < 1.5 {
        text!("the other CPU sat idle")
    } else {
        text!("the other {rest} CPUs sat idle", rest = rest.to_string())
    }
}

/// If memory accounts for less than this share of the user time, even at the upper bound, faster memory does not help.
const LITTLE_MEMORY: f64 = 0.1;

/// Processes count as short-lived if samples found at least [`FEW_THREADS`] threads and there are, on average, at most this many samples
/// per new thread.
const EACH_NEW: f64 = 4.0;
const FEW_THREADS: u64 = 3;

/// Whether samples repeatedly found new threads; otherwise, a single thread with few samples may have done the work.
fn are_short_processes(facts: &Facts) -> bool {
    let seen = facts.time.detail.get(record::detail::THREADS_SEEN).map_or(0, |threads| threads.seen);
    let looks = facts.looks().all as f64 / facts.time.summary.n.max(1) as f64;
    seen >= FEW_THREADS && looks >= FEW_LOOKS && seen as f64 * EACH_NEW >= looks
}

/// The name and the CPU seconds of the one thread that did the work; `None` if several did, or if samples do not show it.
pub(super) fn only<'a>(facts: &'a Facts<'_>) -> Option<&'a (String, f64)> {
    facts.threads.first().filter(|(_, on)| *on >= facts.cpu() * 0.6 && is_one_at_a_time(facts))
}

pub(super) fn one_thread(facts: &Facts) -> Option<Cause> {
    let wanted = (facts.cpu() + facts.without_a_cpu()) / facts.wall;
    if facts.cpus < 2.0 || wanted < 0.6 || !is_one_at_a_time(facts) {
        return None;
    }
    let idle = (facts.cpus - facts.used() - used_by_others(facts).unwrap_or(0.0)).max(0.0);
    let waited = facts.without_a_cpu() > MOST_WAITED * facts.wall;
    let seen: f64 = facts.threads.iter().map(|(_, on)| on).sum();
    let (idle, cpus, seconds) =
        (describe_idle(facts, idle), facts.cpus.to_string(), |s: f64| Value::Figure(s, "s"));
    let (says, advice, figures) = match only(facts) {
        Some((name, on)) => {
            let name = name.rsplit_once(' ').map_or(name.as_str(), |(name, _)| name).to_owned();
            let is_core = sampled::enough(facts).is_some_and(|sampled| sampled.far.high < LITTLE_MEMORY);
            let advice = match is_core || facts.ipc().is_some() || !facts.probes().is_empty() {
                _ if waited => "free-core",
                true => "faster-core",
                false => "faster-core-or-memory",
            };
            let seen = text!("the busiest thread was on-CPU for {on}", on = seconds(*on));
            let is_memory = sampled::at_memory(facts).is_some() || facts.user < facts.cpu() / 2.0;
            let user = sampled::computes(facts).filter(|_| !is_memory);
            let says = text!(verdict("one-thread"), name, cpus, idle);
            (Text::sequence(std::iter::once(says).chain(user)), advice, seen)
        }
        None if seen < facts.cpu() * 0.5 => {
            let seen = text!("samples cover {seen} of its CPU time", seen = seconds(seen));
            let used = significant(facts.used());
            match are_short_processes(facts) {
                true => (text!(verdict("short-processes"), cpus, idle), "fewer-processes", seen),
                false => (text!(verdict("hardly-sampled"), used, cpus, idle), "longer", seen),
            }
        }
        None => {
            let seen = text!("its threads were on-CPU for {seen} in total", seen = seconds(seen));
            (text!(verdict("one-at-a-time"), cpus, idle), "same-time", seen)
        }
    };
    // The share of its CPUs' time that the command left unused while one of its threads ran.
    let share = ((facts.cpus - 1.0) / facts.cpus * facts.used()).min(MOST_EXPLAINED);
    Some(Cause::new(BoundBy::OneThread, share, says, advice).cite(figures, ON_CPU))
}

pub(super) fn lock(facts: &Facts) -> Option<Cause> {
    // Threads may also wait for another thread's work in the kernel, for example until that thread has started or exited.
    let of_locks = super::time::of_locks(facts);
    let convoy =
        Convoy::of(facts).filter(|convoy| convoy.in_mutex || convoy.kernel < 0.5 || of_locks >= FIRST)?;
    let waited = convoy.waited();
    let switches = thousands((facts.counted("context-switches").unwrap_or(0.0) / facts.wall).round());
    let says = text!(verdict("lock"), share = Value::Share(waited), switches);
    let [waiters, active] = [convoy.waiters, convoy.active].map(significant);
    let seen = text!("threads waiting for a lock: {waiters} on average, with {active} running");
    // Kernel time also includes acquiring and releasing locks, unless samples show that it is spent on other work.
    let share = waited + (1.0 - waited) * convoy.kernel * of_locks;
    Some(Cause::new(BoundBy::Lock, share, says, "locks").cite(seen, detail("waits")))
}

/// Maximum share of one CPU that a program may use and still count as deadlocked.
const STUCK: f64 = 0.01;
/// Activity below this is negligible: for example, a thread that reads the clock once per second.
const NOT_AT_ALL: f64 = 1e-4;

/// Threads blocked on a mutex that is never released: they never ran, and the program's other threads hardly ran.
pub(super) fn stuck(facts: &Facts) -> Option<Cause> {
    let (stuck, looks) = (locks(facts)?.stuck, facts.looks());
    if stuck == 0 || facts.used() > STUCK || looks.active > 0 {
        return None;
    }
    let says = if facts.used() < NOT_AT_ALL {
        text!(verdict("stuck"), stuck)
    } else {
        text!(verdict("stuck-beside"), stuck, share = Value::Share(facts.used()))
    };
    let seen =
        text!("threads blocked on a mutex in each of {looks} samples: {stuck}", looks = looks.all, stuck);
    Some(Cause::new(BoundBy::Lock, 1.0, says, "deadlock").cite(seen, detail("waits")))
}

pub(super) fn imbalance(facts: &Facts) -> Option<Cause> {
    // Threads that only wait for other threads do none of the work.
    let (first, busiest) = facts.threads.first().cloned()?;
    let working: Vec<_> = facts.threads.iter().map(|(_, on)| *on).filter(|on| *on >= busiest * 0.1).collect();
    let waits = busiest < facts.wall * 0.9 && is_fed(facts);
    if working.len() < 2 || facts.used() < 1.2 || busiest < facts.wall * 0.5 || waits {
        return None;
    }
    let mean = working.iter().sum::<f64>() / working.len() as f64;
    // With evenly shared work, the last thread would have finished this much earlier.
    let share = (1.0 - mean / busiest) * (busiest / facts.wall).min(1.0);
    let program = |name: &str| name.rsplit_once(' ').map_or(name, |(name, _)| name).to_owned();
    let is_other = |(name, on): &(String, f64)| *on >= busiest * 0.1 && program(name) != program(&first);
    // In a pipeline, each program does different work.
    let is_pipeline = busiest >= facts.wall * 0.9 && facts.threads.iter().any(is_other);
    let (busiest, mean) = (Value::Figure(busiest, "s"), Value::Figure(mean, "s"));
    let seen = text!("busiest thread {busiest}, mean {mean}", busiest = busiest.clone(), mean = mean.clone());
    let by = if is_pipeline { BoundBy::OneThread } else { BoundBy::Imbalance };
    let words = if is_pipeline { "slowest-program" } else { "imbalance" };
    let says = text!(verdict(words), threads = working.len(), busiest, mean, name = program(&first));
    Some(Cause::new(by, share, says, words).cite(seen, ON_CPU))
}
