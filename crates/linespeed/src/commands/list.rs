//! `linespeed list`: the measurements with their durations, and the reason if one is unavailable.

use machine::Root;
use measure::{Depth, MEASUREMENTS, Measure};
use report::terminal::Listed;
use report::view::View;

use crate::delivery::hand_out;
use crate::failure::Failure;
use crate::options::Options;

/// Prints one entry per measurement.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let found = machine::inspect(&Root::live());
    let cpus = super::measuring::chosen_cpus(options, Some(found.machine.allowed_cpus()))?;
    let list = |measurement: &&Measure| {
        let budget = |depth| measurement.budget(&found.machine, &cpus, depth);
        Listed {
            name: measurement.name,
            metrics: measurement.metrics,
            seconds: [Depth::Quick, Depth::Normal, Depth::Named, Depth::Full]
                .map(|depth| budget(depth).seconds),
            bytes: budget(Depth::Normal).bytes,
            outlook: measurement.outlook(&found.machine, &found.snapshot, &cpus),
        }
    };
    let listed: Vec<Listed> = MEASUREMENTS.iter().map(list).collect();
    let forms = View::new(|screen| report::terminal::measurements(screen, &listed));
    hand_out(options, &forms.with_value(listed.iter().map(Listed::to_json).collect())).map(|()| 0)
}
