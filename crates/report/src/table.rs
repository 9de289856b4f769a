//! A table of a report, with its title, columns and rows. Separate code lays it out for the terminal and for the page.

use std::collections::BTreeSet;

use record::{Mark, Measurement};

use crate::contents::figures::{MARK, MARKED, ONE_SAMPLE, mark_words};
use crate::shown::Shown;

/// The heading of the column with the spread of results.
const SPREAD: &str = "95 % CI";

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's heading, without a unit, because the values have units.
    pub head: String,
    /// Whether the column contains values, which are right-aligned; text is left-aligned.
    pub figures: bool,
    /// Whether the column may be omitted if there is no room.
    pub optional: bool,
}

/// How a row is highlighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Without highlighting.
    #[default]
    Plain,
    /// The row is a loss.
    Worse,
    /// The row is a gain.
    Better,
}

/// A column of a table of items: its heading, which may begin with the marks described at [`Table::new`], and the function that returns its
/// value for an item.
pub type Field<T> = (&'static str, fn(&T) -> String);

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The title of the table.
    pub title: String,
    /// The name of the table's entry in [`record::glossary`], usually a metric.
    pub word: Option<String>,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<String>>,
    /// Notes on individual rows. The notes are shown below the table and numbered from 1.
    pub notes: Vec<String>,
    /// Notes on the entire table. They are shown below the table.
    pub remarks: Vec<String>,
    /// How each row is highlighted; rows beyond the end of this list are plain.
    pub weights: Vec<Weight>,
    /// The results that the table shows or counts in a remark.
    pub(crate) shown: Shown,
    /// For each row, the indexes of its notes in `notes`.
    references: Vec<Vec<usize>>,
    /// The meaning of the mark after a result; by default [`MARKED`].
    marked_because: Option<String>,
    /// Events that occurred during samples of the table's results.
    marked: BTreeSet<Mark>,
    /// The notes for the next row.
    pending: Vec<usize>,
}

impl Table {
    /// An empty table. `columns` are the headings: a leading `?` marks a column that may be omitted if there is no room, and a following
    /// `#` marks a column of values. Both marks are removed.
    pub fn new<Head: AsRef<str>>(
        title: &str,
        word: Option<&str>,
        columns: impl IntoIterator<Item = Head>,
    ) -> Self {
        let column = |head: Head| {
            let head = head.as_ref();
            let (head, optional) = head.strip_prefix('?').map_or((head, false), |head| (head, true));
            let (head, figures) = head.strip_prefix('#').map_or((head, false), |head| (head, true));
            Column { head: head.to_owned(), figures, optional }
        };
        Self {
            title: title.to_owned(),
            word: word.map(str::to_owned),
            columns: columns.into_iter().map(column).collect(),
            ..Self::default()
        }
    }

    /// An empty table with these columns.
    pub fn with_fields<T>(title: &str, word: Option<&str>, fields: &[Field<T>]) -> Self {
        Self::new(title, word, fields.iter().map(|(head, _)| head))
    }

    /// Adds a row for an item.
    pub fn item<T>(&mut self, fields: &[Field<T>], item: &T) {
        self.row(fields.iter().map(|(_, cell)| cell(item)).collect());
    }

    /// The first `most` items of `all`; if there are more, a remark shows the total number.
    pub fn first<T>(&mut self, mut all: Vec<T>, most: usize) -> Vec<T> {
        if all.len() > most {
            self.note(&format!("the first {most} of {}; the record contains all", all.len()));
            all.truncate(most);
        }
        all
    }

    /// Adds a row; missing cells are empty, excess ones are dropped.
    pub fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
        self.pending.sort_unstable();
        self.pending.dedup();
        self.references.push(std::mem::take(&mut self.pending));
    }

    /// Records that the table shows this result, or counts it in a remark.
    pub fn tells(&mut self, m: &Measurement) {
        self.shown.add(m);
        for marked in &m.marks {
            self.marked.insert(marked.mark);
        }
    }

    /// Sets the reason why results are unreliable, if the reason is not the width of their intervals.
    pub fn explain_mark(&mut self, why: impl std::fmt::Display) {
        self.marked_because = Some(format!("{}: {why}", MARK.trim_start()));
    }

    /// Highlights the next row as a loss (`true`) or as a gain (`false`).
    pub fn weigh_row(&mut self, is_loss: Option<bool>) {
        self.weights.resize(self.rows.len(), Weight::Plain);
        let weight = |is_loss| if is_loss { Weight::Worse } else { Weight::Better };
        self.weights.push(is_loss.map_or(Weight::Plain, weight));
    }

    /// How a row is highlighted.
    pub fn weight(&self, row: usize) -> Weight {
        self.weights.get(row).copied().unwrap_or_default()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The finished table: without empty columns, and with the note numbers at the end of each row, where they do not affect the
    /// alignment of values.
    pub fn finished(mut self) -> Self {
        self.single_samples();
        if let Some(meaning) = self.meaning_of_mark() {
            self.note(&meaning);
        }
        if !self.marked.is_empty() {
            let kinds: Vec<&str> = self.marked.iter().map(|mark| mark_words(*mark)).collect();
            self.note(&format!("during some samples {}", kinds.join("; ")));
        }
        for at in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[at].is_empty()) {
                self.remove(at);
            }
        }
        if self.references.iter().any(|notes| !notes.is_empty()) {
            self.columns.push(Column { head: String::new(), figures: false, optional: false });
            for (row, notes) in self.rows.iter_mut().zip(&self.references) {
                let numbers = notes.iter().map(|note| (note + 1).to_string()).collect::<Vec<_>>().join(",");
                row.push(if numbers.is_empty() { numbers } else { format!("[{numbers}]") });
            }
        }
        self
    }

    /// The finished table without notes and note numbers. The explanation of the mark is kept.
    pub fn without_notes(mut self) -> Self {
        self.references.clear();
        let mut finished = self.finished();
        finished.notes.clear();
        finished.remarks = finished.meaning_of_mark().into_iter().collect();
        finished
    }

    /// The meaning of the mark, if any result has this mark.
    fn meaning_of_mark(&self) -> Option<String> {
        let marked = self.rows.iter().flatten().any(|cell| cell.ends_with(MARK));
        marked.then(|| self.marked_because.clone().unwrap_or_else(|| MARKED.to_owned()))
    }

    /// If every result is a single sample, a remark replaces the spread column.
    fn single_samples(&mut self) {
        let Some(at) = self.columns.iter().position(|column| column.head == SPREAD) else { return };
        let cells = || self.rows.iter().map(|row| row[at].as_str()).filter(|cell| !cell.is_empty());
        if cells().next().is_some() && cells().all(|cell| cell == ONE_SAMPLE) {
            self.rows.iter_mut().for_each(|row| row[at].clear());
            self.note("one sample each: the spread is not known");
        }
    }

    /// The table without the last of its optional columns; `None` if it has none.
    pub fn narrower(&self) -> Option<Self> {
        let at = self.columns.iter().rposition(|column| column.optional)?;
        let mut narrower = self.clone();
        narrower.remove(at);
        Some(narrower)
    }

    fn remove(&mut self, at: usize) {
        self.columns.remove(at);
        for row in &mut self.rows {
            row.remove(at);
        }
    }

    /// Adds a note on the entire table, to be shown below the table, unless the table already has this note.
    pub fn note(&mut self, text: &str) {
        self.remarks.extend((!self.remarks.iter().any(|remark| remark == text)).then(|| text.to_owned()));
    }

    /// Adds notes to which the next row refers.
    pub fn note_row<Note: Into<String>>(&mut self, notes: impl IntoIterator<Item = Note>) {
        for text in notes.into_iter().map(Into::into) {
            let at = self.notes.iter().position(|note| *note == text).unwrap_or(self.notes.len());
            if at == self.notes.len() {
                self.notes.push(text);
            }
            self.pending.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_stand_behind_the_rows_that_they_are_about() {
        let mut table = Table::new("T", None, ["#a", "b"]);
        table.note("about all");
        table.note_row(["noisy"]);
        table.row(vec!["1 ns".to_owned()]);
        table.row(vec!["2 ns".to_owned()]);
        let table = table.finished();
        assert_eq!(table.rows, [["1 ns", "[1]"], ["2 ns", ""]].map(|row| row.map(str::to_owned)));
        // A note on the whole table has no number, because no row refers to it.
        assert_eq!((table.notes, table.remarks), (vec!["noisy".to_owned()], vec!["about all".to_owned()]));
    }

    #[test]
    fn a_mark_is_explained_where_notes_are_left_out() {
        let mut table = Table::new("T", None, ["#a"]);
        table.note("about all");
        table.row(vec!["1 ns".to_owned()]);
        assert!(table.clone().without_notes().remarks.is_empty());
        table.row(vec![format!("2 ns{MARK}")]);
        assert_eq!(table.clone().without_notes().remarks, [MARKED]);
        table.explain_mark("too few ticks");
        assert_eq!(table.without_notes().remarks, ["?: too few ticks"]);
    }
}
