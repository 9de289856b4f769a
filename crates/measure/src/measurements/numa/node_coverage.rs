//! Coverage of nodes: nodes with the same entry share one line.

use crate::reasons::{FREE_MEMORY, HUGE_PAGES};
use record::text::Value;
use record::units::{bytes, percent};
use record::{Coverage, CpuList, Text, Unavailable, text};

/// Nodes with a value that is too low (an amount of memory, or a share of it), each with this value.
type Low = Vec<(u32, f64)>;

/// The range of the values: `8 MiB`, or `8 MiB to 12 MiB`.
fn describe(low: &[(u32, f64)], word: impl Fn(f64) -> String) -> String {
    let values = || low.iter().map(|(_, value)| *value);
    let [low, high] = [values().reduce(f64::min), values().reduce(f64::max)];
    let (low, high) = (word(low.unwrap_or_default()), word(high.unwrap_or_default()));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The coverage entries of all nodes, collected until they are reported.
#[derive(Debug, Default)]
pub(crate) struct NodeCoverage {
    /// Each entry with its nodes. The entries have no names before [`Self::into_entries`].
    said: Vec<(Coverage, CpuList)>,
    short_of_time: Low,
    short_of_memory: Low,
    /// Nodes of which only this share of the memory is on huge pages, which is too little to exclude page walks.
    pub(crate) walks: Low,
}

impl NodeCoverage {
    /// Adds the entry `reported`, which has no name yet, for `node`.
    pub(crate) fn add(&mut self, node: u32, reported: Coverage) {
        match self.said.iter_mut().find(|(said, _)| *said == reported) {
            Some((_, nodes)) => nodes.insert(node),
            None => self.said.push((reported, [node].into_iter().collect())),
        }
    }

    /// Adds that the node's memory is not measured at all, with the reason.
    pub(crate) fn add_skipped(&mut self, node: u32, why: Unavailable) {
        let reason = text!("memory not measured: {why}", why = why.reason);
        self.add(node, Unavailable { reason, ..why }.into_skipped(""));
    }

    /// Adds that the node's memory is smaller than wanted, for lack of time or memory.
    pub(crate) fn add_smaller(&mut self, node: u32, touched: usize, for_time: bool) {
        let low = if for_time { &mut self.short_of_time } else { &mut self.short_of_memory };
        low.push((node, touched as f64));
    }

    /// The entries, with their names. `wanted` is the amount of memory wanted per node, and `more_time` is the remedy
    /// for lack of time.
    pub(crate) fn into_entries(self, wanted: u64, more_time: &str) -> Vec<Coverage> {
        let mut said = self.said;
        let nodes = |low: Low| low.into_iter().map(|(node, _)| node).collect::<CpuList>();
        for (low, what, remedy) in [
            (self.short_of_time, "time", Text::from(more_time)),
            (self.short_of_memory, "free memory", FREE_MEMORY.into()),
        ] {
            let why = text!(
                "{what} sufficed for only {size} instead of {wanted}: bandwidth may include cache hits",
                size = describe(&low, |value| bytes(value as u64)),
                wanted = Value::Bytes(wanted)
            );
            said.push((Coverage::degraded("", why).with_remedy(remedy), nodes(low)));
        }
        let why = text!(
            "only {share} of memory is on huge pages: latencies include page walks",
            share = describe(&self.walks, percent)
        );
        said.push((Coverage::degraded("", why).with_remedy(HUGE_PAGES), nodes(self.walks)));
        said.into_iter()
            .filter(|(_, nodes)| !nodes.is_empty())
            .map(|(mut reported, nodes)| {
                let noun = if nodes.len() == 1 { "node" } else { "nodes" };
                reported.what = format!("numa {noun} {nodes}");
                reported
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_nodes_of_which_the_same_holds_are_one_line() {
        let mut notes = NodeCoverage::default();
        for node in 0..16 {
            notes.add_smaller(node, (8 + node as usize % 2 * 4) << 20, true);
            notes.add_skipped(node, Unavailable::new("mbind is refused: EPERM").with_remedy("allow mbind"));
        }
        notes.walks.push((3, 0.5));
        let lines = notes.into_entries(64 << 20, "linespeed run numa");
        let words: Vec<(&str, String)> = lines.iter().map(|line| (line.what.as_str(), line.why())).collect();
        let words: Vec<(&str, &str)> = words.iter().map(|(what, why)| (*what, why.as_str())).collect();
        assert_eq!(
            words,
            [
                ("numa nodes 0-15", "memory not measured: mbind is refused: EPERM"),
                (
                    "numa nodes 0-15",
                    "time sufficed for only 8 MiB to 12 MiB instead of 64 MiB: bandwidth may include cache hits"
                ),
                ("numa node 3", "only 50.0 % of memory is on huge pages: latencies include page walks"),
            ]
        );
        assert_eq!(lines[1].remedy, Some("linespeed run numa".into()));
        assert!(NodeCoverage::default().into_entries(1, "").is_empty());
    }
}
