//! `linespeed reference`: the machines that ship with it.

use std::path::PathBuf;

use reference::{MACHINES, PREFIX};
use report::terminal;
use serde_json::json;

use super::show;
use crate::delivery::print_or_write;
use crate::failure::Failure;
use crate::options::{Options, Reference, Show, WakeupForms};
use crate::{output, sources};

/// Lists the machines, or shows one as `show` does.
pub fn run(options: &Options, asked: &Reference) -> Result<u8, Failure> {
    let Some(name) = &asked.name else { return list(options) };
    let machine = sources::reference_machine(name)?;
    if asked.text {
        return print_or_write(options, machine.text).map(|()| 0);
    }
    let record = PathBuf::from(format!("{PREFIX}{}", machine.name));
    show::run(options, &Show { record, parts: Vec::new(), html: asked.html, forms: WakeupForms::default() })
}

fn list(options: &Options) -> Result<u8, Failure> {
    if options.out.json {
        let entries: Vec<_> =
            MACHINES.iter().map(|machine| json!({"name": machine.name, "title": machine.title})).collect();
        return print_or_write(options, &format!("{:#}\n", serde_json::Value::from(entries))).map(|()| 0);
    }
    let machines: Vec<(&str, &str)> = MACHINES.iter().map(|machine| (machine.name, machine.title)).collect();
    print_or_write(options, &terminal::references(&machines, &output::style(&options.out))).map(|()| 0)
}
