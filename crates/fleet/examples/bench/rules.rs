//! Two published rules, implemented from their descriptions. Both use linespeed's results as speeds and its kinds of
//! machines, which the rules themselves do not define; they call a machine slow if one of its results is slow.

use std::collections::BTreeMap;

use fleet::{Brief, Known};

/// SuperBench's validator: computes the mean of all machines, drops those that are worse by 5 % or more, and repeats
/// until none is dropped.
pub fn mean_again(briefs: &[Brief], known: &Known) -> Vec<bool> {
    judge(briefs, known, |values| {
        let mut kept: Vec<usize> = (0..values.len()).collect();
        loop {
            let mean = kept.iter().map(|at| values[*at]).sum::<f64>() / kept.len().max(1) as f64;
            let left: Vec<usize> = kept.iter().copied().filter(|at| values[*at] > 0.95 * mean).collect();
            if left.len() == kept.len() {
                return (0..values.len()).map(|at| !kept.contains(&at)).collect();
            }
            kept = left;
        }
    })
}

/// Modified z-scores (Iglewicz and Hoaglin): over 3.5 scaled median absolute deviations below the median.
pub fn mad_z(briefs: &[Brief], known: &Known) -> Vec<bool> {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        record::statistics::median_of_sorted(&values)
    };
    judge(briefs, known, |values| {
        let middle = median(values.to_vec());
        let mad = median(values.iter().map(|value| (value - middle).abs()).collect());
        values.iter().map(|value| (middle - value) / (1.4826 * mad) > 3.5).collect()
    })
}

fn judge(briefs: &[Brief], known: &Known, rule: impl Fn(&[f64]) -> Vec<bool>) -> Vec<bool> {
    let mut columns: BTreeMap<(&diagnose::Kind, u32), Vec<(usize, f64)>> = BTreeMap::new();
    for (at, brief) in briefs.iter().enumerate() {
        for (number, point) in &brief.figures {
            if let Some(speed) = known.speed(*number, point.value) {
                columns.entry((&brief.kind, *number)).or_default().push((at, speed));
            }
        }
    }
    let mut slow = vec![false; briefs.len()];
    for column in columns.values().filter(|column| column.len() > 1) {
        let said = rule(&column.iter().map(|(_, speed)| *speed).collect::<Vec<_>>());
        for ((at, _), said) in column.iter().zip(said) {
            slow[*at] |= said;
        }
    }
    slow
}
