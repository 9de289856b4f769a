//! Figures that articles print as tables or in prose, written down one a line: what reference machines are made of. The
//! form is described in `docs/published.md`.

use record::metrics::Metric;
use record::{Key, Labels, Machine, Measurement, detail, metrics, units};
use serde_json::Value;

use crate::facts;
use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Fit, Reader, Tool};

const HEAD: &str = "published figures:";

/// A list of published figures.
pub(super) const PUBLISHED: Tool = Tool {
    name: record::import::PUBLISHED_FIGURES,
    opens: |line, _| line.text.trim_start().starts_with(HEAD),
    reader: |_| Box::new(PublishedReader::default()),
};

#[derive(Default)]
struct PublishedReader {
    source: Option<String>,
    /// Inventory facts, with their paths.
    facts: Vec<(Vec<String>, Value, PendingLine)>,
}

impl Reader for PublishedReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if let Some(source) = text.strip_prefix(HEAD) {
            if self.source.is_some() {
                return Fit::Over;
            }
            self.source = Some(source.trim().to_owned());
            return Fit::Taken;
        }
        if text.is_empty() {
            return Fit::Between;
        }
        if text.starts_with('#') {
            return Fit::Taken;
        }
        if let Some(says) = text.strip_prefix("contradiction:") {
            let origins = vec![sink.origin(line)];
            sink.contradict(says.trim().to_owned(), origins);
            return Fit::Taken;
        }
        if let Some(note) = text.strip_prefix("note:") {
            sink.draft.machine.notes.push(note.trim().into());
            return Fit::Taken;
        }
        if self.facts.len() >= crate::limits::MOST_ENTRIES {
            return Fit::Between;
        }
        if let Some(fact) = text.strip_prefix("machine.") {
            match parse_fact(fact) {
                Ok((path, value)) => self.facts.push((path, value, line.into())),
                Err(why) => sink.withhold(
                    &format!("machine.{}", fact.split([' ', '=']).next().unwrap_or_default()),
                    why,
                    line,
                ),
            }
            return Fit::Taken;
        }
        let name = text.split_whitespace().next().unwrap_or_default();
        let Some(metric) = metrics::find(name) else {
            // A name like a metric's is one that was mistyped; anything else is not ours.
            if name.contains('.') && name.bytes().all(|b| b.is_ascii_lowercase() || b"._".contains(&b)) {
                let near = record::glossary::find_nearest(name, metrics::all().map(|metric| metric.name));
                let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
                sink.withhold(name, format!("there is no metric {name}{hint}"), line);
                return Fit::Taken;
            }
            return Fit::Between;
        };
        match parse_figure(metric, &text[name.len()..]) {
            Ok(m) => {
                let source = self.source.as_deref().filter(|source| !source.is_empty());
                sink.add_figure(m.with_known_detail(detail::PUBLISHED_IN, source), line);
            }
            Err(why) => sink.withhold(name, why, line),
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        if self.facts.is_empty() {
            return;
        }
        let Ok(mut machine) = serde_json::to_value(&sink.draft.machine) else { return };
        for (path, value, line) in &self.facts {
            if !put_at(&mut machine, path, value.clone()) {
                let why = "the entry before it is missing; lists are filled from [0] on".to_owned();
                sink.withhold(&format!("machine.{}", print_path(path)), why, line.line());
                continue;
            }
            sink.note(format!("machine.{}", print_path(path)), line.line());
        }
        // Each fact was tried alone; together they can only fail by a list that one makes and another enters.
        match serde_json::from_value::<Machine>(machine) {
            Ok(machine) => sink.draft.machine = machine,
            Err(error) => {
                if let Some((_, _, line)) = self.facts.last() {
                    sink.withhold("machine", format!("the facts do not fit together: {error}"), line.line());
                }
            }
        }
    }
}

/// Why a line is no figure and no fact.
type Why = String;

fn list_keys(metric: &Metric) -> String {
    metric.keys.iter().map(|label| label.name()).collect::<Vec<_>>().join(", ")
}

/// `counts.packages = 2` as a path and its value, proven to be a part of an inventory.
fn parse_fact(text: &str) -> Result<(Vec<String>, Value), Why> {
    let (path, value) =
        text.split_once('=').ok_or("write machine.PATH = VALUE, as in machine.counts.packages = 2")?;
    // `memory_devices[0].ranks` is `memory_devices.0.ranks`.
    let path = path.trim().replace('[', ".").replace(']', "");
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    let value = value.trim();
    let last = path.last().map_or("", String::as_str);
    let parsed = if last.ends_with("_hz") && last != "current_hz" {
        let (number, unit) =
            split_quantity(value).ok_or_else(|| format!("{value:?} is not a clock; write 2.5 GHz"))?;
        let hertz = scale(number, unit, "Hz").ok_or_else(|| format!("{unit:?} is no unit of a clock"))?;
        Value::from(hertz.max(0.0).round() as u64)
    } else if (last == "bytes" || last.ends_with("_bytes")) && !value.starts_with('[') {
        Value::from(units::parse_bytes(value).map_err(|error| error.to_string())?)
    } else {
        // A list of numbers may stand without brackets.
        let list: Option<Vec<u64>> = value.split(',').map(|number| number.trim().parse().ok()).collect();
        match list.filter(|list| list.len() > 1) {
            Some(list) => Value::from(list),
            None => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
        }
    };
    if parsed.as_u64() == Some(0) {
        return Err("0 cannot be".to_owned());
    }
    if parsed.as_f64().is_some_and(|number| !is_possible(&path, number)) {
        return Err(format!("{value} is more or less than a machine can have"));
    }
    // An entry of a list is tried as its first; whether it follows on the others is seen when all facts are put in.
    let index = |key: &String| if key.parse::<usize>().is_ok() { "0".to_owned() } else { key.clone() };
    let trial: Vec<String> = path.iter().map(index).collect();
    let no_such_path =
        || format!("an inventory has no {}; `linespeed schema` prints what it has", print_path(&path));
    let mut whole = serde_json::to_value(Machine::default()).map_err(|error| error.to_string())?;
    if !put_at(&mut whole, &trial, parsed.clone()) {
        return Err(no_such_path());
    }
    let machine: Machine =
        serde_json::from_value(whole).map_err(|error| format!("{value} does not fit there: {error}"))?;
    let back = serde_json::to_value(machine).map_err(|error| error.to_string())?;
    // What is no part of an inventory does not come back.
    let kept = trial.iter().try_fold(&back, |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    });
    match kept {
        Some(_) => Ok((path, parsed)),
        None => Err(no_such_path()),
    }
}

/// Whether a number can be true of any machine: what `lscpu` and `dmidecode` may tell, too.
fn is_possible(path: &[String], number: f64) -> bool {
    match path {
        [first, ..] if first == "counts" => (1.0..=65_536.0).contains(&number),
        [.., last] if last.ends_with("_hz") => (1e6..=1e10).contains(&number),
        [.., last] if last.ends_with("_mt_s") => facts::is_memory_speed(number),
        _ => true,
    }
}

/// `memory_devices[0].ranks`.
fn print_path(path: &[String]) -> String {
    let mut text = String::new();
    for key in path {
        if key.parse::<usize>().is_ok() {
            text.push_str(&format!("[{key}]"));
        } else {
            text.push_str(if text.is_empty() { "" } else { "." });
            text.push_str(key);
        }
    }
    text
}

/// Most entries of a list that facts may make one by one.
const MOST_ENTRIES: usize = 4096;

/// Puts a value at a path; lists grow by one at most. Whether it could be done.
fn put_at(value: &mut Value, path: &[String], new: Value) -> bool {
    let Some((key, rest)) = path.split_first() else {
        *value = new;
        return true;
    };
    match value {
        Value::Array(list) => {
            let Some(at) = key.parse::<usize>().ok().filter(|at| *at <= list.len() && *at < MOST_ENTRIES)
            else {
                return false;
            };
            if at == list.len() {
                // CPUs and nodes are numbered as they stand; other lists have no such field.
                list.push(serde_json::json!({ "id": at }));
            }
            put_at(&mut list[at], rest, new)
        }
        Value::Object(object) => put_at(object.entry(key.as_str()).or_insert(Value::Null), rest, new),
        Value::Null if key.parse::<usize>().is_err() => {
            *value = Value::Object(serde_json::Map::new());
            put_at(value, path, new)
        }
        _ => false,
    }
}

/// The rest of a figure's line: `117.323 ns bytes=64MiB cpu=0 node=0 method="lmbench lat_mem_rd"`.
fn parse_figure(metric: &'static Metric, rest: &str) -> Result<Measurement, Why> {
    let words = split_words(rest)?;
    let mut words = words.iter();
    let number = words.next().ok_or("the value is missing")?;
    let unit = words.next().ok_or("the unit is missing")?;
    let bare =
        numbers::parse_plain(number).or_else(|| numbers::parse_whole(number).map(|value| value as f64));
    let exact = bare.ok_or_else(|| format!("{number:?} is not a number"))?;
    let (value, work) = convert(exact, number, unit, metric)
        .ok_or_else(|| format!("{unit:?} is no unit of {}, which is in {}", metric.name, metric.unit))?;
    let mut place = Labels::new();
    let mut m =
        Measurement::exact(metric.name, Labels::new(), vec![value]).with_known_detail(detail::WORK, work);
    for word in words {
        let (key, value) =
            word.split_once('=').ok_or_else(|| format!("{word:?} is no key=value; quote what has blanks"))?;
        match key {
            "method" => m.method = Some(value.to_owned()),
            "doubt" => m.doubt = Some(value.into()),
            "note" => m = m.with_detail(detail::NOTE, value),
            "work" => m = m.with_detail(detail::WORK, value),
            "class" if metric.name == metrics::CORE_TO_CORE_LATENCY => {
                m = m.with_detail(detail::CLASS, value)
            }
            key => match metric.keys.iter().find(|known| known.name() == key) {
                Some(known) => place = place.with_label(*known, parse_label(key, value)?),
                None => {
                    let (name, keys) = (metric.name, list_keys(metric));
                    return Err(format!("{name} has no key {key}; it has {keys}, method, note, doubt"));
                }
            },
        }
    }
    m.labels = place;
    Ok(m)
}

/// A key's value: a number, a size, a switch or a word, as records of measured figures have it.
fn parse_label(key: &str, value: &str) -> Result<Key, Why> {
    if key == "bytes" {
        return Ok(Key::Count(units::parse_bytes(value).map_err(|error| error.to_string())?));
    }
    if key == "bandwidth" {
        let (number, unit) =
            split_quantity(value).ok_or_else(|| format!("{value:?} is no bandwidth; write 2867.2MB/s"))?;
        // As in records, a bare number is bytes a second.
        let unit = if unit.is_empty() { "B/s" } else { unit };
        let rate = scale(number, unit, "B/s").ok_or_else(|| format!("{unit:?} is no unit of bandwidth"))?;
        return Ok(Key::Number(rate));
    }
    // Lists of CPUs are words, even of one CPU; so are names of pages and workloads.
    if matches!(key, "cpus" | "page" | "workload" | "event" | "thread") {
        return Ok(Key::from(value));
    }
    Ok(match value {
        "true" => Key::Switch(true),
        "false" => Key::Switch(false),
        _ => match (value.parse::<u64>(), numbers::parse_plain(value)) {
            (Ok(count), _) => Key::Count(count),
            (_, Some(number)) => Key::Number(number),
            _ => Key::from(value),
        },
    })
}

/// `2.5GHz`, `2.5 GHz` as a number's text and its unit.
fn split_quantity(text: &str) -> Option<(&str, &str)> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    (!number.is_empty()).then_some((number, unit.trim()))
}

/// A value in the metric's unit, and what a unit of work is where the unit told it.
fn convert<'a>(value: f64, number: &str, unit: &'a str, metric: &Metric) -> Option<(f64, Option<&'a str>)> {
    if metric.unit == "work/s" {
        if let Some(rate) = scale(number, unit, "B/s") {
            return Some((rate, Some("B")));
        }
        return match unit.rsplit_once('/') {
            Some((work, "s")) => Some((value, Some(work).filter(|work| !work.is_empty() && *work != "work"))),
            Some((work, "min")) => Some((value / 60.0, Some(work).filter(|work| !work.is_empty()))),
            // New orders a minute of TPC-C.
            None if unit == "tpmC" => Some((value / 60.0, Some("new orders"))),
            _ => None,
        };
    }
    scale(number, unit, metric.unit).map(|value| (value, None))
}

/// Units by what they are multiples of: a power of ten, or a factor.
fn scale(number: &str, unit: &str, into: &str) -> Option<f64> {
    let plain = |exponent: i32| match numbers::parse_whole(number) {
        Some(_) if number.contains(',') => numbers::parse_scaled(&number.replace(',', ""), exponent),
        _ => numbers::parse_plain(number).and_then(|_| format!("{number}e{exponent}").parse().ok()),
    };
    let times = |factor: f64| plain(0).map(|value: f64| value * factor);
    match (into, unit) {
        (into, unit) if into == unit => plain(0),
        ("Hz", "kHz") | ("B/s", "kB/s" | "KB/s") | ("ns", "us" | "µs") => plain(3),
        ("Hz", "MHz") | ("B/s", "MB/s") | ("ns", "ms") => plain(6),
        ("Hz", "GHz") | ("B/s", "GB/s") | ("ns", "s") => plain(9),
        ("B/s", "TB/s") => plain(12),
        ("B/s", "KiB/s") => times(1024.0),
        ("B/s", "MiB/s") => times(1_048_576.0),
        ("B/s", "GiB/s") => times(1_073_741_824.0),
        ("s", "ms") => plain(-3),
        ("s", "us" | "µs") => plain(-6),
        ("s", "ns") => plain(-9),
        ("s", "min") => times(60.0),
        ("ratio", "%") => plain(-2),
        ("ratio", "x") | ("instructions/cycle", "IPC" | "insn/cycle") => plain(0),
        ("cycles", "ticks") => plain(0),
        _ => None,
    }
    .filter(|value: &f64| value.is_finite())
}

/// Words; blanks within quotes (`"…"`, `'…'`) belong to a word.
fn split_words(text: &str) -> Result<Vec<String>, Why> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut inside = None;
    for c in text.chars() {
        match (inside, c) {
            (Some(quote), c) if c == quote => inside = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => inside = Some(c),
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if inside.is_some() {
        return Err("a quotation has no end".to_owned());
    }
    if !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests;
