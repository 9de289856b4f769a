//! Collects the longest gaps of busy loops and the most delayed wake-ups, with their causes. The causes are from the kernel's trace if
//! there is one, otherwise from the increase in counts and run times around each gap or wake-up.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use machine::Root;
use os::procfs::{Stat, numbers, schedstat};
use record::long_gap::{LongGap, Taker, TakerKind, Witness};

use crate::kernel_trace::TraceEvents;

/// Maximum number of saved gaps, and of saved wake-ups.
const KEPT: usize = 10;
/// Maximum number of causes listed for each.
const TAKERS: usize = 4;
/// Maximum number of threads whose run times are read.
const MOST_THREADS: usize = 4_000;
/// A thread is a possible cause of a gap only if it ran for at least this long since the last scan, ns.
const LEAST_RUN: u64 = 20_000;

/// The time on CLOCK_MONOTONIC, as in the kernel's timers and trace.
pub(crate) fn monotonic_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the timespec, which outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A gap, or the time from a timer's expiry to the wake-up. Times are in ns of CLOCK_MONOTONIC.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub cpu: u32,
    /// The scheduling policy of the thread that woke up late; `None` for a gap.
    pub woken: Option<&'static str>,
    pub from: i64,
    pub to: i64,
    /// The possible causes, according to counters.
    pub counted: Vec<Taker>,
}

/// The longest gaps or delays, longest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Longest(Vec<Held>);

impl Longest {
    /// Whether a gap of this length, ns, is one of the longest.
    pub(crate) fn takes(&self, ns: i64) -> bool {
        self.0.get(KEPT - 1).is_none_or(|last| ns > last.to - last.from)
    }

    pub(crate) fn add(&mut self, held: Held) {
        let at = self.0.partition_point(|one| one.to - one.from >= held.to - held.from);
        self.0.insert(at, held);
        self.0.truncate(KEPT);
    }

    pub(crate) fn join(&mut self, other: Longest) {
        other.0.into_iter().for_each(|held| self.add(held));
    }

    /// Adds the causes of the gaps: from the trace if there was one, otherwise from the counters.
    pub(crate) fn named(self, trace: Option<(&TraceEvents, &HashSet<i32>)>) -> Vec<LongGap> {
        let name = |held: Held| {
            let (witness, mut takers) = match trace {
                Some((trace, own)) => {
                    let mut takers = trace.takers(held.cpu, held.from..held.to, own, held.woken.is_some());
                    // A trace does not show SMIs.
                    if let Some(smi) = held.counted.iter().find(|taker| taker.kind == TakerKind::Smi) {
                        let below = takers.iter_mut().find(|taker| taker.kind == TakerKind::Below);
                        below.into_iter().for_each(|below| *below = Taker { ns: below.ns, ..smi.clone() });
                    }
                    (Witness::Trace, takers)
                }
                None => (Witness::Counts, held.counted),
            };
            takers.truncate(TAKERS);
            let ns = (held.to - held.from) as f64;
            // Run times cover the time since the last scan, which may have been long before the gap, so they are
            // limited to the gap's length.
            takers.iter_mut().for_each(|taker| taker.ns = taker.ns.map(|taken| taken.min(ns)));
            LongGap {
                cpu: held.cpu,
                woken: held.woken.map(str::to_owned),
                at_seconds: held.from as f64 / 1e9,
                ns,
                witness,
                takers,
            }
        };
        self.0.into_iter().map(name).collect()
    }
}

impl FromIterator<Longest> for Longest {
    fn from_iter<I: IntoIterator<Item = Longest>>(all: I) -> Self {
        let mut joined = Self::default();
        all.into_iter().for_each(|longest| joined.join(longest));
        joined
    }
}

/// Run times of the threads of other processes, scanned occasionally.
#[derive(Debug)]
pub(crate) struct RunTimes {
    cpu: u32,
    /// The time that all remaining scans together may use.
    left: Duration,
    before: BTreeMap<i32, u64>,
}

impl RunTimes {
    /// Reads the current run times. Later scans show which threads ran on this CPU in the meantime; `left` is the time
    /// that these scans may use in total.
    pub(crate) fn new(cpu: u32, left: Duration) -> Self {
        let before = if left.is_zero() { BTreeMap::new() } else { threads().collect() };
        Self { cpu, left, before }
    }

    /// The threads that ran since the last scan and last ran on this CPU, longest time first; none if no time is left.
    pub(crate) fn grown(&mut self) -> Vec<Taker> {
        if self.left.is_zero() {
            return Vec::new();
        }
        let begun = Instant::now();
        let mut takers = Vec::new();
        for (thread, ns) in threads() {
            let ran = ns.saturating_sub(self.before.insert(thread, ns).unwrap_or(ns));
            if ran < LEAST_RUN {
                continue;
            }
            let Some(stat) = Stat::read(thread).filter(|stat| stat.cpu == Some(self.cpu)) else { continue };
            takers.push(Taker {
                name: Some(stat.name),
                pid: Some(thread),
                priority: u32::try_from(stat.priority).ok().filter(|priority| *priority > 0),
                ns: Some(ran as f64),
                ..Taker::new(TakerKind::Task)
            });
        }
        takers.sort_by(|a, b| b.ns.partial_cmp(&a.ns).unwrap_or(std::cmp::Ordering::Equal));
        self.left = self.left.saturating_sub(begun.elapsed());
        takers
    }
}

/// All threads of other processes, with their CPU time, ns.
fn threads() -> impl Iterator<Item = (i32, u64)> {
    let own = std::process::id() as i32;
    let processes = numbers("/proc").filter(move |pid| *pid != own);
    let threads = processes.flat_map(move |pid| numbers(format!("/proc/{pid}/task")).map(move |t| (pid, t)));
    threads.take(MOST_THREADS).filter_map(|(pid, thread)| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
        Some((thread, schedstat(&text)?.0))
    })
}

/// Reads the number of system management interrupts of a CPU since boot: MSR_SMI_COUNT on Intel CPUs (SDM volume 4). Requires root and the
/// module `msr`. `None` if the register cannot be read.
pub(crate) fn smi_count(root: &Root, cpu: u32) -> Option<u64> {
    Some(root.word_at(&format!("/dev/cpu/{cpu}/msr"), 0x34)? & u64::from(u32::MAX))
}

/// Repeatedly reads the time for which the calling thread was ready but had no CPU.
#[derive(Debug)]
pub(crate) struct ReadyTime(Option<std::fs::File>, u64);

impl ReadyTime {
    pub(crate) fn new() -> Self {
        let mut this = Self(std::fs::File::open("/proc/thread-self/schedstat").ok(), 0);
        this.grown();
        this
    }

    /// The increase of this time since the last reading, ns; `None` if the kernel does not report it.
    pub(crate) fn grown(&mut self) -> Option<u64> {
        use std::os::unix::fs::FileExt;
        let mut text = [0; 96];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let (_, ready, _) = schedstat(std::str::from_utf8(text.get(..length)?).ok()?)?;
        Some(ready.saturating_sub(std::mem::replace(&mut self.1, ready)))
    }
}

/// Splits a late wake-up into waiting for a CPU and a late timer.
pub(crate) fn late_takers(late: f64, waited: Option<f64>) -> Vec<Taker> {
    let Some(waited) = waited.map(|waited| waited.min(late)) else { return Vec::new() };
    let parts = [(TakerKind::RunQueue, waited), (TakerKind::LateTimer, late - waited)];
    let mut takers: Vec<Taker> = parts
        .into_iter()
        .filter(|(_, ns)| *ns > 0.0)
        .map(|(kind, ns)| Taker { ns: Some(ns), ..Taker::new(kind) })
        .collect();
    takers.sort_by(|a, b| b.ns.partial_cmp(&a.ns).unwrap_or(std::cmp::Ordering::Equal));
    takers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(cpu: u32, from: i64, to: i64) -> Held {
        Held { cpu, woken: None, from, to, counted: vec![Taker::new(TakerKind::Task)] }
    }

    #[test]
    fn firmware_is_counted_if_its_register_can_be_read() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("dev/cpu/3")).unwrap();
        std::fs::create_dir_all(tree.path().join("proc")).unwrap();
        let register = [vec![0; 0x34], 0xdead_0000_0009_u64.to_le_bytes().to_vec()].concat();
        std::fs::write(tree.path().join("dev/cpu/3/msr"), register).unwrap();
        let root = Root::captured(tree.path()).unwrap();
        assert_eq!((smi_count(&root, 3), smi_count(&root, 4)), (Some(9), None));
    }

    #[test]
    fn the_longest_ten_are_kept_in_order() {
        let mut longest = Longest::default();
        for ns in [5, 100, 7, 90, 8, 80, 9, 70, 10, 60, 11, 50] {
            longest.add(held(0, 1_000, 1_000 + ns));
        }
        assert!(longest.takes(9) && !longest.takes(8));
        let lengths: Vec<f64> = longest.named(None).iter().map(|gap| gap.ns).collect();
        assert_eq!(lengths, [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 11.0, 10.0, 9.0, 8.0]);
    }

    #[test]
    fn nobody_took_more_of_a_gap_than_it_lasted() {
        let mut longest = Longest::default();
        let task = Taker { ns: Some(12_900.0), ..Taker::new(TakerKind::Task) };
        longest.add(Held { counted: vec![task, Taker::new(TakerKind::Irq)], ..held(1, 1_000, 5_000) });
        let taken: Vec<Option<f64>> = longest.named(None)[0].takers.iter().map(|taker| taker.ns).collect();
        assert_eq!(taken, [Some(4_000.0), None]);
    }

    #[test]
    fn a_trace_names_what_counts_only_suspect() {
        let text = "x-1 [002] d.h. 0.000002: irq_handler_entry: irq=5 name=nvme0q1\n";
        let (events, own) = (TraceEvents::parse(text), HashSet::new());
        let mut longest = Longest::default();
        longest.add(held(2, 2_000, 9_000));
        let named = longest.clone().named(Some((&events, &own)));
        assert_eq!((named[0].witness, named[0].takers[0].kind), (Witness::Trace, TakerKind::Irq));
        assert_eq!(named[0].takers[0].ns, Some(7_000.0));
        assert_eq!(longest.named(None)[0].takers[0].kind, TakerKind::Task);
    }

    #[test]
    fn a_program_that_ran_on_this_cpu_is_found_by_its_run_time() {
        let cpu = os::current_cpu().unwrap();
        let spin = ["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"];
        let Ok(mut child) = std::process::Command::new("taskset").args(spin).spawn() else { return };
        let pid = child.id() as i32;
        let mut found = Vec::new();
        // Beside other work it may not get this CPU at once.
        let seen = (0..50).any(|_| {
            let mut times = RunTimes::new(cpu, Duration::from_nanos(1));
            std::thread::sleep(Duration::from_millis(200));
            found = times.grown();
            assert!(times.grown().is_empty(), "no time is left");
            found.iter().any(|taker| taker.pid == Some(pid) && taker.ns > Some(20e3))
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen, "{found:?}");
    }
}
