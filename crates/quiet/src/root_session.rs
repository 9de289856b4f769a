//! What root has set, for another user who asks.

use std::fmt;

use serde_json::{Value, json};

use crate::change::Change;
use crate::error::Error;
use crate::files::Files;
use crate::journal::JournalContents;
use crate::session::{self, Leftover};
use crate::{json, lock_holder};

/// What root's journal tells.
#[derive(Debug)]
pub struct RootSession {
    found: Result<Leftover, Error>,
}

impl RootSession {
    /// `None` for root, and where root has set nothing that still stands.
    pub fn find(boot: &str) -> Option<Self> {
        match session::find_root_leftover(boot)? {
            Ok(Leftover::Nothing | Leftover::OtherBoot(_)) => None,
            found => Some(Self { found }),
        }
    }

    fn contents(&self) -> Option<&JournalContents> {
        self.found.as_ref().ok()?.contents()
    }

    /// Whether the process that set it runs.
    fn is_in_use(&self) -> bool {
        matches!(&self.found, Ok(Leftover::Orphaned(contents)) if lock_holder::is_alive(contents.header.pid))
    }

    /// The values.
    pub fn changes(&self) -> &[Change] {
        self.contents().map_or(&[], |contents| &contents.header.changes)
    }

    /// As JSON.
    pub fn to_json(&self, files: &dyn Files) -> Value {
        match &self.found {
            Ok(leftover) => {
                let holder = self.contents().filter(|_| self.is_in_use());
                let holder = holder
                    .map(|contents| format!("process {}: {}", contents.header.pid, contents.header.command));
                json::leftover(leftover, holder.as_deref(), files)
            }
            Err(why) => json!({"state": "unknown", "why": why.to_string()}),
        }
    }
}

/// By whom, since when, and what to do.
impl fmt::Display for RootSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let contents = match &self.found {
            Err(why) => return write!(f, "Root may have set knobs: {why}"),
            Ok(left) => left.contents(),
        };
        let Some(contents) = contents else { return Ok(()) };
        write!(f, "Root has set knobs: {contents}")?;
        if self.is_in_use() {
            return f.write_str("; they are put back when that ends");
        }
        if matches!(self.found, Ok(Leftover::Orphaned(_))) {
            f.write_str(", which has ended without putting them back")?;
        }
        f.write_str("; to put back, as root only: sudo linespeed quiet --restore")
    }
}
