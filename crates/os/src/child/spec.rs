//! The specification of a child to start.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use record::CpuList;

/// The specification of a child to start.
#[derive(Debug, Default)]
pub struct Spec<'a> {
    /// The program (a path or a name on PATH) and its arguments.
    pub argv: &'a [OsString],
    /// The CPUs on which the program may run, set before it starts; `None` to inherit ours.
    pub cpus: Option<&'a CpuList>,
    /// The NUMA nodes of the child's memory; `None` for the kernel's default policy, the node of the CPU that first
    /// touches a page.
    pub memory: Option<Memory<'a>>,
    /// The child's standard input.
    pub stdin: Input,
    /// The child's standard output.
    pub stdout: Output<'a>,
    /// The child's standard error.
    pub stderr: Output<'a>,
    /// Environment variables in addition to ours, or in place of ours.
    pub env: &'a [(OsString, OsString)],
    /// The child's working directory; `None` to inherit ours.
    pub folder: Option<&'a Path>,
    /// Whether the child leads a separate process group, which Ctrl-C in the terminal does not reach. With several
    /// children, the group also shows which child left a daemonized process behind.
    pub own_group: bool,
    /// Whether the child pauses right before starting its program until [`super::Child::release`], to attach counters
    /// or to start copies together.
    pub gate: bool,
}

impl<'a> Spec<'a> {
    /// Runs `argv` immediately, with our own input, outputs, directory and environment.
    pub fn new(argv: &'a [OsString]) -> Self {
        Self { argv, ..Self::default() }
    }
}

/// The NUMA nodes of a child's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory<'a> {
    /// The nodes.
    pub nodes: &'a CpuList,
    /// Whether pages are interleaved over the nodes; otherwise the nearest of the nodes is preferred.
    pub interleave: bool,
}

/// A child's standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Inherited from this process.
    #[default]
    Inherit,
    /// Nothing.
    Null,
}

/// The destination of a child's output.
#[derive(Clone, Copy, Debug, Default)]
pub enum Output<'a> {
    /// Inherited from this process.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// The output goes to a file.
    File(&'a File),
    /// Captured by linespeed. At most `limit` bytes are saved: half from the start and half from the end. The rest is
    /// read and counted, so that the child never blocks and memory stays bounded. Output is read while waiting for the
    /// child.
    Capture {
        /// Maximum number of captured bytes.
        limit: usize,
    },
}
