//! `numastat -m`: the memory of each node, in MB of 2^20 bytes.

use std::collections::BTreeMap;

use crate::facts::{Fact, Numactl};
use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};

/// How an output begins.
const HEAD: &str = "Per-node system memory usage (in MB";

/// How far a sum of printed figures may be from the printed sum, MB for each: they have two digits behind the point.
const ROUNDED_BY: f64 = 0.011;

/// `numastat -m`.
pub(super) const NUMASTAT: Tool = Tool {
    name: "numastat -m",
    opens: |line, _| line.text.trim_start().starts_with(HEAD),
    reader: |_| Box::new(NumastatReader::default()),
};

/// A row's figures by node.
type Row = BTreeMap<u32, (f64, PendingLine)>;

#[derive(Default)]
struct NumastatReader {
    head: bool,
    /// The nodes of the columns of this part of the table, and whether their sum stands behind them.
    columns: Vec<u32>,
    sum: bool,
    total: Row,
    free: Row,
    /// The sums that were printed.
    sums: [Option<(f64, PendingLine)>; 2],
}

/// `Node 0          Node 1           Total`
fn columns(text: &str) -> Option<(Vec<u32>, bool)> {
    let words: Vec<&str> = text.split_whitespace().take(4096).collect();
    let (nodes, sum) = match words.split_last() {
        Some((&"Total", nodes)) => (nodes, true),
        _ => (words.as_slice(), false),
    };
    let pair = |pair: &[&str]| (pair.len() == 2 && pair[0] == "Node").then(|| pair[1].parse().ok()).flatten();
    let nodes: Option<Vec<u32>> = nodes.chunks(2).map(pair).collect();
    nodes.filter(|nodes| !nodes.is_empty() || sum).map(|nodes| (nodes, sum))
}

impl NumastatReader {
    fn row(&mut self, name: &str, figures: &[f64], line: Line) {
        let (row, sum) = match name {
            "MemTotal" => (&mut self.total, &mut self.sums[0]),
            "MemFree" => (&mut self.free, &mut self.sums[1]),
            _ => return,
        };
        for (node, value) in self.columns.iter().zip(figures) {
            row.insert(*node, (*value, line.into()));
        }
        if self.sum
            && let Some(value) = figures.last()
        {
            *sum = Some((*value, line.into()));
        }
    }
}

impl Reader for NumastatReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if text.starts_with(HEAD) {
            if self.head {
                return Fit::Over;
            }
            self.head = true;
            return Fit::Taken;
        }
        let is_rule = text.bytes().all(|b| b == b'-' || b == b' ');
        if is_rule || text.starts_with("Token ") && text.ends_with("not in hash table.") {
            return Fit::Taken;
        }
        if let Some((columns, sum)) = columns(text) {
            (self.columns, self.sum) = (columns, sum);
            return Fit::Taken;
        }
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let figures: Option<Vec<f64>> = words.take(4096).map(numbers::parse_plain).collect();
        let whole = self.columns.len() + usize::from(self.sum);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let Some(figures) = figures.filter(|figures| is_name && whole > 0 && !figures.is_empty()) else {
            return if self.columns.is_empty() { Fit::Between } else { Fit::Over };
        };
        if figures.len() != whole {
            let why = format!("{} figures of {whole} columns", figures.len());
            sink.withhold("machine.nodes[].bytes", why, line);
            return Fit::Taken;
        }
        self.row(name, &figures, line);
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let mut output = Numactl::default();
        for (at, field) in ["bytes", "free_bytes"].into_iter().enumerate() {
            let row = std::mem::take(if at == 0 { &mut self.total } else { &mut self.free });
            let all: f64 = row.values().map(|(value, _)| value).sum();
            let Some((sum, line)) = self.sums[at].take() else {
                if let Some((_, line)) = row.values().next() {
                    let why = "the sum of all nodes is missing, so nodes may be, too".to_owned();
                    sink.withhold(&format!("machine.nodes[].{field}"), why, line.line());
                }
                continue;
            };
            if (sum - all).abs() > ROUNDED_BY * (row.len() + 1) as f64 {
                let why = format!("the nodes have {all:.2} MB together, and the sum says {sum:.2}");
                sink.withhold(&format!("machine.nodes[].{field}"), why, line.line());
                continue;
            }
            for (id, (value, line)) in row {
                let bytes = (value * 1_048_576.0).round() as u64;
                let path = format!("machine.nodes[{id}].{field}");
                let fact: Fact<u64> = sink.fact(path, bytes, line.line());
                let node = output.nodes.entry(id).or_default();
                *(if at == 0 { &mut node.bytes } else { &mut node.free }) = Some(fact);
            }
        }
        if !output.nodes.is_empty() {
            sink.draft.facts.numactl.push(output);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::import;

    const TWO: &str = "\nPer-node system memory usage (in MBs):\n                          Node 0          Node 1           \
        Total\n                 --------------- --------------- ---------------\nMemTotal                64300.12        \
        64500.50       128800.62\nMemFree                 60000.00        60001.00       120001.00\nMemUsed                  \
        4300.12         4499.50         8799.62\nHugePages_Total             0.00            0.00            0.00\n";

    #[test]
    fn each_node_has_its_memory() {
        let imported = import(TWO);
        let nodes: Vec<_> = imported.machine.nodes.iter().map(|node| (node.bytes, node.free_bytes)).collect();
        let mib = |mib: f64| Some((mib * 1_048_576.0_f64).round() as u64);
        assert_eq!(nodes, [(mib(64300.12), mib(60000.0)), (mib(64500.5), mib(60001.0))]);
        assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
    }

    #[test]
    fn a_row_that_does_not_sum_or_lacks_a_figure_is_withheld() {
        for (text, withheld) in [
            (TWO.replace("64500.50", "6450.50"), 1),
            (TWO.replace("       64500.50", ""), 1),
            (TWO.replace("           Total", ""), 3),
        ] {
            let imported = import(&text);
            assert!(imported.machine.nodes.iter().all(|node| node.bytes.is_none()), "{text}");
            assert_eq!(imported.import.withheld.len().min(3), withheld, "{:?}", imported.import.withheld);
        }
    }
}
