//! The contents of one section of a report: tables, charts, maps, facts, sentences, items and commands. Commands build
//! blocks from data; the terminal, Markdown and page renderers lay them out.

use super::section::Section;
use crate::chart::Chart;
use crate::chart::bars::Bars;
use crate::chart::heat::Heat;
use crate::shown::Shown;
use crate::table::Table;

/// The contents of one section.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    /// The heading; empty if none is needed.
    pub title: String,
    /// The name of the section's entry in [`record::glossary`].
    pub word: Option<String>,
    /// Whether the block shows the scaling of one workload.
    pub is_of_a_workload: bool,
    /// The parts, in display order.
    pub parts: Vec<Part>,
    /// The results shown by the block's charts, maps and sentences; each table tracks its own results.
    pub shown: Shown,
}

/// One part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// A table.
    Table(Table),
    /// A chart of lines.
    Chart(Chart),
    /// Bars, for a page; a table shows the same data.
    Bars(Bars),
    /// A matrix.
    Heat(Box<Heat>),
    /// Facts, one per line.
    Facts(Section),
    /// A sentence or two.
    Says(String),
    /// Items of one kind, most important first; only as many as fit are shown.
    Items(Vec<Item>),
    /// Commands to paste; only as many as fit are shown.
    Commands(Vec<String>),
}

/// One of several items.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Item {
    /// The item's title; several titles if several items share an explanation.
    pub heads: Vec<String>,
    /// Notes on the item.
    pub below: Vec<String>,
    /// Further details, shown with `--all`.
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
    /// The contents of a section, which the glossary explains under `word`; empty parts are omitted.
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

    /// The results that the block shows or counts in a remark.
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

/// A table with its own title.
impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::new(&table.title.clone(), table.word.clone().as_deref(), vec![Part::Table(table)])
    }
}

/// Limits on the number of displayed results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Maximum number of rows in a table of CPUs; if there are more, only the worst are shown.
    pub rows: usize,
    /// Maximum number of workloads with individual scaling steps; for others, only the summary is shown.
    pub workloads: usize,
    /// Maximum number of placements with individual steps.
    pub placements: usize,
}
