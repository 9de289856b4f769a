//! Each command's answer on the terminal that nobody has resized, and on one that knows ASCII alone.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::{folder, linespeed, machines, measured, ran, run, share_of, terminal};

/// Lines and columns of a terminal as it opens.
const LINES: usize = 24;
const COLUMNS: usize = 80;

const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/0.1/main.json");
const COMMAND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/0.1/stat.json");
const PERF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/texts/perf-per-cpu.txt");
const LSCPU: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/texts/lscpu-numactl-kunpeng.txt");
const DMIDECODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/texts/dmidecode-x9dbl.txt");
const HISTOGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/texts/cyclictest-histogram.txt");
const MLC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/texts/mlc-3.9.txt");
const MACHINES: [&str; 2] = ["reference:kunpeng-920-4826", "reference:hygon-5280"];

/// What has an answer: no list, and no table that was asked for by its name.
const ANSWERS: &[&[&str]] = &[
    &["inspect"],
    &["list"],
    &["quiet"],
    &["stat", "--", "true"],
    &["stat", "-r", "6", "--", "sh", "-c", "sleep 0.02 & wait; head -c 1000000 /dev/zero | cksum"],
    &["show", RUN],
    &["show", COMMAND],
    &["plan", RUN],
    &["plan", MACHINES[0]],
    &["compare", RUN, MACHINES[0]],
    &["compare", MACHINES[0], MACHINES[1]],
    &["reference", "hygon-5280"],
    &["reference", "xeon-8269cy"],
    &["reference", "epyc-7h12"],
    &["scale", "--quick", "--steps", "1", "--", "true"],
    &["scale", "--list"],
    &["import", PERF],
    &["import", LSCPU],
    &["import", DMIDECODE],
    &["import", HISTOGRAM],
    &["import", MLC],
    &["import", "--split", "files", LSCPU, DMIDECODE],
];

/// What `overhead --quick` answers, and the file of its record.
fn overhead() -> &'static (String, PathBuf) {
    static OVERHEAD: OnceLock<(String, PathBuf)> = OnceLock::new();
    OVERHEAD.get_or_init(|| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("overhead.json");
        let mut command = linespeed(["overhead", "--quick", "--output", file.to_str().unwrap()]);
        command.env("COLUMNS", COLUMNS.to_string());
        (measured(command).succeeds().stdout, file)
    })
}

/// Whether a line holds a path or a command, to be pasted whole.
fn is_pasted(line: &str) -> bool {
    let line = line.trim_start();
    ["Record:", "Page:", "More:", "$ ", "/", "linespeed "].iter().any(|start| line.starts_with(start))
}

#[test]
fn every_answer_fits_a_terminal_as_it_opens() {
    let state = folder();
    let answers: Vec<Vec<String>> =
        ANSWERS.iter().map(|args| args.iter().map(|arg| (*arg).to_owned()).collect()).collect();
    let captured =
        ["128arm-2pa2n8cluster4co", "16amd64-8n2c", "20em64t-hybrid-1p6c2t+2ca4co1t"].map(|name| {
            let folder = state.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            let root = machines::unpack(name, &folder).to_str().unwrap().to_owned();
            ["inspect", "quiet"].map(|command| vec![command.to_owned(), "--root".to_owned(), root.clone()])
        });
    let all = answers.iter().chain(captured.as_flattened());
    for args in share_of("every_answer_fits_a_terminal_as_it_opens", 3, all) {
        let mut command = linespeed(args);
        command.env("COLUMNS", COLUMNS.to_string()).env("XDG_STATE_HOME", state.path());
        let ran = measured(command);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        // A command's report stands on standard error; what is said there of an import, beside its report.
        fits(if args[0] == "stat" { &ran.stderr } else { &ran.stdout }, args);
    }
    fits(&overhead().0, &["overhead".to_owned()]);
}

#[track_caller]
fn fits(text: &str, args: &[String]) {
    let count = text.lines().count();
    assert!((3..=LINES).contains(&count), "{args:?}: {count} lines\n{text}");
    assert!(!text.lines().any(|line| line.trim() == "…"), "{args:?}: a line says nothing\n{text}");
    for line in text.lines().filter(|line| !is_pasted(line)) {
        assert!(line.chars().count() <= COLUMNS, "{args:?}: {line}\n{text}");
    }
}

#[test]
fn every_table_stands_above_the_answer_where_all_are_asked_for() {
    let home = folder();
    // The state of this machine changes from one inspection to the next.
    let tree = machines::unpack("16amd64-8n2c", home.path());
    let inspect = &["inspect", "--root", tree.to_str().unwrap()];
    let answers = [&inspect[..], &["show", RUN], &["show", COMMAND], &["plan", MACHINES[0]]];
    let answer_to = |args: &[&str]| {
        let mut command = linespeed(args);
        command.env("XDG_STATE_HOME", home.path());
        run(command).succeeds().stdout
    };
    for args in answers {
        let answer = answer_to(args);
        let all = answer_to(&[args, &["--all"]].concat());
        // But for the way to what is not shown yet.
        let parts = |text: &str| {
            let (answer, more) = text.rsplit_once("\nMore: ").unwrap_or((text.trim_end(), ""));
            (answer.to_owned(), more.to_owned())
        };
        let (end, more) = parts(&all);
        assert!(end.ends_with(&parts(&answer).0), "{args:?}: the answer does not stand last:\n{all}");
        assert!(!more.contains("--all"), "{args:?}: {more}");
        assert!(all.lines().count() > 2 * answer.lines().count(), "{args:?}: {all}");
    }
}

/// What people see of the program, with its errors.
const SEEN: &[&[&str]] = &[
    &["--help"],
    &["stat", "--help"],
    &["help", "quiet"],
    &["explain"],
    &["explain", "wakeup"],
    &["list"],
    &["records"],
    &["reference"],
    &["reference", "hygon-5280"],
    &["inspect", "--all"],
    &["inspect", "--tree"],
    &["inspect", "--markdown"],
    &["quiet", "--all"],
    &["quiet", "--status"],
    &["quiet", "--dry-run"],
    &["quiet", "ionice", "-v", "--", "true"],
    &["stat", "--all", "--", "true"],
    &["stat", "--perf-format", "--", "true"],
    &["show", RUN, "--all"],
    &["show", RUN, "latency", "core-to-core"],
    &["show", COMMAND, "--all"],
    &["plan", RUN, "--all"],
    &["plan", RUN, "--as", "taskset"],
    &["compare", RUN, MACHINES[0], "--all"],
    &["run", "costs", "--quick", "-v"],
    &["import", MLC, "--all"],
    &["show", "--nonsense"],
    &["show", "/nonexistent/x.json"],
    &["frobnicate"],
    &["run", "latencies"],
    &["explain", "latencyy"],
    &["quiet", "governer"],
    &["compare", RUN],
    &["compare", RUN, "--quick"],
    &["stat", "--", "/nonexistent/program"],
    &["man", "-o", "x"],
];

fn is_ascii(text: &str, args: &[&str], set: &str) {
    let wrong = |line: &&str| !line.is_ascii();
    let wrong: Vec<&str> = text.lines().filter(wrong).collect();
    assert!(wrong.is_empty(), "{set} linespeed {}: {wrong:#?}", args.join(" "));
    assert!(!text.is_empty(), "{args:?} printed nothing");
}

#[test]
fn where_the_locale_has_no_utf_8_every_byte_is_ascii() {
    let state = folder();
    let layers = &["show", overhead().1.to_str().unwrap()][..];
    let all = ANSWERS.iter().chain(SEEN).chain([&layers]);
    for args in share_of("where_the_locale_has_no_utf_8_every_byte_is_ascii", 3, all) {
        let mut command = linespeed(*args);
        command.env("LC_ALL", "C").env("XDG_STATE_HOME", state.path());
        let ran = measured(command);
        is_ascii(&(ran.stdout + &ran.stderr), args, "LC_ALL=C");
    }
}

#[test]
fn a_dumb_terminal_is_sent_ascii_alone() {
    let state = folder();
    let seen = [&["run", "costs", "--quick", "-v"][..], &["stat", "--", "true"], &["explain", "wakeup"]];
    let more = [&["inspect"][..], &["quiet"], &["show", RUN], &["compare", RUN, MACHINES[0]], &["plan", RUN]];
    let errors = [&["show", "--nonsense"][..], &["show", "/nonexistent/x.json"], &["--help"], &["list"]];
    for args in seen.iter().chain(&more).chain(&errors) {
        for set in [("TERM", "dumb"), ("LC_ALL", "C")] {
            let mut command = linespeed(*args);
            command.env("PAGER", "cat").env("XDG_STATE_HOME", state.path()).env(set.0, set.1);
            let (text, _) = terminal::shown(command);
            is_ascii(&text, args, set.1);
        }
    }
}

#[test]
fn an_inventory_alone_is_shown_as_inspect_shows_it() {
    let folder = folder();
    let place = folder.path().join("a.json");
    let place = place.to_str().unwrap();
    ran(["inspect", "-q", "-o", place]).succeeds();
    let facts =
        |text: String| text.lines().filter(|line| !is_pasted(line)).map(str::to_owned).collect::<Vec<_>>();
    let mut command = linespeed(["show", place]);
    command.env("COLUMNS", COLUMNS.to_string());
    let shown = facts(run(command).succeeds().stdout);
    assert!((8..LINES).contains(&shown.len()), "{shown:#?}");
    // An inventory has every fact where a program reads it.
    let json = ran(["inspect", "--json"]).succeeds().stdout;
    assert!(json.lines().count() > 2 * shown.len(), "{json}");
}
