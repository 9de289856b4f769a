//! A record without what is long in it: samples, distributions, coverage and diagnosis. Of thousands of records no more is
//! read, and nothing of the rest is kept in memory for a moment.

use memchr::{memchr, memchr2};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::document::ReadError;
use crate::import::Import;
use crate::{
    Better, Conditions, Detail, Diagnosis, Doubt, Ended, Labels, Machine, Measurement, Record, RunMode,
    Summary, Tool, Watch,
};

#[derive(Deserialize)]
struct FiguresOnly {
    schema: u32,
    tool: Tool,
    started: String,
    seconds: Option<f64>,
    #[serde(default)]
    command: Vec<String>,
    mode: Option<RunMode>,
    #[serde(default)]
    ended: Ended,
    #[serde(default)]
    machine: Machine,
    #[serde(default)]
    conditions: Conditions,
    #[serde(default)]
    measurements: Vec<Figure>,
    import: Option<IgnoredAny>,
    watch: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Figure {
    metric: String,
    unit: String,
    better: Option<Better>,
    #[serde(rename = "where")]
    labels: Labels,
    summary: Summary,
    doubt: Option<String>,
    doubt_code: Option<String>,
    #[serde(default)]
    detail: Detail,
    method: Option<String>,
}

impl From<Figure> for Measurement {
    fn from(figure: Figure) -> Self {
        Self {
            metric: figure.metric,
            unit: figure.unit,
            better: figure.better,
            labels: figure.labels,
            summary: figure.summary,
            samples: Vec::new(),
            marks: Vec::new(),
            distribution: Vec::new(),
            doubt: figure.doubt.map(|words| Doubt::read(figure.doubt_code, words)),
            detail: figure.detail,
            method: figure.method,
            origin: None,
        }
    }
}

/// The record in this text without what is long in it; that other tools measured it is all that is kept of an import, and
/// that there is one of a watch.
pub(crate) fn read(text: &[u8]) -> Result<Record, serde_json::Error> {
    let read: FiguresOnly = serde_json::from_slice(text)?;
    Ok(Record {
        schema: read.schema,
        tool: read.tool,
        started: read.started,
        seconds: read.seconds,
        command: read.command,
        mode: read.mode,
        ended: read.ended,
        machine: read.machine,
        conditions: read.conditions,
        measurements: read.measurements.into_iter().map(Measurement::from).collect(),
        coverage: Vec::new(),
        diagnosis: Diagnosis::default(),
        watch: read.watch.map(|_| Watch::default()),
        import: read.import.map(|_| Import::default()),
    })
}

/// Lists of a measurement that are passed over. In a record as linespeed writes it each is a line, most of the text.
const LISTS: [&[u8]; 3] = [b"\"samples\": [", b"\"marks\": [", b"\"distribution\": ["];

/// The text without the items of such lists, where each is alone on its line, and without the blanks before lines; another form
/// stays as it is. No string of JSON has an end of line in it, so that a line that begins so is no part of one.
pub(crate) fn without_lists(text: &[u8]) -> Vec<u8> {
    let mut short = Vec::with_capacity(text.len() / 2);
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        let blanks = line.iter().position(|byte| *byte != b' ').unwrap_or(0);
        let line = line.get(blanks..).unwrap_or(line);
        let list = LISTS.iter().find(|list| line.starts_with(list));
        let items = list.map_or(&[][..], |list| line.get(list.len()..).unwrap_or_default());
        // One that holds lists itself is left to the parser.
        let end = memchr2(b'[', b']', items).unwrap_or(items.len());
        let ending = items.get(end..).unwrap_or_default();
        match list.filter(|_| matches!(ending.trim_ascii_end(), b"]" | b"],")) {
            Some(list) => {
                short.extend_from_slice(list);
                short.extend_from_slice(ending);
            }
            None => short.extend_from_slice(line),
        }
    }
    short
}

impl Record {
    /// Reads a record's inventory, conditions and figures with their summaries; samples, distributions, coverage and
    /// diagnosis are passed over.
    ///
    /// # Errors
    ///
    /// As of [`Record::from_json`].
    pub fn figures_from_json(text: &[u8]) -> Result<Self, ReadError> {
        Self::read_bounded(&without_lists(text), read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coverage, Label};

    #[test]
    fn figures_and_their_doubts_are_those_of_the_whole_record() {
        let mut record = Record::new("0", "2026-01-01T00:00:00Z".to_owned(), vec!["linespeed".to_owned()]);
        let labels = Labels::new().with_label(Label::Op, "triad");
        let mut m = Measurement::new("memory.bandwidth", labels, vec![1e9, 2e9, 3e9, 3e9, 3e9, 3e9]);
        m.doubt = Some("placed 97 %".into());
        record.measurements.push(m);
        record.coverage.push(Coverage::skipped("wakeup", "not asked for"));
        let json = record.to_json().unwrap();
        let short = Record::figures_from_json(json.as_bytes()).unwrap();
        let mut whole = Record::from_json(json.as_bytes()).unwrap();
        whole.coverage.clear();
        whole.measurements[0].samples.clear();
        assert_eq!(short, whole);
        // Whatever the form of the text.
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(Record::figures_from_json(value.to_string().as_bytes()).unwrap(), whole);
        assert!(without_lists(json.as_bytes()).len() < json.len());
        for kept in ["{\"samples\": [1], \"a\": [2]}", "\"samples\": [[1],\n2]\n", "\"samples\": [1"] {
            assert_eq!(without_lists(kept.as_bytes()), kept.as_bytes());
        }
        let half = &json.as_bytes()[..json.len() / 2];
        assert!(matches!(Record::figures_from_json(half), Err(ReadError::Truncated)));
        assert!(matches!(Record::figures_from_json(b"{\"a\": 1}"), Err(ReadError::NotARecord(_))));
    }
}
