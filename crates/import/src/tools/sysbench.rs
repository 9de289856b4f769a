//! sysbench 0.4, 0.5, 1.0 and 1.1: its tests of CPU, memory, threads, mutexes and files, and its database workloads.
//!
//! The memory test writes one block repeatedly, which measures a cache instead of memory bandwidth. The result is therefore stored as the
//! throughput of a workload, in bytes.

use std::collections::BTreeMap;

use record::command_line::CommandLine;

use crate::reading::*;

/// Output lines and options of sysbench, defined in `sysbench.txt`.
fn rows(kinds: &'static str) -> impl Iterator<Item = [&'static str; 4]> {
    scan::rows::<4>(include_str!("sysbench.txt")).filter(move |[kind, ..]| scan::is_one_of(kind, kinds))
}

/// Lines without values.
const TALK: &str = include_str!("sysbench_talk.txt");

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
            Running memory speed test with the following options:|OLTP test statistics:|Test execution summary:|General statistics:";
        let text = line.text.trim();
        version(text).is_some() || scan::is_one_of(text, HEADS) || text.starts_with("events per second:")
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
    latencies: BTreeMap<String, f64>,
    /// Averages over the threads: events per thread, and seconds spent in events.
    of_threads: [Option<f64>; 2],
    begun: bool,
    /// Whether the last line of a run was read.
    over: bool,
}

/// The percentile of `95th percentile`, `99th percentile`, `approx.  95 percentile`.
fn percentile(label: &str) -> Option<String> {
    let rest = label.strip_suffix(" percentile")?.trim_start_matches("approx.").trim();
    let percentile: Option<u32> = rest.trim_end_matches("th").parse().ok();
    percentile.filter(|percentile| (1..=100).contains(percentile)).map(|percentile| format!("p{percentile}"))
}

/// Whether a line is a row of `--histogram`, such as `       0.222 |**************************************** 537`, or a progress line, such
/// as `[ 10s ] thds: 16 tps: 794.63 …` or, up to version 0.5, `[1000s] threads: 16, tps: …`.
fn is_row_or_progress(text: &str) -> bool {
    let row = text.split_once(" |").is_some_and(|(value, rest)| {
        parse_plain(value).is_some() && parse_whole(rest.trim_start_matches('*')).is_some()
    });
    let time = text.strip_prefix('[').and_then(|rest| rest.split_once("s")).map(|(time, _)| time);
    row || time.and_then(parse_whole).is_some()
}

impl SysbenchReader {
    /// Sets a value that may occur only once.
    fn set(&mut self, name: &'static str, value: Option<f64>, line: Line) -> Fit {
        let Some(value) = value else { return Fit::Between };
        // The memory test prints the rate twice.
        if self.figures.get(name).is_some_and(|(known, _)| name != "eps" || *known != value) {
            return Fit::Over;
        }
        self.figures.insert(name, (value, line.into()));
        Fit::Taken
    }

    fn labelled(&mut self, label: &str, value: &str, line: Line) -> Fit {
        let plain = |unit: &str| parse_plain(value.strip_suffix(unit).unwrap_or(value));
        let latency = match rows("figure|rate|setting|latency").find(|[_, known, ..]| *known == label) {
            Some(["figure", _, name, _]) => return self.set(name, plain("s"), line),
            Some(["rate", _, name, _]) => {
                let inner = value.split_once('(').and_then(|(_, inner)| inner.split_once(" per sec"));
                return self.set(name, inner.and_then(|(number, _)| parse_plain(number)), line);
            }
            Some(["setting", _, name, test]) => {
                self.test = Some(test).filter(|test| !test.is_empty()).or(self.test);
                self.settings.insert(name, value.to_owned());
                return Fit::Taken;
            }
            Some([_, _, name, _]) => Some(name.to_owned()),
            None => percentile(label),
        };
        let Some((name, ms)) = latency.zip(plain("ms")) else { return Fit::Between };
        self.latencies.entry(format!("latency_{name}_ms")).or_insert(ms);
        Fit::Taken
    }

    /// The value of an option, which may have another name in older versions.
    fn option(&self, name: &'static str) -> Option<&str> {
        let others = rows("alias").filter(|[_, known, ..]| *known == name).map(|[_, _, other, _]| other);
        self.command.option(&others.chain([name]).collect::<Vec<_>>())
    }

    /// The name under which runs of this test are compared; it contains the settings that determine the work per event. If the test is
    /// unknown, the second value is the reason why the name is unreliable.
    fn workload(&self) -> (String, Option<String>) {
        let named =
            || self.command.words.iter().skip(1).find(|word| !word.starts_with('-') && *word != "run");
        // `/usr/share/sysbench/tests/db/select.lua` is `select.lua`.
        let asked = self
            .option("--test")
            .or_else(|| named().map(String::as_str))
            .and_then(|test| test.rsplit('/').next());
        let Some(test) = self.test.or(asked) else {
            let database = self.figures.contains_key("transactions") || self.figures.contains_key("queries");
            let (name, of) = if database { ("sysbench oltp", "scripts") } else { ("sysbench", "tests") };
            return (name.to_owned(), Some(format!("it is unknown which of sysbench's {of} ran")));
        };
        let mut name = format!("sysbench {test}");
        let of_test =
            rows("option").filter(|[_, of, ..]| *of == test).map(|[_, _, option, setting]| (option, setting));
        let of_databases = [("--tables", ""), ("--table-size", "")];
        let known = rows("option").any(|[_, of, ..]| of == test);
        for (option, setting) in of_test.chain(of_databases.into_iter().filter(|_| !known)) {
            let given = self.settings.get(setting).map(String::as_str);
            // The default is unknown.
            let asked = || self.option(option).filter(|value| setting.is_empty() && *value != "seq");
            name.extend(given.or_else(asked).map(|value| format!(" {option}={value}")));
        }
        (name, None)
    }

    /// Whether the run ended after a given number of events, so that its duration shows the speed. Otherwise, it ran for a fixed time.
    fn counted(&self) -> bool {
        let option = |name| self.option(name).and_then(parse_plain);
        // Up to version 0.5, the default was 10,000 events.
        let old = match &self.version {
            Some(version) => version.starts_with("0."),
            None => !self.figures.contains_key("eps") && self.test == Some("cpu"),
        };
        option("--time").is_none_or(|time| time <= 0.0)
            && option("--events").map_or(old, |events| events > 0.0)
    }
}

impl Reader for SysbenchReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        let printed = version(text);
        if self.over || printed.is_some() && self.begun {
            return Fit::Over;
        }
        self.begun = true;
        if let Some(printed) = printed {
            sink.version(printed);
            self.version = Some(printed.to_owned());
            return Fit::Taken;
        }
        // `6850.19 MiB transferred (6843.84 MiB/sec)`. Up to version 0.5, the unit is MB, which is also 2^20 bytes.
        if let Some((_, rest)) = text.split_once(" transferred (") {
            let rate = scan::quantity(rest.trim_end_matches(')'), &[("MiB/sec", 0), ("MB/sec", 0)]);
            self.test = Some("memory");
            return self.set("bytes", rate.map(|mib| mib * 1_048_576.0), line);
        }
        if let Some([_, _, test, mode]) = rows("test").find(|[_, start, ..]| text.starts_with(start)) {
            self.test = Some(test);
            let mode = Some(mode).filter(|mode| !mode.is_empty());
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
        self.over = text.starts_with("execution time (avg/stddev):");
        let means = [("events (avg/stddev):", 0), ("execution time (avg/stddev):", 1)];
        if let Some((at, rest)) = scan::find_start(&means, text) {
            self.of_threads[at] = rest.split('/').next().and_then(|mean| parse_plain(mean.trim()));
        }
        if scan::begins(text, TALK) || is_row_or_progress(text) {
            return Fit::Taken;
        }
        scan::pair(text).map_or(Fit::Between, |(label, value)| self.labelled(label, value, line))
    }

    fn end(&mut self, sink: &mut Sink) {
        let (workload, doubt) = self.workload();
        let paced = self.settings.get("paced").map(|rate| rate.trim_end_matches("/sec"));
        let doubt = doubt.or(paced.map(|rate| format!("limited to {rate} transactions per second")));
        let given = self.settings.get("threads").map(String::as_str).or(self.option("--threads"));
        let threads = given.and_then(parse_whole);
        // If the header is missing, the number of threads is derived from the number of events per thread.
        let [of_one, within] = self.of_threads;
        let all = self.figures.get("events").map(|(events, _)| *events);
        let counted = all.zip(of_one).map(|(all, one)| all / one).filter(|threads| *threads >= 1.0);
        let counted = counted.filter(|threads| (threads - threads.round()).abs() < 0.01 && *threads < 1e5);
        let threads = threads.or(counted.map(|threads| threads.round() as u64));
        let total = self.figures.get("seconds").map(|(seconds, _)| *seconds);
        let mostly_around = within.zip(total).filter(|(within, total)| *within < *total / 2.0);
        let doubt = doubt.map(record::Text::from).or(mostly_around.map(|(within, total)| {
            record::text!(
                "only {within} of {total} s were spent in events: the result depends mainly on the clock source",
                within = format!("{within:.1}"),
                total = format!("{total:.0}")
            )
        }));
        let place =
            |name: &str| Labels::new().with_label(Label::Workload, name).with_known(Label::Threads, threads);
        let mut push = |name: &str, value: f64, line: &PendingLine, work: &str, from: Option<&str>| {
            let mut m = Measurement::exact(metrics::WORKLOAD_THROUGHPUT, place(name), vec![value])
                .with_detail(detail::WORK, work)
                .with_known_detail(detail::FROM, from);
            self.latencies.iter().for_each(|(key, ms)| m.detail.set_named(key, *ms));
            m.doubt = doubt.clone().map(Into::into);
            sink.add_figure(m, line.line());
        };
        let figure = |name: &str| self.figures.get(name);
        let mut database = false;
        for kind in ["transactions", "queries"] {
            if let Some((value, line)) = figure(kind) {
                push(&format!("{workload} {kind}"), *value, line, kind, None);
                database = true;
            }
        }
        let events = figure("events").map(|(events, _)| *events);
        let seconds = figure("seconds").filter(|(seconds, _)| *seconds > 0.0 && !database);
        if let Some((value, line)) = figure("bytes") {
            push(&workload, *value, line, "B", None);
        } else if let Some((value, line)) = figure("eps") {
            push(&workload, *value, line, "events", None);
        } else if let Some(((seconds, line), events)) = seconds.zip(events) {
            // Since 1.0, both the CPU test and the memory test print their own rate.
            let newer = self.version.as_deref().is_some_and(|version| !version.starts_with("0."));
            if self.test == Some("memory") || self.test == Some("cpu") && newer {
                let why = "the line with the rate is missing";
                return sink.withhold(metrics::WORKLOAD_THROUGHPUT, why, line.line());
            }
            push(&workload, events / seconds, line, "events", Some("events over total time"));
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
