//! Collects what a tree tells wrongly: one sentence a kind, however many files are wrong in the same way.

use std::fmt::Display;

/// Complaints about files, gathered while a part of the inventory is read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    name: &'static str,
    first: String,
    more: usize,
}

impl Notes {
    /// Notes that the file `path` is wrong in the way `kind` names; `what` says so to a person. Only the first of
    /// a kind is kept in words: a thousand CPUs may share one mistake.
    pub(crate) fn add(&mut self, kind: &'static str, path: &str, what: impl Display) {
        match self.kinds.iter_mut().find(|known| known.name == kind) {
            Some(known) => known.more += 1,
            None => self.kinds.push(Kind { name: kind, first: format!("{path}: {what}"), more: 0 }),
        }
    }

    /// Appends the sentences to `notes`.
    pub(crate) fn finish(self, notes: &mut Vec<String>) {
        for kind in self.kinds {
            notes.push(match kind.more {
                0 => kind.first,
                more => format!("{} (and {more} more such)", kind.first),
            });
        }
    }
}

/// The beginning of a file's content as it may stand in a note: quoted, control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 20;
    let start: String = text.chars().take(MOST).collect();
    let dots = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{dots}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_equal_mistakes_are_one_sentence() {
        let mut notes = Notes::default();
        for cpu in 0..1000 {
            notes.add("size", &format!("/cpu{cpu}/size"), "not a size");
        }
        let mut sentences = Vec::new();
        notes.finish(&mut sentences);
        assert_eq!(sentences, ["/cpu0/size: not a size (and 999 more such)"]);
    }

    #[test]
    fn what_is_quoted_cannot_steer_a_terminal() {
        let text = shown("\u{1b}[2J\u{7}a long text that goes on and on");
        assert!(!text.chars().any(char::is_control), "{text}");
        assert!(text.ends_with('…'));
    }
}
