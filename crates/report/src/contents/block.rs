//! What stands below one heading of a report: tables, charts, maps, facts, sentences, items and commands. Commands build it from
//! data; the terminal's, Markdown's and the page's drawers lay it out.

use super::section::Section;
use crate::chart::Chart;
use crate::chart::bars::Bars;
use crate::chart::heat::Heat;
use crate::shown::Shown;
use crate::table::Table;

/// What stands below one heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    /// The heading; empty where none is needed.
    pub title: String,
    /// The name under which [`record::glossary`] explains it.
    pub word: Option<String>,
    /// Whether it shows how one workload scales.
    pub is_of_a_workload: bool,
    /// What is shown, in this order.
    pub parts: Vec<Part>,
    /// The results that its charts, maps and sentences show; tables know their own.
    pub shown: Shown,
}

/// One thing that is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// A table.
    Table(Table),
    /// A chart of lines.
    Chart(Chart),
    /// Bars, for a page; a table shows the same.
    Bars(Bars),
    /// A matrix.
    Heat(Box<Heat>),
    /// Facts, one per line.
    Facts(Section),
    /// A sentence or two.
    Says(String),
    /// Things of one kind, the most important first: as many as there is room for.
    Items(Vec<Item>),
    /// Commands to paste, likewise.
    Commands(Vec<String>),
}

/// One thing of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Item {
    /// What it is; several where one thing explains them.
    pub heads: Vec<String>,
    /// What is to be known of it.
    pub below: Vec<String>,
    /// What else there is where everything is asked for.
    pub more: Vec<String>,
}

impl From<String> for Item {
    fn from(says: String) -> Self {
        Self { heads: vec![says], ..Self::default() }
    }
}

impl Part {
    fn is_empty(&self) -> bool {
        match self {
            Part::Table(table) => table.is_empty(),
            Part::Bars(bars) => bars.rows.is_empty(),
            Part::Facts(section) => section.facts.is_empty(),
            Part::Items(items) => items.is_empty(),
            Part::Commands(commands) => commands.is_empty(),
            Part::Chart(_) | Part::Heat(_) | Part::Says(_) => false,
        }
    }
}

impl Block {
    /// What stands below a heading, which `word` explains; parts with nothing to show are left out.
    pub(crate) fn new(title: &str, word: Option<&str>, parts: Vec<Part>) -> Self {
        let parts = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Self { title: title.to_owned(), word: word.map(str::to_owned), parts, ..Self::default() }
    }

    /// Items below a heading.
    pub(crate) fn items<T: Into<Item>>(title: &str, items: impl IntoIterator<Item = T>) -> Self {
        Self::new(title, None, vec![Part::Items(items.into_iter().map(T::into).collect())])
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.iter().all(Part::is_empty)
    }

    /// The results that it shows, or counts in a remark.
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

/// A table below its own title.
impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::new(&table.title.clone(), table.word.clone().as_deref(), vec![Part::Table(table)])
    }
}

/// How much of the results there is room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Rows that a table of CPUs may have before only the worst of them are shown.
    pub rows: usize,
    /// Workloads whose steps of scaling are shown one by one; of the others the summary.
    pub workloads: usize,
    /// Placements whose steps are shown one by one.
    pub placements: usize,
}
