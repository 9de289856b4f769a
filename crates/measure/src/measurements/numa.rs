//! NUMA matrices: latency, bandwidth and time per element from the CPUs of each node (rows) to the memory of each node
//! (columns). The memory is bound
//! to its node, and the placement of each page is verified.

pub(crate) mod chase;
pub(crate) mod columns;
pub(crate) mod elements;
pub(crate) mod node_coverage;
pub(crate) mod plan;
pub(crate) mod reading;

use std::time::{Duration, Instant};

use record::text::Value;
use record::{Coverage, CpuList, Label, Labels, Measurement, detail, metrics, text};
use serde_json::json;

use crate::arrays::widest_stream;
use crate::budget::Budget;
use crate::context::{Context, Halt};
use crate::measure::Measure;
use crate::reasons::{LEAVE_OUT, NO_READ_KERNEL, NOT_PINNED, PLACEMENT_NOT_VERIFIED};
use crate::repeat::{Rates, judged, there_and_back};
use columns::Column;
use elements::Arrays;
use kernels::stream::Op;
use os::placement::Placement;
use plan::{Effort, Phases, Row, distances, memory_nodes};

const NAME: &str = "numa";

/// Maximum half-width of the 95 % CI; a bandwidth with a wider interval is too noisy.
const TARGET: f64 = 0.05;

/// The first round over the cells may exceed the time for all rounds by this factor before cells are abandoned. As a
/// result, every cell is measured once even on a busy machine.
const FIRST_ROUND: f64 = 4.0;

fn phases(rows: &[Row], columns: usize, effort: Effort) -> Phases {
    let threads = rows.iter().map(|row| row.cpus.len()).max().unwrap_or(0);
    Phases::new(rows.len(), columns, threads, effort)
}

pub(crate) const NUMA: Measure = Measure {
    name: NAME,
    metrics: &[metrics::NUMA_LATENCY, metrics::NUMA_BANDWIDTH, metrics::STREAM_NS_PER_ELEMENT],
    obstacle: |machine, snapshot, cpus| {
        if let Some(why) = plan::impossible(machine, cpus) {
            return Some(why.into_impossible(NAME));
        }
        let why = text!(
            "kernel NUMA balancing is on: it does not migrate bound memory, but its scans may disturb samples"
        );
        let balancing = snapshot.numa_balancing.is_some_and(|mode| mode > 0);
        let remedy = "sysctl kernel.numa_balancing=0 during the run";
        balancing.then(|| Coverage::degraded(NAME, why).with_remedy(remedy))
    },
    budget: |machine, cpus, depth| {
        if plan::impossible(machine, cpus).is_some() {
            return Budget::NONE;
        }
        let (rows, columns) = (plan::rows(machine, cpus), memory_nodes(machine).len());
        let effort = Effort::new(machine, depth);
        Budget {
            seconds: phases(&rows, columns, effort).seconds(),
            bytes: effort.wanted_bytes(machine, &rows).saturating_mul(columns as u64),
        }
    },
    uses_arrays: false,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let rows = plan::rows(context.machine, &context.cpus);
    let nodes: Vec<u32> = memory_nodes(context.machine).iter().collect();
    let effort = Effort::new(context.machine, context.depth);
    let phases = phases(&rows, nodes.len(), effort);
    let wanted = effort.wanted_bytes(context.machine, &rows);
    let mut columns = columns::build(context, &rows, &nodes, wanted, phases.build);
    context.check()?;
    if columns.is_empty() {
        return Err(text!("no node's memory could be bound and filled").into());
    }
    context.advance(0.2);
    latency(context, &rows, &mut columns, phases.latency)?;
    context.advance(0.5);
    bandwidth(context, &rows, &mut columns, &phases, effort)?;
    elements(context, &rows, &mut columns, &phases)
}

/// A cell's labels.
fn cell_place(row: &Row, column: &Column) -> Labels {
    Labels::new().with_label(Label::From, row.node).with_label(Label::To, column.node)
}

/// Adds the verification of a column's memory to a cell.
fn with_proof(m: Measurement, context: &Context, row: &Row, column: &Column) -> Measurement {
    let (share, pages) = match &column.placement {
        Placement::Share { on_node, pages } => (json!(on_node), *pages),
        Placement::Unknown(_) => (json!(null), 0),
    };
    m.with_detail(detail::ON_NODE, share)
        .with_detail(detail::PAGES, pages)
        .with_detail(detail::PAGE, column.page.as_str())
        .with_detail(detail::HUGE_SHARE, json!(column.huge_share))
        .with_detail(detail::PLACEMENT, column.placement.describe(column.node).to_string())
        .with_known_detail(
            detail::DISTANCE,
            distances(context.machine).get(&(row.node, column.node)).copied(),
        )
        .with_known_detail(detail::NUMA_BALANCING, context.snapshot.numa_balancing)
}

/// Verifies the columns again after use. Reports columns that are discarded and columns that could not be verified.
fn prove(context: &mut Context, columns: &mut [Column], last: bool) -> Vec<bool> {
    columns
        .iter_mut()
        .map(|column| {
            column.prove();
            if let Placement::Unknown(why) = &column.placement
                && last
            {
                let what = format!("numa node {}", column.node);
                context.degrade(what, text!(PLACEMENT_NOT_VERIFIED, why));
            }
            match columns::withheld(column) {
                Some(reported) => {
                    if !context.coverage.contains(&reported) {
                        context.coverage.push(reported);
                    }
                    false
                }
                None => true,
            }
        })
        .collect()
}

fn latency(context: &mut Context, rows: &[Row], columns: &mut [Column], seconds: f64) -> Result<(), Halt> {
    let from = Instant::now();
    let until = from + Duration::from_secs_f64(seconds);
    let at_most = from + Duration::from_secs_f64(seconds * FIRST_ROUND);
    let (cells, ended) = chase::take_samples(context, rows, columns, until, at_most);
    let proven = prove(context, columns, false);
    let mut missing = 0usize;
    for (r, row) in rows.iter().enumerate() {
        for (c, column) in columns.iter().enumerate().filter(|(c, _)| proven[*c]) {
            let Some(m) = cells.measurement(r, c, cell_place(row, column)) else {
                missing += 1;
                continue;
            };
            let m = m
                .with_detail(detail::CPU, row.lead)
                .with_detail(detail::BYTES, column.cycle.bytes())
                .with_detail(detail::EVICTED, kernels::flush::available());
            context.push(with_proof(m, context, row, column));
        }
    }
    ended?;
    if !cells.unpinned.is_empty() {
        context.degrade_with_remedy("numa latency", text!(NOT_PINNED, cpus = &cells.unpinned), LEAVE_OUT);
    } else if missing > 0 {
        let why = if cells.unfinished {
            text!(Coverage::TIME_ENDED, when = format!("with {missing} cells left"))
        } else {
            text!("{cells} cells are missing because their CPU went offline", cells = missing)
        };
        context.degrade_with_remedy("numa latency", why, "linespeed run numa --full");
    }
    Ok(())
}

fn bandwidth(
    context: &mut Context,
    rows: &[Row],
    columns: &mut [Column],
    phases: &Phases,
    effort: Effort,
) -> Result<(), Halt> {
    let Some(kernel) = widest_stream(Op::Read) else {
        context.coverage.push(Coverage::impossible("numa bandwidth", NO_READ_KERNEL));
        return Ok(());
    };
    let nodes: Vec<u32> = columns.iter().map(|column| column.node).collect();
    let mut order = plan::in_order_of_telling(context.machine, rows, &nodes);
    let all = order.len();
    order.truncate(phases.cells);
    let (passes, slices) = effort.passes();
    let terms = reading::Terms { window: phases.window, slices, patience: effort.patience(phases.window) };
    let mut rates: Vec<Rates> = vec![Rates::default(); order.len()];
    let mut threads = vec![0; order.len()];
    let mut ended = Ok(());
    let from = Instant::now();
    'passes: for pass in 0..passes {
        for (step, cell) in there_and_back(pass, order.len()).enumerate() {
            ended = context.check();
            if ended.is_err() {
                break 'passes;
            }
            let over = from.elapsed().as_secs_f64() / phases.bandwidth;
            if over > if pass == 0 { FIRST_ROUND } else { 1.0 } {
                break 'passes;
            }
            let (row, column) = (&rows[order[cell].0], &columns[order[cell].1]);
            let memory = column.cycle.mapping();
            let read = reading::run(&row.cpus, memory, column.touched, kernel, terms, context.stop);
            threads[cell] = read.threads;
            rates[cell].add(read.rates, context.next_look(), read.moved);
            context
                .advance(0.5 + 0.5 * (pass * order.len() + step + 1) as f64 / (passes * order.len()) as f64);
        }
    }
    let proven = prove(context, columns, true);
    let mut reported = 0;
    for (cell, &(r, c)) in order.iter().enumerate() {
        let (row, column) = (&rows[r], &columns[c]);
        let rates = &rates[cell];
        if !proven[c] || rates.samples.is_empty() {
            continue;
        }
        reported += 1;
        let list: CpuList = row.cpus.iter().copied().take(threads[cell]).collect();
        let place =
            cell_place(row, column).with_label(Label::Op, "read").with_label(Label::Threads, threads[cell]);
        let m = rates
            .measurement(metrics::NUMA_BANDWIDTH, place, 1.0)
            .with_detail(detail::VECTORS, kernel.variant.name())
            .with_detail(detail::ARRAY_BYTES, column.touched)
            .with_detail(detail::CPUS, list.to_string());
        let mut m = judged(m, TARGET);
        let held = plan::caches_of(context.machine, &row.cpus);
        if m.doubt.is_none() && (column.touched as u64) < held.saturating_mul(2) {
            let why = text!(
                "the array is only {array}, so some data was read from the node's caches ({caches})",
                array = Value::Bytes(column.touched as u64),
                caches = Value::Bytes(held)
            );
            m.doubt = Some(why.into());
        }
        context.push(with_proof(m, context, row, column));
    }
    ended?;
    if reported < all {
        let why = text!(Coverage::MOST_TELLING_FIRST, measured = reported, all = all);
        context.degrade_with_remedy("numa bandwidth", why, context.at_more_length(NAME));
    }
    Ok(())
}

/// Measures the time per element for one thread of each row in the memory of each column.
fn elements(
    context: &mut Context,
    rows: &[Row],
    columns: &mut [Column],
    phases: &Phases,
) -> Result<(), Halt> {
    let streams: Vec<_> = elements::OPS.into_iter().filter_map(widest_stream).collect();
    if phases.element_cells == 0 || streams.is_empty() {
        return Ok(());
    }
    let nodes: Vec<u32> = columns.iter().map(|column| column.node).collect();
    let mut order = plan::in_order_of_telling(context.machine, rows, &nodes);
    let all = order.len();
    order.truncate(phases.element_cells);
    let window = Duration::from_secs_f64(plan::ELEMENT_WINDOW);
    let from = Instant::now();
    let mut arrays: Vec<_> = columns
        .iter()
        .map(|column| (column.builder, Arrays::new(column.cycle.mapping(), column.touched)))
        .collect();
    elements::fill_all(&arrays, context.stop);
    let bytes: Vec<usize> =
        arrays.iter().map(|(_, arrays)| arrays.as_ref().map_or(0, Arrays::bytes)).collect();
    let mut taken = Vec::new();
    let mut ended = Ok(());
    'cells: for (r, c) in order {
        for stream in &streams {
            ended = context.check();
            if ended.is_err() || from.elapsed().as_secs_f64() > phases.elements * FIRST_ROUND {
                break 'cells;
            }
            if let Some((_, Some(arrays))) = arrays.get_mut(c) {
                let (samples, moved) = arrays.run(rows[r].lead, stream, window, context.stop);
                taken.push((r, c, *stream, samples, moved));
            }
        }
    }
    drop(arrays);
    let proven = prove(context, columns, true);
    let mut reported = 0;
    for (r, c, stream, samples, moved) in taken {
        if !proven[c] || samples.is_empty() {
            continue;
        }
        reported += 1;
        let (row, column) = (&rows[r], &columns[c]);
        let place = Labels::new()
            .with_label(Label::Op, stream.op.name())
            .with_label(Label::Cpu, row.lead)
            .with_label(Label::Node, column.node);
        let mut rates = Rates::default();
        rates.add(samples, context.next_look(), moved);
        let m = rates
            .measurement(metrics::STREAM_NS_PER_ELEMENT, place, 1.0)
            .with_detail(detail::VECTORS, stream.variant.name())
            .with_detail(detail::ARRAY_BYTES, bytes[c])
            .with_detail(detail::ARRAYS, stream.arrays);
        context.push(with_proof(judged(m, TARGET), context, row, column));
    }
    ended?;
    if reported < all * streams.len() {
        let why = text!(Coverage::MOST_TELLING_FIRST, measured = reported / streams.len(), all = all);
        context.degrade_with_remedy("numa elements", why, context.at_more_length(NAME));
    }
    Ok(())
}
