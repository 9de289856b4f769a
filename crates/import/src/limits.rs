//! What one import takes at most: a text may be anything.

/// The longest text that is read, in bytes: what is kept of one is in proportion to it.
pub(crate) const LONGEST_TEXT: u64 = 64 << 20;

/// The longest line that is read, in bytes. The longest that any tool prints is a compact JSON document; a longer line
/// is counted as not understood, and none of it is kept.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// Figures, facts and outputs that a record of one machine can hold: more would make a record that no reader takes.
pub(crate) const MOST_ENTRIES: usize = 40_000;

/// Those of all machines of one import: what is kept of them takes some KiB each.
pub(crate) const MOST_ENTRIES_IN_ALL: usize = 250_000;

/// Machines in one import.
pub(crate) const MOST_MACHINES: usize = 1000;

/// Lines that nobody understands of which the record keeps the text.
pub(crate) const MOST_EXAMPLES: usize = 500;
