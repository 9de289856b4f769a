//! sysbench 0.4, 0.5, 1.0 and 1.1: its tests of CPU, memory, threads and mutexes, and its database workloads.
//!
//! Its memory test writes one block again and again, which is a cache's figure and no memory bandwidth: it becomes the
//! throughput of a workload whose unit is a byte.

use record::{Label, Labels, Measurement, detail};

use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};
use record::command_line::CommandLine;

/// `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)`, `sysbench 0.5:  multi-threaded system evaluation benchmark`
fn version(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("sysbench ")?;
    let word = rest.split_whitespace().next()?.trim_end_matches(':');
    let printed = rest.contains("LuaJIT") || rest.contains("multi-threaded");
    (printed && word.starts_with(|c: char| c.is_ascii_digit())).then_some(word)
}

/// sysbench.
pub(super) const SYSBENCH: Tool = Tool { name: "sysbench", opens, reader };

fn opens(line: Line, _: Option<&Command>) -> bool {
    let text = line.text.trim();
    version(text).is_some()
        || matches!(
            text,
            "Running the test with following options:"
                | "CPU speed:"
                | "SQL statistics:"
                | "OLTP test statistics:"
                | "Test execution summary:"
                | "General statistics:"
        )
}

fn reader(command: Option<&Command>) -> Box<dyn Reader> {
    let command = CommandLine::above(command.map(|command| command.text.as_str()), &["sysbench"]);
    Box::new(SysbenchReader { command, ..SysbenchReader::default() })
}

/// A figure and where it stood.
type Pending = Option<(f64, PendingLine)>;

#[derive(Default)]
struct SysbenchReader {
    command: CommandLine,
    version: Option<String>,
    threads: Option<u64>,
    test: Option<&'static str>,
    limit: Option<u64>,
    block: Option<String>,
    operation: Option<String>,
    scope: Option<String>,
    eps: Pending,
    seconds: Pending,
    events: Pending,
    bytes: Pending,
    transactions: Pending,
    queries: Pending,
    latencies: Vec<(String, f64)>,
    begun: bool,
    fairness: bool,
    /// Transactions a second that it was told to make (`--rate`), and no more.
    paced: Option<f64>,
}

/// The figure in `10000  (999.92 per sec.)`.
fn rate(value: &str) -> Option<f64> {
    let (_, inner) = value.split_once('(')?;
    let (number, rest) = inner.split_once(char::is_whitespace)?;
    rest.starts_with("per sec").then(|| numbers::parse_plain(number)).flatten()
}

/// The percentile of `95th percentile`, `99th percentile`, `approx.  95 percentile`.
fn percentile(label: &str) -> Option<u32> {
    let rest = label.strip_suffix(" percentile")?.trim_start_matches("approx.").trim();
    rest.trim_end_matches(char::is_alphabetic)
        .parse()
        .ok()
        .filter(|percentile| (1..=100).contains(percentile))
}

/// A row of `--histogram`, or its head: `       0.222 |**************************************** 537`
fn is_histogram(text: &str) -> bool {
    let row = || {
        let (value, rest) = text.split_once(" |")?;
        let (stars, count) = rest.rsplit_once(' ')?;
        let bare = stars.bytes().all(|b| matches!(b, b'*' | b' '));
        (bare && numbers::parse_plain(value).is_some() && numbers::parse_whole(count).is_some()).then_some(())
    };
    text.starts_with("Latency histogram (") || text.starts_with("value  ----") || row().is_some()
}

/// `[ 10s ] thds: 16 tps: 794.63 …`, up to 0.5 `[1000s] threads: 16, tps: …`.
fn is_progress(text: &str) -> bool {
    let time = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(time, _)| time.trim());
    time.and_then(|time| time.strip_suffix('s')).is_some_and(|time| numbers::parse_whole(time).is_some())
}

impl SysbenchReader {
    /// A line that only the test of files prints; the order in which how much is read or written decides the work.
    fn file_line(&mut self, text: &str) -> bool {
        let modes = [
            ("Doing sequential write", "seqwr"),
            ("Doing sequential rewrite", "seqrewr"),
            ("Doing sequential read", "seqrd"),
            ("Doing random read", "rndrd"),
            ("Doing random write", "rndwr"),
            ("Doing random r/w", "rndrw"),
        ];
        let slot = if let Some((_, mode)) = modes.iter().find(|(start, _)| text.starts_with(start)) {
            Some((&mut self.operation, *mode))
        } else if let Some(block) = text.strip_prefix("Block size ") {
            Some((&mut self.block, block))
        } else {
            text.strip_suffix(" total file size").map(|total| (&mut self.scope, total))
        };
        if let Some((slot, value)) = slot {
            *slot = Some(value.to_owned());
            return true;
        }
        let figures = ["Extra file", "reads/s:", "writes/s:", "fsyncs/s:", "read, MiB/s:", "written, MiB/s:"];
        text.contains(" files, ") && text.ends_with(" each")
            || figures.iter().any(|start| text.starts_with(start))
    }

    /// Sets what may be told once; whether it was new.
    fn set(slot: &mut Pending, value: Option<f64>, line: Line) -> Fit {
        match (value, &slot) {
            (Some(_), Some(_)) => Fit::Over,
            (Some(value), None) => {
                *slot = Some((value, line.into()));
                Fit::Taken
            }
            (None, _) => Fit::Between,
        }
    }

    fn labelled(&mut self, label: &str, value: &str, line: Line) -> Fit {
        let seconds = || numbers::parse_plain(value.trim_end_matches('s'));
        match label {
            "events per second" | "events/s (eps)" => {
                if self.eps.is_some() && label.starts_with("events/s") {
                    return Fit::Taken;
                }
                return Self::set(&mut self.eps, numbers::parse_plain(value), line);
            }
            "total time" | "time elapsed" => return Self::set(&mut self.seconds, seconds(), line),
            "total number of events" => {
                return Self::set(&mut self.events, numbers::parse_plain(value), line);
            }
            "transactions" => return Self::set(&mut self.transactions, rate(value), line),
            "queries" => return Self::set(&mut self.queries, rate(value), line),
            "read/write requests" if self.queries.is_none() => {}
            "Number of threads" => self.threads = numbers::parse_whole(value),
            "Prime numbers limit" | "Primer numbers limit" | "Maximum prime number checked in CPU test" => {
                self.test = Some("cpu");
                self.limit = numbers::parse_whole(value);
            }
            "block size" | "Memory block size" => {
                // Threads and mutexes have no blocks.
                self.test = Some("memory");
                self.block = Some(value.to_owned());
            }
            "operation" | "Memory operations type" => self.operation = Some(value.to_owned()),
            "scope" | "Memory scope type" => self.scope = Some(value.to_owned()),
            "min" | "avg" | "max" => {
                let key = format!("latency_{label}_ms");
                let Some(ms) = numbers::parse_plain(value.trim_end_matches("ms")) else {
                    return Fit::Between;
                };
                self.latency(key, ms);
            }
            "Target transaction rate" => {
                self.paced = numbers::parse_plain(value.trim_end_matches("/sec"));
            }
            "execution time (avg/stddev)" => self.fairness = true,
            "sum"
            | "read"
            | "write"
            | "other"
            | "total"
            | "ignored errors"
            | "reconnects"
            | "deadlocks"
            | "other operations"
            | "total size"
            | "events (avg/stddev)"
            | "total time taken by event execution"
            | "Memory transfer size"
            | "read/write requests"
            | "Latency (ms)"
            | "Threads fairness"
            | "CPU speed"
            | "General statistics"
            | "SQL statistics"
            | "OLTP test statistics"
            | "queries performed"
            | "Test execution summary"
            | "per-request statistics"
            | "response time"
            | "Throughput"
            | "Running the test with following options"
            | "Running memory speed test with the following options"
            | "Report intermediate results every" => {}
            label => {
                let ms = percentile(label).zip(numbers::parse_plain(value.trim_end_matches("ms")));
                let Some((percentile, ms)) = ms else { return Fit::Between };
                self.latency(format!("latency_p{percentile}_ms"), ms);
            }
        }
        Fit::Taken
    }

    fn latency(&mut self, key: String, ms: f64) {
        if !self.latencies.iter().any(|(known, _)| *known == key) && self.latencies.len() < 8 {
            self.latencies.push((key, ms));
        }
    }

    fn transferred(&mut self, text: &str, line: Line) -> Option<Fit> {
        // `6850.19 MiB transferred (6843.84 MiB/sec)`; up to 0.5 MB, which are 2^20 bytes too.
        let (_, rest) = text.split_once(" transferred (")?;
        let (number, unit) = rest.strip_suffix(')')?.split_once(' ')?;
        matches!(unit, "MiB/sec" | "MB/sec").then_some(())?;
        let rate = numbers::parse_plain(number)? * 1_048_576.0;
        self.test = Some("memory");
        Some(Self::set(&mut self.bytes, Some(rate), line))
    }

    /// The name under which runs of this test are compared: what decides how much work an event is; and why it should not
    /// be leaned on where that is not told.
    fn workload(&self) -> (String, Option<String>) {
        let option = |names: &[&str]| self.command.option(names).map(str::to_owned);
        let asked = option(&["--test"]).or_else(|| {
            let test =
                self.command.words.get(1..)?.iter().find(|word| !word.starts_with('-') && *word != "run");
            test.cloned()
        });
        let asked = asked.map(|test| base(&test).to_owned());
        let test = self.test.map(str::to_owned).or(asked.clone());
        let Some(test) = test else {
            let database = self.transactions.is_some() || self.queries.is_some();
            let (name, of) = if database { ("sysbench oltp", "scripts") } else { ("sysbench", "tests") };
            return (name.to_owned(), Some(format!("which of sysbench's {of} ran is not told")));
        };
        let mut name = format!("sysbench {test}");
        let mut add = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                name.push_str(&format!(" {key}={value}"));
            }
        };
        match test.as_str() {
            "cpu" => add("--cpu-max-prime", self.limit.map(|limit| limit.to_string())),
            "memory" => {
                add("--memory-block-size", self.block.clone());
                add("--memory-oper", self.operation.clone());
                add("--memory-scope", self.scope.clone());
                // It says nothing of it itself.
                add("--memory-access-mode", option(&["--memory-access-mode"]).filter(|mode| mode != "seq"));
            }
            "fileio" => {
                add("--file-test-mode", self.operation.clone());
                add("--file-total-size", self.scope.clone());
                add("--file-block-size", self.block.clone());
            }
            "threads" => {
                add("--thread-yields", option(&["--thread-yields"]));
                add("--thread-locks", option(&["--thread-locks"]));
            }
            "mutex" => {
                add("--mutex-num", option(&["--mutex-num"]));
                add("--mutex-locks", option(&["--mutex-locks"]));
                add("--mutex-loops", option(&["--mutex-loops"]));
            }
            _ => {
                add("--tables", option(&["--tables", "--oltp-tables-count"]));
                add("--table-size", option(&["--table-size", "--table_size", "--oltp-table-size"]));
            }
        }
        (name, None)
    }

    /// Whether the run ended with the last of a given number of events, so that its time tells the speed; else it ran
    /// for a given time.
    fn counted(&self) -> bool {
        let option = |names: &[&str]| self.command.option(names).and_then(numbers::parse_plain);
        let time = option(&["--time", "--max-time"]).is_some_and(|time| time > 0.0);
        let events = option(&["--events", "--max-requests"]);
        let old = self.version.as_deref().is_some_and(|version| version.starts_with("0."))
            || self.version.is_none() && self.eps.is_none() && self.test == Some("cpu");
        match events {
            Some(events) => events > 0.0 && !time,
            // Up to 0.5 it was 10,000 events where nothing was said.
            None => old && !time,
        }
    }
}

/// `/usr/share/sysbench/tests/db/select.lua` is `select.lua`.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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
        if self.fairness {
            return Fit::Over;
        }
        self.begun = true;
        if let Some(fit) = self.transferred(text, line) {
            return fit;
        }
        // Between `[ 1s ] thds: 4 tps: …` and others only the words matter.
        let talk = [
            "Initializing",
            "Threads started",
            "Done.",
            "Doing ",
            "Random number generator",
            "Using ",
            "Total operations:",
            "Operations performed:",
            "WARNING:",
            "No DB drivers",
            "Additional request",
            "Time limit exceeded",
            "Maximum number of events",
            "DEBUG:",
            "Test type:",
            "Debug mode",
            "Warmup",
            "Report intermediate results every",
            "File operations:",
            "Number of IO requests:",
            "Read/Write ratio for combined",
            "Periodic FSYNC",
            "Calling fsync()",
        ];
        if text.starts_with("Doing CPU") {
            self.test = Some("cpu");
        } else if text.starts_with("Doing thread") {
            self.test = Some("threads");
        } else if text.starts_with("Doing mutex") {
            self.test = Some("mutex");
        } else if text.starts_with("File operations:") || text.starts_with("Extra file open flags:") {
            self.test = Some("fileio");
        } else if text.starts_with("Running memory") || text.starts_with("Doing memory") {
            self.test = Some("memory");
        }
        let of_files = self.test == Some("fileio") && self.file_line(text);
        if of_files
            || talk.iter().any(|start| text.starts_with(start))
            || is_histogram(text)
            || is_progress(text)
        {
            return Fit::Taken;
        }
        match text.split_once(':') {
            Some((label, value)) => self.labelled(label.trim(), value.trim(), line),
            None => Fit::Between,
        }
    }

    fn end(&mut self, sink: &mut Sink) {
        let (workload, doubt) = self.workload();
        let paced = self.paced.map(|rate| format!("it was told to make {rate} a second, and no more"));
        let doubt = doubt.or(paced);
        let place = |name: &str| {
            Labels::new().with_label(Label::Workload, name).with_known(Label::Threads, self.threads)
        };
        let mut push = |name: &str, printed: &(f64, PendingLine), work: &str, from: Option<&str>| {
            let mut m = Measurement::exact("workload.throughput", place(name), vec![printed.0])
                .with_detail(detail::WORK, work)
                .with_known_detail(detail::FROM, from);
            for (key, ms) in &self.latencies {
                m.detail.set_named(key, *ms);
            }
            m.doubt = doubt.clone().map(Into::into);
            sink.add_figure(m, printed.1.line());
        };
        if let Some(printed) = &self.transactions {
            push(&format!("{workload} transactions"), printed, "transactions", None);
        }
        if let Some(printed) = &self.queries {
            push(&format!("{workload} queries"), printed, "queries", None);
        }
        let database = self.transactions.is_some() || self.queries.is_some();
        if let Some(printed) = &self.bytes {
            push(&workload, printed, "B", None);
        } else if let Some(printed) = &self.eps {
            push(&workload, printed, "events", None);
        } else if let (Some((events, _)), Some((seconds, line)), false) =
            (&self.events, &self.seconds, database)
            && *seconds > 0.0
        {
            // Since 1.0 both print their own rate.
            let newer = self.version.as_deref().is_some_and(|version| !version.starts_with("0."));
            if self.test == Some("memory") || self.test == Some("cpu") && newer {
                let why = "the line with the rate is missing".to_owned();
                sink.withhold("workload.throughput", why, line.line());
                return;
            }
            push(&workload, &(events / seconds, line.clone()), "events", Some("events over total time"));
        }
        if let Some((seconds, line)) = self.seconds.as_ref().filter(|_| self.counted() && !database) {
            let m = Measurement::exact("workload.time", place(&workload), vec![*seconds])
                .with_known_detail(detail::EVENTS, self.events.as_ref().map(|(events, _)| *events));
            sink.add_figure(m, line.line());
        }
    }
}

#[cfg(test)]
mod tests;
