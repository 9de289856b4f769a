//! The way of each line of a text: to the reader whose output it stands in, to a tool whose output it begins, or to those
//! that nobody understands.

use std::collections::BTreeMap;
use std::io::{self, Read};

use record::import::{NotUnderstood, Origin, Output, Text};

use crate::assemble::{Imported, assemble};
use crate::clean::{Cleaned, Kind, Lines};
use crate::devices;
use crate::parts::{Part, Parts, Split};
use crate::refusal::{self, Refusal};
use crate::session::{self, Mark};
use crate::sink::{Sink, said};
use crate::tools::{Command, Fit, Line, Reader, TOOLS, Tool, dmidecode};

/// Lines that nobody understands of which the record keeps the text.
pub const MOST_EXAMPLES: usize = 500;

/// Lines that may lie between two lines of an output and are none of it, blank ones apart.
const MOST_BETWEEN: u32 = 6;

/// Blank lines that may lie between two lines of an output.
const MOST_BLANK: u32 = 12;

/// Lines that one broken line may have become.
const MOST_JOINED: u32 = 4;

/// Brackets that stand on one line.
const LONGEST_BRACKETS: usize = 8;

/// The longest command line that is put together of several lines.
const LONGEST_COMMAND: usize = 16 << 10;

/// An output that is being read.
struct Open {
    tool: &'static dyn Tool,
    reader: Box<dyn Reader>,
    part: usize,
    output: Output,
    between: u32,
    blank: u32,
    /// The beginning of a broken line, its number, and of how many lines it consists.
    broken: Option<(String, u64, u32)>,
    devices: devices::Before,
    /// Entries of its machine before it.
    entries: usize,
}

/// The tools whose output has followed the command, by their place in the list.
#[derive(Default)]
struct Used {
    /// A bit each.
    of_any: u32,
    /// With the part that the output is of: a bit each, by part.
    of_part: BTreeMap<usize, u32>,
}

/// Texts that are being read, one after the other.
pub struct Transcript {
    parts: Parts,
    tools: &'static [&'static dyn Tool],
    texts: Vec<Text>,
    text: String,
    /// Boxed: it is taken and put back for each line.
    open: Option<Box<Open>>,
    command: Option<Command>,
    used: Used,
    command_goes_on: bool,
    not_understood: NotUnderstood,
    lines: u64,
    /// Figures, facts and outputs of all machines.
    entries: usize,
    refusal: Option<Refusal>,
}

impl Transcript {
    /// Nothing read yet.
    pub fn new(split: Split) -> Self {
        Self::with_tools(split, TOOLS)
    }

    pub(crate) fn with_tools(split: Split, tools: &'static [&'static dyn Tool]) -> Self {
        Self {
            parts: Parts::new(split),
            tools,
            texts: Vec::new(),
            text: String::new(),
            open: None,
            command: None,
            used: Used::default(),
            command_goes_on: false,
            not_understood: NotUnderstood::default(),
            lines: 0,
            entries: 0,
            refusal: None,
        }
    }

    /// Reads one text to its end. `name` is how origins call it.
    pub fn read(&mut self, name: &str, source: impl Read) -> io::Result<()> {
        self.text = name.to_owned();
        self.parts.text(name);
        self.command = None;
        self.command_goes_on = false;
        let mut source = source;
        let mut head = [0; 5];
        let filled = fill(&mut source, &mut head)?;
        let head = &head[..filled];
        if dmidecode::is_dump(head) {
            return self.dump(name, head, source);
        }
        let mut open_end = false;
        let mut lines = Lines::new(head.chain(source));
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
            self.parts.end_within(name, lines.count());
        }
        self.texts.push(Text { name: name.to_owned(), bytes: lines.bytes(), lines: lines.count() });
        result
    }

    /// The table that `dmidecode --dump-bin` wrote.
    fn dump(&mut self, name: &str, head: &[u8], source: impl Read) -> io::Result<()> {
        let mut table = head.to_vec();
        source.take(dmidecode::LONGEST_DUMP as u64).read_to_end(&mut table)?;
        let at = self.parts.here(None);
        let part = self.parts.get(at);
        let mut sink = Sink::new(&mut part.draft, "dmidecode --dump-bin", &self.text);
        let before = devices::Before::of(sink.draft);
        dmidecode::dump(&table, &mut sink);
        let taken = sink.taken;
        devices::merge(&mut part.draft, before);
        part.outputs.push(Output {
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
    pub fn finish(mut self) -> Result<Vec<Imported>, Refusal> {
        self.close();
        if let Some(refusal) = self.refusal {
            return Err(refusal);
        }
        let told = |part: &Part| !part.outputs.is_empty();
        let parts: Vec<Part> = self.parts.finish().into_iter().filter(told).collect();
        if parts.is_empty() {
            return Err(Refusal::Nothing { lines: self.lines });
        }
        if parts.iter().all(|part| part.draft.entries() == 0) {
            let tools = parts.iter().flat_map(|part| &part.outputs).map(|output| output.tool.as_str());
            return Err(Refusal::empty(tools));
        }
        let (texts, not_understood) = (&self.texts, &self.not_understood);
        parts.into_iter().map(|part| assemble(part, texts, not_understood)).collect()
    }

    fn line(&mut self, line: &Cleaned) {
        if !line.text.trim().is_empty() {
            self.lines += 1;
        }
        if self.refusal.is_some() {
            return;
        }
        match line.kind {
            Kind::Unreadable => {
                self.close();
                self.nobodys(Line { number: line.number, text: &line.text });
            }
            Kind::Frame => self.close(),
            Kind::Row => self.row(line),
            Kind::Text => {
                if self.parts.line(&line.text) {
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
        match session::mark(text, line.in_fence) {
            Some(Mark::Prompt { host, command }) => {
                self.close();
                if let Some(host) = host {
                    self.parts.host(host);
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
                    self.parts.heading(level, words);
                    if session::is_command(words) {
                        self.begin(words, line.number);
                    }
                }
            }
            None => {
                if !self.offer(plain, None) {
                    self.nobodys(plain);
                }
            }
        }
    }

    /// A row of a table: first as it stands, then without its first cell.
    fn row(&mut self, line: &Cleaned) {
        if self.parts.line(&line.text) {
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
            self.nobodys(whole);
        }
    }

    fn row_of(&mut self, rest: Line, label: &str) -> bool {
        if rest.text.is_empty() {
            return false;
        }
        // Only a row that some output has may name a machine.
        let begins = self.tools.iter().any(|tool| tool.opens(rest, None));
        let moves =
            begins && self.open.as_ref().is_some_and(|open| self.parts.moves_to(Some(label), open.part));
        if moves {
            self.close();
        }
        if !self.offer(rest, Some(label).filter(|_| begins)) {
            return false;
        }
        let Some(open) = &self.open else { return true };
        let by_labels = self.parts.by_labels();
        let part = self.parts.get(open.part);
        match &part.label {
            Some((first, number)) if first != label && !by_labels => {
                let says = format!(
                    "a table has figures of {first:?} (line {number}) and of {label:?} (line {}): {}",
                    rest.number,
                    crate::parts::WAY_OUT
                );
                self.refusal = Some(Refusal::Several { says });
            }
            Some(_) => {}
            None => part.label = Some((label.to_owned(), rest.number)),
        }
        true
    }

    /// A command line: the outputs that follow are its.
    fn begin(&mut self, command: &str, number: u64) {
        self.used.of_any = 0;
        self.used.of_part.clear();
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
            command.text = format!("{} {text}", command.text).into();
            self.command_goes_on = goes_on;
        }
    }

    /// Offers a line to the reader of the open output, then to every tool; whether somebody took it.
    fn offer(&mut self, line: Line, label: Option<&str>) -> bool {
        let Some(mut open) = self.open.take() else { return self.open_with(line, label) };
        if let Some((beginning, number, lines)) = open.broken.take() {
            // A mail breaks lines at blanks, a terminal wherever its margin is.
            let (front, back) = (beginning.trim_end(), line.text.trim_start());
            let mut unfinished = None;
            for joined in [format!("{front} {back}"), format!("{front}{back}")] {
                match self.ask(&mut open, Line { number, text: &joined }) {
                    Fit::Taken => {
                        open.taken(line.number);
                        self.open = Some(open);
                        return true;
                    }
                    Fit::Unfinished => unfinished = unfinished.or(Some(joined)),
                    Fit::Between | Fit::Over => {}
                }
            }
            if let Some(joined) = unfinished.filter(|_| lines < MOST_JOINED) {
                open.broken = Some((joined, number, lines + 1));
                self.open = Some(open);
                return true;
            }
            self.nobodys_of(open.part, Line { number, text: &beginning });
        }
        match self.ask(&mut open, line) {
            Fit::Taken => {
                open.taken(line.number);
                self.open = Some(open);
                true
            }
            Fit::Unfinished => {
                open.broken = Some((line.text.to_owned(), line.number, 1));
                self.open = Some(open);
                true
            }
            Fit::Between if line.text.trim().is_empty() => {
                open.blank += 1;
                let goes_on = open.blank <= MOST_BLANK;
                self.open = Some(open);
                if !goes_on {
                    self.close();
                }
                true
            }
            Fit::Between => {
                open.between += 1;
                let goes_on = open.between <= MOST_BETWEEN;
                self.open = Some(open);
                if !goes_on {
                    self.close();
                }
                self.open_with(line, label)
            }
            Fit::Over => {
                self.open = Some(open);
                self.close();
                self.open_with(line, label)
            }
        }
    }

    /// Opens an output that `line` begins; an output that was open ends there.
    fn open_with(&mut self, line: Line, label: Option<&str>) -> bool {
        if line.text.trim().is_empty() {
            return true;
        }
        for (at, tool) in self.tools.iter().copied().enumerate() {
            let fresh = self.command.as_ref().filter(|_| self.used.of_any & 1 << at == 0);
            // In a table the rows of several machines stand below one command.
            let opens = tool.opens(line, fresh) || label.is_some() && tool.opens(line, self.command.as_ref());
            if !opens {
                continue;
            }
            self.close();
            let part = self.parts.here(label);
            if self.parts.too_many() {
                self.refusal = Some(Refusal::machines());
                return true;
            }
            let fresh = self
                .command
                .clone()
                .filter(|_| self.used.of_part.get(&part).is_none_or(|tools| tools & 1 << at == 0));
            let output = Output {
                tool: tool.name().to_owned(),
                version: None,
                command: fresh.as_ref().map(|command| command.text.clone()),
                text: self.text.clone(),
                lines: (line.number, line.number),
                taken: 0,
            };
            let reader = tool.reader(fresh.as_ref());
            if self.command.is_some() {
                self.used.of_any |= 1 << at;
                *self.used.of_part.entry(part).or_default() |= 1 << at;
            }
            let draft = &mut self.parts.get(part).draft;
            draft.version = None;
            let (devices, entries) = (devices::Before::of(draft), draft.entries());
            let (between, blank, broken) = (0, 0, None);
            let mut open =
                Box::new(Open { tool, reader, part, output, between, blank, broken, devices, entries });
            match self.ask(&mut open, line) {
                Fit::Taken => {}
                Fit::Unfinished => open.broken = Some((line.text.to_owned(), line.number, 1)),
                // It looked like that tool's and is not.
                Fit::Between | Fit::Over => continue,
            }
            self.open = Some(open);
            return true;
        }
        false
    }

    fn ask(&mut self, open: &mut Open, line: Line) -> Fit {
        let part = self.parts.get(open.part);
        let mut sink = Sink::new(&mut part.draft, open.tool.name(), &self.text);
        let fit = open.reader.line(line, &mut sink);
        open.output.taken += sink.taken;
        if part.draft.entries() > refusal::MOST_ENTRIES {
            self.refusal = Some(Refusal::entries());
        }
        fit
    }

    /// Ends the open output.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        if let Some((beginning, number, _)) = open.broken.take() {
            self.nobodys_of(open.part, Line { number, text: &beginning });
        }
        let part = self.parts.get(open.part);
        let mut sink = Sink::new(&mut part.draft, open.tool.name(), &self.text);
        open.reader.end(&mut sink);
        open.output.taken += sink.taken;
        devices::merge(&mut part.draft, open.devices);
        open.output.version = part.draft.version.take();
        part.outputs.push(open.output);
        self.entries += part.draft.entries().saturating_sub(open.entries) + 1;
        if part.draft.entries() + part.outputs.len() > refusal::MOST_ENTRIES {
            self.refusal = Some(Refusal::entries());
        } else if self.entries > refusal::MOST_IN_ALL {
            self.refusal = Some(Refusal::in_all());
        }
    }

    fn nobodys(&mut self, line: Line) {
        // Brackets around JSON say nothing themselves.
        let text = line.text.trim();
        if text.len() <= LONGEST_BRACKETS && text.bytes().all(|b| b"{}[],; ".contains(&b)) {
            return;
        }
        match &self.open {
            Some(open) => {
                let part = open.part;
                self.nobodys_of(part, line);
            }
            None => count(&mut self.not_understood, &self.text, line),
        }
    }

    fn nobodys_of(&mut self, part: usize, line: Line) {
        count(&mut self.parts.get(part).not_understood, &self.text, line);
        count(&mut self.not_understood, &self.text, line);
    }
}

impl Open {
    fn taken(&mut self, line: u64) {
        self.output.lines.1 = line;
        self.between = 0;
        self.blank = 0;
    }
}

/// Whether a text ends as one does that was cut: within a word or a number.
fn ends_open(text: &str) -> bool {
    match text.as_bytes().last() {
        Some(last) if last.is_ascii() => last.is_ascii_alphanumeric() || *last == b'.',
        _ => text.ends_with(char::is_alphanumeric),
    }
}

/// Fills `bytes` as far as there is something to read; how far.
fn fill(source: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match source.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn count(lines: &mut NotUnderstood, text: &str, line: Line) {
    lines.lines += 1;
    if lines.examples.len() < MOST_EXAMPLES {
        lines.examples.push(Origin {
            tool: String::new(),
            text: text.to_owned(),
            line: line.number,
            says: said(line.text).to_owned(),
        });
    }
}

/// A command line without the backslash by which it goes on in the next line, and whether it does.
fn continued(command: &str) -> (&str, bool) {
    match command.strip_suffix('\\') {
        Some(command) => (command.trim_end(), true),
        None => (command, false),
    }
}
