//! What root has set, for another user who asks.

use ::quiet::files::Tree;
use ::quiet::journal::JournalContents;
use ::quiet::lock;
use ::quiet::session::{self, Leftover};
use serde_json::{Value, json};

/// What root's journal tells.
#[derive(Debug)]
pub struct RootSession {
    told: Result<Leftover, String>,
}

impl RootSession {
    /// `None` for root, and where root has set nothing that still stands.
    pub fn look() -> Option<Self> {
        match session::find_root_leftover(&super::boot())? {
            Ok(Leftover::Nothing | Leftover::OtherBoot(_)) => None,
            told => Some(Self { told }),
        }
    }

    fn contents(&self) -> Option<&JournalContents> {
        match &self.told {
            Ok(Leftover::Standing(contents) | Leftover::Orphaned(contents)) => Some(contents),
            _ => None,
        }
    }

    /// Whether the process that set it runs.
    fn is_in_use(&self) -> bool {
        matches!(&self.told, Ok(Leftover::Orphaned(contents)) if lock::is_alive(contents.header.pid))
    }

    /// By whom, since when, and what to do.
    pub fn says(&self) -> String {
        let Some(contents) = self.contents() else {
            let why = self.told.as_ref().err().map(String::as_str).unwrap_or_default();
            return format!("Root may have set knobs: {why}");
        };
        let who = format!("Root has set knobs: {}", super::text::who(contents));
        if self.is_in_use() {
            return format!("{who}; they are put back when that ends");
        }
        let ended = if matches!(self.told, Ok(Leftover::Orphaned(_))) {
            ", which has ended without putting them back"
        } else {
            ""
        };
        format!("{who}{ended}; to put back, as root only: sudo linespeed quiet --restore")
    }

    /// The values.
    pub fn values(&self) -> &[::quiet::change::Change] {
        self.contents().map_or(&[], |contents| &contents.header.changes)
    }

    /// As JSON.
    pub fn json(&self, tree: &Tree) -> Value {
        match &self.told {
            Ok(left) => {
                let holder = self.contents().filter(|_| self.is_in_use());
                let holder = holder
                    .map(|contents| format!("process {}: {}", contents.header.pid, contents.header.command));
                super::json::of_one(left, holder.as_deref(), tree)
            }
            Err(why) => json!({"state": "unknown", "why": why}),
        }
    }
}
