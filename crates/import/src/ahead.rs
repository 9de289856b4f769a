//! Lines that another thread cleans, and looks at for prompts, headings and the tools that could begin there, while this
//! one reads those before.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::candidates::{Asked, Candidates};
use crate::clean::{Cleaned, Kind, Lines, MAX_LINE};
use crate::session;

/// Lines handed over together.
const TOGETHER: usize = 2048;

/// So much text in them is enough, too, in bytes.
const ENOUGH: usize = 1 << 16;

/// Batches that there are at most: the cleaner is this far ahead. It is much, because a thread that soon sleeps again is
/// woken on the CPU of the one that wakes it, and the two take turns there beside a CPU that has nothing to do. It is not
/// more, because their memory must be had first.
const BATCHES: usize = 32;

/// Batches that go back together, at most [`BATCHES`], so that the cleaner has work for long when it is woken.
const BACK_TOGETHER: usize = 16;

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

/// A line as [`Cleaned`] has it, whose text lies with others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// Its number in the text, from 1.
    pub number: u64,
    /// What it says.
    pub text: &'a str,
    /// The first cell of a table row that has others: what `text` begins with.
    pub label: Option<&'a str>,
    /// What it is.
    pub kind: Kind,
    /// Whether it stands in a code block.
    pub in_fence: bool,
    /// Whether it is a prompt, a command or a heading.
    pub marked: bool,
    /// The tools whose output could begin with it.
    pub asked: Asked,
}

/// Lines on their way. Their memory is used again and again, and their texts lie one behind the other: another CPU
/// fetches them ahead then.
#[derive(Debug, Default)]
struct Batch {
    texts: String,
    lines: Vec<Place>,
}

/// A line of a batch.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: u64,
    /// Where its text ends, and the next begins. A batch ends long before this does not hold it any more.
    end: u32,
    label: Option<u32>,
    kind: Kind,
    in_fence: bool,
    marked: bool,
    asked: Asked,
}

/// Gives `take` the lines of `source` in their order, and returns the text's extent, up to where it could be read.
pub fn each(
    source: impl Read + Send,
    candidates: &Candidates,
    mut take: impl FnMut(Seen),
) -> (Extent, io::Result<()>) {
    let mut lines = Lines::new(source);
    if thread::available_parallelism().map_or(1, |cpus| cpus.get()) == 1 {
        let result = loop {
            match lines.next_line() {
                Ok(Some(line)) => take(seen(line, candidates)),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        return (extent(&lines), result);
    }
    thread::scope(|scope| {
        let (full, batches) = mpsc::channel();
        let (back, used) = mpsc::channel();
        let cleaner = scope.spawn(move || clean(lines, candidates, &full, &used));
        read(&batches, &back, &mut take);
        match cleaner.join() {
            Ok(cleaned) => cleaned,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn clean(
    mut lines: Lines<impl Read>,
    candidates: &Candidates,
    full: &Sender<Batch>,
    used: &Receiver<Vec<Batch>>,
) -> (Extent, io::Result<()>) {
    let mut empty = Empty { made: 0, back: Vec::new(), used };
    let mut result = Ok(());
    let mut more = true;
    while more {
        // None comes back when the reader has panicked, which ends this as well.
        let Some(mut batch) = empty.next() else { break };
        batch.clear();
        while batch.lines.len() < TOGETHER && batch.texts.len() < ENOUGH {
            match lines.next_line() {
                Ok(Some(line)) => batch.add(line, candidates),
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
        if full.send(batch).is_err() {
            break;
        }
    }
    (extent(&lines), result)
}

/// Where the cleaner has batches from.
struct Empty<'a> {
    made: usize,
    back: Vec<Batch>,
    used: &'a Receiver<Vec<Batch>>,
}

impl Empty<'_> {
    /// The next batch to be filled: one that has been read, where there is one, or when there are enough of them.
    fn next(&mut self) -> Option<Batch> {
        if self.back.is_empty() {
            self.back = match self.used.try_recv() {
                Ok(back) => back,
                Err(_) if self.made < BATCHES => {
                    self.made += 1;
                    vec![Batch::default()]
                }
                Err(_) => self.used.recv().ok()?,
            };
        }
        self.back.pop()
    }
}

fn read(batches: &Receiver<Batch>, back: &Sender<Vec<Batch>>, take: &mut impl FnMut(Seen)) {
    let mut read = Vec::new();
    for batch in batches {
        batch.each(&mut *take);
        read.push(batch);
        if read.len() == BACK_TOGETHER {
            // At the end nobody needs them any more.
            let _ = back.send(std::mem::take(&mut read));
        }
    }
}

impl Batch {
    fn clear(&mut self) {
        self.texts.clear();
        self.lines.clear();
    }

    fn add(&mut self, line: &Cleaned, candidates: &Candidates) {
        self.texts.push_str(&line.text);
        self.lines.push(Place {
            number: line.number,
            end: short(self.texts.len()),
            label: line.label.map(short),
            kind: line.kind,
            in_fence: line.in_fence,
            marked: is_marked(line),
            asked: candidates.of(&line.text),
        });
    }

    fn each(&self, mut take: impl FnMut(Seen)) {
        let mut start = 0;
        for &Place { number, end, label, kind, in_fence, marked, asked } in &self.lines {
            let text = &self.texts[start..end as usize];
            start = end as usize;
            let label = label.map(|length| &text[..length as usize]);
            take(Seen { number, text, label, kind, in_fence, marked, asked });
        }
    }
}

/// A length in a batch.
fn short(length: usize) -> u32 {
    const { assert!(3 * MAX_LINE + ENOUGH < u32::MAX as usize, "a batch is no longer") };
    length as u32
}

fn seen<'a>(line: &'a Cleaned, candidates: &Candidates) -> Seen<'a> {
    Seen {
        number: line.number,
        text: &line.text,
        label: line.label.map(|length| &line.text[..length]),
        kind: line.kind,
        in_fence: line.in_fence,
        marked: is_marked(line),
        asked: candidates.of(&line.text),
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
    use crate::tools::TOOLS;

    fn all(text: &[u8]) -> (Vec<String>, Extent) {
        let mut lines = Vec::new();
        let (extent, result) = each(text, &Candidates::new(TOOLS), |line| lines.push(format!("{line:?}")));
        result.expect("memory can be read");
        (lines, extent)
    }

    proptest! {
        #[test]
        fn lines_are_those_that_one_thread_cleans(text in "([a-c|`<>& \u{1b}\r座]{0,9}\n){0,2000}[a-c]{0,3}") {
            let candidates = Candidates::new(TOOLS);
            let mut lines = Lines::new(text.as_bytes());
            let mut expected = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                expected.push(format!("{:?}", seen(line, &candidates)));
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
        let (extent, result) = each(Breaks(0), &Candidates::new(TOOLS), |_| seen += 1);
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(seen > 0 && seen == extent.lines, "{seen} {extent:?}");
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_reader_that_panics_ends_the_cleaner() {
        let text = "x\n".repeat(1 << 20);
        let mut seen = 0;
        let _ = each(text.as_bytes(), &Candidates::new(TOOLS), |_| {
            seen += 1;
            assert!(seen < 3, "the third");
        });
    }
}
