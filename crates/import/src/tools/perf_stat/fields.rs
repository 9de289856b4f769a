//! `perf stat -x SEPARATOR` and `perf stat -j`: one counter per line, in fields or as a JSON object.
//!
//! Fields in brackets are printed only with certain options (perf-stat(1), "CSV FORMAT"): `[interval] [CPU0 | S0,2 | comm-123] value unit
//! event [variance] run-time percentage [metric metric-unit]`.

use regex_lite::Regex;
use serde_json::Value;

use super::text::{Counter, Part, is_event};
use crate::reading::*;

/// Separators recognized without the command line; `-x` also allows others.
pub(super) const USUAL: &[char] = &[',', ';', '|', '\t', ':', '^'];

/// Minimum number of fields in a line whose separator is unknown.
const LEAST_FIELDS: usize = 5;

/// Reads a line of fields. If the separator is unknown, the line must be unambiguous.
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
    let rejoined = Some(&fields).filter(|_| separator == ",").and_then(|fields| rejoin(fields));
    let fields = rejoined.as_ref().map_or(fields, |fields| fields.iter().map(String::as_str).collect());
    let is_value = |field: &str| field.starts_with("<not ") || parse_decimal(field).is_some();
    let is_unit = |field: &str| !is_value(field) && field.len() <= 12;
    // The value is the first number followed by a unit (which is not a number) and an event.
    let mut triples = fields.windows(3).take(4);
    let at = triples.position(|of| is_value(of[0]) && is_unit(of[1]) && is_event(of[2]))?;
    let (front, rest) = fields.split_at(at);
    let (spread, rest) = match rest.get(3).and_then(|field| parse_decimal(field.strip_suffix('%')?)) {
        Some(percent) => (Some(percent / 100.0), &rest[4..]),
        None => (None, &rest[3..]),
    };
    let run_time = rest.first().and_then(|field| parse_whole(field));
    let percent = rest.get(1).and_then(|field| parse_decimal(field));
    (!strict || run_time.is_some() && percent.is_some()).then_some(())?;
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

/// The fields of a line in which the separator is also the decimal mark of the numbers: `140,97,msec,task-clock,140973112,100,00,,…`. In
/// that case, the counting share and values with a unit have two decimals.
fn rejoin(fields: &[&str]) -> Option<Vec<String>> {
    let digits =
        |at: usize| fields.get(at).is_some_and(|f| !f.is_empty() && f.bytes().all(|b| b.is_ascii_digit()));
    let places = |at: usize, count: usize| digits(at) && fields.get(at).is_some_and(|f| f.len() == count);
    let event = (2..fields.len())
        .find(|at| is_event(fields[*at]) && parse_decimal(fields[*at]).is_none() && !digits(at - 1))?;
    let spread = digits(event + 1) && fields.get(event + 2).is_some_and(|field| field.ends_with('%'));
    let share = event + 2 + 2 * usize::from(spread);
    (digits(share - 1) && digits(share) && places(share + 1, 2)).then_some(())?;
    let scaled = !fields[event - 1].is_empty() && digits(event - 2);
    let is_front = |at: usize| match at {
        at if at + 3 == event => scaled && digits(at),
        0 => event > 3 && digits(0) && places(1, 9),
        at if at == event + 1 => spread,
        at => at == share || at == share + 2 && digits(at) && digits(at + 1),
    };
    let mut joined: Vec<String> = Vec::new();
    let mut at = 0;
    while at < fields.len() {
        let both = is_front(at) && at + 1 < fields.len();
        joined.push(if both { format!("{}.{}", fields[at], fields[at + 1]) } else { fields[at].to_owned() });
        at += 1 + usize::from(both);
    }
    Some(joined)
}

/// Reads a JSON line.
pub(super) fn json(text: &str) -> Option<Counter> {
    let text = text.trim();
    (text.starts_with('{') && text.contains("\"counter-value\"")).then_some(())?;
    // In some locales, perf prints numbers with a decimal comma even in JSON.
    let comma = || Regex::new(r#"(: *-?\d+),(\d+ *[,}])"#).ok();
    let read = |text: &str| serde_json::from_str(text).ok();
    let object: Value = read(text).or_else(|| read(&comma()?.replace_all(text, "$1.$2")))?;
    let word = |key: &str| object.get(key).and_then(Value::as_str);
    let number = |key: &str| {
        object.get(key).and_then(|value| value.as_f64().or_else(|| parse_decimal(value.as_str()?)))
    };
    let groups = ["socket", "die", "core", "node", "cluster", "cache"];
    let cpu = number("cpu").filter(|cpu| *cpu >= 0.0).map(|cpu| cpu as u32);
    let cpu = cpu.or_else(|| word("cpu")?.trim_start_matches("CPU").parse().ok());
    let thread = || Some(Part::Thread(word("thread")?.to_owned()));
    let group = || Some(Part::Group(groups.iter().find_map(|key| word(key))?.to_owned()));
    let metric = number("metric-value").map(|value| format!("{value} {}", word("metric-unit").unwrap_or("")));
    Some(Counter {
        interval: number("interval"),
        part: cpu.map(Part::Cpu).or_else(thread).or_else(group).unwrap_or_default(),
        value: number("counter-value"),
        unit: word("unit").unwrap_or_default().to_owned(),
        event: word("event").filter(|event| is_event(event))?.to_owned(),
        comment: metric.unwrap_or_default(),
        spread: number("variance").map(|percent| percent / 100.0),
        percent: number("pcnt-running"),
    })
}
