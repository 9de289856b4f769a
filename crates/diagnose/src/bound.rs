//! The bottleneck of a command, from the results of `linespeed stat` and the machine's ceilings. The first cause is the answer; each cause
//! includes the share of time that it explains.

mod convoy;
mod core;
pub(crate) mod machine;
mod probes;
mod sampled;
pub(crate) mod service;
mod threads;
mod time;

pub(crate) use machine::cut;
use record::command_run::{Around, Ceilings, Looks, Probe, ThreadWaits};
use record::diagnosis::{Bound, BoundBy, BoundKind, Evidence};
use record::live::Share;
use record::text::Value;
use record::{Label, Measurement, Template, Text, detail, metrics, text};

use crate::cpu_accounting::is_of_command;
use crate::figures::{Place, cite_fact};
use crate::record_index::RecordIndex;
use crate::tables::{rows, sentences, template};

/// Shorter commands mostly consist of process start and exit, and are not sampled.
const SHORT: f64 = 0.02;
/// The limit for commands without a sample: on a busy machine, the first sample is taken late.
const SHORT_UNSEEN: f64 = 0.1;
/// Minimum number of samples for a decision based on samples.
const ENOUGH_LOOKS: f64 = 20.0;
/// The share of CPU time that samples may miss because threads continue to run after their last sample.
const UNSEEN: f64 = 0.1;
/// A cause is not mentioned if it explains a smaller share of the time.
const WORTH: f64 = 0.1;
/// A cause does not count as the bottleneck if it explains a smaller share.
const FIRST: f64 = 0.25;
/// At least one CPU was free if less than this share of the command's CPUs was in use.
const ROOM: f64 = 0.8;
/// The sentences of verdicts on commands, and the remedies.
const WORDS: &str = include_str!("bound/words.txt");

/// The advice on a cause.
fn advice(key: &str) -> Text {
    let found = sentences(WORDS, "advice", key).first().copied();
    debug_assert!(found.is_some() || key.is_empty(), "no advice {key}");
    found.map_or_else(Text::default, Text::from)
}

/// The sentence of a verdict.
fn verdict(key: &str) -> Template {
    let found = sentences(WORDS, "verdicts", key).first().copied();
    debug_assert!(found.is_some(), "no verdict {key}");
    found.unwrap_or(Template::new("", ""))
}

/// The kind that JSON denotes by this word; memory levels use the same words.
fn kind(word: &str) -> BoundKind {
    word.parse().unwrap_or_else(|_| BoundKind::Other(word.to_owned()))
}

/// Above this share, a cause is mentioned after the main one.
const SECOND: f64 = 0.2;

/// The results of a command, read from a record.
struct Facts<'a> {
    index: &'a RecordIndex<'a>,
    time: &'a Measurement,
    wall: f64,
    user: f64,
    system: f64,
    runnable: f64,
    off_cpu: f64,
    cpus: f64,
    /// Name and CPU seconds of each sampled thread, the busiest first.
    threads: Vec<(String, f64)>,
}

/// A cause of lost or used time.
struct Cause {
    by: BoundBy,
    /// The kind of the cause.
    kind: Option<BoundKind>,
    /// Share of the command's time that the cause explains.
    share: f64,
    says: Text,
    advice: Text,
    evidence: Vec<Evidence>,
}

impl Cause {
    fn new(by: BoundBy, share: f64, says: Text, advice: &str) -> Self {
        Self { by, kind: None, share, says, advice: self::advice(advice), evidence: Vec::new() }
    }

    fn of_kind(self, kind: BoundKind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    fn cite(self, says: Text, from: impl Into<Place>) -> Self {
        self.cite_all([cite_fact(says, from)])
    }

    fn cite_all(mut self, more: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(more);
        self
    }

    fn cite_ipc(self, ipc: Option<&Measurement>) -> Self {
        self.cite_all(ipc.map(|ipc| cite_fact(text!("instructions per cycle: {value}", value = ipc), ipc)))
    }

    fn is_outside(&self) -> bool {
        matches!(self.by, BoundBy::Quota | BoundBy::Stolen | BoundBy::CpuContention)
    }
}

impl<'a> Facts<'a> {
    fn from_index(index: &'a RecordIndex<'a>) -> Option<Self> {
        let time = index.figures_of(metrics::WORKLOAD_TIME).find(is_of_command)?;
        let wall = time.value();
        if time.summary.n == 0 || !wall.is_finite() || wall <= 0.0 {
            return None;
        }
        let state = |name: &str| state(index, name).map_or(0.0, |m| m.value().max(0.0));
        let mut threads: Vec<(String, f64)> = index
            .figures_of(metrics::WORKLOAD_CPU_TIME)
            .filter(|m| m.labels.word(Label::State) == Some("on-cpu"))
            .filter_map(|m| Some((m.labels.word(Label::Thread)?.to_owned(), m.value())))
            .collect();
        threads.sort_by(|a, b| b.1.total_cmp(&a.1));
        let cpus = time.detail.get(detail::CPU_COUNT).unwrap_or(1.0).max(1.0);
        Some(Self {
            index,
            time,
            wall,
            user: state("user"),
            system: state("system"),
            runnable: state("runnable"),
            off_cpu: state("off-cpu"),
            cpus,
            threads,
        })
    }

    fn cpu(&self) -> f64 {
        self.user + self.system
    }

    /// Average number of CPUs in use.
    fn used(&self) -> f64 {
        self.cpu() / self.wall
    }

    /// The share of the command's time that it spent on a CPU.
    fn on_cpu(&self) -> f64 {
        (self.cpu() / self.wall).min(1.0)
    }

    /// Run-queue time of the command's threads, summed over threads, s. The kernel counts threads throttled by a quota as runnable, but a
    /// quota is a separate cause.
    fn without_a_cpu(&self) -> f64 {
        (self.runnable - self.around().throttled_seconds.unwrap_or(0.0).max(0.0)).max(0.0)
    }

    fn count(&self, event: &str) -> Option<&'a Measurement> {
        self.index.figures_of(metrics::COUNTER_COUNT).find(|m| {
            m.labels.word(Label::Workload) == Some("command") && m.labels.word(Label::Event) == Some(event)
        })
    }

    fn counted(&self, event: &str) -> Option<f64> {
        self.count(event).map(Measurement::value).filter(|value| value.is_finite())
    }

    fn share(&self, category: &str) -> Option<&Measurement> {
        self.index
            .figures_of(metrics::COUNTER_SHARE)
            .find(|m| m.labels.word(Label::Category) == Some(category))
    }

    fn ipc(&self) -> Option<&Measurement> {
        let counted = |m: &&Measurement| {
            m.labels.word(Label::Workload) == Some("command") && m.labels.word(Label::Source) == Some("pmu")
        };
        self.index.figures_of(metrics::CORE_IPC).find(counted)
    }

    /// Whether there are too few samples for a decision because unsampled threads used much of the command's CPU time.
    fn hardly_seen(&self) -> bool {
        let seen = self.time.detail.get(detail::THREADS_SEEN).map_or(f64::INFINITY, |seen| seen.seen_seconds);
        let looks = self.looks().all as f64;
        // If the unsampled threads hardly ran, they hardly waited for a CPU either.
        looks > 0.0 && looks < ENOUGH_LOOKS && self.cpu() - seen > UNSEEN * self.cpu().max(self.wall)
    }

    /// Whether the command exited before the first sample; false if the record does not show this.
    fn unseen(&self) -> bool {
        self.time.detail.get(detail::LOOKS).is_some_and(|looks| looks.all == 0)
    }

    fn around(&self) -> Around {
        self.time.detail.get(detail::AROUND).unwrap_or_default()
    }

    fn looks(&self) -> Looks {
        self.time.detail.get(detail::LOOKS).unwrap_or_default()
    }

    /// Why the command's threads waited, whether or not other threads ran at the same time.
    fn waits(&self) -> ThreadWaits {
        self.time.detail.get(detail::WAITS).unwrap_or_default()
    }

    /// The effects of changes in the command's environment.
    fn probes(&self) -> Vec<Probe> {
        self.time.detail.get(detail::PROBES).unwrap_or_default()
    }

    fn ceilings(&self) -> Ceilings {
        self.time.detail.get(detail::CEILINGS).unwrap_or_default()
    }

    /// The built-in workload with the IPC closest to `ipc`, and the highest IPC of all workloads.
    fn ipc_of_workloads(&self, ipc: f64) -> Option<(String, f64, String, f64)> {
        let ceilings = self.ceilings();
        let best = ceilings.best_ipc()?;
        let near =
            ceilings.programs_ipc().min_by(|a, b| distance(a.1, ipc).total_cmp(&distance(b.1, ipc)))?;
        Some((near.0.to_owned(), near.1, best.0.to_owned(), best.1))
    }
}

/// Characteristics of a program, not causes.
const SHAPES: [BoundBy; 2] = [BoundBy::OneThread, BoundBy::Imbalance];
/// Waits, and a lack of CPUs. All other causes limit a program on the CPUs that it uses.
const WAITS: [BoundBy; 3] = [BoundBy::Waiting, BoundBy::Lock, BoundBy::TooFewCpus];

fn distance(a: f64, b: f64) -> f64 {
    (a / b).ln().abs()
}

fn state<'a>(index: &'a RecordIndex<'a>, name: &str) -> Option<&'a Measurement> {
    index.figures_of(metrics::WORKLOAD_CPU_TIME).find(|m| {
        m.labels.word(Label::Workload) == Some("command")
            && m.labels.word(Label::State) == Some(name)
            && m.labels.get(Label::Thread).is_none()
    })
}

/// The bottleneck of a record's command; `None` without a command.
pub fn bound(index: &RecordIndex) -> Option<Bound> {
    let facts = Facts::from_index(index)?;
    let mut evidence = base_evidence(&facts);
    if facts.wall < SHORT || (facts.unseen() && facts.wall < SHORT_UNSEEN) {
        return Some(Bound {
            by: BoundBy::Unknown,
            kind: None,
            says: text!(TOO_SHORT, wall = Value::Figure(facts.wall, "s")),
            evidence,
            advice: vec![advice("longer")],
        });
    }
    let rules: [fn(&Facts) -> Option<Cause>; 16] = [
        time::quota,
        time::stolen_from,
        time::waiting,
        time::contention,
        time::kernel,
        threads::lock,
        threads::stuck,
        threads::one_thread,
        threads::imbalance,
        core::bandwidth,
        core::latency,
        core::front_end,
        core::branches,
        probes::memory,
        probes::cache,
        probes::own_threads,
    ];
    let mut causes: Vec<Cause> = rules.iter().filter_map(|rule| rule(&facts)).collect();
    sampled::add(&mut causes, &facts, facts.user / facts.cpu().max(1e-9) * facts.on_cpu());
    // Threads contending for one lock run one at a time, so more CPUs do not help. Contention also uses kernel time, so kernel time is
    // not reported as a separate cause unless samples show other kernel work.
    if causes.iter().any(|cause| cause.by == BoundBy::Lock && cause.share >= SECOND) {
        let at_locks = time::of_locks(&facts) >= FIRST;
        causes.retain(|cause| cause.by != BoundBy::TooFewCpus && !(at_locks && cause.by == BoundBy::Kernel));
    }
    // The kernel counts threads throttled by a quota as runnable, but this count is inexact. If a CPU was free, the quota is the only cause
    // of their run-queue time.
    let has_room = time::used_by_others(&facts).is_some_and(|other| other + facts.used() < ROOM * facts.cpus);
    if has_room && causes.iter().any(|cause| cause.by == BoundBy::Quota && cause.share >= SECOND) {
        causes.retain(|cause| ![BoundBy::CpuContention, BoundBy::TooFewCpus].contains(&cause.by));
    }
    // With more CPUs, threads would contend even more for shared cache lines. If threads also wait repeatedly for a lock, the kernel time
    // is due to the same contention.
    if causes.iter().any(|cause| cause.by == BoundBy::OwnThreads && cause.share >= SECOND) {
        let at_locks = facts.waits().get("lock").is_some_and(|waits| waits.again > 0);
        causes.retain(|cause| cause.by != BoundBy::TooFewCpus && !(at_locks && cause.by == BoundBy::Kernel));
    }
    // While threads are stuck, another thread's sleep delays nothing.
    if causes.iter().any(|cause| cause.by == BoundBy::Lock && cause.share >= 1.0) {
        causes.retain(|cause| cause.by != BoundBy::Waiting);
    }
    // The shares of the command's own causes are relative to the time during which it had its CPUs.
    let outside = causes.iter().filter(|c| c.is_outside()).map(|c| c.share).fold(0.0, f64::max);
    let own = |cause: &Cause| match cause.is_outside() || cause.by == BoundBy::Waiting {
        true => cause.share,
        false => (cause.share / (1.0 - outside).max(SECOND)).min(1.0),
    };
    causes.retain(|cause| own(cause) >= WORTH);
    causes.sort_by(|a, b| b.share.total_cmp(&a.share));
    // Because of an outside limit, a command uses fewer CPUs than it needs, but the limit does not explain the command's own waits.
    if let Some(at) = causes.iter().position(|cause| cause.is_outside() && cause.share >= FIRST)
        && causes[..at].iter().all(|cause| ![BoundBy::Waiting, BoundBy::Lock].contains(&cause.by))
    {
        causes[..=at].rotate_right(1);
    }
    // A cause that slows down the running threads is reported before the fact that there is only one thread, or that work is uneven. Kernel
    // time without a known purpose does not count as such a cause.
    let is_known = |cause: &Cause| cause.by != BoundBy::Kernel || cause.kind.is_some();
    let is_inside =
        |cause: &Cause| !cause.is_outside() && !SHAPES.contains(&cause.by) && !WAITS.contains(&cause.by);
    let is_cause = |cause: &Cause| own(cause) >= FIRST && is_inside(cause) && is_known(cause);
    let is_explained = causes.iter().any(is_cause);
    if causes.first().is_some_and(|first| SHAPES.contains(&first.by))
        && let Some(at) = causes.iter().position(is_cause)
    {
        causes[..=at].rotate_right(1);
    }
    let compute = core::compute(&facts);
    // A cause that explains only a small share of the time is mentioned after the description of the rest.
    if causes.first().is_none_or(|first| first.share < FIRST) {
        causes.insert(0, compute);
    }
    if let Some((_, others)) = causes.split_first_mut() {
        let held = |cause: &Cause| cause.is_outside() && cause.share >= SECOND;
        let late = |cause: &Cause| is_explained && SHAPES.contains(&cause.by);
        others.sort_by(|a, b| {
            held(b).cmp(&held(a)).then(late(a).cmp(&late(b))).then(own(b).total_cmp(&own(a)))
        });
    }
    // Samples may find a cause that probes cannot: a load that waits for memory hardly needs bandwidth.
    let of_memory = [BoundBy::MemoryLatency, BoundBy::MemoryBandwidth, BoundBy::Cache];
    let needs_memory = causes.iter().any(|cause| of_memory.contains(&cause.by));
    // Outside causes are followed by the command's own causes.
    let others = causes.iter().take_while(|cause| cause.is_outside()).count();
    let mut causes = causes.into_iter();
    let mut first = causes.next()?;
    // The cause is unknown if most of the time is spent on loads of an unknown level, unless processes or threads run one at a time.
    let is_one = first.by == BoundBy::OneThread && threads::only(&facts).is_some();
    let computes = first.by == BoundBy::Cpu || is_one;
    // Threads that exited unsampled may have been in the run queue all the time that they were off-CPU.
    let is_unsampled = first.by == BoundBy::Waiting && facts.hardly_seen();
    let is_unknown = computes && core::is_hidden(&facts) || is_unsampled;
    first.by = if is_unknown { BoundBy::Unknown } else { first.by };
    let is_shown = |cause: &Cause| own(cause) >= SECOND || cause.is_outside();
    let mut besides: Vec<Cause> = causes.take(others.clamp(1, 2)).filter(is_shown).collect();
    if others > besides.len() {
        besides.extend(core::known(&facts).map(|says| Cause::new(BoundBy::Cpu, 1.0, says, "profile")));
    }
    let answer = answer(first, besides, probes::without_need(&facts).filter(|_| !needs_memory));
    evidence.extend(answer.evidence);
    Some(Bound { evidence, ..answer })
}

/// Combines the first cause, further causes, and a final remark.
fn answer(first: Cause, besides: impl IntoIterator<Item = Cause>, more: Option<Text>) -> Bound {
    let Cause { by, kind, mut says, advice, mut evidence, .. } = first;
    let mut advice = vec![advice];
    for second in besides {
        says.push(BESIDES);
        says.push(second.says);
        advice.push(second.advice);
        evidence.extend(second.evidence);
    }
    more.into_iter().for_each(|more| says.push(more));
    Bound { by, kind, says, evidence, advice }
}

const TOO_SHORT: Template = Template::new(
    "bound-too-short",
    "Took {wall}: too short for a verdict, because this time includes fork, exec and wait.",
);
/// The introduction of the second cause.
const BESIDES: Template = Template::new("bound-besides", "In addition:");

/// The evidence that every answer includes.
fn base_evidence(facts: &Facts) -> Vec<Evidence> {
    let took = text!("took {value}", value = facts.time);
    let mut all = vec![cite_fact(took, facts.time)];
    for row in rows(WORDS, "states") {
        let [name, says] = row.as_slice() else { continue };
        let says = template(says);
        let cite = |m: &Measurement| cite_fact(text!(says, value = m), m);
        all.extend(state(facts.index, name).map(cite));
    }
    all
}

/// The path of a detail of the command in the record.
fn detail(name: &str) -> String {
    format!("workload.time workload=command, detail {name}")
}

/// Formats a share as an integer percentage with its interval; if the count is zero, only the upper limit is shown.
fn share(share: Share) -> Text {
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    if share.count == 0 || share.share < 0.005 {
        let most = (share.high * 100.0).ceil();
        return text!("< {most} %", most = format!("{most:.0}"));
    }
    text!(
        "{share} % [{low}–{high}]",
        share = percent(share.share),
        low = percent(share.low),
        high = percent(share.high)
    )
}

#[cfg(test)]
mod tests;
