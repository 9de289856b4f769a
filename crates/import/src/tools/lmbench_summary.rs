//! The tables of lmbench's `make see`, of which records have: null calls, switches of two processes without data, reads and
//! writes of memory. The rule below each head says where the columns are, since cells may be empty.

use std::collections::BTreeSet;

use crate::reading::*;

/// How the tables begin, and what is said above one of latencies.
const TITLES: &str =
    "Basic |Processor, Processes|Context switching|*Local* |*Remote* |File & VM|Memory latencies";

/// A metric, an operation, and the power of ten of microseconds or MB of 10^6 bytes.
type Column = (&'static str, Option<&'static str>, i32);

/// The columns that are read, by what their head says.
const COLUMNS: &[(&str, Column)] = &[
    ("null call", (metrics::COST_SYSCALL, None, 3)),
    ("2p/0K ctxsw", (metrics::COST_CONTEXT_SWITCH, None, 3)),
    ("Mem read", (metrics::MEMORY_BANDWIDTH, Some("read"), 6)),
    ("Mem write", (metrics::MEMORY_BANDWIDTH, Some("write"), 6)),
];

/// lmbench's summary.
pub(super) const LMBENCH_SUMMARY: Tool = Tool {
    name: "lmbench summary",
    opens: |line, _| line.text.trim_start().starts_with("L M B E N C H") || title(line.text),
    reader: |_| Box::new(SummaryReader::default()),
};

fn title(text: &str) -> bool {
    scan::begins(text, TITLES) && text.contains(" - ") && text.contains(" is better")
}

/// Where the columns of a rule `--------- ------------- ---- ----` end, in bytes.
fn rule(text: &str) -> Option<Vec<usize>> {
    let mut end = 0;
    let ends = text.trim_end().split(' ').map(|word| {
        end += word.len() + 1;
        word.bytes().all(|b| b == b'-').then_some((word.len(), end - 1))
    });
    let ends: Vec<_> = ends.collect::<Option<_>>()?;
    let ends: Vec<usize> = ends.into_iter().filter(|(length, _)| *length > 0).map(|(_, end)| end).collect();
    (ends.len() > 2).then_some(ends)
}

#[derive(Default)]
struct SummaryReader {
    /// The lines above the rule, since the title.
    head: Vec<String>,
    /// Where the columns of the table end that has begun.
    columns: Vec<usize>,
    /// Each figure: metric and operation, value, line.
    found: Vec<(&'static str, Option<&'static str>, f64, PendingLine)>,
    /// Those of the tables' rows.
    hosts: BTreeSet<String>,
}

/// What stands between two places of a line.
fn cut(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to.min(text.len())).unwrap_or_default().trim()
}

impl Reader for SummaryReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = line.text.trim_end();
        if text.is_empty() {
            self.columns.clear();
            return Fit::Between;
        }
        if title(text) {
            self.head.clear();
            self.columns.clear();
        } else if let Some(first) = self.columns.first() {
            let host = cut(text, 0, *first);
            if host.is_empty() {
                return Fit::Between;
            }
            self.hosts.insert(host.to_owned());
            for pair in self.columns.windows(2).skip(1) {
                let of = |line: &str| cut(line, pair[0], pair[1]).to_owned();
                let head: Vec<String> = self.head.iter().map(|line| of(line)).collect();
                let Some((metric, op, exponent)) = scan::find(COLUMNS, head.join(" ").trim()) else {
                    continue;
                };
                // Values of 10,000 and more are printed as `11.K`: two digits of them.
                let cell = Some(of(text)).filter(|cell| numbers::parse_plain(cell).is_some());
                let value = cell.and_then(|cell| numbers::parse_scaled(&cell, exponent));
                self.found.extend(value.map(|value| (metric, op, value, line.into())));
            }
        } else if let Some(columns) = rule(text) {
            self.columns = columns;
        } else if scan::begins(text.trim(), "L M B E N C H|----|(Alpha software|(WARNING") {
        } else if self.head.len() < 4 && self.head.is_empty() == text.starts_with("Host") {
            self.head.push(text.to_owned());
        } else {
            return Fit::Between;
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let Some((first, .., line)) = self.found.first() else { return };
        sink.withhold("lmbench", "its other columns have no metric".to_owned(), line.line());
        let kinds: BTreeSet<_> = self.found.iter().map(|(metric, op, ..)| (metric, op)).collect();
        if self.hosts.len() > 1 || kinds.len() < self.found.len() {
            let why = "the tables have several rows, of runs or hosts".to_owned();
            return sink.withhold(first, why, line.line());
        }
        for (metric, op, value, line) in &self.found {
            let place = Labels::new()
                .with_known(Label::Op, *op)
                .with_known(Label::BytesCounted, op.map(|_| "stream"));
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
