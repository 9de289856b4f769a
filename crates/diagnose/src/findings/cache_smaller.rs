//! A cache of which this machine gets much less than it advertises.

use record::Level;
use record::diagnosis::Finding;
use record::units::bytes;

use super::{Case, Rule, at_most_warning, costs, finding, is_virtual, lines};
use crate::figures::{told, verdict};
use crate::levels::MUCH_SMALLER;

/// Where the latency curve leaves a level against its advertised size.
pub const RULE: Rule = Rule { name: "cache-smaller", find };

fn find(case: &Case) -> Vec<Finding> {
    case.levels.iter().enumerate().filter_map(|(at, level)| one(case, at, level)).collect()
}

fn one(case: &Case, at: usize, level: &Level) -> Option<Finding> {
    let (measured, advertised) = (level.measured_bytes?, level.advertised_bytes.filter(|size| *size > 0)?);
    // The size lies between the last working set that the level held and the next one measured.
    let sizes = case.record.of("load.latency").filter_map(|m| m.place.count("bytes"));
    let next = sizes.filter(|size| *size > measured).min().unwrap_or(measured);
    let (least, most) = (measured as f64 / advertised as f64, next as f64 / advertised as f64);
    if most >= MUCH_SMALLER {
        return None;
    }
    let loss = costs(verdict(1.0 - least, (1.0 - most, 1.0 - least)))?;
    let name = &level.name;
    let (seen, told_size) = (bytes(measured), bytes(advertised));
    let remedy = if is_virtual(case.record) {
        lines([
            "size working sets by what is measured, not by what the kernel shows",
            "an instance type with the whole package to itself gets the whole cache",
        ])
    } else {
        lines([
            "who else uses it: measure again on an idle machine",
            "whether it is divided: sudo mount -t resctrl resctrl /sys/fs/resctrl; cat /sys/fs/resctrl/schemata",
        ])
    };
    Some(Finding {
        severity: at_most_warning(&loss),
        place: Some(name.clone()),
        evidence: vec![
            told(
                format!("the latency curve leaves {name} at {seen}"),
                format!("diagnosis.levels[{at}].measured_bytes"),
            ),
            told(format!("the kernel advertises {told_size}"), "machine.caches[].bytes"),
        ],
        remedy,
        ..finding(&RULE, loss, format!("{seen} of {told_size} {name} are to be had"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{add_cache, add_curve, found, machine, sizes, steps};
    use record::Record;

    fn with(seen_mib: u64) -> Record {
        let mut record = machine(2);
        add_cache(&mut record, 1, 32 << 10, 1);
        add_cache(&mut record, 2, 1 << 20, 1);
        add_cache(&mut record, 3, 128 << 20, 2);
        let curve = [(32 << 10, 1.3), (1 << 20, 4.5), (seen_mib << 20, 20.0), (u64::MAX, 100.0)];
        add_curve(&mut record, "2MiB", &steps(&sizes(4 << 10, 1 << 30), &curve));
        record
    }

    #[test]
    fn a_sixteenth_of_the_cache_is_found() {
        let finding = &found(&with(8), RULE)[0];
        assert_eq!(finding.what, "8 MiB of 128 MiB L3 are to be had");
        assert!((crate::figures::share_of(&finding.loss) - 15.0 / 16.0).abs() < 0.01);
    }

    #[test]
    fn most_of_the_cache_or_no_curve_is_silence() {
        assert_eq!(found(&with(128), RULE), []);
        assert_eq!(found(&with(80), RULE), []);
        assert_eq!(found(&machine(2), RULE), []);
    }
}
