//! The kind of content of each text in a record, determined by the end of its path.

use super::Kind;
use Holds::Name;

/// The content of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Holds {
    /// A word from a fixed vocabulary, or a value of the hardware or of a setting.
    Technical,
    /// A sentence or command written by linespeed, which may quote a name.
    Sentence,
    /// A name.
    #[strum(disabled)]
    Name(Kind),
    /// The kernel's build line, which contains the builder and the host.
    BuildLine,
    /// The words of linespeed's own command line, up to `--`.
    Own,
    /// The words of a user's command line.
    Argv,
}

/// The kinds of content, each with the path endings to which it applies.
const TEXTS: &str = include_str!("texts.txt");

/// The kind of content at a path; `None` if it is not declared.
pub(super) fn declared(path: &str) -> Option<Holds> {
    // An element of a list or map has the kind declared for the end of its path, or the kind of the list.
    let ends = TEXTS.lines().filter_map(|line| {
        let (word, ends) = line.split_once(' ')?;
        let holds = word.parse().or_else(|_| word.parse().map(Name)).ok()?;
        Some(ends.split_whitespace().map(move |end| (holds, end)))
    });
    ends.flatten()
        .filter(|(_, end)| matches(path, end))
        .max_by_key(|(_, end)| end.len())
        .map(|(holds, _)| holds)
}

/// Whether a path has this ending; `*` matches any key, which may contain dots.
fn matches(path: &str, end: &str) -> bool {
    let Some((before, after)) = end.split_once('*') else { return path.ends_with(end) };
    let front = path.strip_suffix(after);
    front.is_some_and(|front| front.rfind(before).is_some_and(|at| at + before.len() < front.len()))
}
