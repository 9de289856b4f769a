//! `linespeed records`: the saved records, their labels, and how to remove them.

use std::path::PathBuf;

use record::phrase::visible;
use record::source::HERE;
use record::store::{self, Entry};
use report::terminal;
use report::view::View;
use serde_json::json;

use crate::delivery::hand_out;
use crate::failure::Failure;
use crate::options::{Options, Records, RecordsAction};
use crate::{files, output, sources};

/// Lists, labels or removes records.
pub fn run(options: &Options, asked: &Records) -> Result<u8, Failure> {
    let folders = os::places::state_folders();
    match (&asked.action, &options.out.label) {
        (Some(RecordsAction::Rm { records }), _) => {
            let named = records.iter().map(|name| find(&folders, name)).collect::<Result<Vec<_>, _>>()?;
            remove(&folders, &named)
        }
        (Some(RecordsAction::Prune { keep, dry_run }), _) => {
            let all = store::list(&folders, files::save_index);
            let gone: Vec<Entry> =
                store::superfluous(&all, *keep, &files::aliases()).into_iter().cloned().collect();
            if *dry_run {
                return list(options, &gone);
            }
            remove(&folders, &gone)
        }
        (None, Some(label)) => {
            if store::list(&folders, files::save_index)
                .iter()
                .any(|entry| entry.path.file_stem() == Some(label.as_ref()))
            {
                let why = format!("--label {label}: a record has this name; choose another label");
                return Err(Failure::Usage(why));
            }
            let path = match (&asked.record, sources::newest()) {
                // The newest record, even if `.` stands for an older one.
                (None, Some(found)) => found.newer.unwrap_or(found.entry).path,
                (named, _) => PathBuf::from(sources::read(named.as_deref().unwrap_or(HERE))?.from),
            };
            files::label_record(label, &path)?;
            // If no record was specified, the name of the record that was chosen is printed.
            let said = format!("{label}: {}\n", crate::redaction::shown(options, &path));
            if asked.record.is_none() { output::print(&said).map(|()| 0) } else { Ok(0) }
        }
        (None, None) => match &asked.record {
            Some(name) => list(options, &[find(&folders, name)?]),
            None => list(options, &store::list(&folders, files::save_index)),
        },
    }
}

/// Finds a saved record in these directories.
fn find(folders: &[PathBuf], name: &str) -> Result<Entry, Failure> {
    let path = std::fs::canonicalize(sources::locate(name)).unwrap_or_else(|_| PathBuf::from(name));
    let all = store::list(folders, files::save_index);
    let known = all.into_iter().find(|one| std::fs::canonicalize(&one.path).is_ok_and(|real| real == path));
    known.ok_or_else(|| {
        let ways_out = "linespeed records lists all, linespeed records RECORD --label NAME labels one";
        Failure::Cannot(format!("{name}: no such record is saved on this machine; {ways_out}"))
    })
}

fn remove(folders: &[PathBuf], records: &[Entry]) -> Result<u8, Failure> {
    for entry in records {
        store::remove(folders, entry).map_err(|error| {
            Failure::Cannot(format!("{}: cannot be removed: {error}", visible(&entry.path)))
        })?;
        output::print(&format!("removed {}\n", visible(&entry.path)))?;
    }
    Ok(0)
}

fn list(options: &Options, entries: &[Entry]) -> Result<u8, Failure> {
    let newest = sources::newest().map(|newest| newest.entry.path);
    let entry = |entry: &Entry| {
        json!({
            "record": visible(&entry.path), "started": entry.started, "host": entry.host, "command": entry.command,
            "labels": entry.labels, "metrics": entry.metrics, "imported": entry.imported,
            "newest": newest.as_ref() == Some(&entry.path),
        })
    };
    let forms = View::new(|screen| terminal::records(screen, entries, newest.as_deref()));
    hand_out(options, &forms.with_value(entries.iter().map(entry).collect())).map(|()| 0)
}
