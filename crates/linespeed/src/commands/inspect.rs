//! `linespeed inspect`: the inventory and the conditions; measures nothing.

use machine::Root;
use report::terminal;

use super::{new_record, output_file, to_standard_output};
use crate::delivery::as_json;
use crate::failure::Failure;
use crate::options::{Inspect, Options};
use crate::{files, output};

/// Reads this machine, or the captured tree of another.
pub fn run(options: &Options, inspect: &Inspect) -> Result<u8, Failure> {
    let root = match &inspect.root {
        None => Root::live(),
        // The error names the folder.
        Some(path) => Root::captured(path).map_err(|error| Failure::Cannot(error.to_string()))?,
    };
    let found = machine::inspect(&root);
    let mut record = new_record();
    record.machine = found.machine;
    record.conditions.before = found.snapshot;
    record.coverage = found.coverage;
    if let Some(path) = output_file(options) {
        files::write(&path, &as_json(record.to_json())?)?;
        if options.out.quiet_output {
            return Ok(0);
        }
    }
    if to_standard_output(options) {
        return output::print(&as_json(record.to_json())?).map(|()| 0);
    }
    let style = output::style(&options.out);
    let text = if inspect.tree {
        terminal::tree(&record.machine, &style)
    } else {
        terminal::inventory(&record, &style)
    };
    output::print(&text).map(|()| 0)
}
