//! `linespeed fleet`: finds the slow machines among many, and explains why they are slow.

use std::path::Path;

use record::Record;
use record::fleet::Reading;
use record::phrase::visible;
use report::terminal;
use report::view::View;

use crate::delivery::{as_json, hand_out, output_file};
use crate::failure::Failure;
use crate::options::{Fleet, Options};
use crate::{files, redaction};

/// Reads the records, finds slow machines, and prints the result.
pub fn run(options: &Options, asked: &Fleet) -> Result<u8, Failure> {
    for path in output_file(options).iter().chain(&asked.baseline) {
        files::check_writable(path)?;
    }
    if let Some(missing) = asked.paths.iter().find(|path| !path.exists()) {
        let why = "does not exist; specify a directory of records, or record files".to_owned();
        return Err(Failure::Input { path: missing.clone(), why });
    }
    let names = redaction::names(options)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut read = fleet::read(&asked.paths, threads, &names);
    let records = read.briefs.len() as u64;
    if records == 0 {
        let first = asked.paths.first().map_or(String::new(), |path| visible(path));
        let reasons = read.remarks.iter().map(|remark| format!("{} {}", remark.count, remark.what));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let reasons = if reasons.is_empty() { "no .json files".to_owned() } else { reasons };
        let words = format!("{first} has no records ({reasons}); linespeed --output FILE.json creates one");
        return Err(Failure::Cannot(words));
    }
    let collections = fleet::newest_of_each(&mut read.briefs, &mut read.remarks, &files::aliases());
    let machines = collections.first().map_or(0, Vec::len) as u64;
    let kept: usize = collections.iter().map(Vec::len).sum();
    let reading = Reading {
        files: read.files,
        records,
        machines,
        earlier: kept as u64 - machines,
        remarks: std::mem::take(&mut read.remarks),
    };
    let tool = super::new_record().tool;
    let input = fleet::Input { briefs: &read.briefs, collections: &collections, known: &read.known };
    let mut said = fleet::judge_fleet(&input, tool.clone(), reading);
    let record = |path: &Path| names.in_record(Record::read(path).ok()?);
    fleet::explain(&mut said, &tool, record);
    redaction::end_names(options, &names);
    let kept = asked.baseline.as_ref().map_or(Ok(()), |path| {
        let baseline = fleet::make_baseline(&said, super::now(), record);
        if baseline.classes.is_empty() {
            return Err(Failure::cannot("no baseline written, because no class has at least five machines"));
        }
        files::write(path, &as_json(record::json::write_text(&baseline))?)
    });
    let forms = View::new(|screen| terminal::fleet(screen, &said, options.out.all))
        .with_json(|| record::json::write_text(&said))
        .with_csv(|| report::csv::fleet(&said))
        .with_page(|| report::page::fleet(&said));
    hand_out(options, &forms).and(kept).map(|()| 0)
}
