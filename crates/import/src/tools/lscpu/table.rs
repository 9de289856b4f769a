//! The tables of lscpu with a row a CPU: `-e` and `-p`.

use crate::facts::{self, CpuRow, parse_cache_name};
use crate::reading::*;

/// The columns beside the caches, in lower case.
const COLUMNS: &str = "bogomips|cpu|core|socket|cluster|node|book|drawer|polarization|address|configured|online|\
    microcode|mhz|scalmhz%|maxmhz|minmhz|modelname|cache|";

/// `lscpu -e`.
pub(crate) const LSCPU_EXTENDED: Tool = Tool {
    name: "lscpu -e",
    opens: |line, _| Form::Extended.head(line.text).is_some(),
    reader: |_| Box::new(Table { form: Form::Extended, columns: Vec::new() }),
};

/// `lscpu -p`.
pub(crate) const LSCPU_PARSABLE: Tool = Tool {
    name: "lscpu -p",
    opens: |line, _| {
        line.text.starts_with("# The following is the parsable format")
            || Form::Parsable.head(line.text).is_some()
    },
    reader: |_| Box::new(Table { form: Form::Parsable, columns: Vec::new() }),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Extended,
    Parsable,
}

impl Form {
    /// The columns that a head names, in lower case: all are known, so that none is misread. `-p` has an empty one before the
    /// caches.
    fn head(self, text: &str) -> Option<Vec<String>> {
        let words: Vec<&str> = match self {
            Form::Parsable => text.strip_prefix('#')?.split(',').map(str::trim).collect(),
            Form::Extended => text.split_whitespace().collect(),
        };
        let is_known = |name: &String| {
            scan::is_one_of(name, COLUMNS) || name.split(':').all(|name| parse_cache_name(name).is_some())
        };
        (words.len() > 1 && words.contains(&"CPU")).then_some(())?;
        let columns: Vec<String> = words.into_iter().map(str::to_ascii_lowercase).collect();
        columns.iter().all(is_known).then_some(columns)
    }

    /// The cells of a row by their columns; where one is gone, or two have become one, nothing says which.
    fn cells<'a>(self, columns: &'a [String], text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
        let mut cells: Vec<&str> = match self {
            Form::Parsable => text.split(',').map(str::trim).collect(),
            Form::Extended => text.split_whitespace().collect(),
        };
        // A model's name has blanks.
        let named = columns.iter().position(|column| column == "modelname");
        if let (Some(at), Some(more)) = (named, cells.len().checked_sub(columns.len())) {
            cells.drain(at..at + more);
        }
        (cells.len() == columns.len()).then(|| columns.iter().map(String::as_str).zip(cells).collect())
    }
}

struct Table {
    form: Form,
    columns: Vec<String>,
}

impl Reader for Table {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if self.columns.is_empty() || self.form == Form::Parsable && text.starts_with('#') {
            let comment = self.columns.is_empty() && text.starts_with('#');
            return match self.form.head(text) {
                Some(columns) => {
                    self.columns = columns;
                    Fit::Taken
                }
                None if comment => Fit::Taken,
                None => Fit::Over,
            };
        }
        if text.is_empty() {
            return Fit::Between;
        }
        let Some(cells) = self.form.cells(&self.columns, line.text) else {
            if !sink.draft.facts.rows.is_empty() && text.starts_with(|c: char| c.is_ascii_digit()) {
                sink.draft.facts.broken_row = Some(sink.origin(line));
            }
            return Fit::Over;
        };
        let of_all = self.form == Form::Extended;
        if take_cpu(&cells, of_all, line, sink) { Fit::Taken } else { Fit::Over }
    }
}

/// What a row has in a column.
fn find<'a>(cells: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    cells.iter().find(|(column, _)| *column == name).map(|(_, cell)| *cell)
}

/// A row of a CPU, by the names of the columns in lower case; whether it is one. `of_all` tables have CPUs offline, too.
fn take_cpu(cells: &[(&str, &str)], of_all: bool, line: Line, sink: &mut Sink) -> bool {
    let number = |name: &str| find(cells, name)?.parse::<u32>().ok();
    let Some(cpu) = number("cpu").filter(|cpu| *cpu <= record::cpu_list::MAX_CPU) else { return false };
    // `-e` has the caches in one column, `-p` in one each.
    let pairs = cells.iter().flat_map(|(names, numbers)| names.split(':').zip(numbers.split(':')));
    let hz = |name: &str| find(cells, name).and_then(facts::parse_mhz);
    sink.draft.facts.rows.push(CpuRow {
        cpu,
        core: number("core"),
        socket: number("socket"),
        cluster: number("cluster"),
        node: number("node"),
        caches: pairs
            .filter_map(|(name, number)| Some((parse_cache_name(name)?, number.parse().ok()?)))
            .collect(),
        online: !find(cells, "online").is_some_and(|word| scan::is_one_of(word, "no|N|n|nein|non|否")),
        of_all,
        hz: (hz("maxmhz"), hz("minmhz")),
        origin: sink.origin(line),
    });
    sink.note(format!("machine.cpus[{cpu}]"), line);
    true
}
