//! The tables of lscpu: `-e` and `-p` (a row a CPU), `-C` (a row a kind of cache).

use std::ops::Range;

use crate::cache_size::Printed;
use crate::facts::{self, CacheRow, CpuRow};
use crate::line::Line;
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

/// `lscpu -e`.
pub(crate) const LSCPU_EXTENDED: Tool = Tool {
    name: "lscpu -e",
    opens: opens_lscpu_extended,
    reader: |_| Box::new(Cpus { columns: Vec::new(), commas: false }),
};

/// Columns of `-e` and `-p` beside the caches, in lower case.
const COLUMNS: &str = "\
    bogomips cpu core socket cluster node book drawer polarization address configured online microcode mhz \
    scalmhz% maxmhz minmhz modelname cache";

/// The columns that a head names, in lower case; `-p` has an empty one before the caches.
fn columns<'a>(names: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let columns: Vec<String> = names.map(str::to_ascii_lowercase).collect();
    let known = |column: &String| {
        column.is_empty()
            || COLUMNS.split(' ').any(|known| known == column)
            || column.split(':').all(|name| cache(name).is_some())
    };
    let cpu = columns.len() > 1 && columns.iter().any(|column| column == "cpu");
    (cpu && columns.iter().all(known)).then_some(columns)
}

/// The columns of `lscpu -e`, whose heads are in capitals.
fn extended(text: &str) -> Option<Vec<String>> {
    let names = || text.split_whitespace();
    names().any(|name| name == "CPU").then(|| columns(names())).flatten()
}

fn opens_lscpu_extended(line: Line, _: Option<&Command>) -> bool {
    extended(line.text).is_some()
}

/// The columns of `lscpu -p`.
fn parsable(text: &str) -> Option<Vec<String>> {
    columns(text.strip_prefix('#')?.split(',').map(str::trim))
}

/// `lscpu -p`.
pub(crate) const LSCPU_PARSABLE: Tool = Tool {
    name: "lscpu -p",
    opens: |line, _| {
        line.text.starts_with("# The following is the parsable format") || parsable(line.text).is_some()
    },
    reader: |_| Box::new(Cpus { columns: Vec::new(), commas: true }),
};

struct Cpus {
    columns: Vec<String>,
    commas: bool,
}

impl Reader for Cpus {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if self.commas && text.starts_with('#') {
            if let Some(columns) = parsable(text) {
                self.columns = columns;
                return Fit::Taken;
            }
            return if self.columns.is_empty() { Fit::Taken } else { Fit::Over };
        }
        if self.columns.is_empty() {
            let Some(columns) = extended(text) else { return Fit::Over };
            self.columns = columns;
            return Fit::Taken;
        }
        let mut cells: Vec<&str> = if self.commas {
            text.split(',').map(str::trim).collect()
        } else {
            text.split_whitespace().collect()
        };
        // A model's name has blanks.
        let named = self.columns.iter().position(|column| column == "modelname");
        if let (Some(at), Some(more)) = (named, cells.len().checked_sub(self.columns.len())) {
            cells.drain(at..at + more);
        }
        // Where a cell is gone, or two have become one, nothing says which.
        if cells.len() != self.columns.len() {
            if text.is_empty() {
                return Fit::Between;
            }
            if cells[0].starts_with(|c: char| c.is_ascii_digit()) && !sink.draft.facts.rows.is_empty() {
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
    let id = cells.iter().find(|(column, _)| column.as_ref() == "cpu").map(|(_, cell)| cell.as_ref());
    let id = id.and_then(|id| id.parse::<u32>().ok()).filter(|cpu| *cpu <= record::cpu_list::MAX_CPU);
    let Some(cpu) = id else { return false };
    let mut row = CpuRow {
        cpu,
        core: None,
        socket: None,
        rack: [None; 2],
        cluster: None,
        node: None,
        caches: Vec::new(),
        online: true,
        of_all,
        hz: (None, None),
        origin: sink.origin(line),
    };
    let hz = |cell: &str| {
        numbers::parse_number(cell)
            .map(|(mhz, _)| mhz)
            .filter(|mhz| (1.0..=10_000.0).contains(mhz))
            .map(|mhz| (mhz * 1e6) as u64)
    };
    for (column, cell) in cells {
        let (column, cell) = (column.as_ref(), cell.as_ref());
        let number = cell.parse::<u32>().ok();
        match column {
            "core" => row.core = number,
            "socket" => row.socket = number,
            "cluster" => row.cluster = number,
            "drawer" => row.rack[0] = number,
            "book" => row.rack[1] = number,
            "node" => row.node = number,
            "online" => row.online = !matches!(cell, "no" | "N" | "n" | "nein" | "non" | "否"),
            "maxmhz" => row.hz.0 = hz(cell),
            "minmhz" => row.hz.1 = hz(cell),
            // `-e` has the caches in one column, `-p` in one each.
            names if names.contains(':') => {
                let pairs = names.split(':').zip(cell.split(':'));
                row.caches
                    .extend(pairs.filter_map(|(name, number)| Some((cache(name)?, number.parse().ok()?))));
            }
            name => {
                if let (Some(name), Some(number)) = (cache(name), number) {
                    row.caches.push((name, number));
                }
            }
        }
    }
    sink.note(format!("machine.cpus[{cpu}]"), line);
    sink.draft.facts.rows.push(row);
    true
}

fn cache(name: &str) -> Option<String> {
    facts::parse_cache_name(name)?;
    Some(name.replace('l', "L"))
}

/// `lscpu -C`.
pub(crate) const LSCPU_CACHES: Tool = Tool {
    name: "lscpu -C",
    opens: |line, _| caches_head(line.text).is_some(),
    reader: |_| Box::new(Caches { columns: Vec::new() }),
};

struct Caches {
    /// Each with where it stands in the head, bytes from its first.
    columns: Vec<(Range<usize>, String)>,
}

/// The words of a row, each with where it stands, bytes from the first.
fn places(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let text = text.trim_start();
    let place = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    text.split_whitespace().map(move |word| (place(word)..place(word) + word.len(), word))
}

/// The cells of a row by their columns. One that has no word is left out where every other begins or ends where its column
/// does: kernels of Arm tell no partitions of a line.
fn in_columns<'a>(columns: &'a [(Range<usize>, String)], text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let names = || columns.iter().map(|(_, name)| name.as_str());
    let cells: Vec<(Range<usize>, &str)> = places(text).collect();
    if cells.len() == columns.len() {
        return Some(names().zip(cells.iter().map(|(_, cell)| *cell)).collect());
    }
    let mut left = columns.iter();
    let mut column = |place: &Range<usize>| {
        let stands = |(head, _): &&(Range<usize>, String)| head.start == place.start || head.end == place.end;
        left.find(stands).map(|(_, name)| name.as_str())
    };
    cells.iter().map(|(place, cell)| Some((column(place)?, *cell))).collect()
}

/// The columns of `lscpu -C`, in lower case: all are known, so that none is misread.
fn caches_head(text: &str) -> Option<Vec<String>> {
    const KNOWN: &str =
        "name one-size all-size ways type level alloc-policy write-policy phy-line sets coherency-size";
    let columns: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    let is_known = |column: &String| KNOWN.split(' ').any(|known| known == column);
    let size = columns.iter().any(|column| column == "one-size");
    (columns.first()? == "name" && size && columns.iter().all(is_known)).then_some(columns)
}

impl Reader for Caches {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let Some(first) = line.text.split_whitespace().next() else { return Fit::Between };
        if self.columns.is_empty() {
            let Some(columns) = caches_head(line.text) else { return Fit::Over };
            self.columns = places(line.text).map(|(place, _)| place).zip(columns).collect();
            return Fit::Taken;
        }
        if facts::parse_cache_name(first).is_none() {
            return Fit::Over;
        }
        let Some(cells) = in_columns(&self.columns, line.text) else { return Fit::Over };
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
    let row = CacheRow {
        name: name.to_owned(),
        bytes: (bytes("one-size"), bytes("all-size")),
        ways: number("ways"),
        line: number("coherency-size"),
        origin: sink.origin(line),
    };
    sink.note(format!("machine.caches.{name}"), line);
    sink.draft.facts.cache_rows.push(row);
}
