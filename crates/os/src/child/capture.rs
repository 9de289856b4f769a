//! A child's captured output, which is read without blocking, limited in size, and counted completely.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// One stream of a child.
#[derive(Debug)]
pub(crate) struct Captured {
    /// `None` once its other end is closed.
    pipe: Option<File>,
    first: Vec<u8>,
    last: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl Captured {
    /// Reads from the non-blocking `pipe` and captures up to `limit` bytes.
    pub(crate) fn new(pipe: OwnedFd, limit: usize) -> Self {
        Self {
            pipe: Some(File::from(pipe)),
            first: Vec::new(),
            last: VecDeque::new(),
            half: limit.div_ceil(2),
            total: 0,
        }
    }

    /// The pipe; `None` after the end of the data.
    pub(crate) fn fd(&self) -> Option<RawFd> {
        self.pipe.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Reads the available data, at most a few MiB, so that a child with endless output does not block this process.
    pub(crate) fn drain(&mut self) {
        let mut buffer = [0u8; 65_536];
        for _ in 0..64 {
            let Some(pipe) = self.pipe.as_mut() else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.keep(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        // Only the part of this data that may be among the last bytes is stored.
        self.last.extend(&rest[rest.len().saturating_sub(self.half)..]);
        let excess = self.last.len().saturating_sub(self.half);
        self.last.drain(..excess);
    }

    /// The captured text. If bytes in the middle were omitted, a line there states how many.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.first);
        let last = std::mem::take(&mut self.last);
        let missing = self.total - all.len() as u64 - last.len() as u64;
        if missing > 0 {
            all.extend_from_slice(format!("\n[{missing} bytes omitted]\n").as_bytes());
        }
        all.extend(last);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(limit: usize, parts: &[Vec<u8>]) -> (Vec<u8>, u64) {
        let null = File::open("/dev/null").unwrap();
        let mut captured = Captured::new(null.into(), limit);
        parts.iter().for_each(|part| captured.keep(part));
        (captured.take(), captured.total)
    }

    #[test]
    fn both_ends_of_a_long_output_stay_and_the_gap_is_reported() {
        let (text, total) = kept(8, &[b"abcdefgh".to_vec(), b"ijklmnop".to_vec()]);
        assert_eq!((text.as_slice(), total), (&b"abcd\n[8 bytes omitted]\nmnop"[..], 16));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_below_the_limit(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..8),
        ) {
            let whole = parts.concat();
            prop_assert_eq!(kept(400, &parts), (whole.clone(), whole.len() as u64));
        }

        #[test]
        fn no_more_is_kept_than_allowed(
            limit in 0usize..60,
            parts in proptest::collection::vec(proptest::collection::vec(1u8..9, 0..90), 0..8),
        ) {
            let (text, _) = kept(limit, &parts);
            // Bytes below 9 are output; the inserted line contains none of them except its line ends.
            prop_assert!(text.iter().filter(|byte| **byte < 9).count() <= limit + 1);
        }
    }
}
