//! `perf stat -x SEPARATOR`: a counter a line, in fields.
//!
//! Fields, those in brackets only with the options that add them (perf-stat(1), "CSV FORMAT"):
//! `[interval] [CPU0 | S0,2 | comm-123] value unit event [variance] run-time percentage [metric metric-unit]`.

use super::text::{Counter, Part, is_event};
use crate::reading::*;

/// Separators that are recognised without the command line; `-x` takes any other.
pub(super) const USUAL: &[char] = &[',', ';', '|', '\t', ':', '^'];

/// Fields of a line that no option made shorter.
const LEAST_FIELDS: usize = 5;

/// Reads a line of fields. Without a known separator it must stand in the line so that nothing else can be meant.
pub(super) fn fields(text: &str, separator: Option<&str>) -> Option<Counter> {
    if let Some(separator) = separator {
        return split(text, separator, false);
    }
    let many = |separator: &&char| text.matches(**separator).count() >= LEAST_FIELDS - 1;
    let known = USUAL.iter().filter(many);
    known
        .into_iter()
        .find_map(|c| split(text.trim(), c.encode_utf8(&mut [0; 4]), true))
        .or_else(|| blanks(text))
}

/// Reads a line whose separator is a blank: `0.68 msec cpu-clock 680617 100.00 0.505 CPUs utilized`, `0  cs 680617 100.00`.
pub(super) fn blanks(text: &str) -> Option<Counter> {
    let first = text.split(' ').next()?;
    let plain = first.starts_with('<') || parse_plain(first).is_some();
    plain.then(|| split(text.trim_end(), " ", true)).flatten()
}

fn split(text: &str, separator: &str, strict: bool) -> Option<Counter> {
    let fields: Vec<&str> = text.split(separator).map(str::trim).take(32).collect();
    let is_value = |field: &str| field.starts_with("<not ") || parse_decimal(field).is_some();
    let is_unit = |field: &str| !is_value(field) && field.len() <= 12;
    // The value is the first figure that a unit (which is no figure) and an event follow.
    let mut triples = fields.windows(3).take(4);
    let at = triples.position(|of| is_value(of[0]) && is_unit(of[1]) && is_event(of[2]))?;
    let (front, rest) = fields.split_at(at);
    let (spread, rest) = match rest.get(3).and_then(|field| parse_decimal(field.strip_suffix('%')?)) {
        Some(percent) => (Some(percent / 100.0), &rest[4..]),
        None => (None, &rest[3..]),
    };
    let run_time = rest.first().and_then(|field| parse_whole(field));
    let percent = rest.get(1).and_then(|field| parse_decimal(field));
    if strict && (run_time.is_none() || percent.is_none()) {
        return None;
    }
    let mut counter = Counter {
        value: parse_decimal(fields[at]),
        unit: fields[at + 1].to_owned(),
        event: fields[at + 2].to_owned(),
        comment: rest.get(2..).unwrap_or_default().join(" "),
        spread,
        percent: percent.filter(|_| run_time.is_some()),
        ..Counter::default()
    };
    for front in front {
        if let Some(cpu) = front.strip_prefix("CPU").and_then(|cpu| cpu.parse().ok()) {
            counter.part = Part::Cpu(cpu);
        } else if front.starts_with(['S', 'D', 'C', 'N', 'L'])
            && front.ends_with(|c: char| c.is_ascii_digit())
        {
            counter.part = Part::Group((*front).to_owned());
        } else if front.starts_with(|c: char| c.is_alphabetic()) {
            counter.part = Part::Thread((*front).to_owned());
        } else if front.contains(['.', ',']) {
            counter.interval = parse_decimal(front);
        }
    }
    Some(counter)
}
