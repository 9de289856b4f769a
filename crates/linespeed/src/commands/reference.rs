//! `linespeed reference`: the built-in reference machines.

use std::path::Path;

use reference::{MACHINES, PREFIX, claims};
use report::terminal::{self, Screen};
use report::view::View;
use report::{claims_json, page};
use serde_json::json;

use crate::delivery::hand_out;
use crate::failure::Failure;
use crate::options::{Options, Reference};
use crate::{files, redaction, sources};

/// Lists the machines, or shows one in the same way as `show`.
pub fn run(options: &Options, asked: &Reference) -> Result<u8, Failure> {
    if let Some(argument) = &asked.like {
        return like(options, argument, asked.among.as_deref());
    }
    let Some(name) = &asked.name else { return list(options) };
    let machine = sources::reference_machine(name)?;
    if asked.text {
        return hand_out(options, &View::new(|screen| screen.verbatim(&machine.text()))).map(|()| 0);
    }
    let mut record = sources::read(&format!("{PREFIX}{}", machine.name))?.record;
    record.diagnosis = diagnose::diagnose(&record);
    let answers = claims::about(machine.name)
        .map_err(|why| Failure::Cannot(format!("cannot read the claims about {}: {why}", machine.name)))?;
    let report = |screen: &mut Screen| {
        terminal::reference(screen, &record, &answers, options.out.all, machine.name);
    };
    let forms = View::of_record(&record, None, report)
        .with_page(|| page::of_record(&record, &answers, None))
        .with_json(|| claims_json::record(&record, &answers));
    hand_out(options, &forms)?;
    Ok(super::run::found_code(&options.measuring, &record))
}

fn list(options: &Options) -> Result<u8, Failure> {
    let machines: Vec<_> = MACHINES.iter().map(|of| (of.name, of.title, of.apart)).collect();
    let entry = |(name, title, apart): &(&str, &str, Option<&str>)| json!({"name": name, "title": title, "apart": apart});
    let forms = View::new(|screen| terminal::references(screen, &machines, options.out.all));
    hand_out(options, &forms.with_value(machines.iter().map(entry).collect())).map(|()| 0)
}

/// Compares the results of a record, or a single result given as one line of text, with published results.
fn like(options: &Options, argument: &str, among: Option<&Path>) -> Result<u8, Failure> {
    if let Some(folder) = among.filter(|folder| !folder.is_dir()) {
        let why = "is not a directory; --among requires a directory of records".to_owned();
        return Err(Failure::Input { path: folder.to_owned(), why });
    }
    // An argument with white space that names no existing record is a single result.
    let is_line = argument.contains(char::is_whitespace) && !sources::locate(argument).exists();
    let published = || reference::records_but(argument, env!("CARGO_PKG_VERSION"));
    let found = if is_line && among.is_none() {
        diagnose::like_line(argument, &published()).map_err(|why| Failure::Cannot(why.to_string()))?
    } else if is_line {
        return Err(Failure::usage("--among needs a record, not a single result"));
    } else {
        let record = sources::read(argument)?.record;
        let names = redaction::names(options)?;
        let among = among.map(|folder| fleet::newest_records(folder, &names, &files::aliases()));
        diagnose::like(&record, &published(), among.as_deref())
    };
    let forms = View::new(|screen| terminal::like(screen, &found)).with_value(json!(found));
    hand_out(options, &forms).map(|()| 0)
}
