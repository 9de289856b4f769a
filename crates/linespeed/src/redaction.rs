//! `--redact`: names taken out of records before anything is made of them.

use std::path::Path;

use record::Record;
use record::phrase::visible;
use record::redaction::{Kind, Pseudonyms};
use record::source::{HERE, Source};

use crate::failure::Failure;
use crate::options::Options;

/// The account that may do all: its name tells nobody's.
const ROOT: &str = "root";

/// Pseudonyms that know who asks.
fn begin() -> Pseudonyms {
    let mut pseudonyms = Pseudonyms::default();
    let names = ["USER", "LOGNAME", "SUDO_USER"].iter().filter_map(|name| std::env::var(name).ok());
    for name in names.filter(|name| name != ROOT) {
        pseudonyms.of(Kind::User, &name);
    }
    pseudonyms
}

/// The records as they are to be handed out, with the same pseudonyms in all.
pub fn redact_all<'a>(
    options: &Options,
    records: impl IntoIterator<Item = &'a mut Record>,
) -> Result<Pseudonyms, Failure> {
    let mut pseudonyms = begin();
    if options.out.redact {
        for record in records {
            let redacted = record.redacted(&mut pseudonyms);
            *record = redacted.map_err(|error| Failure::Cannot(format!("cannot be redacted: {error}")))?;
        }
    }
    Ok(pseudonyms)
}

/// One record likewise.
pub fn redact(options: &Options, record: &mut Record) -> Result<(), Failure> {
    redact_all(options, [record]).map(drop)
}

/// Sources likewise, with what they are called and where they lie.
pub fn redact_sources(options: &Options, sources: &mut [Source]) -> Result<(), Failure> {
    let mut pseudonyms = redact_all(options, sources.iter_mut().map(|source| &mut source.record))?;
    for source in sources.iter_mut().filter(|_| options.out.redact) {
        let is_public = source.from.starts_with(reference::PREFIX);
        if !is_public {
            source.from = pseudonyms.of(Kind::File, &source.from);
            source.name.clone_from(&source.from);
        }
        source.note = None;
    }
    Ok(())
}

/// How a file is called where names are shown: without its folders, which tell whose it is.
pub fn shown(options: &Options, path: &Path) -> String {
    let name = path.file_name().filter(|_| options.out.redact);
    visible(name.map_or(path, Path::new))
}

/// What an argument that names a record is called.
pub fn argument<'a>(options: &Options, argument: &'a str) -> &'a str {
    if options.out.redact && argument != HERE { "RECORD" } else { argument }
}

/// The host's name as files are called by it.
pub fn host<'a>(options: &Options, name: Option<&'a str>) -> Option<&'a str> {
    if options.out.redact { Some("redacted") } else { name }
}
