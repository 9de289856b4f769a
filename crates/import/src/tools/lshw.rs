//! lshw: the banks of the memory, as its text, its JSON, XML and HTML and its tables (`-short`, `-businfo`) list them.

use record::machine::MemoryDevice;
use record::text;

use crate::facts;
use crate::line::Line;
use crate::numbers;
use crate::scan;
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};

/// The class of a line that begins a part: `*-bank:19`, `*-memory UNCLAIMED`, of JSON `"id" : "bank:0",`, of XML
/// `<node id="bank:0" claimed="true">`, of HTML `id:  bank:0`.
fn class(text: &str) -> Option<&str> {
    let starts = [("*-", ()), ("\"id\" : \"", ()), ("<node id=\"", ()), ("id:  ", ())];
    let ((), rest) = scan::find_start(&starts, text.trim())?;
    let name = rest.split([':', '"', ' ']).next()?;
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        .then_some(name)
}

/// Key and value of a line: of JSON `"size" : 34359738368,`, of XML `<size units="bytes">34359738368</size>`, of text and HTML
/// `size: 32GiB`, indented.
fn field(line: &str) -> Option<(&str, &str)> {
    let text = line.trim();
    if let Some(rest) = text.strip_prefix('"') {
        let (key, value) = rest.trim_end_matches(',').split_once("\" : ")?;
        return Some((key, value.trim_matches('"')));
    }
    if let Some(rest) = text.strip_prefix('<') {
        let (tag, rest) = rest.split_once('>')?;
        let key = tag.split(' ').next()?;
        return Some((key, rest.strip_suffix('>')?.strip_suffix(key)?.strip_suffix("</")?));
    }
    let (key, value) = text.split_once(": ")?;
    let a_key = key.len() <= 20 && key.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
    (a_key && line.starts_with([' ', '\t'])).then_some((key, facts::strip_comment(value)))
}

/// Where the classes stand below the head of a table.
fn class_column(text: &str) -> Option<usize> {
    let table = scan::begins(text.trim_start(), "H/W path |Bus info ");
    text.find("Class").filter(|_| table && text.ends_with("Description"))
}

/// lshw.
pub(super) const LSHW: Tool = Tool {
    name: "lshw",
    // Whole listings begin with the machine's name, whose lines are not needed.
    opens: |line, _| {
        class(line.text).is_some_and(|name| scan::is_one_of(name, "core|memory|bank|firmware|cache|cpu"))
            || class_column(line.text).is_some()
    },
    reader: |_| Box::new(Listing::default()),
};

#[derive(Default)]
struct Listing {
    bank: Option<MemoryDevice>,
    /// The lines are of all banks together.
    of_all: bool,
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
        if let Some(class) = class(text) {
            self.close(sink);
            self.of_all = class == "memory";
            self.bank = (class == "bank").then(MemoryDevice::default);
            return Fit::Taken;
        }
        let Some((key, value)) = field(line.text) else {
            let frame = text.starts_with('<') || text.trim_matches(['{', '}', '[', ']', ',', ' ']).is_empty();
            return if frame { Fit::Taken } else { Fit::Between };
        };
        if let Some(bank) = &mut self.bank {
            take(bank, key, value, line, sink);
        } else if self.of_all && key == "size" {
            take_all(value, line, sink);
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
fn take_all(value: &str, line: Line, sink: &mut Sink) {
    if let Some(value) = bytes(value) {
        sink.draft.facts.memory = Some(sink.fact("machine.memory_bytes", value, line));
    }
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
        let says = says.trim();
        let (size, description) = says.split_once(' ').unwrap_or((says, ""));
        // An empty slot has no size.
        let description = if bytes(size).is_some() { description } else { says };
        if class == "memory" && ["DIMM", "DDR", "HBM", "RIMM"].iter().any(|word| description.contains(word)) {
            let bank = self.bank.insert(MemoryDevice::default());
            take(bank, "description", description, line, sink);
            take(bank, "size", size, line, sink);
            self.close(sink);
        } else if class == "memory" && description.eq_ignore_ascii_case("system memory") {
            take_all(size, line, sink);
        }
        Fit::Taken
    }

    fn close(&mut self, sink: &mut Sink) {
        let bank = self.bank.take().filter(|bank| *bank != MemoryDevice::default());
        let devices = &mut sink.draft.machine.memory_devices;
        devices.extend(bank.filter(|_| devices.len() < machine::smbios::MAX_DEVICES));
    }
}

/// What a line tells of a bank.
fn take(bank: &mut MemoryDevice, key: &str, value: &str, line: Line, sink: &mut Sink) {
    let at = sink.draft.machine.memory_devices.len();
    let path = |field: &str| format!("machine.memory_devices[{at}].{field}");
    let text = || {
        let text = machine::system::meaningful_name(value);
        text.filter(|text| !scan::is_one_of(text, "[Empty]|[empty]|NO DIMM"))
    };
    match key {
        // `DIMM DDR4 Synchronous Registered (Buffered) 2933 MHz (0.3 ns)`
        "description" => {
            for word in value.split_whitespace().take(4) {
                if scan::is_one_of(word, "DIMM|SODIMM|RIMM|FB-DIMM|Chip") {
                    bank.form = Some(word.to_owned());
                } else if scan::begins(word, "DDR|LPDDR|HBM") {
                    bank.kind = Some(word.to_owned());
                    sink.note(path("kind"), line);
                }
            }
            if let Some((front, _)) = value.split_once(" MHz") {
                let digits = front.rsplit(' ').next().unwrap_or_default();
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
            let bits = numbers::parse_number(value).map(|(bits, _)| bits as u32);
            bank.data_bits = bits.filter(|bits| (1..0xffff).contains(bits));
        }
        "clock" => clock(bank, value, line, &path("rated_mt_s"), sink),
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
fn clock(bank: &mut MemoryDevice, value: &str, line: Line, path: &str, sink: &mut Sink) {
    // JSON and XML have hertz.
    let hz = value.parse::<u64>().ok().filter(|hz| *hz > 100_000);
    let printed = || value.split("MHz").next()?.trim().parse().ok();
    let Some(mhz) = hz.map(|hz| hz / 1_000_000).or_else(printed) else { return };
    let brackets = value.split_once('(').and_then(|(_, ns)| ns.strip_suffix(')'));
    if let Some(period) = brackets.filter(|ns| ns.ends_with("ns")).map(str::to_owned) {
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
    match bank.rated_mt_s {
        Some(rated) => {
            let wrapped = ((u64::from(rated) * 1_000_000) & u64::from(u32::MAX)) / 1_000_000;
            if mhz != u64::from(rated) && mhz != wrapped {
                sink.withhold(path, format!("its description says {rated} MHz, its clock {mhz} MHz"), line);
                bank.rated_mt_s = None;
            }
        }
        // Of a kind that lshw does not know it may be DDR5.
        None if mhz.saturating_add(WRAP) < FASTEST
            && bank.kind.as_ref().is_none_or(|kind| kind.contains("DDR5")) =>
        {
            sink.withhold(path, format!("{mhz} MHz: lshw's clock has 32 bits, too few for DDR5"), line);
        }
        None => bank.rated_mt_s = speed(&mhz.to_string(), path, line, sink),
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
