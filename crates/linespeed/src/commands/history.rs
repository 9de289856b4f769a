//! `linespeed history`: this machine's results over time.

use record::phrase::{count_noun, visible};
use record::{metrics, store};
use report::terminal;
use report::view::View;

use crate::delivery::{checked_output_file, hand_out};
use crate::failure::{Failure, unknown_name};
use crate::options::{History, Options};
use crate::{redaction, sources};

/// Reads the records, finds changes, and prints them.
pub fn run(options: &Options, asked: &History) -> Result<u8, Failure> {
    checked_output_file(options)?;
    for name in &asked.figures {
        check_name(name)?;
    }
    let folders = asked.from.clone().map_or_else(os::places::state_folders, |folder| vec![folder]);
    if let Some(folder) = asked.from.as_ref().filter(|folder| !folder.is_dir()) {
        let why = "is not a directory; --from requires a directory of records".to_owned();
        return Err(Failure::Input { path: folder.clone(), why });
    }
    let hosts = sources::names_of(&asked.host.clone().unwrap_or_else(sources::host));
    let (files, others) = store::of_host(&folders, &hosts);
    let names = redaction::names(options)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let now = super::now();
    let question =
        fleet::Asked { hosts: &hosts, names: &asked.figures, most: asked.last as usize, now: &now };
    let tool = super::new_record().tool;
    let said = fleet::read_history(&files, others, &question, threads, tool, &names);
    redaction::end_names(options, &names);
    if said.records.is_empty() {
        let looked: Vec<String> = folders.iter().map(|folder| visible(folder)).collect();
        let others = (said.others > 0)
            .then(|| format!("; {} of other machines (use --host NAME)", count_noun(said.others, "record")));
        let remarks: Vec<String> = said
            .remarks
            .iter()
            .map(|remark| format!("; {} skipped: {}", count_noun(remark.count, "record"), remark.what))
            .collect();
        return Err(Failure::Cannot(format!(
            "no record of {} in {} has these results; run linespeed now and once more later, or use \
             --from DIR to read another directory{}{}",
            asked.host.as_deref().unwrap_or("this machine"),
            looked.join(" or "),
            others.unwrap_or_default(),
            remarks.concat()
        )));
    }
    let forms = View::new(|screen| terminal::history(screen, &said, options.out.all))
        .with_json(|| record::json::write_text(&said))
        .with_csv(|| report::csv::history(&said))
        .with_page(|| report::page::history(&said));
    hand_out(options, &forms).map(|()| 0)
}

/// Rejects names that are neither a headline nor a metric.
fn check_name(name: &str) -> Result<(), Failure> {
    let headline = |known: &&str| known.replace(' ', "-") == name.replace(' ', "-");
    if diagnose::HEADLINES.iter().any(headline) || metrics::find(name).is_some() {
        return Ok(());
    }
    let all: Vec<String> = diagnose::HEADLINES.iter().map(|known| known.replace(' ', "-")).collect();
    let metrics = metrics::all().map(|metric| metric.name.to_owned());
    let all: Vec<String> = all.into_iter().chain(metrics).collect();
    Err(unknown_name("result", name, all.iter().map(String::as_str)))
}
