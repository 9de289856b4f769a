//! A record without what is long in it: samples, distributions, coverage and diagnosis. Of thousands of records no more is
//! read, and nothing of the rest is kept in memory for a moment.

use serde::Deserialize;
use serde::de::IgnoredAny;
use skim::Reader;

use crate::document::ReadError;
use crate::figure_text;
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

impl FiguresOnly {
    fn into_record(self, figures: Vec<Measurement>) -> Record {
        Record {
            schema: self.schema,
            tool: self.tool,
            started: self.started,
            seconds: self.seconds,
            command: self.command,
            mode: self.mode,
            ended: self.ended,
            machine: self.machine,
            conditions: self.conditions,
            measurements: figures,
            coverage: Vec::new(),
            diagnosis: Diagnosis::default(),
            watch: self.watch.map(|_| Watch::default()),
            import: self.import.map(|_| Import::default()),
        }
    }
}

/// What of the figures of a record is passed over, beside samples and distributions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwanted<'a> {
    /// Metrics of whose figures there are none.
    pub metrics: &'a [&'a str],
    /// Details, by their names.
    pub details: &'a [&'a str],
    /// Whether the words of doubts are: that there is one stays.
    pub words: bool,
}

impl Record {
    /// Reads a record's inventory, conditions and figures with their summaries; samples, distributions, coverage, diagnosis
    /// and what else is unwanted are passed over. That other tools measured it is all that is kept of an import, and that there is
    /// one of a watch.
    ///
    /// # Errors
    ///
    /// As of [`Record::from_json`].
    pub fn figures_from_json(text: &[u8], unwanted: &Unwanted) -> Result<Self, ReadError> {
        match read_quickly(text, unwanted) {
            Some(record) => record.checked(),
            // The parser reads every form, and says what is wrong with one.
            None => Self::read_bounded(text, |text| read_by_parser(text, unwanted)),
        }
    }
}

fn read_by_parser(text: &[u8], unwanted: &Unwanted) -> serde_json::Result<Record> {
    let mut read: FiguresOnly = serde_json::from_slice(text)?;
    let figures = std::mem::take(&mut read.measurements).into_iter();
    let wanted = figures.filter(|figure| !unwanted.metrics.contains(&figure.metric.as_str()));
    let without = wanted.map(|mut figure| {
        figure.detail.retain(|name| !unwanted.details.contains(&name));
        figure.doubt.iter_mut().filter(|_| unwanted.words).for_each(String::clear);
        Measurement::from(figure)
    });
    let figures = without.collect();
    Ok(read.into_record(figures))
}

/// The same of a text as linespeed writes it, in whatever lines; `None` where it has another form.
fn read_quickly(text: &[u8], unwanted: &Unwanted) -> Option<Record> {
    let mut reader = Reader::new(text);
    let mut open = reader.object()?;
    let mut figures = None;
    // The rest, of a few kilobytes.
    let mut rest = Vec::with_capacity(text.len() / 16);
    while let Some(key) = reader.key(&mut open)? {
        match key {
            b"measurements" if figures.is_none() => {
                figures = Some(figure_text::read_all(&mut reader, unwanted)?)
            }
            b"coverage" | b"diagnosis" => drop(reader.value()?),
            _ => {
                rest.push(if rest.is_empty() { b'{' } else { b',' });
                rest.push(b'"');
                rest.extend_from_slice(key);
                rest.extend_from_slice(b"\":");
                let value = reader.value()?;
                match key {
                    b"watch" | b"import" if value != b"null" => rest.extend_from_slice(b"true"),
                    _ => rest.extend_from_slice(value),
                }
            }
        }
    }
    rest.push(b'}');
    if reader.peek().is_some() || skim::memory_of(&rest).is_err() {
        return None;
    }
    let read: FiguresOnly = serde_json::from_slice(&rest).ok()?;
    Some(read.into_record(figures.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coverage, Label};
    use proptest::prelude::*;

    #[test]
    fn figures_and_their_doubts_are_those_of_the_whole_record() {
        let mut record = Record::new("0", "2026-01-01T00:00:00Z".to_owned(), vec!["linespeed".to_owned()]);
        let labels = Labels::new().with_label(Label::Op, "triad");
        let mut m = Measurement::new("memory.bandwidth", labels, vec![1e9, 2e9, 3e9, 3e9, 3e9, 3e9]);
        m.doubt = Some("placed 97 %".into());
        record.measurements.push(m);
        record.coverage.push(Coverage::skipped("wakeup", "not asked for"));
        let nothing = Unwanted::default();
        let json = record.to_json().unwrap();
        let short = Record::figures_from_json(json.as_bytes(), &nothing).unwrap();
        let mut whole = Record::from_json(json.as_bytes()).unwrap();
        whole.coverage.clear();
        whole.measurements[0].samples.clear();
        assert_eq!(short, whole);
        // Whatever the form of the text.
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(Record::figures_from_json(value.to_string().as_bytes(), &nothing).unwrap(), whole);
        // Figures that nobody asks for, in whatever form.
        let other =
            Measurement::new("load.latency_cycles", Labels::new().with_label(Label::Cpu, 1u32), vec![4.0]);
        let mut both = record.clone();
        both.measurements.insert(0, other.clone());
        both.measurements.push(other);
        let json = both.to_json().unwrap();
        let unwanted = Unwanted { metrics: &["load.latency_cycles"], ..nothing };
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        for text in [&json, &value.to_string(), &serde_json::to_string_pretty(&value).unwrap()] {
            let few = Record::figures_from_json(text.as_bytes(), &unwanted).unwrap();
            assert_eq!(few, whole);
        }
        let few = Unwanted { words: true, details: &["huge_share"], ..unwanted };
        record.measurements[0].detail.set(crate::detail::HUGE_SHARE, 1.0);
        let json = record.to_json().unwrap();
        let few = Record::figures_from_json(json.as_bytes(), &few).unwrap();
        let figure = &few.measurements[0];
        assert!(figure.doubt.is_some() && figure.detail.is_empty() && figure.value() == 3e9, "{figure:?}");
        let half = &json.as_bytes()[..json.len() / 2];
        assert!(matches!(Record::figures_from_json(half, &nothing), Err(ReadError::Truncated)));
        assert!(matches!(Record::figures_from_json(b"{\"a\": 1}", &nothing), Err(ReadError::NotARecord(_))));
    }

    /// Records that linespeed 0.1 wrote.
    const KEPT: [&str; 3] = [
        include_str!("../../linespeed/tests/records/0.1/main.json"),
        include_str!("../../linespeed/tests/records/0.1/import.json"),
        include_str!("../../linespeed/tests/records/0.1/stat.json"),
    ];

    #[test]
    fn without_the_parser_the_same_is_read() {
        let few = Unwanted { metrics: &["load.latency"], details: &["placement", "kernel"], words: true };
        for text in KEPT {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            for text in [text.to_owned(), value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                for unwanted in [Unwanted::default(), few] {
                    let quick = read_quickly(text.as_bytes(), &unwanted).unwrap();
                    assert_eq!(quick, read_by_parser(text.as_bytes(), &unwanted).unwrap());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_changed_is_read_as_the_parser_reads_it(at in 0usize..2000, with in "[0-9a-z{}:,\\[\\]\\\\\". -]") {
            let mut record = Record::new("0", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
            let place = Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Op, "triad");
            let mut m = Measurement::new("memory.bandwidth", place, vec![1.0, 2.5e9, 3e9, 3e9, 3e9, 3e9]);
            m.doubt = Some("placed 97 %".into());
            m.detail.set(crate::detail::HUGE_SHARE, 1.0);
            record.measurements.push(m);
            let mut text = record.to_json().unwrap().into_bytes();
            let from = text.windows(14).position(|at| at == b"\"measurements\"").unwrap();
            let at = from + at % (text.len() - from);
            text.splice(at..at + 1, with.bytes());
            let unwanted = Unwanted::default();
            if let (Some(quick), Ok(slow)) = (read_quickly(&text, &unwanted), read_by_parser(&text, &unwanted)) {
                prop_assert_eq!(quick, slow);
            }
        }
    }
}
