//! How many lines an answer has, and how they are shared: all of it stands on one screen of a terminal that nobody has resized.

/// Lines of an answer, without those that name the files and the prompt.
pub(super) const LINES: usize = 21;
/// Lines of a terminal, of which the cursor has one.
pub(super) const SCREEN: usize = 24;

/// Things of one kind, one below the other, where not all are asked for.
pub(super) const ITEMS: usize = 8;
/// Rows of a table, and machines of one text.
pub(super) const ROWS: usize = 6;
/// Lines of what could not be seen, and of where the rest is.
pub(super) const ENDING: usize = 3;

/// Lines that what costs speed takes beside all facts of a machine, and beside what other tools printed.
pub(super) const FINDINGS: usize = 6;
pub(super) const FEW_FINDINGS: usize = 3;
/// Lines of a comparison's answer below a gate.
pub(super) const LEAST_ANSWER: usize = 10;
/// What was read of one machine: outputs, and lines of their results beside its facts.
pub(super) const OUTPUTS: usize = 4;
pub(super) const FIGURES: usize = 8;
/// Lines of a table that is worth beginning: an empty one, its heading, its head and two rows.
pub(super) const LEAST_TABLE: usize = 5;
/// Lines of CPUs, clock and memory of a command, and of what was counted of it.
pub(super) const FACTS: usize = 3;
pub(super) const COUNTS: usize = 2;
/// Lines of how noisy it was, and of the machine.
pub(super) const NOISE: usize = 2;
pub(super) const MACHINE: usize = 2;
/// Lines of the sentence that ends a recording.
pub(super) const WATCHED: usize = 3;

/// Of the screen of `live`: lines of the sentence and its advice together, of which the advice has one at least; lines more of them on
/// a screen that no other follows; processes.
pub(super) const SAYS: usize = 5;
pub(super) const MORE: usize = 3;
pub(super) const PROCESSES: usize = 5;
