//! The record itself, read from and written to JSON.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::extent::{self, LongList};
use crate::import::Import;
use crate::long_gap::LongGap;
use crate::shape::Looks;
use crate::units::{bytes, thousands};
use crate::{Conditions, Coverage, Diagnosis, Machine, Measurement, Metric, RunMode, Watch, credible, json};

/// The version of the record format that this program writes. Within one version, fields may be added, and readers
/// ignore unknown fields; a changed meaning requires a new version.
pub const SCHEMA_VERSION: u32 = 1;

/// Records above this size are refused instead of being read into memory. The largest real records (1,024 CPUs,
/// `--full`) are below 20 MB.
pub const MAX_RECORD_BYTES: u64 = 64 << 20;

/// Inventory, conditions, measurements and coverage of one machine at one time.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// [`SCHEMA_VERSION`] of the program that wrote the record.
    pub schema: u32,
    /// The program that wrote the record.
    pub tool: Tool,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Duration, seconds.
    pub seconds: Option<f64>,
    /// The command line that created the record.
    #[serde(default)]
    pub command: Vec<String>,
    /// The requested thoroughness; absent if the command offers no choice.
    pub mode: Option<RunMode>,
    /// How the run ended.
    #[serde(default)]
    pub ended: Ended,
    /// The machine's inventory.
    #[serde(default)]
    pub machine: Machine,
    /// The machine's state.
    #[serde(default)]
    pub conditions: Conditions,
    /// The results.
    #[serde(default)]
    pub measurements: Vec<Measurement>,
    /// The status of each measurement.
    #[serde(default)]
    pub coverage: Vec<Coverage>,
    /// CPU placement during the run; absent if it was not sampled or if there is only one CPU.
    pub looks: Option<Looks>,
    /// The longest gaps of busy loops and the latest wake-ups, with their causes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_gaps: Vec<LongGap>,
    /// The conclusions from this data.
    #[serde(default)]
    pub diagnosis: Diagnosis,
    /// A recording of a running machine, interval by interval; absent if nothing was recorded.
    pub watch: Option<Watch>,
    /// Source of the results, if other tools measured them; absent for linespeed's own results.
    pub import: Option<Import>,
}

/// The program that wrote a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `linespeed`.
    pub name: String,
    /// The program's version.
    pub version: String,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Ended {
    /// The run completed everything requested.
    #[default]
    Complete,
    /// A signal ended the run early; the record contains the results up to that point.
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
    /// An error ended the run early.
    Failed {
        /// The error.
        reason: String,
    },
}

impl Record {
    /// An empty record with the current time as its start.
    pub fn new(tool_version: &str, started: String, command: Vec<String>) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            tool: Tool { name: "linespeed".to_owned(), version: tool_version.to_owned() },
            started,
            command,
            ..Self::default()
        }
    }

    /// The measurements of one metric.
    pub fn measurements_of(&self, metric: impl Into<Metric>) -> impl Iterator<Item = &Measurement> {
        let metric = metric.into();
        self.measurements.iter().filter(move |m| m.metric == metric)
    }

    /// Formats the record as indented JSON with a newline at the end.
    ///
    /// # Errors
    ///
    /// A value cannot be represented in JSON.
    pub fn to_json(&self) -> std::io::Result<String> {
        json::write_text(self)
    }

    /// Reads a record from JSON text. Implausible results are withheld; the coverage of the record lists them.
    pub fn from_json(text: &[u8]) -> Result<Self, ReadError> {
        Self::from_json_within(text, u64::MAX)
    }

    /// Like [`Self::from_json`], but refuses a record that would need more than `room` bytes of memory.
    pub fn from_json_within(text: &[u8], room: u64) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<u32>,
        }
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => return Err(ReadError::Empty),
            Some(b'[') => return Err(ReadError::NotARecord(Misfit::List)),
            Some(_) => {}
        }
        // This estimate is twice the memory that a record imported from other tools' output needs (61 MB for 40,000
        // results), which leaves memory for tables and rendering.
        let needed = memory_of(text)?;
        if needed > room {
            return Err(ReadError::NoRoom { needed, room });
        }
        let record: Self = serde_json::from_slice(text).map_err(|error| {
            // Parsing a record in another format can fail anywhere; its version number then shows that the format is the cause.
            match serde_json::from_slice(text).map(|head: Head| head.schema) {
                Ok(None) => ReadError::NotARecord(Misfit::NoSchema),
                Ok(Some(version)) if version > SCHEMA_VERSION => ReadError::Newer(version),
                _ => ReadError::of_json(error),
            }
        })?;
        record.checked()
    }

    /// Removes samples, distributions, coverage and diagnosis, which are large and not needed for comparing thousands
    /// of records.
    pub fn keep_summaries(&mut self) {
        for m in &mut self.measurements {
            (m.samples, m.marks, m.distribution, m.origin) = Default::default();
        }
        let shape = self.diagnosis.shape.take();
        (self.coverage, self.diagnosis) = (Vec::new(), Diagnosis { shape, ..Diagnosis::default() });
    }

    /// The parsed record, with implausible results withheld.
    pub(crate) fn checked(mut self) -> Result<Self, ReadError> {
        if self.schema > SCHEMA_VERSION {
            return Err(ReadError::Newer(self.schema));
        }
        self.check()?;
        self.coverage.extend(credible::withhold(&mut self.measurements));
        Ok(self)
    }

    /// Rejects lists with more CPUs than the machine has; otherwise, a few bytes of text could produce gigabytes of
    /// output.
    fn check(&self) -> Result<(), ReadError> {
        let most = self.machine.cpus.len().max(1);
        let cpus = self.machine.cpus.iter().map(|cpu| &cpu.siblings);
        let caches = self.machine.caches.iter().map(|cache| &cache.cpus);
        // A text may list the CPUs of some nodes, but not all CPUs of the machine. CPUs belong to one node each.
        let of_nodes: usize = self.machine.nodes.iter().map(|node| node.cpus.len()).sum();
        let is_bounded = self.machine.cpus.is_empty() && of_nodes <= crate::cpu_list::MAX_CPU as usize;
        let nodes = self.machine.nodes.iter().filter(|_| !is_bounded).map(|node| &node.cpus);
        match cpus.chain(caches).chain(nodes).find(|list| list.len() > most) {
            Some(list) => {
                Err(ReadError::NotARecord(Misfit::TooManyCpus { listed: list.len(), present: most }))
            }
            None => Ok(()),
        }
    }

    /// Reads a record from a file.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::read_within(path, u64::MAX)
    }

    /// Reads a record from a file, but refuses a record that would need more than `room` bytes of memory.
    pub fn read_within(path: &Path, room: u64) -> Result<Self, ReadError> {
        let file = std::fs::File::open(path).map_err(ReadError::Io)?;
        let size = file.metadata().map_err(ReadError::Io)?.len();
        if size > MAX_RECORD_BYTES {
            return Err(ReadError::TooLarge(size));
        }
        let mut text = Vec::new();
        // A pipe or a device reports no size, so the limit is also enforced while reading.
        file.take(MAX_RECORD_BYTES + 1).read_to_end(&mut text).map_err(ReadError::Io)?;
        if text.len() as u64 > MAX_RECORD_BYTES {
            return Err(ReadError::TooLarge(text.len() as u64));
        }
        Self::from_json_within(&text, room.saturating_sub(text.len() as u64))
    }

    /// The JSON Schema of a record.
    pub fn json_schema() -> serde_json::Value {
        crate::schema::read(crate::schema::RECORD)
    }
}

/// Approximate memory that a JSON text needs once it is parsed, bytes.
pub(crate) fn memory_of(text: &[u8]) -> Result<u64, ReadError> {
    extent::memory_of(text).map_err(|list| ReadError::NotARecord(Misfit::LongList(list)))
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("{}", cannot_be_read(.0))]
    Io(std::io::Error),
    /// The file is empty.
    #[error("is empty; a record is a JSON file written by linespeed")]
    Empty,
    /// The file is truncated.
    #[error("is truncated in the middle of the JSON; copy it again")]
    Truncated,
    /// The file is not JSON; the text contains the position of the error.
    #[error("is not JSON ({0}), unlike linespeed's records; linespeed import reads other formats")]
    NotJson(String),
    /// The file is JSON but not a record; the value is the reason.
    #[error("is JSON but not a linespeed record: {0}")]
    NotARecord(Misfit),
    /// A newer version of linespeed wrote the file.
    #[error(
        "is a record of schema {0}, newer than this version supports \
         ({SCHEMA_VERSION}); use the version that wrote it, or a newer one"
    )]
    Newer(u32),
    /// The file is larger than any record; the value is its size in bytes.
    #[error(
        "has {} bytes, which exceeds the limit for records ({}); is it the right file?",
        thousands(*.0 as f64),
        thousands(MAX_RECORD_BYTES as f64)
    )]
    TooLarge(u64),
    /// Parsing needs more memory than this process may use.
    #[error(
        "needs about {} of memory, but this process has only {} left: read fewer files, or raise the limit \
         (memory.max of its cgroup, ulimit -v)",
        bytes(*.needed),
        bytes(*.room)
    )]
    NoRoom {
        /// Approximate memory needed, bytes.
        needed: u64,
        /// Available memory, bytes.
        room: u64,
    },
}

/// Why JSON is not a record.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// A list instead of an object.
    #[error("it is a list, but a record is an object; linespeed import reads the output of other tools")]
    List,
    /// The document has no schema number.
    #[error("it has no \"schema\" number; linespeed import reads the output of other tools")]
    NoSchema,
    /// A list of CPUs has more entries than the machine has CPUs.
    #[error("a list has {listed} CPUs, but the machine has {present}")]
    TooManyCpus {
        /// CPUs in the list.
        listed: usize,
        /// CPUs of the machine.
        present: usize,
    },
    /// A list is longer than it could be on any machine.
    #[error("its list {:?} has more than {} items", .0.name, thousands(.0.most as f64))]
    LongList(LongList),
    /// A field is missing or has another type; the text is the parser's message.
    #[error("{0}")]
    Field(String),
}

fn cannot_be_read(error: &std::io::Error) -> String {
    let way_out = match error.kind() {
        std::io::ErrorKind::IsADirectory => return "is a directory; specify a record file".to_owned(),
        std::io::ErrorKind::NotFound => "; to list saved records, run linespeed records",
        std::io::ErrorKind::PermissionDenied => "; only its owner and root can read it",
        _ => "",
    };
    format!("cannot be read: {error}{way_out}")
}

impl ReadError {
    pub(crate) fn of_json(error: serde_json::Error) -> Self {
        use serde_json::error::Category;
        match error.classify() {
            Category::Eof => ReadError::Truncated,
            Category::Data => ReadError::NotARecord(Misfit::Field(error.to_string())),
            Category::Syntax | Category::Io => ReadError::NotJson(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;
    use crate::Labels;
    use proptest::prelude::*;

    fn example() -> Record {
        let mut record =
            Record::new("0.1.0", "2026-01-01T00:00:00Z".to_owned(), vec!["linespeed".to_owned()]);
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Bytes, 4096u64)
            .with_label(Label::Page, "4KiB");
        record.measurements.push(Measurement::new("load.latency", place, vec![1.25, 1.5, 1.25]));
        record.coverage.push(Coverage::skipped("wakeup", "not requested"));
        record.ended = Ended::Interrupted { signal: 2 };
        record.mode = Some(RunMode::Normal);
        record
    }

    #[test]
    fn a_record_survives_its_file() {
        let record = example();
        assert_eq!(Record::from_json(record.to_json().unwrap().as_bytes()).unwrap(), record);
    }

    #[test]
    fn a_terminal_finds_nothing_to_act_on_in_json() {
        let mut record = example();
        record.machine.hostname = Some("a\u{9b}2J\u{202e}b\u{1b}[0m".to_owned());
        let json = record.to_json().unwrap();
        assert!(!json.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{json}");
        assert_eq!(Record::from_json(json.as_bytes()).unwrap(), record);
    }

    #[test]
    fn a_list_of_more_cpus_than_there_are_is_refused() {
        let json = example()
            .to_json()
            .unwrap()
            .replace("\"cpus\": []", "\"cpus\": [{\"id\": 0, \"siblings\": \"0-65535\"}]");
        let error = Record::from_json(json.as_bytes()).unwrap_err();
        let too_many = Misfit::TooManyCpus { listed: 65536, present: 1 };
        assert!(matches!(&error, ReadError::NotARecord(misfit) if *misfit == too_many), "{error}");
        // Nodes may list their CPUs where the list of all CPUs is unknown.
        let with_nodes = |cpus: &str| {
            let nodes = format!(
                "\"nodes\": [{{\"id\": 0, \"cpus\": \"0-15\"}}, {{\"id\": 1, \"cpus\": \"{cpus}\"}}]"
            );
            Record::from_json(example().to_json().unwrap().replace("\"nodes\": []", &nodes).as_bytes())
        };
        assert_eq!(with_nodes("16-31").unwrap().machine.nodes.len(), 2);
        assert!(with_nodes("0-65535").is_err());
    }

    #[test]
    fn fields_of_the_future_are_tolerated() {
        let mut value: serde_json::Value = serde_json::from_str(&example().to_json().unwrap()).unwrap();
        value["warp"] = 9.into();
        value["machine"]["flux"] = serde_json::json!({"a": [1]});
        value["measurements"][0]["colour"] = "red".into();
        assert_eq!(Record::from_json(value.to_string().as_bytes()).unwrap(), example());
    }

    #[test]
    fn each_bad_file_is_named_for_what_it_is() {
        let whole = example().to_json().unwrap();
        let error = |text: &str| Record::from_json(text.as_bytes()).unwrap_err();
        assert!(matches!(error(&whole[..whole.len() / 2]), ReadError::Truncated));
        assert!(matches!(error("hello"), ReadError::NotJson(_)));
        assert!(matches!(error(""), ReadError::Empty));
        assert!(matches!(error("{\"a\": 1}"), ReadError::NotARecord(Misfit::NoSchema)));
        assert!(matches!(error("{\"schema\": 1}"), ReadError::NotARecord(Misfit::Field(_))));
        let newer = whole.replace("\"schema\": 1", "\"schema\": 2");
        assert!(matches!(error(&newer), ReadError::Newer(2)));
        assert!(matches!(error("[1,2]"), ReadError::NotARecord(Misfit::List)));
    }

    #[test]
    fn the_schema_describes_every_field_of_a_record() {
        let schema = Record::json_schema();
        let record: serde_json::Value = serde_json::from_str(&example().to_json().unwrap()).unwrap();
        for field in record.as_object().unwrap().keys() {
            assert!(schema["properties"].get(field).is_some(), "{field} is not in the schema");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Record::from_json(&bytes);
        }

        #[test]
        fn no_cut_or_change_of_a_record_panics(at in 0usize..2000, byte: u8) {
            let mut text = example().to_json().unwrap().into_bytes();
            let at = at % text.len();
            let _ = Record::from_json(&text[..at]);
            text[at] = byte;
            let _ = Record::from_json(&text);
        }
    }
}
