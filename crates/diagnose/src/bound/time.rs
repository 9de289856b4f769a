//! Where a command's time went: held back, waiting, in the kernel, on too few CPUs.

use record::Label;
use record::units::{cpus, figure, percent, significant, thousands};

use super::{Cause, Facts, detail};
use crate::figures::cite_fact;

/// Binding alone would not keep others away.
const OWN_CPUS: &str = "give it CPUs of its own: sudo linespeed quiet --cpus LIST -- COMMAND";

pub(super) fn quota(facts: &Facts) -> Option<Cause> {
    let throttled = facts.around("throttled_seconds")?;
    let seconds = facts.around("seconds")?.max(1e-9);
    // Summed over CPUs: of the time that its threads would have run.
    let share = throttled / (throttled + facts.cpu() * seconds / facts.wall).max(1e-9);
    Some(Cause {
        by: "quota",
        share: if throttled > 0.0 { share } else { 0.0 },
        says: format!(
            "The cgroup's CPU quota held it: its threads were stopped for {} although they could have run.",
            figure(throttled, "s")
        ),
        advice: vec![
            "raise the quota (cpu.max; Kubernetes: the CPU limit), or start fewer threads than it allows"
                .to_owned(),
        ],
        evidence: vec![cite_fact(format!("throttled for {}", figure(throttled, "s")), detail("around"))],
    })
}

pub(super) fn stolen(facts: &Facts) -> Option<Cause> {
    let stolen = facts.around("stolen_seconds")?;
    let busy = facts.around("busy_seconds")?;
    let share = stolen / (stolen + busy).max(1e-9);
    Some(Cause {
        by: "stolen",
        // Ticks of 10 ms: less than a few of them may be chance.
        share: if stolen >= 0.05 { share } else { 0.0 },
        says: format!("The hypervisor took {} of the CPU time that this machine asked for.", percent(share)),
        advice: vec!["measure again at another hour, or on an instance whose CPUs are not shared".to_owned()],
        evidence: vec![cite_fact(
            format!("stolen {} of {} CPU time", figure(stolen, "s"), figure(stolen + busy, "s")),
            detail("around"),
        )],
    })
}

pub(super) fn waiting(facts: &Facts) -> Option<Cause> {
    let share = (facts.off_cpu / facts.wall).min(1.0);
    let looks = facts.time.detail.get(detail::WAITING).and_then(|waiting| waiting.as_object());
    let mut kinds: Vec<(&str, f64)> = looks
        .into_iter()
        .flatten()
        .filter_map(|(word, count)| Some((word.as_str(), count.as_f64()?)))
        .collect();
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = kinds.iter().map(|(_, count)| count).sum();
    let most = kinds.first().filter(|(_, count)| *count >= all / 3.0).map(|(word, _)| *word);
    let (what, advice) = match most {
        Some("disk") => {
            ("for a disk", "look at the disk (iostat -x 1), read less, or keep the data in memory")
        }
        Some("network") => {
            ("for the network", "look at the other side and at round trips; do several at once")
        }
        Some("terminal") => ("for input from a terminal", "give it its input from a file"),
        Some("pipe") => ("for another process, through a pipe", "measure the process at the other end"),
        Some("sleep") => ("in sleeps that it asked for", "wait for what it needs instead of for a time"),
        Some("events") => (
            "for events or signals (poll, epoll, sigsuspend)",
            "measure what sends them: this program has nothing to do until then",
        ),
        Some("lock") => ("for locks or other threads", "hold locks shorter, or share less between threads"),
        Some("child") => ("for processes that it started", "measure those"),
        _ => (
            "for something else than a CPU: a disk, the network, a lock, a sleep",
            "see where: strace -c -f -w",
        ),
    };
    let mut evidence = Vec::new();
    if !kinds.is_empty() {
        let list: Vec<String> =
            kinds.iter().map(|(word, count)| format!("{word} {}", percent(count / all))).collect();
        evidence.push(cite_fact(format!("looks while nothing ran: {}", list.join(", ")), detail("waiting")));
    }
    // Threads that ended before they were looked at may have been ready all that time.
    if facts.hardly_seen() {
        return Some(Cause {
            by: "waiting",
            share,
            says: format!(
                "For {} of the time nothing of it ran. Whether it waited or was ready and got no CPU is not told: its \
                 processes or threads ended before they could be looked at.",
                percent(share)
            ),
            advice: vec![format!("see which: perf sched timehist; or {OWN_CPUS}")],
            evidence,
        });
    }
    Some(Cause {
        by: "waiting",
        share,
        says: format!(
            "For {} of the time nothing of it ran or was ready to: it waited {what}.",
            percent(share)
        ),
        advice: vec![advice.to_owned()],
        evidence,
    })
}

/// Seconds that its threads were ready without a CPU, of all. Threads that a quota holds count as ready for the kernel, but
/// that is another cause.
fn without_a_cpu(facts: &Facts) -> f64 {
    (facts.runnable - facts.around("throttled_seconds").unwrap_or(0.0).max(0.0)).max(0.0)
}

/// CPUs that other programs used meanwhile.
pub(super) fn used_by_others(facts: &Facts) -> Option<f64> {
    let (busy, seconds) = facts.around("busy_seconds").zip(facts.around("seconds"))?;
    Some((busy / seconds.max(1e-9) - facts.used()).max(0.0))
}

pub(super) fn contention(facts: &Facts) -> Option<Cause> {
    // While nothing of it wants a CPU, the want of one costs nothing.
    let wanted = 1.0 - (facts.off_cpu / facts.wall).min(1.0);
    let runnable = without_a_cpu(facts);
    let share = runnable / (runnable + facts.cpu()).max(1e-9);
    let others = used_by_others(facts);
    // Of its CPUs others had at most what it had not itself: what it waited beyond that, it waited for its own threads.
    let left = (facts.cpus - facts.used()).max(0.0);
    let taken = others.map_or(left, |others| others.min(left)) * facts.wall;
    let own = runnable - taken > runnable / 2.0;
    let (by, who, advice) = if own {
        let (used, cpus) = (significant(facts.used()), cpus(facts.cpus as u32));
        (
            "too-few-cpus",
            format!("it kept {used} of {cpus} busy itself, and more of its threads wanted to run than that"),
            "give it more CPUs, or start as many threads or jobs as it has CPUs".to_owned(),
        )
    } else {
        let who = "other programs, or its own threads, had the CPU".to_owned();
        ("cpu-contention", who, format!("see who: top; or {OWN_CPUS}"))
    };
    let mut evidence = Vec::new();
    if let Some(others) = others {
        let says = format!("other programs used {} CPUs meanwhile", significant(others));
        evidence.push(cite_fact(says, detail("around")));
    }
    Some(Cause {
        by,
        share: share * wanted,
        says: format!(
            "Its threads were ready for {} without getting a CPU, {} of their time: {who}.",
            figure(runnable, "s"),
            percent(share)
        ),
        advice: vec![advice],
        evidence,
    })
}

pub(super) fn kernel(facts: &Facts) -> Option<Cause> {
    let share = facts.system / facts.cpu().max(1e-9);
    // Some of the time is in the kernel for any program that reads and writes.
    let share_of_time = if share >= 0.3 { facts.system / facts.wall.max(facts.cpu()) } else { 0.0 };
    let rate = |event: &str| facts.counted(event).map(|count| count / facts.cpu().max(1e-9));
    let faults = rate("page-faults").unwrap_or(0.0);
    let switches = rate("context-switches").unwrap_or(0.0);
    // A fault costs half a microsecond to two (in a guest), a switch one to two: from a tenth of the time on they matter.
    let (why, advice) = if faults > 1e5 {
        (
            format!(" It took {} page faults a second of CPU.", thousands(faults.round())),
            "reuse memory instead of giving it back, or use huge pages",
        )
    } else if switches > 1e5 {
        (
            format!(" Its threads were switched {} times a second of CPU.", thousands(switches.round())),
            "hand over more work at a time between threads and processes",
        )
    } else {
        (String::new(), "see which calls: strace -c -f; read and write more at a time")
    };
    let evidence =
        ["page-faults", "context-switches"].iter().filter_map(|event| facts.count(event)).map(|m| {
            let event = m.labels.word(Label::Event).unwrap_or_default().to_owned();
            crate::figures::evidence(m, &event)
        });
    Some(Cause {
        by: "kernel",
        share: share_of_time,
        says: format!(
            "{} of its time on a CPU went to the kernel, not to its own code.{why}",
            percent(share)
        ),
        advice: vec![advice.to_owned()],
        evidence: evidence.collect(),
    })
}

/// CPUs without work from which on they could have worked for it.
const LEAST_IDLE: f64 = 0.2;
/// Share of the time that a program may wait for CPUs while it is said that more of them do not help.
const MOST_WAITED: f64 = 0.1;

pub(super) fn one_thread(facts: &Facts) -> Option<Cause> {
    let busy = facts.used();
    if facts.cpus < 2.0 || !(0.6..=1.2).contains(&busy) {
        return None;
    }
    // A CPU that others use has something to do, and one that it waited for would have helped.
    let idle = facts.cpus - busy - used_by_others(facts).unwrap_or(0.0);
    if idle < LEAST_IDLE {
        return None;
    }
    let waited = without_a_cpu(facts) > MOST_WAITED * facts.wall;
    let seen: f64 = facts.threads.iter().map(|(_, on)| on).sum();
    let first = facts.threads.first().filter(|(_, on)| *on >= facts.cpu() * 0.6);
    let (who, advice, figures) = match first {
        Some((name, on)) => {
            let name = name.rsplit_once(' ').map_or(name.as_str(), |(name, _)| name);
            (
                format!("One thread ({name}) did the work"),
                if waited {
                    "a core that nobody else uses helps (--cpus), and a faster one; look for an option for threads or jobs"
                } else if facts.ipc().is_some() {
                    "a faster core helps, more cores do not; look for an option for threads or jobs, or run several"
                } else {
                    "a faster core helps, or faster memory if that is what it waits for, and more cores do not; look for an \
                     option for threads or jobs, or run several"
                },
                format!("the busiest thread was on a CPU for {}", figure(*on, "s")),
            )
        }
        None if seen < facts.cpu() * 0.5 => (
            "It started one short process after the other".to_owned(),
            "start fewer processes, or several at a time (make -j, xargs -P)",
            format!("only {} of its CPU time was in processes of more than an instant", figure(seen, "s")),
        ),
        None => (
            "Its threads and processes took turns".to_owned(),
            "let them work at the same time: they wait for each other, or for one lock",
            format!("its threads were on a CPU for {} in all", figure(seen, "s")),
        ),
    };
    Some(Cause {
        by: "one-thread",
        // Of all that this machine could have done for it meanwhile.
        share: (idle / facts.cpus * busy).min(1.0),
        says: format!(
            "{who}, on one CPU of {}: {} CPUs had nothing to do for it.",
            facts.cpus,
            significant(idle)
        ),
        advice: vec![advice.to_owned()],
        evidence: vec![cite_fact(figures, "workload.cpu_time workload=command state=on-cpu")],
    })
}

pub(super) fn imbalance(facts: &Facts) -> Option<Cause> {
    // Threads that only wait for the others are none of those that share the work.
    let busiest = facts.threads.first()?.1;
    let working: Vec<f64> =
        facts.threads.iter().map(|(_, on)| *on).filter(|on| *on >= busiest * 0.1).collect();
    if working.len() < 2 || facts.used() < 1.2 || busiest < facts.wall * 0.5 {
        return None;
    }
    let mean = working.iter().sum::<f64>() / working.len() as f64;
    // Had they shared it evenly, the last would have ended this much earlier.
    let share = (1.0 - mean / busiest) * (busiest / facts.wall).min(1.0);
    Some(Cause {
        by: "imbalance",
        share,
        says: format!(
            "Its threads do not share the work evenly: the busiest of {} was on a CPU for {}, the mean for {}.",
            working.len(),
            figure(busiest, "s"),
            figure(mean, "s")
        ),
        advice: vec!["cut the work into smaller pieces that threads take when they are free".to_owned()],
        evidence: vec![cite_fact(
            format!("the busiest thread {}, the mean {}", figure(busiest, "s"), figure(mean, "s")),
            "workload.cpu_time workload=command state=on-cpu".to_owned(),
        )],
    })
}
