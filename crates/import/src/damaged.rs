//! Tests every captured output with all kinds of damage known from mails, terminals and truncated files: nothing panics, the work is
//! proportional to the length of the text, and every result is plausible.

use std::cell::Cell;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use proptest::prelude::*;
use record::Record;
use regex_lite::Regex;

use crate::importer::Importer;
use crate::line::Line;
use crate::{Error, Imported, Split};

/// Maximum number of times that each byte of a text is read: by each tool whose output could begin there (with and without the first cell
/// of a table row), by the reader of the open output, and as part of a broken line.
const MOST_LOOKS: usize = 100;

thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn look(line: Line) {
    LOOKED_AT.with(|bytes| bytes.set(bytes.get() + line.text.len() + 1));
}

/// Every captured output, and the sources of reference machines.
pub(crate) fn texts() -> &'static [Vec<u8>] {
    static ALL: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = [here.join("tests/texts"), here.join("../../reference/machines")];
        let mut paths: Vec<_> = folders
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).expect("the text directory exists"))
            .map(|entry| entry.expect("directory entry is readable").path())
            .collect();
        paths.sort();
        paths.iter().map(|path| std::fs::read(path).expect("a text is readable")).collect()
    })
}

/// Texts to insert into another text.
static INTRUDERS: LazyLock<Vec<String>> =
    LazyLock::new(|| serde_json::from_str(include_str!("intruders.json")).expect("a list of texts"));

/// One kind of damage to a text. Positions are given as shares of its length.
#[derive(Clone, Debug)]
enum Harm {
    Cut(u16, u16),
    /// A piece of another text is inserted at a position.
    Splice(usize, u16, u16, u16),
    /// A piece of the text itself is repeated at a position.
    Repeat(u16, u16, u16),
    Swap(u16, u16),
    Byte(u16, u8),
    Put(u16, usize),
    /// All line ends are those of another operating system.
    LineEnds,
    /// All lines are quoted.
    Quoted,
    /// All lines are wrapped at a margin.
    Wrapped(u8),
    /// The first digits after a position are changed.
    Number(u16, usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = || any::<u16>();
    prop_oneof![
        (at(), 0..2000_u16).prop_map(|(at, length)| Harm::Cut(at, length)),
        (any::<usize>(), at(), 0..3000_u16, at())
            .prop_map(|(text, from, n, at)| Harm::Splice(text, from, n, at)),
        (at(), 0..2000_u16, at()).prop_map(|(from, length, at)| Harm::Repeat(from, length, at)),
        (at(), at()).prop_map(|(one, other)| Harm::Swap(one, other)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Harm::Byte(at, byte)),
        (at(), 0..INTRUDERS.len()).prop_map(|(at, which)| Harm::Put(at, which)),
        Just(Harm::LineEnds),
        Just(Harm::Quoted),
        (20..100_u8).prop_map(Harm::Wrapped),
        (at(), 0..INTRUDERS.len()).prop_map(|(at, which)| Harm::Number(at, which)),
    ]
}

fn place(text: &[u8], at: u16) -> usize {
    text.len() * usize::from(at) / usize::from(u16::MAX)
}

fn piece(text: &[u8], from: u16, length: u16) -> Vec<u8> {
    let from = place(text, from);
    text[from..(from + usize::from(length)).min(text.len())].to_vec()
}

impl Harm {
    fn befall(&self, mut text: Vec<u8>) -> Vec<u8> {
        match self {
            Harm::Cut(at, length) => {
                let from = place(&text, *at);
                text.drain(from..(from + usize::from(*length)).min(text.len()));
            }
            Harm::Splice(which, from, length, at) => {
                let other = piece(&texts()[which % texts().len()], *from, *length);
                let at = place(&text, *at);
                text.splice(at..at, other);
            }
            Harm::Repeat(from, length, at) => {
                let own = piece(&text, *from, *length);
                let at = place(&text, *at);
                text.splice(at..at, own);
            }
            Harm::Swap(one, other) => {
                if !text.is_empty() {
                    let (one, other) = (place(&text, *one), place(&text, *other));
                    let last = text.len() - 1;
                    text.swap(one.min(last), other.min(last));
                }
            }
            Harm::Byte(at, byte) => {
                let at = place(&text, *at);
                if let Some(old) = text.get_mut(at) {
                    *old = *byte;
                }
            }
            Harm::Put(at, which) => {
                let at = place(&text, *at);
                text.splice(at..at, INTRUDERS[*which].bytes());
            }
            Harm::LineEnds => {
                let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
                text = lines.join(&b"\r\n"[..]);
            }
            Harm::Quoted => {
                let lines: Vec<Vec<u8>> =
                    text.split(|byte| *byte == b'\n').map(|line| [b"> ", line].concat()).collect();
                text = lines.join(&b'\n');
            }
            Harm::Wrapped(margin) => {
                let lines = text.split(|byte| *byte == b'\n');
                let broken: Vec<&[u8]> = lines
                    .flat_map(|line| {
                        let mut pieces: Vec<&[u8]> = line.chunks(usize::from(*margin)).collect();
                        pieces.resize(pieces.len().max(1), b"");
                        pieces
                    })
                    .collect();
                text = broken.join(&b'\n');
            }
            Harm::Number(at, which) => {
                let from = place(&text, *at);
                let digit = text[from..].iter().position(u8::is_ascii_digit);
                if let Some(start) = digit.map(|offset| from + offset) {
                    let length = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    text.splice(start..start + length, INTRUDERS[*which].bytes());
                }
            }
        }
        text
    }
}

fn split(which: u8) -> Split {
    match which % 4 {
        0 => Split::Hosts,
        1 => Split::Files,
        2 => Split::Headings,
        _ => Split::Lines(Regex::new("^(?:root@([a-z0-9]+)|CPU)").expect("an expression")),
    }
}

/// A mixture of lines: accepted lines, broken lines, and lines that belong to another output or to none.
const MIXED: &str = include_str!("mixed.txt");

#[test]
fn every_line_is_looked_at_a_few_times_however_long_the_text_is() {
    let text = MIXED.repeat(500);
    let bytes = text.len();
    let _ = import(&[text.into_bytes()], Split::Hosts);
    let looked_at = LOOKED_AT.with(Cell::get);
    assert!(looked_at > bytes && looked_at <= bytes * MOST_LOOKS, "{looked_at} bytes for a text of {bytes}");
}

fn import(all: &[Vec<u8>], split: Split) -> Result<Vec<Imported>, Error> {
    LOOKED_AT.with(|bytes| bytes.set(0));
    let mut importer = Importer::new(split);
    for (number, text) in all.iter().enumerate() {
        importer.read(&number.to_string(), text.as_slice()).expect("reading from memory does not fail");
    }
    importer.finish()
}

/// Conditions that hold for every record, regardless of its source.
fn check(imported: &Imported, lines: &[usize]) {
    for m in &imported.measurements {
        let metric = m.metric.definition().unwrap_or_else(|| panic!("{} is not a metric", m.metric));
        let (low, high) = metric.plausible;
        assert!((low..=high).contains(&m.value()), "{} is {}", m.metric, m.value());
        assert!(m.samples.iter().all(|sample| sample.is_finite()), "{m:?}");
        let summary = &m.summary;
        assert!([summary.min, summary.max, summary.mad].iter().all(|value| value.is_finite()), "{m:?}");
        for key in m.labels.0.keys() {
            assert!(metric.keys.iter().any(|label| label.name() == key), "{} has no key {key}", m.metric);
        }
        assert!(m.origin.is_some(), "{} has no origin", m.metric);
    }
    let import = &imported.import;
    let origins = imported.measurements.iter().filter_map(|m| m.origin.as_ref());
    let others = import.inventory.values().chain(import.withheld.iter().map(|withheld| &withheld.origin));
    for origin in origins.chain(others) {
        let text: usize = origin.text.parse().expect("texts are numbered");
        assert!((1..=lines[text] as u64).contains(&origin.line), "{origin:?} of {} lines", lines[text]);
    }
    let counts = &imported.machine.counts;
    for count in [counts.packages, counts.cores, counts.nodes, counts.cpus_present, counts.cpus_online] {
        assert!(count.is_none_or(|count| (1..=65_536).contains(&count)), "{counts:?}");
    }
    let processor = &imported.machine.processor;
    for hz in [processor.max_hz, processor.min_hz, processor.base_hz] {
        assert!(hz.is_none_or(|hz| (1_000_000..=10_000_000_000).contains(&hz)), "{hz:?}");
    }
    for device in &imported.machine.memory_devices {
        for speed in [device.rated_mt_s, device.configured_mt_s] {
            let fits = |speed: u32| (10..=40_000).contains(&speed) && speed != 32_768;
            assert!(speed.is_none_or(fits), "{device:?}");
        }
    }
    let empty = Record::new("0.0.0", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
    let json = imported.clone().into_record(empty).to_json().unwrap();
    Record::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("the record cannot be reread: {error}"));
}

fn line_count(text: &[u8]) -> usize {
    let ends = |end: u8| text.iter().filter(|byte| **byte == end).count();
    ends(b'\n').max(ends(b'\r')) + 1
}

proptest! {
    #[test]
    fn whatever_befalls_a_text_it_is_read_in_bounds_and_gives_what_can_be_true(
        which: usize,
        second: Option<usize>,
        harms in proptest::collection::vec(harm(), 0..8),
        by: u8,
    ) {
        let pick = |which: usize| texts()[which % texts().len()].clone();
        let harmed = |text: Vec<u8>| harms.iter().fold(text, |text, harm| harm.befall(text));
        let all: Vec<Vec<u8>> = std::iter::once(which).chain(second).map(|which| harmed(pick(which))).collect();
        let imported = import(&all, split(by));
        let looked_at = LOOKED_AT.with(Cell::get);
        let bytes: usize = all.iter().map(|text| text.len() + 16).sum();
        prop_assert!(looked_at <= bytes * MOST_LOOKS, "{looked_at} bytes for a text of {bytes}");
        let lines: Vec<usize> = all.iter().map(|text| line_count(text)).collect();
        for machine in imported.into_iter().flatten() {
            check(&machine, &lines);
        }
    }
}

#[test]
fn every_captured_output_is_read_and_keeps_its_rules() {
    for text in texts() {
        let imported = import(std::slice::from_ref(text), Split::Hosts).expect("a captured output is read");
        for machine in &imported {
            check(machine, &[line_count(text)]);
        }
    }
}
