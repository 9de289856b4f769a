//! Details on how a result was measured: one list of all details, each with its meaning and type.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonSchema;
use crate::command_run::{Around, Ceilings, Looks, Probe, RunEnd, ThreadWaits, ThreadsSeen, Waiting};
use crate::live::Sampled;

/// Details of a measurement, by name. Other versions may have different details.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Detail(BTreeMap<String, Value>);

/// The name of a detail, together with the type of its value.
#[derive(Debug)]
pub struct DetailKey<T: ?Sized> {
    name: &'static str,
    value: PhantomData<fn() -> Box<T>>,
}

impl<T: ?Sized> Clone for DetailKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for DetailKey<T> {}

impl<T: ?Sized> DetailKey<T> {
    const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }

    /// The detail's name in records.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// A type that the value of a detail can have.
pub trait DetailValue {
    /// The type that is returned when the detail is read.
    type Read<'a>;

    /// The value, if it has this type.
    fn read(value: &Value) -> Option<Self::Read<'_>>;
}

impl DetailValue for str {
    type Read<'a> = &'a str;

    fn read(value: &Value) -> Option<&str> {
        value.as_str()
    }
}

impl DetailValue for u64 {
    type Read<'a> = u64;

    fn read(value: &Value) -> Option<u64> {
        value
            .as_u64()
            .or_else(|| f64::read(value).filter(|number| *number >= 0.0).map(|number| number as u64))
    }
}

impl DetailValue for Value {
    type Read<'a> = &'a Value;

    fn read(value: &Value) -> Option<&Value> {
        Some(value)
    }
}

macro_rules! read_by_serde {
    ($($type:ty),+) => {
        $(impl DetailValue for $type {
            type Read<'a> = $type;

            fn read(value: &Value) -> Option<Self> {
                <$type>::deserialize(value).ok()
            }
        })+
    };
}
read_by_serde!(
    f64,
    bool,
    Looks,
    ThreadWaits,
    ThreadsSeen,
    Sampled,
    Around,
    Ceilings,
    Waiting,
    [f64; 2],
    Vec<RunEnd>,
    Vec<Probe>,
    Vec<String>
);

impl Detail {
    /// The value of a detail; `None` if it is missing or has another type.
    pub fn get<T: DetailValue + ?Sized>(&self, key: DetailKey<T>) -> Option<T::Read<'_>> {
        T::read(self.0.get(key.name)?)
    }

    /// Whether there is a detail with this key, of any type.
    pub fn has<T: ?Sized>(&self, key: DetailKey<T>) -> bool {
        self.has_name(key.name)
    }

    /// Whether there is a detail with this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets a detail.
    pub fn set<T: ?Sized>(&mut self, key: DetailKey<T>, value: impl Into<Value>) {
        self.set_named(key.name, value);
    }

    /// Sets a detail with several parts.
    pub fn set_parts<T: Serialize>(&mut self, key: DetailKey<T>, value: &T) {
        self.set(key, serde_json::to_value(value).unwrap_or_default());
    }

    /// Sets a detail under a name from another tool.
    pub fn set_named(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// Whether there are no details.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps only details whose names `keep` accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|name, _| keep(name));
    }
}

impl FromIterator<(String, Value)> for Detail {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

macro_rules! details {
    ($($(#[doc = $meaning:literal])+ $key:ident: $type:ty = $name:literal;)+) => {
        $($(#[doc = $meaning])+ pub const $key: DetailKey<$type> = DetailKey::new($name);)+
    };
}

details! {
    /// How Intel MLC accessed memory: `random`.
    ACCESS: str = "access";
    /// The last wake-up latency, which cyclictest prints as `Act`, ns.
    ACT_NS: f64 = "act_ns";
    /// Throughput of the cores without their SMT siblings, work/s.
    ALONE: f64 = "alone";
    /// The bandwidth that the CPUs would reach without other processes, computed from the CPU time that they received,
    /// B/s.
    ALONE_BYTES_PER_SECOND: f64 = "alone_bytes_per_second";
    /// What happened on the entire machine while a command ran.
    AROUND: Around = "around";
    /// The size of one array of a loop, bytes.
    ARRAY_BYTES: u64 = "array_bytes";
    /// Number of arrays that a loop uses.
    ARRAYS: u64 = "arrays";
    /// The attached processes that exited during the observation.
    ATTACHED_ENDED: str = "attached_ended";
    /// The running processes that linespeed attached to, or that perf counted.
    ATTACHED_TO: str = "attached_to";
    /// STREAM's average time of a pass, s.
    AVERAGE_SECONDS: f64 = "average_seconds";
    /// The CPUs that a command was bound to.
    BOUND_TO: str = "bound_to";
    /// Size of the working set, bytes.
    BYTES: u64 = "bytes";
    /// The share of stored lines that the caches do not read first, determined by comparison with copies that use
    /// streaming stores.
    BY_COPY: f64 = "by_copy";
    /// The upper end of the 95 % CI of `by_copy`.
    BY_COPY_HIGH: f64 = "by_copy_high";
    /// The lower end of the 95 % CI of `by_copy`.
    BY_COPY_LOW: f64 = "by_copy_low";
    /// The source of block sizes that a tool does not print.
    BYTES_FROM: str = "bytes_from";
    /// The best earlier results of this machine.
    CEILINGS: Ceilings = "ceilings";
    /// Relative difference between the clocks measured with two instruction chains.
    CHAINS_DIFFER: f64 = "chains_differ";
    /// The topology class of a pair of CPUs: `same L2`.
    CLASS: str = "class";
    /// The time that a rate is based on: `elapsed`.
    CLOCK: str = "clock";
    /// The core clock measured together with the result, Hz.
    CLOCK_HZ: f64 = "clock_hz";
    /// How `clock_hz` was determined: `counted`, `measured`.
    CLOCK_SOURCE: str = "clock_source";
    /// The command as typed, word by word.
    COMMAND: Vec<String> = "command";
    /// Share of the time during which a counter was active.
    COVERAGE: f64 = "coverage";
    /// The requesting CPU.
    CPU: u64 = "cpu";
    /// The active CPUs, or their number.
    CPUS: str = "cpus";
    /// The number of CPUs that a command could use.
    CPU_COUNT: f64 = "cpus";
    /// CRC of the routine's bytes, hexadecimal.
    CRC32: str = "crc32";
    /// Number of wake-ups or of test cycles on which the result is based.
    CYCLES: u64 = "cycles";
    /// The number of executed instructions, as declared by the loops.
    DECLARED: f64 = "declared";
    /// The delay between requests that Intel MLC used.
    DELAY: u64 = "delay";
    /// The distance between two nodes in the firmware's table.
    DISTANCE: u64 = "distance";
    /// The value requested from `/dev/cpu_dma_latency`, µs.
    DMA_LATENCY_US: u64 = "dma_latency_us";
    /// How each run of a command ended.
    ENDS: Vec<RunEnd> = "ends";
    /// The number of events that sysbench reports.
    EVENTS: f64 = "events";
    /// Whether cache lines were evicted with a special instruction.
    EVICTED: bool = "evicted";
    /// The rate of the fastest copy divided by that of the slowest one: the median over the rounds.
    FASTEST_TO_SLOWEST: f64 = "fastest_to_slowest";
    /// Whether each copy runs for a fixed time, which makes a speed-up meaningless.
    FIXED_TIME: bool = "fixed_time";
    /// The place from which a number was read, if a tool prints the number twice.
    FROM: str = "from";
    /// Number of gaps.
    GAPS: u64 = "gaps";
    /// The result from the odd samples and that from the even samples, if the samples are saved as a distribution.
    HALVES: [f64; 2] = "halves";
    /// Loads per sample.
    HOPS_PER_SAMPLE: u64 = "hops_per_sample";
    /// The way in which copies were run.
    HOW: str = "how";
    /// Share of the memory on huge pages.
    HUGE_SHARE: f64 = "huge_share";
    /// Latency without load, ns.
    IDLE_NS: f64 = "idle_ns";
    /// Number of instructions that a ratio is based on.
    INSTRUCTIONS: f64 = "instructions";
    /// Interrupts per second on the CPU that runs the routine.
    INTERRUPTS_PER_S: f64 = "interrupts_per_s";
    /// Time between wake-ups, µs.
    INTERVAL_US: u64 = "interval_us";
    /// Number of perf intervals added up.
    INTERVALS: u64 = "intervals";
    /// Involuntary switches to another task per second.
    INVOLUNTARY_SWITCHES_PER_S: f64 = "involuntary_switches_per_s";
    /// The timed loop.
    KERNEL: str = "kernel";
    /// The load at which latency begins to rise, B/s.
    KNEE_BYTES_PER_SECOND: f64 = "knee_bytes_per_second";
    /// The kind of KVM that ran the guest: `hardware`, `nested`, `pvm`, `emulating`.
    KVM: str = "kvm";
    /// The minimum of several runs, in the result's unit.
    LEAST: f64 = "least";
    /// Processes that a command left behind, by name.
    LEFT_BEHIND: Vec<String> = "left_behind";
    /// Cache lines per sample.
    LINES_PER_SAMPLE: u64 = "lines_per_sample";
    /// The work that generated the memory load.
    LOAD: str = "load";
    /// The load average, as printed by cyclictest.
    LOADAVG: str = "loadavg";
    /// The CPUs that generated the memory load.
    LOADERS: str = "loaders";
    /// How many samples of a command's threads were taken, and what they showed.
    LOOKS: Looks = "looks";
    /// An upper bound on a command's peak resident set size, bytes.
    MAX_RSS_BELOW_BYTES: u64 = "max_rss_below_bytes";
    /// A command's peak resident set size, bytes.
    MAX_RSS_BYTES: u64 = "max_rss_bytes";
    /// How a clock was measured.
    METHOD: str = "method";
    /// Migrations per second.
    MIGRATIONS_PER_S: f64 = "migrations_per_s";
    /// Wake-ups omitted because the thread was late.
    MISSED: u64 = "missed";
    /// `user` if the counter was only active in user mode.
    MODE: str = "mode";
    /// The maximum of several runs, in the result's unit.
    MOST: f64 = "most";
    /// The clock measured with a chain of multiplies, Hz.
    MULTIPLY_CHAIN_HZ: f64 = "multiply_chain_hz";
    /// Cycles per multiply.
    MULTIPLY_CYCLES: u64 = "multiply_cycles";
    /// The source's note on a published result.
    NOTE: str = "note";
    /// Latency at 80 % of the peak load, ns.
    NS_AT_80_PERCENT_OF_PEAK: f64 = "ns_at_80_percent_of_peak";
    /// Latency at half of the peak load, ns.
    NS_AT_HALF_OF_PEAK: f64 = "ns_at_half_of_peak";
    /// Whether the kernel's NUMA balancing was on.
    NUMA_BALANCING: bool = "numa_balancing";
    /// Share of the pages verified to be on the node.
    ON_NODE: f64 = "on_node";
    /// Number of wake-ups beyond the range of cyclictest's histogram.
    OVERFLOW: u64 = "overflow";
    /// Page size: `4KiB`.
    PAGE: str = "page";
    /// The routine's offset in its page.
    PAGE_OFFSET: u64 = "page_offset";
    /// Number of pages whose location was verified.
    PAGES: u64 = "pages";
    /// Number of pairs of runs that were cut short by an interruption.
    PAIRS_CUT_BY_INTERRUPTION: u64 = "pairs_cut_by_interruption";
    /// How the memory's placement was verified.
    PLACEMENT: str = "placement";
    /// Cycles of each slice of a pass.
    PORTIONS: Value = "portions";
    /// Slices in a pass.
    PORTIONS_PER_PASS: u64 = "portions_per_pass";
    /// The real-time priority of a thread.
    PRIORITY: u64 = "priority";
    /// Primes that the routine found.
    PRIMES: u64 = "primes";
    /// Number of processes that a tool ran.
    PROCESSES: u64 = "processes";
    /// Where a result was published.
    PUBLISHED_IN: str = "published_in";
    /// The effects of changed conditions on the command.
    PROBES: Vec<Probe> = "probes";
    /// A counter's value before it was scaled up to the full time.
    RAW: u64 = "raw";
    /// Resolution of cyclictest's output, ns.
    RESOLUTION_NS: f64 = "resolution_ns";
    /// Number of times that a cache line was handed over, per sample.
    ROUNDS_PER_SAMPLE: u64 = "rounds_per_sample";
    /// Number of runs that perf averaged.
    RUNS: u64 = "runs";
    /// The program that did the work, with the version that it prints: `sysbench 1.0.20`.
    PROGRAM: str = "program";
    /// The wrapper of a command: `taskset -c 0`.
    RUN_UNDER: str = "run_under";
    /// Requested number of runs.
    RUNS_ASKED: u64 = "runs_asked";
    /// What the sampling in user mode showed.
    SAMPLED: Sampled = "sampled";
    /// Time of a pass, s.
    SECONDS: f64 = "seconds";
    /// Median latency of each set of pages, ns.
    SETS_OF_PAGES: Value = "sets_of_pages";
    /// The settings of a recipe: `exponent=30000`.
    SETTINGS: Vec<String> = "settings";
    /// The result as a share of the total observed time.
    SHARE_OF_ALL: f64 = "share_of_all";
    /// Softirqs per second on the CPU that runs the routine.
    SOFTIRQS_PER_S: f64 = "softirqs_per_s";
    /// Source of a count: `rusage`, `sched`, `pmu`.
    SOURCE: str = "source";
    /// The standard deviation of several runs, in the result's unit.
    STANDARD_DEVIATION: f64 = "standard_deviation";
    /// perf's standard error, as a share.
    STANDARD_ERROR: f64 = "standard_error";
    /// The ratio as perf prints it.
    STATED: f64 = "stated";
    /// Steal time as a share of the elapsed time.
    STOLEN_SHARE: f64 = "stolen_share";
    /// The groups of CPUs over which counts were summed.
    SUM_OF: str = "sum_of";
    /// Share of CPU time that other processes used on a group of CPUs.
    TAKEN_BY_OTHERS: f64 = "taken_by_others";
    /// The upper end of the 95 % CI of `taken_by_others`.
    TAKEN_BY_OTHERS_HIGH: f64 = "taken_by_others_high";
    /// The lower end of the 95 % CI of `taken_by_others`.
    TAKEN_BY_OTHERS_LOW: f64 = "taken_by_others_low";
    /// Number of rounds on which `taken_by_others` is based.
    TAKEN_BY_OTHERS_ROUNDS: u64 = "taken_by_others_rounds";
    /// The TID of a measuring thread, or the number that cyclictest gave it.
    THREAD: u64 = "thread";
    /// Number of threads of a command or a tool.
    THREADS: u64 = "threads";
    /// The threads of a command: their maximum number at one time, and the number and the CPU time of the observed threads.
    THREADS_SEEN: ThreadsSeen = "threads";
    /// The shortest gap that counts, ns.
    THRESHOLD_NS: f64 = "threshold_ns";
    /// The timer slack of the measuring thread, ns.
    TIMER_SLACK_NS: f64 = "timer_slack_ns";
    /// Throughput of the same cores with their siblings, work/s.
    TOGETHER: f64 = "together";
    /// The kind of load that Intel MLC generated.
    TRAFFIC: str = "traffic";
    /// The number of the command among several alternating commands, starting at 1. The others are compared with the
    /// first one.
    TURN: u64 = "turn";
    /// The unit that perf prints.
    UNIT: str = "unit";
    /// Vector width of the loop.
    VECTORS: str = "vectors";
    /// The version of the tool.
    VERSION: str = "version";
    /// Voluntary switches to another task per second, caused by waiting.
    VOLUNTARY_SWITCHES_PER_S: f64 = "voluntary_switches_per_s";
    /// The causes that blocked a command while none of its threads ran, and the number of samples with each cause.
    WAITING: Waiting = "waiting";
    /// The reasons why threads of a command waited, whether or not other threads ran.
    WAITS: ThreadWaits = "waits";
    /// Observed time, s.
    WATCHED_SECONDS: f64 = "watched_seconds";
    /// The boundary within which a result was measured: `package`.
    WITHIN: str = "within";
    /// The meaning of one unit of a workload's work.
    WORK: str = "work";
    /// The command that another tool measured.
    WORKLOAD: str = "workload";
    /// Time to write and read a byte of a pipe within one thread, ns.
    WRITE_AND_READ_NS: f64 = "write_and_read_ns";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_its_type_or_not_at_all() {
        let mut detail = Detail::default();
        detail.set(CYCLES, 7);
        detail.set(WORK, "primes");
        detail.set(ON_NODE, "all");
        assert_eq!(
            (detail.get(CYCLES), detail.get(WORK), detail.get(ON_NODE)),
            (Some(7), Some("primes"), None)
        );
        assert!(detail.has(ON_NODE) && !detail.has(PAGES));
        detail.set(CYCLES, 299_848.0);
        assert_eq!(detail.get(CYCLES), Some(299_848));
        detail.set(CYCLES, -1.0);
        assert_eq!(detail.get(CYCLES), None);
    }
}
