//! lscpu: its list in any language, `--json` (flat and nested), and the tables of `-e`, `-p` and `-C`.

mod json;
mod labels;
mod lookup;
mod table;
mod values;

pub(super) use json::LSCPU_JSON;
pub(super) use table::{LSCPU_CACHES, LSCPU_EXTENDED, LSCPU_PARSABLE};

use crate::line::Line;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};
use labels::Key;
use lookup::split_label;
use values::Values;

/// lscpu's list.
pub(super) const LSCPU: Tool =
    Tool { name: "lscpu", opens, reader: |_| Box::new(List { values: Values::default(), flags: false }) };

fn opens(line: Line, command: Option<&Command>) -> bool {
    let Some((label, value)) = split_label(line.text) else { return false };
    let asked = command.is_some_and(|command| command.text.contains("lscpu"));
    let digits = value.starts_with(|c: char| c.is_ascii_digit());
    match label.key {
        Key::Architecture => values::is_architecture(value),
        Key::Cpus | Key::ThreadsPerCore | Key::CoresPerSocket | Key::Online => digits,
        Key::OpModes => value.contains("bit"),
        Key::NodeCpus => digits,
        _ => asked,
    }
}

struct List {
    values: Values,
    /// The line before told flags, which go on where a terminal or a mail broke them.
    flags: bool,
}

impl Reader for List {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let Some((label, value)) = split_label(line.text) else {
            let text = line.text.trim();
            let is_flag = |word: &str| {
                word.len() <= 24
                    && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            };
            if self.flags && !text.is_empty() && text.split(' ').all(is_flag) {
                self.values.more_flags(text);
                return Fit::Taken;
            }
            return Fit::Between;
        };
        // A second list begins: another machine, or the same one later.
        if matches!(label.key, Key::Architecture) && self.values.has_architecture() {
            return Fit::Over;
        }
        self.flags = label.key == Key::Flags;
        self.values.take(&label, value, line, sink);
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.values).finish(sink);
    }
}

#[cfg(test)]
mod tests;
