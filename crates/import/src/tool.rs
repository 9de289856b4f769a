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
    /// Its name as people type it: `lscpu`, `perf stat`.
    pub name: &'static str,
    /// Whether a line is the first of this tool's output. The command line is the one above it, if no other output of this
    /// tool has followed it yet. Must need only the line itself, and must be cheap: it is called for every line outside of
    /// outputs.
    pub opens: fn(Line, Option<&Command>) -> bool,
    /// A reader for one output, which is then given the opening line first.
    pub reader: fn(Option<&Command>) -> Box<dyn Reader>,
}

/// A reader's answer to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It belongs to the output.
    Taken,
    /// It may be within the output (blank, a comment, prose): the output continues if a line of it follows soon.
    Between,
    /// The output ended before it; the line belongs to another.
    Over,
}

/// Reads one output, line by line. The reader holds the state; its findings go into the sink at once or at the end.
pub(crate) trait Reader {
    /// One line.
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit;

    /// The output is over.
    fn end(&mut self, _: &mut Sink) {}
}
