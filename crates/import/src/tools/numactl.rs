//! `numactl -H`: nodes, their CPUs and memory, and the firmware's distances.

use record::CpuList;

use crate::facts::{self, Numactl as Facts};
use crate::reading::*;

/// Maximum number of accepted nodes; Linux has at most 1024.
const MOST_NODES: u32 = 1024;

/// A node's number.
fn node(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|node| *node < MOST_NODES)
}

/// `node 0 cpus: 0 1 2`: the node, the label, and the value.
fn of_node(text: &str) -> Option<(u32, &str, &str)> {
    let (head, value) = scan::pair(text.strip_prefix("node ")?)?;
    let (id, what) = head.split_once(' ')?;
    // `node 0 cpus(4): 0-3` of --cpu-compress.
    let what = what.split('(').next()?.trim();
    Some((node(id)?, what, value)).filter(|_| scan::is_one_of(what, "cpus|size|free|memory"))
}

/// The number of nodes.
fn available(text: &str) -> Option<u32> {
    text.strip_prefix("available:")?.split_whitespace().next()?.parse().ok()
}

/// Numbers separated by spaces, at least one.
fn distances(text: &str) -> Option<Vec<u32>> {
    scan::all(scan::words(text), |word| word.parse().ok()).filter(|numbers| !numbers.is_empty())
}

/// `0 1 2 3`, since 2.0.18 `0-3 8-11`.
pub(super) fn cpus(list: &str) -> Option<CpuList> {
    // --cpu-compress appends the number of CPUs in brackets.
    let list = list.split('(').next().unwrap_or_default();
    list.split([' ', '\t', ',']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",").parse().ok()
}

/// `numactl -H`.
pub(super) const NUMACTL: Tool = Tool {
    name: "numactl -H",
    opens: |line, _| {
        let text = line.text.trim();
        text.starts_with("node distances:")
            || available(text).is_some()
            || of_node(text).is_some_and(|(_, what, _)| what == "cpus")
    },
    reader: |_| Box::new(Hardware { output: Facts::default(), open: None, rows: false }),
};

struct Hardware {
    output: Facts,
    /// The node whose CPUs continue on a line that contains only numbers, because a mail program wrapped the
    /// text.
    open: Option<u32>,
    /// Whether the distance table has begun.
    rows: bool,
}

impl Reader for Hardware {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = facts::strip_comment(line.text);
        let (open, output) = (self.open.take(), &mut self.output);
        if let Some(count) = available(text) {
            if !output.nodes.is_empty() {
                return Fit::Over;
            }
            if (1..=MOST_NODES).contains(&count) {
                output.available = Some(sink.fact("machine.counts.nodes", count, line));
            } else {
                let why = format!("{count} is not a plausible node count");
                sink.withhold("machine.counts.nodes", why, line);
            }
        } else if let Some((id, "cpus", list)) = of_node(text) {
            let entry = output.nodes.entry(id).or_default();
            if entry.cpus.is_some() {
                return Fit::Over;
            }
            let path = format!("machine.nodes[{id}].cpus");
            match cpus(list) {
                Some(cpus) => entry.cpus = Some(sink.fact(path, cpus, line)),
                None => sink.withhold(&path, format!("{list:.60} is not a CPU list"), line),
            }
            self.open = Some(id);
        } else if let Some((id, what, value)) = of_node(text) {
            let entry = output.nodes.entry(id).or_default();
            let (field, of) =
                if what == "free" { (&mut entry.free, "free_bytes") } else { (&mut entry.bytes, "bytes") };
            let path = format!("machine.nodes[{id}].{of}");
            // numactl prints only MB.
            match facts::parse_size(value).filter(|_| value.ends_with("MB")) {
                Some((bytes, _)) => *field = Some(sink.fact(path, bytes, line)),
                None => sink.withhold(&path, format!("{value:.60} is not a size in MB"), line),
            }
        } else if text == "node distances:" {
            self.rows = true;
        } else if let Some(columns) = text.strip_prefix("node").and_then(distances).filter(|_| self.rows) {
            output.columns = columns;
        } else if let Some((id, row)) = row(text).filter(|_| self.rows) {
            if output.columns.is_empty() || output.distances.contains_key(&id) {
                return Fit::Over;
            }
            output.distances.insert(id, sink.fact(format!("machine.nodes[{id}].distances"), row, line));
        } else {
            let list = open.and_then(|id| output.nodes.get_mut(&id)?.cpus.as_mut());
            let Some((list, more)) = list.zip(cpus(text).filter(|_| !text.is_empty())) else {
                return Fit::Between;
            };
            list.value = list.value.union(&more);
            self.open = open;
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let mut output = std::mem::take(&mut self.output);
        let whole = output.distances.values().all(|row| row.value.len() == output.columns.len())
            && output.columns.iter().all(|node| output.distances.contains_key(node));
        let odd = |distance: &u32| !(1..=255).contains(distance);
        if let Some(row) = output.distances.values().find(|row| !whole || row.value.iter().any(odd)) {
            let range = "distances must be 1 to 255 (ACPI)";
            let why = if whole { range } else { "the distance table is not square: lines are missing" };
            sink.withhold_at("machine.nodes[].distances", why, row.origin.clone());
            output.distances.clear();
        }
        sink.draft.facts.numactl.push(output);
    }
}

/// `  0:  10  21`.
fn row(text: &str) -> Option<(u32, Vec<u32>)> {
    let (id, row) = scan::pair(text)?;
    Some((node(id)?, distances(row)?))
}

#[cfg(test)]
mod tests;
