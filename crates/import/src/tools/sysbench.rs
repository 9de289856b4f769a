//! sysbench 0.4, 0.5, 1.0 and 1.1: its tests of CPU, memory, threads and mutexes, and its database workloads.
//!
//! Its memory test writes one block again and again, which is a cache's figure and no memory bandwidth: it becomes the
//! throughput of a workload whose unit is a byte.

use record::{Label, Labels, Measurement, detail};

use crate::command_line::CommandLine;
use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

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
    let command = CommandLine::above(command, &["sysbench"]);
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

impl SysbenchReader {
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
            "[ ",
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
        ];
        if text.starts_with("Doing CPU") {
            self.test = Some("cpu");
        } else if text.starts_with("Doing thread") {
            self.test = Some("threads");
        } else if text.starts_with("Doing mutex") {
            self.test = Some("mutex");
        } else if text.starts_with("Running memory") || text.starts_with("Doing memory") {
            self.test = Some("memory");
        }
        if talk.iter().any(|start| text.starts_with(start)) || is_histogram(text) {
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
mod tests {
    use crate::tools::testing::{damaged, figures, import, the};
    use proptest::prelude::*;
    use record::detail;

    const CPU: &str = include_str!("../../tests/texts/sysbench-1.0-cpu.txt");
    const MEMORY: &str = include_str!("../../tests/texts/sysbench-1.0-memory.txt");
    const THREADS: &str = include_str!("../../tests/texts/sysbench-1.0-threads.txt");
    const OLD: &str = include_str!("../../tests/texts/sysbench-0.5-cpu.txt");
    const OLTP: &str = include_str!("../../tests/texts/sysbench-1.0-oltp.txt");

    #[test]
    fn a_fixed_time_gives_a_rate_and_no_time() {
        let imported = import(CPU);
        assert_eq!(
            figures(&imported),
            ["workload.throughput workload=sysbench cpu --cpu-max-prime=10000 threads=2: 8823.6"]
        );
        assert_eq!(imported.measurements[0].detail.number_named("latency_p95_ms"), Some(0.24));
        assert_eq!(imported.import.outputs[0].version.as_deref(), Some("1.0.20"));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn a_fixed_number_of_events_gives_the_time_of_published_tables() {
        let imported = import(OLD);
        let name = "workload=sysbench cpu --cpu-max-prime=50000 threads=1";
        assert_eq!(the(&imported, &format!("workload.time {name}")).value(), 83.2642);
        let rate = the(&imported, &format!("workload.throughput {name}"));
        assert_eq!(rate.value(), 10000.0 / 83.2642);
        assert_eq!(rate.detail.get(detail::LATENCY_AVG_MS), Some(8.33));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn its_memory_test_is_no_memory_bandwidth() {
        let imported = import(MEMORY);
        let name = "workload=sysbench memory --memory-block-size=1KiB --memory-oper=write --memory-scope=global threads=1";
        assert_eq!(figures(&imported).len(), 1);
        let rate = the(&imported, &format!("workload.throughput {name}"));
        assert_eq!((rate.value(), rate.detail.get(detail::WORK)), (6843.84 * 1_048_576.0, Some("B")));
        let imported = import(THREADS);
        assert_eq!(figures(&imported).len(), 1);
        let rate = the(&imported, "workload.throughput workload=sysbench threads threads=1");
        assert_eq!(rate.value(), 682.0 / 1.0040);
    }

    #[test]
    fn databases_have_transactions_and_queries() {
        let imported = import(OLTP);
        assert_eq!(
            figures(&imported),
            [
                "workload.throughput workload=sysbench oltp_point_select --tables=10 --table-size=100000 transactions threads=4: 24674.12",
                "workload.throughput workload=sysbench oltp_point_select --tables=10 --table-size=100000 queries threads=4: 24674.12",
            ]
        );
    }

    #[test]
    fn two_runs_stay_two_outputs() {
        let imported = import(&format!("{OLD}\n{CPU}"));
        assert_eq!((imported.import.outputs.len(), imported.measurements.len()), (2, 3));
    }

    #[test]
    fn a_histogram_and_any_percentile_belong_to_the_run() {
        let text = CPU.replace("95th percentile", "99th percentile").replace(
            "CPU speed:",
            "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n       \
            0.218 |                                         6\n       0.222 |**************************************** 537\n \n\
            CPU speed:",
        );
        let imported = import(&text);
        assert_eq!(
            figures(&imported),
            ["workload.throughput workload=sysbench cpu --cpu-max-prime=10000 threads=2: 8823.6"]
        );
        assert_eq!(imported.measurements[0].detail.number_named("latency_p99_ms"), Some(0.24));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn a_pace_that_was_asked_for_is_no_speed_and_an_unnamed_test_is_doubted() {
        let paced =
            import(&CPU.replace(
                "Number of threads: 2\n",
                "Number of threads: 2\nTarget transaction rate: 100/sec\n",
            ));
        assert!(
            paced.measurements[0]
                .doubt
                .as_ref()
                .is_some_and(|doubt| doubt.to_string().contains("100 a second"))
        );
        let (_, unnamed) = THREADS.split_once('\n').expect("the command line is the first");
        assert!(
            import(unnamed).measurements[0]
                .doubt
                .as_ref()
                .is_some_and(|doubt| doubt.to_string().contains("not told"))
        );
        let random = format!(
            "$ sysbench memory --memory-access-mode=rnd run\n{}",
            MEMORY.split_once('\n').map_or("", |(_, rest)| rest)
        );
        assert!(figures(&import(&random))[0].contains("--memory-access-mode=rnd"));
    }

    proptest! {
        #[test]
        fn no_damaged_output_panics(which in 0usize..5, at in 0usize..3000, cut in 0usize..60, with in "\\PC{0,12}") {
            let _ = import(&damaged([CPU, MEMORY, THREADS, OLD, OLTP][which], at, cut, &with));
        }
    }
}
