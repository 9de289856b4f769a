//! Causes from the breakdown of a command's time: throttled or stolen, waiting, in the kernel, on too few CPUs.

use record::diagnosis::{BoundBy, BoundKind};
use record::live::{KernelTime, Sampled};
use record::text::Value;
use record::units::{self, cpus, significant, thousands};
use record::{Label, Text, text};

use super::convoy::waited_for_locks;
use super::{Cause, Facts, WORDS, detail, verdict};
use crate::tables::{rows, sentences, word};
use crate::{cpu_accounting, culprits};

pub(super) fn quota(facts: &Facts) -> Option<Cause> {
    let throttled = facts.around().throttled_seconds?;
    let seconds = facts.around().seconds?.max(1e-9);
    // Throttled time is summed over CPUs, so it is divided by the time during which the cgroup's threads could have run.
    let share = throttled / (throttled + facts.cpu() * seconds / facts.wall).max(1e-9);
    let share = if throttled > 0.0 { share } else { 0.0 };
    let throttled = Value::Figure(throttled, "s");
    let seen = text!("throttled for {throttled}", throttled = throttled.clone());
    let says = text!(verdict("quota"), throttled);
    Some(Cause::new(BoundBy::Quota, share, says, "quota").cite(seen, detail("around")))
}

pub(super) fn stolen(facts: &Facts) -> Option<Cause> {
    let stolen = facts.around().stolen_seconds?;
    let asked = stolen + facts.around().busy_seconds?;
    let share = stolen / asked.max(1e-9);
    let says = text!(verdict("stolen"), share = Value::Share(share));
    let (taken, asked) = (Value::Figure(stolen, "s"), Value::Figure(asked, "s"));
    let seen = text!("steal time: {taken} of {asked} of requested CPU time");
    // Steal time is counted in ticks of 10 ms; a few ticks may be chance.
    let share = if stolen >= 0.05 { share } else { 0.0 };
    Some(Cause::new(BoundBy::Stolen, share, says, "stolen").cite(seen, detail("around")))
}

/// Steal time as the cause. The command loses nothing while it does not request a CPU.
pub(super) fn stolen_from(facts: &Facts) -> Option<Cause> {
    let mut cause = stolen(facts)?;
    cause.share *= 1.0 - (facts.off_cpu / facts.wall).min(1.0);
    Some(cause)
}

pub(super) fn waiting(facts: &Facts) -> Option<Cause> {
    let share = (facts.off_cpu / facts.wall).min(1.0);
    let looks = facts.time.detail.get(record::detail::WAITING).unwrap_or_default();
    let mut kinds: Vec<(&str, f64)> = looks.iter().map(|(word, n)| (word.as_str(), *n as f64)).collect();
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = kinds.iter().map(|(_, count)| count).sum();
    let most = kinds.first().filter(|(_, count)| *count >= all / 3.0).map(|(word, _)| *word);
    let known = most.map(|word| sentences(WORDS, "waits", word)).unwrap_or_default();
    let (says, advice) = match known.as_slice() {
        // Threads that exited before they were sampled may have been waiting in the run queue all that time, instead of being blocked.
        _ if facts.hardly_seen() => (verdict("unsampled"), super::advice("unsampled")),
        [says, advice] => (*says, Text::from(*advice)),
        _ => (verdict("waiting"), super::advice("waiting")),
    };
    let says = text!(says, share = Value::Share(share));
    let cause = Cause { advice, ..Cause::new(BoundBy::Waiting, share, says, "") };
    if kinds.is_empty() {
        return Some(cause);
    }
    let sampled = |(kind, count): &(&str, f64)| {
        let (kind, share) = ((*kind).to_owned(), Value::Share(count / all));
        text!("{kind} {share}", kind, share)
    };
    let kinds: Vec<_> = kinds.iter().map(sampled).collect();
    Some(cause.cite(text!("sampled while blocked: {kinds}", kinds), detail("waiting")))
}

/// CPUs used by other programs during the run. The number affects the verdict even if it is too uncertain to be shown.
pub(super) fn used_by_others(facts: &Facts) -> Option<f64> {
    cpu_accounting::beside(&facts.around(), facts.used())
}

/// CPUs used by other programs, as displayed in all reports.
pub(super) fn reported_of_others(facts: &Facts) -> Option<f64> {
    cpu_accounting::reported_beside(&facts.around(), facts.used())
}

/// If at least this share of the CPUs is idle, threads do not wait because there are too few CPUs.
const IDLE_SHARE: f64 = 0.25;
/// Minimum average number of running and ready threads at which a command's own threads delay each other.
const STACKED: f64 = 2.0;

pub(super) fn contention(facts: &Facts) -> Option<Cause> {
    // A lack of CPUs costs nothing while the command does not request one.
    let wanted = (1.0 - (facts.off_cpu / facts.wall).min(1.0)) * (1.0 - waited_for_locks(facts));
    let runnable = facts.without_a_cpu();
    let share = runnable / (runnable + facts.cpu()).max(1e-9);
    let others = used_by_others(facts);
    // Other processes can have used only the CPUs that the command left free, so any further wait was for the command's own threads.
    let left = (facts.cpus - facts.used()).max(0.0);
    let taken = others.map_or(left, |others| others.min(left));
    // If other processes used more CPUs than the command, they are the main cause, regardless of the command's number of threads.
    let is_single = facts.threads.len() == 1;
    let is_idle = others.is_some_and(|others| left - others >= IDLE_SHARE * facts.cpus);
    // While CPUs are idle, threads that are ready together wait for each other.
    let is_stacked = is_idle && facts.looks().active as f64 >= STACKED * facts.looks().all as f64;
    let own = (runnable - taken * facts.wall > runnable / 2.0 && taken <= facts.used() || is_stacked)
        && !(is_single && facts.looks().most_active <= 1);
    // A single thread cannot delay itself. If other processes explain the entire wait, the threads of a multithreaded command did not delay
    // each other either.
    let by_others = is_single || (others.is_some() && taken * facts.wall >= runnable && runnable > 0.0);
    let who = if by_others { "other processes" } else { "other processes, or its own threads," };
    let (runnable, of) = (Value::Figure(runnable, "s"), Value::Share(share));
    let cause = if own {
        let (used, cpus) = (significant(facts.used()), cpus(facts.cpus as u32));
        let words = if is_idle { ["one-cpu-queue", "spread"] } else { ["too-few-cpus", "more-cpus"] };
        let says = text!(verdict(words[0]), runnable, share = of, used, cpus);
        Cause::new(BoundBy::TooFewCpus, share * wanted, says, words[1])
    } else {
        let mut says = text!(verdict("cpu-contention"), runnable, share = of, who);
        let named = culprits::beside(facts.index.record, &facts.ceilings());
        named.into_iter().for_each(|named| says.push(text!("Also running: {named}.", named)));
        let runs = facts.time.detail.has(record::detail::ATTACHED_TO);
        let advice = if runs { "own-cpus-running" } else { "own-cpus" };
        Cause::new(BoundBy::CpuContention, share * wanted, says, advice)
    };
    let Some(others) = reported_of_others(facts).map(units::cpus_in_use) else { return Some(cause) };
    let seen = text!("bound-others-used", "other processes used {others} CPUs", others);
    Some(cause.cite(seen, detail("around")))
}

/// Assumed kernel time of a page fault and of a context switch, s. Typical values are 0.5 to 2 µs (2 µs in a guest) and 1 to 3 µs (15 µs if
/// a halted vCPU is woken).
const FAULT: f64 = 0.5e-6;
const SWITCH: f64 = 3e-6;
/// Minimum kernel time to start and end a process, s. The typical cost is 100 to 500 µs with an exec.
const FORK: f64 = 100e-6;
/// Above this share of the kernel's time, starting processes counts as its main work.
const BEGINS: f64 = 0.25;
/// Above this share of the kernel's time, page faults or context switches are mentioned.
const NAMED: f64 = 0.1;

/// Minimum number of kernel samples for a conclusion.
const ENOUGH: u64 = 30;
/// A kind of kernel work is reported as the main one above this share of kernel time. The second limit applies to kinds that cause other
/// kernel work.
const MOSTLY: f64 = 0.4;
const BRINGS: f64 = 0.2;

/// The description of a kind of work, and the advice.
fn of_kind(kind: &BoundKind) -> Vec<Text> {
    let key = word(kind);
    // Kinds recorded only by other versions of linespeed have no description here.
    let (key, name) = match key.strip_prefix("syscall-") {
        Some(name) if sentences(WORDS, "kernel", &key).is_empty() => ("system-call", name.to_owned()),
        _ => (key.as_str(), String::new()),
    };
    sentences(WORDS, "kernel", key).into_iter().map(|words| text!(words, name = name.clone())).collect()
}

/// The main kind of kernel work, from samples, with its share of kernel time.
fn kernel_kind(sampled: &Sampled) -> Option<(KernelTime, Text)> {
    let of = |kind: &BoundKind| sampled.kernel.iter().find(|one| one.kind == *kind);
    // A starting process maps files and takes page faults.
    let begins = of(&BoundKind::ProcessCreation).filter(|one| one.share.share >= BRINGS);
    // Mapping memory causes page faults later, when the memory is accessed.
    let maps = of(&BoundKind::MemoryMapping).filter(|one| one.share.share >= BRINGS);
    let most = begins.or(maps).or(sampled.kernel.first().filter(|one| one.share.share >= MOSTLY))?;
    Some((most.clone(), of_kind(&most.kind).into_iter().next()?))
}

/// The share of kernel time that may be spent on locks; 1 without enough samples.
pub(super) fn of_locks(facts: &Facts) -> f64 {
    let sampled = facts.time.detail.get(record::detail::SAMPLED).filter(|s| s.in_kernel >= ENOUGH);
    let is_other = |one: &&KernelTime| !matches!(one.kind, BoundKind::Futex | BoundKind::ContextSwitches);
    let other = sampled.map_or(0.0, |s| s.kernel.iter().filter(is_other).map(|one| one.share.share).sum());
    1.0 - other.min(1.0)
}

pub(super) fn kernel(facts: &Facts) -> Option<Cause> {
    // Samples are more exact than tick accounting, which counts processes shorter than a tick as user time.
    let sampled = facts.time.detail.get(record::detail::SAMPLED).filter(|s| s.in_kernel >= ENOUGH);
    let share = match &sampled {
        Some(sampled) => sampled.in_kernel as f64 / (sampled.in_kernel as f64 + sampled.samples as f64),
        None => facts.system / facts.cpu().max(1e-9),
    };
    // A smaller share is normal: every program that reads and writes files spends some time in the kernel.
    let share_of_time = if share >= 0.3 { share * facts.cpu() / facts.wall.max(facts.cpu()) } else { 0.0 };
    let count = |event: &str| facts.counted(event).unwrap_or(0.0);
    let (faults, switches) = (count("page-faults"), count("context-switches"));
    let with_kind = |kind: Option<BoundKind>, cause: Cause| {
        let known = kind.as_ref().and_then(|kind| of_kind(kind).into_iter().nth(1));
        Cause { kind, advice: known.unwrap_or(cause.advice), ..cause }
    };
    if let Some((most, what)) = sampled.as_ref().and_then(kernel_kind) {
        let part = super::share(most.share);
        let says = text!(verdict("kernel-kind"), share = Value::Share(share), part, what);
        // Contention for a lock also uses kernel time.
        let by = match most.kind {
            BoundKind::Futex => BoundBy::Lock,
            BoundKind::Spinning => BoundBy::OwnThreads,
            _ => BoundBy::Kernel,
        };
        let cause = with_kind(Some(most.kind), Cause::new(by, share_of_time, says, ""));
        let seen = text!("kernel samples: {count}", count = most.share.count);
        return Some(cause.cite(seen, detail("sampled")));
    }
    let mut says = text!(verdict("kernel"), share = Value::Share(share));
    let (forks, a_second) = (count("forks"), |count: f64| thousands((count / facts.wall).round()));
    let kind = if forks * FORK > BEGINS * facts.system {
        says.push(text!("It started {forks} processes per second.", forks = a_second(forks)));
        Some(BoundKind::ProcessCreation)
    } else if faults * FAULT > NAMED * facts.system && faults * FAULT >= switches * SWITCH {
        says.push(text!(verdict("kernel-faults"), faults = a_second(faults)));
        Some(BoundKind::PageFaults)
    } else if switches * SWITCH > NAMED * facts.system {
        let switches = a_second(switches);
        let again = |word: &str| facts.waits().get(word).map_or(0, |waits| waits.again);
        let waits = rows(WORDS, "between").into_iter().filter_map(|row| <[&str; 3]>::try_from(row).ok());
        let between = waits.max_by_key(|[word, ..]| again(word)).filter(|[word, ..]| again(word) > 0);
        says.push(match between {
            Some([_, what, _]) => text!(verdict("switches-between"), switches, what),
            None => text!("It made {switches} context switches per second.", switches),
        });
        Some(between.map_or(BoundKind::ContextSwitches, |[.., kind]| super::kind(kind)))
    } else {
        None
    };
    let advice = if sampled.is_some() { "kernel" } else { "kernel-unseen" };
    let mut cause = with_kind(kind, Cause::new(BoundBy::Kernel, share_of_time, says, advice));
    for m in ["page-faults", "context-switches"].iter().filter_map(|event| facts.count(event)) {
        let event = m.labels.word(Label::Event).unwrap_or_default().to_owned();
        cause = cause.cite(text!("{event} {count}", event, count = m), m);
    }
    Some(cause)
}
