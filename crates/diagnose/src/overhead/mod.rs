//! The overhead of the machine's layers, timed alternately with identical code: steps between layers that differ in one
//! property, the noise floor, and a check of the conclusions of the published comparison.

mod claims;
mod rows;
mod steps;
#[cfg(test)]
mod tests;

use record::diagnosis::{Layer, Overhead};

use crate::layers::AGAIN;
use crate::record_index::RecordIndex;
use record::text;
use rows::{Rows, Together};

/// Steps, noise floor and conclusions. Each layer also gets the interval of its extra time relative to the fastest
/// layer. `None` if layers were not timed alternately; published results, for example, are single values without an
/// interval.
pub(crate) fn overhead(index: &RecordIndex, layers: &mut [Layer]) -> Option<Overhead> {
    let rows = Rows::from_index(index);
    let locate = |from: &str| rows.0.iter().find(|row| crate::figures::locate_figure(row.m) == from);
    let fastest = locate(&layers.iter().find(|layer| layer.layer != AGAIN)?.from)?;
    let comparisons = steps::comparisons(&rows);
    // If a layer is compared with itself, any difference is due to chance.
    let itself = rows.0.iter().find(|row| row.layer == AGAIN).and_then(|again| {
        let first = rows.find("user", again.cpu, true)?;
        Some(again.against(first, Together { comparisons, floor: None }).as_floor())
    });
    let together = Together { comparisons, floor: itself.as_ref().and_then(|itself| itself.floor) };
    for layer in layers.iter_mut().filter(|layer| layer.over != 0.0) {
        layer.over_interval = locate(&layer.from).and_then(|row| row.against(fastest, together).interval);
    }
    let floor = itself.map(|itself| itself.verdict);
    let floor_says = match &floor {
        Some(verdict) => {
            text!("A/A control (a layer compared with itself): {result}.", result = steps::state(verdict))
        }
        None => text!("No A/A control: no layer was timed twice, so the noise floor is unknown."),
    };
    let claims = claims::claims(&rows, together, floor.as_ref());
    let line_speed = fastest.label();
    Some(Overhead { line_speed, floor, floor_says, steps: steps::steps(&rows, together), claims })
}
