//! Where output goes: files, pipes, full disks, terminals, colours.

use std::process::Stdio;

use crate::support::confine::{self, Confine};
use crate::support::started::spawned;
use crate::support::{self, Ran, folder, linespeed, measured, ran, run, skipped, sound, terminal};

/// The shortest run that measures.
const SHORT: [&str; 3] = ["run", "costs", "--quick"];

fn short(more: &[&str]) -> std::process::Command {
    linespeed(SHORT.iter().chain(more))
}

/// The names in a folder.
fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn json_puts_the_record_and_nothing_else_on_standard_output() {
    let record = measured(short(&["--json"])).succeeds().record();
    assert!(support::figures(&record, "cost.syscall") > 0);
    assert!(record.measurements.iter().all(|m| m.metric.family() == "cost"), "more than was asked for");
    assert!(!support::lost(&record, "bandwidth").is_empty());
    let same = measured(short(&["--output", "-"])).succeeds().record();
    assert_eq!(support::figures(&same, "cost.syscall"), support::figures(&record, "cost.syscall"));
}

#[test]
fn a_run_leaves_its_record_where_it_was_reported_and_nothing_else() {
    let folder = folder();
    let place = folder.path().join("db1.json");
    let mut command = short(&["--output", place.to_str().unwrap(), "--quiet-output"]);
    command.env("HOME", folder.path()).env("TMPDIR", folder.path());
    let ran = measured(command).succeeds();
    assert_eq!(ran.stdout, "");
    sound::record(&std::fs::read(&place).unwrap());
    assert_eq!(names(folder.path()), ["db1.json"]);
}

#[test]
fn without_a_place_the_record_goes_to_the_state_folder() {
    let folder = folder();
    let mut command = short(&[]);
    command.env("XDG_STATE_HOME", folder.path());
    let ran = measured(command).succeeds();
    let names = names(&folder.path().join("linespeed"));
    assert!(names.len() == 1 && names[0].ends_with("Z.json"), "{names:?}");
    assert!(ran.stdout.contains(&names[0]), "the report does not say where the record lies");
    sound::record(&std::fs::read(folder.path().join("linespeed").join(&names[0])).unwrap());
}

#[test]
fn a_place_that_cannot_be_written_is_named_before_the_measuring() {
    let folder = folder();
    let at = |place: &str| run(short(&["--output", place]));
    at(folder.path().to_str().unwrap()).fails(3, &["it is a directory", "--output FILE"]);
    at("/proc/nothing/here.json").fails(3, &["/proc/nothing/here.json", "--json"]);
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    at(file.join("record.json").to_str().unwrap()).fails(3, &["file/record.json", "--output FILE"]);
    assert_eq!(
        (names(folder.path()), std::fs::read(&file).unwrap()),
        (vec!["file".to_owned()], b"mine".to_vec())
    );
    let mut homeless = short(&[]);
    homeless.env_remove("HOME");
    let short = measured(homeless);
    // Nothing is lost by going on: the report is there.
    assert!(short.code == Some(0) && short.stdout.contains("noise: "), "{short:?}");
    assert!(!short.stdout.contains("linespeed show"), "a record that is not there is named: {short:?}");
    assert!(short.stdout.contains("More: --all ("), "{short:?}");
    assert!(
        short.stderr.contains("will not be saved") && short.stderr.contains("XDG_STATE_HOME"),
        "{short:?}"
    );
    let mut long = linespeed(["--full"]);
    long.env_remove("HOME");
    run(long).fails(3, &["XDG_STATE_HOME", "--output FILE"]);
}

#[test]
fn a_full_disk_costs_nobody_the_record() {
    if let Some(why) = confine::no_mounts() {
        return skipped("a_full_disk_costs_nobody_the_record", &why);
    }
    let (disk, spare) = (folder(), folder());
    let place = disk.path().join("db1.json");
    let mut command = short(&["--output", place.to_str().unwrap()]).with_small_disk(disk.path(), 4);
    command.env("TMPDIR", spare.path());
    let ran = measured(command);
    assert_eq!(ran.code, Some(3), "a script would look for a record that is not there: {ran:?}");
    assert!(ran.stderr.contains("No space left") && ran.stderr.contains("db1.json"), "{}", ran.stderr);
    let rescued = format!("More: linespeed show {}", spare.path().join("db1.json").display());
    assert!(ran.stdout.contains(&rescued), "what was measured is not shown, or where it is: {ran:?}");
    let saved = std::fs::read(spare.path().join("db1.json")).unwrap();
    assert!(support::figures(&sound::record(&saved), "cost.syscall") > 0);
    assert_eq!(names(spare.path()), ["db1.json"]);
}

#[test]
fn a_full_disk_for_a_page_or_an_inventory_leaves_no_half_of_it() {
    if let Some(why) = confine::no_mounts() {
        return skipped("a_full_disk_for_a_page_or_an_inventory_leaves_no_half_of_it", &why);
    }
    let disk = folder();
    let place = disk.path().join("db1.json");
    let command =
        linespeed(["inspect", "-q", "--output", place.to_str().unwrap()]).with_small_disk(disk.path(), 4);
    run(command).fails(3, &["db1.json", "No space left"]);
}

#[test]
fn a_full_standard_output_is_an_error() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for args in [&["inspect", "--json"][..], &["list"], &["schema"], &["explain"], &["man"]] {
        let output = linespeed(args).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        Ran::from(output).fails(3, &["standard output", "No space left"]);
    }
    ran(["inspect", "-q", "--output", "/dev/full"]).fails(3, &["/dev/full", "No space left"]);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for args in
        [&["inspect", "--json"][..], &["inspect"], &["schema"], &["explain"], &["completions", "bash"]]
    {
        let mut child = spawned(linespeed(args).stdout(Stdio::piped()).stderr(Stdio::piped()));
        // The reader is gone before the first byte: `linespeed inspect | true`.
        drop(child.stdout.take());
        Ran::from(child.wait_with_output().unwrap()).succeeds();
    }
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let record = ran(["inspect", "--output", "/dev/stdout", "--quiet-output"]).succeeds().record();
    assert!(!record.machine.cpus.is_empty());
}

/// What `linespeed ARGS` prints on a terminal.
fn on_a_terminal(args: &[&str], set: &[(&str, &str)]) -> String {
    let mut command = linespeed(args);
    command.env("PAGER", "cat").envs(set.iter().copied());
    let (text, status) = terminal::shown(command);
    assert!(status.success(), "{text}");
    text
}

#[test]
fn colours_are_for_terminals_and_for_who_asks() {
    let coloured = |text: &str| text.contains("\u{1b}[");
    assert!(!coloured(&ran(["explain", "wakeup"]).succeeds().stdout), "colours in a pipe");
    assert!(coloured(&ran(["explain", "wakeup", "--color", "always"]).succeeds().stdout));
    assert!(coloured(&on_a_terminal(&["explain", "wakeup"], &[])));
    assert!(!coloured(&on_a_terminal(&["explain", "wakeup"], &[("NO_COLOR", "1")])));
    assert!(!coloured(&on_a_terminal(&["explain", "wakeup"], &[("TERM", "dumb")])));
    assert!(!coloured(&on_a_terminal(&["explain", "wakeup", "--color", "never"], &[])));
    assert!(coloured(&on_a_terminal(&["explain", "wakeup", "--color", "always"], &[("NO_COLOR", "1")])));
    assert!(
        coloured(&on_a_terminal(&["explain", "wakeup"], &[("NO_COLOR", "")])),
        "an empty NO_COLOR is none"
    );
}

#[test]
fn progress_with_the_time_left_is_for_terminals_only() {
    let _beside = support::beside_others();
    let folder = folder();
    let place = folder.path().join("a.json");
    let args = ["run", "costs", "--quick", "--output", place.to_str().unwrap()];
    let text = on_a_terminal(&args, &[]);
    assert!(text.contains("s left"), "{text:?}");
    assert!(!on_a_terminal(&[&args[..], &["-q"]].concat(), &[]).contains("s left"));
    // A pipe sees lines when it asks for them, and never a bar.
    let reported = run(linespeed(args.iter().chain(&["--verbose"])));
    assert!(
        reported.stderr.starts_with("costs: ") && !reported.stderr.contains("s left"),
        "{:?}",
        reported.stderr
    );
}

#[test]
fn a_result_has_one_form_and_goes_to_one_place() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    measured(short(&["-q", "--output", &at("a.json")])).succeeds();
    let figures = ran(["show", &at("a.json"), "--csv"]).succeeds().stdout;
    assert!(
        figures.starts_with("machine,time,metric,") && figures.contains("Z,cost.syscall,ns,cpu="),
        "{figures}"
    );
    let text = ran(["show", &at("a.json"), "--all", "--markdown"]).succeeds().stdout;
    assert!(text.contains("\n## Small costs\n") && text.contains("| --- |"), "{text}");
    // The ending of the file says the form; what goes to a file goes there alone, but for what was measured.
    assert_eq!(ran(["show", &at("a.json"), "--output", &at("b.csv")]).succeeds().stdout, "");
    assert_eq!(std::fs::read_to_string(at("b.csv")).unwrap(), figures);
    assert_eq!(ran(["show", &at("a.json"), "--json", "-o", &at("c")]).succeeds().stdout, "");
    sound::record(&std::fs::read(at("c")).unwrap());
    // A page of a run leaves the record where it lies without.
    let mut command = short(&["--output", &at("page.html")]);
    command.env("XDG_STATE_HOME", folder.path());
    assert!(measured(command).succeeds().stdout.contains("noise: "));
    assert!(std::fs::read_to_string(at("page.html")).unwrap().contains("</html>"));
    assert_eq!(names(&folder.path().join("linespeed")).len(), 1);
    // What Prometheus reads stands beside any other form.
    assert!(ran(["show", &at("a.json"), "--prom", &at("a.prom")]).succeeds().stdout.contains("linespeed"));
    let text = std::fs::read_to_string(at("a.prom")).unwrap();
    let record = record::Record::from_json(&std::fs::read(at("a.json")).unwrap()).unwrap();
    // What noise left in doubt is not handed on.
    let sure = record.measurements_of("cost.syscall").any(|m| m.doubt.is_none());
    assert_eq!(text.contains("\nlinespeed_cost_syscall_seconds{cpu="), sure, "{text}");
    assert!(text.contains("\nlinespeed_run_figures "), "{text}");
    let reported = ran(["show", &at("a.json"), "--prom", &at("none/a.prom")]);
    assert!(reported.code == Some(3) && reported.stderr.contains("none/a.prom"), "{reported:?}");
    ran(["list", "--prom", &at("a.prom")]).fails(2, &["does not support --prom"]);
    ran(["show", &at("a.json"), "--csv", "--json"]).misused(&["--csv", "--json"]);
    // Who wants no report gets none.
    for quiet in [&["show", &at("a.json"), "-q"][..], &["inspect", "-q"]] {
        assert_eq!(ran(quiet).succeeds().stdout, "");
    }
}

/// What is printed, and the names of the columns of those that have figures as comma-separated values.
const TABLES: &[(&[&str], Option<&str>)] = &[
    (&["list"], None),
    (&["plan"], None),
    (&["plan", "reference:kunpeng-920-4826"], None),
    (&["reference"], None),
    (&["reference", "hygon-5280"], Some("machine,time,metric,")),
    (&["quiet"], None),
    (&["quiet", "--dry-run"], None),
    (&["explain"], None),
    (&["explain", "nop"], None),
    (&["inspect"], None),
    (&["scale", "--list"], None),
    (&["records"], None),
    (&["compare", "reference:kunpeng-920-4826", "reference:hygon-5280"], Some("kind,group,figure,")),
];

#[test]
fn whatever_is_printed_is_markdown_and_figures_are_a_table_with_one_head() {
    let state = folder();
    std::fs::create_dir(state.path().join("linespeed")).unwrap();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/0.1/main.json");
    std::fs::copy(record, state.path().join("linespeed/a.json")).unwrap();
    for (args, head) in TABLES {
        let form = |form: &str| {
            let mut command = linespeed(args.iter().copied().chain([form]));
            command.env("XDG_STATE_HOME", state.path());
            run(command)
        };
        let text = form("--markdown").succeeds().stdout;
        assert!(text.lines().count() > 1, "{args:?}: {text}");
        // A list is a table there, too.
        let is_list = ["reference", "explain", "list"].contains(&args[args.len() - 1]);
        assert!(!is_list || text.starts_with("| "), "{args:?}: {text}");
        let Some(head) = head else {
            form("--csv").fails(2, &["omit "]);
            continue;
        };
        let table = form("--csv").succeeds().stdout;
        let lines: Vec<&str> = table.split_terminator("\r\n").collect();
        assert!(lines.len() > 1 && lines[0].starts_with(head), "{args:?}: {table}");
        assert!(lines.iter().all(|line| !line.is_empty() && !line.contains('\n')), "{args:?}: {table}");
        let columns = |line: &str| {
            let outside = line.split('"').step_by(2).collect::<String>();
            outside.matches(',').count()
        };
        let count = columns(lines[0]);
        assert!(lines.iter().all(|line| columns(line) == count), "{args:?}: {table}");
    }
    // What is a command's own has no form.
    let refused = ran(["quiet", "--markdown", "--", "true"]).fails(2, &["omit --markdown", "--json"]);
    assert_eq!((refused.stdout.as_str(), refused.stderr.lines().count()), ("", 1));
}
