//! What form a result has, where it goes, and where a record is kept.

use std::path::{Path, PathBuf};

use record::phrase::visible;
use record::{Machine, Record};
use report::terminal::Style;

use crate::failure::Failure;
use crate::options::{Form, Options};
use crate::{files, output, pager, sources};

/// What makes a text of a result; `None` where the result has no such form.
type Make<'a> = Option<Box<dyn Fn() -> Result<String, Failure> + 'a>>;

/// A result in each of its forms.
pub struct Forms<'a> {
    report: Box<dyn Fn(&Style) -> String + 'a>,
    json: Make<'a>,
    csv: Make<'a>,
    page: Make<'a>,
}

impl<'a> Forms<'a> {
    /// A result that has a report; as comma-separated values its tables.
    pub fn new(report: impl Fn(&Style) -> String + 'a) -> Self {
        Self { report: Box::new(report), json: None, csv: None, page: None }
    }

    /// A record, with its report.
    pub fn of_record(record: &'a Record, report: impl Fn(&Record, &Style) -> String + 'a) -> Self {
        Self::new(move |style| report(record, style))
            .with_json(|| record.to_json())
            .with_csv(|| report::csv::record(record))
            .with_page(|| report::page::html(record))
    }

    /// Adds its form as JSON.
    pub fn with_json(mut self, make: impl Fn() -> std::io::Result<String> + 'a) -> Self {
        self.json = Some(Box::new(move || as_json(make())));
        self
    }

    /// Adds a value as its form as JSON.
    pub fn with_value(self, value: serde_json::Value) -> Self {
        self.with_json(move || Ok(format!("{value:#}\n")))
    }

    /// Adds its figures as comma-separated values.
    pub fn with_csv(mut self, make: impl Fn() -> String + 'a) -> Self {
        self.csv = Some(Box::new(move || Ok(make())));
        self
    }

    /// Adds its page.
    pub fn with_page(mut self, make: impl Fn() -> String + 'a) -> Self {
        self.page = Some(Box::new(move || Ok(make())));
        self
    }

    /// The text of a form.
    fn text(&self, form: Form, options: &Options) -> Result<String, Failure> {
        let (made, flag) = match form {
            Form::Json => (&self.json, "JSON"),
            Form::Page => (&self.page, "a page"),
            Form::Csv if self.csv.is_some() => (&self.csv, ""),
            Form::Csv => return Ok((self.report)(&output::style(&options.out).tables())),
            Form::Markdown => return Ok((self.report)(&output::style(&options.out).markdown())),
        };
        let none = || Failure::Usage(format!("this has no form as {flag}: leave that out"));
        made.as_ref().ok_or_else(none)?()
    }

    /// What is printed: the form that was asked for, unless a file takes it, else the report.
    pub fn printed(&self, options: &Options) -> Result<String, Failure> {
        match options.out.form() {
            Some(_) if output_file(options).is_some() => Ok(String::new()),
            Some(form) => self.text(form, options),
            None if to_standard_output(options) => self.text(Form::Json, options),
            None if options.out.quiet_output => Ok(String::new()),
            None => Ok((self.report)(&output::style(&options.out))),
        }
    }
}

/// The file that `--output` names, `None` when it is `-` or was not given.
pub fn output_file(options: &Options) -> Option<PathBuf> {
    options.out.output.clone().filter(|path| path.as_os_str() != "-")
}

/// What `linespeed show` takes for the record of this run: the dot stands for a run of everything.
pub fn shown_by(options: &Options, destination: Option<&Path>) -> String {
    let file = destination.filter(|_| options.command.is_some()).map(|path| {
        let kept = if is_named(options) { Some(path.as_os_str()) } else { path.file_stem() };
        kept.unwrap_or_default().to_string_lossy().into_owned()
    });
    options.out.label.clone().or(file).unwrap_or(sources::HERE.to_owned())
}

/// Whether the result goes to standard output as JSON, and nothing else does.
pub fn to_standard_output(options: &Options) -> bool {
    let dash = options.out.output.as_deref().is_some_and(|path| path.as_os_str() == "-");
    options.out.json || (dash && options.out.form().is_none())
}

/// Whether the user has named the file, or the folder, that records go to.
pub fn is_named(options: &Options) -> bool {
    output_file(options).is_some() && options.out.form_of_file() == Form::Json
}

/// Where the record will go: checked before anything is measured; `None` for standard output, and where a short run has no
/// place to keep it. Another file that is asked for is checked, too.
pub fn destination(
    options: &Options,
    machine: &Machine,
    record: &Record,
    short: bool,
) -> Result<Option<PathBuf>, Failure> {
    let file = output_file(options);
    if let Some(path) = &file {
        files::check_writable(path)?;
    }
    if is_named(options) {
        return Ok(file);
    }
    if to_standard_output(options) {
        let words = "--label names a record that is kept: write it with --output FILE, or leave --json out";
        return options.out.label.as_ref().map_or(Ok(None), |_| Err(Failure::Usage(words.to_owned())));
    }
    let name = record::file_name::record_name(machine.hostname.as_deref(), &record.started);
    let place = files::state_folder().map(|folder| folder.join(format!("{name}.json")));
    match place.and_then(|path| files::check_writable(&path).map(|()| path)) {
        Ok(path) => Ok(Some(path)),
        Err(failure) if short && options.out.label.is_none() => {
            output::complain(&format!("the record will not be kept: {failure}"));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Prints a result, and writes it to the file that `--output` names. What was found is shown even when it cannot be stored.
pub fn hand_out(options: &Options, forms: &Forms) -> Result<(), Failure> {
    let written = write_form(options, forms);
    print(options, &forms.printed(options)?).and(written)
}

/// Writes the form that the file of `--output` takes.
pub fn write_form(options: &Options, forms: &Forms) -> Result<(), Failure> {
    let Some(path) = output_file(options) else { return Ok(()) };
    files::write(&path, &forms.text(options.out.form_of_file(), options)?)
}

/// Prints what was made of a result, a report through a pager.
pub fn print(options: &Options, text: &str) -> Result<(), Failure> {
    if is_report(options) { pager::page(text, &options.out) } else { output::print(text) }
}

/// Whether a report is printed, and no other form.
fn is_report(options: &Options) -> bool {
    options.out.form().is_none() && !to_standard_output(options)
}

/// JSON of a record, a plan, a comparison.
pub fn as_json(json: std::io::Result<String>) -> Result<String, Failure> {
    json.map_err(|error| Failure::Cannot(format!("cannot be written as JSON: {error}")))
}

/// Keeps the record and hands out its forms. `page`: there is one beside a record whose place the user has not named.
/// `names_files`: the report ends with their names.
pub fn deliver(
    options: &Options,
    record: &Record,
    destination: Option<&Path>,
    forms: &Forms,
    (page, names_files): (bool, bool),
) -> Result<(), Failure> {
    let mut text = forms.printed(options)?;
    let named = is_named(options);
    let kept = destination.map(|path| files::write_or_rescue(path, named, &as_json(record.to_json())?));
    let path = match kept.transpose() {
        Ok(path) => path,
        Err(failure) => return output::print(&text).and(Err(failure)),
    };
    let report = !text.is_empty() && is_report(options);
    let mut written = Ok(());
    if let Some(path) = &path {
        let mut files_named = format!("\nRecord: {}\n", visible(path));
        if page && !named {
            let page = path.with_extension("html");
            written = files::write(&page, &forms.text(Form::Page, options)?);
            if written.is_ok() {
                files_named.push_str(&format!("Page:   {}\n", visible(&page)));
            }
        }
        if names_files && report {
            text.push_str(&files_named);
        }
        if let Some(label) = &options.out.label {
            written = written.and(files::label_record(label, path));
        }
    }
    if !named {
        written = written.and(write_form(options, forms));
    }
    print(options, &text).and(written)
}
