//! Output lines that are at most as wide as requested.

use std::borrow::Cow;
use std::fmt::Display;

use record::phrase::count_noun;

use super::columns::{self, GAP, LEAST_COLUMN};
use super::room::LINES;
use super::{Style, markdown};
use crate::ascii::{to_ascii, two_signs};
use crate::contents::Fact;
use crate::paint::{self, Span, Tone, render};
use crate::table::{Table, Weight};
use crate::text::{clean, cut_words, pad_left, pad_right, shorten, width, wrap};

/// The text written so far.
pub struct Screen {
    style: Style,
    /// Whether everything is shown here or above, as with `--all`.
    all: bool,
    /// The line at which the answer begins.
    top: usize,
    text: String,
}

impl Screen {
    /// Whether the output is for a terminal rather than a file.
    pub fn is_terminal(&self) -> bool {
        !self.style.markdown
    }

    /// An empty screen with a minimum width of 20.
    pub fn new(style: &Style) -> Self {
        let style = Style { width: style.width.max(20), color: style.color && !style.markdown, ..*style };
        Self { style, all: true, top: 0, text: String::new() }
    }

    /// The text that `write` produces on an empty screen.
    pub fn draw(style: &Style, write: impl FnOnce(&mut Self)) -> String {
        let mut screen = Self::new(style);
        write(&mut screen);
        screen.finish()
    }

    /// Marks the beginning of the answer on one screen. `all` means that everything is shown above or in it, so pointers to
    /// the rest are omitted.
    pub fn begin_answer(&mut self, all: bool) {
        self.blank();
        (self.top, self.all) = (self.lines(), all);
    }

    /// Whether everything was requested, including charts.
    pub(super) fn shows_all(&self) -> bool {
        self.all
    }

    /// How many of `count` items to show if there is room for only `few`.
    pub(super) fn most(&self, few: usize, count: usize) -> usize {
        if self.all { count } else { few.min(count) }
    }

    /// Writes the number of items not shown, and the command that shows them.
    pub(super) fn and_more(&mut self, left: usize, way: &str) {
        if left > 0 {
            self.line(&[Span::quiet(format!("  … and {left} more: {way}"))]);
        }
    }

    /// Number of lines left for the answer if `below` lines follow it; documents have no limit.
    pub fn left(&self, below: usize) -> usize {
        if self.is_terminal() { LINES.saturating_sub(self.lines() - self.top + below) } else { usize::MAX }
    }

    /// Writes the command that shows the rest, unless the rest is shown above.
    pub fn more(&mut self, command: &str) {
        if !self.all {
            self.uncut(&format!("More: {command}"));
        }
    }

    /// Text made safe for a terminal. For ASCII output, characters that need two characters in ASCII are already replaced, so that the
    /// width of the text is final.
    pub fn signs(&self, text: &str) -> String {
        let safe = clean(text);
        if self.style.ascii { two_signs(&safe) } else { safe }
    }

    /// Width of a line.
    pub fn width(&self) -> usize {
        self.style.width
    }

    /// Removes all lines after the first `lines`.
    pub(crate) fn keep(&mut self, lines: usize) {
        self.text.truncate(self.text.split_inclusive('\n').take(lines).map(str::len).sum());
    }

    /// Lines so far.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// Writes at most this many lines of the output of `write`; the last line ends with the number of omitted lines.
    pub fn clipped(&mut self, most: usize, write: impl FnOnce(&mut Self)) {
        let before = self.text.len();
        write(self);
        let written: Vec<String> = self.text[before..].lines().map(str::to_owned).collect();
        if let Some(kept) = written.get(..most).filter(|_| self.is_terminal() && written.len() > most) {
            self.text.truncate(before);
            let said = kept.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
            let left = written.iter().skip(said).filter(|line| !line.is_empty()).count();
            for (number, line) in kept[..said].iter().enumerate() {
                let line =
                    if number + 1 == said { ending(line, self.style.width, left) } else { line.clone() };
                self.text.push_str(&line);
                self.text.push('\n');
            }
        }
    }

    /// The whole text.
    pub fn finish(self) -> String {
        let mut text = self.text;
        // The empty line after a table is needed only if other text follows.
        if self.style.markdown && text.ends_with("\n\n") {
            text.truncate(text.trim_end_matches('\n').len() + 1);
        }
        if self.style.ascii { to_ascii(&text) } else { text }
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// An empty line, unless the text begins here or the previous line is empty.
    pub fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A heading with an empty line above it.
    pub fn heading(&mut self, text: &str) {
        self.blank();
        if self.style.markdown {
            return self.text.push_str(&format!("## {}\n\n", markdown::escape(text)));
        }
        wrap(&clean(text), self.style.width).into_iter().for_each(|line| self.line(&[Span::strong(line)]));
    }

    /// Lines of a drawing, indented by two spaces.
    pub(crate) fn picture(&mut self, lines: Vec<Vec<Span>>) {
        if self.style.markdown {
            self.blank();
            self.text.push_str("```\n");
        }
        for mut line in lines {
            line.insert(0, Span::plain("  "));
            self.fitted(&line);
        }
        if self.style.markdown {
            self.text.push_str("```\n");
        }
    }

    /// The text of a line or paragraph in Markdown.
    fn words(&mut self, first: &[Span], text: &str) {
        let all = first.iter().map(Span::text).chain([text]).collect::<String>();
        let item = if all.trim_start().starts_with("- ") { "- " } else { "" };
        let words = markdown::escape(all.trim_start().strip_prefix("- ").unwrap_or(&all));
        // Text directly after a list item would become part of the item.
        if item.is_empty() && self.text.lines().next_back().is_some_and(|line| line.starts_with("- ")) {
            self.blank();
        }
        let end = if item.is_empty() && !words.is_empty() { "  " } else { "" };
        self.text.push_str(&format!("{item}{words}{end}\n"));
    }

    /// A line that consists of spans, truncated between words if it is too long for a terminal.
    pub fn line(&mut self, spans: &[Span]) {
        if self.is_terminal() { self.fitted(spans) } else { self.words(spans, "") }
    }

    /// Text that is already laid out. If this is the first text of a screen, the screen is not converted to ASCII.
    pub fn verbatim(&mut self, text: &str) {
        self.style.ascii &= !self.is_empty();
        self.text.push_str(text);
    }

    /// A line with a path or a command to paste, which must not be truncated.
    pub fn uncut(&mut self, text: &str) {
        if self.is_terminal() {
            self.text.push_str(&format!("{}\n", clean(text)))
        } else {
            self.words(&[], text)
        }
    }

    fn fitted(&mut self, spans: &[Span]) {
        let mut room = self.style.width;
        let mut fitting = Vec::with_capacity(spans.len());
        for span in spans {
            let text = cut_words(&self.signs(span.text()), room);
            room = room.saturating_sub(width(&text));
            fitting.push(Span::new(span.tone(), text));
        }
        self.text.push_str(&render(&fitting, self.style.color));
        self.text.push('\n');
    }

    /// Text in at most `most` lines, the first one preceded by `first` and the others by `others`; the rest is truncated.
    fn text(&mut self, first: &[Span], others: &str, tone: Tone, text: &str, most: usize) {
        if most == 0 {
            return;
        }
        if self.style.markdown {
            return self.words(first, text);
        }
        let begin: usize = first.iter().map(|span| width(span.text())).sum();
        let room = self.style.width.saturating_sub(begin.max(width(others))).max(8);
        for (number, line) in wrap(&shorten(&self.signs(text), room, most), room).into_iter().enumerate() {
            let before = if number == 0 { first } else { &[Span::quiet(others)] };
            self.line(&[before, &[Span::new(tone, line)]].concat());
        }
    }

    /// A paragraph with `first` before its first line, and the same number of spaces before the other lines.
    pub fn paragraph(&mut self, first: &[Span], tone: Tone, text: impl Display) {
        let indent: usize = first.iter().map(|span| width(span.text())).sum();
        let text = text.to_string();
        // If `first` leaves almost no room, the text begins on the next line.
        if self.is_terminal()
            && self.style.width.saturating_sub(indent) < LEAST_COLUMN.max(self.style.width / 4)
        {
            self.line(first);
            return self.text(&[Span::plain("    ")], "    ", tone, &text, usize::MAX);
        }
        self.text(first, &" ".repeat(indent), tone, &text, usize::MAX);
    }

    /// A paragraph with different prefixes for its first line and the others.
    pub fn hanging(&mut self, first: &str, others: &str, text: impl Display) {
        self.short(usize::MAX, first, others, text);
    }

    /// The lines of [`Self::hanging`].
    pub fn lines_of(&self, first: &str, others: &str, text: &str) -> usize {
        let room = self.style.width.saturating_sub(width(first).max(width(others)));
        wrap(&self.signs(text), room.max(8)).len()
    }

    /// Like [`Self::hanging`], in at most this many lines; the rest is truncated.
    pub fn short(&mut self, most: usize, first: &str, others: &str, text: impl Display) {
        self.text(&[Span::quiet(first)], others, Tone::Plain, &text.to_string(), most);
    }

    /// Entries below a heading, each with its name in a column to the left. A name that repeats the previous one is omitted. Prints nothing
    /// if there are no entries.
    pub fn list<Name: AsRef<str>, Says: Display>(
        &mut self,
        title: &str,
        entries: impl IntoIterator<Item = (Name, Says)>,
    ) {
        let entries: Vec<(String, String)> =
            entries.into_iter().map(|(name, says)| (clean(name.as_ref()), says.to_string())).collect();
        if !title.is_empty() && !entries.is_empty() {
            self.heading(title);
        }
        if self.style.markdown && !entries.is_empty() {
            let mut table = Table::new("", None, ["name", "says"]);
            entries.into_iter().for_each(|(name, says)| table.row(vec![name, says]));
            return self.table(&table, 0);
        }
        let column = entries.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(LONGEST_NAME) + 2;
        let mut before = "";
        for (name, says) in &entries {
            let shown = if name == before { "" } else { name };
            let mut first = [Span::plain("  "), Span::strong(pad_right(shown, column))];
            // A name that fills the column leaves no room, so the text begins below it.
            if width(shown) + 2 > column {
                self.line(&first);
                first[1] = Span::plain(" ".repeat(column));
            }
            self.paragraph(&first, Tone::Plain, says);
            before = name;
        }
    }

    /// A sentence.
    pub fn say(&mut self, text: impl Display) {
        self.paragraph(&[], Tone::Plain, text);
    }

    /// A command as the user would type it.
    pub fn typed(&self, command: &str) -> String {
        if self.style.root { command.replace("sudo ", "") } else { command.to_owned() }
    }

    /// A command to paste. If it does not fit on one line, each line except the last ends in a backslash, so that the shell joins the
    /// lines. The command is broken between words; a word that is too long for a line continues in the first column of the next line, so
    /// that the shell adds no space.
    pub fn command(&mut self, first: &[Span], text: &str) {
        let text = &self.typed(text);
        if self.style.markdown {
            // If `first` is only a prompt, it is not written above the code block.
            if first.iter().any(|span| !["", "$"].contains(&span.text().trim())) {
                self.words(first, "");
            }
            return self.picture(vec![vec![Span::plain(text)]]);
        }
        let indent: usize =
            first.iter().map(|span| width(span.text())).sum::<usize>().min(self.style.width / 2);
        let columns = self.style.width;
        let room = |start: usize| columns - start - 2;
        let mut before = first.to_vec();
        let mut start = indent;
        let mut line = String::new();
        let words: Vec<String> =
            clean(text).split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        for word in words {
            let gap = usize::from(!line.is_empty());
            if width(&line) + gap + width(&word) <= room(start) {
                line = if gap == 1 { format!("{line} {word}") } else { word };
                continue;
            }
            if !line.is_empty() {
                self.broken(&mut before, &format!("{line} \\"));
                (start, before) = (indent, vec![Span::plain(" ".repeat(indent))]);
            }
            let mut rest = word.as_str();
            while width(rest) > room(start) {
                let piece = crate::text::beginning(rest, room(start));
                self.broken(&mut before, &format!("{piece}\\"));
                rest = &rest[piece.len()..];
                (start, before) = (0, Vec::new());
            }
            line = rest.to_owned();
        }
        self.broken(&mut before, &line);
    }

    fn broken(&mut self, before: &mut Vec<Span>, text: &str) {
        before.push(Span::plain(text));
        self.line(before);
        before.clear();
    }

    /// Facts, one per line after `indent`, with their values in one column that starts at `at` or later. Together, they use at most `most`
    /// lines, and each fact uses at least one. Longer facts use the remaining lines until none are left, and are then truncated.
    pub(crate) fn facts(&mut self, facts: &[Fact], indent: &str, at: usize, most: usize) {
        if self.style.markdown {
            return facts.iter().for_each(|fact| self.words(&[], &format!("- {}: {}", fact.key, fact.value)));
        }
        let keys: Vec<String> = facts.iter().map(|fact| format!("{indent}{}: ", clean(&fact.key))).collect();
        let at = keys.iter().map(|key| width(key)).max().unwrap_or(0).max(at);
        let room = self.style.width.saturating_sub(at).max(8);
        let mut spare = most.saturating_sub(facts.len());
        for (fact, key) in facts.iter().zip(keys) {
            if at > WIDEST_KEY.min(self.style.width * 2 / 5) {
                self.hanging(indent, &format!("{indent}    "), format!("{}: {}", fact.key, fact.value));
                continue;
            }
            let value = self.signs(&fact.value);
            let lines = wrap(&value, room).len().min(1 + spare);
            spare -= lines - 1;
            self.text(&[Span::plain(pad_right(&key, at))], &" ".repeat(at), Tone::Plain, &value, lines);
        }
    }

    /// A table: headings and rows, without lines between them. If it is too wide, text columns are wrapped, then optional columns omitted,
    /// then headings wrapped; if that is not enough, it is written row by row.
    pub fn table(&mut self, table: &Table, indent: usize) {
        if self.style.markdown {
            self.blank();
            return self.text.push_str(&markdown::table(table));
        }
        let signs = |cell: &mut String| *cell = two_signs(cell);
        let mut table = Cow::Borrowed(table);
        if self.style.ascii {
            table.to_mut().rows.iter_mut().flatten().for_each(signs);
        }
        if let Some((shown, widths)) = columns::fitting(&table, self.style.width.saturating_sub(indent)) {
            let head: Vec<String> = shown.columns.iter().map(|column| clean(&column.head)).collect();
            self.table_row(&shown, &head, &widths, indent, Tone::Quiet);
            for (number, row) in shown.rows.iter().enumerate() {
                let tone = match shown.weight(number) {
                    Weight::Plain => Tone::Plain,
                    Weight::Worse => Tone::Warning,
                    Weight::Better => Tone::Better,
                };
                self.table_row(&shown, row, &widths, indent, tone);
            }
        } else {
            for row in &table.rows {
                let cells = table.columns.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
                let text = cells.map(|(column, cell)| format!("{} {cell}", column.head));
                let bullet = format!("{}- ", " ".repeat(indent));
                self.paragraph(&[Span::plain(bullet)], Tone::Plain, text.collect::<Vec<_>>().join("; "));
            }
        }
        for (number, note) in table.notes.iter().enumerate() {
            let first = format!("{}[{}] ", " ".repeat(indent), number + 1);
            self.paragraph(&[Span::quiet(first)], Tone::Quiet, note);
        }
        for remark in &table.remarks {
            self.paragraph(&[Span::quiet(" ".repeat(indent))], Tone::Quiet, remark);
        }
    }

    /// Writes as many rows of a table as fit into this many lines, or none if only one of several would fit; returns how many were omitted.
    pub fn rows(&mut self, mut table: Table, indent: usize, room: usize) -> usize {
        let (before, all) = (self.lines(), table.rows.len());
        while !table.rows.is_empty() {
            self.table(&table, indent);
            if self.lines() - before <= room && (table.rows.len() > 1 || all == 1) {
                break;
            }
            self.keep(before);
            table.rows.pop();
        }
        all - table.rows.len()
    }

    fn table_row(&mut self, table: &Table, cells: &[String], widths: &[usize], indent: usize, tone: Tone) {
        let wrapped: Vec<Vec<String>> =
            cells.iter().zip(widths).map(|(cell, w)| wrap(&clean(cell), *w)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let mut text = " ".repeat(indent);
            for (at, cell) in wrapped.iter().enumerate() {
                let part = cell.get(line).map_or("", String::as_str);
                let figures = table.columns[at].figures;
                text.push_str(&if figures {
                    pad_left(part, widths[at])
                } else {
                    pad_right(part, widths[at])
                });
                if at + 1 < wrapped.len() {
                    text.push_str(&" ".repeat(GAP));
                }
            }
            self.line(&[Span::new(tone, text)]);
        }
    }
}

/// Maximum width of a key; its value needs the rest of the line.
const WIDEST_KEY: usize = 32;
/// Maximum width of a name next to its text.
const LONGEST_NAME: usize = 24;

/// A finished line with the number of omitted lines, if any. If the number does not fit, the line is truncated and loses its colors.
fn ending(line: &str, columns: usize, left: usize) -> String {
    let plain = paint::without_colour(line);
    let more = if left > 0 { format!(" {}", count_noun(left, "more line")) } else { return line.to_owned() };
    if width(&plain) + 2 + width(&more) <= columns {
        return format!("{line} …{more}");
    }
    cut_words(&format!("{plain}{}", " ".repeat(columns)), columns.saturating_sub(width(&more))) + &more
}

#[cfg(test)]
mod tests;
