//! The numbers of lines of an answer and of its parts, so that the answer fits on one screen of a default-sized terminal.

/// Number of lines of an answer, not counting the lines with file names and the prompt.
pub(super) const LINES: usize = 21;
/// Number of lines of a terminal, one of which is for the cursor.
pub(super) const SCREEN: usize = 24;

/// Number of items of one kind that a list shows without `--all`.
pub(super) const ITEMS: usize = 8;
/// Number of rows of a table, and of machines listed for one import.
pub(super) const ROWS: usize = 6;
/// Number of lines for missing measurements and the pointer to the rest.
pub(super) const ENDING: usize = 3;

/// Number of lines for findings if all facts of a machine, or results from other tools, are shown as well.
pub(super) const FINDINGS: usize = 6;
/// Minimum number of lines for the answer of a comparison if a gate is shown above it.
pub(super) const LEAST_ANSWER: usize = 10;
/// For the imported data of one machine: the number of tool outputs listed, and the number of lines for results if the machine's facts are
/// also shown.
pub(super) const OUTPUTS: usize = 4;
pub(super) const FIGURES: usize = 8;
/// Minimum number of lines for a table: an empty line, its title, its headings and two rows.
pub(super) const LEAST_TABLE: usize = 5;
/// Number of lines for a command's CPUs, clock and memory, and for its counts.
pub(super) const FACTS: usize = 3;
pub(super) const COUNTS: usize = 2;
/// Numbers of lines for the noise and for the machine.
pub(super) const NOISE: usize = 2;
pub(super) const MACHINE: usize = 2;
/// Number of lines for the sentence at the end of a recording.
pub(super) const WATCHED: usize = 3;

/// Numbers for the screen of `live`. `SAYS` is the number of lines for the sentence and the advice, at least one of which is for the
/// advice. The final screen has up to `MORE` additional lines. `PROCESSES` is the number of processes shown.
pub(super) const SAYS: usize = 5;
pub(super) const MORE: usize = 3;
pub(super) const PROCESSES: usize = 5;
