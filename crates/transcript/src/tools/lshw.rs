//! `lshw -class memory`: the banks of the memory, as its text lists them.

use record::machine::MemoryDevice;

use super::{Command, Fit, Line, Reader, Tool};
use crate::facts;
use crate::sink::Sink;

/// lshw.
pub struct Lshw;

/// The class of `*-bank:19` or `*-memory UNCLAIMED`.
fn class(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix("*-")?;
    let name = rest.split_whitespace().next()?;
    let name = name.split(':').next().unwrap_or(name);
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        .then_some(name)
}

impl Tool for Lshw {
    fn name(&self) -> &'static str {
        "lshw"
    }

    fn opens(&self, line: Line, _: Option<&Command>) -> bool {
        // Whole listings begin with the machine's name, whose lines are not needed.
        const KNOWN: &[&str] = &["core", "memory", "bank", "firmware", "cache", "cpu"];
        class(line.text).is_some_and(|name| KNOWN.contains(&name))
    }

    fn reader(&self, _: Option<&Command>) -> Box<dyn Reader> {
        Box::new(Listing { bank: None, in_bank: false })
    }
}

struct Listing {
    bank: Option<(MemoryDevice, usize)>,
    in_bank: bool,
}

impl Reader for Listing {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        if line.text.trim().is_empty() {
            return Fit::Between;
        }
        if let Some(class) = class(line.text) {
            self.close(sink);
            self.in_bank = class == "bank";
            if self.in_bank {
                self.bank = Some((MemoryDevice::default(), sink.draft.machine.memory_devices.len()));
            }
            return Fit::Taken;
        }
        let text = line.text.trim();
        let Some((key, value)) = text.split_once(": ") else { return Fit::Between };
        let a_key = key.len() <= 20 && key.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
        if !a_key || !line.text.starts_with([' ', '\t']) {
            return Fit::Between;
        }
        if let Some((bank, at)) = &mut self.bank {
            let path = |field: &str| format!("machine.memory_devices[{at}].{field}");
            field(bank, key, facts::without_comment(value), line, &path, sink);
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        self.close(sink);
        machine::smbios::place(&mut sink.draft.machine.memory_devices);
    }
}

impl Listing {
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
        machine::system::told(value)
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
                        sink.told(&path("kind"), line);
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
            sink.told(&path("locator"), line);
        }
        "size" => {
            bank.bytes = facts::size(value).map(|(bytes, _)| bytes).filter(|bytes| *bytes > 0);
            sink.told(&path("bytes"), line);
        }
        "width" => {
            bank.data_bits =
                facts::number(value).map(|(bits, _)| bits as u32).filter(|bits| (1..0xffff).contains(bits))
        }
        "clock" => {
            if let Some(digits) = value.split("MHz").next() {
                speed(bank, digits, line, path, sink);
            }
        }
        _ => {}
    }
}

/// lshw prints the speed that the device is made for, and calls its unit MHz as old firmware did.
fn speed(bank: &mut MemoryDevice, digits: &str, line: Line, path: &dyn Fn(&str) -> String, sink: &mut Sink) {
    match digits.trim().parse::<u32>() {
        Ok(mt_s) if mt_s != 32_768 && (10..=40_000).contains(&mt_s) => {
            bank.rated_mt_s = Some(mt_s);
            sink.told(&path("rated_mt_s"), line);
        }
        Ok(mt_s) => {
            sink.withhold(&path("rated_mt_s"), format!("{mt_s} MT/s is not a speed that memory has"), line);
        }
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests;
