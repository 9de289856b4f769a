//! Which of the global flags each command supports.

/// Flags, each with the commands to which it applies, and names of groups of commands.
const TABLE: &str = include_str!("taken.txt");

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.lines().filter_map(|line| line.split_once(" :: "))
}

/// Global flags that apply only to some commands.
pub(super) fn limited_flags() -> impl Iterator<Item = &'static str> {
    rows().map(|(name, _)| name).filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// `linespeed help options`.
pub(super) const ALL: &str = "options";

/// Whether a row of the table contains this command, directly or through the name of a group; `None` if there is no such row.
fn has(row: &str, command: &str) -> Option<bool> {
    let (_, commands) = rows().find(|(name, _)| *name == row)?;
    Some(commands.split(' ').any(|one| one == command || has(one, command) == Some(true)))
}

/// Whether a global flag applies to this command. The page of all options shows every flag.
pub(super) fn is_taken(id: &str, command: &str) -> bool {
    command == ALL || has(id, command) != Some(false)
}
