//! Intel Memory Latency Checker, versions 2 to 3.11: idle latencies and bandwidths between nodes, peak bandwidths,
//! latencies under load, and latencies of transfers between caches. Its megabyte is 10^6 bytes.

use crate::reading::*;

/// The part of an output that begins with this heading, and the text after the heading.
fn part_of(text: &str) -> Option<(&'static str, &str)> {
    let mut parts = scan::rows::<2>(include_str!("mlc.txt"));
    parts.find_map(|[heading, part]| Some((part, text.strip_prefix(heading)?)))
}

/// The text before the node numbers in the header of a matrix.
const HEADS: &str = "Writer Numa Node|Reader Numa Node|Numa node|Numa Node|Memory node|Socket|Node";

/// Mixes of reads and writes, by their names in the list of peak bandwidths, in lower case.
const MIXES: &str = "all reads=read|3:1 reads-writes=3:1 reads-writes|2:1 reads-writes=2:1 reads-writes|\
    1:1 reads-writes=1:1 reads-writes|stream-triad like=triad";

/// Lines without results.
const TALK: &str = "Bandwidths are in|Using |Will take|Inject|Delay|=====|***|Unable to|Latency and|Please ";

/// `Intel(R) Memory Latency Checker - v3.9`
fn version(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("Intel(")?.split_once("Memory Latency Checker")?;
    Some(rest.trim_start_matches(|c: char| "-vV".contains(c) || c.is_whitespace()))
}

/// The nanoseconds of `Each iteration took 250.3 core clocks (    78.2    ns)`.
fn iteration(text: &str) -> Option<f64> {
    let (_, inner) = text.strip_prefix("Each iteration took ")?.split_once('(')?;
    scan::quantity(inner.strip_suffix(')')?, &[("ns", 0)])
}

/// Minimum size, in bytes, of a buffer that does not fit in the caches of one CPU: twice the largest last-level cache of a die. If every
/// thread has its own buffer, `LEAST_OF_THREADS` suffices.
const LEAST_OF_MEMORY: u64 = 192 << 20;
const LEAST_OF_THREADS: u64 = 32 << 20;

/// The bytes in `Using buffer size of 10.000MiB`, which is followed by more words in some parts; older versions print
/// `MB`.
fn buffer(text: &str) -> Option<u64> {
    let rest = text.strip_prefix("Using buffer size of ")?;
    let size = rest.split(['/', ' ']).next()?;
    let of_each = rest.contains("/thread");
    let (bytes, _) = crate::facts::parse_size(size)?;
    Some(if of_each && bytes >= LEAST_OF_THREADS { LEAST_OF_MEMORY.max(bytes) } else { bytes })
}

/// Intel MLC.
pub(super) const MLC: Tool = Tool {
    name: "Intel MLC",
    opens: |line, _| {
        let text = line.text.trim();
        version(text).is_some() || part_of(text).is_some() || iteration(text).is_some()
    },
    reader: |_| Box::new(MlcReader::default()),
};

#[derive(Default)]
struct MlcReader {
    version: Option<String>,
    part: Option<&'static str>,
    done: Vec<&'static str>,
    /// Node numbers of the matrix's columns.
    columns: Vec<u64>,
    /// Whether the address is in the memory of the writer's node; otherwise, it is in that of the reader's node.
    writer_owns: Option<bool>,
    traffic: Option<&'static str>,
    /// The traffic that the command line requests, if it is known.
    asked: Option<&'static str>,
    random: bool,
    /// Bytes of the buffer that each thread reads, if known.
    buffer: Option<u64>,
    begun: bool,
    /// Whether rows have been read below this heading.
    has_rows: bool,
    /// Whether a second table has begun below these rows.
    in_second: bool,
}

impl MlcReader {
    fn figure(&self, metric: record::Metric, place: Labels, value: f64) -> Measurement {
        let mut m = Measurement::exact(metric, place, vec![value]);
        let version = self.version.iter().map(|version| format!(" {version}"));
        m.method = Some(format!("Intel MLC{}", version.collect::<String>()));
        m
    }

    /// The header of a matrix, `Numa node         0         1`; the line above it contains no node numbers and is ignored.
    fn head(&mut self, text: &str) {
        let words = text.split_whitespace().skip_while(|word| parse_whole(word).is_none());
        if let Some(nodes) = scan::all(words, parse_whole).filter(|nodes| !nodes.is_empty()) {
            self.columns = nodes;
            self.in_second |= self.has_rows && self.part != Some("caches");
        }
    }

    /// A row of a matrix: its node, then a number or `-` for each column.
    fn row(&mut self, part: &str, line: Line, sink: &mut Sink) -> Option<()> {
        let words = scan::words(line.text);
        let (from, cells) = words.split_first()?;
        let from = parse_whole(from)?;
        let exponent = if part == "between" { 6 } else { 0 };
        let cell = |cell: &str| match cell {
            "-" | "N/A" => Some(None),
            cell => parse_scaled(cell, exponent).map(Some),
        };
        let cells = scan::all(cells.iter().copied(), cell)?;
        (!cells.is_empty() && cells.len() == self.columns.len()).then_some(())?;
        let metric = match part {
            "between" => metrics::NUMA_BANDWIDTH,
            "caches" => metrics::CORE_TO_CORE_LATENCY,
            _ => metrics::NUMA_LATENCY,
        };
        (self.has_rows, self.begun) = (true, true);
        if self.in_second {
            let why = "a second table under one heading: the meaning of its values is unknown";
            sink.withhold(metric, why, line);
            return Some(());
        }
        for (to, value) in self.columns.iter().zip(cells) {
            let Some(value) = value else { continue };
            let place = if part == "caches" {
                let home = self.writer_owns.map(|writer| if writer { from } else { *to });
                Labels::new()
                    .with_label(Label::State, "hitm")
                    .with_label(Label::WriterNode, from)
                    .with_label(Label::ReaderNode, *to)
                    .with_known(Label::Home, home)
            } else {
                let op = self.traffic.filter(|_| part == "between");
                Labels::new()
                    .with_label(Label::From, from)
                    .with_label(Label::To, *to)
                    .with_known(Label::Op, op)
            };
            let access = self.random.then_some("random");
            let m = self.figure(metric, place, value).with_known_detail(detail::ACCESS, access);
            sink.add_figure(m, line);
        }
        Some(())
    }

    /// A line with one result.
    fn single(&self, text: &str) -> Option<Measurement> {
        if let Some(ns) = iteration(text) {
            // A buffer that may fit in the caches does not measure memory.
            let small = self.buffer.filter(|bytes| *bytes < LEAST_OF_MEMORY);
            let place = |bytes| Labels::new().with_label(Label::Bytes, bytes);
            return Some(match small {
                Some(bytes) => self.figure(metrics::LOAD_LATENCY, place(bytes), ns),
                None => self.figure(metrics::NUMA_LATENCY, Labels::new(), ns),
            });
        }
        let words = scan::words(text);
        match (self.part?, words.as_slice()) {
            // `ALL Reads        :    225097.1`: the sum over all threads, whose number is unknown. Writes are counted as
            // memory traffic.
            ("peak", _) => {
                let (front, value) = text.rsplit_once(':')?;
                let op = scan::renamed(MIXES, &front.trim().to_ascii_lowercase())?;
                let place = Labels::new().with_label(Label::Op, op);
                Some(self.figure(metrics::MEMORY_BANDWIDTH, place, parse_scaled(value, 6)?))
            }
            // ` 00000    261.50     225452.5`: delay, ns, MB/s.
            ("loaded", [delay, ns, rate])
                if delay.len() == 5 && delay.bytes().all(|b| b.is_ascii_digit()) =>
            {
                let rate = parse_scaled(rate, 6).filter(|rate| *rate >= 0.0)?;
                let place = Labels::new().with_label(Label::Bandwidth, rate.round());
                let m = self.figure(metrics::MEMORY_LOADED_LATENCY, place, parse_decimal(ns)?);
                Some(m.with_detail(detail::DELAY, *delay).with_known_detail(detail::TRAFFIC, self.traffic))
            }
            // `Local Socket L2->L2 HIT  latency    51.6`
            ("caches", ["Local", "Socket", "L2->L2" | "LLC->LLC", state, "latency", value])
            | ("caches", ["LLC->LLC", state, "latency", value]) => {
                let state = scan::find(&[("HIT", "hit"), ("HITM", "hitm")], state)?;
                let place = Labels::new().with_label(Label::State, state);
                let m = self.figure(metrics::CORE_TO_CORE_LATENCY, place, parse_decimal(value)?);
                Some(m.with_detail(detail::WITHIN, "package"))
            }
            _ => None,
        }
    }
}

impl Reader for MlcReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if let Some(version) = version(text) {
            if self.version.is_some() || self.begun {
                return Fit::Over;
            }
            sink.version(version);
            self.version = Some(version.to_owned());
        } else if let Some((part, rest)) = part_of(text) {
            if self.done.contains(&part) {
                return Fit::Over;
            }
            self.done.push(part);
            self.columns.clear();
            (self.part, self.has_rows, self.in_second) = (Some(part), false, false);
            (self.traffic, self.random) = (self.asked, rest.contains("random"));
        } else if text.to_ascii_lowercase().starts_with("using read-only traffic") {
            self.traffic = Some("read");
            (self.has_rows, self.in_second) = (false, false);
            // MLC does not print this line for idle latencies, so the text is an excerpt without the heading of the bandwidths between
            // nodes.
            if self.part == Some("latency") {
                self.part = Some("between");
                self.columns.clear();
            }
        } else if let Some(options) = text.strip_prefix("Command line parameters:") {
            // Without -W, MLC only reads.
            self.asked = (!options.contains("-W")).then_some("read");
        } else if text.starts_with("Remote Socket L2->L2") {
            self.writer_owns = Some(text.contains("writer"));
            self.columns.clear();
        } else if let Some(bytes) = buffer(text) {
            self.buffer = Some(bytes);
        } else if let Some(m) = self.single(text) {
            self.begun = true;
            let cached = self.buffer.filter(|bytes| *bytes < LEAST_OF_MEMORY);
            match cached.filter(|_| m.metric == metrics::MEMORY_BANDWIDTH) {
                Some(bytes) => {
                    let size = record::units::bytes(bytes);
                    let why = format!("buffers of {size} fit in the caches: this is not memory bandwidth");
                    sink.withhold(m.metric, why, line);
                }
                None => sink.add_figure(m, line),
            }
        } else {
            if text.starts_with("Bandwidths are in") && self.part == Some("latency") {
                self.part = None;
            }
            let matrix = self.part.filter(|part| !matches!(*part, "peak" | "loaded"));
            if matrix.is_some() && scan::begins(text, HEADS) {
                self.head(text);
            } else if !scan::begins(text, TALK) {
                let row = matrix.and_then(|part| self.row(part, line, sink));
                return row.map_or(Fit::Between, |()| Fit::Taken);
            }
        }
        Fit::Taken
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
