//! `linespeed inspect`: shows the inventory, the conditions, and the findings that need no measurement.

use std::path::Path;

use record::Machine;
use record::shape::Shape;
use report::terminal;
use report::view::View;

use crate::delivery::hand_out;
use crate::failure::Failure;
use crate::options::{Inspect, Options};
use crate::redaction::redact;

/// The option that shows all facts.
const MORE: &str = "--all (features, mitigations, conditions), --tree (the topology)";
/// The option that shows the topology as well.
const SHAPE: &str = "--tree (the topology)";

/// Inspects this machine, or the captured tree of another machine.
pub fn run(options: &Options, inspect: &Inspect) -> Result<u8, Failure> {
    let root = super::root(inspect.root.as_deref())?;
    let found = machine::inspect(&root);
    let mut record = super::record_of(&found);
    record.coverage = found.coverage;
    record.diagnosis = diagnose::diagnose(&record);
    record.diagnosis.shape = last_shape(&record.machine, inspect.root.as_deref());
    redact(options, &mut record)?;
    let forms = View::new(|screen| {
        if inspect.tree {
            return terminal::tree(screen, &record.machine);
        }
        let more = if options.out.all { SHAPE } else { MORE };
        terminal::inventory_answer(screen, &record, options.out.all, Some(more));
    });
    let forms = forms.with_json(|| record.to_json()).with_prometheus(|| report::prometheus::record(&record));
    hand_out(options, &forms).map(|()| 0)
}

/// CPU placement from this machine's last measurement; `None` for a captured tree.
pub(super) fn last_shape(machine: &Machine, root: Option<&Path>) -> Option<Shape> {
    let record = root.map_or_else(|| crate::sources::read(".").ok(), |_| None)?.record;
    let same = record.machine.allowed_cpus() == machine.allowed_cpus();
    record.diagnosis.shape.filter(|_| same).map(|shape| shape.looked_on(&record.started))
}
