//! Tools whose lines are described by patterns in `patterns.txt`: each pattern specifies results or quoted files of `/sys` and `/proc`.

use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

use record::command_line::CommandLine;
use record::metrics::Definition;

use super::super::published;
use super::Found;
use super::kinds::{assumed_command, value_of};
use crate::prompts;
use crate::reading::*;

/// The patterns of all tools.
const PATTERNS: &str = include_str!("patterns.txt");

/// The longest line that is matched with patterns, in bytes.
const LONGEST: usize = 1000;

/// The pattern of a line.
struct Pattern {
    opens: bool,
    counts: bool,
    /// Words that the command must contain or, after `!`, must not contain; empty if no command is required.
    command: Vec<&'static str>,
    parts: Vec<Part>,
    /// The first byte of matching lines, if it is the same for all of them.
    first: Option<u8>,
    /// The longest literal word in the pattern; lines without it cannot match.
    word: &'static str,
    /// Paths and their contents.
    files: Vec<(&'static str, &'static str)>,
    figures: Vec<Figure>,
}

enum Part {
    Words(&'static str),
    /// A placeholder's name, whether its value occurs only once in an output, and the kind of its value.
    Take(&'static str, bool, &'static str),
}

/// A result for a metric: the words of a published result, with placeholders.
struct Figure {
    metric: &'static Definition,
    words: Vec<String>,
}

/// A tool's patterns.
#[derive(Default)]
struct Known {
    /// Programs whose command line counts as the tool's own; any program if none is listed.
    programs: Vec<&'static str>,
    patterns: Vec<Pattern>,
    /// Possible first bytes of a first line without a command; empty if any byte is possible.
    starts: Vec<u8>,
    /// The results computed at the end of an output.
    figures: Vec<Figure>,
}

/// The patterns of each tool, in the order of `patterns.txt`.
fn all() -> &'static [Known] {
    static ALL: OnceLock<Vec<Known>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: Vec<Known> = Vec::new();
        for line in PATTERNS.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with('[') {
                all.push(Known::default());
            }
            let Some(tool) = all.last_mut().filter(|_| !line.is_empty() && !line.starts_with('[')) else {
                continue;
            };
            match (line.strip_prefix("of "), line.strip_prefix("= ")) {
                (Some(programs), _) => tool.programs = programs.split(' ').collect(),
                (_, Some(figure)) => tool.figures.extend(Figure::read(figure)),
                _ => tool.patterns.push(pattern(line)),
            }
        }
        for tool in &mut all {
            let openers = tool.patterns.iter().filter(|pattern| pattern.opens && pattern.command.is_empty());
            tool.starts = openers.map(|pattern| pattern.first).collect::<Option<_>>().unwrap_or_default();
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
    while let Some((before, inner, after)) = place(rest) {
        parts.extend(Some(before).filter(|before| !before.is_empty()).map(Part::Words));
        let (name, kind) = inner.split_once(':').unwrap_or(("", inner));
        let once = name.strip_suffix('!');
        parts.push(Part::Take(once.unwrap_or(name), once.is_some(), kind));
        rest = after;
    }
    parts.extend(Some(rest).filter(|rest| !rest.is_empty()).map(Part::Words));
    let (figures, files): (Vec<&str>, Vec<&str>) =
        files.split("; ").partition(|file| file.starts_with("figure:"));
    let files = files.into_iter().filter_map(|file| file.split_once(' ')).collect();
    let figures = figures.into_iter().filter_map(|figure| Figure::read(figure.trim_start_matches("figure:")));
    let first = match parts.first() {
        Some(Part::Words(words)) => words.bytes().next(),
        _ => None,
    };
    let (command, figures) = (command.split_whitespace().collect(), figures.collect());
    let own = parts.iter().filter_map(|part| if let Part::Words(words) = part { Some(*words) } else { None });
    let word = own.flat_map(|words| words.split(' ')).max_by_key(|word| word.len()).unwrap_or_default();
    Pattern { opens, counts, command, parts, first, word, files, figures }
}

/// The text before the first placeholder of a template, the placeholder, and the text after it.
fn place(template: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = template.split_once('{')?;
    let (inner, after) = rest.split_once('}')?;
    Some((before, inner, after))
}

/// The values of a pattern, by name; `None` if the unit is unknown.
type Values = BTreeMap<&'static str, Option<String>>;

impl Pattern {
    fn is_asked(&self, command: Option<&Command>) -> bool {
        let words: Vec<&str> =
            command.map_or(Vec::new(), |command| command.text.split_whitespace().collect());
        let has = |word: &str| {
            words.iter().any(|known| known.trim_start_matches("/usr/bin/").eq_ignore_ascii_case(word))
        };
        // Short options may be combined or joined to their value, and long options may be abbreviated.
        let has_option = |option: &str| {
            let letter = option.trim_start_matches('-');
            words.iter().any(|word| match word.strip_prefix("--") {
                Some(long) => long.starts_with(letter),
                None => word.starts_with('-') && word.contains(letter),
            })
        };
        self.command
            .iter()
            .all(|word| word.strip_prefix('!').map_or_else(|| has(word), |word| !has_option(word)))
    }

    /// Whether the beginning of a line may match this pattern; a quick check that excludes most lines.
    fn may_be(&self, text: &str, command: Option<&Command>) -> bool {
        if !self.command.is_empty() && command.is_none() {
            return false;
        }
        match self.parts.as_slice() {
            [Part::Words(words), ..] => text.starts_with(words.split(' ').next().unwrap_or_default()),
            _ => (!self.word.is_empty() || text.len() <= 40) && text.contains(self.word),
        }
    }

    fn take(&self, text: &str, command: Option<&Command>) -> Option<Values> {
        let mut values = Values::new();
        (text.len() <= LONGEST && self.is_asked(command) && take(&self.parts, text, command, &mut values))
            .then_some(values)
    }

    /// The names of values that may occur only once.
    fn once(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Take(name, true, _) => Some(*name),
            _ => None,
        })
    }
}

/// Whether the parts match all of `text` (each space in a part matches exactly one space); adds the values to `values`.
fn take(parts: &[Part], text: &str, command: Option<&Command>, values: &mut Values) -> bool {
    let Some((first, rest)) = parts.split_first() else { return text.is_empty() };
    let (name, kind) = match first {
        Part::Words(words) => {
            return text.strip_prefix(words).is_some_and(|text| take(rest, text, command, values));
        }
        Part::Take(name, _, kind) => (*name, *kind),
    };
    let mut ends = match rest.first() {
        Some(Part::Words(words)) => text.match_indices(words).map(|(at, _)| at).collect(),
        _ => vec![text.len()],
    };
    // A part that accepts any text matches as much text as possible.
    if matches!(kind, "r" | "command") {
        ends.reverse();
    }
    ends.into_iter().any(|end| {
        // Parsing a command line takes much longer than matching the rest, so the rest is matched first.
        let costly = kind == "command";
        if costly && !take(rest, &text[end..], command, values) {
            return false;
        }
        let Some(value) = value_of(kind, &text[..end], command) else { return false };
        let fits = costly || take(rest, &text[end..], command, values);
        if fits && !name.is_empty() {
            values.insert(name, value);
            // The command line may begin with a wrapper program.
            if kind == "command"
                && let Some(under) = record::command_line::conditions(&text[..end])
            {
                values.insert("under", Some(under));
            }
        }
        fits
    })
}

impl Figure {
    /// `METRIC VALUE UNIT key=value …`.
    fn read(text: &str) -> Option<Self> {
        let (metric, words) = text.split_once(' ')?;
        Some(Self { metric: metrics::find(metric)?, words: published::split_words(words).ok()? })
    }

    /// The words with their values filled in, without the words whose placeholder has no value. `None` if the main value is missing; an
    /// error if a placeholder's value is incomplete.
    fn fill(&self, values: &Values) -> Option<Result<Vec<String>, ()>> {
        let mut words = Vec::new();
        for word in &self.words {
            // `?name:WORD` is used if the name has a value, `!name:WORD` if it has none.
            let has = |names: &str| names.split('|').any(|name| values.contains_key(name));
            let asks = |sign: char| word.strip_prefix(sign).and_then(|word| word.split_once(':'));
            let word = match (asks('?'), asks('!')) {
                (Some((names, word)), _) if has(names) => word,
                (_, Some((names, word))) if !has(names) => word,
                (None, None) => word,
                _ => continue,
            };
            match fill(word, values) {
                Ok(word) => words.push(word),
                Err(Missing::Unit) => return Some(Err(())),
                Err(Missing::All) if words.is_empty() => return None,
                Err(Missing::All) => {}
            }
        }
        Some(Ok(words))
    }

    /// The name of the placeholder for the main value.
    fn value(&self) -> &str {
        self.words.first().and_then(|word| place(word)).map_or("", |(_, name, _)| name)
    }
}

/// What is missing from a value: all of it, or its unit.
enum Missing {
    All,
    Unit,
}

/// A template with its placeholders filled in. `{a}` is a value, and `{a[3:0]}` some of its bits. `{a|b|=c}` is `b` if `a` has no value, or
/// the word c if neither has a value.
fn fill(template: &str, values: &Values) -> Result<String, Missing> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, inner, after)) = place(rest) {
        let (names, bits) = inner.split_once('[').unwrap_or((inner, ""));
        let found = names.split('|').find_map(|name| match name.strip_prefix('=') {
            Some(word) => Some(Some(word)),
            None => values.get(name).map(Option::as_deref),
        });
        let value = found.ok_or(Missing::All)?.ok_or(Missing::Unit)?;
        filled.push_str(before);
        match bits.strip_suffix(']').and_then(|bits| bits.split_once(':')) {
            Some(range) => filled.push_str(&bits_of(value, range).ok_or(Missing::All)?.to_string()),
            None => filled.push_str(value),
        }
        rest = after;
    }
    Ok(filled + rest)
}

/// Bits of a number, from the highest to the lowest given position.
fn bits_of(value: &str, (high, low): (&str, &str)) -> Option<u64> {
    let (high, low): (u32, u32) = (high.parse().ok()?, low.parse().ok()?);
    Some(value.parse::<u64>().ok()? >> low & ((1_u64 << (high - low + 1)) - 1))
}

/// Labels derived from the command line above the output.
fn of_command(command: Option<&Command>, programs: &[&str]) -> Values {
    let line = match programs {
        // A line that cannot be a command is prose.
        [] => command
            .filter(|command| prompts::may_be_command(&command.text))
            .map(|command| CommandLine::read(&command.text)),
        programs => command.map(|command| CommandLine::above(Some(&command.text), programs)),
    };
    let line = line.unwrap_or_default();
    // If perf ran the command, the measured time includes perf itself.
    let name = if line.perf.is_some() { format!("perf stat {}", line.name) } else { line.name.clone() };
    let processes = line.option(&["-P"]).and_then(parse_whole).unwrap_or(1);
    let size = line.option(&["-M"]).and_then(|size| record::units::parse_bytes(size).ok());
    let known = [
        ("workload", Some(name).filter(|_| !line.name.is_empty())),
        ("cpu", line.cpu().map(|cpu| cpu.to_string())),
        ("node", line.node().map(|node| node.to_string())),
        ("cpus", line.cpus.as_ref().map(ToString::to_string)),
        ("threads", Some(processes.to_string())),
        ("processes", Some(processes.to_string()).filter(|_| processes > 1)),
        ("size", size.map(|size| size.to_string())),
        // `-t` accesses memory in random order; prefetchers follow the default stride.
        ("random", Some(if line.has("-t") { " -t" } else { "" }.to_owned())),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name, Some(value?)))).collect()
}

/// The tool whose patterns have this index.
pub(crate) const fn tool<const AT: usize>(name: &'static str) -> Tool {
    Tool {
        name,
        opens: |line, command| {
            let text = line.text.trim_start();
            // A quick check that excludes most patterns.
            let may_open = |pattern: &&Pattern| {
                pattern.opens
                    && pattern.first.is_none_or(|first| text.as_bytes().first() == Some(&first))
                    && pattern.may_be(text, command)
            };
            let known = &all()[AT];
            let openers = || known.patterns.iter().filter(may_open);
            let starts = known.starts.is_empty()
                || command.is_some()
                || text.bytes().next().is_some_and(|first| known.starts.contains(&first));
            starts && openers().next().is_some() && {
                let text = scan::words(text).join(" ");
                openers().any(|pattern| pattern.take(&text, command).is_some())
            }
        },
        reader: |command| {
            let known = &all()[AT];
            let makes = !known.figures.is_empty() || !known.programs.is_empty();
            let values = if makes { of_command(command, &known.programs) } else { Values::new() };
            let (command, counted) = (command.cloned(), None);
            let (found, seen, made) = Default::default();
            Box::new(PatternReader { known, command, values, counted, found, seen, made })
        },
    }
}

struct PatternReader {
    known: &'static Known,
    command: Option<Command>,
    values: Values,
    counted: Option<u32>,
    found: Found,
    /// The origins of values that may occur only once.
    seen: BTreeMap<&'static str, PendingLine>,
    /// The results of this output, by metric and labels.
    made: HashSet<String>,
}

impl PatternReader {
    /// Reads the results of a line. Returns false if a result is repeated, because the line then belongs to another output.
    fn figures(&mut self, pattern: &Pattern, line: Line, sink: &mut Sink) -> bool {
        for figure in &pattern.figures {
            let m = match figure.fill(&self.values) {
                Some(Ok(words)) => published::parse_words(figure.metric, &words),
                Some(Err(())) => Err("its unit is unknown".to_owned()),
                None => continue,
            };
            match m {
                Ok(m) if pattern.opens && !self.made.insert(format!("{} {:?}", m.metric, m.labels)) => {
                    return false;
                }
                // UnixBench repeats its results in a table.
                Ok(m) if !pattern.opens && self.made.contains(&format!("{} {:?}", m.metric, m.labels)) => {}
                m => published::take(figure.metric, m, line, sink),
            }
        }
        true
    }
}

impl Reader for PatternReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = scan::words(line.text).join(" ");
        if text.is_empty() {
            return Fit::Between;
        }
        self.command = assumed_command(&text, self.command.as_ref()).or(self.command.take());
        let command = self.command.as_ref();
        let fits = |pattern: &&Pattern| pattern.may_be(&text, command);
        let mut patterns = self.known.patterns.iter().filter(fits);
        let Some((pattern, values)) =
            patterns.find_map(|pattern| Some((pattern, pattern.take(&text, command)?)))
        else {
            return Fit::Between;
        };
        if pattern.once().any(|name| self.seen.contains_key(name)) {
            return Fit::Over;
        }
        self.seen.extend(pattern.once().map(|name| (name, line.into())));
        // A second occurrence of the header or of a CPU begins another output.
        let cpu = values.get("cpu").cloned().flatten();
        let begins = pattern.opens && (cpu.is_some() || matches!(pattern.parts[..], [Part::Words(_)]));
        if begins && pattern.figures.is_empty() && !self.made.insert(format!("{pattern:p} {cpu:?}")) {
            return Fit::Over;
        }
        if cpu.is_some() {
            self.counted = None;
        }
        if pattern.counts {
            let next = self.counted.map_or(0, |last| last + 1);
            self.counted = Some(next);
            self.values.insert("k", Some(next.to_string()));
        }
        self.values.extend(values);
        if let Some(Some(version)) = self.values.remove("version") {
            sink.version(&version);
        }
        if !self.figures(pattern, line, sink) {
            return Fit::Over;
        }
        for (path, value) in &pattern.files {
            let (asked, path) =
                path.strip_prefix('?').and_then(|path| path.split_once(':')).unwrap_or(("", path));
            if !asked.is_empty() && self.values.get(asked).is_none_or(Option::is_none) {
                continue;
            }
            let path = if path.starts_with('/') || path.contains(':') {
                path.to_owned()
            } else {
                format!("/sys/devices/system/cpu/cpu{{cpu}}/{path}")
            };
            match (fill(&path, &self.values), fill(value, &self.values)) {
                (Ok(path), Ok(value)) if path.starts_with("log:") => sink.add_file(path, value, line),
                (Ok(path), Ok(value)) => self.found.add(&path, &value, line),
                (Ok(path), Err(_)) => {
                    sink.withhold(path.trim_end_matches('+'), "its unit is unknown or too large", line);
                    break;
                }
                _ => {}
            }
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.found).hand_over(sink);
        let under = self.values.remove("under").flatten();
        sink.under = sink.under.take().or(under);
        let seen = |figure: &'static Figure| Some((self.seen.get(figure.value())?, figure));
        let mut figures: Vec<_> = self.known.figures.iter().filter_map(seen).collect();
        figures.sort_by_key(|(line, _)| line.line().number);
        for (line, figure) in figures {
            if let Some(Ok(words)) = figure.fill(&self.values) {
                let m = published::parse_words(figure.metric, &words);
                published::take(figure.metric, m, line.line(), sink);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_the_table_is_supported() {
        let names = PATTERNS.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        let tools: Vec<&str> = super::super::PATTERNS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.collect::<Vec<_>>(), tools);
        let lines = PATTERNS.lines().filter(|line| !line.starts_with('#'));
        let written: usize =
            lines.map(|line| line.matches("figure:").count() + usize::from(line.starts_with("= "))).sum();
        let made = all().iter().map(|known| {
            known.figures.len() + known.patterns.iter().map(|pattern| pattern.figures.len()).sum::<usize>()
        });
        assert_eq!(made.sum::<usize>(), written, "each figure has a metric and whole words");
    }
}
