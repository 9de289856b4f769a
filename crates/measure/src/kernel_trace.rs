//! Traces the kernel's activity on some CPUs in a separate trace instance (Documentation/trace/ftrace.rst): interrupts,
//! softirqs, task switches, idle states. Requires root. linespeed removes the instance when it ends; if it is
//! killed, a guardian process removes the instance, and if both are killed, the next run does.

use std::collections::{BTreeMap, HashSet};
use std::ffi::CString;
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use os::guardian::{Guardian, Message};
use record::long_gap::{Taker, TakerKind};

/// Directories of trace instances in tracefs. The second one applies before Linux 4.1, or if tracefs was mounted
/// manually.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"];
const NAME: &str = "linespeed-";
/// Size of each CPU's ring buffer.
const RING_KIB: &str = "1024";
/// Maximum length of the text read from a trace.
const MOST_TEXT: u64 = 256 << 20;
/// Groups of events; groups that a kernel lacks are skipped.
const EVENTS: [&str; 7] = [
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "sched/sched_switch",
    "power/cpu_idle",
    // Interrupts that the handler events do not include on x86-64: timers, reschedules, function calls. On aarch64, these interrupts have a
    // handler or are IPIs.
    "irq_vectors",
];

/// A running trace.
#[derive(Debug)]
pub(crate) struct KernelTrace {
    folder: PathBuf,
    guardian: Option<Guardian>,
}

impl KernelTrace {
    /// Starts a trace of these CPUs; `None` if that is not permitted or there is no tracefs.
    pub(crate) fn start(cpus: &[u32]) -> Option<Self> {
        let mount = MOUNTS.iter().map(Path::new).find(|mount| mount.is_dir())?;
        clear_leftovers(mount);
        let folder = mount.join(format!("{NAME}{}", std::process::id()));
        let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
        // The guardian is started first, so that no instance is left behind.
        // SAFETY: the work only makes system calls, on a string that was created beforehand.
        let guardian = unsafe {
            Guardian::post_beside_threads(c"linespeed-trace", &[], |lifeline| {
                // Removal fails while another process is reading the trace.
                while matches!(lifeline.hear(), Message::Gone)
                    && libc::rmdir(path.as_ptr()) != 0
                    && *libc::__errno_location() == libc::EBUSY
                {
                    libc::usleep(50_000);
                }
            })
        };
        let this = Self { guardian: Some(guardian.ok()?), folder };
        fs::create_dir(&this.folder).ok()?;
        // If anything was refused, the value is dropped, which removes the instance.
        this.begin(cpus).then_some(this)
    }

    fn begin(&self, cpus: &[u32]) -> bool {
        let write = |file: &str, text: &str| fs::write(self.folder.join(file), text).is_ok();
        let mask = record::CpuList::from_iter(cpus.iter().copied()).to_mask();
        let ready = write("tracing_on", "0")
            && write("trace_clock", "mono")
            && write("buffer_size_kb", RING_KIB)
            && write("tracing_cpumask", &mask)
            && write("events/sched/sched_switch/enable", "1");
        let on = |event: &&&str| write(&format!("events/{event}/enable"), "1");
        ready && EVENTS.iter().filter(on).count() >= 3 && write("tracing_on", "1")
    }

    /// Ends the trace and returns the events on each CPU.
    pub(crate) fn end(self) -> TraceEvents {
        use std::io::Read;
        let _ = fs::write(self.folder.join("tracing_on"), "0");
        let (mut text, trace) = (Vec::new(), self.folder.join("trace"));
        let _ = fs::File::open(trace).and_then(|file| file.take(MOST_TEXT).read_to_end(&mut text));
        TraceEvents::parse(&String::from_utf8_lossy(&text))
    }
}

impl Drop for KernelTrace {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
        if let Some(guardian) = self.guardian.take() {
            guardian.dismiss();
            guardian.wait();
        }
    }
}

/// Removes instances left by a linespeed process that was killed together with its guardian.
fn clear_leftovers(mount: &Path) {
    for entry in fs::read_dir(mount).into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The events on each CPU, in chronological order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TraceEvents(BTreeMap<u32, Vec<Event>>);

#[derive(Debug, PartialEq)]
struct Event {
    ns: i64,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Entry(Taker),
    Exit(TakerKind),
    /// A switch to this thread; `None` is the idle thread.
    Switch(Option<Taker>),
    /// An idle state is entered or left.
    Idle(bool),
}

impl TraceEvents {
    /// Parses the text of `trace`; lines in other formats are skipped.
    pub(crate) fn parse(text: &str) -> Self {
        let mut events: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
        for (cpu, event) in text.lines().filter_map(parse_line) {
            events.entry(cpu).or_default().push(event);
        }
        events.values_mut().for_each(|events| events.sort_by_key(|event| event.ns));
        Self(events)
    }

    /// What used the CPU during this time (ns of CLOCK_MONOTONIC), except for `own` threads; the largest share comes first. Time that no
    /// event explains is attributed to lower layers or, if the thread slept (`asleep`), to an idle state or a late timer. The time after
    /// the thread's wake-up is not counted.
    pub(crate) fn takers(&self, cpu: u32, time: Range<i64>, own: &HashSet<i32>, asleep: bool) -> Vec<Taker> {
        let Range { start: from, end: to } = time;
        let mut interrupts: Vec<Taker> = Vec::new();
        let mut task = None;
        let (mut idle, mut runs) = (false, !asleep);
        let mut taken: Vec<Taker> = Vec::new();
        let mut add = |taker: Taker, ns: i64, times: u64| {
            let same =
                |one: &&mut Taker| one.kind == taker.kind && one.name == taker.name && one.pid == taker.pid;
            match taken.iter_mut().find(same) {
                Some(one) => {
                    one.ns = Some(one.ns.unwrap_or(0.0) + ns as f64);
                    one.times = Some(one.times.unwrap_or(0) + times);
                }
                None => taken.push(Taker { ns: Some(ns as f64), times: Some(times), ..taker }),
            }
        };
        let mut last = from;
        let events = self.0.get(&cpu).map_or(&[][..], Vec::as_slice);
        // Events before the first one in the ring buffer are lost, so no cause is reported for a time that begins
        // earlier.
        if events.first().is_some_and(|first| first.ns > from) {
            return Vec::new();
        }
        let end = Event { ns: to, what: What::Idle(false) };
        for event in events.iter().take_while(|event| event.ns < to).chain([&end]) {
            let ns = event.ns.max(from) - last;
            if event.ns >= from && ns > 0 {
                let holder = interrupts.last().or(task.as_ref()).cloned();
                let rest = match (asleep, idle) {
                    (false, _) => TakerKind::Below,
                    (true, true) => TakerKind::Idle,
                    (true, false) => TakerKind::LateTimer,
                };
                // After the kernel has switched to the thread that slept, the thread itself uses the CPU, so the time
                // is not counted.
                if holder.is_some() || !(asleep && runs) {
                    add(holder.unwrap_or_else(|| Taker::new(rest)), ns, 0);
                }
            }
            last = event.ns.max(from);
            match &event.what {
                What::Entry(taker) => {
                    if event.ns >= from {
                        add(taker.clone(), 0, 1);
                    }
                    interrupts.push(taker.clone());
                }
                What::Exit(kind) => {
                    if let Some(at) = interrupts.iter().rposition(|taker| taker.kind == *kind) {
                        interrupts.truncate(at);
                    }
                }
                What::Switch(next) => {
                    interrupts.clear();
                    runs = next.as_ref().and_then(|next| next.pid).is_some_and(|pid| own.contains(&pid));
                    task = next.clone().filter(|_| !runs);
                    if let (Some(task), true) = (&task, event.ns >= from && event.ns < to) {
                        add(task.clone(), 0, 1);
                    }
                }
                What::Idle(entered) => idle = *entered,
            }
        }
        taken.retain_mut(|taker| {
            taker.times = taker.times.filter(|times| *times > 0);
            taker.ns > Some(0.0)
        });
        taken.sort_by(|a, b| b.ns.partial_cmp(&a.ns).unwrap_or(std::cmp::Ordering::Equal));
        taken
    }
}

/// `kworker/3:1H-77 [003] d.h1. 12.345678: irq_handler_entry: irq=45 name=eth0-TxRx-3`. A thread's name may contain any
/// characters.
fn parse_line(line: &str) -> Option<(u32, Event)> {
    let opens = line.match_indices(" [").map(|(at, _)| at);
    let (cpu, rest) =
        opens.filter_map(|at| line.get(at + 2..)?.split_once("] ")).find_map(|(cpu, rest)| {
            let digits = !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| Some((cpu.parse::<u32>().ok()?, rest)))?
        })?;
    let rest = rest.trim_start();
    let rest = rest.split_once(' ').map_or(rest, |(_, rest)| rest).trim_start();
    let (time, rest) = rest.split_once(": ")?;
    let ns = (time.parse::<f64>().ok().filter(|seconds| seconds.is_finite())? * 1e9).round() as i64;
    let (event, fields) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let field = |name: &str| fields.split_once(name).map(|(_, rest)| rest);
    let word = |name: &str| Some(field(name)?.split([' ', ']']).next().unwrap_or_default().to_owned());
    let named = |kind, name: Option<String>| Taker { name, ..Taker::new(kind) };
    let what = match event {
        "irq_handler_entry" => {
            let name = format!("{} {}", word("irq=")?, field("name=")?.trim_end());
            What::Entry(named(TakerKind::Irq, Some(name)))
        }
        "softirq_entry" => What::Entry(named(TakerKind::Softirq, word("action="))),
        "softirq_exit" => What::Exit(TakerKind::Softirq),
        "ipi_entry" => {
            What::Entry(named(TakerKind::Irq, Some(fields.trim_matches(['(', ')', ' ']).to_owned())))
        }
        "sched_switch" => {
            let (name, rest) = field("next_comm=")?.rsplit_once(" next_pid=")?;
            let (pid, priority) = rest.split_once(" next_prio=")?;
            let pid: i32 = pid.parse().ok()?;
            // 0 to 98 are the real-time priorities 99 to 1 (kernel/sched/core.c).
            let priority = priority.trim_end().parse::<u32>().ok().filter(|p| *p < 99).map(|p| 99 - p);
            let task = Taker { pid: Some(pid), priority, ..named(TakerKind::Task, Some(name.to_owned())) };
            What::Switch((pid != 0).then_some(task))
        }
        // 4294967295 means that the idle state is left.
        "cpu_idle" => What::Idle(word("state=")? != u32::MAX.to_string()),
        _ => match event.strip_suffix("_entry") {
            Some(name) => What::Entry(named(TakerKind::Irq, Some(name.replace('_', " ")))),
            None if event.ends_with("_exit") => What::Exit(TakerKind::Irq),
            None => return None,
        },
    };
    Some((cpu, Event { ns, what }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
# tracer: nop
#
           spin-100     [003] d..2.    10.000000: sched_switch: prev_comm=swapper/3 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=spin next_pid=100 next_prio=120
           spin-100     [003] d.h1.    10.001000: irq_handler_entry: irq=45 name=eth0-TxRx-3
           spin-100     [003] d.h1.    10.001200: irq_handler_exit: irq=45 ret=handled
           spin-100     [003] ..s1.    10.001200: softirq_entry: vec=3 [action=NET_RX]
           spin-100     [003] ..s1.    10.001700: softirq_exit: vec=3 [action=NET_RX]
           spin-100     [003] d..2.    10.002000: sched_switch: prev_comm=spin prev_pid=100 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 [004] x next_pid=8 next_prio=49
   a next_pid=7-8       [003] d..2.    10.002300: local_timer_entry: vector=236
   a next_pid=7-8       [003] d..2.    10.002400: local_timer_exit: vector=236
   a next_pid=7-8       [003] d..2.    10.003000: sched_switch: prev_comm=x prev_pid=8 prev_prio=49 prev_state=S ==> next_comm=spin next_pid=100 next_prio=120
";

    fn us(value: f64) -> i64 {
        10_000_000_000 + (value * 1e3) as i64
    }

    fn said(takers: &[Taker]) -> Vec<(TakerKind, &str, f64)> {
        let round = |ns: f64| (ns / 1e3).round();
        takers.iter().map(|t| (t.kind, t.name.as_deref().unwrap_or(""), round(t.ns.unwrap()))).collect()
    }

    #[test]
    fn each_microsecond_of_a_gap_is_somebodys() {
        let events = TraceEvents::parse(TEXT);
        let own = HashSet::from([100]);
        let takers = events.takers(3, us(1000.0)..us(1800.0), &own, false);
        let of_network = [
            (TakerKind::Softirq, "NET_RX", 500.0),
            (TakerKind::Irq, "45 eth0-TxRx-3", 200.0),
            (TakerKind::Below, "", 100.0),
        ];
        assert_eq!(said(&takers), of_network);
        let takers = events.takers(3, us(2000.0)..us(3000.0), &own, false);
        assert_eq!(
            said(&takers),
            [(TakerKind::Task, "a next_pid=7 [004] x", 900.0), (TakerKind::Irq, "local timer", 100.0)]
        );
        assert_eq!((takers[0].pid, takers[0].priority, takers[0].times), (Some(8), Some(50), Some(1)));
    }

    #[test]
    fn a_gap_without_an_event_came_from_below_and_a_sleeper_waited_for_its_timer() {
        let events = TraceEvents::parse(TEXT);
        let own = HashSet::from([100]);
        assert_eq!(
            said(&events.takers(3, us(300.0)..us(900.0), &own, false)),
            [(TakerKind::Below, "", 600.0)]
        );
        // The first event in the ring buffer is later: earlier ones are lost.
        assert_eq!(events.takers(3, us(-500.0)..us(500.0), &own, false), []);
        assert_eq!(
            said(&events.takers(9, us(300.0)..us(900.0), &own, true)),
            [(TakerKind::LateTimer, "", 600.0)]
        );
        let idle = TraceEvents::parse(
            "<idle>-0 [001] d..1. 10.000000: cpu_idle: state=2 cpu_id=1\n<idle>-0 [001] d..1. 10.000400: cpu_idle: state=4294967295 cpu_id=1\n",
        );
        let takers = idle.takers(1, us(100.0)..us(450.0), &own, true);
        assert_eq!(said(&takers), [(TakerKind::Idle, "", 300.0), (TakerKind::LateTimer, "", 50.0)]);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_more_than_the_gap_is_taken(
            text in "([a-z -]{0,9}-[0-9]{1,3} \\[00[0-3]\\] d\\.\\. 1\\.00000[0-9]: (irq_handler_entry: irq=1 name=x|irq_handler_exit: irq=1|sched_switch: next_comm=b next_pid=[0-9] next_prio=1|\\PC{0,9})\n){0,20}",
        ) {
            let events = TraceEvents::parse(&text);
            let takers = events.takers(1, 1_000_000_000..1_000_007_000, &HashSet::new(), false);
            let all: f64 = takers.iter().filter_map(|taker| taker.ns).sum();
            prop_assert!(all == 7_000.0 || takers.is_empty(), "{:?}", takers);
        }
    }
}
