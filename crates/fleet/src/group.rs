//! Machines side by side: one column per result, with the logarithm of each machine's speed.

use std::collections::BTreeMap;

use record::difference::WORTH_TELLING;
use record::fleet::Family;

use diagnose::Figure;

use crate::brief::{Brief, Known, Point, is_judged, log_speed};
use crate::robust::median;

/// A result forms a column only if at least this many machines have it.
pub(crate) const LEAST: usize = 5;
/// The z value of a 95 % CI.
const Z: f64 = 1.959_964;

/// A result of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// The logarithm of the machine's speed: larger is faster.
    pub(crate) log: f64,
    /// The standard deviation, from the machine's own interval; 0 without an interval.
    pub(crate) spread: f64,
    /// The faster end of the machine's own interval.
    pub(crate) fast: f64,
}

/// A result of all machines.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The number that identifies the result; `None` for an entire family.
    pub(crate) figure: Option<u32>,
    /// The family of results with the same causes.
    pub(crate) family: Family,
    /// One cell per machine.
    pub(crate) cells: Vec<Option<Cell>>,
}

impl Column {
    /// The result of one machine.
    pub(crate) fn cell(&self, at: usize) -> Option<Cell> {
        self.cells.get(at).copied().flatten()
    }

    /// The logarithmic speeds of the machines that have this result.
    pub(crate) fn logs(&self) -> Vec<f64> {
        self.cells.iter().flatten().map(|cell| cell.log).collect()
    }
}

/// Machines that are compared with each other.
#[derive(Clone)]
pub(crate) struct Group<'a> {
    pub(crate) known: &'a Known,
    pub(crate) members: Vec<&'a Brief>,
    pub(crate) columns: Vec<Column>,
}

impl<'a> Group<'a> {
    /// A group of these machines, with every result that enough of them have.
    pub(crate) fn new(known: &'a Known, members: Vec<&'a Brief>) -> Self {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for member in &members {
            for (number, point) in &member.figures {
                if point.value > 0.0 && known.figure(*number).is_some_and(is_judged) {
                    *counts.entry(*number).or_default() += 1;
                }
            }
        }
        let least = LEAST.min(members.len());
        let numbers = counts.into_iter().filter(|(_, count)| *count >= least).map(|(number, _)| number);
        let mut columns: Vec<Column> = numbers
            .filter_map(|number| {
                let figure = known.figure(number)?;
                let cells = members.iter().map(|member| cell(figure, member.figures.get(&number)?));
                Some(Column { figure: Some(number), family: figure.family, cells: cells.collect() })
            })
            .collect();
        columns.sort_by_key(|column| column.family);
        Self { known, members, columns }
    }

    /// A group of only some of the machines.
    pub(crate) fn part(&self, members: &[usize]) -> Self {
        let cells = |column: &Column| members.iter().map(|at| column.cell(*at)).collect();
        let columns = self.columns.iter().map(|column| Column { cells: cells(column), ..*column });
        Self {
            known: self.known,
            members: members.iter().filter_map(|at| self.members.get(*at).copied()).collect(),
            columns: columns.collect(),
        }
    }

    /// The machine nearest to the medians of all machines; if several are equally near, the one with the most results.
    pub(crate) fn medoid(&self) -> Option<usize> {
        let mut far: Vec<(f64, usize)> = vec![(0.0, 0); self.members.len()];
        for column in &self.columns {
            let middle = median(column.logs());
            for (sum, cell) in far.iter_mut().zip(&column.cells) {
                if let Some(cell) = cell {
                    *sum = (sum.0 + (cell.log - middle).abs().min(0.5), sum.1 + 1);
                }
            }
        }
        let most = far.iter().map(|(_, count)| *count).max()?;
        let mean = |(sum, count): (f64, usize)| {
            if count * 10 >= most * 9 { sum / count.max(1) as f64 } else { f64::MAX }
        };
        (0..far.len()).min_by(|a, b| mean(far[*a]).total_cmp(&mean(far[*b])))
    }
}

fn cell(figure: &Figure, point: &Point) -> Option<Cell> {
    let log = log_speed(figure, point.value);
    if !log.is_finite() {
        return None;
    }
    let ends = point.interval.filter(|(low, high)| *low > 0.0 && high >= low);
    let ends = ends.map(|(low, high)| (log_speed(figure, low), log_speed(figure, high)));
    let (spread, fast) = match ends {
        Some((one, other)) => ((one - other).abs() / (2.0 * Z), one.max(other).max(log)),
        // The precision of this result is unknown: assume at least the smallest relevant difference.
        None => (0.0, log + WORTH_TELLING),
    };
    Some(Cell { log, spread, fast })
}
