//! Where a command's time went: held back, waiting, in the kernel, on too few CPUs.

use record::diagnosis::BoundBy;
use record::text::Value;
use record::units::{cpus, significant, thousands};
use record::{Label, Template, text};

use super::{Cause, Facts, detail};

pub(super) fn quota(facts: &Facts) -> Option<Cause> {
    let throttled = facts.around().throttled_seconds?;
    let seconds = facts.around().seconds?.max(1e-9);
    // Summed over CPUs: of the time that its threads would have run.
    let share = throttled / (throttled + facts.cpu() * seconds / facts.wall).max(1e-9);
    let share = if throttled > 0.0 { share } else { 0.0 };
    let throttled = Value::Figure(throttled, "s");
    let seen = text!("bound-throttled", "throttled for {throttled}", throttled = throttled.clone());
    let says = text!(
        "bound-quota",
        "The cgroup's CPU quota throttled its runnable threads for {throttled}.",
        throttled
    );
    let advice = text!(
        "bound-raise-quota",
        "raise the quota (cpu.max; Kubernetes: the CPU limit), or start fewer threads than the quota allows"
    );
    Some(Cause::new(BoundBy::Quota, share, says, advice).cite(seen, detail("around")))
}

pub(super) fn stolen(facts: &Facts) -> Option<Cause> {
    let stolen = facts.around().stolen_seconds?;
    let asked = stolen + facts.around().busy_seconds?;
    let share = stolen / asked.max(1e-9);
    let says = text!(
        "bound-stolen",
        "Steal time was {share} of the CPU time that this machine asked for.",
        share = Value::Share(share)
    );
    let advice =
        text!("bound-unshared-cpus", "measure again at another time, or on an instance with dedicated CPUs");
    let seen = text!(
        "bound-steal-time",
        "steal time {stolen} of {asked} CPU time",
        stolen = Value::Figure(stolen, "s"),
        asked = Value::Figure(asked, "s")
    );
    // Ticks of 10 ms: less than a few of them may be chance.
    let share = if stolen >= 0.05 { share } else { 0.0 };
    Some(Cause::new(BoundBy::Stolen, share, says, advice).cite(seen, detail("around")))
}

/// What a command may wait for: the word for it in the samples, what that means and what to do.
const WAITS: [(&str, Template, Template); 8] = [
    (
        "disk",
        Template { code: "bound-waiting-disk", words: "Off-CPU {share} of the time, waiting for a disk." },
        Template {
            code: "bound-try-disk",
            words: "look at the disk (iostat -x 1), read less, or keep the data in memory",
        },
    ),
    (
        "network",
        Template {
            code: "bound-waiting-network",
            words: "Off-CPU {share} of the time, waiting for the network.",
        },
        Template {
            code: "bound-try-network",
            words: "look at the other side and at round trips; do several at once",
        },
    ),
    (
        "terminal",
        Template {
            code: "bound-waiting-terminal",
            words: "Off-CPU {share} of the time, waiting for input from a terminal.",
        },
        Template { code: "bound-try-terminal", words: "give it its input from a file" },
    ),
    (
        "pipe",
        Template {
            code: "bound-waiting-pipe",
            words: "Off-CPU {share} of the time, waiting for another process through a pipe.",
        },
        Template { code: "bound-try-pipe", words: "measure the process at the other end" },
    ),
    (
        "sleep",
        Template {
            code: "bound-waiting-sleep",
            words: "Off-CPU {share} of the time, in sleeps that it requested.",
        },
        Template { code: "bound-try-sleep", words: "wait for what it needs instead of for a time" },
    ),
    (
        "events",
        Template {
            code: "bound-waiting-events",
            words: "Off-CPU {share} of the time, waiting for events or signals (poll, epoll, sigsuspend).",
        },
        Template {
            code: "bound-try-events",
            words: "measure what sends them: until then this program has nothing to do",
        },
    ),
    (
        "lock",
        Template {
            code: "bound-waiting-lock",
            words: "Off-CPU {share} of the time, waiting for locks or other threads.",
        },
        Template { code: "bound-try-lock", words: "hold locks shorter, or share less between threads" },
    ),
    (
        "child",
        Template {
            code: "bound-waiting-child",
            words: "Off-CPU {share} of the time, waiting for processes that it started.",
        },
        Template { code: "bound-try-child", words: "measure those" },
    ),
];
const ON_SOMETHING: Template = Template {
    code: "bound-waiting",
    words: "Off-CPU {share} of the time, waiting for a disk, the network, a lock or a sleep.",
};
const TRY_WAITING: Template = Template { code: "bound-try-waiting", words: "see where: strace -c -f -w" };
const UNSAMPLED: Template = Template {
    code: "bound-waiting-unsampled",
    words: "Not running {share} of the time; waiting cannot be told from run-queue delay, because its processes or threads \
            ended before they were sampled.",
};
const TRY_UNSAMPLED: Template = Template {
    code: "bound-try-unsampled",
    words: "see which: perf sched timehist; or give it CPUs of its own: sudo linespeed quiet --cpus LIST -- COMMAND",
};

pub(super) fn waiting(facts: &Facts) -> Option<Cause> {
    let share = (facts.off_cpu / facts.wall).min(1.0);
    let looks = facts.time.detail.get(record::detail::WAITING).unwrap_or_default();
    let mut kinds: Vec<(&str, f64)> =
        looks.iter().map(|(word, count)| (word.as_str(), *count as f64)).collect();
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = kinds.iter().map(|(_, count)| count).sum();
    let most = kinds.first().filter(|(_, count)| *count >= all / 3.0).map(|(word, _)| *word);
    let (says, advice) = match WAITS.iter().find(|(word, ..)| most == Some(*word)) {
        // Threads that ended before they were looked at may have been ready all that time.
        _ if facts.hardly_seen() => (UNSAMPLED, TRY_UNSAMPLED),
        Some((_, says, advice)) => (*says, *advice),
        None => (ON_SOMETHING, TRY_WAITING),
    };
    let cause = Cause::new(BoundBy::Waiting, share, text!(says, share = Value::Share(share)), advice.into());
    if kinds.is_empty() {
        return Some(cause);
    }
    let sampled = |(kind, count): &(&str, f64)| {
        let (kind, share) = ((*kind).to_owned(), Value::Share(count / all));
        text!("bound-sampled-in", "{kind} {share}", kind, share)
    };
    let kinds: Vec<_> = kinds.iter().map(sampled).collect();
    Some(cause.cite(text!("bound-sampled", "sampled while off-CPU: {kinds}", kinds), detail("waiting")))
}

/// Seconds that its threads were ready without a CPU, of all. Threads that a quota holds count as ready for the kernel, but
/// that is another cause.
fn without_a_cpu(facts: &Facts) -> f64 {
    (facts.runnable - facts.around().throttled_seconds.unwrap_or(0.0).max(0.0)).max(0.0)
}

/// CPUs that other programs used meanwhile.
pub(super) fn used_by_others(facts: &Facts) -> Option<f64> {
    let (busy, seconds) = facts.around().busy_seconds.zip(facts.around().seconds)?;
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
    let (runnable, of) = (Value::Figure(runnable, "s"), Value::Share(share));
    let (by, says, advice) = if own {
        (
            BoundBy::TooFewCpus,
            text!(
                "bound-too-few-cpus",
                "Run-queue delay {runnable}, {share} of its threads' time: {used} of {cpus} busy, and more threads wanted to run.",
                runnable,
                share = of,
                used = significant(facts.used()),
                cpus = cpus(facts.cpus as u32)
            ),
            text!(
                "bound-try-more-cpus",
                "give it more CPUs, or start as many threads or jobs as it has CPUs"
            ),
        )
    } else {
        (
            BoundBy::CpuContention,
            text!(
                "bound-cpu-contention",
                "Run-queue delay {runnable}, {share} of its threads' time: other programs, or its own threads, had the CPU.",
                runnable,
                share = of
            ),
            // Binding alone would not keep others away.
            text!(
                "bound-try-own-cpus",
                "see who: top; or give it CPUs of its own: sudo linespeed quiet --cpus LIST -- COMMAND"
            ),
        )
    };
    let cause = Cause::new(by, share * wanted, says, advice);
    let Some(others) = others.map(significant) else { return Some(cause) };
    let seen = text!("bound-others-used", "other programs used {others} CPUs", others);
    Some(cause.cite(seen, detail("around")))
}

pub(super) fn kernel(facts: &Facts) -> Option<Cause> {
    let share = facts.system / facts.cpu().max(1e-9);
    // Some of the time is in the kernel for any program that reads and writes.
    let share_of_time = if share >= 0.3 { facts.system / facts.wall.max(facts.cpu()) } else { 0.0 };
    let rate = |event: &str| facts.counted(event).map(|count| count / facts.cpu().max(1e-9));
    let faults = rate("page-faults").unwrap_or(0.0);
    let switches = rate("context-switches").unwrap_or(0.0);
    // A fault costs half a microsecond to two (in a guest), a switch one to two: from a tenth of the time on they matter.
    let mut says = text!(
        "bound-kernel",
        "{share} of CPU time was in the kernel, not in its own code.",
        share = Value::Share(share)
    );
    let advice = if faults > 1e5 {
        says.push(text!(
            "bound-kernel-faults",
            "It took {faults} page faults per second of CPU time.",
            faults = thousands(faults.round())
        ));
        text!("bound-try-reuse-memory", "reuse memory instead of giving it back, or use huge pages")
    } else if switches > 1e5 {
        says.push(text!(
            "bound-kernel-switches",
            "It made {switches} context switches per second of CPU time.",
            switches = thousands(switches.round())
        ));
        text!("bound-try-larger-work", "hand over more work at a time between threads and processes")
    } else {
        text!("bound-try-fewer-calls", "see which calls: strace -c -f; read and write more at a time")
    };
    let mut cause = Cause::new(BoundBy::Kernel, share_of_time, says, advice);
    for m in ["page-faults", "context-switches"].iter().filter_map(|event| facts.count(event)) {
        let event = m.labels.word(Label::Event).unwrap_or_default().to_owned();
        cause = cause.cite(text!("bound-count", "{event} {count}", event, count = m), m);
    }
    Some(cause)
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
    let (idle_cpus, cpus, seconds) =
        (significant(idle), facts.cpus.to_string(), |s: f64| Value::Figure(s, "s"));
    let (says, advice, figures) = match first {
        Some((name, on)) => {
            let name = name.rsplit_once(' ').map_or(name.as_str(), |(name, _)| name).to_owned();
            (
                text!(
                    "bound-one-thread",
                    "One thread ({name}) did the work, on one CPU of {cpus}; {idle} CPUs were idle.",
                    name,
                    cpus,
                    idle = idle_cpus
                ),
                if waited {
                    text!(
                        "bound-try-free-core",
                        "a core that nobody else uses helps (--cpus), and a faster one; look for an option for threads or jobs"
                    )
                } else if facts.ipc().is_some() {
                    text!(
                        "bound-try-faster-core",
                        "a faster core helps, more cores do not; look for an option for threads or jobs, or run several"
                    )
                } else {
                    text!(
                        "bound-try-faster-core-or-memory",
                        "a faster core helps (or faster memory, if memory-bound), more cores do not; look for an option for \
                         threads or jobs, or run several"
                    )
                },
                text!("bound-busiest-thread", "the busiest thread was on-CPU for {on}", on = seconds(*on)),
            )
        }
        None if seen < facts.cpu() * 0.5 => (
            text!(
                "bound-short-processes",
                "One short process after the other, on one CPU of {cpus}; {idle} CPUs were idle.",
                cpus,
                idle = idle_cpus
            ),
            text!(
                "bound-try-fewer-processes",
                "start fewer processes, or several at a time (make -j, xargs -P)"
            ),
            text!(
                "bound-long-processes",
                "only {seen} of its CPU time was in processes long enough to be sampled",
                seen = seconds(seen)
            ),
        ),
        None => (
            text!(
                "bound-taking-turns",
                "Its threads and processes took turns, on one CPU of {cpus}; {idle} CPUs were idle.",
                cpus,
                idle = idle_cpus
            ),
            text!(
                "bound-try-concurrency",
                "let them work at the same time: they wait for each other, or for one lock"
            ),
            text!("bound-all-threads", "its threads were on-CPU for {seen} in all", seen = seconds(seen)),
        ),
    };
    // Of all that this machine could have done for it meanwhile.
    let share = (idle / facts.cpus * busy).min(1.0);
    Some(Cause::new(BoundBy::OneThread, share, says, advice).cite(figures, ON_CPU))
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
    let (busiest, mean) = (Value::Figure(busiest, "s"), Value::Figure(mean, "s"));
    let seen = text!(
        "bound-uneven-threads",
        "busiest thread {busiest}, mean {mean}",
        busiest = busiest.clone(),
        mean = mean.clone()
    );
    let says = text!(
        "bound-imbalance",
        "Uneven work: of {threads} threads the busiest was on-CPU for {busiest}, the mean for {mean}.",
        threads = working.len(),
        busiest,
        mean
    );
    let advice = text!(
        "bound-try-smaller-pieces",
        "cut the work into smaller pieces that threads take when they are free"
    );
    Some(Cause::new(BoundBy::Imbalance, share, says, advice).cite(seen, ON_CPU))
}

/// Where the time of each thread on a CPU stands.
const ON_CPU: &str = "workload.cpu_time workload=command state=on-cpu";
