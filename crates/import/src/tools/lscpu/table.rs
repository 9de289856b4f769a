//! The tables of lscpu: `-e` and `-p` (one row per CPU), `-C` (one row per kind of cache).

use std::ops::Range;

use crate::cache_size::Printed;
use crate::facts::{self, CacheRow, CpuRow, parse_cache_name};
use crate::reading::*;

/// Columns of `-e` and `-p` other than caches, in lower case.
const CPU_COLUMNS: &str = "bogomips|cpu|core|socket|cluster|node|book|drawer|polarization|address|configured|online|\
    microcode|mhz|scalmhz%|maxmhz|minmhz|modelname|cache|";

/// Columns of `-C`.
const CACHE_COLUMNS: &str =
    "name|one-size|all-size|ways|type|level|alloc-policy|write-policy|phy-line|sets|coherency-size";

/// `lscpu -e`.
pub(crate) const LSCPU_EXTENDED: Tool = Tool {
    name: "lscpu -e",
    opens: |line, _| Form::Extended.head(line.text).is_some(),
    reader: |command| below(command, Form::Extended),
};

/// `lscpu -p`.
pub(crate) const LSCPU_PARSABLE: Tool = Tool {
    name: "lscpu -p",
    opens: |line, _| {
        line.text.starts_with("# The following is the parsable format")
            || Form::Parsable.head(line.text).is_some()
    },
    reader: |command| below(command, Form::Parsable),
};

/// `lscpu -C`.
pub(crate) const LSCPU_CACHES: Tool = Tool {
    name: "lscpu -C",
    opens: |line, _| Form::Caches.head(line.text).is_some(),
    reader: |command| below(command, Form::Caches),
};

/// The name of a column in lower case, and its position in the header, in bytes.
type Column = (Range<usize>, String);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Extended,
    Parsable,
    Caches,
}

/// The words of a row, each with its position in bytes.
fn places(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let text = text.trim_start();
    let place = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    text.split_whitespace().map(move |word| (place(word)..place(word) + word.len(), word))
}

impl Form {
    /// The columns of a header. All of them must be known, to avoid misreading
    /// any. `-p` has an empty column before the caches.
    fn head(self, text: &str) -> Option<Vec<Column>> {
        let needed: &[&str] = match self {
            Form::Caches => &["NAME", "ONE-SIZE"],
            _ => &["CPU"],
        };
        // A quick check that excludes most lines.
        needed.iter().all(|name| text.contains(name)).then_some(())?;
        let words: Vec<(Range<usize>, &str)> = match self {
            Form::Parsable => text.strip_prefix('#')?.split(',').map(|word| (0..0, word.trim())).collect(),
            Form::Extended | Form::Caches => places(text).collect(),
        };
        let known = |name: &str| match self {
            Form::Caches => scan::is_one_of(name, CACHE_COLUMNS),
            _ => {
                scan::is_one_of(name, CPU_COLUMNS)
                    || name.split(':').all(|name| parse_cache_name(name).is_some())
            }
        };
        let has = |name: &&str| words.iter().any(|(_, word)| word == name);
        (words.len() > 1 && needed.iter().all(has)).then_some(())?;
        let columns: Vec<Column> =
            words.into_iter().map(|(place, word)| (place, word.to_ascii_lowercase())).collect();
        columns.iter().all(|(_, name)| known(name)).then_some(columns)
    }

    /// The cells of a row by column. `None` if the columns of the cells are unknown, because a cell is missing or two cells were joined.
    fn cells<'a>(self, columns: &'a [Column], text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
        let mut cells: Vec<(Range<usize>, &str)> = match self {
            Form::Parsable => text.split(',').map(|cell| (0..0, cell.trim())).collect(),
            Form::Extended | Form::Caches => places(text).collect(),
        };
        // A model name contains spaces.
        let named = columns.iter().position(|(_, column)| column == "modelname");
        if let (Some(at), Some(more)) = (named, cells.len().checked_sub(columns.len())) {
            cells.drain(at..at + more);
        }
        // Arm kernels do not report the partitions of a cache line. In rows without that cell, each of the other cells is
        // aligned with the start or the end of its column.
        let whole = cells.len() == columns.len();
        let mut left = columns.iter();
        let mut column = |place: &Range<usize>| {
            let stands = |(head, _): &&Column| whole || head.start == place.start || head.end == place.end;
            left.find(stands).map(|(_, name)| name.as_str())
        };
        (whole || self == Form::Caches).then_some(())?;
        cells.iter().map(|(place, cell)| Some((column(place)?, *cell))).collect()
    }
}

struct Table {
    form: Form,
    columns: Vec<Column>,
    /// Whether the command line above may leave out rows.
    selected: bool,
}

fn below(command: Option<&Command>, form: Form) -> Box<dyn Reader> {
    let is_filter = |stage: &str| scan::begins(stage.trim_start(), "head|tail|grep|egrep|sed|awk|less|more");
    let selected = command.is_some_and(|command| command.text.split('|').skip(1).any(is_filter));
    Box::new(Table { form, columns: Vec::new(), selected })
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
            let begun = !sink.draft.facts.rows.is_empty() && self.form != Form::Caches;
            if begun && (text.starts_with(|c: char| c.is_ascii_digit()) || scan::is_elision(text)) {
                sink.draft.facts.broken_row = Some(sink.origin(line));
            }
            return Fit::Over;
        };
        let taken = match self.form {
            Form::Caches => take_cache(&cells, line, sink),
            _ => take_cpu(&cells, self, line, sink),
        };
        if taken { Fit::Taken } else { Fit::Over }
    }
}

/// The cell of a row in a column.
fn find<'a>(cells: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    cells.iter().find(|(column, _)| *column == name).map(|(_, cell)| *cell)
}

/// Reads the row of a CPU, by column names in lower case; returns whether the row is valid.
fn take_cpu(cells: &[(&str, &str)], table: &Table, line: Line, sink: &mut Sink) -> bool {
    let number = |name: &str| find(cells, name)?.parse::<u32>().ok();
    let Some(cpu) = number("cpu").filter(|cpu| *cpu <= record::cpu_list::MAX_CPU) else { return false };
    // `-e` prints all caches in one column, `-p` one column per cache.
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
        of_all: table.form == Form::Extended,
        selected: table.selected,
        hz: (hz("maxmhz"), hz("minmhz")),
        origin: sink.origin(line),
    });
    sink.note(format!("machine.cpus[{cpu}]"), line);
    true
}

/// Reads the row of a kind of cache, by column names in lower case; returns whether the row is valid.
fn take_cache(cells: &[(&str, &str)], line: Line, sink: &mut Sink) -> bool {
    let named = find(cells, "name").and_then(|name| Some((name, parse_cache_name(name)?)));
    let Some((name, cache)) = named else { return false };
    let bytes = |name: &str| find(cells, name).and_then(Printed::read);
    let number = |name: &str| find(cells, name)?.parse::<u32>().ok().filter(|number| *number > 0);
    sink.note(format!("machine.caches.{name}"), line);
    sink.draft.facts.cache_rows.push(CacheRow {
        cache,
        bytes: (bytes("one-size"), bytes("all-size")),
        ways: number("ways"),
        line: number("coherency-size"),
        origin: sink.origin(line),
    });
    true
}
