//! What stands below one heading of a report: tables, charts, maps, facts and sentences.

use super::section::Section;
use crate::chart::Chart;
use crate::chart::bars::Bars;
use crate::chart::heat::Heat;
use crate::shown::Shown;
use crate::table::Table;

/// What stands below one heading.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// The heading.
    pub title: String,
    /// The name under which [`record::glossary`] explains it.
    pub word: Option<String>,
    /// Whether it tells how one workload scales.
    pub is_of_a_workload: bool,
    /// What is told, in this order.
    pub parts: Vec<Part>,
    /// The figures that its charts, maps and sentences tell; tables know their own.
    pub shown: Shown,
}

/// One thing that is told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// A table.
    Table(Table),
    /// A chart of lines.
    Chart(Chart),
    /// Bars, for a page; a table tells the same.
    Bars(Bars),
    /// A matrix.
    Heat(Box<Heat>),
    /// Facts, one a line.
    Facts(Section),
    /// A sentence or two.
    Says(String),
}

impl Block {
    /// An empty one.
    pub(crate) fn new(title: &str, word: Option<&str>) -> Self {
        Self {
            title: title.to_owned(),
            word: word.map(str::to_owned),
            is_of_a_workload: false,
            parts: Vec::new(),
            shown: Shown::default(),
        }
    }

    /// A table below its own title.
    pub(crate) fn from_table(table: Table) -> Self {
        let mut block = Self::new(&table.title, table.word.as_deref());
        block.parts.push(Part::Table(table));
        block
    }

    /// The figures that it tells, or counts in a remark.
    pub(crate) fn shown_figures(&self) -> Shown {
        let mut shown = self.shown.clone();
        for part in &self.parts {
            if let Part::Table(table) = part {
                shown.join(&table.shown);
            }
        }
        shown
    }
}

/// How much of the figures there is room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Rows that a table of CPUs may have before only the worst of them are shown.
    pub rows: usize,
    /// Workloads whose steps of scaling are told one by one; of the others the summary.
    pub workloads: usize,
    /// Placements whose steps are told one by one.
    pub placements: usize,
    /// Fewest steps of a chart of scaling: on a terminal two points are a line whatever they are.
    pub steps: usize,
}
