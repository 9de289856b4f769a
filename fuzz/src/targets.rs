//! The parsers, the seeds of their inputs, and the properties that their results must have.

use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use experiment::recipes::{BUILT_IN, Origin, read_text, score, template};
use import::{Importer, Split, Table};
use machine::smbios;
use quiet::compound_change::CompoundChange;
use quiet::journal::{self, Step};
use record::{Measurement, Record};
use report::terminal::{Screen, Style};

use crate::tree::Tree;

/// The time of a tool's target relative to other targets: ten tools share one parser.
const SHARE_OF_A_TOOL: f64 = 0.2;

/// A parser.
pub struct Target {
    /// Its name.
    pub name: String,
    /// Seeds of the inputs.
    pub seeds: Vec<Vec<u8>>,
    /// The target's share of the time per target.
    pub share: f64,
    /// Reads an input, and panics if a property does not hold.
    pub read: Reader,
}

/// A function that reads an input.
type Reader = Box<dyn Fn(&[u8])>;

fn target(name: &str, seeds: Vec<Vec<u8>>, read: impl Fn(&[u8]) + 'static) -> Target {
    assert!(!seeds.is_empty(), "{name} has no seeds");
    Target { name: name.to_owned(), seeds, share: 1.0, read: Box::new(read) }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The files in a directory with this extension, by name.
fn files(folder: &str, ending: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(here(folder)).expect("the tests' directory exists").flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending));
    let read = |path| std::fs::read(path).expect("a test's file can be read");
    named.map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(entry.path()))).collect()
}

/// The names of all targets, without their seeds.
pub fn names() -> Vec<String> {
    let tools = tools().into_keys().map(|tool| format!("import-{tool}"));
    ["record", "journal", "recipe", "smbios", "tree"].map(str::to_owned).into_iter().chain(tools).collect()
}

/// The target with this name.
pub fn find(name: &str) -> Target {
    match name {
        "record" => {
            target(name, files("crates/linespeed/tests/records/0.1", ".json").into_values().collect(), record)
        }
        "journal" => {
            let folder = tempfile::tempdir().expect("a directory can be created");
            target(name, vec![JOURNAL.into()], move |input| journal(folder.path(), input))
        }
        "recipe" => target(name, BUILT_IN.iter().map(|(_, text)| text.as_bytes().to_vec()).collect(), recipe),
        "smbios" => {
            target(name, files("crates/machine/tests/smbios", ".bin").into_values().collect(), tables)
        }
        "tree" => {
            let tree = Tree::new(&here("crates/machine/tests/machines"));
            target(name, vec![vec![0; 16]], move |input| tree.read(input))
        }
        _ => {
            let seeds = tools().remove(name.trim_start_matches("import-")).unwrap_or_default();
            Target { share: SHARE_OF_A_TOOL, ..target(name, seeds, import) }
        }
    }
}

/// Captured outputs, by tool according to their file names.
fn tools() -> BTreeMap<String, Vec<Vec<u8>>> {
    let machines = files("reference/machines", "").into_values().collect();
    let mut tools = BTreeMap::from([("published".to_owned(), machines)]);
    let folders = ["texts", "inputs", "pasted", "real/debian-12", "real/debian-13", "real/debian-sid"];
    for (name, text) in folders.iter().flat_map(|one| files(&format!("crates/import/tests/{one}"), "")) {
        let tool = name.split(|c: char| !c.is_ascii_alphabetic()).next();
        tools.entry(tool.unwrap_or("other").to_owned()).or_insert_with(Vec::new).push(text);
    }
    tools
}

/// Checks that results are plausible for their metrics.
fn check(measurements: &[Measurement]) {
    for m in measurements {
        let Some(metric) = m.metric.definition() else { continue };
        let (low, high) = metric.plausible;
        assert!((low..=high).contains(&m.value()), "{} is {}", m.metric, m.value());
    }
}

/// Checks that a readable record can be shown and read back.
fn shown(record: &Record) {
    check(&record.measurements);
    let json = record.to_json().expect("a record can be written as JSON");
    Record::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("it cannot be read back: {error}"));
    Screen::draw(&Style::default(), |screen| report::terminal::record(screen, record, true, "."));
    report::page::html(record);
}

fn record(input: &[u8]) {
    Record::from_json(input).iter().for_each(shown);
}

fn import(input: &[u8]) {
    let table = Table::parse("workload.time: rows=machine, col=Seconds, workload=bc, unit=s");
    let mut importer = Importer::new(Split::Hosts).with_tables(table.into_iter().collect());
    importer.read("text", input).expect("reading from memory does not fail");
    for imported in importer.finish().unwrap_or_default() {
        shown(&imported.into_record(Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new())));
    }
}

/// A journal with a written value, a refused value, a shield and swap.
const JOURNAL: &str = concat!(
    r#"{"version":1,"boot":"b","pid":7,"command":"linespeed quiet","date":"2026-01-01T00:00:00Z","stays":false,"changes":["#,
    r#"{"knob":"thp","path":"/sys/kernel/mm/transparent_hugepage/enabled","syntax":"chosen","old":"always","new":"never"},"#,
    r#"{"knob":"nmi-watchdog","path":"/proc/sys/kernel/nmi_watchdog","syntax":"word","old":"1","new":"0"}]}"#,
    "\n{\"writing\":0}\n{\"stands\":[0,\"never\"]}\n{\"refused\":[1,\"no\"]}\n\"applied\"\n",
    r#"{"undertaking":{"shield":{"version":1,"parent":"/no/such","home":"/no/such","mark":"7-1f","quiet":[1],"rest":[0],"mems":"0","switched":false}}}"#,
    "\n{\"undertaking\":{\"swap\":[{\"path\":\"/no/such\",\"priority\":-2}]}}\n{\"putting-back\":0}\n{\"back\":0}\n\"over\"\n",
);

fn journal(folder: &Path, input: &[u8]) {
    let path = folder.join(quiet::state_directory::JOURNAL);
    let _ = std::fs::remove_file(&path);
    let file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&path);
    std::io::Write::write_all(&mut file.expect("the journal exists"), input).expect("it can be written");
    let Ok(Some(contents)) = journal::read(folder) else { return };
    assert!(contents.header.changes.iter().all(quiet::change::Change::is_of_the_kernel));
    for step in &contents.steps {
        if let Step::Compound(compound) = step {
            assert_eq!(CompoundChange::foreign_path(compound), None);
        }
    }
}

fn recipe(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let _ = score::compile(text, &template::Values::new(), true);
    let _ = read_text(text, "recipe.toml", Origin::File("recipe.toml".into()));
}

fn tables(input: &[u8]) {
    let table = smbios::split_dump(input).map_or(input, |(_, table)| table);
    let mut tables = smbios::read(table.to_vec());
    smbios::place(&mut tables.devices);
}
