//! `memory-bound`: flushes a cache line and loads it again. Each load is a full round trip to memory, and nothing can hide its
//! latency.

use kernels::flush::{WORK, available, reload};
use record::{Template, Unavailable, text};

use super::loops::instructions_each;
use super::workload::{Definition, Site, Worker, Workload, WrongResult, iterations_a_round};

/// The workload that this module describes.
pub(crate) struct MemoryBound;

/// Size of the line's page, which is separate so that no other thread's data is near the line.
const PAGE: usize = 4096;

/// The contents of the line, before and after.
const CONTENT: u8 = 0x5a;

impl Workload for MemoryBound {
    fn definition(&self) -> Definition {
        let work = Template::new("work-memory-bound", "cache line flushed and loaded again");
        Definition { bytes: 2 * PAGE as u64, ..Definition::new("memory-bound", work) }
    }

    fn instructions(&self) -> Option<f64> {
        Some(instructions_each(&WORK))
    }

    fn usable(&self) -> Result<(), Unavailable> {
        let why = text!("this CPU cannot flush a cache line in user mode");
        available().then_some(()).ok_or_else(|| why.into())
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        self.usable()?;
        let mut line = Line { memory: vec![CONTENT; 2 * PAGE], iterations: 1 };
        let start = line.start();
        // SAFETY: the line is readable, and the flush is available.
        line.iterations = iterations_a_round(|n| unsafe { reload(start, n) });
        Ok(Box::new(line))
    }
}

struct Line {
    memory: Vec<u8>,
    iterations: u64,
}

impl Line {
    /// A line in the middle of the memory, with at least half a page on either side.
    fn start(&mut self) -> *mut u8 {
        let start = self.memory.as_mut_ptr();
        start.wrapping_add(start.align_offset(64) % 64 + PAGE - 64)
    }
}

impl Worker for Line {
    fn round(&mut self) -> f64 {
        let start = self.start();
        // SAFETY: the line is within the memory; `prepare` checked that the flush is available.
        unsafe { reload(start, self.iterations) };
        self.iterations as f64 * f64::from(WORK.operations)
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        match self.memory.iter().position(|byte| *byte != CONTENT) {
            None => Ok(()),
            Some(at) => Err(WrongResult(text!(
                "a flushed and reloaded byte is {got}, expected {right}",
                got = format!("{:#04x}", self.memory[at]),
                right = format!("{CONTENT:#04x}")
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_changed_is_noticed() {
        let mut line = Line { memory: vec![CONTENT; 2 * PAGE], iterations: 3 };
        if available() {
            assert_eq!(line.round(), 3.0);
        }
        assert_eq!(line.verify(), Ok(()));
        line.memory[PAGE] ^= 1;
        assert_eq!(line.verify().unwrap_err().0.value("got"), Some(&"0x5b".into()));
    }
}
