//! The way of each line of a text: to the reader whose output it stands in, to a tool whose output it begins, or to those
//! that nobody understands.

use std::collections::BTreeSet;
use std::io::{self, Read};

use record::command_line::conditions;
use record::import::{NotUnderstood, Output, Text};

use crate::assemble::{Imported, assemble};
use crate::clean::{Cleaned, Kind, Lines};
use crate::devices;
use crate::error::{Clash, Error};
use crate::limits::{MOST_ENTRIES, MOST_ENTRIES_IN_ALL};
use crate::line::{Line, continued, ends_open, quote};
use crate::prompts::{self, Mark};
use crate::sections::{Section, Sections, add_example};
use crate::sink::Sink;
use crate::split::Split;
use crate::tool::{Command, Fit, Reader, Tool};
use crate::tools::{TOOLS, dmidecode};

/// Lines that may lie between two lines of an output and are none of it, blank ones apart.
const MOST_BETWEEN: u32 = 6;

/// Blank lines that may lie between two lines of an output.
const MOST_BLANK: u32 = 12;

/// Brackets that stand on one line.
const LONGEST_BRACKETS: usize = 8;

/// The longest command line that is put together of several lines.
const LONGEST_COMMAND: usize = 16 << 10;

/// An output that is being read.
struct Open {
    tool: &'static Tool,
    reader: Box<dyn Reader>,
    section: usize,
    output: Output,
    between: u32,
    blank: u32,
    devices: devices::Before,
    /// The line that began it.
    first: String,
    /// Entries of its machine before it.
    entries: usize,
    /// What its command was run under.
    under: Option<String>,
}

/// Texts that are being read, one after the other.
#[derive(Default)]
pub struct Importer {
    sections: Sections,
    texts: Vec<Text>,
    text: String,
    /// Boxed: it is taken and put back for each line.
    open: Option<Box<Open>>,
    command: Option<Command>,
    /// The tools whose output has followed the command, by their place in the list, each with the part that it is of.
    used: BTreeSet<(usize, usize)>,
    command_goes_on: bool,
    not_understood: NotUnderstood,
    lines: u64,
    /// Figures, facts and outputs of all machines.
    entries: usize,
    error: Option<Error>,
}

impl Importer {
    /// Nothing read yet.
    pub fn new(split: Split) -> Self {
        Self { sections: Sections::new(split), ..Self::default() }
    }

    /// Reads one text to its end. `name` is how origins call it.
    pub fn read(&mut self, name: &str, mut source: impl Read) -> io::Result<()> {
        self.text = name.to_owned();
        self.sections.begin_text(name);
        self.command = None;
        self.command_goes_on = false;
        let mut head = Vec::new();
        source.by_ref().take(dmidecode::DUMP_MARK).read_to_end(&mut head)?;
        let head = head.as_slice();
        if dmidecode::is_dump(head) {
            return self.dump(name, head, source);
        }
        let mut open_end = false;
        let mut lines = Lines::new(head.chain(source))?;
        let result = loop {
            match lines.next_line() {
                Ok(Some(line)) => {
                    self.line(&line);
                    open_end = ends_open(&line.text);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.close();
        if open_end && lines.unfinished() {
            self.sections.doubt_last_line(name, lines.count());
        }
        self.texts.push(Text { name: name.to_owned(), bytes: lines.bytes(), lines: lines.count() });
        result
    }

    /// The table that `dmidecode --dump-bin` wrote.
    fn dump(&mut self, name: &str, head: &[u8], source: impl Read) -> io::Result<()> {
        let mut table = head.to_vec();
        source.take(dmidecode::LONGEST_DUMP as u64).read_to_end(&mut table)?;
        let at = self.sections.enter_section(None);
        let section = self.sections.get(at);
        let mut sink = Sink::new(&mut section.draft, "dmidecode --dump-bin", &self.text);
        let before = devices::Before::of(sink.draft);
        dmidecode::dump(&table, &mut sink);
        let taken = sink.taken;
        devices::merge(&mut section.draft, before);
        section.outputs.push(Output {
            tool: "dmidecode --dump-bin".to_owned(),
            version: None,
            command: None,
            text: self.text.clone(),
            lines: (1, 1),
            taken,
        });
        self.lines += 1;
        self.texts.push(Text { name: name.to_owned(), bytes: table.len() as u64, lines: 1 });
        Ok(())
    }

    /// Lines that belong to no output, over all texts.
    pub fn not_understood(&self) -> &NotUnderstood {
        &self.not_understood
    }

    /// The machines that the texts told of, in the order of their first output.
    pub fn finish(mut self) -> Result<Vec<Imported>, Error> {
        self.close();
        if let Some(error) = self.error {
            return Err(error);
        }
        let has_outputs = |section: &Section| !section.outputs.is_empty();
        let sections: Vec<Section> = self.sections.finish().into_iter().filter(has_outputs).collect();
        if sections.is_empty() {
            return Err(Error::NothingKnown { lines: self.lines });
        }
        if sections.iter().all(|section| section.draft.entries() == 0) {
            let outputs = sections.iter().flat_map(|section| &section.outputs);
            return Err(Error::NothingRead { tools: outputs.map(|output| output.tool.clone()).collect() });
        }
        let (texts, not_understood) = (&self.texts, &self.not_understood);
        sections.into_iter().map(|section| assemble(section, texts, not_understood)).collect()
    }

    fn line(&mut self, line: &Cleaned) {
        if !line.text.trim().is_empty() {
            self.lines += 1;
        }
        if self.error.is_some() {
            return;
        }
        match line.kind {
            Kind::Unreadable => {
                self.close();
                self.add_unknown(Line { number: line.number, text: &line.text });
            }
            Kind::Frame => self.close(),
            // What a table's head began goes on in its rows.
            Kind::Ruler => {}
            Kind::Row => self.row(line),
            Kind::Text => {
                if self.sections.divide_at(&line.text) {
                    self.close();
                    self.command = None;
                }
                self.plain(line);
            }
        }
    }

    fn plain(&mut self, line: &Cleaned) {
        let text = line.text.as_str();
        if std::mem::take(&mut self.command_goes_on) {
            self.go_on(text);
            return;
        }
        let plain = Line { number: line.number, text };
        match prompts::find_mark(text, line.in_fence) {
            Some(Mark::Prompt { host, command }) => {
                self.close();
                if let Some(host) = host {
                    self.sections.set_host(host);
                }
                self.begin(command, line.number);
            }
            Some(Mark::Command(command)) => {
                self.close();
                self.begin(command, line.number);
            }
            // Tools print lines that begin with # too.
            Some(Mark::Heading { level, text: words }) => {
                if !self.offer(plain, None) {
                    self.close();
                    self.command = None;
                    self.sections.add_heading(level, words);
                    if prompts::is_command(words) {
                        self.begin(words, line.number);
                    }
                }
            }
            None => {
                if !self.offer(plain, None) {
                    self.add_unknown(plain);
                }
            }
        }
    }

    /// A row of a table: first as it stands, then without its first cell.
    fn row(&mut self, line: &Cleaned) {
        if self.sections.divide_at(&line.text) {
            self.close();
            self.command = None;
        }
        let whole = Line { number: line.number, text: &line.text };
        let taken = match line.label() {
            Some(label) => {
                let rest = line.text.get(label.len()..).unwrap_or_default().trim_start();
                self.row_of(Line { number: line.number, text: rest }, label) || self.offer(whole, None)
            }
            None => self.offer(whole, None),
        };
        if !taken {
            self.add_unknown(whole);
        }
    }

    fn row_of(&mut self, rest: Line, label: &str) -> bool {
        if rest.text.is_empty() {
            return false;
        }
        // Only a row that some output has may name a machine.
        let begins = TOOLS.iter().any(|tool| opens(tool, rest, None));
        let moves = begins
            && self.open.as_ref().is_some_and(|open| self.sections.moves_to(Some(label), open.section));
        if moves {
            self.close();
        }
        if !self.offer(rest, Some(label).filter(|_| begins)) {
            return false;
        }
        let Some(open) = &self.open else { return true };
        let by_labels = self.sections.split_by_labels();
        let section = self.sections.get(open.section);
        match &section.label {
            Some((first, number)) if first != label && !by_labels => {
                let labels = [(first.clone(), *number), (label.to_owned(), rest.number)];
                self.error = Some(Error::SeveralMachines(Clash::Labels(labels)));
            }
            Some(_) => {}
            None => section.label = Some((label.to_owned(), rest.number)),
        }
        true
    }

    /// A command line: the outputs that follow are its.
    fn begin(&mut self, command: &str, number: u64) {
        self.used.clear();
        self.command = None;
        if command.is_empty() {
            return;
        }
        let (text, goes_on) = continued(command);
        self.command_goes_on = goes_on;
        self.command = Some(Command { text: text.to_owned(), line: number });
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

    /// Offers a line to the reader of the open output, then to every tool; whether somebody took it.
    fn offer(&mut self, line: Line, label: Option<&str>) -> bool {
        let Some(mut open) = self.open.take() else { return self.open_with(line, label) };
        let fit = self.ask(&mut open, line);
        let blank = fit == Fit::Between && line.text.trim().is_empty();
        match fit {
            Fit::Taken => open.taken(line.number),
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

    /// Opens an output that `line` begins; an output that was open ends there.
    fn open_with(&mut self, line: Line, label: Option<&str>) -> bool {
        if line.text.trim().is_empty() {
            return true;
        }
        for (at, tool) in TOOLS.iter().enumerate() {
            let fresh =
                self.command.as_ref().filter(|_| self.used.range((at, 0)..(at + 1, 0)).next().is_none());
            // In a table the rows of several machines stand below one command.
            let opens =
                opens(tool, line, fresh) || label.is_some() && opens(tool, line, self.command.as_ref());
            if !opens {
                continue;
            }
            self.close();
            let section = self.sections.enter_section(label);
            if self.sections.are_too_many() {
                self.error = Some(Error::TooManyMachines);
                return true;
            }
            let fresh = self.command.clone().filter(|_| !self.used.contains(&(at, section)));
            let output = Output {
                tool: tool.name.to_owned(),
                version: None,
                command: fresh.as_ref().map(|command| command.text.clone()),
                text: self.text.clone(),
                lines: (line.number, line.number),
                taken: 0,
            };
            let under = fresh.as_ref().and_then(|command| conditions(&command.text));
            let reader = (tool.reader)(fresh.as_ref());
            if self.command.is_some() {
                self.used.insert((at, section));
            }
            let draft = &mut self.sections.get(section).draft;
            draft.version = None;
            let (devices, entries) = (devices::Before::of(draft), draft.entries());
            let (between, blank, first) = (0, 0, quote(line.text).to_owned());
            let mut open = Box::new(Open {
                tool,
                reader,
                section,
                output,
                between,
                blank,
                devices,
                first,
                entries,
                under,
            });
            // It looked like that tool's and is not.
            if self.ask(&mut open, line) != Fit::Taken {
                continue;
            }
            self.open = Some(open);
            return true;
        }
        false
    }

    fn ask(&mut self, open: &mut Open, line: Line) -> Fit {
        #[cfg(test)]
        crate::damaged::look(line);
        let section = self.sections.get(open.section);
        let mut sink = Sink::new(&mut section.draft, open.tool.name, &self.text);
        sink.under.clone_from(&open.under);
        let fit = open.reader.line(line, &mut sink);
        open.output.taken += sink.taken;
        if section.draft.entries() > MOST_ENTRIES {
            self.error = Some(Error::TooManyEntries);
        }
        fit
    }

    /// Ends the open output.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let section = self.sections.get(open.section);
        let mut sink = Sink::new(&mut section.draft, open.tool.name, &self.text);
        sink.under = open.under.take();
        open.reader.end(&mut sink);
        open.output.taken += sink.taken;
        devices::merge(&mut section.draft, open.devices);
        open.output.version = section.draft.version.take();
        let (from, to) = open.output.lines;
        if from == to && open.output.taken == 0 && section.draft.entries() == open.entries {
            // One line that tells nothing only looks like that tool's.
            let text = open.first;
            self.add_unknown_of(open.section, Line { number: from, text: &text });
            return;
        }
        section.outputs.push(open.output);
        self.entries += section.draft.entries().saturating_sub(open.entries) + 1;
        if section.draft.entries() + section.outputs.len() > MOST_ENTRIES {
            self.error = Some(Error::TooManyEntries);
        } else if self.entries > MOST_ENTRIES_IN_ALL {
            self.error = Some(Error::TooManyEntriesInAll);
        }
    }

    fn add_unknown(&mut self, line: Line) {
        // Brackets around JSON and rulers say nothing themselves.
        let text = line.text.trim();
        if text.len() <= LONGEST_BRACKETS && text.bytes().all(|b| b"{}[],; -".contains(&b)) {
            return;
        }
        match &self.open {
            Some(open) => {
                let section = open.section;
                self.add_unknown_of(section, line);
            }
            None => add_example(&mut self.not_understood, &self.text, line),
        }
    }

    fn add_unknown_of(&mut self, section: usize, line: Line) {
        add_example(&mut self.sections.get(section).not_understood, &self.text, line);
        add_example(&mut self.not_understood, &self.text, line);
    }
}

/// Whether a line is the first of a tool's output.
fn opens(tool: &Tool, line: Line, command: Option<&Command>) -> bool {
    #[cfg(test)]
    crate::damaged::look(line);
    (tool.opens)(line, command)
}

impl Open {
    fn taken(&mut self, line: u64) {
        self.output.lines.1 = line;
        self.between = 0;
        self.blank = 0;
    }
}
