//! Standard output: its width and colors, and a writer that does not panic if the pipe is closed.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use clap::ColorChoice;
use os::terminal;
use report::terminal::{Style, to_ascii};
use report::view::Form;

use crate::failure::Failure;
use crate::options::Out;

/// The width if the output is not a terminal. It is suitable for e-mail and tickets.
const DEFAULT_WIDTH: usize = 80;

/// Maximum width; wider lines are not easier to read.
const MOST_WIDTH: usize = 160;

/// The style for standard output.
pub fn style(out: &Out) -> Style {
    Style { markdown: out.form() == Some(Form::Markdown), ..style_on(out, io::stdout()) }
}

/// The style for standard error.
pub fn error_style(out: &Out) -> Style {
    style_on(out, io::stderr())
}

fn style_on(out: &Out, file: impl IsTerminal + AsFd) -> Style {
    let color = match out.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => terminal::wants_colors(&file),
    };
    let width = terminal::columns(&file).unwrap_or(DEFAULT_WIDTH).clamp(40, MOST_WIDTH);
    Style { width, color, ascii: !terminal::knows_utf8(&file), root: os::is_root(), ..Style::default() }
}

/// The text, converted to characters that the destination supports.
fn plain(text: String, file: impl IsTerminal) -> String {
    if terminal::knows_utf8(&file) { text } else { to_ascii(&text) }
}

/// Maximum length of an error message: a few lines.
const MOST_COMPLAINT: usize = 2_000;

/// Writes an error to standard error. Control characters in text from a file or flag cannot affect the terminal. Write
/// failures are ignored.
pub fn complain(words: &str) {
    let short: String = words.chars().take(MOST_COMPLAINT).collect();
    let safe = plain(report::terminal::safe(&short), io::stderr());
    let _ = writeln!(io::stderr(), "linespeed: {safe}");
}

/// Writes a message to standard error, unless output is off.
pub fn notice(out: &Out, words: &str) {
    if !out.quiet_output {
        complain(words);
    }
}

/// Writes a message to standard error, only with `--verbose`.
pub fn verbose(out: &Out, words: &str) {
    if out.verbose {
        complain(words);
    }
}

/// Prints text on standard error; write failures are ignored.
pub fn print_error(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a report. If it is longer than the terminal and `--no-pager` was not specified, a pager shows it.
pub fn page(text: &str, out: &Out) -> Result<(), Failure> {
    let is_long = terminal::rows(&io::stdout()).is_some_and(|rows| text.lines().count() > rows);
    if is_long && !out.no_pager && terminal::page(text) { Ok(()) } else { print(text) }
}

/// Prints help.
pub fn print_help(text: String) -> Result<(), Failure> {
    print(&plain(text, io::stdout()))
}

/// Prints text on standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    };
    write().map_err(|error| Failure::Output { path: None, error, way_out: "" })
}
