//! `linespeed list`: what can be measured here, what not and why, and how long each takes.

use machine::Root;
use measure::{Depth, MEASUREMENTS};
use report::terminal::Listed;
use serde_json::json;

use crate::delivery::{Forms, hand_out};
use crate::failure::Failure;
use crate::options::Options;

/// Prints one entry a measurement.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let found = machine::inspect(&Root::live());
    let cpus = super::measuring::chosen_cpus(options, &found.machine)?;
    let mut listed = Vec::new();
    let mut entries = Vec::new();
    for measurement in MEASUREMENTS {
        let budget = |depth| measurement.budget(&found.machine, &cpus, depth);
        let outlook = measurement.outlook(&found.machine, &found.snapshot, &cpus);
        let seconds =
            [Depth::Quick, Depth::Normal, Depth::Named, Depth::Full].map(|depth| budget(depth).seconds);
        let most = budget(Depth::Normal).bytes;
        entries.push(json!({
            "name": measurement.name,
            "metrics": measurement.metrics,
            "seconds": {"quick": seconds[0], "normal": seconds[1], "alone": seconds[2], "full": seconds[3]},
            "bytes": most,
            "state": outlook.state,
            "code": outlook.reason.as_ref().and_then(record::Text::code),
            "reason": outlook.reason.as_ref().map(ToString::to_string),
            "remedy": outlook.remedy,
        }));
        listed.push(Listed { name: measurement.name.to_owned(), seconds, bytes: most, outlook });
    }
    let forms = Forms::new(|style| report::terminal::measurements(&listed, style));
    hand_out(options, &forms.with_value(entries.into())).map(|()| 0)
}
