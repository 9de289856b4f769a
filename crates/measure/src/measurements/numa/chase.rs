//! Measures the latency of every cell: one CPU of each row chases the columns' cycles, row after row.

use std::time::Instant;

use record::{CpuList, Labels, Mark, Measurement, detail, metrics};

use crate::context::{Context, Halt};
use crate::cycle::Random;
use crate::measurements::numa::columns::Column;
use crate::measurements::numa::plan::{Effort, Row};
use crate::repeat::{judged, measurement};
use crate::thread_group;
use crate::watch::{Watch, Watched, look_at_clock};

/// Maximum half-width of the 95 % CI: a cell with a wider interval is too noisy, and sampling may end once the interval is narrow enough.
const TARGET: f64 = 0.03;
const SETTLED: f64 = 0.01;

/// Fixed seed: the first column of each row's turn is drawn from the same sequence in each run.
const SEED: u64 = 0x0DD5_EED5;

/// Untimed loads before a sample.
const UNTIMED: u64 = 64;

/// Time for a core's clock to rise at the start of a row's turn, s.
const WARM_SECONDS: f64 = 1e-3;

/// The samples of all cells during measurement.
#[derive(Debug)]
pub(crate) struct Cells {
    columns: usize,
    /// Loads per sample.
    hops: u64,
    taken: Vec<Vec<Watched>>,
    /// Rows whose thread could not be pinned.
    pub unpinned: CpuList,
    /// Whether the time ran out during the first round.
    pub unfinished: bool,
}

/// Samples all cells round by round until the samples agree or the time `until` is reached. The first round is finished even after `until`,
/// but not after `at_most`.
pub(crate) fn take_samples(
    context: &mut Context,
    rows: &[Row],
    columns: &mut [Column],
    until: Instant,
    at_most: Instant,
) -> (Cells, Result<(), Halt>) {
    let effort = Effort::new(context.machine, context.depth);
    let hops = effort.hops();
    let mut cells = Cells {
        columns: columns.len(),
        hops,
        taken: vec![Vec::new(); rows.len() * columns.len()],
        unpinned: CpuList::new(),
        unfinished: false,
    };
    let (least, most) = effort.rounds();
    let mut random = Random::new(SEED);
    for round in 0..most {
        // A turn may load twice as many lines as its samples need, half of them for warm-up.
        refresh(columns, rows.len() as u64 * 2 * (hops + UNTIMED));
        for turn in 0..rows.len() {
            if let Err(halt) = context.check() {
                return (cells, Err(halt));
            }
            let now = Instant::now();
            if now >= at_most || (round > 0 && now >= until) {
                cells.unfinished = round == 0;
                return (cells, Ok(()));
            }
            let (index, first) = next_turn(&mut random, round, turn, rows.len(), columns.len());
            let row = &rows[index];
            let done = thread_group::run_on(row.lead, |member| {
                member.pinned.then(|| sample_row(row.lead, columns, hops, first))
            });
            match done.flatten() {
                Some(samples) => {
                    for (column, taken) in samples {
                        cells.taken[index * cells.columns + column].push(taken);
                    }
                }
                None => cells.unpinned.insert(row.lead),
            }
        }
        context.advance(0.2 + 0.3 * (round + 1) as f64 / most as f64);
        if round + 1 >= least && cells.settled() {
            break;
        }
    }
    (cells, Ok(()))
}

/// The row of a turn, and the column at which the turn begins. Each round begins with a different row, and the column is drawn at random.
/// If every turn began at the row's own node, disturbances of a turn's first sample would always affect the local cells.
fn next_turn(random: &mut Random, round: usize, turn: usize, rows: usize, columns: usize) -> (usize, usize) {
    ((turn + round) % rows, random.below(columns))
}

/// Flushes the columns in which the next round would otherwise load lines for a second time.
fn refresh(columns: &mut [Column], lines: u64) {
    for column in columns.iter_mut().filter(|column| !column.has_fresh(lines)) {
        thread_group::run_on(column.builder, |_| column.evict());
    }
}

/// A row's turn: takes a sample of each column in order, beginning with `first`.
fn sample_row(cpu: u32, columns: &mut [Column], hops: u64, first: usize) -> Vec<(usize, Watched)> {
    warm_up();
    let mut watch = Watch::new(cpu);
    let n = columns.len();
    // This sample is ignored: the thread is new, and the core may have been idle.
    if let Some(column) = columns.get_mut(first) {
        column.cycle.walk(hops);
        column.walked += hops;
    }
    (0..n)
        .map(|step| {
            let index = (first + step) % n;
            let column = &mut columns[index];
            column.walk_pages();
            column.cycle.walk(UNTIMED);
            watch.refresh();
            let watched = watch.sample(|| column.cycle.walk(hops));
            column.walked += hops + UNTIMED;
            (index, watched)
        })
        .collect()
}

/// Works until the clock no longer rises, because an idle CPU starts slowly.
fn warm_up() {
    let from = Instant::now();
    let mut before = look_at_clock();
    while from.elapsed().as_secs_f64() < WARM_SECONDS {
        let now = look_at_clock();
        if (now / before - 1.0).abs() < 0.005 {
            return;
        }
        before = now;
    }
}

impl Cells {
    fn settled(&self) -> bool {
        self.taken.iter().all(|cell| {
            let ns: Vec<f64> = cell.iter().map(|sample| sample.ns).collect();
            record::Summary::from_samples(&ns).relative_half_width().is_some_and(|width| width <= SETTLED)
        })
    }

    /// The cell's measurement; `None` without samples.
    pub(crate) fn measurement(&self, row: usize, column: usize, place: Labels) -> Option<Measurement> {
        let taken = self.taken.get(row * self.columns + column).filter(|taken| !taken.is_empty())?;
        let hops = self.hops as f64;
        let m = judged(measurement(metrics::NUMA_LATENCY, place, taken, |sample| sample.ns / hops), TARGET);
        let migrated = m.marks.iter().filter(|mark| mark.mark == Mark::Migrated).count();
        (migrated * 2 <= taken.len()).then(|| m.with_detail(detail::HOPS_PER_SAMPLE, self.hops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(ns: f64, marks: &[Mark]) -> Watched {
        Watched { ns, clock_hz: 1e9, marks: marks.to_vec(), look: 0 }
    }

    #[test]
    fn no_cell_is_always_the_first_of_its_turn() {
        // Local memory once appeared slower than remote memory, because each turn began with it.
        let mut random = Random::new(SEED);
        let mut begins = vec![0u32; 16 * 16];
        for round in 0..160 {
            for turn in 0..16 {
                let (row, first) = next_turn(&mut random, round, turn, 16, 16);
                begins[row * 16 + first] += 1;
            }
        }
        // Ten turns of each kind are expected.
        assert!(begins.iter().all(|count| (1..=30).contains(count)), "{begins:?}");
        let local: u32 = (0..16).map(|node| begins[node * 17]).sum();
        assert!((110..=210).contains(&local), "{local} of 2560 turns began with local memory");
    }

    #[test]
    fn a_cell_whose_cpu_was_taken_away_is_no_figure() {
        let mut cells = Cells {
            columns: 2,
            hops: 10,
            taken: vec![
                vec![watched(1000.0, &[]); 9],
                vec![watched(1000.0, &[Mark::Migrated]); 9],
                vec![],
                vec![],
            ],
            unpinned: CpuList::new(),
            unfinished: false,
        };
        let m = cells.measurement(0, 0, Labels::new()).unwrap();
        assert_eq!((m.value(), m.summary.n), (100.0, 9));
        assert!(cells.measurement(0, 1, Labels::new()).is_none());
        assert!(cells.measurement(1, 0, Labels::new()).is_none());
        assert!(!cells.settled(), "cells without samples are not settled");
        cells.taken.truncate(2);
        assert!(cells.settled());
    }
}
