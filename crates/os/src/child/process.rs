//! A started child.

use std::ffi::OsString;
use std::io::PipeWriter;
use std::time::Instant;

use super::capture::Captured;
use super::error::SpawnError;
use super::outcome::Ended;
use super::report::Reports;

/// A started child.
#[derive(Debug)]
pub struct Child {
    pub(super) pid: i32,
    pub(super) own_group: bool,
    pub(super) program: OsString,
    /// The pipe on which a gated child waits.
    pub(super) gate: Option<PipeWriter>,
    /// The pipe on which the child reports why its program could not be started.
    pub(super) report: Option<Reports>,
    pub(super) failed: Option<SpawnError>,
    pub(super) stdout: Option<Captured>,
    pub(super) stderr: Option<Captured>,
    pub(super) started: Instant,
    pub(super) ended: Option<Ended>,
}

impl Child {
    /// The child's PID.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The captured parts of standard output and standard error.
    pub fn captured(&mut self) -> (Vec<u8>, Vec<u8>) {
        self.drain();
        let take =
            |captured: &mut Option<Captured>| captured.as_mut().map(Captured::take).unwrap_or_default();
        (take(&mut self.stdout), take(&mut self.stderr))
    }

    pub(super) fn drain(&mut self) {
        for captured in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
            captured.drain();
        }
    }
}
