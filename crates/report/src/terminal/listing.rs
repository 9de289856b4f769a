//! Lists: glossary entries, measurements, reference machines and records.

use std::path::Path;

use record::glossary::Term;
use record::phrase::quote_word;
use record::store::Entry;
use record::{Coverage, Metric, State, Text};
use serde_json::{Value, json};

use super::screen::Screen;
use crate::paint::{Span, Tone};
use crate::table::{Field, Table};

/// A measurement that can be requested.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The measurement's name.
    pub name: &'static str,
    /// The metrics of the measurement's results.
    pub metrics: &'static [Metric],
    /// Maximum duration in seconds: in a quick run, in a normal run, in a run of only the requested measurements, and in a full run.
    pub seconds: [f64; 4],
    /// Maximum memory of the measurement's arrays, bytes.
    pub bytes: u64,
    /// Whether the measurement is available here.
    pub outlook: Coverage,
}

impl Listed {
    /// The measurement as JSON, for programs.
    pub fn to_json(&self) -> Value {
        let [quick, normal, alone, full] = self.seconds;
        json!({
            "name": self.name,
            "metrics": self.metrics,
            "seconds": {"quick": quick, "normal": normal, "alone": alone, "full": full},
            "bytes": self.bytes,
            "state": self.outlook.state,
            "code": self.outlook.reason.as_ref().and_then(Text::code),
            "reason": self.outlook.reason.as_ref().map(ToString::to_string),
            "remedy": self.outlook.remedy,
        })
    }
}

/// `linespeed explain` without a name: the name and the first sentence of every entry, by group.
pub fn glossary(screen: &mut Screen, words: &[Term]) {
    if !screen.is_terminal() {
        let mut table = Table::new("", None, ["name", "group", "what"]);
        for word in words {
            table.row([word.name, word.group, word.brief()].map(str::to_owned).to_vec());
        }
        return screen.table(&table, 0);
    }
    for group in words.chunk_by(|a, b| a.group == b.group) {
        let title = group.first().map_or("", |word| word.group);
        let brief = |word: &Term| word.brief().trim_end_matches('.').replace('`', "");
        screen.list(title, group.iter().map(|word| (word.name, brief(word))));
    }
}

/// `linespeed reference`: each machine's name and description. Machines that have no result comparable with a default run are listed only
/// if `all` is set, with the reason.
pub fn references(screen: &mut Screen, machines: &[(&str, &str, Option<&str>)], all: bool) {
    let shown = || machines.iter().filter(|(.., apart)| all || apart.is_none());
    let tell = |(name, title, apart): &(&str, &str, Option<&str>)| {
        let apart = apart.map_or(String::new(), |by| format!("; not comparable with a default run: {by}"));
        ((*name).to_owned(), format!("{title}{apart}"))
    };
    screen.list("", shown().map(tell));
    screen.blank();
    let apart = machines.len() - shown().count();
    if apart > 0 {
        screen.say(format!("More: --all ({apart} not comparable with a default run)"));
    }
    screen.paragraph(
        &[],
        Tone::Quiet,
        "To show one: linespeed reference NAME. To compare: linespeed compare . reference:NAME",
    );
}

const LISTED: [Field<Listed>; 7] = [
    ("measurement", |one| one.name.to_owned()),
    ("#quick", |one| seconds(one.seconds[0])),
    ("#normal", |one| seconds(one.seconds[1])),
    ("#alone", |one| seconds(one.seconds[2])),
    ("#full", |one| seconds(one.seconds[3])),
    ("#memory", |one| if one.bytes == 0 { "-".to_owned() } else { record::units::bytes(one.bytes) }),
    ("here", |one| {
        if one.outlook.state == State::Measured { "yes" } else { one.outlook.state.word() }.to_owned()
    }),
];

fn seconds(seconds: f64) -> String {
    if seconds > 0.0 { format!("{seconds:.1} s") } else { "-".to_owned() }
}

/// `linespeed list`: each measurement with its duration, memory and availability here.
pub fn measurements(screen: &mut Screen, listed: &[Listed]) {
    let mut table = Table::with_fields("Available measurements", None, &LISTED);
    listed.iter().for_each(|one| table.item(&LISTED, one));
    let sum = |depth: usize| format!("{:.1} s", listed.iter().map(|one| one.seconds[depth]).sum::<f64>());
    table.row(vec!["all".to_owned(), sum(0), sum(1), "-".to_owned(), sum(3)]);
    screen.table(&table, 0);
    let of = |one: &Listed| {
        let texts = [&one.outlook.reason, &one.outlook.remedy].into_iter().flatten();
        texts.map(|text| (format!("{}: ", one.name), text.to_string())).collect::<Vec<_>>()
    };
    let said: Vec<(String, String)> = listed.iter().flat_map(of).collect();
    let lines: usize = said.iter().map(|(name, text)| screen.lines_of(name, "  ", text)).sum();
    let each = if lines <= screen.left(0) { usize::MAX } else { 1 };
    for (name, text) in said {
        screen.clipped(each, |screen| screen.hanging(&name, "  ", text));
    }
    screen.blank();
    screen.paragraph(
        &[],
        Tone::Quiet,
        "Maximum time and memory on an idle machine, in a quick, normal and full run, and in a separate run (linespeed \
         run NAME). Details: linespeed explain NAME",
    );
}

/// The saved records, newest first. `newest`: the record that represents this machine.
pub fn records(screen: &mut Screen, entries: &[Entry], newest: Option<&Path>) {
    let mut table = Table::new("Records", None, ["record", "labels", "of"]);
    for entry in entries {
        let name = entry.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let here = newest.is_some_and(|newest| newest == entry.path).then(|| ".".to_owned());
        let labels: Vec<String> = here.into_iter().chain(entry.labels.iter().cloned()).collect();
        table.row(vec![name, labels.join(" "), what_it_is_of(entry)]);
    }
    if entries.is_empty() {
        screen.line(&[Span::plain("No records: linespeed saves one after each run.")]);
    } else {
        screen.table(&table, 0);
    }
}

/// The subject of a record: the words after the program's name, which show the command and its arguments.
fn what_it_is_of(entry: &Entry) -> String {
    // If the word is a path, only the file name is shown.
    let is_path = |word: &str| word.starts_with(['/', '.']) && !word.contains(char::is_whitespace);
    let name = |word: &str| word.rsplit('/').find(|name| !name.is_empty()).unwrap_or(word).to_owned();
    let short = |word: &String| quote_word(&if is_path(word) { name(word) } else { word.clone() });
    let words: Vec<String> = entry.command.iter().skip(1).map(short).collect();
    if words.is_empty() && entry.is_whole() { "everything".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;
    use crate::text::width;

    #[test]
    fn every_word_is_listed_once_within_the_width() {
        use record::glossary::{Glossary, Group};
        let all = Glossary::new([Group::metrics(), Group::inventory(), Group::words()]);
        for columns in [40, 80, 160] {
            let style = Style { width: columns, color: false, ..Style::default() };
            let text = Screen::draw(&style, |screen| glossary(screen, all.terms()));
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            // Sentences are complete and contain no backticks.
            assert!(!text.contains('`'), "{text}");
            let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for word in all.terms() {
                let brief = word.brief().trim_end_matches('.').replace('`', "");
                let brief = brief.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(columns < 80 || said.contains(&brief), "{brief} is not in\n{text}");
                assert!(text.lines().any(|line| line.trim_start().starts_with(word.name)), "{}", word.name);
            }
        }
    }

    #[test]
    fn what_stands_in_the_way_is_listed_with_its_remedy() {
        let listed = Listed {
            name: "wakeup",
            metrics: &[],
            seconds: [1.0, 8.0, 9.0, 60.0],
            bytes: 1 << 30,
            outlook: Coverage::degraded("wakeup", "no FIFO").with_remedy("run as root"),
        };
        let text = Screen::draw(&Style::default(), |screen| measurements(screen, &[listed]));
        for part in ["8.0 s", "1 GiB", "degraded", "no FIFO", "run as root"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
