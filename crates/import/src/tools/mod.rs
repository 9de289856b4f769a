//! The tools whose output is known. A new one is one new file here and its line in [`TOOLS`].

mod cyclictest;
pub mod dmidecode;
mod lmbench;
pub mod lscpu;
pub mod lshw;
mod mlc;
pub mod numactl;
mod openssl;
mod perf_stat;
mod published;
mod stream;
mod sysbench;
#[cfg(test)]
mod testing;
mod time;

use crate::sink::Sink;

/// A line of a cleaned text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number in the text, from 1.
    pub number: u64,
    /// What it says, without line end, colours, quoting and Markdown decoration; indentation is kept.
    pub text: &'a str,
}

/// A command line that stood at a prompt, or that a tool printed of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// As it stands, without the prompt: `numactl -C 7 -m 0 ./bin/stream -W 5 -N 5 -M 64M`.
    pub text: String,
    /// Its line.
    pub line: u64,
}

/// One tool.
pub trait Tool: Sync {
    /// Its name as people type it: `lscpu`, `perf stat`.
    fn name(&self) -> &'static str;

    /// Whether `line` is the first line of this tool's output. `command` is the command line above it that no other
    /// output of this tool has followed yet, where there was one. Must not need more than the line itself, and must be cheap: it is
    /// asked for every line that is nobody's.
    fn opens(&self, line: Line, command: Option<&Command>) -> bool;

    /// A reader for one output, which is then given the opening line first.
    fn reader(&self, command: Option<&Command>) -> Box<dyn Reader>;
}

/// What a reader says of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It belongs to the output.
    Taken,
    /// It may lie within the output (blank, a comment, prose): the output goes on if a line that belongs follows soon.
    Between,
    /// The output ended before it; the line is somebody else's.
    Over,
    /// It belongs to the output and seems to go on in the next line, as where a mail was wrapped at its margin. Nothing
    /// has been taken from it: it is offered again, with the next line's text behind it and its own number.
    Unfinished,
}

/// Reads one output, line by line. State is the reader's; what it learns goes into the sink at once or at the end.
pub trait Reader {
    /// One line.
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit;

    /// The output is over.
    fn end(&mut self, sink: &mut Sink);
}

/// Every tool. Where the opening lines of two could be the same, the earlier one is asked first.
pub const TOOLS: &[&dyn Tool] = &[
    &perf_stat::PerfStat,
    &time::Time,
    &lmbench::Stream,
    &lmbench::LatMemRd,
    &stream::McCalpin,
    &mlc::Mlc,
    &openssl::OpensslSpeed,
    &cyclictest::Cyclictest,
    &sysbench::Sysbench,
    &published::Published,
    &lscpu::LscpuJson,
    &lscpu::LscpuParsable,
    &lscpu::LscpuExtended,
    &lscpu::LscpuCaches,
    &dmidecode::Dmidecode,
    &numactl::Numactl,
    &lshw::Lshw,
    &lscpu::Lscpu,
];
