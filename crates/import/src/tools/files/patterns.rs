//! Tools that print what files of `/sys` and `/proc` say: a pattern a line, in `patterns.txt`, tells which file each of their lines is.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::super::published;
use super::Found;
use crate::reading::*;

/// The longest line that is held against patterns, in bytes.
const LONGEST: usize = 1000;

/// One pattern of a line.
struct Pattern {
    opens: bool,
    counts: bool,
    /// Words that the command has, and those with `!` before them that it has not; none where no command is needed.
    command: Vec<&'static str>,
    parts: Vec<Part>,
    /// Paths and what they hold.
    files: Vec<(&'static str, &'static str)>,
}

enum Part {
    Words(&'static str),
    Take(&'static str, &'static str),
}

/// The patterns of each tool, in the order of `patterns.txt`.
fn all() -> &'static [(&'static str, Vec<Pattern>)] {
    static ALL: OnceLock<Vec<(&str, Vec<Pattern>)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: Vec<(&str, Vec<Pattern>)> = Vec::new();
        for line in include_str!("patterns.txt").lines().filter(|line| !line.starts_with('#')) {
            match (line.strip_suffix(']').and_then(|line| line.strip_prefix('[')), all.last_mut()) {
                (Some(tool), _) => all.push((tool, Vec::new())),
                (None, Some((_, patterns))) if !line.is_empty() => patterns.push(pattern(line)),
                _ => {}
            }
        }
        all
    })
}

fn pattern(line: &'static str) -> Pattern {
    let (words, files) = line.split_once(" => ").unwrap_or((line, ""));
    let (opens, words) = words.strip_prefix('!').map_or((false, words), |words| (true, words));
    let (counts, words) = words.strip_prefix('+').map_or((false, words), |words| (true, words));
    let (command, words) =
        words.strip_prefix('(').and_then(|words| words.split_once(") ")).unwrap_or(("", words));
    let mut parts = Vec::new();
    let mut rest = words;
    while let Some((before, (inner, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        parts.extend(Some(before).filter(|before| !before.is_empty()).map(Part::Words));
        let (name, kind) = inner.split_once(':').unwrap_or(("", inner));
        parts.push(Part::Take(name, kind));
        rest = after;
    }
    parts.extend(Some(rest).filter(|rest| !rest.is_empty()).map(Part::Words));
    let files = files.split("; ").filter_map(|file| file.split_once(' ')).collect();
    Pattern { opens, counts, command: command.split_whitespace().collect(), parts, files }
}

/// What a pattern took, by name.
type Values = BTreeMap<&'static str, Option<String>>;

impl Pattern {
    fn is_asked(&self, command: Option<&Command>) -> bool {
        let words: Vec<&str> =
            command.map_or(Vec::new(), |command| command.text.split_whitespace().collect());
        let has = |word: &str| {
            words.iter().any(|known| known.trim_start_matches("/usr/bin/").eq_ignore_ascii_case(word))
        };
        self.command.iter().all(|word| word.strip_prefix('!').map_or_else(|| has(word), |word| !has(word)))
    }

    /// Whether a line may be of this pattern, by its beginning.
    fn may_be(&self, text: &str, command: Option<&Command>) -> bool {
        if !self.command.is_empty() && command.is_none() {
            return false;
        }
        match self.parts.first() {
            Some(Part::Words(words)) => text.starts_with(words.split(' ').next().unwrap_or_default()),
            _ => match self.parts.get(1) {
                Some(Part::Words(words)) => text.contains(words),
                _ => text.len() <= 40,
            },
        }
    }

    fn take(&self, text: &str, command: Option<&Command>) -> Option<Values> {
        let mut values = Values::new();
        (text.len() <= LONGEST && self.is_asked(command) && take(&self.parts, text, command, &mut values))
            .then_some(values)
    }
}

/// Whether the parts are all of `text`, each blank of which is one; what they took is added to `values`.
fn take(parts: &[Part], text: &str, command: Option<&Command>, values: &mut Values) -> bool {
    let Some((first, rest)) = parts.split_first() else { return text.is_empty() };
    let (name, kind) = match first {
        Part::Words(words) => {
            return text.strip_prefix(words).is_some_and(|text| take(rest, text, command, values));
        }
        Part::Take(name, kind) => (*name, *kind),
    };
    let mut ends = match rest.first() {
        Some(Part::Words(words)) => text.match_indices(words).map(|(at, _)| at).collect(),
        _ => vec![text.len()],
    };
    // What may be anything is as long as it can be.
    if kind == "r" {
        ends.reverse();
    }
    ends.into_iter().any(|end| {
        let Some(value) = value_of(kind, &text[..end], command) else { return false };
        let fits = take(rest, &text[end..], command, values);
        if fits && !name.is_empty() {
            values.insert(name, value);
        }
        fits
    })
}

/// Architectures by the kernel's words.
const ARCHITECTURES: &str =
    "x86_64|aarch64|i686|i586|armv7l|armv6l|armv8l|ppc64le|ppc64|s390x|riscv64|loongarch64|sparc64|mips64";

/// What `text` says as this kind of value; `Some(None)` where its unit is not told, and `None` where it is of another kind.
fn value_of(kind: &str, text: &str, command: Option<&Command>) -> Option<Option<String>> {
    let whole = |fits: bool| fits.then(|| Some(text.to_owned()));
    let is_word = !text.is_empty() && !text.contains(' ');
    match kind {
        "n" => whole(is_word && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit())),
        "w" => whole(is_word),
        "r" => whole(!text.is_empty()),
        "num" => parse_decimal(text).filter(|_| is_word).map(|number| Some(number.to_string())),
        "cpus" => whole(scan::all(text.split(' '), parse_whole).is_some()),
        "release" => whole(is_word && text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.')),
        "arch" => whole(scan::is_one_of(text, ARCHITECTURES)),
        "hex" => {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            u64::from_str_radix(digits, 16).ok().map(|value| Some(value.to_string()))
        }
        "khz" => {
            let khz = scan::quantity(text, &[("GHz", 6), ("MHz", 3), ("kHz", 0)])?;
            (text.split(' ').count() == 2).then(|| Some(format!("{khz:.0}")))
        }
        "kib" => memory(text, command),
        _ => None,
    }
}

/// KiB of a size that `free` prints: its unit stands behind it, or follows from the command.
fn memory(text: &str, command: Option<&Command>) -> Option<Option<String>> {
    const UNITS: [&str; 5] = ["B", "K", "M", "G", "T"];
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value = parse_decimal(digits).filter(|value| *value >= 0.0)?;
    let flags: Vec<&str> =
        command.iter().flat_map(|command| command.text.split_whitespace()).skip(1).collect();
    let suffix = text[digits.len()..].trim_end_matches(['i', 'B']);
    let asked = || {
        let short =
            flags.iter().filter_map(|flag| flag.strip_prefix('-')).filter(|flag| !flag.starts_with('-'));
        let letters: String = short.collect();
        UNITS.iter().position(|unit| letters.contains(&unit.to_lowercase())).or(command.map(|_| 1))
    };
    let at = match &text[digits.len()..] {
        "" => asked(),
        "B" => Some(0),
        _ => Some(UNITS.iter().position(|unit| *unit == suffix)?),
    };
    let base: f64 = if flags.contains(&"--si") { 1000.0 } else { 1024.0 };
    Some(at.map(|at| format!("{:.0}", value * base.powi(at as i32) / 1024.0)))
}

/// A template with the values in its places: `{a}`, of which `{a[3:0]}` are bits.
fn fill(template: &str, values: &Values) -> Option<String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, (inner, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let (name, bits) = inner.split_once('[').unwrap_or((inner, ""));
        let value = values.get(name)?.as_deref()?;
        filled.push_str(before);
        match bits.strip_suffix(']').and_then(|bits| bits.split_once(':')) {
            Some((high, low)) => {
                let (high, low): (u32, u32) = (high.parse().ok()?, low.parse().ok()?);
                let value = value.parse::<u64>().ok()? >> low;
                filled.push_str(&(value & ((1_u64 << (high - low + 1)) - 1)).to_string());
            }
            None => filled.push_str(value),
        }
        rest = after;
    }
    Some(filled + rest)
}

/// The tool whose patterns stand at this place.
pub(crate) const fn tool<const AT: usize>(name: &'static str) -> Tool {
    Tool {
        name,
        opens: |line, command| {
            let text = line.text.trim_start();
            let openers =
                || all()[AT].1.iter().filter(|pattern| pattern.opens && pattern.may_be(text, command));
            openers().next().is_some() && {
                let text = scan::words(text).join(" ");
                openers().any(|pattern| pattern.take(&text, command).is_some())
            }
        },
        reader: |command| {
            Box::new(PatternReader { at: AT, command: command.cloned(), ..PatternReader::default() })
        },
    }
}

#[derive(Default)]
struct PatternReader {
    at: usize,
    command: Option<Command>,
    values: Values,
    counted: Option<u32>,
    found: Found,
}

impl Reader for PatternReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = scan::words(line.text).join(" ");
        if text.is_empty() {
            return Fit::Between;
        }
        let command = self.command.as_ref();
        let fits = |pattern: &&Pattern| pattern.may_be(&text, command);
        let mut patterns = all()[self.at].1.iter().filter(fits);
        let Some((pattern, values)) =
            patterns.find_map(|pattern| Some((pattern, pattern.take(&text, command)?)))
        else {
            return Fit::Between;
        };
        if values.contains_key("cpu") {
            self.counted = None;
        }
        if pattern.counts {
            let next = self.counted.map_or(0, |last| last + 1);
            self.counted = Some(next);
            self.values.insert("k", Some(next.to_string()));
        }
        self.values.extend(values);
        for (path, value) in &pattern.files {
            let path = if path.starts_with('/') || path.contains(':') {
                (*path).to_owned()
            } else {
                format!("/sys/devices/system/cpu/cpu{{cpu}}/{path}")
            };
            match (fill(&path, &self.values), fill(value, &self.values)) {
                (Some(path), Some(value)) if path.starts_with("figure:") => {
                    if let Some(metric) = metrics::find(path.trim_start_matches("figure:")) {
                        published::take_figure(metric, &format!(" {value}"), line, sink);
                    }
                }
                (Some(path), Some(value)) if path.starts_with("log:") => sink.add_file(path, value, line),
                (Some(path), Some(value)) => self.found.add(&path, &value, line),
                (Some(path), None) => {
                    sink.withhold(path.trim_end_matches('+'), "its unit is not told".to_owned(), line);
                    break;
                }
                _ => {}
            }
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.found).hand_over(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_called_as_its_patterns_are() {
        let names: Vec<&str> = all().iter().map(|(name, _)| *name).collect();
        let tools: Vec<&str> = super::super::PATTERNS.iter().map(|tool| tool.name).collect();
        assert_eq!(names, tools);
    }

    #[test]
    fn sizes_of_memory_have_the_unit_that_was_asked_for() {
        let command = |text: &str| Some(Command { text: text.to_owned(), line: 1, folder: String::new() });
        for (text, asked, kib) in [
            ("16265488", Some("free"), Some("16265488")),
            ("15884", Some("free -m"), Some("16265216")),
            ("15884", Some("free -mt"), Some("16265216")),
            ("15", Some("free -g"), Some("15728640")),
            ("15Gi", Some("free -h"), Some("15728640")),
            ("15Gi", None, Some("15728640")),
            ("7.6G", Some("free -h"), Some("7969178")),
            ("0B", Some("free -h"), Some("0")),
            ("15884", None, None),
        ] {
            let said = memory(text, asked.and_then(command).as_ref());
            assert_eq!(said, Some(kib.map(str::to_owned)), "{text} {asked:?}");
        }
    }
}
