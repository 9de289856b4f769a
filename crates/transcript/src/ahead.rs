//! Lines that another thread cleans, and looks at for prompts and headings, while this one reads those before.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

use crate::clean::{Cleaned, Kind, Lines};
use crate::session;

/// Lines handed over together.
const TOGETHER: usize = 512;

/// So much text in them is enough, too, in bytes.
const ENOUGH: usize = 1 << 17;

/// Batches that may wait.
const WAITING: usize = 4;

/// What is known of the text when all of it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// Whether it ended within the last line, with no line end.
    pub unfinished: bool,
}

/// Lines on their way. Their memory is used again and again.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<(Cleaned, bool)>,
    filled: usize,
}

/// Gives `take` the lines of `source` in their order, each with whether it is a prompt, a command or a heading, and returns
/// the text's extent, up to where it could be read.
pub fn each(source: impl Read + Send, mut take: impl FnMut(&Cleaned, bool)) -> (Extent, io::Result<()>) {
    let mut lines = Lines::new(source);
    if thread::available_parallelism().map_or(1, |cpus| cpus.get()) == 1 {
        let result = loop {
            match lines.next_line() {
                Ok(Some(line)) => take(line, is_marked(line)),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        return (extent(&lines), result);
    }
    thread::scope(|scope| {
        let (full, batches) = mpsc::sync_channel(WAITING);
        let (back, used) = mpsc::channel();
        let cleaner = scope.spawn(move || clean(lines, &full, &used));
        read(&batches, &back, &mut take);
        match cleaner.join() {
            Ok(cleaned) => cleaned,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn clean(
    mut lines: Lines<impl Read>,
    full: &SyncSender<Batch>,
    used: &Receiver<Batch>,
) -> (Extent, io::Result<()>) {
    let mut result = Ok(());
    let mut more = true;
    while more {
        let mut batch = used.try_recv().unwrap_or_default();
        let mut length = 0;
        batch.filled = 0;
        while batch.filled < TOGETHER && length < ENOUGH {
            match lines.next_line() {
                Ok(Some(line)) => {
                    length += line.text.len();
                    batch.add(line);
                }
                Ok(None) => {
                    more = false;
                    break;
                }
                Err(error) => {
                    result = Err(error);
                    more = false;
                    break;
                }
            }
        }
        // Nobody takes it when the reader has panicked, which ends this as well.
        if full.send(batch).is_err() {
            break;
        }
    }
    (extent(&lines), result)
}

fn read(batches: &Receiver<Batch>, back: &Sender<Batch>, take: &mut impl FnMut(&Cleaned, bool)) {
    for batch in batches {
        batch.lines.iter().take(batch.filled).for_each(|(line, marked)| take(line, *marked));
        // At the end nobody needs it any more.
        let _ = back.send(batch);
    }
}

impl Batch {
    fn add(&mut self, line: &Cleaned) {
        match self.lines.get_mut(self.filled) {
            Some((place, marked)) => {
                place.clone_from(line);
                *marked = is_marked(line);
            }
            None => self.lines.push((line.clone(), is_marked(line))),
        }
        self.filled += 1;
    }
}

fn is_marked(line: &Cleaned) -> bool {
    line.kind == Kind::Text && session::mark(&line.text, line.in_fence).is_some()
}

fn extent<R: Read>(lines: &Lines<R>) -> Extent {
    Extent { bytes: lines.bytes(), lines: lines.count(), unfinished: lines.unfinished() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &[u8]) -> (Vec<Cleaned>, Extent) {
        let mut lines = Vec::new();
        let (extent, result) = each(text, |line, _| lines.push(line.clone()));
        result.expect("memory can be read");
        (lines, extent)
    }

    proptest! {
        #[test]
        fn lines_are_those_that_one_thread_cleans(text in "([a-c|`<>& \u{1b}\r座]{0,9}\n){0,2000}[a-c]{0,3}") {
            let mut lines = Lines::new(text.as_bytes());
            let mut expected = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                expected.push(line.clone());
            }
            prop_assert_eq!(all(text.as_bytes()), (expected, extent(&lines)));
        }
    }

    #[test]
    fn what_was_read_before_an_error_is_given() {
        struct Breaks(usize);
        impl Read for Breaks {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 > 9 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                into.fill(b'\n');
                Ok(into.len())
            }
        }
        let mut seen = 0_u64;
        let (extent, result) = each(Breaks(0), |_, _| seen += 1);
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(seen > 0 && seen == extent.lines, "{seen} {extent:?}");
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_reader_that_panics_ends_the_cleaner() {
        let text = "x\n".repeat(1 << 20);
        let mut seen = 0;
        let _ = each(text.as_bytes(), |_, _| {
            seen += 1;
            assert!(seen < 3, "the third");
        });
    }
}
