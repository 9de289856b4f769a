//! A table as a report says it: what it is about, its columns and rows; the terminal and the page lay it out.

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading; figures carry their own unit, so it has none.
    pub head: String,
    /// Figures stand on the right, words on the left.
    pub figures: bool,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it is.
    pub title: String,
    /// The name under which [`record::words`] explains it: a metric, mostly.
    pub word: Option<String>,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell a column.
    pub rows: Vec<Vec<String>>,
    /// What is to be known of the figures, below the table.
    pub notes: Vec<String>,
}

impl Table {
    /// An empty table. `columns` are the headings; one that begins with `#` is of figures, and loses the sign.
    pub fn new(title: &str, word: Option<&str>, columns: &[&str]) -> Self {
        let column = |head: &&str| match head.strip_prefix('#') {
            Some(head) => Column { head: head.to_owned(), figures: true },
            None => Column { head: (*head).to_owned(), figures: false },
        };
        Self {
            title: title.to_owned(),
            word: word.map(str::to_owned),
            columns: columns.iter().map(column).collect(),
            ..Self::default()
        }
    }

    /// Adds a row; cells that are missing are empty, those beyond the columns are dropped.
    pub fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Whether it has nothing to say.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Leaves out the columns in which no row has anything.
    pub fn without_empty_columns(mut self) -> Self {
        for at in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[at].is_empty()) {
                self.columns.remove(at);
                for row in &mut self.rows {
                    row.remove(at);
                }
            }
        }
        self
    }

    /// The number of a footnote that says `text`, which is added where it is new: `[1]`.
    pub fn note(&mut self, text: &str) -> String {
        let at = self.notes.iter().position(|note| note == text).unwrap_or_else(|| {
            self.notes.push(text.to_owned());
            self.notes.len() - 1
        });
        format!("[{}]", at + 1)
    }
}
