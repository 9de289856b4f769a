//! The declaration of a supported tool and its reader.

use crate::line::Line;
use crate::sink::Sink;

/// A command line entered at a prompt, or printed by the tool itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// The command line without the prompt: `numactl -C 7 -m 0 ./bin/stream -W 5 -N 5 -M 64M`.
    pub text: String,
    /// The working directory, if prompts or `cd` commands above show it; otherwise empty.
    pub folder: String,
}

/// One tool.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    /// The tool's name as typed by users: `lscpu`, `perf stat`.
    pub name: &'static str,
    /// Whether a line is the first of this tool's output. The second argument is the command line above this line; it is `None` if there is
    /// none, or if another output of this tool has already followed the command line. The function must examine only the line itself and be
    /// fast, because it is called for every line outside outputs.
    pub opens: fn(Line, Option<&Command>) -> bool,
    /// Creates a reader for one output. The first line passed to the reader is the opening line.
    pub reader: fn(Option<&Command>) -> Box<dyn Reader>,
}

/// A reader's verdict on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The line belongs to the output.
    Taken,
    /// The line may be inside the output (a blank line, a comment, prose): the output continues if another of its lines follows soon.
    Between,
    /// The output ended before the line, which belongs to another output.
    Over,
}

/// Reads one output, line by line. The reader keeps the state between lines, and passes results to the sink immediately or at the end.
pub(crate) trait Reader {
    /// Reads one line.
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit;

    /// Called at the end of the output.
    fn end(&mut self, _: &mut Sink) {}
}

/// Whether a line is the first of a tool's output.
pub(crate) fn opens(tool: &Tool, line: Line, command: Option<&Command>) -> bool {
    #[cfg(test)]
    crate::damaged::look(line);
    (tool.opens)(line, command)
}
