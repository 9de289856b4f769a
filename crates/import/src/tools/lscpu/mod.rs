//! lscpu: its list in any language, `--json` (flat and nested), and the tables of `-e`, `-p` and `-C`.

mod json;
mod labels;
mod table;
mod values;

pub(super) use json::LSCPU_JSON;
pub(super) use table::{LSCPU_CACHES, LSCPU_EXTENDED, LSCPU_PARSABLE};
pub(super) use values::is_architecture;

use labels::split_label;
use values::List;

use crate::facts::key;
use crate::reading::*;

/// lscpu's list.
pub(super) const LSCPU: Tool = Tool {
    name: "lscpu",
    opens,
    reader: |command| Box::new(ListReader { asked: is_asked(command), ..ListReader::default() }),
};

/// Whether a cell of a table is a label of lscpu, and not the header of a column in another tool's table.
pub(crate) fn is_label(cell: &str) -> bool {
    labels::find_label(cell.trim_end_matches(':')).is_some() && !scan::is_one_of(cell, super::columns::IDS)
}

fn is_asked(command: Option<&Command>) -> bool {
    command.is_some_and(|command| command.text.contains("lscpu"))
}

fn opens(line: Line, command: Option<&Command>) -> bool {
    let Some((label, value)) = split_label(line.text) else { return false };
    // Other programs also print these labels: the kernel and inxi print the first, and likwid-topology prints the
    // others.
    let loose = scan::is_one_of(label.text, "CPU|Cores per socket|Threads per core");
    match label.key {
        key::ARCHITECTURE if !loose => values::is_architecture(value),
        key::CPUS | key::THREADS_PER_CORE | key::CORES_PER_SOCKET | key::ONLINE | key::NODE_CPUS
            if !loose =>
        {
            value.starts_with(|c: char| c.is_ascii_digit())
        }
        "op_modes" => value.contains("bit"),
        _ => is_asked(command),
    }
}

#[derive(Default)]
struct ListReader {
    list: List,
    /// Whether the previous line contained flags, which continue if a terminal or a mail program wrapped them.
    flags: bool,
    /// Whether the command line above is an lscpu command.
    asked: bool,
    /// A first line that contains only an architecture. It is not used until another line follows, because package
    /// managers also print such a line.
    first: Option<PendingLine>,
}

impl Reader for ListReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let Some((label, value)) = split_label(line.text) else {
            let text = line.text.trim();
            let is_flag =
                |word: &str| word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            if self.flags && !text.is_empty() && text.split(' ').all(is_flag) {
                self.list.more_flags(text);
                return Fit::Taken;
            }
            return Fit::Between;
        };
        if label.text == "CPU" && !value.bytes().all(|b| b.is_ascii_digit()) {
            return Fit::Between;
        }
        // A second list begins, for another machine or for the same machine at a later time.
        if label.key == key::ARCHITECTURE {
            if self.first.is_some() || self.list.output.machine.get(key::ARCHITECTURE).is_some() {
                return Fit::Over;
            }
            if !self.asked && !self.list.begun {
                self.first = Some(line.into());
                return Fit::Taken;
            }
        }
        if let Some(first) = self.first.take()
            && let Some((label, value)) = split_label(first.line().text)
        {
            self.list.take(&label, value, first.line(), sink);
        }
        self.flags = label.key == key::FLAGS;
        self.list.take(&label, value, line, sink);
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.list).end(sink);
    }
}

#[cfg(test)]
mod tests;
