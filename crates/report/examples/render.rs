//! Writes the page of a record: `cargo run -p linespeed-report --example render -- RECORD.json OUT.html`.

use std::path::Path;
use std::process::ExitCode;

use record::Record;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = args.as_slice() else {
        eprintln!("usage: render RECORD.json OUT.html");
        return ExitCode::from(2);
    };
    let record = match Record::read(Path::new(from)) {
        Ok(record) => record,
        Err(error) => {
            eprintln!("{from} {error}");
            return ExitCode::from(3);
        }
    };
    match std::fs::write(to, report::page::html(&record)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{to} cannot be written: {error}");
            ExitCode::from(3)
        }
    }
}
