//! The figures of a report in the order in which they are told: each block is what stands below one heading.

use record::Record;

use super::{
    Section, core_to_core, counters, curves, details, latency, layers, numa, rest, scaling, workloads,
};
use crate::chart::Chart;
use crate::chart::heat::Heat;
use crate::table::Table;
use crate::told::Told;

/// What stands below one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The heading.
    pub title: String,
    /// The name under which [`record::words`] explains it.
    pub word: Option<String>,
    /// What is told, in this order.
    pub parts: Vec<Part>,
    /// The figures that its charts, maps and sentences tell; tables know their own.
    pub told: Told,
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
    /// A matrix beside the one before it, of whose figures a table tells the gist: a page keeps it folded, a terminal
    /// leaves it out.
    Folded(Box<Heat>),
    /// Facts, one a line.
    Facts(Section),
    /// A sentence or two.
    Says(String),
}

impl Block {
    /// An empty one.
    pub fn new(title: &str, word: Option<&str>) -> Self {
        Self {
            title: title.to_owned(),
            word: word.map(str::to_owned),
            parts: Vec::new(),
            told: Told::default(),
        }
    }

    /// A table below its own title.
    pub fn of(table: Table) -> Self {
        let mut block = Self::new(&table.title, table.word.as_deref());
        block.parts.push(Part::Table(table));
        block
    }

    /// The figures that it tells, or counts in a remark.
    pub fn told(&self) -> Told {
        let mut told = self.told.clone();
        for part in &self.parts {
            if let Part::Table(table) = part {
                told.join(&table.told);
            }
        }
        told
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

/// Every block that the record has figures for. Each figure is told in one of them, or counted in a remark that says
/// where it stands.
pub fn blocks(record: &Record, room: Room) -> Vec<Block> {
    let mut charts = curves::charts(record);
    let mut blocks: Vec<Block> = details::tables(record, room.rows).into_iter().map(Block::of).collect();
    if let Some(latency) = latency::block(record) {
        match blocks.iter_mut().find(|block| block.word == latency.word) {
            Some(levels) => {
                levels.told.join(&latency.told());
                levels.parts.extend(latency.parts);
            }
            None => blocks.push(latency),
        }
    }
    for block in &mut blocks {
        let shown = |(metric, _): &(&str, Chart)| block.word.as_deref() == Some(*metric);
        if let Some(at) = charts.iter().position(shown) {
            block.parts.insert(0, Part::Chart(charts.remove(at).1));
        }
    }
    blocks.extend(numa::block(record));
    blocks.extend(core_to_core::block(record));
    let scaling = scaling::blocks(record, room);
    let mut steps = Told::default();
    scaling.iter().for_each(|block| steps.join(&block.told()));
    blocks.extend(workloads::blocks(record, &steps).into_iter().map(Block::of));
    blocks.extend(scaling);
    blocks.extend(layers::siblings(record));
    blocks.extend(layers::layers(record));
    blocks.extend(counters::tables(record, room.rows).into_iter().map(Block::of));
    let mut told = Told::default();
    blocks.iter().for_each(|block| told.join(&block.told()));
    blocks.extend(rest::tables(record, &told, room.rows).into_iter().map(Block::of));
    blocks.extend(charts.into_iter().map(|(metric, chart)| {
        let mut block = Block::new(&chart.title, Some(metric));
        block.parts.push(Part::Chart(chart));
        block
    }));
    blocks
}
