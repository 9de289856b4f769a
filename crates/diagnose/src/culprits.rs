//! Names the other processes that ran, and the resources that they used.

use record::command_run::Ceilings;
use record::diagnosis::BoundKind;
use record::live::{MemoryLevel, Process, Sampled};
use record::text::Value;
use record::{Label, Measurement, Record, Text, metrics, text, units};

use crate::resources::beyond_caches;

/// Maximum number of named processes.
const MOST: usize = 3;
/// A process is named if it uses at least this many CPUs and, unless it is a real-time process, at least this share of all other processes'
/// CPU time.
const LEAST: f64 = 0.05;
const PART: f64 = 0.1;
/// A process counts as a user of memory, a cache or sockets above this share of its samples.
const TAKES: f64 = 0.25;
/// Minimum number of decoded samples for a conclusion.
const ENOUGH: u64 = 20;

/// Names the other processes that ran during a measurement; `None` if there were none, or if they were not recorded.
pub(crate) fn beside(record: &Record, ceilings: &Ceilings) -> Option<Text> {
    let (before, after) = (&record.conditions.before, record.conditions.after.as_ref()?);
    let seconds = after.uptime_seconds? - before.uptime_seconds?;
    named(&record.conditions.beside, seconds, ceilings)
}

/// Names the busiest of these processes, with their CPU use over this many seconds.
pub(crate) fn named(all: &[Process], seconds: f64, ceilings: &Ceilings) -> Option<Text> {
    if seconds.is_nan() || seconds <= 0.0 {
        return None;
    }
    let whole: f64 = all.iter().map(|one| one.cpu).sum();
    let counts = |one: &&Process| {
        one.cpu / seconds >= LEAST && (one.cpu >= PART * whole || one.real_time) && one.cpu.is_finite()
    };
    let named: Vec<Text> =
        all.iter().filter(counts).take(MOST).map(|one| describe(one, seconds, ceilings)).collect();
    (!named.is_empty()).then(|| text!("culprits", "{named}", named))
}

fn describe(one: &Process, seconds: f64, ceilings: &Ceilings) -> Text {
    let about = joined(about(one, seconds, ceilings));
    let used = units::cpus_in_use(one.cpu / seconds);
    text!("{name} {used} CPUs ({about})", name = visible(&crate::bound::cut(&one.name)), used, about)
}

/// Joins the known properties of a process, for display in parentheses.
pub(crate) fn joined(about: Vec<Text>) -> Text {
    about.into_iter().reduce(|all, one| text!("{all}, {one}", all, one)).unwrap_or_default()
}

/// A process's PID, unit, scheduling class, and resources other than CPU time.
pub(crate) fn about(one: &Process, seconds: f64, ceilings: &Ceilings) -> Vec<Text> {
    let used = one.cpu / seconds;
    let mut about = vec![text!("pid {pid}", pid = one.pid.to_string())];
    about.extend(one.within.as_ref().map(|within| match within.as_bytes() {
        [b'/', ..] => text!("cgroup {within}", within = visible(within)),
        id if id.len() == 12 && id.iter().all(u8::is_ascii_hexdigit) => text!("container {within}", within),
        _ => text!("{within}", within = visible(within)),
    }));
    let nice = || one.nice.map(|nice| text!("nice {nice}", nice = nice.to_string()));
    about.extend(class(one).or_else(nice));
    about.extend(one.sampled.as_ref().and_then(|sampled| takes(sampled, used, ceilings)));
    about
}

/// The process's scheduling class and priority, unless it is in an ordinary class.
pub(crate) fn class(one: &Process) -> Option<Text> {
    let class = visible(&crate::bound::cut(one.class.as_ref()?));
    Some(match one.priority {
        Some(priority) => text!("{class} priority {priority}"),
        None => text!("{class}"),
    })
}

/// The bandwidths measured during a record's run, without the traffic of other processes. The share of bandwidth that another process uses
/// is relative to these values.
pub(crate) fn bandwidths(record: &Record) -> Ceilings {
    let reads = || record.measurements_of(metrics::MEMORY_BANDWIDTH).filter(|m| beyond_caches(record, m));
    let most = |threads: fn(u64) -> bool| {
        let of = reads().filter(|m| m.labels.count(Label::Threads).is_some_and(threads));
        of.map(Measurement::value).filter(|value| value.is_finite()).reduce(f64::max)
    };
    let (one, all) = (most(|threads| threads == 1), most(|_| true));
    Ceilings { bandwidth_one: one, bandwidth_all: all, ..Ceilings::default() }
}

/// Escapes a name from a record, because the record may be from another machine.
fn visible(name: &str) -> String {
    record::phrase::visible(std::path::Path::new(name))
}

/// The resource that the process uses in addition to CPU time.
fn takes(sampled: &Sampled, used: f64, ceilings: &Ceilings) -> Option<Text> {
    let network = sampled.kernel.iter().find(|one| one.kind == BoundKind::Network);
    let of_kernel = sampled.in_kernel as f64 / (sampled.in_kernel as f64 + sampled.samples as f64).max(1.0);
    if network.is_some_and(|one| one.share.share * of_kernel >= TAKES) {
        return Some(text!("sockets and their softirqs"));
    }
    if sampled.decoded() < ENOUGH {
        return None;
    }
    let share = sampled.sequential.share;
    if share >= TAKES {
        // Assumes the full bandwidth of one CPU while the process streams.
        let of_all = ceilings.bandwidth_one.zip(ceilings.bandwidth_all.filter(|all| *all > 0.0));
        let of_all = of_all.map(|(one, all)| (used * (1.0 - of_kernel) * share * one / all).min(1.0));
        return Some(match of_all {
            Some(part) => text!(
                "up to {part} of the memory bandwidth",
                part = Value::Rounded(Box::new(Value::Share(part)), 2)
            ),
            None => text!("streams through memory"),
        });
    }
    let (far, cached) = (sampled.far.share, sampled.last_cache.share);
    if far.max(cached) >= TAKES && sampled.level != Some(MemoryLevel::L2) {
        let bytes = Value::Rounded(Box::new(Value::Figure(sampled.working_set?, "B")), 1);
        return Some(text!("accesses a working set of {bytes}, larger than its core's caches", bytes));
    }
    (sampled.spinning.share >= TAKES).then(|| text!("spins"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::live::Share;

    fn process(name: &str, cpu: f64) -> Process {
        Process { pid: 7, name: name.to_owned(), cpu, ..Process::default() }
    }

    #[test]
    fn who_takes_what_is_named_and_who_takes_little_is_not() {
        let streams = Sampled {
            samples: 100,
            far: Share::of(90, 100, 0),
            sequential: Share::of(90, 100, 0),
            ..Sampled::default()
        };
        let ceilings =
            Ceilings { bandwidth_one: Some(1e10), bandwidth_all: Some(2e10), ..Ceilings::default() };
        let hog = Process { sampled: Some(Box::new(streams)), ..process("hog", 10.0) };
        let thief = Process {
            real_time: true,
            class: Some("SCHED_FIFO".to_owned()),
            priority: Some(50),
            within: Some("rt.service".to_owned()),
            ..process("thief", 2.0)
        };
        let said = named(&[hog, thief, process("idler", 0.1)], 10.0, &ceilings).unwrap().to_string();
        assert!(said.contains("hog 1.00 CPUs (pid 7, up to 45 % of the memory bandwidth)"), "{said}");
        assert!(said.contains("rt.service") && said.contains("SCHED_FIFO priority 50"), "{said}");
        assert!(!said.contains("idler"), "{said}");
        assert_eq!(named(&[process("idler", 0.1)], 10.0, &ceilings), None);
        assert_eq!(named(&[process("a", 1.0)], 0.0, &ceilings), None);
    }
}
