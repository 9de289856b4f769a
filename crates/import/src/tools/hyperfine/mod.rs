//! hyperfine: the time of each command, with what it used of a CPU. Its text holds means; the runs themselves stand in its JSON
//! and its other exports.

mod exports;

pub(super) use exports::{HYPERFINE_CSV, HYPERFINE_JSON, HYPERFINE_MARKDOWN};

use record::{Label, Labels, Measurement, detail};

use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};
use record::command_line::{comparable_name, conditions};

/// hyperfine.
pub(super) const HYPERFINE: Tool = Tool {
    name: "hyperfine",
    opens: |line, _| command(line.text).is_some(),
    reader: |_| Box::new(HyperfineReader::default()),
};

/// `Benchmark 1: sleep 0.1`; before 1.13 `Benchmark #1: sleep 0.1`.
fn command(text: &str) -> Option<&str> {
    let (number, command) = text.trim().strip_prefix("Benchmark ")?.split_once(": ")?;
    numbers::parse_whole(number.trim_start_matches('#')).map(|_| command.trim()).filter(|c| !c.is_empty())
}

/// The place of a command's figures.
fn labels(command: &str) -> Labels {
    Labels::new().with_label(Label::Workload, comparable_name(command).as_str())
}

/// The command of a heading since 2.0, and its runs: `sleep 0.1 (5 runs)`.
fn command_and_runs(command: &str) -> Option<(&str, u64)> {
    let (command, rest) = command.rsplit_once(" (")?;
    let runs = rest.strip_suffix(" runs)").or_else(|| rest.strip_suffix(" run)"))?;
    Some((command, numbers::parse_whole(runs)?))
}

/// `101.3 ms` at the beginning of a text, in seconds.
fn seconds(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let value = words.next()?;
    let exponent = match words.next()?.trim_end_matches([',', ']']) {
        "s" => 0,
        "ms" => -3,
        "µs" | "us" => -6,
        "ns" => -9,
        _ => return None,
    };
    numbers::parse_scaled(value, exponent)
}

/// Rows of the table since 2.0 that are no time of a run: `Memory  3.9 MiB ± 0.1 MiB …`.
const OTHER_ROWS: &[&str] = &[
    "CPU Time",
    "Memory",
    "CPU Cycles",
    "Instructions",
    "Cache References",
    "Cache Misses",
    "Branch Misses",
];

/// Whether a line is the head of the table since 2.0: `mean ± σ  min … max`, of one run `Value`.
fn is_head(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().is_some_and(|word| word == "mean" || word == "Value")
        && words.all(|word| matches!(word, "±" | "σ" | "min" | "…" | "max"))
}

/// Mean, user and system seconds of `Time (mean ± σ):  101.3 ms ±  0.3 ms  [User: 0.6 ms, System: 0.7 ms]`, of one run
/// `Time (abs ≡):`.
fn times(text: &str) -> Option<(f64, f64, f64)> {
    let (_, rest) = text.trim().strip_prefix("Time (")?.split_once("):")?;
    let after = |name: &str| rest.split_once(name).and_then(|(_, rest)| seconds(rest));
    Some((seconds(rest)?, after("[User:")?, after("System:")?))
}

/// The runs of `Range (min … max):  100.8 ms … 102.0 ms  29 runs`.
fn runs(text: &str) -> Option<u64> {
    let rest = text.trim().strip_prefix("Range (")?.strip_suffix(" runs")?;
    numbers::parse_whole(rest.rsplit(' ').next()?)
}

#[derive(Default)]
struct HyperfineReader {
    command: Option<String>,
    /// Mean seconds: of the command, of user mode and of the kernel.
    found: [Option<(f64, PendingLine)>; 3],
    runs: Option<u64>,
    /// The table since 2.0 has begun.
    table: bool,
}

impl HyperfineReader {
    fn finish(&mut self, sink: &mut Sink) {
        let found = std::mem::take(&mut self.found);
        self.table = false;
        let Some(command) = self.command.take() else { return };
        let (labels, under) = (labels(&command), conditions(&command));
        // One run prints no range.
        let runs = self.runs.take().unwrap_or(1);
        for (at, figure) in found.into_iter().enumerate() {
            let Some((seconds, line)) = figure else { continue };
            let labels = labels.clone();
            let (metric, labels) = match at {
                0 => ("workload.time", labels),
                1 => ("workload.cpu_time", labels.with_label(Label::State, "user")),
                _ => ("workload.cpu_time", labels.with_label(Label::State, "system")),
            };
            let mean = (runs > 1 && at == 0).then_some("mean of its runs");
            let m = Measurement::exact(metric, labels, vec![seconds])
                .with_detail(detail::RUNS, runs)
                .with_known_detail(detail::RUN_UNDER, under.as_deref())
                .with_known_detail(detail::FROM, mean);
            sink.add_figure(m, line.line());
        }
    }

    /// A row of the table since 2.0, whose first figure is the mean.
    fn row(&mut self, line: Line) -> Fit {
        let text = line.text.trim();
        let rows = ["Wall Time", "User Time", "System Time"];
        for (name, found) in rows.iter().zip(&mut self.found) {
            let Some(rest) = text.strip_prefix(name) else { continue };
            let Some(seconds) = seconds(rest).filter(|_| found.is_none()) else { return Fit::Between };
            *found = Some((seconds, line.into()));
            return Fit::Taken;
        }
        if OTHER_ROWS.iter().any(|name| text.starts_with(name)) { Fit::Taken } else { Fit::Between }
    }
}

impl Reader for HyperfineReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        if let Some(command) = command(line.text) {
            self.finish(sink);
            self.command = Some(command.to_owned());
        } else if is_head(line.text) {
            let Some((command, runs)) = self.command.as_deref().and_then(command_and_runs) else {
                return Fit::Between;
            };
            (self.command, self.runs, self.table) = (Some(command.to_owned()), Some(runs), true);
        } else if self.table {
            return self.row(line);
        } else if let Some((mean, user, system)) = times(line.text) {
            if self.found[0].is_some() {
                return Fit::Over;
            }
            self.found = [mean, user, system].map(|seconds| Some((seconds, line.into())));
        } else if let Some(runs) = runs(line.text) {
            self.runs = Some(runs);
        } else {
            let text = line.text.trim();
            let of_the_summary =
                text == "Summary" || text.contains(" times faster than ") || text.ends_with(" ran");
            return if of_the_summary { Fit::Taken } else { Fit::Between };
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        self.finish(sink);
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{damaged, figures, import, the};
    use proptest::prelude::*;
    use record::detail;

    const TWO: &str = include_str!("../../../tests/texts/hyperfine-1.15.txt");

    #[test]
    fn each_command_has_its_own_times() {
        let imported = import(TWO);
        assert_eq!(
            figures(&imported),
            [
                "workload.time workload=sleep 0.05: 0.066",
                "workload.cpu_time workload=sleep 0.05 state=user: 0.0013",
                "workload.cpu_time workload=sleep 0.05 state=system: 0.0005",
                "workload.time workload=sleep 0.1: 0.1118",
                "workload.cpu_time workload=sleep 0.1 state=user: 0.0017",
                "workload.cpu_time workload=sleep 0.1 state=system: 0",
            ]
        );
        assert_eq!(the(&imported, "workload.time workload=sleep 0.1").detail.get(detail::RUNS), Some(5));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn a_single_run_and_the_numbering_of_older_versions_are_read() {
        let one = "Benchmark #1: ./solve\n  Time (abs ≡):        1.5 s               [User: 900.0 µs, System: 0.7 ms]\n";
        let imported = import(one);
        assert_eq!(figures(&imported)[0], "workload.time workload=solve: 1.5");
        assert_eq!(figures(&imported)[1], "workload.cpu_time workload=solve state=user: 0.0009");
        assert_eq!(the(&imported, "workload.time workload=solve").detail.get(detail::RUNS), Some(1));
    }

    #[test]
    fn the_tables_since_version_2_are_read() {
        let two = "Benchmark 1: sleep 0.01 (5 runs)\n                mean     ±       σ          min     …     max\n  \
            Wall Time     11.6 ms  ±     0.7 ms      11.1 ms  …    12.7 ms\n  User Time      1.5 ms  ±     0.7 ms       \
            1.1 ms  …     2.7 ms\n  Memory         3.9 MiB ±     0.1 MiB      3.8 MiB …     3.9 MiB\n\nBenchmark 2: ./solve (1 \
            run)\n               Value\n  Wall Time    1.102 s\n";
        let imported = import(two);
        assert_eq!(
            figures(&imported),
            [
                "workload.time workload=sleep 0.01: 0.0116",
                "workload.cpu_time workload=sleep 0.01 state=user: 0.0015",
                "workload.time workload=solve: 1.102",
            ]
        );
        assert_eq!(the(&imported, "workload.time workload=sleep 0.01").detail.get(detail::RUNS), Some(5));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    proptest! {
        #[test]
        fn no_damaged_output_panics(at in 0usize..600, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged(TWO, at, cut, &with));
        }
    }
}
