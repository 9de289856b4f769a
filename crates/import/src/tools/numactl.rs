//! `numactl -H`: nodes, their CPUs and memory, and the firmware's distances.

use record::CpuList;

use crate::facts::{self, Fact, Numactl as Facts};
use crate::reading::*;

/// Most nodes believed; Linux has at most 1024.
const MOST_NODES: u32 = 1024;

/// What a line tells.
enum Says<'a> {
    Available(u32),
    /// CPUs, size or free memory of a node.
    Node(u32, &'a str, &'a str),
    DistancesFollow,
    Columns(Vec<u32>),
    Row(u32, Vec<u32>),
}

fn says(text: &str) -> Option<Says<'_>> {
    let node = |text: &str| text.trim().parse().ok().filter(|node| *node < MOST_NODES);
    if let Some(rest) = text.strip_prefix("available:") {
        return rest.split_whitespace().next()?.parse().ok().map(Says::Available);
    }
    let Some(rest) = text.strip_prefix("node") else {
        let (id, row) = scan::pair(text)?;
        return Some(Says::Row(node(id)?, numbers(row)?));
    };
    match scan::pair(rest) {
        None => numbers(rest).map(Says::Columns),
        Some(("distances", "")) => Some(Says::DistancesFollow),
        Some((head, value)) => {
            let (id, what) = head.split_once(' ')?;
            scan::is_one_of(what, "cpus|size|free").then_some(Says::Node(node(id)?, what, value))
        }
    }
}

/// Numbers separated by spaces, at least one.
fn numbers(text: &str) -> Option<Vec<u32>> {
    scan::all(scan::words(text), |word| word.parse().ok()).filter(|numbers| !numbers.is_empty())
}

/// `numactl -H`.
pub(super) const NUMACTL: Tool = Tool {
    name: "numactl -H",
    opens: |line, _| {
        scan::begins(line.text.trim(), "available: |node ")
            && matches!(
                says(facts::strip_comment(line.text)),
                Some(Says::Available(_) | Says::Node(_, "cpus", _) | Says::DistancesFollow)
            )
    },
    reader: |_| Box::new(Hardware { output: Facts::default(), open: Open::Nothing, rows: false }),
};

/// What a line of numbers alone would go on, where a mail was wrapped.
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    Cpus(u32),
    Columns,
    Row(u32),
}

struct Hardware {
    output: Facts,
    open: Open,
    /// The distance table has begun.
    rows: bool,
}

impl Reader for Hardware {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = facts::strip_comment(line.text);
        if text.is_empty() {
            self.open = Open::Nothing;
            return Fit::Between;
        }
        let Some(says) = says(text) else { return self.goes_on(text) };
        let mut open = Open::Nothing;
        match says {
            Says::Available(_) if !self.output.nodes.is_empty() => return Fit::Over,
            Says::Available(count) if !(1..=MOST_NODES).contains(&count) => {
                let why = format!("{count} nodes: no machine has them");
                sink.withhold("machine.counts.nodes", why, line);
            }
            Says::Available(count) => {
                self.output.available = Some(sink.fact("machine.counts.nodes", count, line));
            }
            Says::Node(node, "cpus", list) => {
                let entry = self.output.nodes.entry(node).or_default();
                if entry.cpus.is_some() {
                    return Fit::Over;
                }
                let path = format!("machine.nodes[{node}].cpus");
                match cpus(list) {
                    Some(cpus) => entry.cpus = Some(sink.fact(path, cpus, line)),
                    None => sink.withhold(&path, format!("{list:.60} is no list of CPUs"), line),
                }
                open = Open::Cpus(node);
            }
            Says::Node(node, what, value) => {
                let entry = self.output.nodes.entry(node).or_default();
                let (field, of) = if what == "free" {
                    (&mut entry.free, "free_bytes")
                } else {
                    (&mut entry.bytes, "bytes")
                };
                let path = format!("machine.nodes[{node}].{of}");
                // It prints no other unit.
                match facts::parse_size(value).filter(|_| value.ends_with("MB")) {
                    Some((bytes, _)) => *field = Some(sink.fact(path, bytes, line)),
                    None => sink.withhold(&path, format!("{value:.60} is no size in MB"), line),
                }
            }
            Says::DistancesFollow => self.rows = true,
            Says::Columns(_) | Says::Row(..) if !self.rows => return Fit::Between,
            Says::Columns(columns) => {
                self.output.columns = columns;
                open = Open::Columns;
            }
            Says::Row(node, _)
                if self.output.columns.is_empty() || self.output.distances.contains_key(&node) =>
            {
                return Fit::Over;
            }
            Says::Row(node, row) => {
                let row = sink.fact(format!("machine.nodes[{node}].distances"), row, line);
                self.output.distances.insert(node, row);
                open = Open::Row(node);
            }
        }
        self.open = open;
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        let mut output = std::mem::take(&mut self.output);
        let columns = output.columns.len();
        let whole = output.distances.values().all(|row| row.value.len() == columns)
            && output.columns.iter().all(|node| output.distances.contains_key(node));
        let possible = |row: &Fact<Vec<u32>>| row.value.iter().all(|distance| (1..=255).contains(distance));
        if let Some(row) = output.distances.values().find(|row| !whole || !possible(row)) {
            let why = if whole {
                "distances are from 1 to 255 (ACPI)"
            } else {
                "the table of distances is not square: lines of it are missing"
            };
            sink.withhold_at("machine.nodes[].distances", why.to_owned(), row.origin.clone());
            output.distances.clear();
        }
        sink.draft.facts.numactl.push(output);
    }
}

/// `0 1 2 3`, since 2.0.18 `0-3 8-11`.
pub(super) fn cpus(list: &str) -> Option<CpuList> {
    list.split_whitespace().collect::<Vec<_>>().join(",").parse().ok()
}

impl Hardware {
    /// A line of numbers alone.
    fn goes_on(&mut self, text: &str) -> Fit {
        let more = numbers(text).filter(|more| more.len() <= MOST_NODES as usize);
        match (self.open, more) {
            (Open::Cpus(node), _) => {
                let list = self.output.nodes.get_mut(&node).and_then(|node| node.cpus.as_mut());
                let (Some(list), Some(more)) = (list, cpus(text)) else { return Fit::Between };
                list.value = list.value.union(&more);
            }
            (Open::Columns, Some(more)) if self.output.columns.len() < MOST_NODES as usize => {
                self.output.columns.extend(more);
            }
            (Open::Row(node), Some(more)) => match self.output.distances.get_mut(&node) {
                Some(row) if row.value.len() < self.output.columns.len() => row.value.extend(more),
                _ => return Fit::Between,
            },
            _ => return Fit::Between,
        }
        Fit::Taken
    }
}

#[cfg(test)]
mod tests;
