//! Counts interrupts on one CPU by summing a column of /proc/interrupts, which is cheap enough to do after each gap.
//! /proc/softirqs has the same format.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};

/// Repeatedly reads one CPU's column of /proc/interrupts or /proc/softirqs.
#[derive(Debug)]
pub struct Interrupts {
    file: File,
    column: usize,
    text: Vec<u8>,
    /// The previous content.
    previous: Vec<u8>,
}

/// Maximum size of /proc/interrupts that is read: 1,024 CPUs × 2,000 lines × 11 characters.
const MOST: u64 = 32 << 20;

impl Interrupts {
    /// The interrupts of `cpu`; `None` if the kernel does not list them.
    pub fn of_cpu(cpu: u32) -> Option<Self> {
        Self::open("/proc/interrupts", cpu)
    }

    /// The softirqs of `cpu`; `None` if the kernel does not list them.
    pub fn softirqs_of_cpu(cpu: u32) -> Option<Self> {
        Self::open("/proc/softirqs", cpu)
    }

    fn open(path: &str, cpu: u32) -> Option<Self> {
        let mut this =
            Self { file: File::open(path).ok()?, column: 0, text: Vec::new(), previous: Vec::new() };
        this.column = column_of(this.fill()?, cpu)?;
        Some(this)
    }

    /// All interrupts of this CPU so far, of any kind.
    pub fn read(&mut self) -> Option<u64> {
        let column = self.column;
        Some(sum_of_column(self.fill()?, column))
    }

    /// The lines that increased between the last two readings, with their increases. Examples of names: `45
    /// eth0-TxRx-3`, `Local timer interrupts`.
    pub fn grown(&self) -> Vec<(String, u64)> {
        let before: BTreeMap<&[u8], u64> =
            lines(&self.previous, self.column).map(|(label, count, _)| (label, count)).collect();
        let grown = lines(&self.text, self.column).filter_map(|(label, count, rest)| {
            let more = count.saturating_sub(before.get(label).copied().unwrap_or(0));
            (more > 0).then(|| (name_of(label, rest), more))
        });
        grown.collect()
    }

    fn fill(&mut self) -> Option<&[u8]> {
        std::mem::swap(&mut self.text, &mut self.previous);
        self.text.clear();
        self.file.rewind().ok()?;
        let length = (&self.file).take(MOST).read_to_end(&mut self.text).ok()? as u64;
        (length < MOST).then_some(&self.text)
    }
}

/// The index of `cpu` in the header line, which lists online CPUs.
fn column_of(text: &[u8], cpu: u32) -> Option<usize> {
    let header = text.split(|b| *b == b'\n').next()?;
    let name = format!("CPU{cpu}");
    header
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .position(|word| word == name.as_bytes())
}

/// The sum of a column over all lines that have it.
fn sum_of_column(text: &[u8], column: usize) -> u64 {
    lines(text, column).fold(0, |sum, (_, count, _)| sum.saturating_add(count))
}

/// The lines that have a column: label, count, and the text after the count. Lines with a single number (ERR, MIS)
/// belong to the whole machine.
fn lines(text: &[u8], column: usize) -> impl Iterator<Item = (&[u8], u64, &[u8])> {
    text.split(|b| *b == b'\n').skip(1).filter_map(move |line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let name = words.next()?;
        if matches!(name, b"ERR:" | b"MIS:" | b"Err:") {
            return None;
        }
        // The CPUs' columns are followed by the controller's name and further words, so only columns that consist of digits are used.
        let word = words.nth(column)?;
        let count = std::str::from_utf8(word).ok()?.parse::<u64>().ok()?;
        let rest = line.get(word.as_ptr() as usize - line.as_ptr() as usize + word.len()..)?;
        Some((name.strip_suffix(b":").unwrap_or(name), count, rest))
    })
}

/// An interrupt's number and its device, which is the last word. For an interrupt without a number, this is its
/// description.
fn name_of(label: &[u8], rest: &[u8]) -> String {
    let (label, rest) = (String::from_utf8_lossy(label), String::from_utf8_lossy(rest));
    let words: Vec<&str> =
        rest.split_ascii_whitespace().skip_while(|word| word.parse::<u64>().is_ok()).collect();
    match (label.parse::<u32>().is_ok(), words.last()) {
        (true, Some(device)) => format!("{label} {device}"),
        (false, Some(_)) => words.join(" "),
        (_, None) => label.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &[u8] =
        b"            CPU0       CPU2\n   0:         10          0   IO-APIC   2-edge      timer\n \
        LOC:        100        200   Local timer interrupts\n ERR:          7\n MIS:          0\n";

    #[test]
    fn the_column_is_found_by_the_header_and_summed() {
        assert_eq!(column_of(TEXT, 2), Some(1));
        assert_eq!(column_of(TEXT, 1), None);
        assert_eq!(sum_of_column(TEXT, 0), 110);
        assert_eq!(sum_of_column(TEXT, 1), 200);
    }

    #[test]
    fn what_grew_is_named_by_its_device() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut write = |text: &str| std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let lines = |eth: u32, timer: u32| {
            format!(
                "        CPU0  CPU1\n 45:  7  {eth}  IR-PCI-MSI 524288-edge  eth0-TxRx-3\n LOC:  9  {timer}  Local timer interrupts\n"
            )
        };
        write(&lines(10, 20));
        let mut interrupts = Interrupts::open(file.path().to_str().unwrap(), 1).unwrap();
        file.as_file().set_len(0).unwrap();
        std::fs::write(file.path(), lines(12, 21)).unwrap();
        assert_eq!(interrupts.read(), Some(33));
        let grown = [("45 eth0-TxRx-3".to_owned(), 2), ("Local timer interrupts".to_owned(), 1)];
        assert_eq!(interrupts.grown(), grown);
        interrupts.read();
        assert_eq!(interrupts.grown(), []);
    }

    #[test]
    fn this_machines_count_never_falls() {
        let Some(cpu) = os::current_cpu() else { return };
        // Under user-mode emulation, the file is that of the host, or does not exist.
        let Some(mut interrupts) = Interrupts::of_cpu(cpu) else { return };
        let first = interrupts.read().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(interrupts.read().unwrap() >= first);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..300), column in 0usize..5) {
            let _ = column_of(&text, column as u32);
            let _ = sum_of_column(&text, column);
        }
    }
}
