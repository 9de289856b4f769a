//! lscpu: its list in any language, `--json` (flat and nested), and the tables of `-e`, `-p` and `-C`.

mod json;
mod labels;
mod lookup;
mod table;
mod values;

pub(super) use json::LSCPU_JSON;
pub(super) use table::{LSCPU_CACHES, LSCPU_EXTENDED, LSCPU_PARSABLE};

use crate::line::{Line, PendingLine};
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};
use labels::Key;
use lookup::split_label;
use values::Values;

/// lscpu's list.
pub(super) const LSCPU: Tool = Tool { name: "lscpu", opens, reader };

fn reader(command: Option<&Command>) -> Box<dyn Reader> {
    Box::new(List { values: Values::default(), flags: false, asked: is_asked(command), first: None })
}

fn is_asked(command: Option<&Command>) -> bool {
    command.is_some_and(|command| command.text.contains("lscpu"))
}

fn opens(line: Line, command: Option<&Command>) -> bool {
    let Some((label, value)) = split_label(line.text) else { return false };
    let asked = is_asked(command);
    let digits = value.starts_with(|c: char| c.is_ascii_digit());
    // Other tools have these, too: kernels and inxi the first, likwid-topology the others.
    let loose = ["CPU", "Cores per socket", "Threads per core"].contains(&label.text);
    match label.key {
        _ if loose => asked,
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
    /// The command line above is of lscpu.
    asked: bool,
    /// A first line with an architecture, which package managers tell too, until another follows.
    first: Option<PendingLine>,
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
        let whole = value.bytes().all(|b| b.is_ascii_digit());
        if label.text == "CPU" && !whole {
            return Fit::Between;
        }
        // A second list begins: another machine, or the same one later.
        if label.key == Key::Architecture {
            if self.first.is_some() || self.values.has_architecture() {
                return Fit::Over;
            }
            if !self.asked && !self.values.begun() {
                self.first = Some(line.into());
                return Fit::Taken;
            }
        }
        self.take_first(sink);
        self.flags = label.key == Key::Flags;
        self.values.take(&label, value, line, sink);
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        if self.values.begun() {
            std::mem::take(&mut self.values).finish(sink);
        }
    }
}

impl List {
    fn take_first(&mut self, sink: &mut Sink) {
        if let Some(first) = self.first.take()
            && let Some((label, value)) = split_label(first.line().text)
        {
            self.values.take(&label, value, first.line(), sink);
        }
    }
}

#[cfg(test)]
mod tests;
