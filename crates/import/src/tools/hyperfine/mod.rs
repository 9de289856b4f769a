//! hyperfine: the time of each command, with what it used of a CPU. Its text holds means; the runs themselves stand in its JSON
//! and its other exports.

mod exports;

pub(super) use exports::{HYPERFINE_CSV, HYPERFINE_JSON, HYPERFINE_MARKDOWN};

use record::command_line::{comparable_name, conditions};

use crate::reading::*;

/// Its units of time.
const UNITS: &[(&str, i32)] = &[("s", 0), ("ms", -3), ("µs", -6), ("us", -6), ("ns", -9)];

/// hyperfine.
pub(super) const HYPERFINE: Tool = Tool {
    name: "hyperfine",
    opens: |line, _| command(line.text).is_some(),
    reader: |_| Box::new(HyperfineReader::default()),
};

/// `Benchmark 1: sleep 0.1`; before 1.13 `Benchmark #1: sleep 0.1`.
fn command(text: &str) -> Option<&str> {
    let (number, command) = text.trim().strip_prefix("Benchmark ")?.split_once(": ")?;
    parse_whole(number.trim_start_matches('#')).map(|_| command.trim()).filter(|c| !c.is_empty())
}

/// A time of a command.
fn time(command: &str, state: Option<&'static str>, seconds: f64) -> Measurement {
    scan::run_time(Some(&comparable_name(command)), state, seconds)
}

/// The rows of the table since 2.0 whose first figure is a mean, in the order of [`HyperfineReader::found`].
const ROWS: &[(&str, usize)] = &[("Wall Time", 0), ("User Time", 1), ("System Time", 2)];
const OTHER_ROWS: &str =
    "CPU Time|Memory|CPU Cycles|Instructions|Cache References|Cache Misses|Branch Misses";

#[derive(Default)]
struct HyperfineReader {
    command: Option<String>,
    /// Mean seconds: of the command, of user mode and of the kernel.
    found: [Option<(f64, PendingLine)>; 3],
    runs: Option<u64>,
    /// The standard deviation of the time, the least and the most of it, in seconds.
    apart: [Option<f64>; 3],
    /// The table since 2.0 has begun.
    table: bool,
}

impl HyperfineReader {
    /// The head of the table since 2.0, `mean ± σ  min … max`, of one run `Value`: its command told the runs, too, as in
    /// `sleep 0.1 (5 runs)`.
    fn begin_table(&mut self, text: &str) -> Option<()> {
        let mut words = text.split_whitespace();
        matches!(words.next(), Some("mean" | "Value")).then_some(())?;
        words.all(|word| matches!(word, "±" | "σ" | "min" | "…" | "max")).then_some(())?;
        let (command, rest) = self.command.as_deref()?.rsplit_once(" (")?;
        let runs = rest.strip_suffix(" runs)").or_else(|| rest.strip_suffix(" run)"))?;
        let command = command.to_owned();
        (self.runs, self.command, self.table) = (Some(parse_whole(runs)?), Some(command), true);
        Some(())
    }

    /// What is said behind the mean: how far the runs were apart, and the least and the most of them.
    fn further(text: &str) -> Option<f64> {
        scan::quantity(text.trim_start_matches(['±', '…', ' ']), UNITS)
    }

    /// `Time (mean ± σ):  101.3 ms ±  0.3 ms  [User: 0.6 ms, System: 0.7 ms]`, of one run `Time (abs ≡):`.
    fn times(text: &str) -> Option<[f64; 3]> {
        let (_, rest) = text.strip_prefix("Time (")?.split_once("):")?;
        let after = |name: &str| scan::quantity(rest.split_once(name)?.1, UNITS);
        Some([scan::quantity(rest, UNITS)?, after("[User:")?, after("System:")?])
    }
}

impl Reader for HyperfineReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        let range = text.strip_prefix("Range (").and_then(|rest| rest.strip_suffix(" runs"));
        if let Some(command) = command(text) {
            self.end(sink);
            self.command = Some(command.to_owned());
        } else if self.begin_table(text).is_some() {
        } else if let Some((at, rest)) = scan::find_start(ROWS, text).filter(|_| self.table) {
            let seconds = scan::quantity(rest, UNITS).filter(|_| self.found[at].is_none());
            let Some(seconds) = seconds else { return Fit::Between };
            if at == 0 {
                let mut parts = rest.split(['±', '…']).skip(1).map(Self::further);
                let spread = parts.next().flatten();
                let range = rest.split_once('…').map(|(front, most)| (front.trim_end(), most));
                let least = range.and_then(|(front, _)| {
                    let words: Vec<&str> = front.split_whitespace().rev().take(2).collect();
                    Self::further(&format!("{} {}", words.get(1)?, words.first()?))
                });
                self.apart = [spread, least, range.and_then(|(_, most)| Self::further(most))];
            }
            self.found[at] = Some((seconds, line.into()));
        } else if let Some(times) = Self::times(text) {
            if self.found[0].is_some() {
                return Fit::Over;
            }
            self.found = times.map(|seconds| Some((seconds, line.into())));
            self.apart[0] = text.split_once('±').and_then(|(_, rest)| {
                rest.split_once('±').map_or(Self::further(rest), |(_, rest)| Self::further(rest))
            });
        } else if let Some(range) = range {
            // `Range (min … max):  100.8 ms … 102.0 ms  29 runs`
            self.runs = range.rsplit(' ').next().and_then(parse_whole);
            if let Some((least, most)) = range.split_once("):").and_then(|(_, range)| range.split_once('…'))
            {
                (self.apart[1], self.apart[2]) = (Self::further(least), Self::further(most));
            }
        } else if !(self.table && scan::begins(text, OTHER_ROWS)
            || text == "Summary"
            || text.contains(" times faster than ")
            || text.ends_with(" ran"))
        {
            return Fit::Between;
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let Self { command, found, runs, apart, .. } = std::mem::take(self);
        let Some(command) = command else { return };
        let under = conditions(&command);
        // One run prints no range.
        let runs = runs.unwrap_or(1);
        for (state, figure) in [None, Some("user"), Some("system")].into_iter().zip(found) {
            let Some((seconds, line)) = figure else { continue };
            let mean = (runs > 1 && state.is_none()).then_some("mean of its runs");
            let [deviation, least, most] = if state.is_none() { apart } else { [None; 3] };
            let m = time(&command, state, seconds)
                .with_known_detail(detail::STANDARD_DEVIATION, deviation)
                .with_known_detail(detail::LEAST, least)
                .with_known_detail(detail::MOST, most)
                .with_detail(detail::RUNS, runs)
                .with_known_detail(detail::RUN_UNDER, under.as_deref())
                .with_known_detail(detail::FROM, mean);
            sink.add_figure(m, line.line());
        }
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
