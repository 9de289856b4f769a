//! What root has set, for another user who asks.

use ::quiet::files::Tree;
use ::quiet::journal::Kept;
use ::quiet::place;
use ::quiet::session::{self, Left};
use serde_json::{Value, json};

/// What root's journal tells.
#[derive(Debug)]
pub struct ByRoot {
    told: Result<Left, String>,
}

impl ByRoot {
    /// `None` for root, and where root has set nothing that still stands.
    pub fn look() -> Option<Self> {
        match session::left_by_root(&super::boot())? {
            Ok(Left::Nothing | Left::OtherBoot(_)) => None,
            told => Some(Self { told }),
        }
    }

    fn kept(&self) -> Option<&Kept> {
        match &self.told {
            Ok(Left::Standing(kept) | Left::Orphaned(kept)) => Some(kept),
            _ => None,
        }
    }

    /// Whether the process that set it runs.
    fn is_in_use(&self) -> bool {
        matches!(&self.told, Ok(Left::Orphaned(kept)) if place::lives(kept.plan.pid))
    }

    /// By whom, since when, and what to do.
    pub fn says(&self) -> String {
        let Some(kept) = self.kept() else {
            let why = self.told.as_ref().err().map(String::as_str).unwrap_or_default();
            return format!("Root may have set knobs: {why}");
        };
        let who = format!("Root has set knobs: {}", super::text::who(kept));
        if self.is_in_use() {
            return format!("{who}; they are put back when that ends");
        }
        let ended = if matches!(self.told, Ok(Left::Orphaned(_))) {
            ", which has ended without putting them back"
        } else {
            ""
        };
        format!("{who}{ended}; to put back, as root only: sudo linespeed quiet --restore")
    }

    /// The values.
    pub fn values(&self) -> &[::quiet::change::Change] {
        self.kept().map_or(&[], |kept| &kept.plan.changes)
    }

    /// As JSON.
    pub fn json(&self, tree: &Tree) -> Value {
        match &self.told {
            Ok(left) => {
                let holder = self.kept().filter(|_| self.is_in_use());
                let holder = holder.map(|kept| format!("process {}: {}", kept.plan.pid, kept.plan.command));
                super::json::of_one(left, holder.as_deref(), tree)
            }
            Err(why) => json!({"state": "unknown", "why": why}),
        }
    }
}
