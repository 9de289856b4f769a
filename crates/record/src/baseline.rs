//! The expected results of a class of machines, as one file. `linespeed fleet --baseline` writes it and `linespeed check
//! --baseline` reads it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::document::{MAX_RECORD_BYTES, ReadError, Tool, memory_of};
use crate::{Better, JsonSchema, Labels, Metric, Record, Text, regular_file};

/// The version of the baseline format.
pub const BASELINE_VERSION: u32 = 1;

/// The expected results for one or more classes of machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// [`BASELINE_VERSION`] of the program that wrote this baseline.
    pub baseline: u32,
    /// The program that wrote this baseline.
    pub tool: Tool,
    /// When the baseline was written, RFC 3339 in UTC.
    pub made: String,
    /// One entry per class of similar machines, largest class first.
    pub classes: Vec<ClassBaseline>,
}

/// The expected results for the machines of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassBaseline {
    /// A short description of these machines.
    pub name: String,
    /// The number of machines from which the medians were computed.
    pub machines: u32,
    /// The record of the machine closest to the medians: the inventory and the settings in this record represent the
    /// class.
    pub record: Record,
    /// The results that are present for most of these machines.
    pub figures: Vec<ClassFigure>,
}

/// A result summarized over the machines of a class.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassFigure {
    /// The result in words, as in `linespeed compare`: `triad, all CPUs`.
    pub what: Text,
    /// The metric.
    pub metric: Metric,
    /// Unit of `median`.
    pub unit: String,
    /// Which direction is better; absent if neither is.
    pub better: Option<Better>,
    /// The result's labels, without those that identify a place on one machine.
    #[serde(rename = "where")]
    pub labels: Labels,
    /// Number of machines that have this result.
    pub machines: u32,
    /// The median over these machines.
    pub median: f64,
    /// A robust estimate of the standard deviation of the values' logarithms across machines (0.01 is 1 %); absent if
    /// there are too few machines.
    pub scale: Option<f64>,
}

impl Baseline {
    /// Whether a JSON text is a baseline instead of a record: only a baseline contains the key `baseline`.
    pub fn is_in(text: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Head {
            baseline: u32,
        }
        serde_json::from_slice::<Head>(text).is_ok_and(|head| head.baseline > 0)
    }

    /// Reads a baseline from a file; `None` if the file cannot be read or contains something else, such as a record.
    ///
    /// # Errors
    ///
    /// The baseline is damaged or in a newer format.
    pub fn read(path: &Path) -> Result<Option<Self>, ReadError> {
        let text = regular_file::read(path, MAX_RECORD_BYTES).ok().map(|(text, _)| text);
        text.filter(|text| Self::is_in(text)).map(|text| Self::from_json(&text)).transpose()
    }

    /// Reads a baseline from JSON text. It reads the record of each class like [`Record::from_json`].
    ///
    /// # Errors
    ///
    /// The text is not a baseline, or the baseline is in a newer format.
    pub fn from_json(text: &[u8]) -> Result<Self, ReadError> {
        memory_of(text)?;
        let baseline: Self = serde_json::from_slice(text).map_err(ReadError::of_json)?;
        if baseline.baseline > BASELINE_VERSION {
            return Err(ReadError::Newer(baseline.baseline));
        }
        let checked = |class: ClassBaseline| Ok(ClassBaseline { record: class.record.checked()?, ..class });
        let classes = baseline.classes.into_iter().map(checked).collect::<Result<_, ReadError>>()?;
        Ok(Self { classes, ..baseline })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_survives_its_file_and_is_no_record() {
        let record = Record::new("0", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
        let figure = ClassFigure {
            what: "triad".into(),
            metric: crate::metrics::MEMORY_BANDWIDTH,
            unit: "B/s".to_owned(),
            better: Some(Better::Higher),
            labels: Labels::new(),
            machines: 12,
            median: 2e11,
            scale: Some(0.01),
        };
        let class = ClassBaseline {
            name: "12 × one".to_owned(),
            machines: 12,
            record: record.clone(),
            figures: vec![figure],
        };
        let baseline = Baseline {
            baseline: BASELINE_VERSION,
            tool: record.tool.clone(),
            made: record.started.clone(),
            classes: vec![class],
        };
        let json = crate::json::write_text(&baseline).unwrap();
        assert_eq!(Baseline::from_json(json.as_bytes()).unwrap(), baseline);
        assert!(Baseline::is_in(json.as_bytes()));
        assert!(!Baseline::is_in(record.to_json().unwrap().as_bytes()));
        let newer = json.replacen("\"baseline\": 1", "\"baseline\": 2", 1);
        assert!(matches!(Baseline::from_json(newer.as_bytes()), Err(ReadError::Newer(2))));
    }
}
