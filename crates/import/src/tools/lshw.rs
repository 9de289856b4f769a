//! `lshw -class memory`: the banks of the memory, as its text, its JSON (`-json`) and its short form (`-short`) list them.

use record::machine::MemoryDevice;

use crate::facts;
use crate::line::Line;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

/// The class of `*-bank:19` or `*-memory UNCLAIMED`.
fn class(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix("*-")?;
    let name = rest.split_whitespace().next()?;
    let name = name.split(':').next().unwrap_or(name);
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        .then_some(name)
}

/// Key and value of a line of its JSON, which has a blank before the colon: `"id" : "bank:0",`.
fn json(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.trim().trim_end_matches(',').strip_prefix('"')?.split_once("\" : ")?;
    Some((key, value.trim_matches('"')))
}

/// The class of a line of its JSON that begins a part.
fn json_class(text: &str) -> Option<&str> {
    let (_, id) = json(text).filter(|(key, _)| *key == "id")?;
    Some(id.split(':').next().unwrap_or(id))
}

/// What a row of the short form says of memory: `/0/1000/0   memory   32GiB DIMM DDR4 Synchronous 2933 MHz (0.3 ns)`.
fn short(text: &str) -> Option<&str> {
    let text = text.trim();
    let (path, rest) = text.split_once(char::is_whitespace).filter(|(path, _)| path.starts_with('/'))?;
    let tree = path.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b':'));
    let (class, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    (tree && class == "memory").then(|| rest.trim())
}

fn is_short_head(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("H/W") && words.next() == Some("path") && text.contains("Class")
}

/// lshw.
pub(super) const LSHW: Tool = Tool {
    name: "lshw",
    opens,
    reader: |_| Box::new(Listing { bank: None, part: Part::Other, form: Form::Text }),
};

fn opens(line: Line, _: Option<&Command>) -> bool {
    // Whole listings begin with the machine's name, whose lines are not needed.
    const KNOWN: &[&str] = &["core", "memory", "bank", "firmware", "cache", "cpu"];
    class(line.text).or_else(|| json_class(line.text)).is_some_and(|name| KNOWN.contains(&name))
        || is_short_head(line.text)
}

/// What the lines are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Bank,
    /// All banks together.
    Memory,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Short,
}

struct Listing {
    bank: Option<(MemoryDevice, usize)>,
    part: Part,
    form: Form,
}

impl Reader for Listing {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if is_short_head(text) {
            if self.form == Form::Short {
                return Fit::Over;
            }
            self.form = Form::Short;
            return Fit::Taken;
        }
        if self.form == Form::Short {
            return self.row(text, line, sink);
        }
        let begun = class(line.text).map(|class| (class, Form::Text));
        if let Some((class, form)) = begun.or_else(|| Some((json_class(text)?, Form::Json))) {
            self.close(sink);
            self.form = form;
            self.part = match class {
                "bank" => Part::Bank,
                "memory" => Part::Memory,
                _ => Part::Other,
            };
            if self.part == Part::Bank {
                self.bank = Some((MemoryDevice::default(), sink.draft.machine.memory_devices.len()));
            }
            return Fit::Taken;
        }
        let (key, value) = if self.form == Form::Json {
            if text.trim_matches(['{', '}', '[', ']', ',', ' ']).is_empty() {
                return Fit::Taken;
            }
            let Some(pair) = json(text) else { return Fit::Between };
            pair
        } else {
            let Some((key, value)) = text.split_once(": ") else { return Fit::Between };
            let a_key = key.len() <= 20 && key.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
            if !a_key || !line.text.starts_with([' ', '\t']) {
                return Fit::Between;
            }
            (key, facts::strip_comment(value))
        };
        if let Some((bank, at)) = &mut self.bank {
            let path = |field: &str| format!("machine.memory_devices[{at}].{field}");
            field(bank, key, value, line, &path, sink);
        } else if self.part == Part::Memory && key == "size" {
            all(value, line, sink);
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        self.close(sink);
        machine::smbios::place(&mut sink.draft.machine.memory_devices);
    }
}

/// A size with its unit, or in bytes as JSON has it.
fn bytes(value: &str) -> Option<u64> {
    let bare = || value.parse().ok().filter(|bytes| *bytes < 1 << 60);
    facts::parse_size(value).map(|(bytes, _)| bytes).or_else(bare).filter(|bytes| *bytes > 0)
}

/// How much memory there is in all.
fn all(value: &str, line: Line, sink: &mut Sink) {
    let Some(value) = bytes(value) else { return };
    sink.draft.facts.memory = Some(sink.fact("machine.memory_bytes", value, line));
}

impl Listing {
    /// A row of the short form.
    fn row(&mut self, text: &str, line: Line, sink: &mut Sink) -> Fit {
        if text.bytes().all(|b| b == b'=') {
            return Fit::Taken;
        }
        let Some(says) = short(text) else {
            return if text.starts_with('/') { Fit::Taken } else { Fit::Over };
        };
        let (size, description) = says.split_once(' ').unwrap_or((says, ""));
        // An empty slot has no size.
        let description = if bytes(size).is_some() { description } else { says };
        let is_bank = ["DIMM", "DDR", "HBM", "RIMM"].iter().any(|word| description.contains(word));
        if is_bank {
            let at = sink.draft.machine.memory_devices.len();
            let path = |field: &str| format!("machine.memory_devices[{at}].{field}");
            let mut bank = MemoryDevice::default();
            field(&mut bank, "description", description, line, &path, sink);
            field(&mut bank, "size", size, line, &path, sink);
            self.bank = Some((bank, at));
            self.close(sink);
        } else if description.eq_ignore_ascii_case("system memory") {
            all(size, line, sink);
        }
        Fit::Taken
    }

    fn close(&mut self, sink: &mut Sink) {
        if let Some((bank, _)) = self.bank.take()
            && bank != MemoryDevice::default()
            && sink.draft.machine.memory_devices.len() < machine::smbios::MAX_DEVICES
        {
            sink.draft.machine.memory_devices.push(bank);
        }
    }
}

fn field(
    bank: &mut MemoryDevice,
    key: &str,
    value: &str,
    line: Line,
    path: &dyn Fn(&str) -> String,
    sink: &mut Sink,
) {
    let text = || {
        machine::system::meaningful_name(value)
            .filter(|text| !matches!(text.as_str(), "[Empty]" | "[empty]" | "NO DIMM"))
    };
    match key {
        // `DIMM DDR4 Synchronous Registered (Buffered) 2933 MHz (0.3 ns)`
        "description" => {
            for word in value.split_whitespace().take(4) {
                match word {
                    "DIMM" | "SODIMM" | "RIMM" | "FB-DIMM" | "Chip" => bank.form = Some(word.to_owned()),
                    word if word.starts_with("DDR")
                        || word.starts_with("LPDDR")
                        || word.starts_with("HBM") =>
                    {
                        bank.kind = Some(word.to_owned());
                        sink.note(path("kind"), line);
                    }
                    _ => {}
                }
            }
            // Where a clock stands apart it is the same number.
            if bank.rated_mt_s.is_none()
                && let Some(at) = value.find(" MHz")
            {
                let digits = value[..at].rsplit(' ').next().unwrap_or_default();
                speed(bank, digits, line, path, sink);
            }
        }
        "product" => bank.part = text(),
        "vendor" => bank.vendor = text(),
        "slot" => {
            bank.locator = text();
            sink.note(path("locator"), line);
        }
        "size" => {
            bank.bytes = bytes(value);
            if bank.bytes.is_some() {
                sink.note(path("bytes"), line);
            }
        }
        "width" => {
            bank.data_bits = facts::parse_number(value)
                .map(|(bits, _)| bits as u32)
                .filter(|bits| (1..0xffff).contains(bits))
        }
        "clock" => {
            // JSON has hertz.
            match value.parse::<u64>() {
                Ok(hz) if hz > 100_000 => speed(bank, &(hz / 1_000_000).to_string(), line, path, sink),
                _ => {
                    if let Some(digits) = value.split("MHz").next() {
                        speed(bank, digits, line, path, sink);
                    }
                }
            }
        }
        _ => {}
    }
}

/// lshw prints the speed that the device is made for, and calls its unit MHz as old firmware did.
fn speed(bank: &mut MemoryDevice, digits: &str, line: Line, path: &dyn Fn(&str) -> String, sink: &mut Sink) {
    match digits.trim().parse::<u32>() {
        Ok(mt_s) if facts::is_memory_speed(mt_s.into()) => {
            bank.rated_mt_s = Some(mt_s);
            sink.note(path("rated_mt_s"), line);
        }
        Ok(mt_s) => {
            sink.withhold(&path("rated_mt_s"), format!("{mt_s} MT/s is not a speed that memory has"), line);
        }
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests;
