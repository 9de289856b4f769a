//! The numbers of lines of an answer and of its parts, so that the answer fits on one screen of a default-sized terminal.

/// Lines of an answer, not counting the lines with file names and the prompt.
pub(super) const LINES: usize = 21;
/// Lines of a terminal, one of which is for the cursor.
pub(super) const SCREEN: usize = 24;

/// Items of one kind in a list, without `--all`.
pub(super) const ITEMS: usize = 8;
/// Rows of a table, and machines listed from one imported text.
pub(super) const ROWS: usize = 6;
/// Lines for missing measurements, and for the pointer to the rest.
pub(super) const ENDING: usize = 3;

/// Lines for findings if all facts of a machine, or results from other tools, are shown as well.
pub(super) const FINDINGS: usize = 6;
/// Minimum number of lines for the answer of a comparison if a gate is shown above it.
pub(super) const LEAST_ANSWER: usize = 10;
/// For the imported data of one machine: the number of listed outputs, and the number of lines for results in addition to the machine's
/// facts.
pub(super) const OUTPUTS: usize = 4;
pub(super) const FIGURES: usize = 8;
/// Minimum number of lines for a table: an empty line, its title, its headings and two rows.
pub(super) const LEAST_TABLE: usize = 5;
/// Number of lines for a command's CPUs, clock and memory, and for its counts.
pub(super) const FACTS: usize = 3;
pub(super) const COUNTS: usize = 2;
/// Lines for noise, and for the machine.
pub(super) const NOISE: usize = 2;
pub(super) const MACHINE: usize = 2;
/// Lines for the sentence at the end of a recording.
pub(super) const WATCHED: usize = 3;

/// For the screen of `live`: the number of lines for the sentence and its advice, at least one of which is for the advice; the number of
/// additional lines on a final screen; the number of processes.
pub(super) const SAYS: usize = 5;
pub(super) const MORE: usize = 3;
pub(super) const PROCESSES: usize = 5;
