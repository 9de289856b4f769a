//! `linespeed compare`: records side by side.

use diagnose::comparison::{Extent, Side, compare};
use record::document::Tool;

use super::{output_file, to_standard_output};
use crate::failure::Failure;
use crate::options::{Compare, Options};
use crate::{files, output, sources};

/// Records from which on only what a comparison needs of each is kept in memory.
const MANY: usize = 16;
/// Details of measurements that a comparison needs.
const DETAILS: &[&str] =
    &["array_bytes", "arrays", "class", "clock_hz", "ns_at_80_percent_of_peak", "ns_at_half_of_peak", "work"];

/// Drops what a comparison does not look at.
fn lighten(record: &mut record::Record) {
    record.coverage = Vec::new();
    for m in &mut record.measurements {
        m.distribution = Vec::new();
        m.marks = Vec::new();
        m.origin = None;
        m.detail.retain(|name, _| DETAILS.contains(&name.as_str()));
    }
}

/// Compares and prints, as a page, JSON or CSV where that was asked for.
pub fn run(options: &Options, asked: &Compare) -> Result<u8, Failure> {
    let count = asked.records.len();
    if count < 2 {
        let words = "compare needs at least two: records' files, . for this machine's newest record, or reference:NAME";
        return Err(Failure::Usage(words.to_owned()));
    }
    let baseline = match asked.baseline {
        number if (1..=count).contains(&number) => number - 1,
        number => {
            return Err(Failure::Usage(format!(
                "--baseline {number}: there are {count} records, so it is 1 to {count}"
            )));
        }
    };
    if asked.records.iter().filter(|argument| *argument == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be one record only: give - once".to_owned()));
    }
    if let Some(path) = output_file(options) {
        files::check_writable(&path)?;
    }
    let many = asked.records.len() > MANY;
    let sources = sources::read_all(&asked.records, if many { Some(lighten) } else { None })?;
    let sides: Vec<Side> = sources
        .iter()
        .map(|source| Side { name: &source.name, source: &source.from, record: &source.record })
        .collect();
    let json = to_standard_output(options) || (options.out.output.is_some() && !asked.html && !asked.csv);
    let tool = Tool { name: "linespeed".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let extent = if !asked.html && (asked.csv || json) { Extent::All } else { Extent::Summary };
    let comparison = compare(&sides, baseline, tool, extent);
    let text = if asked.html {
        report::page::comparison(&comparison)
    } else if asked.csv {
        report::csv::comparison(&comparison)
    } else if json {
        comparison.to_json()
    } else {
        report::terminal::comparison(&comparison, &output::style(&options.out))
    };
    match output_file(options) {
        Some(path) => files::write(&path, &text)?,
        None => output::print(&text)?,
    }
    Ok(0)
}
