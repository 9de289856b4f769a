//! A saved recording: the bottleneck of each stretch, curves, processes that used the CPUs, and the waits of a service's threads.

use std::collections::BTreeSet;

use diagnose::{Reference, Stretch};
use record::diagnosis::BoundBy;
use record::live::{Interval, Service};
use record::text::Value;
use record::watch::Moment;
use record::{Record, Text, Watch, date, text, units};

use super::block::{Block, Item, Part};
use super::command::{describe_below, listed_states, whole_states};
use super::conditions::duration;
use crate::chart::{Axis, Band, Chart, Look, SUBJECTS, Scale, Series};
use crate::table::Table;
use crate::text::{capitalized, cut};

/// Maximum number of processes and threads shown, and the width of their names.
const MOST_SHOWN: usize = 10;
const NAME: usize = 24;
/// Items with less than this share of the time are omitted.
const WORTH: f64 = 0.01;
/// Maximum number of nodes with a separate line each.
const NODES: usize = 4;

/// The bottlenecks of an entire recording in one sentence: each verdict's share of the time, largest first.
pub(crate) fn summary(watch: &Watch) -> String {
    let all = watch.judged_seconds().max(1e-9);
    let shares: Vec<String> = watch
        .verdicts
        .iter()
        // Shares that round to 0 % are not shown; the record contains them.
        .filter(|held| held.seconds / all >= 0.005)
        .map(|held| format!("{} {:.0} %", held.by.name(), held.seconds / all * 100.0))
        .collect();
    let below = describe_below(services(watch).map(|service| service.below).max().unwrap_or(0));
    let of = if watch.of.is_empty() { String::new() } else { format!("{}{below} for ", watch.of) };
    let bound = match shares.as_slice() {
        [] => "The kernel reports too little to determine the bottleneck.".to_owned(),
        shares => format!("Bound by: {}.", shares.join(", ")),
    };
    let ended = ended(watch).map(|ended| format!("{ended} ")).unwrap_or_default();
    format!("Observed {of}{}. {ended}{bound}", duration(watch.seconds()))
}

/// The recorded data of the selected processes.
fn services(watch: &Watch) -> impl Iterator<Item = &Service> {
    watch.moments.iter().filter_map(|moment| moment.interval.service.as_ref())
}

/// The time at which a recording ends, in seconds after its start.
fn end(watch: &Watch) -> f64 {
    watch.moments.last().map_or(0.0, |last| last.at + last.interval.seconds)
}

/// A note that the observed processes have exited, with the time until their exit.
pub(crate) fn ended(watch: &Watch) -> Option<Text> {
    let seconds = services(watch).map(|service| service.seconds).sum();
    let after = Value::Rounded(Box::new(Value::Figure(seconds, "s")), 2);
    match services(watch).map(|service| service.ended).max().unwrap_or(0) {
        0 => None,
        1 => Some(text!("The process exited after {after}.", after)),
        _ => Some(text!("All processes exited after {after}.", after)),
    }
}

/// The time of day (UTC) `at` seconds after the record's start, with the date if the recording spans several days.
fn clock(record: &Record, watch: &Watch, at: f64) -> String {
    let time = |at: f64| date::later(&record.started, at);
    let (Some(then), Some(first), Some(last)) = (time(at), time(0.0), time(end(watch))) else {
        return duration(at);
    };
    let (day, hours) = (then.get(5..10).unwrap_or_default(), then.get(11..19).unwrap_or_default());
    if first.get(..10) == last.get(..10) { hours.to_owned() } else { format!("{day} {hours}") }
}

/// The stretches, each with its times, its bottleneck, the sentence for one of its intervals, and the process that used the most CPU time.
fn describe_stretches(record: &Record, watch: &Watch, stretches: &[Stretch]) -> Vec<Item> {
    let tell = |stretch: &Stretch| {
        let interval = &stretch.all.interval;
        let said = stretch.all.said.as_ref();
        let said = said.map(|said| format!("{}: {}", clock(record, watch, said.at), said.says));
        let busiest = interval.processes.first().map(|one| {
            let seconds = interval.processes_seconds.unwrap_or(interval.seconds).max(1e-9);
            let share = percent(one.cpu / seconds);
            format!("Most CPU time: {} (pid {}), {share} of a CPU", cut(&one.name, NAME), one.pid)
        });
        Item {
            heads: vec![describe_stretch(record, watch, stretch)],
            below: said.into_iter().collect(),
            more: busiest.into_iter().collect(),
        }
    };
    stretches.iter().map(tell).collect()
}

/// A stretch's start and end, and its bottleneck, with the bottleneck's share of the duration.
fn describe_stretch(record: &Record, watch: &Watch, stretch: &Stretch) -> String {
    let (from, to) = (clock(record, watch, stretch.all.at), clock(record, watch, stretch.to));
    let bound = stretch.held().map(|(by, share)| format!("{}, {} of", by.name(), percent(share)));
    let bound = capitalized(&bound.unwrap_or_else(|| "bottleneck unknown for".to_owned()));
    format!("{from} to {to} UTC: {bound} {}", duration(stretch.to - stretch.all.at))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Lines over time.
struct Lines<'a> {
    watch: &'a Watch,
    x: Axis,
    /// The start of the recording on the axis, and the axis unit in seconds.
    start: f64,
    unit: f64,
    bands: Vec<Band>,
}

impl<'a> Lines<'a> {
    /// Lines over the time of day, with the verdict of each stretch in the background; if the time of day is unknown, lines over the time
    /// since the start.
    fn new(record: &Record, watch: &'a Watch, stretches: &[Stretch]) -> Self {
        let Some(start) = date::seconds(&record.started) else { return Self::since_start(watch) };
        let start = start as f64;
        let band = |stretch: &Stretch| {
            let (by, _) = stretch.held().filter(|(by, _)| **by != BoundBy::Idle)?;
            let says = describe_stretch(record, watch, stretch);
            let ends = (start + stretch.all.at, start + stretch.to);
            Some(Band { ends, name: by.name().to_string(), says })
        };
        let bands = stretches.iter().filter_map(band).collect();
        Self { watch, x: Axis::time((start, start + end(watch))), start, unit: 1.0, bands }
    }

    /// Lines over the time since the start, for comparing several recordings.
    fn since_start(watch: &'a Watch) -> Self {
        let (name, unit) = match end(watch) {
            ..300.0 => ("s", 1.0),
            ..10_800.0 => ("min", 60.0),
            _ => ("h", 3600.0),
        };
        let x = Axis::new("time since start", Scale::FromZero, name);
        Self { watch, x, start: 0.0, unit, bands: Vec::new() }
    }

    fn line(&self, name: impl Into<String>, of: impl Fn(&Interval) -> Option<f64>) -> Series {
        let middle = |moment: &Moment| self.start + (moment.at + moment.interval.seconds / 2.0) / self.unit;
        let point = |moment: &Moment| Some((middle(moment), of(&moment.interval)?));
        Series::line(name.into(), self.watch.moments.iter().filter_map(point).collect())
    }

    /// A horizontal reference line for the other lines.
    fn reference(&self, name: &str, value: f64) -> Series {
        self.line(name, |_| Some(value)).with_look(Look::Reference)
    }

    fn chart(&self, title: &str, y: Axis, series: Vec<Series>) -> Option<Chart> {
        let chart = Chart::of_lines(title, self.x.clone(), y, series)?;
        Some(Chart { bands: self.bands.clone(), ..chart })
    }
}

/// The lines that have a non-negligible value at some moment.
fn worth<Of: Fn(&Interval) -> Option<f64>>(
    lines: &Lines,
    all: impl IntoIterator<Item = (&'static str, Of)>,
) -> Vec<Series> {
    let drawn = all.into_iter().map(|(name, of)| lines.line(name, of));
    drawn.filter(|line| line.points.iter().any(|(_, share)| *share >= WORTH)).collect()
}

/// The reference values for a recording's verdicts: the ceilings, and the memory latency without load.
fn reference(watch: &Watch) -> Reference {
    Reference { ceilings: watch.ceilings.clone(), calibrated_ns: watch.calibrated_ns }
}

/// The memory latency of the slowest node according to the probe, ns.
pub(crate) fn highest_latency(interval: &Interval) -> Option<f64> {
    interval.probe.as_ref()?.slowest().map(|(_, ns)| ns)
}

/// The clock measured by the probe with dependent additions.
pub(crate) fn probed_clock(interval: &Interval) -> Option<f64> {
    interval.probe.as_ref()?.clock_hz
}

/// Run-queue delay of all threads, in seconds per second.
fn delay(interval: &Interval) -> Option<f64> {
    interval.run_queue_delay.map(|delay| delay / interval.seconds.max(1e-9))
}

/// A curve: its name, and the function that returns its value for an interval.
type Curve = (&'static str, fn(&Interval) -> Option<f64>);
const TIMES: [Curve; 5] = [
    ("user", |i| Some(i.times.share(i.times.user))),
    ("kernel", |i| Some(i.times.share(i.times.kernel()))),
    ("steal", |i| Some(i.times.share(i.times.steal))),
    ("iowait", |i| Some(i.times.share(i.times.iowait))),
    ("idle", |i| Some(i.times.share(i.times.idle))),
];
const PRESSURE: [Curve; 3] = [
    ("cpu", |i| i.pressure.get("cpu").copied()),
    ("io", |i| i.pressure.get("io").copied()),
    ("memory", |i| i.pressure.get("memory").copied()),
];

fn from_zero(label: &str, unit: &'static str) -> Axis {
    Axis::new(label, Scale::FromZero, unit)
}

fn latency_axis() -> Axis {
    Axis::new("load latency", Scale::Linear, "ns")
}

fn clock_axis() -> Axis {
    Axis::new("clock", Scale::Linear, "Hz")
}

/// The curves: CPU times, the service's threads, memory, the clock, pressure, the run queue.
fn charts(lines: &Lines) -> Vec<Chart> {
    let watch = lines.watch;
    let has_blocked = services(watch).any(|service| service.states.contains_key("blocked"));
    let states = whole_states(has_blocked).map(|(state, words, _)| {
        let of = move |i: &Interval| {
            let service = i.service.as_ref()?;
            Some(service.states.get(state)? / service.seconds.max(1e-9))
        };
        (words.split(',').next().unwrap_or(words), of)
    });
    let probes = watch.moments.iter().filter_map(|moment| moment.interval.probe.as_ref());
    let nodes: BTreeSet<u32> = probes.flat_map(|probe| probe.latency_ns.keys().copied()).collect();
    let of_node =
        |node: &u32| lines.line(format!("node {node}"), |i| i.probe.as_ref()?.latency_ns.get(node).copied());
    let mut memory: Vec<Series> = match nodes.len() {
        2..=NODES => nodes.iter().map(of_node).collect(),
        0 | 1 => vec![lines.line("load latency", highest_latency)],
        _ => vec![lines.line("the slowest node", highest_latency)],
    };
    let reference = reference(watch);
    memory.extend(reference.idle_ns().map(|ns| lines.reference("without load", ns)));
    let mut clock = vec![lines.line("dependent adds", probed_clock)];
    clock.extend(reference.ceilings.clock_hz.map(|hz| lines.reference("best", hz)));
    clock.extend(reference.ceilings.clock_all_hz.map(|hz| lines.reference("best, all CPUs busy", hz)));
    let waiting = worth(lines, [("waiting for a CPU", delay)]);
    let all = [
        lines.chart("Threads of the service", from_zero("threads", "threads"), worth(lines, states)),
        lines.chart("CPU time by mode", from_zero("share of all CPUs", "share"), worth(lines, TIMES)),
        lines.chart("Memory latency (probe)", latency_axis(), memory),
        lines.chart("Core clock", clock_axis(), clock),
        lines.chart("Pressure", from_zero("share of the time", "share"), worth(lines, PRESSURE)),
        lines.chart("Run-queue delay", from_zero("threads waiting", "threads"), waiting),
    ];
    all.into_iter().flatten().collect()
}

/// Curves of several recordings; each record has a line labeled with the record's name.
pub(crate) fn overlaid(named: &[(String, &Record)]) -> Vec<Chart> {
    let watches = || named.iter().filter_map(|(name, record)| Some((name, record.watch.as_ref()?)));
    let Some((_, longest)) = watches().max_by(|a, b| end(a.1).total_cmp(&end(b.1))) else {
        return Vec::new();
    };
    let frame = Lines::since_start(longest);
    let draw = |title: &str, y: Axis, of: fn(&Interval) -> Option<f64>| {
        let series = watches().enumerate().map(|(number, (name, watch))| {
            let own = Lines { watch, x: frame.x.clone(), start: 0.0, unit: frame.unit, bands: Vec::new() };
            let line = own.line(name, of);
            Series { ink: Some((SUBJECTS[number % SUBJECTS.len()], number)), ..line }
        });
        frame.chart(title, y, series.collect())
    };
    let busy =
        draw("CPUs busy", from_zero("share of all CPUs", "share"), |i| Some(i.times.share(i.times.busy())));
    let latency = draw("Memory latency (probe)", latency_axis(), highest_latency);
    [busy, latency, draw("Core clock", clock_axis(), probed_clock)].into_iter().flatten().collect()
}

/// The stretches, curves, results and processes of a recording.
pub(crate) fn blocks(record: &Record, watch: &Watch) -> Vec<Block> {
    let stretches = diagnose::stretches(watch);
    let items = describe_stretches(record, watch, &stretches);
    let curves = charts(&Lines::new(record, watch, &stretches)).into_iter().map(Part::Chart).collect();
    let tables = [figures(watch), states(watch), waits(watch), who(watch)];
    let tables = tables.into_iter().filter(|table| !table.is_empty()).map(Table::finished).map(Block::from);
    let first = [Block::items("Stretches", items), Block::new("Over time", None, curves)];
    first.into_iter().chain(tables).collect()
}

/// A result of an interval: its name, its unit, and the function that returns its value.
type FigureOf = (&'static str, &'static str, fn(&Interval) -> Option<f64>);

const FIGURES: [FigureOf; 13] = [
    ("CPUs busy", "share", |i| Some(i.times.share(i.times.busy()))),
    ("in the kernel", "share", |i| Some(i.times.share(i.times.kernel()))),
    ("steal", "share", |i| Some(i.times.share(i.times.steal))),
    ("threads waiting for a CPU", "threads", delay),
    ("CPU pressure", "share", |i| i.pressure.get("cpu").copied()),
    ("I/O pressure", "share", |i| i.pressure.get("io").copied()),
    ("memory pressure", "share", |i| i.pressure.get("memory").copied()),
    ("memory load latency", "ns", highest_latency),
    ("clock", "Hz", probed_clock),
    ("context switches per second", "/s", |i| i.rates.get("context-switches").copied()),
    ("page faults per second", "/s", |i| i.rates.get("page-faults").copied()),
    ("highest temperature", "°C", |i| i.sensors.celsius),
    ("power", "W", |i| i.sensors.watts),
];

/// The results of the entire recording, with the minimum and maximum over its moments.
fn figures(watch: &Watch) -> Table {
    let mut table = Table::new("Over the whole recording", None, ["result", "#mean", "#min", "#max"]);
    let Some(whole) = watch.whole() else { return table };
    for (name, unit, of) in FIGURES {
        let show = |value: f64| match unit {
            "share" => format!("{:.1} %", value * 100.0),
            "threads" => format!("{value:.1}"),
            "/s" => units::thousands(value.round()),
            _ => units::figure(value, unit),
        };
        let all = || watch.moments.iter().filter_map(|moment| of(&moment.interval));
        // Bare metal has no steal time.
        let mean = of(&whole.interval).filter(|mean| *mean > 0.0 || name != "steal");
        if let (Some(mean), Some(least), Some(most)) = (mean, all().reduce(f64::min), all().reduce(f64::max))
        {
            table.row([vec![name.to_owned()], [mean, least, most].map(show).to_vec()].concat());
        }
    }
    if watch.merged > 1 {
        let seconds = whole.interval.seconds / watch.intervals.max(1) as f64 * watch.merged as f64;
        table.note(&format!(
            "minimum and maximum refer to means over {} ({} intervals each)",
            duration(seconds),
            watch.merged
        ));
    }
    table
}

/// The CPU time of processes, or of threads of the selected processes.
fn who(watch: &Watch) -> Table {
    let seconds = watch.seconds().max(1e-9);
    let share = |of: f64| format!("{:.1}", of / seconds * 100.0);
    let mut table;
    if watch.of.is_empty() {
        let heads = ["#PID", "name", "#CPU %", "#sys %", "#threads", ""];
        table = Table::new("Processes with the most CPU time", None, heads);
        for one in table.first(watch.processes.iter().collect(), MOST_SHOWN) {
            let real_time = if one.real_time { "real-time" } else { "" };
            table.row(vec![
                one.pid.to_string(),
                cut(&one.name, NAME),
                share(one.cpu),
                share(one.system),
                one.threads.to_string(),
                real_time.to_owned(),
            ]);
        }
    } else {
        let heads = ["#TID", "name", "#CPU %", "#runnable %", "#blocked %"];
        table = Table::new("Threads with the most CPU time", None, heads);
        for one in table.first(watch.threads.iter().collect(), MOST_SHOWN) {
            let shares = [one.cpu, one.runnable, one.blocked].map(share);
            table.row([vec![one.tid.to_string(), cut(&one.name, NAME)], shares.to_vec()].concat());
        }
    }
    if !table.is_empty() {
        table.note(
            "CPU %: average share of one CPU over the whole recording. CPU time is counted only in intervals in \
             which the process or thread was among the busiest",
        );
    }
    table
}

/// The causes and frequency of waits, for the threads of a service or of the busiest processes.
fn waits(watch: &Watch) -> Table {
    let whole = watch.whole().unwrap_or_default().interval;
    let (title, waits, looks) = match &whole.service {
        Some(service) => ("Wait reasons of the threads", &service.waits, service.looks),
        None => ("Wait reasons of threads in the busiest processes", &whole.waits, whole.looks),
    };
    let mut table = Table::new(title, None, ["waiting for", "#threads", "#share", "#repeatedly"]);
    let all: u64 = waits.values().map(|waits| waits.threads).sum();
    let (threads, held) = whole.service.as_ref().map(Service::waiting).unwrap_or_default();
    let mut sorted: Vec<_> = waits.iter().filter(|(_, waits)| waits.threads > 0).collect();
    sorted.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.threads));
    for (what, waits) in sorted {
        let found = waits.threads as f64 / looks.all.max(1) as f64;
        table.row(vec![
            what.clone(),
            format!("{:.2}", threads.get(what.as_str()).copied().unwrap_or(found)),
            percent(waits.threads as f64 / all.max(1) as f64),
            percent(waits.again as f64 / waits.threads.max(1) as f64),
        ]);
    }
    if held {
        table.note(&format!(
            "shares from {} samples, scaled to the number of threads that the kernel counts as blocked",
            looks.all
        ));
    }
    table
}

/// The time that a service's threads spent in each state.
fn states(watch: &Watch) -> Table {
    let mut table = Table::new("Thread time by state", None, ["state", "#time", "#threads"]);
    let Some(service) = watch.whole().and_then(|whole| whole.interval.service) else { return table };
    for (state, words, _) in listed_states(|state| service.states.get(state).copied()) {
        let Some(seconds) = service.states.get(state) else { continue };
        let threads = format!("{:.2}", seconds / service.seconds.max(1e-9));
        table.row(vec![words.to_owned(), super::command::seconds(*seconds), threads]);
    }
    table
}

#[cfg(test)]
mod tests;
