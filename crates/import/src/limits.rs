//! Limits of one import, because a text may contain anything.

/// Longest text, in bytes; the memory needed is proportional to it.
pub(crate) const LONGEST_TEXT: u64 = 64 << 20;

/// Longest line, in bytes. The longest line printed by any tool is a compact JSON document. A longer line is counted as
/// unrecognized and is not saved.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// Longest command line, in bytes, that is joined from several lines or expanded from a loop.
pub(crate) const LONGEST_COMMAND: usize = 16 << 10;

/// Maximum number of results, facts and outputs in a record of one machine; a larger record would be refused when read.
pub(crate) const MOST_ENTRIES: usize = 40_000;

/// Maximum number of results, facts and outputs over all machines of one import; each uses a few KiB.
pub(crate) const MOST_ENTRIES_IN_ALL: usize = 250_000;

/// Maximum number of machines in one import.
pub(crate) const MOST_MACHINES: usize = 1000;

/// Maximum number of unrecognized lines whose text is saved in the record.
pub(crate) const MOST_EXAMPLES: usize = 500;
