//! The tables of lscpu: `-e` and `-p` (a row a CPU), `-C` (a row a kind of cache).

use std::ops::Range;

use crate::cache_size::Printed;
use crate::facts::{self, CacheRow, CpuRow};
use crate::reading::*;

/// Columns of `-e` and `-p` beside the caches, in lower case.
const CPU_COLUMNS: &str = "bogomips|cpu|core|socket|cluster|node|book|drawer|polarization|address|configured|online|\
    microcode|mhz|scalmhz%|maxmhz|minmhz|modelname|cache|";

/// Those of `-C`.
const CACHE_COLUMNS: &str =
    "name|one-size|all-size|ways|type|level|alloc-policy|write-policy|phy-line|sets|coherency-size";

/// `lscpu -e`.
pub(crate) const LSCPU_EXTENDED: Tool = Tool {
    name: "lscpu -e",
    opens: |line, _| extended(line.text).is_some(),
    reader: |_| Box::new(Cpus { columns: Vec::new(), commas: false }),
};

/// `lscpu -p`.
pub(crate) const LSCPU_PARSABLE: Tool = Tool {
    name: "lscpu -p",
    opens: |line, _| {
        line.text.starts_with("# The following is the parsable format") || parsable(line.text).is_some()
    },
    reader: |_| Box::new(Cpus { columns: Vec::new(), commas: true }),
};

/// The columns that a head names, in lower case; `-p` has an empty one before the caches.
fn columns<'a>(names: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let columns: Vec<String> = names.map(str::to_ascii_lowercase).collect();
    let known = |column: &String| {
        scan::is_one_of(column, CPU_COLUMNS) || column.split(':').all(|name| cache(name).is_some())
    };
    let cpu = columns.len() > 1 && columns.iter().any(|column| column == "cpu");
    (cpu && columns.iter().all(known)).then_some(columns)
}

/// The columns of `lscpu -e`, whose heads are in capitals.
fn extended(text: &str) -> Option<Vec<String>> {
    let names = || text.split_whitespace();
    names().any(|name| name == "CPU").then(|| columns(names())).flatten()
}

/// The columns of `lscpu -p`.
fn parsable(text: &str) -> Option<Vec<String>> {
    columns(text.strip_prefix('#')?.split(',').map(str::trim))
}

struct Cpus {
    columns: Vec<String>,
    commas: bool,
}

impl Reader for Cpus {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if self.commas && text.starts_with('#') {
            let begun = !self.columns.is_empty();
            return match parsable(text) {
                None if begun => Fit::Over,
                None => Fit::Taken,
                Some(columns) => {
                    self.columns = columns;
                    Fit::Taken
                }
            };
        }
        if self.columns.is_empty() {
            let Some(columns) = extended(text) else { return Fit::Over };
            self.columns = columns;
            return Fit::Taken;
        }
        if text.is_empty() {
            return Fit::Between;
        }
        let mut cells: Vec<&str> = match self.commas {
            true => text.split(',').map(str::trim).collect(),
            false => text.split_whitespace().collect(),
        };
        // A model's name has blanks.
        let named = self.columns.iter().position(|column| column == "modelname");
        if let (Some(at), Some(more)) = (named, cells.len().checked_sub(self.columns.len())) {
            cells.drain(at..at + more);
        }
        // Where a cell is gone, or two have become one, nothing says which.
        if cells.len() != self.columns.len() {
            if text.starts_with(|c: char| c.is_ascii_digit()) && !sink.draft.facts.rows.is_empty() {
                sink.draft.facts.broken_row = Some(sink.origin(line));
            }
            return Fit::Over;
        }
        let pairs: Vec<(&str, &str)> = self.columns.iter().map(String::as_str).zip(cells).collect();
        if cpu(&pairs, !self.commas, line, sink) { Fit::Taken } else { Fit::Over }
    }
}

/// A row of a CPU, by the names of the columns in lower case; whether it is one. `of_all` tables have CPUs offline, too.
pub(super) fn cpu<T: AsRef<str>>(cells: &[(T, T)], of_all: bool, line: Line, sink: &mut Sink) -> bool {
    let cell =
        |name: &str| cells.iter().find(|(column, _)| column.as_ref() == name).map(|(_, cell)| cell.as_ref());
    let number = |name: &str| cell(name)?.parse::<u32>().ok();
    let Some(cpu) = number("cpu").filter(|cpu| *cpu <= record::cpu_list::MAX_CPU) else { return false };
    // `-e` has the caches in one column, `-p` in one each.
    let of_caches = |(names, numbers): &'_ (T, T)| {
        let pairs = names.as_ref().split(':').zip(numbers.as_ref().split(':'));
        pairs.filter_map(|(name, number)| Some((cache(name)?, number.parse().ok()?))).collect::<Vec<_>>()
    };
    let hz = |name: &str| cell(name).and_then(facts::parse_mhz);
    sink.draft.facts.rows.push(CpuRow {
        cpu,
        core: number("core"),
        socket: number("socket"),
        cluster: number("cluster"),
        node: number("node"),
        caches: cells.iter().flat_map(of_caches).collect(),
        online: !cell("online").is_some_and(|word| scan::is_one_of(word, "no|N|n|nein|non|否")),
        of_all,
        hz: (hz("maxmhz"), hz("minmhz")),
        origin: sink.origin(line),
    });
    sink.note(format!("machine.cpus[{cpu}]"), line);
    true
}

fn cache(name: &str) -> Option<String> {
    facts::parse_cache_name(name).map(|_| name.replace('l', "L"))
}

/// `lscpu -C`.
pub(crate) const LSCPU_CACHES: Tool = Tool {
    name: "lscpu -C",
    opens: |line, _| caches_head(line.text).is_some(),
    reader: |_| Box::new(Caches { columns: Vec::new() }),
};

/// A column, and where it stands in the head, bytes from its first.
type Column = (Range<usize>, String);

struct Caches {
    columns: Vec<Column>,
}

/// The words of a row, each with where it stands, bytes from the first.
fn places(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let text = text.trim_start();
    let place = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    text.split_whitespace().map(move |word| (place(word)..place(word) + word.len(), word))
}

/// The cells of a row by their columns. One that has no word is left out where every other begins or ends where its column
/// does: kernels of Arm tell no partitions of a line.
fn in_columns<'a>(columns: &'a [Column], text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let cells: Vec<(Range<usize>, &str)> = places(text).collect();
    let whole = cells.len() == columns.len();
    let mut left = columns.iter();
    let mut column = |place: &Range<usize>| {
        let stands = |(head, _): &&Column| whole || head.start == place.start || head.end == place.end;
        left.find(stands).map(|(_, name)| name.as_str())
    };
    cells.iter().map(|(place, cell)| Some((column(place)?, *cell))).collect()
}

/// The columns of `lscpu -C`, in lower case: all are known, so that none is misread.
fn caches_head(text: &str) -> Option<Vec<Column>> {
    let columns: Vec<Column> = places(text).map(|(place, word)| (place, word.to_ascii_lowercase())).collect();
    let all = columns.iter().all(|(_, column)| scan::is_one_of(column, CACHE_COLUMNS));
    let has = |name: &str| columns.iter().any(|(_, column)| column == name);
    (all && has("name") && has("one-size")).then_some(columns)
}

impl Reader for Caches {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        if self.columns.is_empty() {
            let Some(columns) = caches_head(line.text) else { return Fit::Over };
            self.columns = columns;
            return Fit::Taken;
        }
        let Some(first) = line.text.split_whitespace().next() else { return Fit::Between };
        let cells = in_columns(&self.columns, line.text);
        let Some(cells) = cells.filter(|_| facts::parse_cache_name(first).is_some()) else {
            return Fit::Over;
        };
        cache_row(&cells, line, sink);
        Fit::Taken
    }
}

/// A row of a kind of cache, by the names of the columns in lower case.
pub(super) fn cache_row<T: AsRef<str>>(cells: &[(T, T)], line: Line, sink: &mut Sink) {
    let cell =
        |name: &str| cells.iter().find(|(column, _)| column.as_ref() == name).map(|(_, cell)| cell.as_ref());
    let Some(name) = cell("name").filter(|name| facts::parse_cache_name(name).is_some()) else { return };
    let bytes = |name: &str| cell(name).and_then(Printed::read);
    let number = |name: &str| cell(name)?.parse::<u32>().ok().filter(|number| *number > 0);
    sink.note(format!("machine.caches.{name}"), line);
    sink.draft.facts.cache_rows.push(CacheRow {
        name: name.to_owned(),
        bytes: (bytes("one-size"), bytes("all-size")),
        ways: number("ways"),
        line: number("coherency-size"),
        origin: sink.origin(line),
    });
}
