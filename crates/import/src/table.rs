//! Tables of results, as described by the user: `layer.time: heading=layer, cols=bound, unit=ticks`.

use record::{Measurement, metrics};

use crate::numbers::parse_decimal;
use crate::tools::published::parse_figure;

/// How to turn the cells of Markdown tables into results.
#[derive(Clone, Debug)]
pub struct Table {
    /// The description itself.
    pub(crate) text: String,
    /// Whether any row was read according to this description.
    pub(crate) is_used: bool,
    /// The metric of the results.
    pub(crate) metric: &'static metrics::Definition,
    /// The keys for the first cell of a row, the header of a column, and the heading above the table.
    keys: [Option<String>; 3],
    /// The only column to read.
    col: Option<String>,
    /// Part of the heading above the tables to read.
    below: Option<String>,
    unit: String,
    /// Keys, each with its value for all cells or with the header of the column that contains its values.
    fixed: Vec<(String, String)>,
}

/// Why a table description is rejected.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The description does not begin with a metric.
    #[error("--table {0:?}: use METRIC: rows=KEY, cols=KEY, unit=UNIT; linespeed explain lists the metrics")]
    NoMetric(String),
    /// A part of the description is not understood.
    #[error(
        "--table: {1:?} does not apply to {0}. Use rows=, cols= or heading= with a key of that metric ({2}) \
         or machine, col=COLUMN, below=HEADING, unit=UNIT, KEY=VALUE, or KEY=COLUMN"
    )]
    Part(&'static str, String, String),
}

/// The word that is used instead of a key if the cell or heading names the machine.
const MACHINE: &str = "machine";

impl Table {
    /// `METRIC: rows=KEY, cols=KEY, heading=KEY, col=COLUMN, below=HEADING, unit=UNIT, KEY=VALUE` or
    /// `KEY=COLUMN`.
    ///
    /// # Errors
    ///
    /// There is no such metric, or the metric has no such key.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let named = text.split_once(':').and_then(|(name, parts)| Some((metrics::find(name.trim())?, parts)));
        let (metric, parts) = named.ok_or_else(|| TableError::NoMetric(text.to_owned()))?;
        let unit = metric.unit.to_owned();
        let (keys, fixed, text) = (Default::default(), Vec::new(), text.to_owned());
        let mut table = Self { text, is_used: false, metric, keys, col: None, below: None, unit, fixed };
        let keys: Vec<&str> = metric.keys.iter().map(|label| label.name()).collect();
        for part in parts.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = || TableError::Part(metric.name, part.to_owned(), keys.join(", "));
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
            let value = quoted.unwrap_or(value).to_owned();
            let is_key = keys.contains(&value.as_str()) || value == MACHINE;
            match name.trim() {
                "rows" if is_key => table.keys[0] = Some(value),
                "cols" if is_key => table.keys[1] = Some(value),
                "heading" if is_key => table.keys[2] = Some(value),
                "col" => table.col = Some(value),
                "below" => table.below = Some(value),
                "unit" => table.unit = value,
                name if keys.contains(&name) || name == MACHINE || name == "work" => {
                    table.fixed.push((name.to_owned(), value));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(table)
    }

    /// The results in a row, each with its machine (if a key of the table is the machine), and the cells that cannot be read. `first` is
    /// the first cell of the last row whose first cell is not empty.
    pub(crate) fn figures(&self, head: &[String], cells: &[String], first: &str, heading: &str) -> Vec<Cell> {
        let mut figures = Vec::new();
        if cells.len() != head.len()
            || self.below.as_ref().is_some_and(|below| !heading.contains(below.as_str()))
        {
            return figures;
        }
        let bare = |text: &str| text.replace(['"', '`', '*'], "").trim().to_owned();
        let column_of = |name: &str| head.iter().position(|column| !name.is_empty() && bare(column) == name);
        // A row whose first cell is empty has the label of the row above.
        let label = |at: usize| bare(if at == 0 && cells[0].is_empty() { first } else { &cells[at] });
        let labels = self.fixed.iter().filter_map(|(_, value)| column_of(value));
        let labels: Vec<usize> = self.keys[0].iter().map(|_| 0).chain(labels).collect();
        for (at, (column, cell)) in head.iter().zip(cells).enumerate() {
            let is_wanted = self.col.as_ref().is_none_or(|col| bare(column) == *col);
            let cell = bare(cell);
            if labels.contains(&at) || !is_wanted || !cell.contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let named = self.keys.iter().zip([label(0), bare(column), bare(heading)]);
            let named = named.filter_map(|(key, name)| Some((key.clone()?, name)));
            let value_of = |value: &String| column_of(value).map_or(value.clone(), label);
            let fixed = self.fixed.iter().map(|(key, value)| (key.clone(), value_of(value)));
            let (machine, keys): (Vec<_>, Vec<_>) = named.chain(fixed).partition(|(key, _)| key == MACHINE);
            let keys: String =
                keys.iter().map(|(key, value)| format!(" {key}={}", shell_words::quote(value))).collect();
            // A cell lists several results only if a label of the row also lists what they belong to: `cpu0 / 16` and `1.15 / 1.12`. The
            // slash in `2.5 GB/s` does not separate results.
            let listed = |text: &str| text.matches('/').count();
            let is_list = labels.iter().any(|at| listed(&label(*at)) == listed(&cell))
                && cell.split('/').all(|part| self.figure(part, &keys).is_ok());
            let parts = cell.split(|c| c == '/' && is_list);
            let all = parts.map(|part| self.figure(part, &keys)).collect::<Result<Vec<_>, _>>();
            let figure = all.and_then(|mut all| {
                let samples = all.iter().map(Measurement::value).collect();
                let one = all.pop().ok_or("the cell is empty")?;
                let labels = one.labels.clone();
                Ok(Measurement { detail: one.detail, ..Measurement::exact(one.metric, labels, samples) })
            });
            let machine = machine.into_iter().next().map(|(_, name)| name);
            figures.push(Cell { machine, text: cell, figure });
        }
        // A row in which nothing can be read belongs to another table.
        let is_read = self.col.is_some() || figures.iter().any(|cell| cell.figure.is_ok());
        if is_read { figures } else { Vec::new() }
    }

    /// The result in a cell: `2.5 G`, `59 (0.56)`, `59199 (.60); 8 cores 31210`.
    fn figure(&self, cell: &str, keys: &str) -> Result<Measurement, String> {
        let (front, remark) = cell.split_once(['(', '（']).unwrap_or((cell, ""));
        let after = remark.split_once([')', '）']).map_or("", |(_, after)| after.trim());
        let front = front.replace(' ', "");
        let end = front.find(char::is_alphabetic).unwrap_or(front.len());
        let (number, suffix) = front.split_at(end);
        let number = parse_decimal(number).filter(|_| after.is_empty() || after.starts_with(';'));
        let number = number.ok_or_else(|| format!("{cell:?} is not a number"))?;
        let unit = if self.unit.starts_with(suffix) { &self.unit } else { suffix };
        // Published layer results are in ticks, but the metric's unit is called cycles.
        let unit = if unit == "ticks" { "cycles" } else { unit };
        parse_figure(self.metric, &format!(" {number} {unit}{keys}"))
    }
}

/// A cell of a table.
pub(crate) struct Cell {
    /// The machine, if the table contains it.
    pub machine: Option<String>,
    /// The content of the cell.
    pub text: String,
    /// The result, or the reason why it cannot be read.
    pub figure: Result<Measurement, String>,
}
