//! Writes the page of a record, or of several side by side:
//! `cargo run -p linespeed-report --example render -- RECORD.json… OUT.html`.

use std::path::Path;
use std::process::ExitCode;

use diagnose::{Extent, Side};
use record::Record;
use record::document::Tool;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from @ .., to] = args.as_slice() else { return usage() };
    let mut records = Vec::new();
    for file in from {
        match Record::read(Path::new(file)) {
            Ok(record) => records.push(record),
            Err(error) => {
                eprintln!("{file} {error}");
                return ExitCode::from(3);
            }
        }
    }
    let page = match records.as_slice() {
        [] => return usage(),
        [record] => report::page::html(record),
        several => compared(from, several),
    };
    match std::fs::write(to, page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{to} cannot be written: {error}");
            ExitCode::from(3)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: render RECORD.json… OUT.html");
    ExitCode::from(2)
}

fn compared(files: &[String], records: &[Record]) -> String {
    let sides: Vec<Side> = files
        .iter()
        .zip(records)
        .map(|(file, record)| Side {
            name: Path::new(file).file_stem().map_or(file, |stem| stem.to_str().unwrap_or(file)),
            source: file,
            record,
        })
        .collect();
    let tool = Tool { name: "linespeed".to_owned(), version: "0.1.0".to_owned() };
    let comparison = diagnose::compare(&sides, 0, tool, Extent::Summary);
    report::page::comparison(&comparison, records.iter())
}
