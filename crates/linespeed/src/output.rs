//! Standard output: its width, whether it has colours, and a writer that a closed pipe does not make panic.

use std::io::{self, IsTerminal, Write};

use report::terminal::Style;

use crate::failure::Failure;
use crate::options::{Color, Form, Out};

/// Columns when nobody tells: what people paste into mails and tickets.
const DEFAULT_WIDTH: usize = 80;

/// Wider lines are not read more easily.
const MOST_WIDTH: usize = 160;

/// How to print on standard output.
pub fn style(out: &Out) -> Style {
    let style = style_on(out, io::stdout().is_terminal(), libc::STDOUT_FILENO);
    match out.form() {
        Some(Form::Markdown) => style.markdown(),
        Some(Form::Csv) => style.tables(),
        _ => style,
    }
}

/// How to print on standard error.
pub fn error_style(out: &Out) -> Style {
    style_on(out, io::stderr().is_terminal(), libc::STDERR_FILENO)
}

fn style_on(out: &Out, terminal: bool, fd: libc::c_int) -> Style {
    let color = match out.color {
        Color::Always => true,
        Color::Never => false,
        // https://no-color.org: any value that is not empty.
        Color::Auto => {
            terminal
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    };
    Style { width: width(terminal, fd), color, ascii: !utf8(terminal), ..Style::default() }
}

/// Whether UTF-8 may be written: by the locale's variables in the order of setlocale(3). What is no terminal gets it where none
/// is set, as files and mails do.
fn utf8(terminal: bool) -> bool {
    if terminal && std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return false;
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    match locale.map(|locale| locale.to_ascii_lowercase()) {
        Some(locale) if locale == "c" || locale == "posix" => false,
        Some(locale) => locale.contains("utf-8") || locale.contains("utf8"),
        None => true,
    }
}

fn width(terminal: bool, fd: libc::c_int) -> usize {
    let reported = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let asked = || {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the kernel fills the winsize, which outlives the call; on anything but a terminal it refuses.
        let code = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) };
        (code == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
    };
    reported.or_else(|| if terminal { asked() } else { None }).unwrap_or(DEFAULT_WIDTH).clamp(40, MOST_WIDTH)
}

/// The longest complaint: a few lines.
const MOST_COMPLAINT: usize = 2_000;

/// Says on standard error what went wrong. What a file or a flag brought into the words cannot act on the terminal; and
/// where nobody can be told, nothing is.
pub fn complain(words: &str) {
    let short: String = words.chars().take(MOST_COMPLAINT).collect();
    let safe = report::terminal::safe(&short);
    let _ = writeln!(io::stderr(), "linespeed: {safe}");
}

/// Prints text on standard error; where nobody can be told, nothing is.
pub fn print_error(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
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
