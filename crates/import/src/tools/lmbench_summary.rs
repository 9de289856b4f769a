//! The tables of lmbench's `make see`, of which records have: null calls, switches of two processes without data, reads and
//! writes of memory. The rule below each head says where the columns are, since cells may be empty.

use record::{Label, Labels, Measurement, detail};

use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};

/// How the tables begin, and what is said above one of latencies.
const TITLES: &[&str] = &[
    "Basic ",
    "Processor, Processes",
    "Context switching",
    "*Local* ",
    "*Remote* ",
    "File & VM",
    "Memory latencies",
];

/// lmbench's summary.
pub(super) const LMBENCH_SUMMARY: Tool = Tool {
    name: "lmbench summary",
    opens: |line, _| is_head(line.text) || title(line.text),
    reader: |_| Box::new(SummaryReader::default()),
};

fn is_head(text: &str) -> bool {
    text.trim_start().starts_with("L M B E N C H")
}

fn title(text: &str) -> bool {
    TITLES.iter().any(|title| text.starts_with(title)) && text.contains(" - ") && text.contains(" is better")
}

/// The columns of a rule `--------- ------------- ---- ----`, as places in characters.
fn rule(text: &str) -> Option<Vec<(usize, usize)>> {
    let mut spans = Vec::new();
    let mut from = 0;
    for word in text.trim_end().split(' ') {
        let length = word.len();
        if length > 0 {
            word.bytes().all(|b| b == b'-').then_some(())?;
            spans.push((from, from + length));
        }
        from += length + 1;
    }
    (spans.len() > 2).then_some(spans)
}

#[derive(Default)]
struct SummaryReader {
    /// The lines above the rule, since the title.
    head: Vec<String>,
    columns: Vec<(usize, usize)>,
    in_table: bool,
    /// Each figure: metric and operation, value, line.
    found: Vec<(&'static str, &'static str, f64, PendingLine)>,
    /// A host's row of a table, to know another's.
    hosts: Vec<String>,
}

/// The metric, its operation and the power of ten of its unit, by what the head says above a column.
fn metric(head: &str) -> Option<(&'static str, &'static str, i32)> {
    Some(match head {
        // Microseconds, and MB of 10^6 bytes.
        "null call" => ("cost.syscall", "", 3),
        "2p/0K ctxsw" => ("cost.context_switch", "", 3),
        "Mem read" => ("memory.bandwidth", "read", 6),
        "Mem write" => ("memory.bandwidth", "write", 6),
        _ => return None,
    })
}

/// What stands between two places of a line.
fn cut(text: &str, from: usize, to: usize) -> &str {
    let at = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(at, _)| at);
    text.get(at(from)..at(to)).unwrap_or_default().trim()
}

impl SummaryReader {
    fn row(&mut self, line: Line) -> Fit {
        let host = cut(line.text, 0, self.columns.first().map_or(0, |column| column.1));
        if host.is_empty() {
            return Fit::Between;
        }
        if !self.hosts.iter().any(|known| known == host) {
            self.hosts.push(host.to_owned());
        }
        for pair in self.columns.windows(2).skip(1) {
            let (from, to) = (pair[0].1, pair[1].1);
            let words: Vec<&str> =
                self.head.iter().map(|head| cut(head, from, to)).filter(|word| !word.is_empty()).collect();
            let Some((metric, op, exponent)) = metric(&words.join(" ")) else { continue };
            let cell = cut(line.text, from, to);
            // Values of 10,000 and more are printed as `11.K`: two digits of them.
            if let Some(value) =
                numbers::parse_scaled(cell, exponent).filter(|_| numbers::parse_plain(cell).is_some())
            {
                self.found.push((metric, op, value, line.into()));
            }
        }
        Fit::Taken
    }
}

impl Reader for SummaryReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = line.text.trim_end();
        if text.trim().is_empty() {
            self.in_table = false;
            return Fit::Between;
        }
        if title(text) {
            (self.head, self.in_table) = (Vec::new(), false);
            self.columns.clear();
            return Fit::Taken;
        }
        if self.in_table {
            return self.row(line);
        }
        if let Some(columns) = rule(text) {
            (self.columns, self.in_table) = (columns, true);
            return Fit::Taken;
        }
        let whole_rule = text.trim().bytes().all(|b| b == b'-');
        if is_head(text) || whole_rule || text.contains("(Alpha software") || text.contains("(WARNING") {
            return Fit::Taken;
        }
        if self.head.len() < 4 && (self.head.is_empty() == text.starts_with("Host")) {
            self.head.push(text.to_owned());
            return Fit::Taken;
        }
        Fit::Between
    }

    fn end(&mut self, sink: &mut Sink) {
        if let Some((.., line)) = self.found.first() {
            sink.withhold("lmbench", "its other columns have no metric".to_owned(), line.line());
        }
        for (at, (metric, op, value, line)) in self.found.iter().enumerate() {
            let same =
                |(_, other): &(usize, &(&str, &str, f64, PendingLine))| (other.0, other.1) == (*metric, *op);
            if self.hosts.len() > 1 || self.found.iter().enumerate().filter(same).count() > 1 {
                if at == 0 {
                    sink.withhold(
                        metric,
                        "the tables have several rows, of runs or hosts".to_owned(),
                        line.line(),
                    );
                }
                continue;
            }
            let place = match *op {
                "" => Labels::new(),
                op => Labels::new().with_label(Label::Op, op).with_label(Label::BytesCounted, "stream"),
            };
            let mut m = Measurement::exact(metric, place, vec![*value])
                .with_detail(detail::FROM, "lmbench's summary");
            m.method = Some("lmbench".to_owned());
            sink.add_figure(m, line.line());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{figures, import};

    const TABLES: &str = "                 L M B E N C H  3 . 0   S U M M A R Y
                 ------------------------------------
\t\t (Alpha software, do not distribute)

Processor, Processes - times in microseconds - smaller is better
------------------------------------------------------------------------------
Host                 OS  Mhz null null      open slct sig  sig  fork exec sh
                             call  I/O stat clos TCP  inst hndl proc proc proc
--------- ------------- ---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ----
one       Linux 5.4.0-4 2893 0.05 0.10 0.40 0.85 4.02 0.11 0.74 120. 380. 1011

Context switching - times in microseconds - smaller is better
-------------------------------------------------------------------------
Host                 OS  2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K
                         ctxsw  ctxsw  ctxsw ctxsw  ctxsw   ctxsw   ctxsw
--------- ------------- ------ ------ ------ ------ ------ ------- -------
one       Linux 5.4.0-4 1.3300 1.2800        1.4700 1.5400 1.51000 1.62000

*Local* Communication bandwidths in MB/s - bigger is better
-----------------------------------------------------------------------------
Host                OS  Pipe AF    TCP  File   Mmap  Bcopy  Bcopy  Mem   Mem
                             UNIX      reread reread (libc) (hand) read write
--------- ------------- ---- ---- ---- ------ ------ ------ ------ ---- -----
one       Linux 5.4.0-4 3512 7981 4501 6021.3  11.2K 7204.1 5101.0 9612 7012.
";

    #[test]
    fn the_tables_of_one_run_are_read_by_their_columns() {
        assert_eq!(
            figures(&import(TABLES)),
            [
                "cost.syscall: 50",
                "cost.context_switch: 1330",
                "memory.bandwidth op=read bytes_counted=stream: 9612000000",
                "memory.bandwidth op=write bytes_counted=stream: 7012000000",
            ]
        );
    }

    #[test]
    fn rows_of_several_hosts_are_withheld() {
        let two = TABLES.replace("\n\nContext", "\ntwo       Linux 5.4.0-4 2893 0.07 0.10\n\nContext");
        let imported = import(&two);
        assert_eq!((figures(&imported).len(), imported.import.withheld.len()), (0, 2));
    }
}
