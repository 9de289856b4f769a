//! Results copied from tables or prose in articles, one per line. The reference machines are built
//! from such files. `docs/published.md` describes the format.

use record::metrics::Definition;
use record::{Key, Machine, units};
use serde_json::Value;

use super::memory;
use crate::reading::*;

const HEAD: &str = "published figures:";

/// A list of published results.
pub(super) const PUBLISHED: Tool = Tool {
    name: record::import::PUBLISHED_FIGURES,
    opens: |line, _| line.text.trim_start().starts_with(HEAD),
    reader: |_| Box::new(PublishedReader::default()),
};

#[derive(Default)]
struct PublishedReader {
    source: Option<String>,
    /// Number of inventory facts read so far.
    facts: usize,
}

/// Maximum number of facts in one list. Reading a fact is expensive, because the whole inventory is parsed
/// again to validate it.
const MOST_FACTS: usize = 1000;

impl Reader for PublishedReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        let name = text.split([' ', '\t', '=']).next().unwrap_or_default();
        if let Some(source) = text.strip_prefix(HEAD) {
            if self.source.is_some() {
                return Fit::Over;
            }
            self.source = Some(source.trim().to_owned());
        } else if text.is_empty() {
            return Fit::Between;
        } else if let Some(says) = text.strip_prefix("contradiction:") {
            sink.contradict(says.trim().to_owned(), vec![sink.origin(line)]);
        } else if let Some(note) = text.strip_prefix("note:") {
            sink.draft.machine.notes.push(note.trim().into());
        } else if self.facts >= MOST_FACTS {
            return Fit::Between;
        } else if let Some(fact) = text.strip_prefix("machine.") {
            self.facts += 1;
            add_fact(fact, line, sink);
        } else if let Some(metric) = metrics::find(name) {
            let source = self.source.as_deref().filter(|source| !source.is_empty());
            let m = parse_figure(metric, &text[name.len()..]);
            take(metric, m.map(|m| m.with_known_detail(detail::PUBLISHED_IN, source)), line, sink);
        } else if name.contains('.') && name.bytes().all(|b| b.is_ascii_lowercase() || b"._".contains(&b)) {
            // A word in the form of a metric's name is treated as a misspelled metric.
            let near = record::glossary::find_nearest(name, metrics::all().map(|metric| metric.name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            sink.withhold(name, format!("there is no metric {name}{hint}"), line);
        } else if !text.starts_with('#') {
            return Fit::Between;
        }
        Fit::Taken
    }
}

/// A fact of the inventory: `counts.packages = 2`.
pub(super) fn add_fact(text: &str, line: Line, sink: &mut Sink) {
    match take_fact(text, &sink.draft.machine) {
        Ok((path, machine)) => {
            let path = format!("machine.{}", print_path(&path));
            let stated = sink.draft.inventory.iter().find(|(known, _)| *known == path);
            if let Some((_, origin)) = stated.filter(|_| sink.draft.machine != machine) {
                let origins = [origin.clone(), sink.origin(line)];
                if path.ends_with(".model_name") {
                    sink.draft.facts.clash.get_or_insert(origins);
                } else {
                    sink.contradict(format!("{path} has two values; the first is used"), origins.to_vec());
                }
                return;
            }
            sink.draft.machine = machine;
            sink.note(path, line);
        }
        Err(why) => {
            let name = text.split([' ', '\t', '=']).next().unwrap_or_default();
            sink.withhold(format!("machine.{name}"), why, line);
        }
    }
}

/// The result in a line, or the reason why it is not one.
pub(crate) fn take(metric: &Definition, figure: Result<Measurement, Why>, line: Line, sink: &mut Sink) {
    match figure {
        Ok(m) => sink.add_figure(m, line),
        Err(why) => sink.withhold(metric.name, why, line),
    }
}

/// Why a line is neither a result nor a fact.
type Why = String;

/// Parses `counts.packages = 2`: returns the path, and the inventory with the fact added.
fn take_fact(text: &str, machine: &Machine) -> Result<(Vec<String>, Machine), Why> {
    let (path, value) =
        text.split_once('=').ok_or("use machine.PATH = VALUE, as in machine.counts.packages = 2")?;
    // `memory_devices[0].ranks` becomes `memory_devices.0.ranks`.
    let path = path.trim().replace('[', ".").replace(']', "");
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    let (last, value) = (path.last().map_or("", String::as_str), value.trim());
    let parsed = if last.ends_with("_hz") && last != "current_hz" {
        let hertz =
            quantity(value, "Hz").ok_or_else(|| format!("{value:?} is not a clock; write it as 2.5 GHz"))?;
        Value::from(hertz.max(0.0).round() as u64)
    } else if (last == "bytes" || last.ends_with("_bytes")) && !value.starts_with('[') {
        Value::from(units::parse_bytes(value).map_err(|error| error.to_string())?)
    } else {
        // A list of numbers may be written without brackets.
        let list: Option<Vec<u64>> = value.split(',').map(|number| number.trim().parse().ok()).collect();
        match list.filter(|list| list.len() > 1) {
            Some(list) => Value::from(list),
            None => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
        }
    };
    if parsed.as_f64().is_some_and(|number| !is_possible(&path, number)) {
        return Err(format!("{value} is out of range"));
    }
    let mut whole = serde_json::to_value(machine).map_err(|error| error.to_string())?;
    if !put_at(&mut whole, &path, parsed) {
        return Err("the preceding entry is missing; list entries start at [0]".to_owned());
    }
    let machine: Machine =
        serde_json::from_value(whole).map_err(|error| format!("{value} is not a valid value: {error}"))?;
    let back = serde_json::to_value(&machine).map_err(|error| error.to_string())?;
    // If the inventory has no such field, the value is lost in the conversion.
    match back.pointer(&format!("/{}", path.join("/"))) {
        Some(_) => Ok((path, machine)),
        None => {
            Err(format!("an inventory has no {}; `linespeed schema` lists the fields", print_path(&path)))
        }
    }
}

/// Whether this number is possible at this path; also used for `lscpu` and `dmidecode`.
fn is_possible(path: &[String], number: f64) -> bool {
    match path {
        _ if number == 0.0 => false,
        [first, ..] if first == "counts" => (1.0..=65_536.0).contains(&number),
        [.., last] if last.ends_with("_hz") => (1e6..=1e10).contains(&number),
        [.., last] if last.ends_with("_mt_s") => memory::is_speed(number),
        _ => true,
    }
}

/// `memory_devices[0].ranks`.
fn print_path(path: &[String]) -> String {
    let step = |key: &String| {
        if key.parse::<usize>().is_ok() { format!("[{key}]") } else { format!(".{key}") }
    };
    path.iter().map(step).collect::<String>().trim_start_matches('.').to_owned()
}

/// Puts a value at a path; lists grow by at most one element. Returns whether it succeeded.
fn put_at(value: &mut Value, path: &[String], new: Value) -> bool {
    let Some((key, rest)) = path.split_first() else {
        *value = new;
        return true;
    };
    let index = key.parse::<usize>().ok();
    if value.is_null() && index.is_none() {
        *value = Value::Object(serde_json::Map::new());
    }
    match (value, index) {
        (Value::Array(list), Some(at)) if at <= list.len() => {
            if at == list.len() {
                // CPUs and nodes are numbered in list order. Entries of other lists have no `id`, so it is
                // ignored.
                list.push(serde_json::json!({ "id": at }));
            }
            put_at(&mut list[at], rest, new)
        }
        (Value::Object(object), _) => put_at(object.entry(key.as_str()).or_insert(Value::Null), rest, new),
        _ => false,
    }
}

/// The rest of a result's line: `117.323 ns bytes=64MiB cpu=0 node=0 method="lmbench lat_mem_rd"`.
pub(crate) fn parse_figure(metric: &'static Definition, rest: &str) -> Result<Measurement, Why> {
    parse_words(metric, &split_words(rest)?)
}

/// Like [`parse_figure`], from the words of the line. A word that begins with + is a detail.
pub(super) fn parse_words(metric: &'static Definition, words: &[String]) -> Result<Measurement, Why> {
    let mut words = words.iter();
    let number = words.next().ok_or("the value is missing")?;
    let unit = words.next().ok_or("the unit is missing")?;
    if plain(number, 0).is_none() {
        return Err(format!("{number:?} is not a number"));
    }
    let (value, work) = convert(number, unit, metric)
        .ok_or_else(|| format!("{unit:?} is not a unit of {}, which uses {}", metric.name, metric.unit))?;
    let mut m =
        Measurement::exact(metric.metric(), Labels::new(), vec![value]).with_known_detail(detail::WORK, work);
    for word in words {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{word:?} is not KEY=VALUE; quote values with spaces"))?;
        match key {
            "method" => m.method = Some(value.to_owned()),
            "doubt" => m.doubt = Some(value.into()),
            "note" => m = m.with_detail(detail::NOTE, value),
            "work" => m = m.with_detail(detail::WORK, value),
            key if key.starts_with('+') => {
                let number = value.parse::<u64>().ok().map(Value::from);
                let number = number.or_else(|| value.parse::<f64>().ok().map(Value::from));
                m.detail.set_named(&key[1..], number.unwrap_or_else(|| Value::from(value)));
            }
            "class" if metric.metric() == metrics::CORE_TO_CORE_LATENCY => {
                m = m.with_detail(detail::CLASS, value)
            }
            key => {
                let known = metric.keys.iter().find(|known| known.name() == key).ok_or_else(|| {
                    let keys: Vec<&str> = metric.keys.iter().map(|label| label.name()).collect();
                    let (name, keys) = (metric.name, keys.join(", "));
                    format!("{name} has no key {key}. Its keys are {keys}, method, note and doubt")
                })?;
                m.labels = m.labels.with_label(*known, parse_label(key, value)?);
            }
        }
    }
    Ok(m)
}

/// The value of a key: a number, a size, a switch or a word, as in records of measurements.
pub(crate) fn parse_label(key: &str, value: &str) -> Result<Key, Why> {
    Ok(match (key, value) {
        ("bytes", _) => Key::Count(units::parse_bytes(value).map_err(|error| error.to_string())?),
        // As in records, a bare number is bytes per second.
        ("bandwidth", _) => Key::Number(
            quantity(value, "B/s")
                .ok_or_else(|| format!("{value:?} is not a bandwidth; write it as 2867.2MB/s"))?,
        ),
        // A list of CPUs is a word, even if it contains only one CPU; so are the names of pages and
        // workloads.
        ("cpus" | "page" | "workload" | "event" | "thread", _) => Key::from(value),
        (_, "true" | "false") => Key::Switch(value == "true"),
        _ => match (value.parse::<u64>(), numbers::parse_plain(value)) {
            (Ok(count), _) => Key::Count(count),
            (_, Some(number)) => Key::Number(number),
            _ => Key::from(value),
        },
    })
}

/// `2.5GHz`, `2.5 GHz`, converted to another unit; a number without a unit is already in that unit.
fn quantity(text: &str, into: &str) -> Option<f64> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    scale(number, Some(unit.trim()).filter(|unit| !unit.is_empty()).unwrap_or(into), into)
}

/// A value in the unit of the metric, and the unit of work if the unit contained one.
fn convert<'a>(number: &str, unit: &'a str, metric: &Definition) -> Option<(f64, Option<&'a str>)> {
    if metric.unit != "work/s" {
        return scale(number, unit, metric.unit).map(|value| (value, None));
    }
    if let Some(rate) = scale(number, unit, "B/s") {
        return Some((rate, Some("B")));
    }
    let (work, seconds) = match unit.rsplit_once('/') {
        Some((work, "s")) => (work, 1.0),
        Some((work, "min")) => (work, 60.0),
        // TPC-C: new orders per minute.
        None if unit == "tpmC" => ("new orders", 60.0),
        _ => return None,
    };
    Some((plain(number, 0)? / seconds, Some(work).filter(|work| !work.is_empty() && *work != "work")))
}

/// A number in another unit.
fn scale(number: &str, unit: &str, into: &str) -> Option<f64> {
    let same = (unit == into).then_some((0, 1.0));
    let (exponent, factor) = same.or_else(|| units::scale_of(unit, into))?;
    plain(number, exponent).map(|value| value * factor)
}

/// A number, possibly with commas between groups of digits, times a power of ten.
fn plain(number: &str, exponent: i32) -> Option<f64> {
    let bare = number.replace(',', "");
    if bare != number {
        return numbers::parse_whole(number).and_then(|_| numbers::parse_scaled(&bare, exponent));
    }
    let value = numbers::parse_plain(number)?;
    // Unless the value already has an exponent, it is parsed together with its power of ten, so that it is rounded
    // only once.
    let scaled = format!("{number}e{exponent}").parse().unwrap_or(value * 10_f64.powi(exponent));
    Some(scaled).filter(|value: &f64| value.is_finite())
}

/// Splits a text into words; blanks within quotes (`"…"`, `'…'`) belong to a word.
pub(super) fn split_words(text: &str) -> Result<Vec<String>, Why> {
    shell_words::split(text).map_err(|_| "a quotation mark is not closed".to_owned())
}

#[cfg(test)]
mod tests;
