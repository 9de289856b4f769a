//! sysbench 0.4, 0.5, 1.0 and 1.1: its tests of CPU, memory, threads, mutexes and files, and its database workloads.
//!
//! Its memory test writes one block again and again, which is a cache's figure and no memory bandwidth: it becomes the
//! throughput of a workload whose unit is a byte.

use std::collections::BTreeMap;

use record::command_line::CommandLine;
use record::{Label, Labels, Measurement, detail, metrics};

use crate::reading::*;

/// What is kept of a line `label: value`.
#[derive(Clone, Copy)]
enum Kept {
    /// A figure that is told once.
    Figure(&'static str),
    /// The rate in `10000  (999.92 per sec.)`.
    Rate(&'static str),
    /// A setting, and the test that has it.
    Setting(&'static str, Option<&'static str>),
    /// Milliseconds.
    Latency(&'static str),
}

const LABELS: &[(&str, Kept)] = &[
    ("events per second", Kept::Figure("eps")),
    ("events/s (eps)", Kept::Figure("eps")),
    ("total time", Kept::Figure("seconds")),
    ("time elapsed", Kept::Figure("seconds")),
    ("total number of events", Kept::Figure("events")),
    ("transactions", Kept::Rate("transactions")),
    ("queries", Kept::Rate("queries")),
    ("Number of threads", Kept::Setting("threads", None)),
    ("Target transaction rate", Kept::Setting("paced", None)),
    ("Prime numbers limit", Kept::Setting("limit", Some("cpu"))),
    ("Primer numbers limit", Kept::Setting("limit", Some("cpu"))),
    ("Maximum prime number checked in CPU test", Kept::Setting("limit", Some("cpu"))),
    ("block size", Kept::Setting("block", Some("memory"))),
    ("Memory block size", Kept::Setting("block", Some("memory"))),
    ("operation", Kept::Setting("operation", None)),
    ("Memory operations type", Kept::Setting("operation", None)),
    ("scope", Kept::Setting("scope", None)),
    ("Memory scope type", Kept::Setting("scope", None)),
    ("min", Kept::Latency("min")),
    ("avg", Kept::Latency("avg")),
    ("max", Kept::Latency("max")),
];

/// Labels of which nothing is kept.
const OTHERS: &str = "execution time (avg/stddev)|sum|read|write|other|total|ignored errors|reconnects|deadlocks|\
    other operations|total size|events (avg/stddev)|total time taken by event execution|Memory transfer size|\
    read/write requests|Latency (ms)|Threads fairness|CPU speed|General statistics|SQL statistics|OLTP test statistics|\
    queries performed|Test execution summary|per-request statistics|response time|Throughput|\
    Running the test with following options|Running memory speed test with the following options|\
    Report intermediate results every";

/// What it says beside its figures.
const TALK: &str = "Initializing|Threads started|Done.|Doing |Random number generator|Using |Total operations:|\
    Operations performed:|WARNING:|No DB drivers|Additional request|Time limit exceeded|Maximum number of events|DEBUG:|\
    Test type:|Debug mode|Warmup|Report intermediate results every|File operations:|Number of IO requests:|\
    Read/Write ratio for combined|Periodic FSYNC|Calling fsync()|Extra file|reads/s:|writes/s:|fsyncs/s:|read, MiB/s:|\
    written, MiB/s:|Latency histogram (|value  ----";

/// Lines that tell which test runs, and of files also how.
const TESTS: &[(&str, (&str, Option<&str>))] = &[
    ("Doing CPU", ("cpu", None)),
    ("Doing thread", ("threads", None)),
    ("Doing mutex", ("mutex", None)),
    ("Doing memory", ("memory", None)),
    ("Running memory", ("memory", None)),
    ("File operations:", ("fileio", None)),
    ("Extra file open flags:", ("fileio", None)),
    ("Doing sequential write", ("fileio", Some("seqwr"))),
    ("Doing sequential rewrite", ("fileio", Some("seqrewr"))),
    ("Doing sequential read", ("fileio", Some("seqrd"))),
    ("Doing random read", ("fileio", Some("rndrd"))),
    ("Doing random write", ("fileio", Some("rndwr"))),
    ("Doing random r/w", ("fileio", Some("rndrw"))),
];

/// What decides how much work an event of a test is: options, and the settings that tell the same; others stand on the command
/// line alone.
const OPTIONS: &[(&str, &[(&str, &str)])] = &[
    ("cpu", &[("--cpu-max-prime", "limit")]),
    (
        "memory",
        &[
            ("--memory-block-size", "block"),
            ("--memory-oper", "operation"),
            ("--memory-scope", "scope"),
            ("--memory-access-mode", ""),
        ],
    ),
    (
        "fileio",
        &[("--file-test-mode", "operation"), ("--file-total-size", "scope"), ("--file-block-size", "block")],
    ),
    ("threads", &[("--thread-yields", ""), ("--thread-locks", "")]),
    ("mutex", &[("--mutex-num", ""), ("--mutex-locks", ""), ("--mutex-loops", "")]),
];

/// Those of databases.
const OF_DATABASES: &[(&str, &str)] = &[("--tables", ""), ("--table-size", "")];

/// `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)`, `sysbench 0.5:  multi-threaded system evaluation benchmark`
fn version(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("sysbench ")?;
    let word = rest.split_whitespace().next()?.trim_end_matches(':');
    let printed = rest.contains("LuaJIT") || rest.contains("multi-threaded");
    (printed && word.starts_with(|c: char| c.is_ascii_digit())).then_some(word)
}

/// sysbench.
pub(super) const SYSBENCH: Tool = Tool {
    name: "sysbench",
    opens: |line, _| {
        const HEADS: &str = "Running the test with following options:|CPU speed:|SQL statistics:|\
            OLTP test statistics:|Test execution summary:|General statistics:";
        let text = line.text.trim();
        version(text).is_some() || scan::is_one_of(text, HEADS)
    },
    reader: |command| {
        let command = CommandLine::above(command.map(|command| command.text.as_str()), &["sysbench"]);
        Box::new(SysbenchReader { command, ..SysbenchReader::default() })
    },
};

#[derive(Default)]
struct SysbenchReader {
    command: CommandLine,
    version: Option<String>,
    test: Option<&'static str>,
    figures: BTreeMap<&'static str, (f64, PendingLine)>,
    settings: BTreeMap<&'static str, String>,
    latencies: Vec<(String, f64)>,
    begun: bool,
    /// The last line of a run was there.
    over: bool,
}

/// The percentile of `95th percentile`, `99th percentile`, `approx.  95 percentile`.
fn percentile(label: &str) -> Option<u32> {
    let rest = label.strip_suffix(" percentile")?.trim_start_matches("approx.").trim();
    rest.trim_end_matches("th").parse().ok().filter(|percentile| (1..=100).contains(percentile))
}

/// A row of `--histogram`: `       0.222 |**************************************** 537`; and `[ 10s ] thds: 16 tps: 794.63 …`, up to 0.5
/// `[1000s] threads: 16, tps: …`.
fn is_row_or_progress(text: &str) -> bool {
    let row = text.split_once(" |").is_some_and(|(value, rest)| {
        parse_plain(value).is_some() && rest.trim_start_matches('*').trim().parse::<u64>().is_ok()
    });
    let time = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(time, _)| time.trim());
    row || time.and_then(|time| parse_whole(time.strip_suffix('s')?)).is_some()
}

impl SysbenchReader {
    /// Sets what may be told once.
    fn set(&mut self, name: &'static str, value: Option<f64>, line: Line) -> Fit {
        let Some(value) = value else { return Fit::Between };
        if self.figures.contains_key(name) {
            return Fit::Over;
        }
        self.figures.insert(name, (value, line.into()));
        Fit::Taken
    }

    fn labelled(&mut self, label: &str, value: &str, line: Line) -> Fit {
        let plain = |unit: &str| parse_plain(value.strip_suffix(unit).unwrap_or(value));
        let percentile = percentile(label).map(|percentile| format!("p{percentile}"));
        let latency = match scan::find(LABELS, label) {
            // The memory test tells it twice.
            Some(Kept::Figure(name)) if label.starts_with("events/s") && self.figures.contains_key(name) => {
                return Fit::Taken;
            }
            Some(Kept::Figure(name)) => return self.set(name, plain("s"), line),
            Some(Kept::Rate(name)) => {
                let inner = value.split_once('(').and_then(|(_, inner)| inner.split_once(" per sec"));
                return self.set(name, inner.and_then(|(number, _)| parse_plain(number)), line);
            }
            Some(Kept::Setting(name, test)) => {
                self.test = test.or(self.test);
                self.settings.insert(name, value.to_owned());
                return Fit::Taken;
            }
            Some(Kept::Latency(name)) => Some(name.to_owned()),
            None => percentile,
        };
        match latency.zip(plain("ms")) {
            Some((name, ms)) => {
                let key = format!("latency_{name}_ms");
                if !self.latencies.iter().any(|(known, _)| *known == key) && self.latencies.len() < 8 {
                    self.latencies.push((key, ms));
                }
                Fit::Taken
            }
            None => {
                self.over |= label == "execution time (avg/stddev)";
                if scan::is_one_of(label, OTHERS) { Fit::Taken } else { Fit::Between }
            }
        }
    }

    fn option(&self, name: &str) -> Option<String> {
        let others: &[&str] = match name {
            "--tables" => &["--tables", "--oltp-tables-count"],
            "--table-size" => &["--table-size", "--table_size", "--oltp-table-size"],
            "--time" => &["--time", "--max-time"],
            "--events" => &["--events", "--max-requests"],
            name => &[name],
        };
        self.command.option(others).map(str::to_owned)
    }

    /// The name under which runs of this test are compared: what decides how much work an event is; and why it should not
    /// be leaned on where that is not told.
    fn workload(&self) -> (String, Option<String>) {
        let asked = self.option("--test").or_else(|| {
            let mut words = self.command.words.get(1..)?.iter();
            words.find(|word| !word.starts_with('-') && *word != "run").cloned()
        });
        let database = self.figures.contains_key("transactions") || self.figures.contains_key("queries");
        // `/usr/share/sysbench/tests/db/select.lua` is `select.lua`.
        let asked = asked.as_deref().map(|test| test.rsplit('/').next().unwrap_or(test));
        let Some(test) = self.test.or(asked) else {
            let (name, of) = if database { ("sysbench oltp", "scripts") } else { ("sysbench", "tests") };
            return (name.to_owned(), Some(format!("which of sysbench's {of} ran is not told")));
        };
        let mut name = format!("sysbench {test}");
        for (option, setting) in scan::find(OPTIONS, test).unwrap_or(OF_DATABASES) {
            let given = self.settings.get(setting).cloned();
            // What it does by itself is not told.
            let given =
                given.or_else(|| self.option(option).filter(|value| setting.is_empty() && value != "seq"));
            name.extend(given.map(|value| format!(" {option}={value}")));
        }
        (name, None)
    }

    /// Whether the run ended with the last of a given number of events, so that its time tells the speed; else it ran
    /// for a given time.
    fn counted(&self) -> bool {
        let option = |name: &str| self.option(name).and_then(|value| parse_plain(&value));
        let time = option("--time").is_some_and(|time| time > 0.0);
        // Up to 0.5 it was 10,000 events where nothing was said.
        let old = match &self.version {
            Some(version) => version.starts_with("0."),
            None => !self.figures.contains_key("eps") && self.test == Some("cpu"),
        };
        !time && option("--events").map_or(old, |events| events > 0.0)
    }
}

impl Reader for SysbenchReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if let Some(printed) = version(text) {
            if self.begun {
                return Fit::Over;
            }
            self.begun = true;
            sink.version(printed);
            self.version = Some(printed.to_owned());
            return Fit::Taken;
        }
        if self.over {
            return Fit::Over;
        }
        self.begun = true;
        // `6850.19 MiB transferred (6843.84 MiB/sec)`; up to 0.5 MB, which are 2^20 bytes too.
        if let Some((_, rest)) = text.split_once(" transferred (") {
            let rate = scan::quantity(rest.trim_end_matches(')'), &[("MiB/sec", 0), ("MB/sec", 0)]);
            self.test = Some("memory");
            return self.set("bytes", rate.map(|mib| mib * 1_048_576.0), line);
        }
        if let Some(((test, mode), _)) = scan::find_start(TESTS, text) {
            self.test = Some(test);
            self.settings.extend(mode.map(|mode| ("operation", mode.to_owned())));
        }
        if self.test == Some("fileio") {
            let size = text.strip_suffix(" total file size").map(|size| ("scope", size));
            let given = size.or_else(|| Some(("block", text.strip_prefix("Block size ")?)));
            if given.is_some() || text.contains(" files, ") && text.ends_with(" each") {
                self.settings.extend(given.map(|(name, value)| (name, value.to_owned())));
                return Fit::Taken;
            }
        }
        if scan::begins(text, TALK) || is_row_or_progress(text) {
            return Fit::Taken;
        }
        scan::pair(text).map_or(Fit::Between, |(label, value)| self.labelled(label, value, line))
    }

    fn end(&mut self, sink: &mut Sink) {
        let (workload, doubt) = self.workload();
        let paced = self.settings.get("paced").map(|rate| rate.trim_end_matches("/sec"));
        let doubt = doubt.or(paced.map(|rate| format!("it was told to make {rate} a second, and no more")));
        let threads = self.settings.get("threads").and_then(|threads| parse_whole(threads));
        let place =
            |name: &str| Labels::new().with_label(Label::Workload, name).with_known(Label::Threads, threads);
        let mut push = |name: &str, value: f64, line: Line, work: &str, from: Option<&str>| {
            let mut m = Measurement::exact(metrics::WORKLOAD_THROUGHPUT, place(name), vec![value])
                .with_detail(detail::WORK, work)
                .with_known_detail(detail::FROM, from);
            for (key, ms) in &self.latencies {
                m.detail.set_named(key, *ms);
            }
            m.doubt = doubt.clone().map(Into::into);
            sink.add_figure(m, line);
        };
        let mut database = false;
        for kind in ["transactions", "queries"] {
            if let Some((value, line)) = self.figures.get(kind) {
                push(&format!("{workload} {kind}"), *value, line.line(), kind, None);
                database = true;
            }
        }
        let events = self.figures.get("events").map(|(events, _)| *events);
        let seconds = self.figures.get("seconds").filter(|(seconds, _)| *seconds > 0.0 && !database);
        let rate = |name| Some((name, self.figures.get(name)?));
        if let Some((name, (value, line))) = rate("bytes").or(rate("eps")) {
            push(&workload, *value, line.line(), if name == "bytes" { "B" } else { "events" }, None);
        } else if let Some(((seconds, line), events)) = seconds.zip(events) {
            // Since 1.0 both print their own rate.
            let newer = self.version.as_deref().is_some_and(|version| !version.starts_with("0."));
            if self.test == Some("memory") || self.test == Some("cpu") && newer {
                let why = "the line with the rate is missing".to_owned();
                return sink.withhold(metrics::WORKLOAD_THROUGHPUT, why, line.line());
            }
            push(&workload, events / seconds, line.line(), "events", Some("events over total time"));
        }
        if let Some((seconds, line)) = seconds.filter(|_| self.counted()) {
            let m = Measurement::exact(metrics::WORKLOAD_TIME, place(&workload), vec![*seconds])
                .with_known_detail(detail::EVENTS, events);
            sink.add_figure(m, line.line());
        }
    }
}

#[cfg(test)]
mod tests;
