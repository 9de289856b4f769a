//! Tables of results, as described by the user: `layer.time: heading=layer, cols=bound, unit=ticks`.

use record::metrics;

use crate::numbers::parse_decimal;

/// How to turn the cells of Markdown tables into results.
#[derive(Clone, Debug)]
pub struct Table {
    metric: &'static metrics::Definition,
    /// The keys for the first cell of a row, the header of a column, and the heading above the table.
    keys: [Option<String>; 3],
    /// The only column to read.
    col: Option<String>,
    /// Part of the heading above the tables to read.
    below: Option<String>,
    unit: String,
    /// Keys that are the same for all cells.
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
        "--table: {1:?} does not apply to {0}; use rows=, cols=, heading= with one of its keys ({2}) or machine, \
         col=COLUMN, below=HEADING, unit=UNIT, or KEY=VALUE"
    )]
    Part(&'static str, String, String),
}

/// The word used instead of a key for the machine of a result.
const MACHINE: &str = "machine";

impl Table {
    /// `METRIC: rows=KEY, cols=KEY, heading=KEY, col=COLUMN, below=HEADING, unit=UNIT, KEY=VALUE`.
    ///
    /// # Errors
    ///
    /// There is no such metric, or the metric has no such key.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let named = text.split_once(':').and_then(|(name, parts)| Some((metrics::find(name.trim())?, parts)));
        let (metric, parts) = named.ok_or_else(|| TableError::NoMetric(text.to_owned()))?;
        let unit = metric.unit.to_owned();
        let (named, fixed) = (Default::default(), Vec::new());
        let mut table = Self { metric, keys: named, col: None, below: None, unit, fixed };
        let keys: Vec<&str> = metric.keys.iter().map(|label| label.name()).collect();
        for part in parts.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = || TableError::Part(metric.name, part.to_owned(), keys.join(", "));
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value = value.trim().trim_matches('"').to_owned();
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

    /// The results in a row. Each has its machine (if a key of the table is the machine), its metric, and its text in
    /// the format of published results.
    pub(crate) fn figures(
        &self,
        head: &[String],
        cells: &[String],
        heading: &str,
    ) -> Vec<(Option<String>, &'static metrics::Definition, String)> {
        let mut figures = Vec::new();
        if cells.len() != head.len()
            || self.below.as_ref().is_some_and(|below| !heading.contains(below.as_str()))
        {
            return figures;
        }
        // Published layer results are in ticks, but the metric's unit is called cycles.
        let unit = if self.unit == "ticks" { "cycles" } else { &self.unit };
        let bare = |text: &str| text.replace(['"', '`', '*'], "").trim().to_owned();
        for (column, cell) in head.iter().zip(cells).skip(usize::from(self.keys[0].is_some())) {
            let wanted = self.col.as_ref().is_none_or(|col| bare(column) == *col);
            let number = bare(cell).replace(' ', "");
            let Some(number) = parse_decimal(&number).filter(|_| wanted) else { continue };
            let row = cells.first().map(|first| bare(first)).unwrap_or_default();
            let named = self.keys.iter().zip([row, bare(column), bare(heading)]);
            let named = named.filter_map(|(key, name)| Some((key.clone()?, name)));
            let (machine, keys): (Vec<_>, Vec<_>) =
                named.chain(self.fixed.iter().cloned()).partition(|(key, _)| key == MACHINE);
            let keys: String = keys.iter().map(|(key, value)| format!(" {key}=\"{value}\"")).collect();
            let machine = machine.into_iter().next().map(|(_, name)| name);
            figures.push((machine, self.metric, format!(" {number} {unit}{keys}")));
        }
        figures
    }
}
