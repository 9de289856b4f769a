//! What to start, and how.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use record::CpuList;

/// What to start, and how.
#[derive(Debug, Default)]
pub struct Spec<'a> {
    /// The program, a path or a name on PATH, and its arguments.
    pub argv: &'a [OsString],
    /// The CPUs on which it may run, set before it starts; `None` for ours.
    pub cpus: Option<&'a CpuList>,
    /// The source of its memory; `None` for the kernel's default policy, the node of the CPU that touches it first.
    pub memory: Option<Memory<'a>>,
    /// Its standard input.
    pub stdin: Input,
    /// Its standard output.
    pub stdout: Output<'a>,
    /// Its standard error.
    pub stderr: Output<'a>,
    /// Environment variables added to ours, or replacing them.
    pub env: &'a [(OsString, OsString)],
    /// The folder in which it starts; `None` for ours.
    pub folder: Option<&'a Path>,
    /// Whether it leads a separate process group, which Ctrl-C in the terminal does not reach. It also distinguishes processes that fork
    /// away from one of several children.
    pub own_group: bool,
    /// Whether it stops just before its program until [`super::Child::release`]: this allows attaching counters, and starting copies
    /// together.
    pub gate: bool,
}

impl<'a> Spec<'a> {
    /// `argv` with our own input, outputs, folder and environment, started at once.
    pub fn new(argv: &'a [OsString]) -> Self {
        Self { argv, ..Self::default() }
    }
}

/// The nodes of a child's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory<'a> {
    /// The nodes.
    pub nodes: &'a CpuList,
    /// Whether pages are interleaved; otherwise the nearest node is preferred.
    pub interleave: bool,
}

/// What a child reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Our own input.
    #[default]
    Inherit,
    /// Nothing.
    Null,
}

/// Where a child writes.
#[derive(Clone, Copy, Debug, Default)]
pub enum Output<'a> {
    /// To our own output.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// To a file.
    File(&'a File),
    /// To us. At most `limit` bytes are captured: the first and the last half of that. The rest is read and counted, so that the child
    /// never waits for its reader and memory stays bounded. It is read while the child is waited for.
    Capture {
        /// Captured bytes.
        limit: usize,
    },
}
