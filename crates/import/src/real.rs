//! The output of real tools (`tests/real`, captured by the script in that directory) and texts as people paste them (`tests/pasted`). Each
//! text has a table of the values that a person finds in it. No value may be missing, wrong or added, except that damaged, joined, quoted
//! and wrapped texts may yield fewer values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use record::Record;
use serde_json::Value;

use crate::{Error, Imported, Importer, Split};

/// A text and its name: `debian-12/lscpu`.
pub(crate) struct Text {
    /// The name of the text.
    pub name: String,
    /// The content of the text.
    pub bytes: Vec<u8>,
    table: PathBuf,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real")
}

/// All texts under a directory, by name.
fn texts(folder: &Path) -> Vec<Text> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("the text directory is readable") {
            let path = entry.expect("directory entry is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "txt" || ending == "bin") {
                let bytes = std::fs::read(&path).expect("a text can be read");
                let name = path.strip_prefix(folder).expect("path is below").with_extension("");
                let table = path.with_extension("figures");
                all.push(Text { name: name.to_string_lossy().into_owned(), bytes, table });
            }
        }
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// The committed texts.
pub(crate) fn committed() -> &'static [Text] {
    static ALL: std::sync::OnceLock<Vec<Text>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| texts(&folder()))
}

/// The values in a text, by position in the record (`machine.cpus[3]`) and name (`node`).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures(pub BTreeMap<(String, String), BTreeSet<String>>);

impl Figures {
    fn add(&mut self, place: &str, name: &str, value: String) {
        self.0.entry((place.to_owned(), name.to_owned())).or_default().insert(value);
    }

    /// All leaves of a JSON value, except for empty ones (null, an empty list) and those that linespeed itself adds.
    fn walk(&mut self, place: &str, name: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(fields) => {
                let place = if name.is_empty() { place.to_owned() } else { format!("{place}.{name}") };
                for (name, value) in fields {
                    // These limits apply to a process on the machine, but an import has no such process.
                    if name != "allowed" && name != "notes" {
                        self.walk(&place, name, value);
                    }
                }
            }
            Value::Array(all) if all.iter().any(Value::is_object) => {
                for (at, one) in all.iter().enumerate() {
                    self.walk(&format!("{place}.{name}[{}]", identity(one, at)), "", one);
                }
            }
            Value::Array(all) if all.is_empty() => {}
            Value::Array(all) if name == "features" => {
                all.iter().for_each(|one| self.add(place, &format!("features.{}", plain(one)), "yes".into()));
            }
            Value::Array(all) => {
                self.add(place, name, all.iter().map(plain).collect::<Vec<_>>().join(","));
            }
            Value::String(empty) if empty.is_empty() => {}
            leaf => self.add(place, name, plain(leaf)),
        }
    }

    /// The table in readable form, with one position in the record per line.
    fn table(&self) -> String {
        let mut lines: Vec<(String, String)> = Vec::new();
        for ((place, name), values) in &self.0 {
            let values = values.iter().map(|value| format!(" {name}={value}")).collect::<String>();
            match lines.last_mut() {
                Some((last, line)) if last == place => line.push_str(&values),
                _ => lines.push((place.clone(), values)),
            }
        }
        lines.into_iter().map(|(place, values)| format!("{place}{values}\n")).collect()
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The identity of an element in a list: its number, its name, or the level, kind and CPUs of a cache. An element without these is
/// identified by its index.
fn identity(one: &Value, at: usize) -> String {
    let field = |name: &str| one.get(name).map(plain);
    let cache = || Some(format!("L{} {} of {}", field("level")?, field("kind")?, field("cpus")?));
    field("id")
        .or_else(|| field("locator").map(|slot| format!("{slot} {}", field("bank").unwrap_or_default())))
        .or_else(cache)
        .unwrap_or_else(|| at.to_string())
}

/// Imports a text as one machine or several.
pub(crate) fn import(text: &[u8]) -> Result<Vec<Imported>, Error> {
    let mut importer = Importer::new(Split::Hosts);
    importer.read("text", text).expect("reading from memory does not fail");
    importer.finish()
}

/// All values imported from a text; empty if the text is refused.
pub(crate) fn read(text: &[u8]) -> Figures {
    let mut figures = Figures::default();
    for imported in import(text).unwrap_or_default() {
        add(&mut figures, imported);
    }
    figures
}

fn add(figures: &mut Figures, imported: Imported) {
    for m in &imported.measurements {
        let keys = m.metric.definition().map_or(&[][..], |metric| metric.keys);
        let place: String =
            keys.iter().filter_map(|key| Some(format!(" {key}={}", m.labels.get(*key)?))).collect();
        let name = if m.doubt.is_some() { "value?" } else { "value" };
        figures.add(&format!("{}{place}", m.metric), name, m.value().to_string());
    }
    let empty = Record::new("0.0.0", "2026-01-01T00:00:00Z".to_owned(), Vec::new());
    let record = imported.into_record(empty);
    let json = |value: Result<Value, _>| value.expect("a record is JSON");
    figures.walk("machine", "", &json(serde_json::to_value(&record.machine)));
    figures.walk("state", "", &json(serde_json::to_value(&record.conditions.before)));
}

/// A complete table: the values, and the lines that were not read.
fn table(text: &[u8]) -> String {
    let mut said = String::new();
    let mut importer = Importer::new(Split::Hosts);
    importer.read("text", text).expect("reading from memory does not fail");
    let unknown = importer.not_understood().lines;
    let all = match importer.finish() {
        Ok(all) => all,
        Err(error) => return format!("refused: {error}\n"),
    };
    for one in &all {
        let tools: BTreeSet<&str> = one.import.outputs.iter().map(|output| output.tool.as_str()).collect();
        let _ = writeln!(said, "tools: {}", tools.into_iter().collect::<Vec<_>>().join(", "));
        for withheld in &one.import.withheld {
            let _ = writeln!(said, "withheld: {} at line {}", withheld.what, withheld.origin.line);
        }
        for contradiction in &one.import.contradictions {
            writeln!(said, "contradiction: {}", contradiction.says).expect("a string takes all");
        }
    }
    let mut figures = Figures::default();
    let several = all.len();
    all.into_iter().for_each(|one| add(&mut figures, one));
    format!("machines: {several}, lines not understood: {unknown}\n{said}{}", figures.table())
}

/// `RENEW_READING=1 cargo test -p linespeed-import real` writes the tables; a person must check them.
#[test]
fn every_figure_that_a_person_reads_in_a_tools_output_is_read_and_no_other() {
    let renew = std::env::var_os("RENEW_READING").is_some();
    let mut wrong = String::new();
    let pasted = texts(&folder().with_file_name("pasted"));
    for text in committed().iter().chain(&pasted) {
        let read = table(&text.bytes);
        if renew {
            std::fs::write(&text.table, &read).expect("a table can be written");
            continue;
        }
        let table = std::fs::read_to_string(&text.table).unwrap_or_default();
        let lines = |all: &str| all.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let (is, should) = (lines(&read), lines(&table));
        let missing = should.difference(&is).map(|line| format!("  missing: {line}\n"));
        let besides = is.difference(&should).map(|line| format!("  besides: {line}\n"));
        let differ: String = missing.chain(besides).collect();
        if !differ.is_empty() {
            let _ = write!(wrong, "{}:\n{differ}", text.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The tools, metrics and lists in the values of a text, and the number of lines not understood.
fn form(text: &[u8]) -> (BTreeSet<String>, u64) {
    let said = table(text);
    let unknown = said.lines().next().and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0);
    let what = |line: &str| {
        let word = line.split([' ', '[']).next().unwrap_or_default().to_owned();
        match line.strip_prefix("tools: ") {
            Some(_) => Some(line.to_owned()),
            None => (!["machines:", "refused:", "withheld:", "contradiction:"].contains(&word.as_str()))
                .then_some(word),
        }
    };
    (said.lines().filter_map(what).collect(), unknown)
}

/// The output of the installed tools (captured in the directory LINESPEED_TEST_TODAY) is read like the output of a known
/// version.
#[test]
#[ignore = "requires output of the tools on this machine: ./test tools"]
fn what_the_tools_of_this_machine_print_is_read_as_what_others_printed() {
    let today = std::env::var_os("LINESPEED_TEST_TODAY").expect("LINESPEED_TEST_TODAY is a directory");
    let mut wrong = String::new();
    let all = texts(Path::new(&today));
    assert!(!all.is_empty(), "nothing was captured");
    for text in &all {
        let same = |known: &&Text| known.name.rsplit('/').next() == Some(text.name.as_str());
        let (read, unknown) = form(&text.bytes);
        let known: Vec<_> = committed().iter().filter(same).map(|known| form(&known.bytes)).collect();
        // Another machine may have more values, and warnings may differ.
        if !known.iter().any(|(known, lines)| known.is_subset(&read) && unknown <= lines + 2) {
            let _ = writeln!(wrong, "{}: {unknown} lines not understood, read {read:?}", text.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
