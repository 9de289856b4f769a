//! `numactl -H`: nodes, their CPUs and memory, and the firmware's distances.

use record::CpuList;

use crate::facts::{self, Fact, Numactl as Facts};
use crate::line::Line;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

/// Most nodes believed; Linux has at most 1024.
const MOST_NODES: u32 = 1024;

/// What a line tells.
enum Says<'a> {
    Available(u32),
    Cpus(u32, &'a str),
    Memory { node: u32, free: bool, value: &'a str },
    DistancesFollow,
    Columns(Vec<u32>),
    Row(u32, Vec<u32>),
}

fn says(text: &str) -> Option<Says<'_>> {
    let text = facts::strip_comment(text);
    if let Some(rest) = text.strip_prefix("available:") {
        return rest.split_whitespace().next()?.parse().ok().map(Says::Available);
    }
    if let Some(rest) = text.strip_prefix("node") {
        let rest = rest.trim_start();
        if rest == "distances:" {
            return Some(Says::DistancesFollow);
        }
        let (head, value) = match rest.split_once(':') {
            Some((head, value)) => (head, value.trim()),
            None => return numbers(rest).map(Says::Columns),
        };
        let (node, what) = head.split_once(' ')?;
        let node = node.parse().ok().filter(|node| *node < MOST_NODES)?;
        return match what.trim() {
            "cpus" => Some(Says::Cpus(node, value)),
            what @ ("size" | "free") => Some(Says::Memory { node, free: what == "free", value }),
            _ => None,
        };
    }
    let (node, row) = text.split_once(':')?;
    let node = node.trim().parse().ok().filter(|node| *node < MOST_NODES)?;
    numbers(row).map(|row| Says::Row(node, row))
}

/// Numbers separated by spaces, at least one.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let numbers: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers.filter(|numbers| !numbers.is_empty() && numbers.len() <= MOST_NODES as usize * 64)
}

/// `numactl -H`.
pub(super) const NUMACTL: Tool = Tool {
    name: "numactl -H",
    opens,
    reader: |_| Box::new(Hardware { output: Facts::default(), open: Open::Nothing, rows: false }),
};

fn opens(line: Line, _: Option<&Command>) -> bool {
    let text = line.text.trim();
    (text.starts_with("available: ") && text.contains("node") || text.starts_with("node "))
        && matches!(says(text), Some(Says::Available(_) | Says::Cpus(..) | Says::DistancesFollow))
}

/// What a line of numbers alone would go on, where a mail was wrapped.
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
        let text = line.text.trim();
        if text.is_empty() {
            self.open = Open::Nothing;
            return Fit::Between;
        }
        let Some(says) = says(text) else { return self.goes_on(text) };
        match says {
            Says::Available(count) => {
                if !self.output.nodes.is_empty() {
                    return Fit::Over;
                }
                self.open = Open::Nothing;
                if (1..=MOST_NODES).contains(&count) {
                    self.output.available = Some(sink.fact("machine.counts.nodes", count, line));
                } else {
                    sink.withhold(
                        "machine.counts.nodes",
                        format!("{count} nodes: no machine has them"),
                        line,
                    );
                }
            }
            Says::Cpus(node, list) => {
                if self.output.nodes.get(&node).is_some_and(|known| known.cpus.is_some()) {
                    return Fit::Over;
                }
                let path = format!("machine.nodes[{node}].cpus");
                let Some(cpus) = cpus(list) else {
                    sink.withhold(&path, format!("{list:.60} is no list of CPUs"), line);
                    return Fit::Taken;
                };
                let cpus = sink.fact(path, cpus, line);
                self.output.nodes.entry(node).or_default().cpus = Some(cpus);
                self.open = Open::Cpus(node);
            }
            Says::Memory { node, free, value } => {
                self.open = Open::Nothing;
                // It prints no other unit.
                let size = facts::parse_size(value).filter(|_| value.ends_with("MB"));
                let Some((bytes, _)) = size else {
                    let (what, why) =
                        (format!("machine.nodes[{node}].bytes"), format!("{value:.60} is no size in MB"));
                    sink.withhold(&what, why, line);
                    return Fit::Taken;
                };
                let field = if free { "free_bytes" } else { "bytes" };
                let bytes = Some(sink.fact(format!("machine.nodes[{node}].{field}"), bytes, line));
                let entry = self.output.nodes.entry(node).or_default();
                *(if free { &mut entry.free } else { &mut entry.bytes }) = bytes;
            }
            Says::DistancesFollow => {
                self.rows = true;
                self.open = Open::Nothing;
            }
            Says::Columns(columns) => {
                if !self.rows {
                    return Fit::Between;
                }
                self.output.columns = columns;
                self.open = Open::Columns;
            }
            Says::Row(node, row) => {
                if !self.rows || self.output.columns.is_empty() || self.output.distances.contains_key(&node) {
                    return if self.rows { Fit::Over } else { Fit::Between };
                }
                let row = sink.fact(format!("machine.nodes[{node}].distances"), row, line);
                self.output.distances.insert(node, row);
                self.open = Open::Row(node);
            }
        }
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
    let words: Vec<&str> = list.split_whitespace().collect();
    // No number begins with a zero: two are one where the blank between is lost.
    let glued = words.iter().any(|word| word.len() > 1 && word.starts_with('0') && !word.starts_with("0-"));
    (!glued).then(|| words.join(",").parse().ok()).flatten()
}

impl Hardware {
    fn goes_on(&mut self, text: &str) -> Fit {
        if let Open::Cpus(node) = self.open {
            let list = self.output.nodes.get_mut(&node).and_then(|node| node.cpus.as_mut());
            let (Some(list), Some(more)) = (list, cpus(text)) else { return Fit::Between };
            list.value = list.value.union(&more);
            return Fit::Taken;
        }
        let Some(more) = numbers(text) else { return Fit::Between };
        match self.open {
            Open::Nothing | Open::Cpus(_) => return Fit::Between,
            Open::Columns => {
                if self.output.columns.len() + more.len() > MOST_NODES as usize {
                    return Fit::Between;
                }
                self.output.columns.extend(more);
            }
            Open::Row(node) => {
                let columns = self.output.columns.len();
                match self.output.distances.get_mut(&node) {
                    Some(row) if row.value.len() + more.len() <= columns => row.value.extend(more),
                    _ => return Fit::Between,
                }
            }
        }
        Fit::Taken
    }
}

#[cfg(test)]
mod tests;
