//! The output of a command: a [`View`] that the command builds from its data. Lines, lists and tables are drawn on a [`Screen`], which lays
//! them out for a terminal or as Markdown. Pages, CSV and JSON are generated from the same data.

use std::io;
use std::path::Path;

use record::Record;

pub use crate::contents::finding::loss;
pub use crate::contents::verdict::headline_metric;
pub use crate::paint::{Span, Tone};
pub use crate::table::{Column, Field, Table};
pub use crate::terminal::{Screen, Style};
pub use crate::text::{capitalized, cut, width};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON for programs; for a run, this is the record.
    Json,
    /// Comma-separated results.
    Csv,
    /// The report as Markdown.
    Markdown,
    /// The page.
    Page,
}

impl Form {
    /// The name of the format, for the error message if a result does not support it.
    pub fn word(self) -> &'static str {
        match self {
            Form::Json => "JSON",
            Form::Csv => "a table",
            Form::Markdown => "Markdown",
            Form::Page => "a page",
        }
    }

    /// The format for a file extension.
    pub fn of_file(path: &Path) -> Self {
        match path.extension().and_then(std::ffi::OsStr::to_str) {
            Some("csv") => Form::Csv,
            Some("md") => Form::Markdown,
            Some("html" | "htm") => Form::Page,
            _ => Form::Json,
        }
    }
}

/// Converts a result to text; `None` if it does not support the format.
type Make<'a> = Option<Box<dyn Fn() -> io::Result<String> + 'a>>;

/// The output of a command, in each of its formats.
pub struct View<'a> {
    draw: Box<dyn Fn(&mut Screen) + 'a>,
    /// Whether the report is in a format requested by name, such as cyclictest's output format.
    asked_for: bool,
    json: Make<'a>,
    csv: Make<'a>,
    page: Make<'a>,
    prometheus: Make<'a>,
}

impl<'a> View<'a> {
    /// A result whose report is drawn by `draw`.
    pub fn new(draw: impl Fn(&mut Screen) + 'a) -> Self {
        let draw = Box::new(draw);
        Self { draw, asked_for: false, json: None, csv: None, page: None, prometheus: None }
    }

    /// A record with its report. `shown_by`: the name that `linespeed show` accepts for the record, if known.
    pub fn of_record(record: &'a Record, shown_by: Option<String>, draw: impl Fn(&mut Screen) + 'a) -> Self {
        Self::new(draw)
            .with_json(|| record.to_json())
            .with_csv(|| crate::csv::record(record))
            .with_page(move || crate::page::of_record(record, &[], shown_by.as_deref()))
            .with_prometheus(|| crate::prometheus::record(record))
    }

    /// Sets whether the report is in a format requested by name. Such a report is printed even if other reports are not.
    pub fn with_report_asked_for(self, asked_for: bool) -> Self {
        Self { asked_for, ..self }
    }

    /// Whether the report is in a format requested by name.
    pub fn is_report_asked_for(&self) -> bool {
        self.asked_for
    }

    /// Adds its JSON format.
    pub fn with_json(self, make: impl Fn() -> io::Result<String> + 'a) -> Self {
        Self { json: Some(Box::new(make)), ..self }
    }

    /// Adds a value as its JSON format.
    pub fn with_value(self, value: serde_json::Value) -> Self {
        self.with_json(move || Ok(format!("{value:#}\n")))
    }

    /// Adds its results as comma-separated values.
    pub fn with_csv(self, make: impl Fn() -> String + 'a) -> Self {
        Self { csv: Some(Box::new(move || Ok(make()))), ..self }
    }

    /// Adds its page.
    pub fn with_page(self, make: impl Fn() -> String + 'a) -> Self {
        Self { page: Some(Box::new(move || Ok(make()))), ..self }
    }

    /// Adds its results in Prometheus's text format.
    pub fn with_prometheus(self, make: impl Fn() -> String + 'a) -> Self {
        Self { prometheus: Some(Box::new(move || Ok(make()))), ..self }
    }

    /// The command's results in Prometheus's text format; `None` if there are none.
    pub fn prometheus(&self) -> Option<io::Result<String>> {
        self.prometheus.as_ref().map(|make| make())
    }

    /// The report.
    pub fn report(&self, style: &Style) -> String {
        Screen::draw(style, &self.draw)
    }

    /// The text of a format; `None` if the result does not support it.
    pub fn text(&self, form: Form, style: &Style) -> Option<io::Result<String>> {
        let make = match form {
            Form::Json => &self.json,
            Form::Page => &self.page,
            Form::Csv => &self.csv,
            Form::Markdown => return Some(Ok(self.report(&Style { markdown: true, ..*style }))),
        };
        make.as_ref().map(|make| make())
    }
}
