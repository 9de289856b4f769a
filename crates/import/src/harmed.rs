//! Damage to a text in transit (truncated, joined to another text, quoted, wrapped) may remove results, but must never
//! change a result.

use std::collections::BTreeSet;

use crate::real::{Figures, Text, committed, read};

/// One kind of damage to a text. Positions are given as shares of its length.
#[derive(Clone, Debug)]
enum Harm {
    /// The lines at a position are missing.
    Lines(u16, usize),
    /// The text ends at a position.
    Head(u16),
    /// The text begins at a position.
    Tail(u16),
    /// Another text follows or precedes it.
    Joined(usize, bool),
    /// Blanks at the ends of lines are missing, or blanks between words are changed.
    Blanks(&'static str),
    /// Lines begin with this prefix.
    Quoted(&'static str),
    /// Lines have these line ends.
    LineEnds(&'static str),
    /// A mail program broke lines at words.
    Wrapped(usize),
    /// A terminal broke lines at its width.
    Broken(usize),
}

/// The lines of a text, each with its line end.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn place(all: usize, at: u16) -> usize {
    all * usize::from(at) / (usize::from(u16::MAX) + 1)
}

fn each_line(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| change(line) + "\n").collect()
}

/// Another text from the same machine, but not another version of the same output.
fn fitting(name: &str, which: usize) -> Option<&'static Text> {
    fn machine(name: &str) -> &str {
        name.split_once("-of-").map_or("", |(_, machine)| machine)
    }
    let fits = |text: &&Text| machine(&text.name) == machine(name) && text.name != name;
    let all: Vec<&Text> = committed().iter().filter(fits).collect();
    all.get(which % all.len().max(1)).copied()
}

/// A line split into pieces of at most this many characters, at blanks if `at_words`.
fn pieces(line: &str, margin: usize, at_words: bool) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while rest.chars().count() > margin {
        let limit = rest.char_indices().nth(margin).map_or(rest.len(), |(at, _)| at);
        let blank = rest[..limit].rfind(' ').filter(|at| at_words && !rest[..*at].trim().is_empty());
        let at = if at_words {
            blank.or_else(|| rest[limit..].find(' ').map(|at| at + limit))
        } else {
            Some(limit)
        };
        let Some(at) = at else { break };
        out.push_str(&rest[..at]);
        out.push('\n');
        rest = if at_words { rest[at..].trim_start() } else { &rest[at..] };
    }
    out + rest
}

impl Harm {
    /// The damaged text, and the other text, if any, whose values may also be read from it.
    fn befall(&self, name: &str, text: &str) -> (String, Option<&'static Text>) {
        let after = match self {
            Harm::Lines(at, count) => {
                let lines = lines(text);
                // Three consecutive lines of JSON may contain the data of one field and the name of the next.
                let count = if text.starts_with('{') { 1 } else { *count };
                let from = place(lines.len(), *at);
                let gone = from..(from + count).min(lines.len());
                lines.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, line)| *line).collect()
            }
            Harm::Head(at) => text[..text.floor_char_boundary(place(text.len(), *at))].to_owned(),
            Harm::Tail(at) => {
                let lines = lines(text);
                lines[place(lines.len(), *at)..].concat()
            }
            Harm::Joined(which, behind) => {
                let Some(other) = fitting(name, *which) else { return (text.to_owned(), None) };
                let Ok(more) = std::str::from_utf8(&other.bytes) else { return (text.to_owned(), None) };
                let joined = if *behind { format!("{text}\n{more}") } else { format!("{more}\n{text}") };
                return (joined, Some(other));
            }
            Harm::Blanks("\u{a0}") => text.replace(' ', "\u{a0}"),
            Harm::Blanks("\t") => text.replace("        ", "\t"),
            Harm::Blanks(_) => each_line(text, |line| line.trim_end().to_owned()),
            Harm::Quoted(mark) => each_line(text, |line| format!("{mark}{line}")),
            Harm::LineEnds(end) => text.replace('\n', end),
            Harm::Wrapped(margin) => each_line(text, |line| pieces(line, *margin, true)),
            Harm::Broken(margin) => each_line(text, |line| pieces(line, *margin, false)),
        };
        (after, None)
    }
}

/// The position of a value in a record, reduced to the parts that the text has on the same line as the value. For a metric, these include
/// its labels, which must be among the labels of a result from the undamaged text. In lists, only numbers identify an entry.
fn parts(place: &str) -> (String, BTreeSet<String>) {
    let exact = ["machine.cpus[", "machine.nodes["];
    if let Some((list, which)) =
        place.split_once('[').filter(|_| !exact.iter().any(|list| place.starts_with(list)))
    {
        // The CPUs of a cache and the name of a slot are on other lines.
        let kind = which.split_once(" of ").map_or("", |(kind, _)| kind);
        return (format!("{list} {kind}"), BTreeSet::new());
    }
    if place.starts_with("machine") || place.starts_with("state") {
        return (place.to_owned(), BTreeSet::new());
    }
    let (metric, labels) = place.split_once(' ').unwrap_or((place, ""));
    // Names may contain anything.
    let named = |label: &&str| {
        label.contains('=') && !["workload=", "event=", "--"].iter().any(|start| label.starts_with(start))
    };
    let labels = labels.split(' ').filter(named);
    (metric.to_owned(), labels.map(str::to_owned).collect())
}

/// Whether a value is the same as in the complete text, or a truncated form of it.
fn is_value(read: &str, whole: &str) -> bool {
    if let (Ok(read), Ok(whole)) = (read.parse::<f64>(), whole.parse::<f64>()) {
        // If a table is lost, its total may be computed from other lines, without the table's rounding.
        return (read - whole).abs() <= whole.abs() * 1e-6;
    }
    let is_text = read.parse::<f64>().is_err() && read.contains(char::is_alphabetic);
    read == whole || is_text && whole.starts_with(read.trim_end_matches('…').trim())
}

/// The results of a damaged text that differ from those of undamaged texts, one per line. Doubtful results do not count.
fn others(harmed: &Figures, whole: &[Figures], harm: &Harm) -> Vec<String> {
    let fewer_lines = matches!(harm, Harm::Lines(..) | Harm::Head(_) | Harm::Tail(_));
    // linespeed assigns the values of these fields in reading order, or counts entries.
    let counted = |place: &str, name: &str| {
        place == "machine.counts"
            || matches!(
                name,
                "core" | "package" | "channel" | "memory_slots" | "memory_bytes" | "firmware" | "board"
            )
            || place.contains("mitigations")
    };
    let known: Vec<_> = whole
        .iter()
        .flat_map(|figures| &figures.0)
        .map(|((place, name), values)| (parts(place), name.trim_end_matches('?'), values))
        .collect();
    let mut all = Vec::new();
    for ((place, name), values) in harmed.0.iter().filter(|((_, name), _)| !name.ends_with('?')) {
        let (list, labels) = parts(place);
        // Two differences are accepted: the last line may be truncated (which is reported), and sums over threads may be incomplete.
        let said = matches!(harm, Harm::Head(_)) && place.starts_with("machine")
            || fewer_lines && place.starts_with("wakeup.");
        // If two texts are joined, they may show which CPUs share a cache.
        let shared =
            matches!(harm, Harm::Joined(..)) && place.starts_with("machine.caches") && name != "bytes";
        if counted(place, name) || said || shared {
            continue;
        }
        for value in values {
            let mut same = known
                .iter()
                .filter(|((other, of), what, _)| *what == name && *other == list && labels.is_subset(of));
            if !same.any(|(_, _, values)| values.iter().any(|whole| is_value(value, whole))) {
                all.push(format!("{place} {name}={value}"));
            }
        }
    }
    all
}

/// All texts in UTF-8, except those whose results are sums or medians over all lines. With fewer lines, such results differ, but they are
/// correct for a shorter run.
fn texts_in_utf8() -> Vec<(&'static Text, &'static str)> {
    let of_lines = |text: &&Text| ["perf-I", "cyclictest-v"].iter().any(|name| text.name.contains(name));
    committed()
        .iter()
        .filter(|text| !of_lines(text))
        .filter_map(|text| Some((text, std::str::from_utf8(&text.bytes).ok()?)))
        .collect()
}

fn check(text: &Text, content: &str, harm: &Harm) -> Result<(), String> {
    let (after, more) = harm.befall(&text.name, content);
    let whole: Vec<Figures> = std::iter::once(text).chain(more).map(|text| read(&text.bytes)).collect();
    let wrong = others(&read(after.as_bytes()), &whole, harm);
    if wrong.is_empty() {
        return Ok(());
    }
    let joined = more.map_or(String::new(), |more| format!(" ({})", more.name));
    Err(format!("{} after {harm:?}{joined}:\n  {}", text.name, wrong[..wrong.len().min(4)].join("\n  ")))
}

/// Every kind of damage, at this many positions if it has a position.
fn harms(places: u32, seed: usize) -> Vec<Harm> {
    let at = |count: u32| (0..count).map(move |step| (step * 65_535 / count) as u16);
    let each = |at: u16| [Harm::Lines(at, 1), Harm::Lines(at, 3), Harm::Head(at)];
    let mut all: Vec<Harm> = at(places).flat_map(each).collect();
    all.extend(at(places / 2).map(Harm::Tail));
    all.extend((0..places as usize / 3).map(|step| Harm::Joined(step * 37 + seed, step % 2 == 0)));
    all.extend([" ", "\t", "\u{a0}"].map(Harm::Blanks));
    all.extend(["> ", ">> ", "    ", "\t", "| "].map(Harm::Quoted));
    all.extend(["\r\n", "\n\n", "  \n"].map(Harm::LineEnds));
    all.extend(
        [50, 64, 72, 80, 100].iter().flat_map(|margin| [Harm::Wrapped(*margin), Harm::Broken(*margin)]),
    );
    all
}

/// `./test everything` tries every kind of damage at twice as many positions; `./test` tests each text with a different part of all
/// damage.
#[test]
fn a_text_that_came_to_harm_tells_no_other_figure() {
    let everything = std::env::var_os("LINESPEED_TEST_EVERYTHING").is_some_and(|value| !value.is_empty());
    let (places, share) = if everything { (48, 1) } else { (24, 24) };
    let mut found = std::collections::BTreeMap::new();
    for (number, (text, content)) in texts_in_utf8().into_iter().enumerate() {
        for (at, harm) in harms(places, number).iter().enumerate() {
            if (at + number) % share != 0 {
                continue;
            }
            if let Err(wrong) = check(text, content, harm) {
                let kind = std::mem::discriminant(harm);
                found.entry(format!("{} {kind:?}", text.name)).or_insert(wrong);
            }
        }
    }
    let wrong: Vec<String> = found.into_values().collect();
    assert!(wrong.is_empty(), "{} texts and kinds of damage:\n{}", wrong.len(), wrong.join("\n"));
}
