//! Collects what is wrong in a tree: one sentence a kind, however many files are wrong in the same way.

use record::{Text, text};

/// Complaints about files, gathered while a part of the inventory is read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    name: &'static str,
    path: String,
    what: Text,
    more: usize,
}

impl Notes {
    /// Notes that the file `path` is wrong in the way `kind` names; `what` says so to a person. Only the first of
    /// a kind is kept: a thousand CPUs may share one mistake.
    pub(crate) fn add(&mut self, kind: &'static str, path: &str, what: impl Into<Text>) {
        match self.kinds.iter_mut().find(|known| known.name == kind) {
            Some(known) => known.more += 1,
            None => self.kinds.push(Kind { name: kind, path: path.to_owned(), what: what.into(), more: 0 }),
        }
    }

    /// Appends the sentences to `notes`.
    pub(crate) fn finish(self, notes: &mut Vec<Text>) {
        notes.extend(self.kinds.into_iter().map(|Kind { path, what, more, .. }| match more {
            0 => text!("{path}: {what}", path, what),
            more => text!("{path}: {what} (and {more} more)", path, what, more),
        }));
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
        assert_eq!(sentences.len(), 1);
        assert!(
            sentences[0].value("path") == Some(&"/cpu0/size".into())
                && sentences[0].value("more") == Some(&999u32.into())
        );
    }

    #[test]
    fn what_is_quoted_cannot_steer_a_terminal() {
        let text = shown("\u{1b}[2J\u{7}a long text that goes on and on");
        assert!(!text.chars().any(char::is_control), "{text}");
        assert!(text.ends_with('…'));
    }
}
