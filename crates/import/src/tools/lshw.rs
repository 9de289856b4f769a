//! lshw: the banks of the memory, as its text, its JSON, XML and HTML and its tables (`-short`, `-businfo`) list them.

use record::machine::MemoryDevice;
use record::text;

use crate::facts;
use crate::line::Line;
use crate::numbers;
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

/// The class of a line of its XML or its HTML that begins a part: `<node id="bank:0" claimed="true">`, `id:  bank:0`.
fn marked_class(text: &str) -> Option<(&str, Form)> {
    let text = text.trim();
    let (id, form) = match text.strip_prefix("<node id=\"") {
        Some(rest) => (rest.split_once('"')?.0, Form::Xml),
        None => (text.strip_prefix("id:  ")?, Form::Text),
    };
    Some((id.split(':').next().unwrap_or(id), form))
}

/// Key and value of a line of its XML: `<size units="bytes">34359738368</size>`.
fn xml(text: &str) -> Option<(&str, &str)> {
    let (tag, rest) = text.strip_prefix('<')?.split_once('>')?;
    let key = tag.split(' ').next()?;
    Some((key, rest.strip_suffix('>')?.strip_suffix(key)?.strip_suffix("</")?))
}

/// Where the classes stand below the head of a table.
fn class_column(text: &str) -> Option<usize> {
    let head = text.trim_start();
    let table = head.starts_with("H/W path ") || head.starts_with("Bus info ");
    text.find("Class").filter(|_| table && text.ends_with("Description"))
}

/// lshw.
pub(super) const LSHW: Tool = Tool {
    name: "lshw",
    opens,
    reader: |_| Box::new(Listing { bank: None, part: Part::Other, form: Form::Text, column: None }),
};

fn opens(line: Line, _: Option<&Command>) -> bool {
    // Whole listings begin with the machine's name, whose lines are not needed.
    const KNOWN: &[&str] = &["core", "memory", "bank", "firmware", "cache", "cpu"];
    let marked = || marked_class(line.text).map(|(name, _)| name);
    class(line.text)
        .or_else(|| json_class(line.text))
        .or_else(marked)
        .is_some_and(|name| KNOWN.contains(&name))
        || class_column(line.text).is_some()
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
    Xml,
}

struct Listing {
    bank: Option<(MemoryDevice, usize)>,
    part: Part,
    form: Form,
    /// Where the classes of a table's rows stand.
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
        let begun = class(line.text).map(|class| (class, Form::Text)).or_else(|| marked_class(text));
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
        } else if self.form == Form::Xml {
            match xml(text) {
                Some(pair) => pair,
                None => return if text.starts_with('<') { Fit::Taken } else { Fit::Between },
            }
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
    /// A row of a table: `/0/1000/0   memory   32GiB DIMM DDR4 Synchronous 2933 MHz (0.3 ns)`.
    fn row(&mut self, column: usize, line: Line, sink: &mut Sink) -> Fit {
        if line.text.trim().bytes().all(|b| b == b'=') {
            return Fit::Taken;
        }
        let row = line.text.get(column..).map(|row| row.split_once(' ').unwrap_or((row, "")));
        let is_class = |class: &str| !class.is_empty() && class.bytes().all(|b| b.is_ascii_lowercase());
        let Some((class, says)) = row.filter(|(class, _)| is_class(class)) else { return Fit::Over };
        if class != "memory" {
            return Fit::Taken;
        }
        let says = says.trim();
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
            if let Some(at) = value.find(" MHz") {
                let digits = value[..at].rsplit(' ').next().unwrap_or_default();
                bank.rated_mt_s = speed(digits, &path("rated_mt_s"), line, sink);
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
            bank.data_bits = numbers::parse_number(value)
                .map(|(bits, _)| bits as u32)
                .filter(|bits| (1..0xffff).contains(bits))
        }
        "clock" => clock(bank, value, line, path, sink),
        "configured speed" | "configured_speed" | "configuredspeed" => {
            if let Some((digits, _)) = value.split_once("MT/s") {
                bank.configured_mt_s = speed(digits, &path("configured_mt_s"), line, sink);
            }
        }
        _ => {}
    }
}

/// What is lost of a clock that does not fit into 32 bits, MHz.
const WRAP: u64 = 4295;
/// Beyond the fastest memory of DDR5, MT/s.
const FASTEST: u64 = 8900;

/// lshw counts the clock's hertz in 32 bits: 4800 MHz of the description are 505 MHz there.
fn clock(bank: &mut MemoryDevice, value: &str, line: Line, path: &dyn Fn(&str) -> String, sink: &mut Sink) {
    // JSON and XML have hertz.
    let hz = value.parse::<u64>().ok().filter(|hz| *hz > 100_000);
    let Some(mhz) = hz.map(|hz| hz / 1_000_000).or_else(|| value.split("MHz").next()?.trim().parse().ok())
    else {
        return;
    };
    if let Some((_, ns)) = value.split_once('(').filter(|(_, ns)| ns.trim_end().ends_with("ns)")) {
        let period = ns.trim_end().trim_end_matches(')').to_owned();
        let note = text!(
            "lshw-period",
            "lshw's {period} is one period of the memory's {mhz} MHz, no latency",
            period,
            mhz
        );
        if !sink.draft.machine.notes.contains(&note) {
            sink.draft.machine.notes.push(note);
        }
    }
    let path = path("rated_mt_s");
    match bank.rated_mt_s {
        Some(rated) => {
            let wrapped = ((u64::from(rated) * 1_000_000) & u64::from(u32::MAX)) / 1_000_000;
            if mhz != u64::from(rated) && mhz != wrapped {
                sink.withhold(&path, format!("its description says {rated} MHz, its clock {mhz} MHz"), line);
                bank.rated_mt_s = None;
            }
        }
        // Of a kind that lshw does not know it may be DDR5.
        None if mhz.saturating_add(WRAP) < FASTEST
            && bank.kind.as_ref().is_none_or(|kind| kind.contains("DDR5")) =>
        {
            sink.withhold(&path, format!("{mhz} MHz: lshw's clock has 32 bits, too few for DDR5"), line);
        }
        None => bank.rated_mt_s = speed(&mhz.to_string(), &path, line, sink),
    }
}

/// The speed of a device; lshw calls its unit MHz as old firmware did.
fn speed(digits: &str, path: &str, line: Line, sink: &mut Sink) -> Option<u32> {
    let mt_s = digits.trim().parse::<u32>().ok()?;
    if !facts::is_memory_speed(mt_s.into()) {
        sink.withhold(path, format!("{mt_s} MT/s is not a speed that memory has"), line);
        return None;
    }
    sink.note(path, line);
    Some(mt_s)
}

#[cfg(test)]
mod tests;
