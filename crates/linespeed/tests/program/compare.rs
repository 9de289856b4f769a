//! Records side by side: on the terminal, as page, JSON and CSV, and arguments that are no records.

use record::Label;
use record::detail;
use std::path::Path;

use record::comparison::{Comparison, Relation};
use record::machine::{Cache, CacheKind, Cpu};
use record::{Labels, Measurement, Record};
use tempfile::TempDir;

use crate::support::{Ran, folder, linespeed, ran, run, schema};

/// Samples about a value.
fn about(value: f64) -> Vec<f64> {
    [1.0, 0.999, 1.001, 1.0, 0.998, 1.002, 1.0, 1.001].iter().map(|factor| value * factor).collect()
}

/// A machine of so many CPUs, each of which does so much; memory that answers in so many ns.
pub fn machine(host: &str, cpus: u32, rate: f64, memory_ns: f64) -> Record {
    let mut record = Record::new("0.1.0", "2026-01-01T00:00:00Z".to_owned(), vec![]);
    record.machine.architecture = "x86_64".to_owned();
    record.machine.hostname = Some(host.to_owned());
    record.machine.counts.cpus_online = Some(cpus);
    record.machine.counts.cores = Some(cpus);
    record.machine.counts.packages = Some(1);
    for id in 0..cpus {
        record.machine.cpus.push(Cpu { id, online: true, allowed: true, ..Cpu::default() });
    }
    for (level, kib) in [(1, 32), (2, 1024), (3, 16384)] {
        record.machine.caches.push(Cache {
            level,
            kind: if level == 1 { CacheKind::Data } else { CacheKind::Unified },
            bytes: Some(kib << 10),
            line: Some(64),
            ways: None,
            cpus: (0..cpus).collect(),
        });
    }
    for octave in 0..17 * 4 {
        let bytes = (4096.0 * 2f64.powf(f64::from(octave) / 4.0) / 64.0) as u64 * 64;
        let ns = match bytes >> 10 {
            0..=32 => 1.2,
            33..=1024 => 4.0,
            1025..=16384 => 16.0,
            _ => memory_ns,
        };
        let place = Labels::new()
            .with_label(Label::Cpu, 0u32)
            .with_label(Label::Node, 0u32)
            .with_label(Label::Bytes, bytes)
            .with_label(Label::Page, "2MiB");
        record.measurements.push(Measurement::new("load.latency", place, about(ns)));
    }
    for (threads, rate) in [(1, rate), (cpus, rate * f64::from(cpus) * 0.9)] {
        let place = Labels::new()
            .with_label(Label::Workload, "primes")
            .with_label(Label::Threads, threads)
            .with_label(Label::Placement, "cores-first");
        record.measurements.push(Measurement::new("workload.throughput", place, about(rate)));
    }
    record
}

struct Files(TempDir);

impl Files {
    fn of(records: &[(&str, &Record)]) -> Self {
        let files = Self(folder());
        for (name, record) in records {
            std::fs::write(files.path(name), record.to_json().unwrap()).unwrap();
        }
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn compare(&self, args: &[&str]) -> Ran {
        let mut all = vec!["compare".to_owned(), "--all".to_owned()];
        all.extend(args.iter().map(
            |arg| {
                if !arg.ends_with(".json") { (*arg).to_owned() } else { self.path(arg) }
            },
        ));
        ran(all)
    }
}

fn two() -> Files {
    Files::of(&[
        ("small.json", &machine("small", 4, 5.0, 90.0)),
        ("big.json", &machine("big", 16, 4.0, 120.0)),
    ])
}

fn parsed(ran: &Ran) -> Comparison {
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(schema::faults(&record::schema::of_command("compare"), &value), [""; 0]);
    serde_json::from_value(value).unwrap()
}

#[test]
fn two_machines_are_reported_apart_by_what_they_are_and_what_they_do() {
    let files = two();
    let text = files.compare(&["small.json", "big.json"]).succeeds().stdout;
    for words in [
        "big compared with small",
        "CPUs online",
        "load from memory",
        "Primes, all CPUs",
        "- per core",
        "small faster 1.33×",
        "Explanations",
        "number of cores",
        "memory latency",
    ] {
        assert!(text.contains(words), "no {words:?} in:\n{text}");
    }
    // A curve of 68 sizes is four rows.
    assert_eq!(text.matches("load from").count(), 4, "{text}");
    for (width, most) in [("80", 80), ("160", 160)] {
        let mut command = linespeed(["compare", "--all", &files.path("small.json"), &files.path("big.json")]);
        command.env("COLUMNS", width);
        let text = run(command).succeeds().stdout;
        assert!(text.lines().all(|line| line.chars().count() <= most), "{text}");
    }
}

#[test]
fn json_is_as_its_schema_says_and_has_every_figure() {
    let files = two();
    let said = parsed(&files.compare(&["small.json", "big.json", "--json"]).succeeds());
    assert_eq!((said.baseline, said.relation), (0, Relation::Machines));
    assert!(said.figures.len() >= 68, "{}", said.figures.len());
    let printed: serde_json::Value =
        serde_json::from_str(&ran(["schema", "compare"]).succeeds().stdout).unwrap();
    assert_eq!(printed, record::schema::of_command("compare"));
    // The other way round every ratio is turned round.
    let turned = parsed(&files.compare(&["small.json", "big.json", "--baseline", "2", "--json"]).succeeds());
    for (row, back) in said.rows.iter().zip(&turned.rows) {
        let (ratio, back) = (row.cells[1].ratio.unwrap(), back.cells[0].ratio.unwrap());
        assert!((ratio * back - 1.0).abs() < 1e-9, "{}", row.what);
    }
}

#[test]
fn csv_is_a_line_a_figure_and_record_with_as_many_fields_each() {
    let files = two();
    let text = files.compare(&["small.json", "big.json", "--csv"]).succeeds().stdout;
    let fields = |line: &str| {
        let mut quoted = false;
        1 + line
            .chars()
            .filter(|c| {
                if *c == '"' {
                    quoted = !quoted;
                }
                *c == ',' && !quoted
            })
            .count()
    };
    let first = fields(text.lines().next().unwrap());
    assert!(text.lines().count() > 68 * 2 && text.lines().all(|line| fields(line) == first), "{text}");
}

#[test]
fn a_page_loads_nothing_and_hostile_names_stay_text() {
    let mut evil = machine("evil", 2, 5.0, 90.0);
    evil.machine.processor.model_name = Some("<script>alert(1)</script>\u{1b}[2J".to_owned());
    evil.machine.kernel.release = Some("\u{202e}#?<b>".to_owned());
    let files = Files::of(&[("a.json", &machine("a", 4, 5.0, 90.0)), ("b.json", &evil)]);
    let page = files.compare(&["a.json", "b.json", "--html"]).succeeds().stdout;
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("&lt;script&gt;") && !page.contains("<script")
    );
    for loading in ["<link", "<img", "src=", "@import", "url(http", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(loading), "the page has {loading:?}");
    }
    let text = files.compare(&["a.json", "b.json", "--color", "always"]).succeeds().stdout;
    assert!(!text.contains("\u{1b}[2J") && !text.contains('\u{202e}'), "{text:?}");
    let out = files.path("page.html");
    assert_eq!(
        files.compare(&["a.json", "b.json", "--html", &format!("--output={out}")]).succeeds().stdout,
        ""
    );
    assert_eq!(std::fs::read_to_string(Path::new(&out)).unwrap(), page);
}

#[test]
fn the_same_record_and_the_same_machine_are_recognised() {
    let files = two();
    let same = files.compare(&["small.json", "small.json"]).succeeds().stdout;
    assert!(same.contains("All are the same record") && !same.contains("faster"), "{same}");
    let thrice = files.compare(&["small.json", "small.json", "small.json"]).succeeds().stdout;
    assert!(same.contains(", twice") && thrice.contains(", 3 times"), "{thrice}");
    let mut before = machine("db1", 4, 5.0, 90.0);
    before.machine.processor.model_name = Some("X".to_owned());
    before.conditions.before.thp = Some("always".to_owned());
    let mut after = machine("db1", 4, 5.0, 120.0);
    after.machine.processor.model_name = Some("X".to_owned());
    after.conditions.before.thp = Some("never".to_owned());
    let files = Files::of(&[("monday.json", &before), ("tuesday.json", &after)]);
    let text = files.compare(&["monday.json", "tuesday.json"]).succeeds().stdout;
    assert!(text.contains("Records of the same machine") && text.contains("What changed"), "{text}");
    assert!(
        text.contains("always") && text.contains("never") && text.contains("monday faster 1.33×"),
        "{text}"
    );
}

#[test]
fn of_many_records_the_one_that_is_far_off_is_named() {
    let fleet: Vec<(String, Record)> = (0..30)
        .map(|n| {
            let memory = if n == 7 { 200.0 } else { 90.0 + f64::from(n % 3) * 0.2 };
            (format!("node{n:02}.json"), machine(&format!("node{n:02}"), 4, 5.0, memory))
        })
        .collect();
    let all: Vec<(&str, &Record)> = fleet.iter().map(|(name, record)| (name.as_str(), record)).collect();
    let files = Files::of(&all);
    let names: Vec<&str> = fleet.iter().map(|(name, _)| name.as_str()).collect();
    let text = files.compare(&names).succeeds().stdout;
    assert!(text.contains("load from memory, node07 (200 ns)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let said = parsed(&files.compare(&[&names[..], &["--json"]].concat()).succeeds());
    assert_eq!(said.subjects.len(), 30);
}

#[test]
fn the_answer_stands_last_and_above_it_the_same_per_core_cpu_and_package() {
    let (small, mut big) = (machine("small", 4, 5.0, 90.0), machine("big", 16, 4.0, 120.0));
    // Siblings: 16 CPUs on 8 cores of two packages.
    big.machine.counts.cores = Some(8);
    big.machine.counts.packages = Some(2);
    let files = Files::of(&[("small.json", &small), ("big.json", &big)]);
    let text = files.compare(&["small.json", "big.json"]).succeeds().stdout;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (rest, answer) = flat.rsplit_once("big compared with small").expect("what is compared");
    // 16 × 4.0 against 4 × 5.0, each nine tenths of it; 120 ns against 90; the faster one stands first.
    for words in [
        "big is 3.20× as fast as small. Causes, largest first: number of cores (8 vs. 4)",
        "small is 1.33× as fast as big. Cause: memory latency (90.0 ns vs. 120 ns)",
    ] {
        assert!(answer.contains(words), "no {words:?} in {answer}");
    }
    for per in ["- per core", "- per CPU", "- per package"] {
        assert!(rest.contains(per), "no {per:?} in {rest}");
    }
    let said = parsed(&files.compare(&["small.json", "big.json", "--json"]).succeeds());
    assert!(said.answer[0].to_string().contains("big is 3.20× as fast"), "{:?}", said.answer);
    let per = |what: &str| {
        let row = said.rows.iter().find(|row| row.per.is_some_and(|per| per.word() == what)).expect("a row");
        (row.cells[1].ratio.unwrap() * 100.0).round()
    };
    assert_eq!([per("core"), per("CPU"), per("package")], [160.0, 80.0, 160.0]);
}

#[test]
fn each_is_reported_what_the_others_best_setting_would_do() {
    let (mut a, mut b) = (machine("a", 4, 5.0, 90.0), machine("b", 4, 5.0, 90.0));
    for (record, mt_s, thp) in [(&mut a, 2933, "always"), (&mut b, 2100, "never")] {
        record.machine.memory_devices.push(record::machine::MemoryDevice {
            bytes: Some(32 << 30),
            rated_mt_s: Some(2933),
            configured_mt_s: Some(mt_s),
            ..Default::default()
        });
        record.conditions.before.thp = Some(thp.to_owned());
        for bytes in [64u64 << 20, 128 << 20] {
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Node, 0u32)
                .with_label(Label::Bytes, bytes)
                .with_label(Label::Page, "4KiB");
            record.measurements.push(Measurement::new("load.latency", place, about(135.0)));
        }
        // Without the timer slack of ordinary threads, which is no loss of the machine.
        for (policy, setting, ns) in [
            ("other", "as-is", 52_000.0),
            ("other", "tuned", 2_000.0),
            ("fifo", "as-is", 8_000.0),
            ("fifo", "tuned", 2_000.0),
        ] {
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Policy, policy)
                .with_label(Label::Setting, setting);
            record.measurements.push(Measurement::new("wakeup.latency", place, about(ns)));
        }
    }
    let files = Files::of(&[("a.json", &a), ("b.json", &b)]);
    let text = files.compare(&["a.json", "b.json"]).succeeds().stdout;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "With better settings",
        "b, memory devices 2933 MT/s instead of 2100 MT/s: memory bandwidth at most 1.40×",
        "b, transparent huge pages always instead of never: memory latency at most 1.50×",
        "a, idle states disabled instead of as is: wake-up 4.00×",
    ] {
        assert!(flat.contains(words), "no {words:?} in {flat}");
    }
}

#[test]
fn what_is_not_comparable_is_refused_with_its_reason() {
    let (mut a, mut b) = (machine("a", 4, 5.0, 90.0), machine("b", 4, 5.0, 90.0));
    let bandwidth = |threads: u32, op: &str| {
        Labels::new()
            .with_label(Label::Op, op)
            .with_label(Label::Stores, "regular")
            .with_label(Label::BytesCounted, "stream")
            .with_label(Label::Threads, threads)
    };
    let mut other = Measurement::new("memory.bandwidth", bandwidth(1, "copy"), about(1e10));
    a.measurements.push(other.clone());
    other.method = Some("lmbench bw_mem".to_owned());
    b.measurements.push(other);
    for (record, bytes) in [(&mut a, 8u64 << 20), (&mut b, 256 << 20)] {
        let mut sized = Measurement::new("memory.bandwidth", bandwidth(4, "triad"), about(2e10));
        sized.detail.set(detail::ARRAY_BYTES, bytes);
        record.measurements.push(sized);
    }
    for (record, unit) in [(&mut a, "queries/s"), (&mut b, "new orders/s")] {
        let place = Labels::new().with_label(Label::Workload, "database").with_label(Label::Threads, 1u32);
        let mut work = Measurement::new("workload.throughput", place, about(100.0));
        work.unit = unit.into();
        record.measurements.push(work);
    }
    for (record, scope) in [(&mut a, "process"), (&mut b, "system")] {
        let place = Labels::new()
            .with_label(Label::Workload, "bc")
            .with_label(Label::Source, "pmu")
            .with_label(Label::Scope, scope);
        record.measurements.push(Measurement::new("core.ipc", place, about(1.5)));
    }
    let files = Files::of(&[("a.json", &a), ("b.json", &b)]);
    let said = parsed(&files.compare(&["a.json", "b.json", "--json"]).succeeds());
    let mut command = linespeed(["compare", "--all", &files.path("a.json"), &files.path("b.json")]);
    command.env("COLUMNS", "160");
    let text = run(command).succeeds().stdout;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let below = flat.split("Not comparable").nth(1).expect("what is not comparable");
    for (code, why) in [
        ("comparison-other-method", "different methods: linespeed, lmbench bw_mem"),
        ("comparison-other-size", "working sets of different size"),
        ("comparison-other-unit", "different units: queries/s, new orders/s"),
        ("comparison-system-wide", "counted system-wide (-a)"),
    ] {
        assert!(said.refused.iter().any(|refusal| refusal.code == code), "{code}: {:#?}", said.refused);
        let first: String = why.split(' ').take(4).collect::<Vec<_>>().join(" ");
        assert!(below.contains(&first), "no {first:?} in {below}");
    }
    // Refused figures have no ratio anywhere.
    for row in said
        .rows
        .iter()
        .filter(|row| ["copy, one thread", "triad, all CPUs"].contains(&row.what.to_string().as_str()))
    {
        assert!(row.cells.iter().all(|cell| cell.ratio.is_none()), "{row:?}");
    }
}

#[test]
fn a_figure_that_cannot_be_is_withheld_and_reported_wherever_the_record_is_read() {
    let whole = machine("db1", 4, 5.0, 90.0);
    let mut damaged = machine("db2", 4, 5.0, 90.0);
    damaged.measurements.retain(|m| m.metric != "workload.throughput");
    damaged.measurements[0].summary.median = -1.2;
    damaged.measurements[1].unit = "bananas".into();
    let files = Files::of(&[("whole.json", &whole), ("damaged.json", &damaged)]);
    let reported = files.compare(&["whole.json", "damaged.json"]).succeeds().stdout;
    let flat = reported.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("changed or damaged; 2 results omitted"), "{reported}");
    let shown = ran(["show", &files.path("damaged.json")]).succeeds().stdout;
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("withheld") && flat.contains("load.latency"), "{shown}");
    let why = ran(["show", &files.path("damaged.json"), "coverage"]).succeeds().stdout;
    let flat = why.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("its unit is \"bananas\""), "{why}");
}

#[test]
fn of_one_machine_it_is_said_what_changed_since_and_noise_is_no_change() {
    let mut before = machine("db1", 4, 5.0, 90.0);
    before.conditions.before.thp = Some("always".to_owned());
    let mut after = machine("db1", 4, 5.0, 120.0);
    after.conditions.before.thp = Some("never".to_owned());
    let mut noisy = before.clone();
    noisy.started = "2026-01-02T00:00:00Z".to_owned();
    for m in noisy.measurements.iter_mut().filter(|m| m.metric == "workload.throughput") {
        // A third slower, by samples that nobody should lean on.
        let (doubt, place) = (Some("too noisy: ±20 %, where 2 % was wanted".into()), m.labels.clone());
        let samples = m.samples.iter().map(|value| value * 0.75).collect();
        *m = Measurement::new("workload.throughput", place, samples);
        m.doubt = doubt;
    }
    let files = Files::of(&[("monday.json", &before), ("tuesday.json", &after), ("noisy.json", &noisy)]);
    let flat = |names: &[&str]| {
        let text = files.compare(names).succeeds().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = flat(&["monday.json", "tuesday.json"]);
    assert!(
        text.contains("0 faster. Largest slowdowns: load from memory 120 ns instead of 90.0 ns"),
        "{text}"
    );
    assert!(text.contains("Changes on the machine: THP (never instead of always)"), "{text}");
    let text = flat(&["monday.json", "noisy.json"]);
    assert!(text.contains("No change beyond noise in") && text.contains("too noisy to judge: 2."), "{text}");
    assert!(text.contains("Both records show the same hardware, kernel and settings."), "{text}");
}

#[test]
fn records_that_share_nothing_still_show_what_they_are() {
    let (mut a, mut b) = (machine("a", 4, 5.0, 90.0), machine("b", 8, 5.0, 90.0));
    a.measurements.retain(|m| m.metric == "load.latency");
    b.measurements.retain(|m| m.metric == "workload.throughput");
    let files = Files::of(&[("a.json", &a), ("b.json", &b)]);
    let text = files.compare(&["a.json", "b.json"]).succeeds().stdout;
    assert!(text.contains("No common metric") && text.contains("CPUs online"), "{text}");
    let empty = Record::new("0.1.0", String::new(), vec![]);
    let files = Files::of(&[("a.json", &a), ("empty.json", &empty)]);
    let text = files.compare(&["a.json", "empty.json"]).succeeds().stdout;
    assert!(text.contains("At most one record has results") && text.contains("inventory only"), "{text}");
}

#[test]
fn records_that_share_nothing_are_reported_what_to_run() {
    let files = Files::of(&[("a.json", &machine("a", 4, 5.0, 90.0))]);
    let text = "root@db1:~# openssl speed aes-256-ige\n\
        The 'numbers' are in 1000s of bytes per second processed.\n\
        type             16 bytes     64 bytes    256 bytes   1024 bytes   8192 bytes\n\
        aes-256 ige     133174.89k   140578.99k   142156.46k   142663.34k   143196.16k\n";
    std::fs::write(files.path("pasted.txt"), text).unwrap();
    let (from, to) = (files.path("pasted.txt"), files.path("pasted.json"));
    ran(["import", &from, "--output", &to]).succeeds();
    let said = parsed(&files.compare(&["a.json", "pasted.json", "--json"]).succeeds());
    assert!(said.rows.is_empty());
    let notes = record::Text::sequence(said.notes.clone()).to_string();
    for words in
        ["openssl speed (openssl speed aes-256-ige)", "linespeed import FILE", "linespeed run latency"]
    {
        assert!(notes.contains(words), "no {words:?} in {notes}");
    }
}

#[test]
fn single_figures_of_many_are_not_counted_as_faster_or_slower_and_the_best_is_named() {
    let fleet: Vec<(String, Record)> = (0..6)
        .map(|n| {
            let mut one = Record::new("0.1.0", "2026-01-01T00:00:00Z".to_owned(), vec![]);
            let place = Labels::new().with_label(Label::Workload, "x").with_label(Label::Threads, 1u32);
            one.measurements.push(Measurement::new("workload.throughput", place, vec![f64::from(n + 1)]));
            (format!("node{n}-20260102T03040{n}Z.json"), one)
        })
        .collect();
    let all: Vec<(&str, &Record)> = fleet.iter().map(|(name, record)| (name.as_str(), record)).collect();
    let names: Vec<&str> = fleet.iter().map(|(name, _)| name.as_str()).collect();
    let text = Files::of(&all).compare(&names).succeeds().stdout;
    let row = text.lines().find(|line| line.trim_start().starts_with("x, one thread ")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert!(row.contains("6.00 /s, node5") && row.contains("1.00 /s, node0"), "{text}");
    assert_eq!(words[words.len() - 2..], ["-", "-"], "{text}");
}

#[test]
fn figures_in_doubt_are_not_reported_by_how_much_they_differ() {
    let one = |ns: f64, doubt: bool| {
        let mut record = machine("db1", 2, 5.0, 90.0);
        let mut m = Measurement::new("cost.syscall", Labels::new().with_label(Label::Cpu, 0u32), about(ns));
        m.doubt = doubt.then(|| "too noisy: 30 % apart".into());
        record.measurements = vec![m];
        record
    };
    let files = Files::of(&[("q1.json", &one(300.0, true)), ("q2.json", &one(100.0, false))]);
    let text = files.compare(&["q1.json", "q2.json"]).succeeds().stdout;
    let unbroken = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("q2 faster?") && !text.contains("faster 3"), "{text}");
    assert!(
        unbroken.contains("Unreliable results among these: 1.") && !unbroken.contains("Largest speedups"),
        "{text}"
    );
    let files = Files::of(&[("q1.json", &one(300.0, false)), ("q2.json", &one(100.0, false))]);
    let text = files.compare(&["q1.json", "q2.json"]).succeeds().stdout;
    let unbroken = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("q2 faster 3.00×") && unbroken.contains("Largest speedups: syscall"), "{text}");
    // The plot on the page has the same: above 1 the second is the faster.
    assert!(unbroken.contains("instead of 300 ns (3.00× as fast)"), "{text}");
}

#[test]
fn taken_time_has_no_ratio_and_the_time_left_decides() {
    let one = |host: &str, share: f64| {
        let mut record = machine(host, 2, 5.0, 90.0);
        let place = Labels::new().with_label(Label::Cpu, 0u32);
        record.measurements = vec![Measurement::new("stolen.share", place, about(share))];
        record
    };
    let files = Files::of(&[("a.json", &one("a", 0.8)), ("b.json", &one("b", 0.9))]);
    let text = files.compare(&["a.json", "b.json"]).succeeds().stdout;
    // 20 % are left of one, and 10 % of the other.
    assert!(text.contains("a faster 2.00×") && !text.contains("0.5×"), "{text}");
}

#[test]
fn what_is_no_record_is_said_in_a_line_with_the_way_out() {
    let files = two();
    let newer = machine("n", 1, 5.0, 90.0).to_json().unwrap().replacen("\"schema\": 1", "\"schema\": 99", 1);
    std::fs::write(files.path("newer.json"), newer).unwrap();
    std::fs::write(files.path("broken.json"), "{\"schema\":").unwrap();
    files.compare(&["small.json"]).fails(2, &["at least two", "reference:NAME"]);
    files.compare(&["small.json", "newer.json"]).fails(3, &["newer.json", "schema 99", "newer one"]);
    files.compare(&["small.json", "broken.json"]).fails(3, &["broken.json", "truncated"]);
    files.compare(&["small.json", "missing.json"]).fails(3, &["missing.json", "cannot be read"]);
    files.compare(&["small.json", "big.json", "--baseline", "3"]).fails(2, &["--baseline 3", "1 to 2"]);
    files.compare(&["-", "-"]).fails(2, &["standard input"]);
    ran(["compare", &files.path("small.json"), "reference:no-such-machine"])
        .fails(2, &["no reference machine", "no-such-machine"]);
    files.compare(&["small.json", "big.json", "--quick"]).fails(2, &["does not support --quick"]);
    ran(["compare"]).misused(&["<RECORD>"]);
    // No record of this machine: the state folder is empty.
    let mut command = linespeed(["compare", "--all", ".", &files.path("small.json")]);
    command.env("XDG_STATE_HOME", files.0.path());
    run(command).fails(3, &["no record of this machine", "run linespeed first"]);
}

#[test]
fn the_newest_record_of_this_machine_stands_behind_a_dot() {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let files = two();
    let state = files.0.path().join("linespeed");
    std::fs::create_dir(&state).unwrap();
    // A run of everything, of which nothing need be said.
    let mut whole = machine(host.trim(), 2, 5.0, 90.0);
    for (metric, place) in [
        ("core.clock", Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Active, "one")),
        ("memory.bandwidth", Labels::new().with_label(Label::Op, "read").with_label(Label::Threads, 2u32)),
    ] {
        whole.measurements.push(Measurement::new(metric, place, about(3e9)));
    }
    std::fs::write(state.join("here.json"), whole.to_json().unwrap()).unwrap();
    let mut command = linespeed(["compare", "--all", ".", &files.path("small.json")]);
    command.env("XDG_STATE_HOME", files.0.path());
    let text = run(command).succeeds().stdout;
    assert!(text.contains("this machine (baseline)") && text.contains("measured 2026-01-01"), "{text}");
    // The path is longer than a line; its end alone is not broken.
    assert!(text.contains("record here.json") && !text.contains("/linespeed/"), "{text}");
    // It is shown by the same sign.
    let mut command = linespeed(["show", ".", "--all"]);
    command.env("XDG_STATE_HOME", files.0.path());
    let text = run(command).succeeds().stdout;
    assert!(text.contains("2026-01-01") && text.contains("3.00 GHz"), "{text}");
    let mut command = linespeed(["show", "."]);
    command.env("XDG_STATE_HOME", state);
    run(command).fails(3, &["no record of this machine", "run linespeed first"]);
}

#[test]
fn two_texts_of_perf_stat_are_compared_by_their_counts_and_what_follows_from_them() {
    let files = Files::of(&[]);
    for name in ["perf-intel", "perf-kunpeng"] {
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/texts");
        let text = text.join(format!("{name}.txt"));
        ran(["import", text.to_str().unwrap(), "--output", &files.path(&format!("{name}.json"))]).succeeds();
    }
    let said = parsed(&files.compare(&["perf-intel.json", "perf-kunpeng.json", "--json"]).succeeds());
    let row = |begins: &str| {
        let row = said.rows.iter().find(|row| row.what.to_string().starts_with(begins));
        let cells = row.map(|row| row.cells.iter().filter_map(|cell| cell.value).collect::<Vec<_>>());
        cells.unwrap_or_default()
    };
    assert_eq!(row("instructions of"), [128_284_870_917.0, 117_790_453_518.0]);
    assert_eq!(row("cycles of"), [58_626_314_801.0, 63_865_354_560.0]);
    for begins in
        ["cache-misses of", "branch-misses of", "branch-load-misses of all", "instructions per cycle"]
    {
        assert_eq!(row(begins).len(), 2, "{begins}: {:?}", said.rows);
    }
    let shares = row("cache-misses of all cache-references");
    assert!((shares[0] - 46.066).abs() < 1e-3 && (shares[1] - 0.021).abs() < 1e-3, "{shares:?}");
}
