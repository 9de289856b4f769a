//! What a tool whose output is known declares, and how its output is read.

use crate::line::Line;
use crate::sink::Sink;

/// A command line that stood at a prompt, or that a tool printed of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// As it stands, without the prompt: `numactl -C 7 -m 0 ./bin/stream -W 5 -N 5 -M 64M`.
    pub text: String,
    /// Its line.
    pub line: u64,
    /// The folder that it ran in, as far as prompts and `cd` above it tell; empty where they do not.
    pub folder: String,
}

/// One tool.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    /// Its name as people type it: `lscpu`, `perf stat`.
    pub name: &'static str,
    /// Whether a line is the first of this tool's output. The command line is the one above it that no other output of this
    /// tool has followed yet, where there was one. Must not need more than the line itself, and must be cheap: it is asked for
    /// every line that is nobody's.
    pub opens: fn(Line, Option<&Command>) -> bool,
    /// A reader for one output, which is then given the opening line first.
    pub reader: fn(Option<&Command>) -> Box<dyn Reader>,
}

/// What a reader says of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It belongs to the output.
    Taken,
    /// It may lie within the output (blank, a comment, prose): the output goes on if a line that belongs follows soon.
    Between,
    /// The output ended before it; the line is somebody else's.
    Over,
}

/// Reads one output, line by line. State is the reader's; what it learns goes into the sink at once or at the end.
pub(crate) trait Reader {
    /// One line.
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit;

    /// The output is over.
    fn end(&mut self, _: &mut Sink) {}
}
