//! `numactl --show`: the CPUs and nodes that the shell may use.

use record::CpuList;

use super::numactl::cpus;
use crate::reading::*;

/// Its labels whose values are lists of numbers.
const LISTS: &str =
    "interleavenode|interleavemask|physcpubind|cpubind|nodebind|membind|preferred|weighted interleavemask";
const MODES: &str = "default|preferred|bind|interleave|local|weighted interleave|preferred many";

/// `numactl --show`.
pub(super) const NUMACTL_SHOW: Tool = Tool {
    name: "numactl --show",
    opens: |line, _| matches!(field(line.text), Some(("policy" | "physcpubind", _))),
    reader: |_| Box::new(ShowReader::default()),
};

/// The label and the value of a line: `physcpubind: 0 1 2 3`.
fn field(text: &str) -> Option<(&str, &str)> {
    let (label, value) = scan::pair(text)?;
    let is_list = || value.bytes().all(|b| b.is_ascii_digit() || b" -,".contains(&b));
    let known = match label {
        "policy" => scan::is_one_of(value, MODES),
        "preferred node" => true,
        label => scan::is_one_of(label, LISTS) && is_list(),
    };
    known.then_some((label, value))
}

#[derive(Default)]
struct ShowReader {
    seen: Vec<String>,
    /// The last line's numbers may continue if a margin broke them.
    cpus: bool,
}

impl Reader for ShowReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let limits = &mut sink.draft.machine.limits;
        let was_cpus = std::mem::take(&mut self.cpus);
        let Some((label, value)) = field(line.text) else {
            // Only its place shows to which list a further line of numbers belongs; without it the list is incomplete.
            if was_cpus && !line.text.trim().is_empty() && cpus(line.text).is_some() {
                limits.affinity = CpuList::new();
                sink.withhold(
                    "machine.limits.affinity",
                    "the list is wrapped over several lines".to_owned(),
                    line,
                );
                return Fit::Taken;
            }
            return Fit::Between;
        };
        if self.seen.iter().any(|seen| seen == label) {
            return Fit::Over;
        }
        self.seen.push(label.to_owned());
        self.cpus = label == "physcpubind";
        let (list, path) = match label {
            "physcpubind" => (&mut limits.affinity, "machine.limits.affinity"),
            "membind" => (&mut limits.memory_nodes, "machine.limits.memory_nodes"),
            _ => return Fit::Taken,
        };
        *list = cpus(value).unwrap_or_default();
        sink.note(path, line);
        Fit::Taken
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::import;

    #[test]
    fn the_shells_cpus_and_nodes_are_read_in_both_forms() {
        for cpus in ["0 1 2 3 4 5 6 7 ", "0-7 "] {
            let text = format!(
                "policy: default\npreferred node: current\nphyscpubind: {cpus}\ncpubind: 0 1 \nnodebind: 0 1 \nmembind: 0 1 \npreferred: \n"
            );
            let imported = import(&text);
            let limits = &imported.machine.limits;
            assert_eq!(
                (limits.affinity.to_string(), limits.memory_nodes.to_string()),
                ("0-7".into(), "0-1".into())
            );
            assert_eq!(imported.import.not_understood.lines, 0, "{:?}", imported.import.not_understood);
        }
        let wrapped = import("policy: default\nphyscpubind: 0 1 2 3\n4 5 6 7\nmembind: 0\n");
        assert!(wrapped.machine.limits.affinity.is_empty(), "no part of a list stands for the whole");
        assert_eq!(wrapped.import.withheld.len(), 1);
    }
}
