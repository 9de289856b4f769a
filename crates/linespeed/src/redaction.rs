//! `--redact`: removes names from records before they are used.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;

use fleet::Names;
use os::child::SpawnError;
use record::Record;
use record::phrase::visible;
use record::redaction::{Kind, Pseudonyms};
use record::source::{HERE, Source};

use crate::failure::Failure;
use crate::options::Options;
use crate::{files, output};

/// The name of the root account, which does not identify a person.
const ROOT: &str = "root";

/// Pseudonyms that include the current user; `None` if names are not removed.
pub fn begin(options: &Options) -> Result<Option<Pseudonyms>, Failure> {
    if !options.out.redact {
        return Ok(None);
    }
    let (key, remark) = files::redaction_key()?;
    if let Some(remark) = remark {
        output::complain(&remark.to_string());
    }
    let mut pseudonyms = Pseudonyms::new(key);
    let names = ["USER", "LOGNAME", "SUDO_USER"].iter().filter_map(|name| std::env::var(name).ok());
    for name in names.filter(|name| name != ROOT) {
        pseudonyms.of(Kind::User, &name);
    }
    Ok(Some(pseudonyms))
}

/// Reports the replaced names if a file or a terminal receives output, and warns about names that free text may still contain.
pub fn end(options: &Options, pseudonyms: &Pseudonyms) {
    let is_read = options.out.output.is_some() || std::io::stderr().is_terminal();
    if let Some(done) = pseudonyms.summary().filter(|_| is_read) {
        output::notice(&options.out, &done.to_string());
    }
    if let Some(remark) = pseudonyms.remark() {
        output::complain(&remark.to_string());
    }
}

/// The names shown for files, machines and records in results that cover many records: their own names, or
/// pseudonyms.
pub fn names(options: &Options) -> Result<Names, Failure> {
    Ok(begin(options)?.map_or(Names::Own, |pseudonyms| Names::Pseudonyms(pseudonyms.into())))
}

/// Like [`end`], for these names.
pub fn end_names(options: &Options, names: &Names) {
    if let Names::Pseudonyms(all) = names {
        end(options, &all.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

/// A value without names, or the error if the names could not be removed.
pub fn redact_with<T>(redacted: std::io::Result<T>) -> Result<T, Failure> {
    redacted.map_err(|error| Failure::Cannot(format!("cannot be redacted: {error}")))
}

/// Redacts the records before they are written, with the same pseudonyms in all records.
pub fn redact_all<'a>(
    options: &Options,
    records: impl IntoIterator<Item = &'a mut Record>,
) -> Result<Option<Pseudonyms>, Failure> {
    let Some(mut pseudonyms) = begin(options)? else { return Ok(None) };
    for record in records {
        *record = redact_with(record.redacted(&mut pseudonyms))?;
        record.diagnosis.turns = diagnose::turns(record);
    }
    end(options, &pseudonyms);
    Ok(Some(pseudonyms))
}

/// Like [`redact_all`], for one record.
pub fn redact(options: &Options, record: &mut Record) -> Result<(), Failure> {
    redact_all(options, [record]).map(drop)
}

/// Like [`redact_all`], for sources, including their names and locations.
pub fn redact_sources(options: &Options, sources: &mut [Source]) -> Result<(), Failure> {
    let pseudonyms = redact_all(options, sources.iter_mut().map(|source| &mut source.record))?;
    let Some(mut pseudonyms) = pseudonyms else { return Ok(()) };
    let mut taken = HashSet::new();
    for source in sources {
        source.note = None;
        if source.from.starts_with(reference::PREFIX) {
            continue;
        }
        let file = visible(&pseudonyms.file(Path::new(&source.from)));
        // Files in two directories may have the same name. From the second one on, the pseudonym is derived from the full path.
        source.from = if taken.insert(file.clone()) { file } else { pseudonyms.of(Kind::File, &source.from) };
        source.name = source.from.trim_end_matches(".json").to_owned();
    }
    Ok(())
}

/// The displayed name of a file; with `--redact`, without its directories, which may reveal its owner.
pub fn shown(options: &Options, path: &Path) -> String {
    let name = path.file_name().filter(|_| options.out.redact);
    visible(name.map_or(path, Path::new))
}

/// Why a command cannot be started.
pub fn refused(options: &Options, why: &SpawnError) -> String {
    if options.out.redact { why.clone().with_program("COMMAND").to_string() } else { why.to_string() }
}

/// The name of an argument that refers to a record.
pub fn argument<'a>(options: &Options, argument: &'a str) -> &'a str {
    if options.out.redact && argument != HERE { "RECORD" } else { argument }
}

/// The host's name as used in file names.
pub fn host<'a>(options: &Options, name: Option<&'a str>) -> Option<&'a str> {
    if options.out.redact { Some(record::file_name::REDACTED) } else { name }
}
