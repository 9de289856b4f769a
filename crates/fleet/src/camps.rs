//! Camps: groups of machines of the same kind, each group with its own speed, because of a known fact or for an unknown reason.
//! Also finds results that drift during a collection.

use std::collections::BTreeMap;

use diagnose::facts;

use record::difference::{WORTH_TELLING, student_tail};

use crate::group::{Cell, Column, Group};
use crate::judge::judge_families;
use crate::robust::{median, scale};

/// Minimum number of machines in a camp, and minimum share of all machines that it must have.
const LEAST: usize = 3;
const LEAST_SHARE: f64 = 0.15;
/// Minimum share of all machines that a camp must have if no fact explains it.
const LEAST_SHARE_UNEXPLAINED: f64 = 0.2;
/// Maximum probability, over all facts and results, that a fact divides the machines by chance.
const WRONG: f64 = 0.001;
/// Camps overlap if the distance between their medians is less than this multiple of the scatter within camps.
const APART: f64 = 1.0;
/// The gap between two camps that no fact explains must be more than this multiple of the scatter within camps.
const GAP: f64 = 6.0;
/// Minimum width of this gap, in the logarithm of the speed.
const GAP_BOUND: f64 = 0.02;
/// Maximum nesting depth of camps.
const DEEPEST: usize = 3;
/// Minimum number of machines to distinguish drift from chance.
const FOR_DRIFT: usize = 20;
/// Minimum size of a drift, in standard deviations of the difference.
const SURE: f64 = 5.0;

/// The reason why machines of a kind form a separate group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    /// The indexes of the facts that divide the machines, each with this camp's value; empty if no fact divides them.
    pub(crate) by: Vec<(usize, Option<u32>)>,
    /// The result in which the camps differ most.
    pub(crate) figure: Option<u32>,
    /// This camp's median minus the median of the fastest camp, in logarithms.
    pub(crate) slower_by: f64,
}

/// Divides a group into camps; returns the group itself if it has no camps.
pub(crate) fn find_camps(group: Group) -> Vec<(Group, Option<Division>)> {
    divide(group, None, 0)
}

fn divide<'a>(group: Group<'a>, of: Option<Division>, depth: usize) -> Vec<(Group<'a>, Option<Division>)> {
    let camps = (depth < DEEPEST).then(|| by_fact(&group).or_else(|| by_gap(&group))).flatten();
    let Some(camps) = camps else { return vec![(group, of)] };
    let parts = camps.into_iter().flat_map(|(members, division)| {
        let by = of.iter().flat_map(|of| of.by.iter().copied()).chain(division.by.iter().copied()).collect();
        divide(group.part(&members), Some(Division { by, ..division }), depth + 1)
    });
    parts.collect()
}

/// A camp's machines and its division.
type Camps = Vec<(Vec<usize>, Division)>;

/// Divides by the fact that leaves the smallest differences within camps.
fn by_fact(group: &Group) -> Option<Camps> {
    let mut partitions: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for fact in 0..facts().len() {
        if let Some(camps) = partition(group, fact) {
            partitions.entry(camps).or_default().push(fact);
        }
    }
    let tests = partitions.len() * group.columns.len();
    let judged = partitions.into_iter();
    let judged = judged.filter_map(|(camps, by)| Some((gain(group, &camps, tests)?, camps, by)));
    let ((_, figure), camps, by) = judged.max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
    let number = camps.iter().copied().max()? + 1;
    let parts = (0..number).map(|camp| (0..camps.len()).filter(|at| camps[*at] == camp).collect::<Vec<_>>());
    Some(with_speeds(group, figure, parts.collect(), |first| {
        let value = |fact: &usize| group.members.get(first).and_then(|member| member.fact(*fact));
        by.iter().map(|fact| (*fact, value(fact))).collect()
    }))
}

/// The camp of each machine, determined by the machine's value of a fact; machines with a rare value join those with the most frequent
/// value.
fn partition(group: &Group, fact: usize) -> Option<Vec<usize>> {
    let value = |member: &&crate::brief::Brief| member.fact(fact);
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    group.members.iter().filter_map(&value).for_each(|value| *counts.entry(value).or_default() += 1);
    let least = LEAST.max((group.members.len() as f64 * LEAST_SHARE).ceil() as usize);
    let mut large: Vec<(usize, u32)> =
        counts.into_iter().filter(|(_, n)| *n >= least).map(|(v, n)| (n, v)).collect();
    large.sort_by(|a, b| b.cmp(a));
    if large.len() < 2 {
        return None;
    }
    let camp = |member| large.iter().position(|(_, of)| Some(*of) == value(member)).unwrap_or(0);
    // Numbered in order of appearance, so that facts with the same division give the same camps.
    let mut numbers: Vec<usize> = Vec::new();
    let camps = group.members.iter().map(camp).map(|camp| {
        numbers.iter().position(|known| *known == camp).unwrap_or_else(|| {
            numbers.push(camp);
            numbers.len() - 1
        })
    });
    Some(camps.collect())
}

/// The score of a division, summed over the results in which the camps differ: the distance between the camps, plus the logarithm of the
/// ratio of the scatter of all machines to the scatter within camps. Also returns the result with the greatest distance; `None` if the
/// camps differ in no result.
fn gain(group: &Group, camps: &[usize], tests: usize) -> Option<(f64, u32)> {
    let mut total = 0.0;
    let mut most: Option<(f64, u32)> = None;
    for column in &group.columns {
        let Some((apart, within)) = compare(column, camps, tests) else { continue };
        let Some(all) = scale(&column.logs()) else { continue };
        total += (all / within).ln().max(0.0) + apart;
        if most.is_none_or(|(known, _)| apart > known) {
            most = column.figure.map(|figure| (apart, figure));
        }
    }
    most.map(|(_, figure)| (total, figure))
}

/// The distance between the camps' medians in a result, and the scatter within camps; `None` if the difference may be
/// due to chance.
fn compare(column: &Column, camps: &[usize], tests: usize) -> Option<(f64, f64)> {
    let mut of: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (camp, cell) in camps.iter().zip(&column.cells) {
        if let Some(cell) = cell {
            of.entry(*camp).or_default().push(cell.log);
        }
    }
    of.retain(|_, logs| logs.len() >= LEAST);
    let middles: Vec<(f64, usize)> = of.values().map(|logs| (median(logs.clone()), logs.len())).collect();
    let by_speed = |a: &&(f64, usize), b: &&(f64, usize)| a.0.total_cmp(&b.0);
    let (slow, fast) = (middles.iter().min_by(by_speed)?, middles.iter().max_by(by_speed)?);
    let apart = fast.0 - slow.0;
    let camps = of.values().zip(&middles);
    let residuals = camps.flat_map(|(logs, (middle, _))| logs.iter().map(move |log| log - middle));
    let residuals: Vec<f64> = residuals.collect();
    let within = scale(&residuals)?.max(WORTH_TELLING / 10.0);
    // The standard deviation of a median is √(π/2) times the standard deviation of a mean.
    let deviation =
        within * (std::f64::consts::FRAC_PI_2 * (1.0 / slow.1 as f64 + 1.0 / fast.1 as f64)).sqrt();
    let freedom = (residuals.len() - middles.len()).max(1) as f64;
    let chance = 2.0 * student_tail(apart / deviation, freedom) * tests as f64;
    (apart > WORTH_TELLING && apart > APART * within && chance < WRONG).then_some((apart, within))
}

/// Divides by a gap that no fact explains. The gap must exist in a family of results as a whole, because a single result may have two
/// values due to its method.
fn by_gap(group: &Group) -> Option<Camps> {
    let families = judge_families(group);
    let found = families.iter().filter_map(|family| {
        let whole = &family.whole.as_ref().or(family.columns.first())?.column;
        Some((find_gap(whole)?, whole, family))
    });
    let ((_, middle), whole, family) = found.max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
    // The result in which the machines differ least, apart from the gap, shows the gap best.
    let shown = family.columns.iter().min_by(|a, b| a.scale.total_cmp(&b.scale))?.column.figure?;
    let by_whole = |slow: bool| {
        let is = |at: &usize| whole.cell(*at).is_some_and(|cell| (cell.log < middle) == slow);
        (0..group.members.len()).filter(is).collect::<Vec<usize>>()
    };
    let camps = [by_whole(false), by_whole(true)];
    // A machine that lacks too many results of the family joins the camp whose medians are nearest to the machine's results.
    let far = |at: usize, camp: &[usize]| {
        let columns = family.columns.iter().map(|judged| &judged.column);
        let off = columns.filter_map(|column| {
            let of_camp = camp.iter().filter_map(|at| column.cell(*at)).map(|cell| cell.log);
            Some((column.cell(at)?.log - median(of_camp.collect())).abs())
        });
        off.sum::<f64>()
    };
    let is_slow = |at: usize| match whole.cell(at) {
        Some(cell) => cell.log < middle,
        None => far(at, &camps[1]) < far(at, &camps[0]),
    };
    let (slow, fast) = (0..group.members.len()).partition(|at| is_slow(*at));
    Some(with_speeds(group, shown, vec![fast, slow], |_| Vec::new()))
}

/// The gap between two camps, if there is no machine in between: its width as a multiple of the scatter within camps, and its middle.
fn find_gap(column: &Column) -> Option<(f64, f64)> {
    let mut logs = column.logs();
    logs.sort_by(f64::total_cmp);
    let least = (LEAST + 1).max((logs.len() as f64 * LEAST_SHARE_UNEXPLAINED).ceil() as usize);
    let ranks = least..(logs.len() + 1).saturating_sub(least);
    let gap = |at: &usize| logs[*at] - logs[*at - 1];
    let at = ranks.max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let within = scale(&logs[..at])?.max(scale(&logs[at..])?).max(WORTH_TELLING / 10.0);
    let clear = gap(&at) > GAP_BOUND && gap(&at) > GAP * within;
    clear.then(|| (gap(&at) / within, (logs[at] + logs[at - 1]) / 2.0))
}

/// Removes and returns results that form two groups although their families do not. The cause of such groups is the method, not the
/// machines.
pub(crate) fn take_out_two_valued(group: &mut Group) -> Vec<u32> {
    let (two, one): (Vec<Column>, Vec<Column>) =
        std::mem::take(&mut group.columns).into_iter().partition(|column| find_gap(column).is_some());
    group.columns = one;
    two.into_iter().filter_map(|column| column.figure).collect()
}

/// The camps, each with its difference from the fastest camp.
fn with_speeds(
    group: &Group,
    figure: u32,
    camps: Vec<Vec<usize>>,
    by: impl Fn(usize) -> Vec<(usize, Option<u32>)>,
) -> Camps {
    let column = group.columns.iter().find(|column| column.figure == Some(figure));
    let middle = |members: &Vec<usize>| {
        let cells = members.iter().filter_map(|at| column?.cell(*at));
        median(cells.map(|cell| cell.log).collect())
    };
    let middles: Vec<f64> = camps.iter().map(middle).collect();
    let fastest = middles.iter().copied().fold(f64::MIN, f64::max);
    let camp = |(members, middle): (Vec<usize>, f64)| {
        let division = Division {
            by: members.first().map(|first| by(*first)).unwrap_or_default(),
            figure: Some(figure),
            slower_by: middle - fastest,
        };
        (members, division)
    };
    camps.into_iter().zip(middles).filter(|(members, _)| !members.is_empty()).map(camp).collect()
}

/// Removes drift during the collection. Returns each drifting result, and its drift from the first to the last third of the collection.
pub(crate) fn take_out_drifts(group: &mut Group) -> Vec<(u32, f64)> {
    let times: Vec<Option<f64>> = group.members.iter().map(|one| one.begun.map(|at| at as f64)).collect();
    group.columns.iter_mut().filter_map(|column| take_out_drift(column, &times)).collect()
}

fn take_out_drift(column: &mut Column, times: &[Option<f64>]) -> Option<(u32, f64)> {
    let both = column.cells.iter().zip(times);
    let mut points: Vec<(f64, f64)> =
        both.filter_map(|(cell, time)| Some(((*time)?, cell.as_ref()?.log))).collect();
    if points.len() < FOR_DRIFT {
        return None;
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let third = points.len() / 3;
    let (first, last) = (&points[..third], &points[points.len() - third..]);
    let middle = |part: &[(f64, f64)]| {
        let (times, logs) = part.iter().copied().unzip();
        (median(times), median(logs))
    };
    let ((begin, slow), (end, fast)) = (middle(first), middle(last));
    let slope = (fast - slow) / (end - begin);
    let left: Vec<f64> = points.iter().map(|(time, log)| log - slope * (time - begin)).collect();
    let deviation = scale(&left)? * (std::f64::consts::FRAC_PI_2 * 2.0 / third as f64).sqrt();
    let moved = fast - slow;
    if !slope.is_finite() || moved.abs() < WORTH_TELLING || moved.abs() < SURE * deviation {
        return None;
    }
    for (cell, time) in column.cells.iter_mut().zip(times) {
        if let (Some(cell), Some(time)) = (cell, time) {
            let by = slope * (time - end);
            *cell = Cell { log: cell.log - by, fast: cell.fast - by, ..*cell };
        }
    }
    column.figure.map(|figure| (figure, moved))
}
