//! A record without what is long in it: samples, distributions, coverage and diagnosis. Of thousands of records no more is
//! read, and nothing of the rest is kept in memory for a moment.

use memchr::{memchr, memchr2, memmem};
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

/// Parts of a record that are passed over, as they open and close on lines of their own.
const PARTS: [(&[u8], &[u8]); 2] = [(b"  \"coverage\": [\n", b"  ]"), (b"  \"diagnosis\": {\n", b"  }")];

/// What of a figure is passed over where nobody asks for its metric.
const OBJECTS: [&[u8]; 3] = [b"\"where\": {", b"\"summary\": {", b"\"detail\": {"];
/// A figure's first line.
const METRIC: &[u8] = b"\"metric\": \"";

/// The text without the items of such lists, where each is alone on its line, without what coverage and diagnosis hold, without what
/// figures of these metrics hold, and without the blanks before lines; another form stays as it is. No string of JSON has an end of
/// line in it, so that a line that begins so is no part of one.
pub(crate) fn without_lists(text: &[u8], passed_over: &[&str]) -> Vec<u8> {
    let mut short = Vec::with_capacity(text.len() / 2);
    let mut rest = text;
    let mut passing = false;
    while !rest.is_empty() {
        let (line, after) = split_line(rest);
        rest = after;
        let part = PARTS.iter().find(|(opens, _)| line == *opens);
        if let Some(after) = part.and_then(|(_, closes)| pass_over(rest, closes)) {
            // Its last line stays, as the end of an empty list or object.
            short.extend_from_slice(line);
            rest = after;
            continue;
        }
        let blanks = line.iter().position(|byte| *byte != b' ').unwrap_or(0);
        let line = line.get(blanks..).unwrap_or(line);
        // A figure's lines begin with names, those between two figures do not.
        passing &= line.starts_with(b"\"");
        if let Some(name) = line.strip_prefix(METRIC).filter(|_| !passed_over.is_empty()) {
            let name = name.trim_ascii_end();
            passing = name
                .strip_suffix(b"\",")
                .is_some_and(|name| passed_over.iter().any(|of| of.as_bytes() == name));
        }
        let object = OBJECTS.iter().filter(|_| passing).find(|object| line.starts_with(object));
        if let Some(object) = object {
            let inside = line.get(object.len()..).unwrap_or_default();
            // One that holds objects itself is left to the parser.
            let ending = memchr(b'}', inside).and_then(|end| inside.get(end..)).unwrap_or_default();
            if matches!(ending.trim_ascii_end(), b"}" | b"},") {
                short.extend_from_slice(object);
                short.extend_from_slice(ending);
                continue;
            }
        }
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

/// How the figures open and close, and the lines around each and of it that tell which metric it is of and how many samples it has.
const FIGURES: (&[u8], &[u8]) = (b"\n  \"measurements\": [\n", b"  ]");
const AROUND: [&[u8]; 3] = [b"    {\n", b"    },\n", b"    }\n"];
const OF_FIGURE: &[u8] = b"      \"metric\": \"";
const COUNTED: &[u8] = b"      \"summary\": {\"n\": ";

/// The same of which each figure has nothing but its metric and the number of its samples, as all that a list of records tells; of
/// another form than linespeed writes it stays what [`without_lists`] leaves.
pub(crate) fn names_alone(text: &[u8]) -> Vec<u8> {
    let begin = memmem::find(text, FIGURES.0).map(|at| at + FIGURES.0.len());
    let parts = begin.and_then(|at| text.split_at_checked(at));
    let Some((before, (figures, after))) = parts.and_then(|(head, rest)| Some((head, figure_names(rest)?)))
    else {
        return without_lists(text, &[]);
    };
    [without_lists(before, &[]), figures, without_lists(after, &[])].concat()
}

/// The names of figures up to the end of their list, and the text behind; `None` where a line is not as linespeed writes it.
fn figure_names(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut names = Vec::new();
    let mut rest = text;
    while !rest.starts_with(FIGURES.1) {
        let (line, after) = split_line(rest);
        if !line.starts_with(b"    ") {
            return None;
        }
        if AROUND.contains(&line) || line.starts_with(OF_FIGURE) {
            names.extend_from_slice(line);
        } else if let Some(count) = line.strip_prefix(COUNTED) {
            let digits = count.iter().position(|byte| !byte.is_ascii_digit())?;
            names.extend_from_slice(b"\"summary\": {\"n\": ");
            names.extend_from_slice(count.get(..digits)?);
            names.push(b'}');
        }
        rest = after;
    }
    Some((names, rest))
}

fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr(b'\n', text).map_or(text.len(), |at| at + 1))
}

/// The text from the line on that closes what the lines before it are inside of, being further indented; `None` where they are not.
fn pass_over<'a>(text: &'a [u8], closes: &[u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    while !rest.starts_with(closes) {
        let (line, after) = split_line(rest);
        if !line.starts_with(b"    ") {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

impl Record {
    /// Reads a record's inventory, conditions and figures with their summaries; samples, distributions, coverage, diagnosis
    /// and figures of these metrics are passed over.
    ///
    /// # Errors
    ///
    /// As of [`Record::from_json`].
    pub fn figures_from_json(text: &[u8], passed_over: &[&str]) -> Result<Self, ReadError> {
        Self::read_bounded(&without_lists(text, passed_over), |text| {
            let mut record = read(text)?;
            record.measurements.retain(|m| !passed_over.contains(&m.metric.as_str()));
            Ok(record)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coverage, Label};

    #[test]
    fn names_of_figures_are_left_whatever_the_form_of_the_text() {
        let figure = |metric: &'static str| Measurement::new(metric, Labels::new(), vec![1e-9; 6]);
        let mut record = Record::new("0", "t".to_owned(), Vec::new());
        record.measurements = vec![figure("core.clock"), figure("load.latency")];
        record.measurements[1].doubt = Some("placed 97 %".into());
        record.coverage.push(Coverage::skipped("wakeup", "not asked for"));
        let json = record.to_json().unwrap();
        let short = names_alone(json.as_bytes());
        let value: serde_json::Value = serde_json::from_slice(&short).unwrap();
        let figures = value["measurements"].as_array().unwrap();
        assert_eq!(figures[1], serde_json::json!({"metric": "load.latency", "summary": {"n": 6}}));
        assert!(figures.len() == 2 && value["started"] == "t" && short.len() + 500 < json.len());
        // A list that has no end, and lines that are not as deep as they should be.
        let half = &json.as_bytes()[..json.find("load.latency").unwrap()];
        for kept in [half, json.replace("\n      \"metric", "\n \"metric").as_bytes(), b""] {
            assert_eq!(names_alone(kept), without_lists(kept, &[]));
        }
    }

    #[test]
    fn figures_and_their_doubts_are_those_of_the_whole_record() {
        let mut record = Record::new("0", "2026-01-01T00:00:00Z".to_owned(), vec!["linespeed".to_owned()]);
        let labels = Labels::new().with_label(Label::Op, "triad");
        let mut m = Measurement::new("memory.bandwidth", labels, vec![1e9, 2e9, 3e9, 3e9, 3e9, 3e9]);
        m.doubt = Some("placed 97 %".into());
        record.measurements.push(m);
        record.coverage.push(Coverage::skipped("wakeup", "not asked for"));
        let json = record.to_json().unwrap();
        let short = Record::figures_from_json(json.as_bytes(), &[]).unwrap();
        let mut whole = Record::from_json(json.as_bytes()).unwrap();
        whole.coverage.clear();
        whole.measurements[0].samples.clear();
        assert_eq!(short, whole);
        // Whatever the form of the text.
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(Record::figures_from_json(value.to_string().as_bytes(), &[]).unwrap(), whole);
        assert!(without_lists(json.as_bytes(), &[]).len() < json.len());
        for kept in ["{\"samples\": [1], \"a\": [2]}", "\"samples\": [[1],\n2]\n", "\"samples\": [1"] {
            assert_eq!(without_lists(kept.as_bytes(), &[]), kept.as_bytes());
        }
        // What is not as deep as it should be is left to the parser.
        for kept in ["  \"coverage\": [\n  {}\n  ],\n", "  \"diagnosis\": {\n"] {
            assert_eq!(without_lists(kept.as_bytes(), &[]), kept.replace("  ", "").as_bytes());
        }
        let text = b"  \"coverage\": [\n    {\n      \"what\": 1\n    }\n  ],\n";
        let passed = without_lists(text, &[]);
        assert_eq!(passed, b"  \"coverage\": [\n],\n");
        // Figures that nobody asks for, in whatever form.
        let other =
            Measurement::new("load.latency_cycles", Labels::new().with_label(Label::Cpu, 1u32), vec![4.0]);
        let mut both = record.clone();
        both.measurements.insert(0, other.clone());
        both.measurements.push(other);
        let json = both.to_json().unwrap();
        let few = without_lists(json.as_bytes(), &["load.latency_cycles"]);
        assert!(few.len() + 100 < without_lists(json.as_bytes(), &[]).len());
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        for text in [&json, &value.to_string(), &serde_json::to_string_pretty(&value).unwrap()] {
            let few = Record::figures_from_json(text.as_bytes(), &["load.latency_cycles"]).unwrap();
            assert_eq!(few, whole);
        }
        let half = &json.as_bytes()[..json.len() / 2];
        assert!(matches!(Record::figures_from_json(half, &[]), Err(ReadError::Truncated)));
        assert!(matches!(Record::figures_from_json(b"{\"a\": 1}", &[]), Err(ReadError::NotARecord(_))));
    }
}
