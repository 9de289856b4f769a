//! The records of one machine, read into its history.

use std::path::{Path, PathBuf};

use diagnose::Past;
use record::document::Tool;
use record::fleet::Remark;
use record::history::{HISTORY_VERSION, History};
use record::phrase::visible;
use record::store::read_each;
use record::{date, text};

use crate::machines::remark;
use crate::names::Names;
use crate::reading::read_record;

/// The number of files read is limited to `FOR_EACH` per requested record. At least `LEAST_READ` requested records are assumed for this
/// limit.
const FOR_EACH: usize = 4;
const LEAST_READ: usize = 100;

/// The requested history.
pub struct Asked<'a> {
    /// The host's name, and its pseudonyms in redacted records.
    pub hosts: &'a [String],
    /// Names of headlines or metrics; empty for all headlines.
    pub names: &'a [String],
    /// Maximum number of records to read, the newest first.
    pub most: usize,
    /// The current time, in the format of records.
    pub now: &'a str,
}

/// Reads the newest of these files, which are sorted newest first, and finds the changes. `others` is the number of files whose names show
/// that they belong to other machines. `names` provides all names except that of the host in `asked`.
pub fn read_history(
    files: &[PathBuf],
    others: usize,
    asked: &Asked,
    threads: usize,
    tool: Tool,
    names: &Names,
) -> History {
    let (mut others, mut remarks) = (others, Vec::new());
    let hosts: Vec<String> = asked.hosts.iter().map(|host| names.of_host(host)).collect();
    let read_one = |path: &Path| {
        let record = read_record(path, names)?;
        let past = Past::from_record(&record, names.of_file(path), asked.names);
        past.ok_or_else(|| text!("without a readable time"))
    };
    let mut past: Vec<Past> = Vec::new();
    let (mut at, end) = (0, files.len().min(asked.most.max(LEAST_READ).saturating_mul(FOR_EACH)));
    // Records of stat and related commands in the same directory do not count towards the requested number.
    let mut wanted = asked.most;
    while at < end && wanted > 0 {
        let next = files.get(at..end.min(at + wanted)).unwrap_or_default();
        at += next.len();
        for (path, read) in next.iter().zip(read_each(next, threads, read_one)) {
            match read {
                Ok(one) if !hosts.contains(&one.host) => others += 1,
                Ok(one) => past.push(one),
                Err(why) => remark(&mut remarks, why, true, Some(visible(&names.of_file(path)))),
            }
        }
        wanted = asked.most.saturating_sub(past.iter().filter(|one| one.has_figures()).count());
    }
    past.sort_by_key(|one| (one.moment.at, one.moment.record.clone()));
    sort_out(&mut past, asked, &mut remarks);
    History {
        history: HISTORY_VERSION,
        tool,
        machine: hosts.into_iter().next().unwrap_or_default(),
        lines: diagnose::lines(&past),
        places: diagnose::since(&past),
        records: past.into_iter().map(|one| one.moment).collect(),
        others,
        older: files.len() - at,
        remarks,
    }
}

/// Skips records of another machine with the same name, duplicates, and records without results; notes clock problems.
fn sort_out(past: &mut Vec<Past>, asked: &Asked, remarks: &mut Vec<Remark>) {
    let Some(kind) = past.last().map(|newest| newest.kind.clone()) else { return };
    let (mut seen, mut over) = (None, 0);
    let now = date::seconds(asked.now).unwrap_or(u64::MAX);
    past.retain(|one| {
        let (at, file) = (one.moment.at, || Some(visible(&one.moment.record)));
        let why = if !one.kind.fits(&kind) {
            text!("from another machine")
        } else if !one.has_figures() {
            // Records of stat and related commands are normal in the same directory.
            remark(remarks, text!("without these results"), true, None);
            return false;
        } else if seen == Some(at) {
            text!("started in the same second as another record: only one is used")
        } else {
            if at < over {
                let what = text!(
                    "history-clock-went-back",
                    "started before the previous run ended: the clock was set back, or two runs overlapped"
                );
                remark(remarks, what, false, file());
            }
            if at > now {
                let what = text!(
                    "history-clock-ahead",
                    "started in the future: the clock was ahead during the run, or is behind now"
                );
                remark(remarks, what, false, file());
            }
            (seen, over) = (Some(at), over.max(one.over));
            return true;
        };
        remark(remarks, why, true, file());
        false
    });
}
