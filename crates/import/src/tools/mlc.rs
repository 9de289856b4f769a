//! Intel Memory Latency Checker, versions 2 to 3.11: idle latencies and bandwidths between nodes, peak bandwidths, latency
//! under load, transfers between caches. Its MB are 10^6 bytes.

use record::{Label, Labels, Measurement, detail};

use crate::line::Line;
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

/// Headings of its parts.
const PARTS: &[(&str, Part)] = &[
    ("Measuring idle latencies", Part::Latency),
    ("Measuring Peak", Part::Peak),
    ("Measuring Maximum Memory Bandwidths", Part::Peak),
    ("Measuring Memory Bandwidths between nodes", Part::Between),
    ("Measuring Loaded Latencies", Part::Loaded),
    ("Measuring cache-to-cache", Part::Caches),
];

/// Most nodes of a matrix.
const MOST_NODES: usize = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    None,
    Latency,
    Peak,
    Between,
    Loaded,
    Caches,
}

fn part(text: &str) -> Option<Part> {
    PARTS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, part)| *part)
}

/// `Intel(R) Memory Latency Checker - v3.9`
fn version(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("Intel(")?.split_once("Memory Latency Checker")?;
    Some(rest.trim_matches(|c: char| c == '-' || c.is_whitespace()))
}

/// Intel MLC.
pub(super) const MLC: Tool = Tool { name: "Intel MLC", opens, reader: |_| Box::new(MlcReader::default()) };

fn opens(line: Line, _: Option<&Command>) -> bool {
    let text = line.text.trim();
    version(text).is_some() || part(text).is_some() || iteration(text).is_some()
}

/// What the rows of a matrix say, and who owns the address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Home {
    #[default]
    Unknown,
    Writer,
    Reader,
}

#[derive(Default)]
struct MlcReader {
    version: Option<String>,
    part: Part,
    done: Vec<Part>,
    /// Node numbers of the matrix's columns.
    columns: Vec<u64>,
    home: Home,
    traffic: Option<&'static str>,
    random: bool,
    figures: u64,
    /// The table under this heading has rows.
    has_rows: bool,
    /// Another table has begun after them.
    in_second: bool,
}

impl MlcReader {
    fn method(&self) -> String {
        match &self.version {
            Some(version) => format!("Intel MLC {version}"),
            None => "Intel MLC".to_owned(),
        }
    }

    fn push(&mut self, mut m: Measurement, line: Line, sink: &mut Sink) {
        m.method = Some(self.method());
        self.figures += 1;
        sink.add_figure(m, line);
    }

    /// `Numa node         0         1`, `Memory node`, `Socket`, `Writer Numa Node     0         1`
    fn head(&mut self, text: &str) -> bool {
        let labels = [
            "Writer Numa Node",
            "Reader Numa Node",
            "Numa node",
            "Numa Node",
            "Memory node",
            "Socket",
            "Node",
        ];
        let Some(rest) = labels.iter().find_map(|label| text.strip_prefix(label)) else { return false };
        let numbers: Option<Vec<u64>> =
            rest.split_whitespace().take(MOST_NODES).map(numbers::parse_whole).collect();
        if let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) {
            self.columns = numbers;
            self.in_second |= self.has_rows && self.part != Part::Caches;
        }
        true
    }

    /// A row of a matrix: its node, then a figure or `-` for each column.
    fn row(&mut self, text: &str, line: Line, sink: &mut Sink) -> bool {
        let mut words = text.split_whitespace();
        let Some(from) = words.next().and_then(numbers::parse_whole) else { return false };
        let cells: Vec<&str> = words.take(MOST_NODES).collect();
        let figure = |cell: &&str| matches!(*cell, "-" | "N/A") || numbers::parse_decimal(cell).is_some();
        if cells.is_empty() || cells.len() != self.columns.len() || !cells.iter().all(figure) {
            return false;
        }
        self.has_rows = true;
        if self.in_second {
            let metric = if self.part == Part::Between { "numa.bandwidth" } else { "numa.latency" };
            let why = "a second table under one heading: what its figures are of is not known".to_owned();
            sink.withhold(metric, why, line);
            return true;
        }
        for (to, cell) in self.columns.clone().into_iter().zip(cells) {
            let exponent = if self.part == Part::Between { 6 } else { 0 };
            let Some(value) = numbers::parse_scaled(cell, exponent) else { continue };
            let place = Labels::new();
            let m = match self.part {
                Part::Latency => Measurement::exact(
                    "numa.latency",
                    place.with_label(Label::From, from).with_label(Label::To, to),
                    vec![value],
                ),
                Part::Between => {
                    let place = place
                        .with_label(Label::From, from)
                        .with_label(Label::To, to)
                        .with_label(Label::Op, self.traffic.unwrap_or("read"));
                    Measurement::exact("numa.bandwidth", place, vec![value])
                }
                Part::Caches => {
                    let place = place
                        .with_label(Label::State, "hitm")
                        .with_label(Label::WriterNode, from)
                        .with_label(Label::ReaderNode, to);
                    let place = match self.home {
                        Home::Writer => place.with_label(Label::Home, from),
                        Home::Reader => place.with_label(Label::Home, to),
                        Home::Unknown => place,
                    };
                    Measurement::exact("core_to_core.latency", place, vec![value])
                }
                _ => return false,
            };
            let m = if self.random { m.with_detail(detail::ACCESS, "random") } else { m };
            self.push(m, line, sink);
        }
        true
    }

    /// `ALL Reads        :    225097.1`
    fn peak(&mut self, text: &str, line: Line, sink: &mut Sink) -> bool {
        let Some((front, value)) = text.rsplit_once(':') else { return false };
        let Some(value) = numbers::parse_scaled(value, 6) else { return false };
        let op = match front.trim().to_ascii_lowercase().as_str() {
            "all reads" => "read",
            "3:1 reads-writes" => "3:1 reads-writes",
            "2:1 reads-writes" => "2:1 reads-writes",
            "1:1 reads-writes" => "1:1 reads-writes",
            "stream-triad like" => "triad",
            _ => return false,
        };
        // All threads of the machine; how many they are is not told. Of writes it counts what memory carries.
        let place = Labels::new().with_label(Label::Op, op);
        self.push(Measurement::exact("memory.bandwidth", place, vec![value]), line, sink);
        true
    }

    /// ` 00000    261.50     225452.5`: delay, ns, MB/s.
    fn loaded(&mut self, text: &str, line: Line, sink: &mut Sink) -> bool {
        let words: Vec<&str> = text.split_whitespace().take(4).collect();
        let [delay, ns, rate] = words[..] else { return false };
        let delay_digits = delay.len() == 5 && delay.bytes().all(|b| b.is_ascii_digit());
        let (Some(ns), Some(rate)) = (numbers::parse_decimal(ns), numbers::parse_scaled(rate, 6)) else {
            return false;
        };
        if !delay_digits || rate < 0.0 {
            return false;
        }
        let place = Labels::new().with_label(Label::Bandwidth, rate.round());
        let m = Measurement::exact("memory.loaded_latency", place, vec![ns])
            .with_detail(detail::DELAY, delay)
            .with_detail(detail::TRAFFIC, self.traffic.unwrap_or("read"));
        self.push(m, line, sink);
        true
    }

    /// `Local Socket L2->L2 HIT  latency    51.6`
    fn local(&mut self, text: &str, line: Line, sink: &mut Sink) -> bool {
        let Some(rest) = text.strip_prefix("Local Socket L2->L2 ") else { return false };
        let words: Vec<&str> = rest.split_whitespace().take(4).collect();
        let [state, "latency", value] = words[..] else { return false };
        let state = match state {
            "HIT" => "hit",
            "HITM" => "hitm",
            _ => return false,
        };
        let Some(value) = numbers::parse_decimal(value) else { return false };
        let m = Measurement::exact(
            "core_to_core.latency",
            Labels::new().with_label(Label::State, state),
            vec![value],
        )
        .with_detail(detail::WITHIN, "package");
        self.push(m, line, sink);
        true
    }
}

/// `Each iteration took 250.3 core clocks (    78.2    ns)`
fn iteration(text: &str) -> Option<f64> {
    let rest = text.strip_prefix("Each iteration took ")?;
    let (_, inner) = rest.split_once('(')?;
    numbers::parse_decimal(inner.trim_end().strip_suffix(')')?.trim_end().strip_suffix("ns")?)
}

impl Reader for MlcReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if let Some(version) = version(text) {
            if self.version.is_some() || self.figures > 0 {
                return Fit::Over;
            }
            let version = version.trim_start_matches(['v', 'V']);
            sink.version(version);
            self.version = Some(version.to_owned());
            return Fit::Taken;
        }
        if let Some(part) = part(text) {
            if self.done.contains(&part) {
                return Fit::Over;
            }
            self.done.push(part);
            self.part = part;
            self.columns.clear();
            (self.has_rows, self.in_second) = (false, false);
            self.traffic = None;
            self.random = text.contains("random");
            return Fit::Taken;
        }
        if let Some(ns) = iteration(text) {
            let m = Measurement::exact("numa.latency", Labels::new(), vec![ns]);
            self.push(m, line, sink);
            return Fit::Taken;
        }
        if text.to_ascii_lowercase().starts_with("using read-only traffic") {
            self.traffic = Some("read");
            (self.has_rows, self.in_second) = (false, false);
            // An excerpt without headings: what traffic is said of are no idle latencies.
            if self.part == Part::Latency {
                self.part = Part::Between;
                self.columns.clear();
            }
            return Fit::Taken;
        }
        if text.starts_with("Bandwidths are in") && self.part == Part::Latency {
            self.part = Part::None;
        }
        if text.starts_with("Remote Socket L2->L2") {
            self.home = if text.contains("writer") { Home::Writer } else { Home::Reader };
            self.columns.clear();
            return Fit::Taken;
        }
        let known = match self.part {
            Part::Latency | Part::Between => self.head(text) || self.row(text, line, sink),
            Part::Caches => self.head(text) || self.row(text, line, sink) || self.local(text, line, sink),
            Part::Peak => self.peak(text, line, sink),
            Part::Loaded => self.loaded(text, line, sink),
            Part::None => false,
        };
        let comment = [
            "Bandwidths are in",
            "Using ",
            "Will take",
            "Inject",
            "Delay",
            "=====",
            "Command line parameters",
            "***",
            "Unable to",
            "Latency and",
            "Please ",
        ];
        if known || comment.iter().any(|start| text.starts_with(start)) { Fit::Taken } else { Fit::Between }
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{damaged, figures, import, the};
    use proptest::prelude::*;
    use record::detail;

    const MLC: &str = include_str!("../../tests/texts/mlc-3.9.txt");

    #[test]
    fn every_part_has_its_metric() {
        let imported = import(MLC);
        let all = figures(&imported);
        assert_eq!(
            all,
            [
                "numa.latency from=0 to=0: 77.9",
                "numa.latency from=0 to=1: 143.2",
                "numa.latency from=1 to=0: 144.4",
                "numa.latency from=1 to=1: 78.4",
                "memory.bandwidth op=read: 225097100000",
                "memory.bandwidth op=3:1 reads-writes: 212457800000",
                "memory.bandwidth op=2:1 reads-writes: 210628100000",
                "memory.bandwidth op=1:1 reads-writes: 199315400000",
                "memory.bandwidth op=triad: 190341400000",
                "numa.bandwidth from=0 to=0 op=read: 113139400000",
                "numa.bandwidth from=0 to=1 op=read: 50923400000",
                "numa.bandwidth from=1 to=0 op=read: 50916600000",
                "numa.bandwidth from=1 to=1 op=read: 113249200000",
                "memory.loaded_latency bandwidth=225452500000: 261.5",
                "memory.loaded_latency bandwidth=2867200000: 78.92",
                "core_to_core.latency state=hit: 51.6",
                "core_to_core.latency state=hitm: 51.7",
                "core_to_core.latency home=0 state=hitm writer_node=0 reader_node=1: 111.3",
                "core_to_core.latency home=1 state=hitm writer_node=1 reader_node=0: 111.1",
                "core_to_core.latency home=1 state=hitm writer_node=0 reader_node=1: 175.8",
                "core_to_core.latency home=0 state=hitm writer_node=1 reader_node=0: 176.7",
            ]
        );
        assert_eq!(the(&imported, "numa.latency from=0 to=1").method.as_deref(), Some("Intel MLC 3.9"));
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn one_part_alone_and_a_second_run_are_read() {
        let part = "Measuring idle latencies (for random access) (in ns)...\n\t\tNuma node\nNuma node\t     0\t     1\t\n       \
            0\t  78.6\t 144.1\t\n       1\t 144.7\t  78.5\t\n";
        let imported = import(&format!("{part}\n{part}"));
        assert_eq!((imported.import.outputs.len(), imported.measurements.len()), (2, 8));
        assert_eq!(imported.measurements[0].detail.get(detail::ACCESS), Some("random"));
        let imported = import("Each iteration took 250.3 core clocks (\t78.2\tns)\n");
        assert_eq!(figures(&imported), ["numa.latency: 78.2"]);
    }

    #[test]
    fn a_bandwidth_matrix_without_its_heading_is_no_latency() {
        let text = "Measuring idle latencies (in ns)...\n                Numa node\nNuma node            0       1\n       \
            0          89.3   138.9\n       1         138.9    89.4\n\nUsing Read-only traffic type\n                Numa \
            node\nNuma node            0       1\n       0        69287.5 34400.6\n       1        34407.0 68981.6\n";
        assert_eq!(
            figures(&import(text)),
            [
                "numa.latency from=0 to=0: 89.3",
                "numa.latency from=0 to=1: 138.9",
                "numa.latency from=1 to=0: 138.9",
                "numa.latency from=1 to=1: 89.4",
                "numa.bandwidth from=0 to=0 op=read: 69287500000",
                "numa.bandwidth from=0 to=1 op=read: 34400600000",
                "numa.bandwidth from=1 to=0 op=read: 34407000000",
                "numa.bandwidth from=1 to=1 op=read: 68981600000",
            ]
        );
    }

    #[test]
    fn a_second_matrix_under_one_heading_is_withheld() {
        let text = "Measuring idle latencies (in ns)...\nNuma node            0       1\n       0          89.3   138.9\n       \
            1         138.9    89.4\n\nNuma node            0       1\n       0        69287.5 34180.2\n       1        \
            34201.7 69301.1\n";
        let imported = import(text);
        assert_eq!((figures(&imported).len(), imported.import.withheld.len()), (4, 2), "{imported:?}");
        assert!(imported.measurements.iter().all(|m| m.value() < 200.0));
    }

    proptest! {
        #[test]
        fn no_damaged_output_panics(at in 0usize..3000, cut in 0usize..40, with in "\\PC{0,12}") {
            let _ = import(&damaged(MLC, at, cut, &with));
        }
    }
}
