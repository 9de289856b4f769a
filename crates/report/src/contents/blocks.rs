//! The results of a report in display order: each block is one section.

use record::{Metric, Record};

use super::block::{Block, Part, Room};
use super::{
    command_tables, core_to_core, counters, curves, details, latency, layers, numa, places, rest, scaling,
    workloads,
};
use crate::chart::Chart;
use crate::shown::Shown;

/// Every block for which the record has results. Each result is shown in one block, or counted in a remark that shows where to find
/// it.
pub(crate) fn blocks(record: &Record, room: Room) -> Vec<Block> {
    let mut charts = curves::charts(record);
    let mut blocks = command_tables::blocks(record);
    let mut shown_before = Shown::default();
    blocks.iter().for_each(|block| shown_before.join(&block.shown_figures()));
    let known = details::tables(record, room.rows).into_iter().filter(|table| !table.is_empty());
    blocks.extend(known.map(Block::from));
    if let Some(latency) = latency::block(record) {
        match blocks.iter_mut().find(|block| block.word == latency.word) {
            Some(levels) => {
                levels.shown.join(&latency.shown_figures());
                levels.parts.extend(latency.parts);
            }
            None => blocks.push(latency),
        }
    }
    for block in &mut blocks {
        let shown = |(metric, _): &(Metric, Chart)| block.word.as_deref() == Some(metric.name());
        if let Some(at) = charts.iter().position(shown) {
            block.parts.insert(0, Part::Chart(charts.remove(at).1));
        }
    }
    blocks.push(numa::block(record));
    blocks.extend(places::block(record));
    blocks.extend(core_to_core::block(record));
    let scaling = scaling::blocks(record, room);
    scaling.iter().for_each(|block| shown_before.join(&block.shown_figures()));
    blocks.extend(workloads::tables(record, &shown_before).map(Block::from));
    blocks.extend(scaling);
    blocks.extend([layers::siblings(record), layers::layers(record)]);
    blocks.extend(counters::tables(record, &shown_before, room.rows).map(Block::from));
    let mut shown = Shown::default();
    blocks.iter().for_each(|block| shown.join(&block.shown_figures()));
    blocks.extend(rest::tables(record, &shown, room.rows).into_iter().map(Block::from));
    let alone = |(metric, chart): (Metric, Chart)| {
        Block::new(&chart.title.clone(), Some(metric.name()), vec![Part::Chart(chart)])
    };
    blocks.extend(charts.into_iter().map(alone));
    blocks.retain(|block| !block.is_empty());
    blocks
}
