//! John McCalpin's STREAM, versions 5.x: the table of best rates, with the printed number of threads and size of the arrays.

use std::collections::BTreeMap;

use record::command_line::CommandLine;

use crate::reading::*;

const OPS: &[(&str, &str)] = &[("Copy:", "copy"), ("Scale:", "scale"), ("Add:", "add"), ("Triad:", "triad")];

/// `Copy:           12345.6     0.012345     0.012345     0.012345`: the operation, its best rate (converted to B/s with the
/// power of ten `exponent`), and its average time in seconds.
fn row(text: &str, exponent: i32) -> Option<(&'static str, f64, f64)> {
    let mut words = text.split_whitespace();
    let op = scan::find(OPS, words.next()?)?;
    let (rate, average) = (parse_scaled(words.next()?, exponent)?, parse_decimal(words.next()?)?);
    parse_decimal(words.next()?).map(|_| (op, rate, average))
}

/// The unit of the rates below `Function    Best Rate MB/s  Avg time …` or, for HPCC, `Function      Rate (GB/s)   Avg time …`, as a
/// power of ten; the inner `None` is an unknown unit.
fn head(text: &str) -> Option<Option<i32>> {
    let units = [("MB/s", 6), ("GB/s", 9)];
    let unit = || units.iter().find(|(unit, _)| text.contains(unit)).map(|(_, exponent)| *exponent);
    (text.contains("Function") && text.contains("Rate")).then(unit)
}

/// Lowest rate, in B/s, that is accepted as MB/s if the header is missing. Smaller numbers may be from HPCC, which prints GB/s.
const LEAST_HEADLESS: f64 = 1e9;

/// STREAM.
pub(super) const MC_CALPIN: Tool = Tool {
    name: "STREAM",
    opens: |line, command| {
        let text = line.text.trim();
        // STREAM's first line is a row of hyphens, which is also common in other texts.
        let rule = text.len() == 61 && text.bytes().all(|b| b == b'-');
        let asked = || command.is_some_and(|command| command.text.contains("stream"));
        rule && asked() || scan::begins(text, STARTS) || head(text).is_some() || row(text, 6).is_some()
    },
    reader: |command| {
        let line = command.map(|command| CommandLine::read(&command.text)).unwrap_or_default();
        Box::new(StreamReader { line, ..StreamReader::default() })
    },
};

const VERSION: &str = "STREAM version";
const STARTS: &str = "STREAM version|Number of Threads requested =|Number of Threads counted =";

/// The name of the number in a line without a rate, empty if there is none, and the rest of the line.
fn other(text: &str) -> Option<(&'static str, &str)> {
    let mut lines = scan::rows::<2>(include_str!("stream.txt"));
    lines.find_map(|[start, name]| Some((name, text.strip_prefix(start)?)))
}

#[derive(Default)]
struct StreamReader {
    line: CommandLine,
    version: Option<String>,
    /// Numbers from the output, by their names in `stream.txt`.
    numbers: BTreeMap<&'static str, u64>,
    /// The operation, its rate and its average time.
    rows: Vec<(&'static str, f64, f64, PendingLine)>,
    /// The unit of the rates, if there is a header.
    unit: Option<Option<i32>>,
    begun: bool,
    /// How many of the lines that normally enclose the thread count were found.
    said: usize,
    failed: bool,
}

impl Reader for StreamReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.starts_with(VERSION) {
            if self.begun {
                return Fit::Over;
            }
            let version = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            version.into_iter().for_each(|version| sink.version(version));
            self.version = version.map(str::to_owned);
        } else if let Some((op, rate, average)) = row(text, self.unit.flatten().unwrap_or(6)) {
            if self.rows.iter().any(|(known, ..)| *known == op) {
                return Fit::Over;
            }
            self.rows.push((op, rate, average, line.into()));
        } else if !self.rows.is_empty() && (head(text).is_some() || scan::begins(text, STARTS)) {
            return Fit::Over;
        } else if let Some(unit) = head(text) {
            self.unit = Some(unit);
        } else if let Some((name, rest)) = other(text) {
            self.numbers.extend(rest.split([' ', ',']).find_map(parse_whole).map(|number| (name, number)));
        } else if text.starts_with("Failed Validation") {
            self.failed = true;
        } else {
            return Fit::Between;
        }
        self.said += usize::from(scan::begins(text, "Each kernel will|Your clock granularity|Your clock "));
        self.begun |= !text.starts_with('-');
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        // If STREAM was built without OpenMP, it has one thread and omits the thread count between these lines.
        let number = |name: &str| self.numbers.get(name).copied();
        let elements = number("elements");
        let alone = elements.filter(|_| self.said == 2).map(|_| 1);
        let set = self.line.conditions.iter().find_map(|s| s.strip_prefix("OMP_NUM_THREADS=")?.parse().ok());
        let threads = number("threads").or(number("requested")).or(alone).or(set);
        let bytes = elements.map(|elements| elements.saturating_mul(number("element bytes").unwrap_or(8)));
        let small = self.rows.iter().any(|(_, rate, ..)| *rate < LEAST_HEADLESS);
        for (op, rate, average, line) in &self.rows {
            let unknown = self.unit.map_or(small, |unit| unit.is_none());
            if self.failed || unknown {
                let why = "STREAM reported a failed validation";
                let why = if self.failed { why } else { "the unit of the rates is unknown" };
                sink.withhold(metrics::MEMORY_BANDWIDTH, why, line.line());
                continue;
            }
            let place = Labels::new()
                .with_label(Label::Op, *op)
                .with_label(Label::BytesCounted, "stream")
                .with_known(Label::Threads, threads)
                .with_known(Label::Cpus, self.line.cpus.as_ref().map(ToString::to_string))
                .with_known(Label::Node, self.line.node());
            let mut m = Measurement::exact(metrics::MEMORY_BANDWIDTH, place, vec![*rate])
                .with_detail(detail::AVERAGE_SECONDS, *average)
                .with_known_detail(detail::VERSION, self.version.as_deref())
                .with_known_detail(detail::ARRAY_BYTES, bytes);
            // The output does not show whether the compiler used stores that bypass the caches.
            m.method = Some("STREAM".to_owned());
            sink.add_figure(m, line.line());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{damaged, figures, import, the};
    use proptest::prelude::*;
    use record::detail;

    const STREAM: &str = include_str!("../../tests/texts/stream-5.10.txt");

    #[test]
    fn the_four_rates_carry_threads_and_arrays() {
        let imported = import(STREAM);
        assert_eq!(
            figures(&imported),
            [
                "memory.bandwidth op=copy bytes_counted=stream threads=2: 13941800000",
                "memory.bandwidth op=scale bytes_counted=stream threads=2: 14293700000",
                "memory.bandwidth op=add bytes_counted=stream threads=2: 15501700000",
                "memory.bandwidth op=triad bytes_counted=stream threads=2: 15484300000",
            ]
        );
        let copy = the(&imported, "memory.bandwidth op=copy bytes_counted=stream threads=2");
        assert_eq!(copy.method.as_deref(), Some("STREAM"));
        assert_eq!(copy.detail.get(detail::ARRAY_BYTES), Some(80_000_000));
        assert_eq!(imported.import.outputs[0].version.as_deref(), Some("5.10"));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn rates_alone_are_read_and_wrong_results_are_not() {
        let rows = "Function    Best Rate MB/s  Avg time     Min time     Max time\nTriad:          15484.3     0.015563     0.015500     0.015700\n";
        assert_eq!(figures(&import(rows)), ["memory.bandwidth op=triad bytes_counted=stream: 15484300000"]);
        let wrong =
            format!("{rows}-------\nFailed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)\n");
        let imported = import(&wrong);
        assert!(imported.measurements.is_empty() && imported.import.withheld.len() == 1);
    }

    #[test]
    fn rates_are_in_the_unit_of_their_head() {
        let hpcc = "Function      Rate (GB/s)   Avg time     Min time     Max time\nCopy:           5.1700       0.0250       0.0249       0.0252\nTriad:          6.0512       0.0320       0.0319       0.0322\n";
        assert_eq!(
            figures(&import(hpcc)),
            [
                "memory.bandwidth op=copy bytes_counted=stream: 5170000000",
                "memory.bandwidth op=triad bytes_counted=stream: 6051200000",
            ]
        );
    }

    #[test]
    fn a_rate_whose_unit_is_not_known_is_withheld() {
        let rows = "Copy:           5.1732       0.0690       0.0619       0.0722\n";
        let gibi = format!("Function      Rate (GiB/s)   Avg time     Min time     Max time\n{rows}");
        let node = "Copy:           351.2000     0.0690       0.0619       0.0722\n";
        for text in [rows, gibi.as_str(), node] {
            let imported = import(text);
            assert_eq!((imported.measurements.len(), imported.import.withheld.len()), (0, 1), "{text}");
        }
        let megabytes = "Copy:        5173.2     0.0690       0.0619       0.0722\n";
        assert_eq!(
            figures(&import(megabytes)),
            ["memory.bandwidth op=copy bytes_counted=stream: 5173200000"]
        );
    }

    #[test]
    fn arrays_are_those_of_the_older_versions_line() {
        let text = "STREAM version $Revision: 5.8 $\nThis system uses 8 bytes per DOUBLE PRECISION word.\n\
                    Array size = 20000000, Offset = 0\nFunction      Rate (MB/s)   Avg time     Min time     Max time\n\
                    Copy:        5173.2000       0.0690       0.0619       0.0722\n";
        let imported = import(text);
        assert_eq!(imported.measurements[0].detail.get(detail::ARRAY_BYTES), Some(160_000_000));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn without_openmp_one_thread_ran() {
        let text: String = STREAM
            .lines()
            .filter(|line| !line.contains("Number of Threads"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(
            the(&import(&text), "memory.bandwidth op=copy bytes_counted=stream threads=1").value(),
            13_941_800_000.0
        );
    }

    proptest! {
        #[test]
        fn no_damaged_output_panics(at in 0usize..3000, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged(STREAM, at, cut, &with));
        }
    }
}
