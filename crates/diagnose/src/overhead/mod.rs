//! What layers of the machine cost that were timed in turn with the same bytes: steps in which one thing differs, the
//! noise floor beside them, and the conclusions of the published comparison held against these figures.

mod claims;
mod rows;
mod steps;
#[cfg(test)]
mod tests;
mod totals;

use record::diagnosis::{Layer, Overhead};

use crate::layers::AGAIN;
use crate::record_index::RecordIndex;
use record::statistics::Verdict;
use record::text;
use rows::Rows;
pub(crate) use totals::student_quantile;
use totals::{Difference, Together};

/// Steps, floor and conclusions; each layer gets the interval of what it takes over the fastest. `None` where no layers were
/// timed in turn; figures that others published are single ones, from which no interval follows.
pub(crate) fn overhead(index: &RecordIndex, layers: &mut [Layer]) -> Option<Overhead> {
    let rows = Rows::from_index(index);
    let locate = |from: &str| rows.0.iter().find(|row| crate::figures::locate_figure(row.m) == from);
    let fastest = locate(&layers.iter().find(|layer| layer.layer != AGAIN)?.from)?;
    let comparisons = steps::comparisons(&rows);
    let itself = compare_with_itself(&rows, comparisons);
    let together = Together { comparisons, floor: itself.as_ref().and_then(Difference::bound) };
    for layer in layers.iter_mut().filter(|layer| layer.over != 0.0) {
        layer.over_interval = locate(&layer.from).and_then(|row| row.against(fastest, together).interval);
    }
    let floor = itself.map(|difference| match (difference.bound(), difference.verdict) {
        // Nothing differs between the two but chance.
        (Some(smaller_than), Verdict::Costs { .. }) => Verdict::NotResolved { smaller_than },
        (_, verdict) => verdict,
    });
    let floor_says = match &floor {
        Some(verdict) => {
            text!("A/A control (a layer against itself): {result}.", result = steps::state(verdict))
        }
        None => text!("No A/A control: no layer was timed twice, so the noise floor is unknown."),
    };
    let claims = claims::claims(&rows, together, floor.as_ref());
    let line_speed = fastest.label();
    Some(Overhead { line_speed, floor, floor_says, steps: steps::steps(&rows, together), claims })
}

/// What comes out when a layer is compared with itself.
fn compare_with_itself(rows: &Rows, comparisons: usize) -> Option<Difference> {
    let again = rows.0.iter().find(|row| row.layer == AGAIN)?;
    let first = rows.find("user", again.cpu, true)?;
    Some(again.against(first, Together { comparisons, floor: None }))
}
