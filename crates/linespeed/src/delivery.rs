//! The format and destination of a result, and where a record is saved.

use std::path::{Path, PathBuf};

use os::places;
use record::phrase::visible;
use record::{Ended, Machine, Record, file_name};
use report::view::{Form, Screen, View};

use crate::failure::Failure;
use crate::options::Options;
use crate::redaction::{host, shown};
use crate::{files, output};

/// The remedy if the file of `--prom` cannot be written.
pub const PROM_WAY_OUT: &str = "choose another path with --prom FILE";

/// The result as text in the given format.
fn text(forms: &View, form: Form, options: &Options) -> Result<String, Failure> {
    let none = || Failure::Usage(format!("this command cannot write {}: omit that option", form.word()));
    as_json(forms.text(form, &output::style(&options.out)).ok_or_else(none)?)
}

/// The text to print: the requested format if it is not written to a file, or the report if no format was requested.
pub fn printed(forms: &View, options: &Options) -> Result<String, Failure> {
    match options.out.form() {
        Some(_) if output_file(options).is_some() => Ok(String::new()),
        Some(form) => text(forms, form, options),
        None if to_standard_output(options) => text(forms, Form::Json, options),
        None if options.out.quiet_output && !forms.is_report_asked_for() => Ok(String::new()),
        None => Ok(forms.report(&output::style(&options.out))),
    }
}

/// The file specified with `--output`; `None` if it is `-` or was not specified.
pub fn output_file(options: &Options) -> Option<PathBuf> {
    options.out.output.clone().filter(|path| path.as_os_str() != "-")
}

/// Like [`output_file`], but first checks that the file can be written. Call it before a run.
pub fn checked_output_file(options: &Options) -> Result<Option<PathBuf>, Failure> {
    let file = output_file(options);
    file.as_ref().map_or(Ok(()), |path| files::check_writable(path)).map(|()| file)
}

/// A permanent name that `linespeed show` accepts for the record in a file. This is the short name if the record is one of
/// the user's own. `None` if names are removed or if there is no file.
pub fn lasting_name(options: &Options, file: Option<&Path>) -> Option<String> {
    let file = file.filter(|file| !options.out.redact && file.as_os_str() != "-")?;
    let own = places::state_folder().is_some_and(|own| file.parent() == Some(&own));
    let stem = file.file_stem().filter(|_| own).map(Path::new);
    Some(visible(stem.unwrap_or(file)))
}

/// The lines that name a record's file and, if there is one, its page.
pub fn name_files(options: &Options, record: &Path, page: Option<&Path>) -> String {
    let page = page.map_or(String::new(), |page| format!("Page:   {}\n", shown(options, page)));
    format!("\nRecord: {}\n{page}", shown(options, record))
}

/// Like [`name_files`], for a record in the state directory; empty for other files, because the user specified their paths.
pub fn name_own_files(options: &Options, file: &Path) -> String {
    let own = places::state_folders().iter().any(|own| file.parent() == Some(own.as_path()));
    let page = Some(file.with_extension("html")).filter(|page| page.is_file());
    if own && !options.out.redact { name_files(options, file, page.as_deref()) } else { String::new() }
}

/// Whether only JSON is written to standard output.
pub fn to_standard_output(options: &Options) -> bool {
    let dash = options.out.output.as_deref().is_some_and(|path| path.as_os_str() == "-");
    options.out.json || (dash && options.out.form().is_none())
}

/// Whether the user specified the path of the record.
pub fn is_named(options: &Options) -> bool {
    output_file(options).is_some() && options.out.form_of_file() == Form::Json
}

/// The destination of the record; `None` for standard output, or if the record of a short run cannot be saved. The destination and
/// all other requested files are checked before anything is measured.
pub fn destination(
    options: &Options,
    machine: &Machine,
    record: &Record,
    short: bool,
) -> Result<Option<PathBuf>, Failure> {
    let file = checked_output_file(options)?;
    let prom = options.out.prom.as_ref().map_or(Ok(()), |path| files::check_writable(path));
    prom.map_err(|failure| failure.with_way_out(PROM_WAY_OUT))?;
    if is_named(options) {
        return Ok(file);
    }
    if to_standard_output(options) {
        let words = "--label requires a saved record: add --output FILE or omit --json";
        return options.out.label.as_ref().map_or(Ok(None), |_| Err(Failure::usage(words)));
    }
    let name = file_name::record_name(host(options, machine.hostname.as_deref()), &record.started) + ".json";
    let place = files::state_folder().map(|folder| os::whole_file::free_name(&folder.join(name)));
    match place.and_then(|path| files::check_writable(&path).map(|()| path)) {
        Ok(path) => Ok(Some(path)),
        Err(failure) if short && options.out.label.is_none() => {
            output::complain(&format!("the record will not be saved: {failure}"));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Prints a result, or writes it to the file specified with `--output`. If the file cannot be written, the result is printed.
pub fn hand_out(options: &Options, forms: &View) -> Result<(), Failure> {
    let written = write_form(options, forms).and(write_prometheus(options, forms));
    if written.is_ok() && output_file(options).is_some() {
        return Ok(());
    }
    print(options, &printed(forms, options)?).and(written)
}

/// Writes the file specified with `--output`, in the requested format.
pub fn write_form(options: &Options, forms: &View) -> Result<(), Failure> {
    let Some(path) = output_file(options) else { return Ok(()) };
    files::write(&path, &text(forms, options.out.form_of_file(), options)?)
}

/// Writes the file specified with `--prom`.
pub fn write_prometheus(options: &Options, forms: &View) -> Result<(), Failure> {
    let (Some(path), Some(text)) = (&options.out.prom, forms.prometheus()) else { return Ok(()) };
    files::write(path, &as_json(text)?).map_err(|failure| failure.with_way_out(PROM_WAY_OUT))
}

/// Prints a result; reports are shown in a pager.
pub fn print(options: &Options, text: &str) -> Result<(), Failure> {
    if is_report(options) { output::page(text, &options.out) } else { output::print(text) }
}

/// Whether a report is printed, rather than another format.
fn is_report(options: &Options) -> bool {
    options.out.form().is_none() && !to_standard_output(options)
}

/// The JSON text of a record, a plan or a comparison, or the error.
pub fn as_json(json: std::io::Result<String>) -> Result<String, Failure> {
    json.map_err(|error| Failure::Cannot(format!("cannot be written as JSON: {error}")))
}

/// Saves a record and sets its label; returns its location, and any error.
pub fn keep(
    options: &Options,
    record: &Record,
    destination: Option<&Path>,
) -> (Option<PathBuf>, Result<(), Failure>) {
    let Some(destination) = destination else { return (None, Ok(())) };
    let kept = as_json(record.to_json())
        .and_then(|json| files::write_or_rescue(destination, is_named(options), &json));
    match kept {
        Err(failure) => (None, Err(failure)),
        Ok(path) => {
            files::extend_index(&path);
            let label = options.out.label.as_ref();
            let labelled = label.map_or(Ok(()), |label| files::label_record(label, &path));
            (Some(path), labelled)
        }
    }
}

/// The record of a run after the attempt to save it: its location, its name for later commands, and any error.
pub struct Kept {
    /// The record's path.
    pub path: Option<PathBuf>,
    /// The name that `linespeed show` accepts for the record; `None` if it was not saved.
    pub shown_by: Option<String>,
    /// The error, if saving failed.
    pub written: Result<(), Failure>,
}

impl Kept {
    /// Saves the record of a run.
    pub fn keep(options: &Options, record: &Record, destination: Option<&Path>) -> Self {
        // `.` stands for this record only after a complete default run whose path the user did not specify.
        let own_name = options.command.is_some() || is_named(options) || record.ended != Ended::Complete;
        let (path, written) = keep(options, record, destination);
        let shown_by = match (&path, &written) {
            (_, Err(Failure::Rescued { saved, .. })) => Some(saved.to_string_lossy().into_owned()),
            (Some(path), _) if own_name => {
                let name = if is_named(options) { Some(path.as_os_str()) } else { path.file_stem() };
                name.map(|name| name.to_string_lossy().into_owned())
            }
            (Some(_), _) => Some(record::source::HERE.to_owned()),
            (None, _) => None,
        };
        let label = options.out.label.clone().filter(|_| path.is_some() && written.is_ok());
        Self { shown_by: label.or(shown_by), path, written }
    }

    /// The record in all output formats. `draw` draws the report; the second argument of `draw` is the name that
    /// `linespeed show` accepts for the record.
    pub fn view<'a>(
        &self,
        options: &Options,
        record: &'a Record,
        draw: impl Fn(&mut Screen, Option<&str>) + 'a,
    ) -> View<'a> {
        let (name, shown_by) = (lasting_name(options, self.path.as_deref()), self.shown_by.clone());
        View::of_record(record, name, move |screen| draw(screen, shown_by.as_deref()))
    }

    /// Writes or prints the formats. `page` means that a page is written next to a record whose path the user did not specify;
    /// `names_files` means that the report ends with the paths of the record and the page.
    pub fn deliver(
        self,
        options: &Options,
        forms: &View,
        (page, names_files): (bool, bool),
    ) -> Result<(), Failure> {
        let mut printed = printed(forms, options)?;
        let named = is_named(options);
        let Self { path, mut written, .. } = self;
        if let Some(path) = &path {
            let mut page = Some(path.with_extension("html")).filter(|_| page && !named);
            let made = page.as_ref().map_or(Ok(()), |page| {
                text(forms, Form::Page, options).and_then(|html| files::write(page, &html))
            });
            page = page.filter(|_| made.is_ok());
            written = written.and(made);
            if names_files && !printed.is_empty() && is_report(options) {
                printed.push_str(&name_files(options, path, page.as_deref()));
            }
        }
        if !named {
            written = written.and(write_form(options, forms));
        }
        print(options, &printed).and(written).and(write_prometheus(options, forms))
    }
}
