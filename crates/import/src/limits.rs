//! Limits of one import: a text may be anything.

/// The longest text, in bytes: the memory for a text is in proportion to it.
pub(crate) const LONGEST_TEXT: u64 = 64 << 20;

/// The longest line, in bytes. The longest that any tool prints is a compact JSON document; a longer line is counted as
/// not understood, and none of it is saved.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// The most results, facts and outputs in a record of one machine: no reader would accept a record with more.
pub(crate) const MOST_ENTRIES: usize = 40_000;

/// The most of them over all machines of one import: each needs some KiB.
pub(crate) const MOST_ENTRIES_IN_ALL: usize = 250_000;

/// Machines in one import.
pub(crate) const MOST_MACHINES: usize = 1000;

/// The most lines that are not understood whose text is saved in the record.
pub(crate) const MOST_EXAMPLES: usize = 500;
