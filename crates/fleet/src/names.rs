//! Names of files, machines and record contents: the originals, or pseudonyms.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use record::Record;
use record::redaction::{Kind, Pseudonyms};

/// How files, machines and record contents are named.
#[derive(Debug, Default)]
pub enum Names {
    /// Original names.
    #[default]
    Own,
    /// Pseudonyms.
    Pseudonyms(Mutex<Pseudonyms>),
}

impl Names {
    fn pseudonyms(&self) -> Option<MutexGuard<'_, Pseudonyms>> {
        match self {
            Names::Own => None,
            Names::Pseudonyms(all) => Some(all.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// The name of a file.
    pub fn of_file(&self, path: &Path) -> PathBuf {
        self.pseudonyms().map_or_else(|| path.to_owned(), |mut all| all.file(path))
    }

    /// The name of a host.
    pub fn of_host(&self, host: &str) -> String {
        self.pseudonyms().map_or_else(|| host.to_owned(), |mut all| all.of(Kind::Host, host))
    }

    /// The record with its original names or with pseudonyms; `None` if its names could not be replaced.
    pub fn in_record(&self, record: Record) -> Option<Record> {
        match self.pseudonyms() {
            None => Some(record),
            Some(mut all) => record.redacted(&mut all).ok(),
        }
    }
}
