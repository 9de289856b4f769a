//! `numastat -m`: the memory of each node, in MB of 2^20 bytes.

use crate::facts::Numactl;
use crate::reading::*;

/// The beginning of an output.
const HEAD: &str = "Per-node system memory usage (in MB";

/// Allowed difference between the sum of the printed values and the printed sum, in MB per value, because some versions print whole MB.
const ROUNDED_BY: f64 = 1.0;

/// The rows that are read, and their fields.
const ROWS: [(&str, &str); 2] = [("MemTotal", "bytes"), ("MemFree", "free_bytes")];

/// `numastat -m`.
pub(super) const NUMASTAT: Tool = Tool {
    name: "numastat -m",
    opens: |line, _| line.text.trim_start().starts_with(HEAD),
    reader: |_| Box::new(NumastatReader::default()),
};

#[derive(Default)]
struct NumastatReader {
    head: bool,
    /// The node of each column in this part of the table; `None` for the column with the sum over the nodes.
    columns: Vec<Option<u32>>,
    /// The values of each row so far, by column.
    rows: [Vec<(Option<u32>, f64, PendingLine)>; 2],
}

/// `Node 0          Node 1           Total`
fn columns(text: &str) -> Option<Vec<Option<u32>>> {
    let text = text.replace("Node ", "Node");
    let node = |word: &str| match word.strip_prefix("Node") {
        Some(id) => id.parse().ok().map(Some),
        None => (word == "Total").then_some(None),
    };
    scan::all(scan::words(text.trim()), node).filter(|columns| !columns.is_empty())
}

impl Reader for NumastatReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.starts_with(HEAD) {
            return if std::mem::replace(&mut self.head, true) { Fit::Over } else { Fit::Taken };
        }
        if let Some(columns) = columns(text) {
            self.columns = columns;
            return Fit::Taken;
        }
        if scan::begins(text, "-----|Token ") || text.is_empty() {
            return if text.is_empty() { Fit::Between } else { Fit::Taken };
        }
        let (name, figures) = text.split_once(' ').unwrap_or((text, ""));
        let figures = scan::all(scan::words(figures), parse_plain);
        let Some(figures) = figures.filter(|figures| !self.columns.is_empty() && !figures.is_empty()) else {
            return if self.columns.is_empty() { Fit::Between } else { Fit::Over };
        };
        if figures.len() != self.columns.len() {
            let why = format!("{} values for {} columns", figures.len(), self.columns.len());
            sink.withhold("machine.nodes[].bytes", why, line);
        } else if let Some(at) = ROWS.iter().position(|(row, _)| *row == name) {
            let cells = self.columns.iter().zip(figures);
            self.rows[at].extend(cells.map(|(node, value)| (*node, value, line.into())));
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let mut output = Numactl::default();
        for ((_, field), row) in ROWS.into_iter().zip(std::mem::take(&mut self.rows)) {
            let Some((.., line)) = row.first() else { continue };
            let (sums, nodes): (Vec<_>, Vec<_>) = row.iter().partition(|(node, ..)| node.is_none());
            let all: f64 = nodes.iter().map(|(_, value, _)| value).sum();
            // If the column with the sum is missing, the columns of nodes may also be missing.
            let sum = sums.last().map_or(f64::INFINITY, |(_, sum, _)| *sum);
            if (sum - all).abs() > ROUNDED_BY * (nodes.len() + 1) as f64 {
                let why = format!("the nodes add up to {all:.2} MB, which differs from the printed total");
                sink.withhold(format!("machine.nodes[].{field}"), why, line.line());
                continue;
            }
            for (node, value, line) in nodes {
                let Some(id) = *node else { continue };
                let bytes = (value * 1_048_576.0).round() as u64;
                let fact = sink.fact(format!("machine.nodes[{id}].{field}"), bytes, line.line());
                let node = output.nodes.entry(id).or_default();
                *(if field == "bytes" { &mut node.bytes } else { &mut node.free }) = Some(fact);
            }
        }
        sink.draft.facts.numactl.extend((!output.nodes.is_empty()).then_some(output));
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
    fn a_sum_of_rounded_figures_is_theirs() {
        let text = "Per-node system memory usage (in MBs):\n         Node 0 Node 1 Total\n         ------ ------ -----\n\
                    MemTotal   1000   1000  1999\nMemFree     100    200   300\n";
        let imported = import(text);
        let nodes: Vec<_> = imported.machine.nodes.iter().map(|node| node.bytes).collect();
        assert_eq!(nodes, [Some(1000 << 20); 2]);
        assert!(imported.import.withheld.is_empty(), "{:?}", imported.import.withheld);
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
