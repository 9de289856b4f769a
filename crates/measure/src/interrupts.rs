//! How many interrupts one CPU has had, by /proc/interrupts: one column summed, cheap enough to do after each gap.
//! /proc/softirqs has the same form.

use std::fs::File;
use std::io::{Read, Seek};

/// Reads one CPU's column of /proc/interrupts or /proc/softirqs again and again.
#[derive(Debug)]
pub struct Interrupts {
    file: File,
    column: usize,
    text: Vec<u8>,
}

/// The largest /proc/interrupts read: 1,024 CPUs × 2,000 lines × 11 characters.
const MOST: u64 = 32 << 20;

impl Interrupts {
    /// The interrupts of `cpu`; `None` where the kernel does not list them.
    pub fn of_cpu(cpu: u32) -> Option<Self> {
        Self::open("/proc/interrupts", cpu)
    }

    /// The softirqs of `cpu`; `None` where the kernel does not list them.
    pub fn softirqs_of_cpu(cpu: u32) -> Option<Self> {
        Self::open("/proc/softirqs", cpu)
    }

    fn open(path: &str, cpu: u32) -> Option<Self> {
        let mut this = Self { file: File::open(path).ok()?, column: 0, text: Vec::new() };
        this.column = column_of(this.fill()?, cpu)?;
        Some(this)
    }

    /// All interrupts of this CPU so far, of any kind.
    pub fn read(&mut self) -> Option<u64> {
        let column = self.column;
        Some(sum_of_column(self.fill()?, column))
    }

    fn fill(&mut self) -> Option<&[u8]> {
        self.text.clear();
        self.file.rewind().ok()?;
        let length = (&self.file).take(MOST).read_to_end(&mut self.text).ok()? as u64;
        (length < MOST).then_some(&self.text)
    }
}

/// The place of `cpu` in the header line, which lists CPUs online.
fn column_of(text: &[u8], cpu: u32) -> Option<usize> {
    let header = text.split(|b| *b == b'\n').next()?;
    let name = format!("CPU{cpu}");
    header
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .position(|word| word == name.as_bytes())
}

/// The sum of a column over the lines that have it; lines with a single figure (ERR, MIS) are the machine's.
fn sum_of_column(text: &[u8], column: usize) -> u64 {
    let mut sum = 0u64;
    for line in text.split(|b| *b == b'\n').skip(1) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let name = words.next().unwrap_or_default();
        if matches!(name, b"ERR:" | b"MIS:" | b"Err:") {
            continue;
        }
        // Beyond the CPUs' columns come the controller's name and the like: a column of digits only counts.
        let Some(word) = words.nth(column) else { continue };
        if let Some(count) = std::str::from_utf8(word).ok().and_then(|word| word.parse::<u64>().ok()) {
            sum = sum.saturating_add(count);
        }
    }
    sum
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
    fn this_machines_count_never_falls() {
        let Some(cpu) = os::current_cpu() else { return };
        // Under user-mode emulation the file is the host's or absent.
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
