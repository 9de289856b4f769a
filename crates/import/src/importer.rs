//! Assigns each line of a text to the reader of the open output or to a tool whose output begins here, or counts it as unrecognized.

use std::collections::BTreeSet;
use std::io::{self, Read};

use record::command_line::conditions;
use record::import::{NotUnderstood, Output, Text};

use crate::archive;
use crate::assemble::{Imported, assemble};
use crate::clean::{self, Cleaned, Kind};
use crate::error::{Clash, Error};
use crate::limits::{LONGEST_COMMAND, LONGEST_TEXT, MOST_ENTRIES, MOST_ENTRIES_IN_ALL, MOST_MACHINES};
use crate::line::{Line, continued, ends_open, quote};
use crate::numbers::parse_decimal;
use crate::prompts::{self, Mark};
use crate::sections::{Sections, add_example};
use crate::setting::Setting;
use crate::sink::Sink;
use crate::split::Split;
use crate::table::Table;
use crate::tool::{Command, Fit, Reader, Tool, opens};
use crate::tools::{self, dmidecode, files, published};

/// Tool names for texts that consist of a single output.
const ARCHIVE: &str = "archive of /sys and /proc";
const DUMP: &str = "dmidecode --dump-bin";

/// Maximum number of unrelated lines between two lines of an output, not counting blank lines.
const MOST_BETWEEN: u32 = 6;

/// Maximum number of blank lines between two lines of an output.
const MOST_BLANK: u32 = 12;

/// Maximum length of a line that is ignored because it contains only brackets.
const LONGEST_BRACKETS: usize = 8;

/// An output that is being read.
struct Open {
    tool: &'static Tool,
    reader: Box<dyn Reader>,
    section: usize,
    output: Output,
    between: u32,
    blank: u32,
    /// The line with which the output began.
    first: String,
    /// Number of entries of the machine before this output.
    entries: usize,
    /// The command's wrappers, such as `taskset -c 0`.
    under: Option<String>,
    /// The comment above the command.
    note: Option<String>,
    /// The number of threads, according to the text above the output.
    threads: Option<u64>,
}

/// Reads texts one after the other.
#[derive(Default)]
pub struct Importer {
    sections: Sections,
    texts: Vec<Text>,
    text: String,
    /// The open output, boxed because it is moved out and back for each line.
    open: Option<Box<Open>>,
    command: Option<Command>,
    /// Tools whose output has already followed the command: each tool's index in the list, and the number of the section that contains its
    /// output.
    used: BTreeSet<(usize, usize)>,
    command_goes_on: bool,
    /// The directory of the last prompt or `cd`; empty if unknown.
    folder: String,
    /// Whether the previous line began a code block.
    begins_fence: bool,
    /// The last comment in this block of code.
    note: Option<String>,
    /// The number of threads, according to the text above; 0 for one thread per CPU.
    threads: Option<u64>,
    /// The last heading.
    heading: String,
    /// How to read tables of results, and the head of the current table.
    tables: Vec<Table>,
    table_head: Vec<String>,
    /// The first cell of the last row whose first cell is not empty.
    first_cell: String,
    /// The number of rows with numbers that were not read.
    rows: u64,
    /// Labels that the user sets for all results.
    settings: Vec<Setting>,
    not_understood: NotUnderstood,
    lines: u64,
    /// Results, facts and outputs of all machines.
    entries: usize,
    error: Option<Error>,
}

impl Importer {
    /// An importer that has not read anything yet.
    pub fn new(split: Split) -> Self {
        Self { sections: Sections::new(split), ..Self::default() }
    }

    /// Also reads tables of results as described by the user.
    pub fn with_tables(self, tables: Vec<Table>) -> Self {
        Self { tables, ..self }
    }

    /// Adds labels to results that lack them in the text.
    pub fn with_settings(self, settings: Vec<Setting>) -> Self {
        Self { settings, ..self }
    }

    /// Reads one text to its end. `name` is its name in origins.
    pub fn read(&mut self, name: &str, source: impl Read) -> io::Result<()> {
        self.text = name.to_owned();
        self.sections.begin_text(name);
        (self.command, self.command_goes_on) = (None, false);
        self.folder.clear();
        let mut bytes = Vec::new();
        if source.take(LONGEST_TEXT + 1).read_to_end(&mut bytes)? as u64 > LONGEST_TEXT {
            return Err(archive::too_long());
        }
        let bytes = archive::unpacked(bytes)?;
        let files = archive::files(&bytes);
        let lines = if !files.is_empty() {
            self.take_whole(ARCHIVE, |sink| {
                for (number, (path, text)) in (1..).zip(&files) {
                    sink.add_file(path.clone(), clean::decode(text), Line { number, text: path });
                }
            });
            files.len() as u64
        } else if dmidecode::is_dump(&bytes) {
            self.take_whole(DUMP, |sink| dmidecode::dump(&bytes, sink));
            1
        } else {
            let text = clean::decode(&bytes);
            let read = clean::lines(&text).inspect(|line| self.line(line));
            let open_end = read.max_by_key(|line| line.number);
            self.close();
            let lines = open_end.as_ref().map_or(0, |last| last.number);
            if open_end.is_some_and(|last| ends_open(&last.text)) && !text.ends_with('\n') {
                self.sections.doubt_last_line(name, lines);
            }
            lines
        };
        self.texts.push(Text { name: name.to_owned(), bytes: bytes.len() as u64, lines });
        Ok(())
    }

    /// Imports a text that consists of the output of a single tool.
    fn take_whole(&mut self, tool: &'static str, read: impl FnOnce(&mut Sink)) {
        let at = self.sections.enter_section(None);
        let section = self.sections.get(at);
        section.draft.begin_output();
        let mut sink = Sink::new(&mut section.draft, tool, &self.text);
        read(&mut sink);
        let taken = sink.taken;
        section.outputs.push(Output { taken, ..output(tool, &self.text, 1, None) });
        self.lines += 1;
    }

    /// Lines in all texts that belong to no output.
    pub fn not_understood(&self) -> &NotUnderstood {
        &self.not_understood
    }

    /// The machines in the texts, in the order of their first output.
    pub fn finish(mut self) -> Result<Vec<Imported>, Error> {
        self.close();
        if let Some(error) = self.error {
            return Err(error);
        }
        if let Some(unused) = self.tables.iter().find(|table| !table.is_used) {
            return Err(Error::UnusedTable(unused.text.clone()));
        }
        let mut sections = self.sections.finish();
        sections.retain(|section| !section.outputs.is_empty());
        if sections.is_empty() {
            return Err(Error::NothingKnown { lines: self.lines, rows: self.rows });
        }
        if sections.iter().all(|section| section.draft.entries() == 0) {
            let outputs = sections.iter().flat_map(|section| &section.outputs);
            return Err(Error::NothingRead { tools: outputs.map(|output| output.tool.clone()).collect() });
        }
        for m in sections.iter_mut().flat_map(|section| &mut section.draft.measurements) {
            self.settings.iter().for_each(|setting| setting.apply(m));
        }
        let (texts, not_understood) = (&self.texts, &self.not_understood);
        sections.into_iter().map(|section| assemble(section, texts, not_understood)).collect()
    }

    fn line(&mut self, line: &Cleaned) {
        self.lines += u64::from(!line.text.trim().is_empty());
        if self.error.is_some() {
            return;
        }
        let plain = Line { number: line.number, text: &line.text };
        if !matches!(line.kind, Kind::Row | Kind::Ruler) {
            self.table_head.clear();
        }
        if matches!(line.kind, Kind::Row | Kind::Text) && self.sections.divide_at(&line.text) {
            self.close();
            self.command = None;
        }
        if line.kind == Kind::Frame {
            self.note = None;
        }
        let begins_fence =
            std::mem::replace(&mut self.begins_fence, line.kind == Kind::Frame && !line.in_fence);
        let known = match line.kind {
            Kind::Unreadable | Kind::Frame => {
                self.close();
                line.kind == Kind::Frame
            }
            // An output that began with a table's header continues in its rows.
            Kind::Ruler => true,
            // Try the row without its first cell, and then the complete row.
            Kind::Row if self.mapped(plain, line) => true,
            Kind::Row => line.label().is_some_and(|label| self.row(plain, label)) || self.offer(plain, None),
            Kind::Text => {
                self.plain(plain, line.in_fence)
                    || line.in_fence && self.comment(&line.text)
                    || begins_fence && prompts::may_be_command(&line.text) && {
                        self.begin(line.text.trim());
                        true
                    }
            }
        };
        if let Some(label) = crate::scan::doubled_label(&line.text).filter(|_| known) {
            self.error = Some(Error::SideBySide(label.to_owned(), line.number));
        }
        if !known {
            let is_number = |cell: &String| parse_decimal(cell.trim_matches(['*', '`'])).is_some();
            self.rows += u64::from(line.kind == Kind::Row && line.cells.iter().any(is_number));
            let prose = line.kind == Kind::Text && !line.in_fence;
            if self.sections.note_subject(&self.text, plain, prose) {
                self.close();
                self.command = None;
            }
            self.threads = prompts::find_threads(&line.text).filter(|_| prose).or(self.threads);
            self.add_unknown(plain);
        }
    }

    /// Saves a comment in a code block, because it distinguishes the runs below it. Returns whether the line is a comment.
    fn comment(&mut self, text: &str) -> bool {
        let said = ["#", "//"].iter().find_map(|sign| text.trim().strip_prefix(sign)).map(str::trim);
        let said = said.map(|said| said.trim_end_matches([':', '：'])).filter(|said| !said.is_empty());
        if said.is_some() {
            self.note = said.map(|said| quote(said).to_owned());
        }
        said.is_some()
    }

    /// Reads a table row according to the user's descriptions; returns whether one of them applies to the row.
    fn mapped(&mut self, plain: Line, line: &Cleaned) -> bool {
        if self.table_head.is_empty() {
            self.table_head.clone_from(&line.cells);
            self.first_cell.clear();
            return false;
        }
        if let Some(first) = line.cells.first().filter(|first| !first.is_empty()) {
            self.first_cell.clone_from(first);
        }
        let tool = record::import::PUBLISHED_FIGURES;
        let mut taken = false;
        for table in &mut self.tables {
            for cell in table.figures(&self.table_head, &line.cells, &self.first_cell, &self.heading) {
                (taken, table.is_used) = (true, table.is_used || cell.figure.is_ok());
                let section = self.sections.enter_named(cell.machine.as_deref());
                let section = self.sections.get(section);
                let mut sink = Sink::new(&mut section.draft, tool, &self.text);
                let figure = cell.figure.map_err(|why| format!("{:?} is not read: {why}", cell.text));
                published::take(table.metric, figure, plain, &mut sink);
                let taken = sink.taken;
                match section.outputs.last_mut().filter(|last| last.tool == tool && last.text == self.text) {
                    Some(last) => (last.lines.1, last.taken) = (plain.number, last.taken + taken),
                    None => {
                        section
                            .outputs
                            .push(Output { taken, ..output(tool, &self.text, plain.number, None) });
                    }
                }
            }
        }
        taken
    }

    /// Handles a prompt, a command, a heading, or a line of an output; returns whether the line is one of these.
    fn plain(&mut self, line: Line, in_fence: bool) -> bool {
        if std::mem::take(&mut self.command_goes_on) {
            self.go_on(line.text);
            return true;
        }
        match prompts::find_mark(line.text, in_fence) {
            Some(Mark::Prompt { host, folder, command }) => {
                self.close();
                self.sections.note_subject(&self.text, line, false);
                if let Some(host) = host {
                    self.sections.set_host(host);
                }
                self.folder = folder.map_or_else(|| std::mem::take(&mut self.folder), str::to_owned);
                self.begin(command);
            }
            Some(Mark::Command(command)) => {
                self.close();
                self.sections.note_subject(&self.text, line, false);
                self.begin(command);
            }
            // Lines that begin with # may also be output.
            Some(Mark::Heading { level, text: words }) if !self.offer(line, None) => {
                self.close();
                self.command = None;
                self.sections.note_subject(&self.text, line, true);
                self.sections.add_heading(level, words);
                words.clone_into(&mut self.heading);
                self.threads = prompts::find_threads(words);
                if prompts::is_command(words) {
                    self.begin(words);
                }
            }
            Some(Mark::Heading { .. }) => {}
            None => return self.offer(line, None),
        }
        true
    }

    /// Offers a table row without its first cell, which may name a machine; returns whether the row was accepted.
    fn row(&mut self, line: Line, label: &str) -> bool {
        let rest = Line { text: line.text[label.len()..].trim_start(), ..line };
        // The first cell names a machine only if the rest of the row belongs to an output.
        let begins = tools::all().any(|tool| opens(tool, rest, None));
        let open = self.open.as_ref().filter(|_| begins);
        if open.is_some_and(|open| self.sections.moves_to(label, open.section)) {
            self.close();
        }
        if rest.text.is_empty() || !self.offer(rest, Some(label).filter(|_| begins)) {
            return false;
        }
        let Some(open) = &self.open else { return true };
        let by_labels = self.sections.split_by_labels();
        let first =
            self.sections.get(open.section).label.get_or_insert_with(|| (label.to_owned(), line.number));
        if first.0 != label && !by_labels {
            let labels = [first.clone(), (label.to_owned(), line.number)];
            self.error = Some(Error::SeveralMachines(Clash::Labels(labels)));
        }
        true
    }

    /// Sets the command line for the outputs that follow.
    fn begin(&mut self, command: &str) {
        self.used.clear();
        let (text, goes_on) = continued(command);
        self.command_goes_on = goes_on;
        self.sections.set_remote(text);
        let folder = self.folder.clone();
        self.folder = files::folder_after(&folder, text);
        self.command = (!command.is_empty()).then(|| Command { text: text.to_owned(), folder });
    }

    fn go_on(&mut self, text: &str) {
        let (text, goes_on) = continued(text.trim().trim_start_matches("> "));
        if let Some(command) = &mut self.command
            && command.text.len() + text.len() <= LONGEST_COMMAND
        {
            command.text = format!("{} {text}", command.text);
            self.command_goes_on = goes_on;
        }
    }

    /// Offers a line to the reader of the open output, then to every tool; returns whether one of them accepted it.
    fn offer(&mut self, line: Line, label: Option<&str>) -> bool {
        let Some(mut open) = self.open.take() else { return self.open_with(line, label) };
        let fit = self.ask(&mut open, line);
        let blank = fit == Fit::Between && line.text.trim().is_empty();
        match fit {
            Fit::Taken => (open.output.lines.1, open.between, open.blank) = (line.number, 0, 0),
            Fit::Between if blank => open.blank += 1,
            Fit::Between | Fit::Over => open.between += 1,
        }
        let over = fit == Fit::Over || open.blank > MOST_BLANK || open.between > MOST_BETWEEN;
        self.open = Some(open);
        if over {
            self.close();
        }
        fit == Fit::Taken || blank || self.open_with(line, label)
    }

    /// Opens an output that begins with `line`, and closes the previously open output.
    fn open_with(&mut self, line: Line, label: Option<&str>) -> bool {
        if line.text.trim().is_empty() {
            return true;
        }
        for (at, tool) in tools::all().enumerate() {
            let command = self.command.as_ref();
            let fresh = command.filter(|_| self.used.range((at, 0)..(at + 1, 0)).next().is_none());
            // In a table, the rows of several machines are below a single command.
            if !opens(tool, line, fresh) && (label.is_none() || !opens(tool, line, command)) {
                continue;
            }
            self.close();
            let section = self.sections.enter_section(label);
            if self.sections.are_too_many() {
                let what = format!("{MOST_MACHINES} machines, the maximum for one import");
                self.error = Some(Error::TooMuch(what));
                return true;
            }
            let fresh = self.command.as_ref().filter(|_| self.used.insert((at, section)));
            let draft = &mut self.sections.get(section).draft;
            draft.begin_output();
            let mut open = Box::new(Open {
                tool,
                reader: (tool.reader)(fresh),
                section,
                output: output(tool.name, &self.text, line.number, fresh),
                between: 0,
                blank: 0,
                first: quote(line.text).to_owned(),
                entries: draft.entries(),
                under: fresh.and_then(|command| conditions(&command.text)),
                note: self.note.clone(),
                threads: self.threads,
            });
            // If the reader does not accept the line, the line only resembles that tool's output.
            if self.ask(&mut open, line) == Fit::Taken {
                self.open = Some(open);
                return true;
            }
        }
        false
    }

    fn ask(&mut self, open: &mut Open, line: Line) -> Fit {
        #[cfg(test)]
        crate::damaged::look(line);
        let section = self.sections.get(open.section);
        let mut sink = Sink::new(&mut section.draft, open.tool.name, &self.text);
        sink.under.clone_from(&open.under);
        sink.note.clone_from(&open.note);
        sink.threads = open.threads;
        let fit = open.reader.line(line, &mut sink);
        open.output.taken += sink.taken;
        if section.draft.entries() > MOST_ENTRIES {
            self.error = Some(too_many_entries());
        }
        fit
    }

    /// Ends the open output.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let section = self.sections.get(open.section);
        let mut sink = Sink::new(&mut section.draft, open.tool.name, &self.text);
        (sink.under, sink.note, sink.threads) = (open.under.take(), open.note.take(), open.threads);
        open.reader.end(&mut sink);
        open.output.taken += sink.taken;
        open.output.version = section.draft.version.take();
        let (from, to) = open.output.lines;
        if from == to && open.output.taken == 0 && section.draft.entries() == open.entries {
            // An output that consists of a single line without values only resembles that tool's output.
            let line = Line { number: from, text: &open.first };
            return add_example(&mut self.not_understood, &self.text, line);
        }
        section.outputs.push(open.output);
        self.entries += section.draft.entries().saturating_sub(open.entries) + 1;
        if section.draft.entries() + section.outputs.len() > MOST_ENTRIES {
            self.error = Some(too_many_entries());
        } else if self.entries > MOST_ENTRIES_IN_ALL {
            let what = format!("{MOST_ENTRIES_IN_ALL} values, the maximum for one import");
            self.error = Some(Error::TooMuch(what));
        }
    }

    fn add_unknown(&mut self, line: Line) {
        // Brackets around JSON, and separator lines, have no meaning by themselves.
        let text = line.text.trim();
        if text.len() <= LONGEST_BRACKETS && text.bytes().all(|b| b"{}[],; -".contains(&b)) {
            return;
        }
        add_example(&mut self.not_understood, &self.text, line);
    }
}

fn too_many_entries() -> Error {
    Error::TooMuch(format!("{MOST_ENTRIES} values for one machine, the maximum for a record"))
}

/// An output of which only one line has been read.
fn output(tool: &str, text: &str, line: u64, command: Option<&Command>) -> Output {
    Output {
        tool: tool.to_owned(),
        version: None,
        command: command.map(|command| command.text.clone()),
        text: text.to_owned(),
        lines: (line, line),
        taken: 0,
    }
}
