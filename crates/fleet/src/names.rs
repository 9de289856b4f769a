//! How files, machines and what records hold are called: as they are, or by pseudonyms.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use record::Record;
use record::redaction::{Kind, Pseudonyms};

/// How files, machines and what records hold are called.
#[derive(Debug, Default)]
pub enum Names {
    /// As they are.
    #[default]
    Own,
    /// By pseudonyms.
    Pseudonyms(Mutex<Pseudonyms>),
}

impl Names {
    fn pseudonyms(&self) -> Option<MutexGuard<'_, Pseudonyms>> {
        match self {
            Names::Own => None,
            Names::Pseudonyms(all) => Some(all.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// What a file is called.
    pub fn of_file(&self, path: &Path) -> PathBuf {
        self.pseudonyms().map_or_else(|| path.to_owned(), |mut all| all.file(path))
    }

    /// What a host is called.
    pub fn of_host(&self, host: &str) -> String {
        self.pseudonyms().map_or_else(|| host.to_owned(), |mut all| all.of(Kind::Host, host))
    }

    /// A record with the names that are used for it; `None` where it could not be looked through.
    pub fn in_record(&self, record: Record) -> Option<Record> {
        match self.pseudonyms() {
            None => Some(record),
            Some(mut all) => record.redacted(&mut all).ok(),
        }
    }
}
