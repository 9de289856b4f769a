//! The entry of a record in a list: its metadata, and the metrics of its results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::{Metric, RunMode, document, metrics, regular_file};

/// Metrics that every complete run measures on any machine; a record that lacks one of them is partial.
pub const OF_A_WHOLE_RUN: [Metric; 3] =
    [metrics::CORE_CLOCK, metrics::LOAD_LATENCY, metrics::MEMORY_BANDWIDTH];

/// A record in a directory: its metadata and its metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The record's file.
    #[serde(skip)]
    pub path: PathBuf,
    /// The start of the run.
    pub started: String,
    /// The host; empty if the host has no name.
    pub host: String,
    /// The command line that wrote the record.
    pub command: Vec<String>,
    /// The thoroughness of the run, if the command offers a choice.
    pub mode: Option<RunMode>,
    /// The metrics that have results.
    pub metrics: BTreeSet<Metric>,
    /// Whether the record's results are from other tools.
    pub imported: bool,
    /// The record's labels.
    #[serde(skip)]
    pub labels: Vec<String>,
}

impl Entry {
    /// Whether the run was complete.
    pub fn is_whole(&self) -> bool {
        self.lacks().is_empty()
    }

    /// The metrics of a complete run that the record lacks.
    pub fn lacks(&self) -> Vec<Metric> {
        OF_A_WHOLE_RUN.into_iter().filter(|metric| !self.metrics.contains(metric)).collect()
    }

    /// Reads a record's entry; `None` if the file is not a record.
    pub fn read(path: &Path) -> Option<Self> {
        Self::from_json(&content(path)?, path)
    }

    /// Reads the entry from the text of the file. Samples and conclusions are skipped.
    pub(super) fn from_json(text: &[u8], path: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct Head {
            started: String,
            #[serde(default)]
            command: Vec<String>,
            mode: Option<RunMode>,
            #[serde(default)]
            machine: Host,
            #[serde(default)]
            measurements: Vec<Figure>,
            import: Option<IgnoredAny>,
        }
        #[derive(Default, Deserialize)]
        struct Host {
            hostname: Option<String>,
        }
        #[derive(Deserialize)]
        struct Figure {
            metric: Metric,
            summary: Count,
        }
        #[derive(Deserialize)]
        struct Count {
            n: u64,
        }
        document::memory_of(text).ok()?;
        let head: Head = serde_json::from_slice(text).ok()?;
        let figures = head.measurements.into_iter().filter(|figure| figure.summary.n > 0);
        Some(Self {
            path: path.to_owned(),
            started: head.started,
            host: head.machine.hostname.unwrap_or_default(),
            mode: head.mode,
            command: head.command,
            metrics: figures.map(|figure| figure.metric).collect(),
            imported: head.import.is_some(),
            labels: Vec::new(),
        })
    }
}

/// The content of a file in a directory of records; the file may be of any kind.
pub(super) fn content(path: &Path) -> Option<Vec<u8>> {
    Some(regular_file::read(path, document::MAX_RECORD_BYTES).ok()?.0)
}
