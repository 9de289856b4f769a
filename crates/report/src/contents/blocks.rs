//! The figures of a report in the order in which they are told: each block is what stands below one heading.

use record::Record;

use super::{Section, core_to_core, counters, curves, details, layers, numa, scaling, workloads};
use crate::chart::Chart;
use crate::chart::heat::Heat;
use crate::table::Table;

/// What stands below one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The heading.
    pub title: String,
    /// The name under which [`record::words`] explains it.
    pub word: Option<String>,
    /// What is told, in this order.
    pub parts: Vec<Part>,
}

/// One thing that is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A table.
    Table(Table),
    /// A chart of lines.
    Chart(Chart),
    /// A matrix.
    Heat(Box<Heat>),
    /// A matrix that no terminal can show: all of it for a page, the same summed up for a terminal.
    Condensed {
        /// All of it.
        full: Box<Heat>,
        /// Summed up.
        small: Box<Heat>,
    },
    /// Facts, one a line.
    Facts(Section),
    /// A sentence or two.
    Says(String),
}

impl Block {
    /// An empty one.
    pub fn new(title: &str, word: Option<&str>) -> Self {
        Self { title: title.to_owned(), word: word.map(str::to_owned), parts: Vec::new() }
    }

    fn of(table: Table) -> Self {
        Self { title: table.title.clone(), word: table.word.clone(), parts: vec![Part::Table(table)] }
    }
}

/// How much of the figures there is room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Rows that a table of CPUs may have before only the worst of them are shown.
    pub rows: usize,
    /// Workloads whose steps of scaling are told one by one; of the others the summary.
    pub workloads: usize,
    /// Placements whose steps are told one by one.
    pub placements: usize,
}

/// Every block that the record has figures for.
pub fn blocks(record: &Record, room: Room) -> Vec<Block> {
    let mut charts = curves::charts(record);
    let mut blocks: Vec<Block> = details::tables(record, room.rows).into_iter().map(Block::of).collect();
    for block in &mut blocks {
        let shown = |(metric, _): &(&str, Chart)| block.word.as_deref() == Some(*metric);
        if let Some(at) = charts.iter().position(shown) {
            block.parts.insert(0, Part::Chart(charts.remove(at).1));
        }
    }
    blocks.extend(numa::block(record));
    blocks.extend(core_to_core::block(record));
    blocks.extend(workloads::blocks(record).into_iter().map(Block::of));
    blocks.extend(scaling::blocks(record, room));
    blocks.extend(layers::siblings(record));
    blocks.extend(layers::layers(record));
    blocks.extend(counters::tables(record, room.rows).into_iter().map(Block::of));
    blocks.extend(details::others(record, room.rows).into_iter().filter(|t| !t.is_empty()).map(Block::of));
    blocks.extend(charts.into_iter().map(|(metric, chart)| Block {
        title: chart.title.clone(),
        word: Some(metric.to_owned()),
        parts: vec![Part::Chart(chart)],
    }));
    blocks
}
