//! What layers of the machine cost that were timed in turn with the same bytes: steps in which one thing differs, the
//! noise floor beside them, and the conclusions of the published comparison held against these figures.

mod claims;
mod rows;
mod steps;
#[cfg(test)]
mod tests;

use record::diagnosis::{Layer, Overhead};

use crate::layers::AGAIN;
use crate::record_index::RecordIndex;
use record::paired_comparison::PairedComparison;
use record::text;
use rows::{Rows, Together};

/// Steps, floor and conclusions. `None` where no layers were timed in turn; figures that others published are single
/// ones, from which no interval follows.
pub(crate) fn overhead(index: &RecordIndex, layers: &[Layer]) -> Option<Overhead> {
    let rows = Rows::from_index(index);
    let fastest = layers.iter().find(|layer| layer.layer != AGAIN).filter(|_| !rows.0.is_empty())?;
    let line_speed = rows.0.iter().find(|row| crate::figures::locate_figure(row.m) == fastest.from)?.label();
    let comparisons = steps::comparisons(&rows);
    let itself = itself(&rows, comparisons).map(PairedComparison::as_floor);
    let together = Together { comparisons, floor: itself.as_ref().and_then(|gain| gain.floor) };
    let floor = itself.map(|gain| gain.verdict);
    let floor_says = match &floor {
        Some(verdict) => {
            text!(
                "overhead-floor",
                "A/A control (a layer against itself): {result}.",
                result = steps::state(verdict)
            )
        }
        None => text!(
            "overhead-no-floor",
            "No A/A control: no layer was timed twice, so the noise floor is unknown."
        ),
    };
    let claims = claims::claims(&rows, together, floor.as_ref());
    Some(Overhead { line_speed, floor, floor_says, steps: steps::steps(&rows, together), claims })
}

/// What comes out when a layer is compared with itself.
fn itself(rows: &Rows, comparisons: usize) -> Option<PairedComparison> {
    let again = rows.0.iter().find(|row| row.layer == AGAIN)?;
    let first = rows.find("user", again.cpu, true)?;
    Some(again.against(first, Together { comparisons, floor: None }))
}
