//! The work behind a result. Work is identified by the program and arguments that actually ran, regardless of how they were started.
//! Published work keeps its published name, whether it was measured by `stat`, `scale`, another tool or linespeed's own loop.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use record::command_line::CommandLine;
use record::label::name_workload;
use record::{Label, Measurement, Record, detail, metrics};

use crate::tables::rows;

/// The workload label of a command without a name of its own.
const COMMAND: &str = "command";

/// linespeed's own loops that do published work. Each row has the workload, the work, and the block size in bytes.
const OWN: [(&str, &str, Option<u64>); 5] = [
    ("bignum-power", "7^999999", None),
    ("pi", "pi, 5000 digits", None),
    // The block size is that of `MESSAGE` in measure's workload.
    ("aes-256-ige", "openssl speed aes-256-ige", Some(1 << 10)),
    ("cpu-bound", "cpu_bound", None),
    // Different work: the published loop has no barrier between flush and load and does not wait for the load.
    ("memory-bound", "memory_bound with a barrier", None),
];

/// Commands that measure each work, and program options that do not change the work.
pub(super) const WORKS: &str = include_str!("works.txt");

/// A workload in a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Work {
    /// The name used in comparisons.
    pub name: String,
    /// Bytes per block, if they are part of the workload's name.
    pub bytes: Option<u64>,
    /// Whether the workload runs on one CPU on every machine.
    pub serial: bool,
    /// The program's version, if recorded.
    pub version: Option<String>,
    /// Whether results are published under this name.
    published: bool,
    /// The program that does the work.
    pub program: Program,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Program {
    /// One of linespeed's own loops.
    Own(&'static str),
    /// Another program, if its name is known.
    Other(String),
}

/// The workloads in a record.
#[derive(Default)]
pub(super) struct Works<'a>(HashMap<&'a str, Work>);

impl<'a> Works<'a> {
    /// Reads a record. `commands` is true if all compared records are of commands, whose results are then compared under the name
    /// `command`.
    pub(super) fn of(record: &'a Record, commands: bool) -> Self {
        let mut works = HashMap::new();
        let labelled =
            || record.measurements.iter().filter_map(|m| Some((m.labels.word(Label::Workload)?, m)));
        for (label, m) in labelled() {
            if let Some(words) = m.detail.get(detail::COMMAND) {
                let work = Work::of_command(words.iter().map(|word| word.as_ref()), m);
                // Unpublished work of a recipe is named after the recipe.
                let own = if label == COMMAND { commands } else { !work.published };
                let name = if own { label.to_owned() } else { work.name.clone() };
                works.entry(label).or_insert(Work { name, ..work });
            }
        }
        for (label, m) in labelled() {
            let work = works.entry(label).or_insert_with(|| match OWN.iter().find(|own| own.0 == label) {
                Some((own, name, bytes)) if record.import.is_none() => Work {
                    name: (*name).to_owned(),
                    bytes: *bytes,
                    serial: false,
                    version: None,
                    published: true,
                    program: Program::Own(own),
                },
                _ => Work::named(label),
            });
            work.version = work.version.take().or_else(|| find_version(m, &work.program));
        }
        Self(works)
    }

    /// Returns the same workloads, except that linespeed's loops keep their own names if no compared record contains the published program.
    pub(super) fn beside(mut self, all: &OnlySizes) -> Self {
        for work in self.0.values_mut() {
            if let Program::Own(own) = work.program
                && !all.by_others.contains(work.family())
            {
                own.clone_into(&mut work.name);
            }
        }
        self
    }

    /// Whether any workload has this name.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names().any(|had| had == name)
    }

    /// The names of all workloads.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|work| work.name.as_str())
    }

    /// The workload with this label.
    pub(super) fn named(&self, label: &str) -> Option<&Work> {
        self.0.get(label)
    }

    /// The work of a result.
    pub(super) fn find(&self, m: &Measurement) -> Option<&Work> {
        self.0.get(m.labels.word(Label::Workload)?)
    }
}

/// Work for which a record has only one block size. Other records' results for that size are then compared with this record's result, even
/// if their rates are still rising at that size. This type also contains the families of work done by programs other than linespeed's
/// loops.
#[derive(Default)]
pub(super) struct OnlySizes {
    sizes: HashSet<(String, u64)>,
    by_others: HashSet<String>,
}

impl OnlySizes {
    /// Reads all compared records.
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a Record>, commands: bool) -> Self {
        let mut only = Self::default();
        for record in records {
            let works = Works::of(record, commands);
            let others = works.0.values().filter(|work| matches!(work.program, Program::Other(_)));
            only.by_others.extend(others.map(|work| work.family().to_owned()));
            let mut sizes: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
            for m in record.measurements_of(metrics::WORKLOAD_THROUGHPUT) {
                let of = works.find(m);
                let size = of.and_then(|work| m.labels.count(Label::Bytes).or(work.bytes));
                if let Some((work, size)) = of.zip(size) {
                    sizes.entry(&work.name).or_default().insert(size);
                }
            }
            let single = sizes.into_iter().filter(|(_, sizes)| sizes.len() == 1);
            only.sizes.extend(
                single.flat_map(|(name, sizes)| sizes.into_iter().map(|size| (name.to_owned(), size))),
            );
        }
        only
    }

    /// Whether a record has this work with only this block size.
    pub(super) fn has(&self, work: &Work, bytes: u64) -> bool {
        self.sizes.contains(&(work.name.clone(), bytes))
    }
}

/// Whether this label belongs to one of linespeed's loops.
pub(super) fn is_loop(label: &str) -> bool {
    OWN.iter().any(|own| own.0 == label)
}

/// Whether the record contains results of a command without a name of its own (workload label `command`).
pub(super) fn is_of_command(record: &Record) -> bool {
    record.measurements.iter().any(|m| m.labels.word(Label::Workload) == Some(COMMAND))
}

impl Work {
    /// Identifies work by the name in another tool's output or an article.
    fn named(label: &str) -> Self {
        let long = name_long_number(label);
        let first = |count: usize| label.split_whitespace().take(count).collect::<Vec<_>>().join(" ");
        let program = match (&long, label.split(' ').next()) {
            (Some(_), _) => "bc".to_owned(),
            (None, Some("openssl" | "sysbench")) => first(2),
            (None, _) => first(1),
        };
        let serial = long.is_some();
        let name = long.unwrap_or_else(|| name_workload(label).to_owned());
        Self { name, bytes: None, serial, version: None, published: serial, program: Program::Other(program) }
    }

    /// The family shared by work of different sizes. Two results for different sizes are not compared, and the reason is reported.
    pub(super) fn family(&self) -> &str {
        let first = self.name.split(' ').next().unwrap_or_default();
        match first {
            "openssl" | "sysbench" => {
                self.name.match_indices(' ').nth(1).map_or(&self.name, |(end, _)| &self.name[..end])
            }
            "memory_bound" => first,
            "pi," => "pi",
            _ if first.split_once('^').is_some_and(|(a, b)| is_number(a) && is_number(b)) => "power",
            _ => &self.name,
        }
    }

    /// Identifies work by the command that ran.
    fn of_command<'b>(words: impl Iterator<Item = &'b str>, m: &Measurement) -> Self {
        let line = CommandLine::from_words(words);
        let mut work = Self::named(&line.name);
        if let [program @ ("openssl" | "sysbench"), test, options @ ..] =
            line.words.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
        {
            work.bytes = line.option(&["-bytes"]).and_then(|bytes| bytes.parse().ok());
            let mut name = format!("{program} {test}");
            let (mut options, how) = (options.iter(), rows(WORKS, "how"));
            while let Some(option) = options.next() {
                let (key, value) =
                    option.split_once('=').map_or((*option, None), |(key, value)| (key, Some(value)));
                if how.iter().any(|row| row.first() == Some(&key)) {
                    if value.is_none() && !matches!(key, "-elapsed" | "-mr") {
                        options.next();
                    }
                } else if *option != "run" {
                    name.push_str(&format!(" {option}"));
                }
            }
            // A sysbench script counts both queries and transactions.
            if let Some(unit) =
                m.detail.get(detail::WORK).filter(|unit| matches!(*unit, "queries" | "transactions"))
            {
                name.push_str(&format!(" {unit}"));
            }
            (work.name, work.published) = (name, true);
        }
        work
    }
}

/// A program's version, from its recorded name: `sysbench 0.5`, `sysbench 1.0.20`.
fn find_version(m: &Measurement, program: &Program) -> Option<String> {
    let Program::Other(program) = program else { return None };
    let recorded = m.detail.get(detail::PROGRAM).or(m.method.as_deref())?;
    let (name, version) = recorded.rsplit_once(' ')?;
    let this = program.split(' ').next() == Some(name) && version.starts_with(|c: char| c.is_ascii_digit());
    this.then(|| version.to_owned())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Work on long numbers: `echo "7^999999" | bc` is a power, and `echo "scale=5000; 4*a(1)" | bc -l` computes digits of pi.
pub(super) fn name_long_number(name: &str) -> Option<String> {
    let (script, bc) = name.strip_prefix("echo ")?.rsplit_once(" | bc")?;
    bc.split_whitespace().all(|option| matches!(option, "-l" | "-q" | "-lq" | "-ql")).then_some(())?;
    let script: String = script.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
    match script.split_once('^') {
        Some((base, exponent)) if is_number(base) && is_number(exponent) => Some(script),
        _ => {
            let digits = script.strip_prefix("scale=")?.strip_suffix(";4*a(1)")?;
            (is_number(digits) && !bc.is_empty()).then(|| format!("pi, {digits} digits"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::documents::side_by_side;
    use crate::samples::machine;
    use record::Labels;

    fn timed(record: &mut Record, workload: &str, seconds: f64, command: Option<&[&str]>) {
        let place = Labels::new().with_label(Label::Workload, workload);
        let mut m = Measurement::new("workload.time", place, vec![seconds]);
        if let Some(words) = command {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            m = m.with_detail(detail::COMMAND, words);
        }
        record.measurements.push(m);
    }

    fn name(words: &[&str]) -> (String, Option<u64>) {
        let m = Measurement::new("workload.throughput", Labels::new(), vec![1.0]);
        let work = Work::of_command(words.iter().copied(), &m);
        (work.name, work.bytes)
    }

    #[test]
    fn commands_have_the_name_of_the_published_work_and_other_arguments_are_other_work() {
        let named = |words: &[&str]| name(words).0;
        assert_eq!(named(&["taskset", "-c", "3", "sh", "-c", "echo '7^999999' | bc"]), "7^999999");
        assert_eq!(named(&["sh", "-c", "echo '7^30000' | bc > /dev/null"]), "7^30000");
        assert_eq!(named(&["sh", "-c", "echo 'scale=5000; 4*a(1)' | bc -l -q"]), "pi, 5000 digits");
        assert_eq!(
            named(&["sysbench", "cpu", "--threads={threads}", "--time=10", "--cpu-max-prime=50000", "run"]),
            "sysbench cpu --cpu-max-prime=50000"
        );
        assert_eq!(
            name(&["openssl", "speed", "-multi", "{threads}", "-bytes", "8192", "-evp", "aes-256-cbc"]),
            ("openssl speed -evp aes-256-cbc".to_owned(), Some(8192))
        );
        assert_eq!(named(&["./a.exe", "7^999999"]), "a.exe \"7^999999\"");
        assert_eq!(name_long_number("echo \"7^x\" | bc"), None);
        assert_eq!(name_long_number("echo \"2^10\" | bc -s"), None);
    }

    #[test]
    fn stat_own_loop_and_a_published_run_of_the_same_work_stand_in_one_row() {
        let (mut published, mut stat, mut own) = (machine(4), machine(2), machine(2));
        published.import = Some(record::import::Import::default());
        timed(&mut published, "echo \"7^999999\" | bc", 18.6, None);
        timed(&mut stat, "command", 20.0, Some(&["sh", "-c", "echo '7^999999' | bc"]));
        own.measurements.push(Measurement::new(
            "workload.time",
            Labels::new().with_label(Label::Workload, "bignum-power").with_label(Label::Cpu, 0u32),
            vec![0.5],
        ));
        let said = side_by_side(&[("published", &published), ("stat", &stat), ("own", &own)]);
        let values: Vec<Option<f64>> = said.rows[0].cells.iter().map(|cell| cell.value).collect();
        assert_eq!(values, [Some(18.6), Some(20.0), Some(0.5)]);
        let notes = || said.notes.iter().filter(|note| note.code() == Some("comparison-programs-differ"));
        assert_eq!(notes().count(), 1);

        // A different power is different work.
        let mut other = machine(2);
        timed(&mut other, "command", 20.0, Some(&["sh", "-c", "echo '7^99999' | bc"]));
        let said = side_by_side(&[("published", &published), ("other", &other)]);
        assert!(said.rows.is_empty(), "{:?}", said.rows);
    }

    #[test]
    fn rates_of_two_versions_compare_with_both_named_and_their_times_do_not() {
        let place = || {
            let place = Labels::new().with_label(Label::Workload, "sysbench cpu --cpu-max-prime=50000");
            place.with_label(Label::Threads, 1u32)
        };
        let (mut old, mut new) = (machine(4), machine(2));
        for (record, program, rate) in
            [(&mut old, "sysbench 0.5", 120.5), (&mut new, "sysbench 1.0.20", 150.0)]
        {
            for (metric, value) in [("workload.throughput", rate), ("workload.time", 1e4 / rate)] {
                let m = Measurement::new(metric, place(), vec![value]);
                record
                    .measurements
                    .push(m.with_detail(detail::PROGRAM, program).with_detail(detail::WORK, "events"));
            }
        }
        let said = side_by_side(&[("old", &old), ("new", &new)]);
        let metrics: Vec<_> = said.rows.iter().map(|row| row.metric).collect();
        assert_eq!(metrics, ["workload.throughput"]);
        let noted: Vec<_> =
            said.notes.iter().filter(|note| note.code() == Some("comparison-programs-differ")).collect();
        assert!(noted.len() == 1 && noted[0].to_string().contains("sysbench 0.5,"), "{noted:?}");
    }

    #[test]
    fn a_run_of_one_block_size_meets_that_size_of_a_run_of_many() {
        let (mut published, mut scaled) = (machine(4), machine(2));
        published.import = Some(record::import::Import::default());
        let add = |record: &mut Record, bytes: Option<u64>, rate: f64, command: Option<&[&str]>| {
            let workload = if command.is_some() { "openssl-speed" } else { "openssl speed -evp aes-256-gcm" };
            let mut place =
                Labels::new().with_label(Label::Workload, workload).with_label(Label::Threads, 1u32);
            if let Some(bytes) = bytes {
                place = place.with_label(Label::Bytes, bytes);
            }
            let mut m =
                Measurement::new("workload.throughput", place, vec![rate]).with_detail(detail::WORK, "B");
            if let Some(words) = command {
                let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
                m = m.with_detail(detail::COMMAND, words);
            }
            record.measurements.push(m);
        };
        // Rates that grow with the block size, as with GCM, level off only at the largest block.
        for (bytes, rate) in [(1024, 5.9e9), (8192, 17.8e9), (16384, 20.9e9)] {
            add(&mut published, Some(bytes), rate, None);
        }
        let command = ["openssl", "speed", "-multi", "1", "-bytes", "8192", "-evp", "aes-256-gcm"];
        add(&mut scaled, None, 4e9, Some(&command));
        let said = side_by_side(&[("published", &published), ("scaled", &scaled)]);
        let values: Vec<Vec<Option<f64>>> =
            said.rows.iter().map(|row| row.cells.iter().map(|cell| cell.value).collect()).collect();
        assert_eq!(values, [[Some(17.8e9), Some(4e9)]], "{:?}", said.refused);
        assert_eq!(said.rows[0].cells[1].ratio, Some(4e9 / 17.8e9));
    }

    /// A linespeed loop keeps its own name, as openssl never ran; compared with a record of openssl, the rows match.
    #[test]
    fn a_loop_has_its_own_name_unless_another_program_did_its_work() {
        let timed = |name: &str, rate: f64, bytes: Option<u32>| {
            let mut record = machine(2);
            let place = Labels::new().with_label(Label::Workload, name).with_label(Label::Threads, 1u32);
            let place = place.with_known(Label::Bytes, bytes);
            record.measurements.push(Measurement::new("workload.throughput", place, vec![rate]));
            record
        };
        let (one, other) = (timed("aes-256-ige", 1e8, None), timed("aes-256-ige", 2e8, None));
        let said = side_by_side(&[("one", &one), ("other", &other)]);
        assert!(!said.rows.is_empty());
        assert!(said.rows.iter().all(|row| !row.what.to_string().contains("openssl")), "{:?}", said.rows);
        let mut published = timed("openssl speed aes-256-ige", 3e8, Some(1024));
        published.import = Some(record::import::Import::default());
        let said = side_by_side(&[("published", &published), ("own", &one)]);
        assert_eq!(said.rows.len(), 1, "{:?}", said.refused);
        assert!(said.rows[0].what.to_string().contains("openssl"), "{:?}", said.rows);
    }

    #[test]
    fn the_loop_with_a_barrier_is_not_the_published_one_without() {
        let (mut published, mut own) = (machine(4), machine(2));
        published.import = Some(record::import::Import::default());
        for (record, name) in [(&mut published, "memory_bound"), (&mut own, "memory-bound")] {
            let place = Labels::new().with_label(Label::Workload, name).with_label(Label::Threads, 1u32);
            record.measurements.push(Measurement::new("workload.throughput", place, vec![1e7]));
        }
        let said = side_by_side(&[("published", &published), ("own", &own)]);
        assert!(said.rows.is_empty() && said.refused.len() == 1, "{:?}", said.refused);
    }
}
