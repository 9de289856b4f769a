//! lshw: the memory banks, as listed in its text, its JSON and its tables (`-short`, `-businfo`).

use record::text;

use super::memory::{self, Listed};
use crate::facts;
use crate::reading::*;

/// The class in the first line of a part: `*-bank:19`, `*-memory UNCLAIMED`, in JSON `"id" : "bank:0",`.
fn class(text: &str) -> Option<&str> {
    let ((), rest) = scan::find_start(&[("*-", ()), ("\"id\" : \"", ())], text.trim())?;
    rest.split([':', '"', ' ']).next().filter(|name| !name.is_empty())
}

/// The key and value of a line: `"size" : 34359738368,` in JSON, or an indented `size: 32GiB` in text.
fn field(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.trim().strip_prefix('"') {
        let (key, value) = rest.trim_end_matches(',').split_once("\" : ")?;
        return Some((key, value.trim_matches('"')));
    }
    let (key, value) = line.trim().split_once(": ")?;
    let a_key = key.len() <= 20 && key.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
    (a_key && line.starts_with([' ', '\t'])).then_some((key, facts::strip_comment(value)))
}

/// The position of the class column, from the header of a table.
fn class_column(text: &str) -> Option<usize> {
    let table = scan::begins(text.trim_start(), "H/W path |Bus info ");
    text.find("Class").filter(|_| table && text.ends_with("Description"))
}

/// lshw.
pub(super) const LSHW: Tool = Tool {
    name: "lshw",
    // Complete listings begin with the machine's name, followed by lines that are not needed.
    opens: |line, _| {
        class(line.text).is_some_and(|name| scan::is_one_of(name, "core|memory|bank|firmware|cache|cpu"))
            || class_column(line.text).is_some()
    },
    reader: |_| Box::new(Listing::default()),
};

#[derive(Default)]
struct Listing {
    bank: Listed,
    /// The subject of the lines: `bank`, or `memory` for all banks together.
    class: String,
    /// The position of the class in the rows of a table.
    column: Option<usize>,
}

impl Reader for Listing {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if let Some(column) = class_column(line.text) {
            return if self.column.replace(column).is_some() { Fit::Over } else { Fit::Taken };
        }
        if let Some(column) = self.column {
            return self.row(column, line, sink);
        }
        if let Some(class) = class(text) {
            std::mem::take(&mut self.bank).push(sink);
            self.class = class.to_owned();
            return Fit::Taken;
        }
        match field(line.text) {
            Some((key, value)) => self.take(key, value, line, sink),
            None if text.trim_matches(['{', '}', '[', ']', ',', ' ']).is_empty() => {}
            None => return Fit::Between,
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.bank).push(sink);
        machine::smbios::place(&mut sink.draft.machine.memory_devices);
    }
}

impl Listing {
    /// A row of a table: `/0/1000/0   memory   32GiB DIMM DDR4 Synchronous 2933 MHz (0.3 ns)`.
    fn row(&mut self, column: usize, line: Line, sink: &mut Sink) -> Fit {
        if line.text.bytes().all(|b| b"= ".contains(&b)) {
            return Fit::Taken;
        }
        let row = line.text.get(column..).map(|row| row.split_once(' ').unwrap_or((row, "")));
        let is_class = |class: &str| !class.is_empty() && class.bytes().all(|b| b.is_ascii_lowercase());
        let Some((class, says)) = row.filter(|(class, _)| is_class(class)) else { return Fit::Over };
        let says = says.trim();
        let (size, description) = says.split_once(' ').unwrap_or((says, ""));
        // An empty slot has no size.
        let description = if memory::size(size).is_some() { description } else { says };
        let modules =
            ["DIMM", "DDR", "HBM", "RIMM"].iter().any(|word| description.contains(word)) || says == "[empty]";
        if class == "memory" && (modules || description.eq_ignore_ascii_case("system memory")) {
            self.class = if modules { "bank" } else { "memory" }.to_owned();
            self.take("description", description, line, sink);
            self.take("size", size, line, sink);
            std::mem::take(&mut self.bank).push(sink);
        }
        Fit::Taken
    }

    /// Reads the value of a line about one bank or about all banks together.
    fn take(&mut self, key: &str, value: &str, line: Line, sink: &mut Sink) {
        let origin = sink.origin(line);
        match (self.class.as_str(), key) {
            ("memory", "size") => {
                if let Some(bytes) = memory::size(value) {
                    sink.draft.facts.memory = Some(sink.fact("machine.memory_bytes", bytes, line));
                }
            }
            // `DIMM DDR4 Synchronous Registered (Buffered) 2933 MHz (0.3 ns)`
            ("bank", "description") => {
                for word in value.split_whitespace().take(4) {
                    if scan::is_one_of(word, "DIMM|SODIMM|RIMM|FB-DIMM|Chip") {
                        self.bank.set("form", word);
                    } else if scan::begins(word, "DDR|LPDDR|HBM") {
                        self.bank.set("kind", word);
                        self.bank.note("kind", origin.clone());
                    }
                }
                if let Some((front, _)) = value.split_once(" MHz") {
                    let mhz = front.rsplit(' ').next().unwrap_or_default();
                    self.bank.take("rated_mt_s", "speed", &format!("{mhz} MHz"), origin, sink);
                }
            }
            ("bank", "clock") => note_period(value, sink).unwrap_or_default(),
            ("bank", key) => {
                if let Some([.., field, how]) = memory::rows("lshw").find(|row| row[1] == key) {
                    self.bank.take(field, how, value, origin, sink);
                }
            }
            _ => {}
        }
    }
}

/// Notes the meaning of the clock period, which is easily mistaken for a latency. The clock itself is not
/// used as the speed, because lshw stores hertz in 32 bits, which is too few for DDR5.
fn note_period(value: &str, sink: &mut Sink) -> Option<()> {
    let (mhz, rest) = value.split_once("MHz (")?;
    let (mhz, period) = (mhz.trim().to_owned(), rest.strip_suffix(')')?.to_owned());
    let note = text!(
        "lshw-period",
        "{period} in lshw's output is one clock period at the memory's {mhz} MHz, not a latency",
        period,
        mhz
    );
    let notes = &mut sink.draft.machine.notes;
    notes.extend((!notes.contains(&note)).then_some(note));
    Some(())
}

#[cfg(test)]
mod tests;
