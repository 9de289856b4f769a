//! hyperfine: the time of each command, with what it used of a CPU. Its text holds means; the runs themselves stand in its JSON
//! and its other exports.

mod exports;

pub(super) use exports::{HYPERFINE_CSV, HYPERFINE_JSON, HYPERFINE_MARKDOWN};

use record::{Label, Labels, Measurement, detail};

use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};
use record::command_line::comparable_name;

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

/// `101.3 ms` at the beginning of a text, in seconds.
fn seconds(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let value = numbers::parse_decimal(words.next()?)?;
    let unit = words.next()?.trim_end_matches([',', ']']);
    Some(match unit {
        "s" => value,
        "ms" => value / 1e3,
        "µs" => value / 1e6,
        _ => return None,
    })
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
    found: Option<(f64, f64, f64, PendingLine)>,
    runs: Option<u64>,
}

impl HyperfineReader {
    fn finish(&mut self, sink: &mut Sink) {
        let (Some(command), Some((mean, user, system, line))) = (self.command.take(), self.found.take())
        else {
            return;
        };
        let labels = labels(&command);
        // One run prints no range.
        let runs = self.runs.take().unwrap_or(1);
        let figure = |metric, labels, seconds| {
            Measurement::exact(metric, labels, vec![seconds]).with_detail(detail::RUNS, runs)
        };
        let time = figure("workload.time", labels.clone(), mean);
        let mean = (runs > 1).then_some("mean of its runs");
        sink.add_figure(time.with_known_detail(detail::FROM, mean), line.line());
        for (state, seconds) in [("user", user), ("system", system)] {
            let labels = labels.clone().with_label(Label::State, state);
            sink.add_figure(figure("workload.cpu_time", labels, seconds), line.line());
        }
    }
}

impl Reader for HyperfineReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        if let Some(command) = command(line.text) {
            self.finish(sink);
            self.command = Some(command.to_owned());
        } else if let Some((mean, user, system)) = times(line.text) {
            if self.found.is_some() {
                return Fit::Over;
            }
            self.found = Some((mean, user, system, line.into()));
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

    proptest! {
        #[test]
        fn no_damaged_output_panics(at in 0usize..600, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged(TWO, at, cut, &with));
        }
    }
}
