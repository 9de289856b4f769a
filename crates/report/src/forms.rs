//! A result in each of its forms.

use std::io;
use std::path::Path;

use record::Record;

use crate::terminal::Style;

/// A form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For programs: of runs the record.
    Json,
    /// Comma-separated figures.
    Csv,
    /// The report as Markdown.
    Markdown,
    /// The page.
    Page,
}

impl Form {
    /// What it is called where a result does not have it.
    pub fn word(self) -> &'static str {
        match self {
            Form::Json => "JSON",
            Form::Csv => "a table",
            Form::Markdown => "Markdown",
            Form::Page => "a page",
        }
    }

    /// The form that the ending of a file's name means.
    pub fn of_file(path: &Path) -> Self {
        match path.extension().and_then(std::ffi::OsStr::to_str) {
            Some("csv") => Form::Csv,
            Some("md") => Form::Markdown,
            Some("html" | "htm") => Form::Page,
            _ => Form::Json,
        }
    }
}

/// What makes a text of a result; `None` where the result has no such form.
type Make<'a, Text> = Option<Box<dyn Fn() -> Text + 'a>>;

/// What makes each form of a result.
pub struct Forms<'a> {
    report: Box<dyn Fn(&Style) -> String + 'a>,
    /// Whether the report is a form that was asked for by its name, as cyclictest's lines.
    asked_for: bool,
    json: Make<'a, io::Result<String>>,
    csv: Make<'a, String>,
    page: Make<'a, String>,
    prometheus: Make<'a, String>,
}

impl<'a> Forms<'a> {
    /// A result that has a report.
    pub fn new(report: impl Fn(&Style) -> String + 'a) -> Self {
        Self {
            report: Box::new(report),
            asked_for: false,
            json: None,
            csv: None,
            page: None,
            prometheus: None,
        }
    }

    /// A record, with its report. `shown_by`: what `linespeed show` takes for it later, where that is known.
    pub fn of_record(
        record: &'a Record,
        shown_by: Option<String>,
        report: impl Fn(&Record, &Style) -> String + 'a,
    ) -> Self {
        Self::new(move |style| report(record, style))
            .with_json(|| record.to_json())
            .with_csv(|| crate::csv::record(record))
            .with_page(move || crate::page::kept(record, shown_by.as_deref()))
            .with_prometheus(|| crate::prometheus::record(record))
    }

    /// Whether the report is a form that was asked for by its name: printed also where reports are not.
    pub fn with_report_asked_for(mut self, asked: bool) -> Self {
        self.asked_for = asked;
        self
    }

    /// Whether the report is a form that was asked for by its name.
    pub fn is_report_asked_for(&self) -> bool {
        self.asked_for
    }

    /// Adds its form as JSON.
    pub fn with_json(mut self, make: impl Fn() -> io::Result<String> + 'a) -> Self {
        self.json = Some(Box::new(make));
        self
    }

    /// Adds a value as its form as JSON.
    pub fn with_value(self, value: serde_json::Value) -> Self {
        self.with_json(move || Ok(format!("{value:#}\n")))
    }

    /// Adds its figures as comma-separated values.
    pub fn with_csv(mut self, make: impl Fn() -> String + 'a) -> Self {
        self.csv = Some(Box::new(make));
        self
    }

    /// Adds its page.
    pub fn with_page(mut self, make: impl Fn() -> String + 'a) -> Self {
        self.page = Some(Box::new(make));
        self
    }

    /// Adds its figures in Prometheus's text format.
    pub fn with_prometheus(mut self, make: impl Fn() -> String + 'a) -> Self {
        self.prometheus = Some(Box::new(make));
        self
    }

    /// Its figures in Prometheus's text format; `None` where the result has none.
    pub fn prometheus(&self) -> Option<String> {
        self.prometheus.as_ref().map(|make| make())
    }

    /// The report.
    pub fn report(&self, style: &Style) -> String {
        (self.report)(style)
    }

    /// The text of a form; `None` where the result has none.
    pub fn text(&self, form: Form, style: Style) -> Option<io::Result<String>> {
        match form {
            Form::Json => self.json.as_ref().map(|make| make()),
            Form::Page => self.page.as_ref().map(|make| Ok(make())),
            Form::Csv => self.csv.as_ref().map(|make| Ok(make())),
            Form::Markdown => Some(Ok(self.report(&style.markdown()))),
        }
    }
}
