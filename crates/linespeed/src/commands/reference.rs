//! `linespeed reference`: the machines that ship with it.

use std::path::PathBuf;

use reference::{MACHINES, PREFIX};
use report::terminal;
use serde_json::json;

use super::{output_file, show};
use crate::failure::Failure;
use crate::options::{Options, Reference, Show, WakeupForms};
use crate::{files, output, sources};

/// Lists the machines, or shows one as `show` does.
pub fn run(options: &Options, asked: &Reference) -> Result<u8, Failure> {
    let Some(name) = &asked.name else { return list(options) };
    let machine = sources::reference_machine(name)?;
    if asked.text {
        return printed(options, machine.text);
    }
    let record = PathBuf::from(format!("{PREFIX}{}", machine.name));
    show::run(options, &Show { record, html: asked.html, forms: WakeupForms::default() })
}

fn list(options: &Options) -> Result<u8, Failure> {
    if options.out.json {
        let entries: Vec<_> =
            MACHINES.iter().map(|machine| json!({"name": machine.name, "title": machine.title})).collect();
        return printed(options, &format!("{:#}\n", serde_json::Value::from(entries)));
    }
    let machines: Vec<(&str, &str)> = MACHINES.iter().map(|machine| (machine.name, machine.title)).collect();
    printed(options, &terminal::references(&machines, &output::style(&options.out)))
}

fn printed(options: &Options, text: &str) -> Result<u8, Failure> {
    match output_file(options) {
        Some(path) => files::write(&path, text)?,
        None => output::print(text)?,
    }
    Ok(0)
}
