//! The declaration of a supported tool, and how its output is read.

use crate::line::Line;
use crate::sink::Sink;

/// A command line at a prompt, or printed by a tool itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// As written, without the prompt: `numactl -C 7 -m 0 ./bin/stream -W 5 -N 5 -M 64M`.
    pub text: String,
    /// The folder that it ran in, as far as prompts and `cd` above it show it; otherwise empty.
    pub folder: String,
}

/// One tool.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    /// Its name as users type it: `lscpu`, `perf stat`.
    pub name: &'static str,
    /// Whether a line is the first of this tool's output. The command line is the one above it, unless another output of this tool has already
    /// followed it. Must look only at the line itself and be fast, because it is called for every line outside outputs.
    pub opens: fn(Line, Option<&Command>) -> bool,
    /// Makes a reader for one output. The first line passed to the reader is the opening line.
    pub reader: fn(Option<&Command>) -> Box<dyn Reader>,
}

/// A reader's answer to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It belongs to the output.
    Taken,
    /// It may be within the output (blank, a comment, prose): the output continues if a line of it follows soon.
    Between,
    /// The output ended before the line, which belongs to another output.
    Over,
}

/// Reads one output, line by line. The reader keeps the state; it passes results to the sink immediately or at the end.
pub(crate) trait Reader {
    /// One line.
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit;

    /// The output is over.
    fn end(&mut self, _: &mut Sink) {}
}
