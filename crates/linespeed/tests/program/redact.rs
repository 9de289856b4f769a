//! `--redact`: of what is marked as a name nothing is left, in any form.

use std::path::Path;
use std::process::Command;

use record::{Label, Labels, Measurement, Record, detail};
use serde_json::{Value, json};

use crate::support::{folder, linespeed, ran, run};

/// Every name in the record has this in it.
const MARK: &str = "zqxmark";

/// A record full of names, as stat leaves it.
fn write(path: &Path, host: &str) {
    let words = ["linespeed", "stat", "-o", "/home/zqxmarkuser/zqxmark.json", "--", "/srv/zqxmarkd"];
    let argv = words.iter().map(ToString::to_string).chain([format!("--key={MARK}arg")]).collect();
    let mut record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), argv);
    record.machine.hostname = Some(format!("{MARK}{host}.example"));
    record.machine.kernel.options = vec![format!("root={MARK}disk")];
    let place = Labels::new().with_label(Label::Workload, "command");
    let mut time = Measurement::new("workload.time", place, vec![1.0; 6]);
    time.detail.set(detail::COMMAND, vec![format!("/srv/{MARK}d"), format!("--key={MARK}arg")]);
    time.detail.set(detail::WITHIN, format!("/system.slice/{MARK}.service"));
    record.measurements.push(time);
    let thread = Labels::new().with_label(Label::Thread, format!("{MARK}thread"));
    record.measurements.push(Measurement::new("workload.time", thread, vec![2.0; 6]));
    let mut value = serde_json::to_value(&record).unwrap();
    value["coverage"] = json!([{"what": "load", "state": "impossible", "reason":
        format!("{MARK}d of /home/{MARK}user, on {MARK}{host}.example, cannot be read")}]);
    value["import"] = json!({"texts": [{"name": format!("{MARK}.txt"), "lines": 1}], "outputs": [],
        "not_understood": {"lines": 1, "examples": [{"tool": "?", "text": format!("{MARK}.txt"), "line": 1, "says": format!("secret {MARK}")}]}});
    // An import is another kind of record: these fields are looked at as they stand.
    if Record::from_json(&serde_json::to_vec(&value).unwrap()).is_err() {
        value.as_object_mut().unwrap().remove("import");
    }
    std::fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

fn is_clean(of: &str, text: &str) {
    assert!(!text.is_empty(), "{of} is empty");
    let at = text.find(MARK);
    let around = at.map(|at| text.get(at.saturating_sub(80)..(at + 60).min(text.len())));
    assert!(at.is_none(), "{of}: …{around:?}…");
}

#[test]
fn a_redacted_record_has_no_name_in_any_form() {
    let folder = folder();
    let path = folder.path().join(format!("{MARK}-a.json"));
    write(&path, "one");
    let path = path.to_str().unwrap();
    assert!(ran(["show", path, "--all"]).succeeds().stdout.contains(MARK), "the marks are shown without it");
    for form in [&["--json"][..], &["--csv"], &["--markdown"], &["--html"], &["--all"], &[]] {
        let args = ["show", path, "--redact"].into_iter().chain(form.iter().copied());
        let shown = ran(args).succeeds();
        is_clean(&format!("show {form:?}"), &shown.stdout);
        assert!(!shown.stderr.contains(MARK), "{}", shown.stderr);
    }
    for name in ["out.json", "out.csv", "out.md", "out.html"] {
        let out = folder.path().join(name);
        let prom = folder.path().join("out.prom");
        ran(["show", path, "--redact", "-q", "-o", out.to_str().unwrap(), "--prom", prom.to_str().unwrap()])
            .succeeds();
        is_clean(name, &std::fs::read_to_string(&out).unwrap());
        is_clean("prom", &std::fs::read_to_string(&prom).unwrap());
    }
    let again = Record::read(&folder.path().join("out.json")).unwrap();
    assert!(again.machine.hostname.is_some_and(|host| host.starts_with("host-")));
    assert_eq!(again.measurements.len(), 2);
}

#[test]
fn records_that_are_compared_have_pseudonyms_that_tell_them_apart() {
    let folder = folder();
    let paths = ["one", "two"].map(|host| {
        let path = folder.path().join(format!("{MARK}-{host}.json"));
        write(&path, host);
        path.to_str().unwrap().to_owned()
    });
    for form in [&["--json"][..], &["--csv"], &["--html"], &["--all"]] {
        let args = ["compare", &paths[0], &paths[1], "--redact"].into_iter().chain(form.iter().copied());
        let compared = ran(args).succeeds();
        is_clean(&format!("compare {form:?}"), &compared.stdout);
        assert!(!compared.stderr.contains(MARK), "{}", compared.stderr);
        if form == ["--json"] {
            let said: Value = serde_json::from_str(&compared.stdout).unwrap();
            let names: Vec<&str> =
                said["subjects"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
            assert!(names[0] != names[1] && names.iter().all(|name| name.starts_with("file-")), "{names:?}");
        }
    }
}

#[test]
fn what_is_measured_with_it_has_no_name_either() {
    let folder = folder();
    let program = folder.path().join(format!("{MARK}d"));
    std::fs::copy("/bin/true", &program).unwrap();
    let out = folder.path().join("out.json");
    let mut command: Command = linespeed(["stat", "--redact", "-o"]);
    command.arg(&out).arg("--").arg(&program).arg(format!("--key={MARK}arg"));
    let ran = run(command);
    assert_eq!(ran.code, Some(0));
    is_clean("stat", &ran.stderr);
    is_clean("the record of stat", &std::fs::read_to_string(&out).unwrap());
    let mut command = linespeed(["inspect", "--redact", "--json"]);
    command.env("USER", MARK);
    let inspected = run(command).succeeds().stdout;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let named = Record::from_json(inspected.as_bytes()).unwrap().machine.hostname;
    assert!(named.is_none_or(|named| named.starts_with("host-") && named != host.trim()));
}

#[test]
fn a_command_that_cannot_be_started_is_not_named() {
    let state = folder();
    let missing = format!("/no/such/{MARK}");
    for command in [&[missing.as_str(), MARK][..], &["true", ":::", &missing, MARK]] {
        let mut stat = linespeed(["stat", "-r", "2", "--redact", "--"].iter().chain(command));
        stat.env("XDG_STATE_HOME", state.path());
        let done = run(stat);
        assert_eq!(done.code, Some(127), "{}", done.stderr);
        is_clean("stat", &(done.stdout + &done.stderr));
    }
}

#[test]
fn what_cannot_be_redacted_says_so() {
    ran(["plan", ".", "--redact"]).fails(2, &["--redact"]);
    ran(["records", "--redact"]).fails(2, &["--redact"]);
}

/// A machine's record of a day in January 2026, in a file that is called as linespeed calls it.
fn keep(folder: &Path, name: &str, day: usize, hz: f64) {
    let host = format!("{MARK}{name}.example");
    let started = format!("2026-01-{day:02}T03:04:05Z");
    let path = folder.join(record::file_name::record_name(Some(&host), &started) + ".json");
    write(&path, name);
    let mut record = Record::read(&path).unwrap();
    record.machine.kernel.options.push(format!("{MARK}.option={day}"));
    record.machine.processor.model_name = Some("AMD EPYC 7302".to_owned());
    record.started = started;
    let labels = Labels::new()
        .with_label(Label::Active, "all")
        .with_label(Label::Cpu, 0u32)
        .with_label(Label::Vector, "scalar");
    let samples = (0..8).map(|n| hz * (1.0 + 0.0005 * f64::from(n))).collect();
    record.measurements.push(Measurement::new("core.clock", labels, samples));
    std::fs::write(&path, record.to_json().unwrap()).unwrap();
}

/// Runs a command in every form that it has, and takes its JSON.
fn all_forms(words: &[&str], state: &Path) -> Value {
    let mut json = None;
    for form in ["--json", "--csv", "--markdown", "--html", "--all"] {
        let mut command = linespeed(words.iter().copied().chain([form]));
        command.env("XDG_STATE_HOME", state);
        let ran = run(command).succeeds();
        is_clean(&format!("{words:?} {form}"), &ran.stdout);
        assert!(!ran.stderr.contains(MARK), "{}", ran.stderr);
        json = json.or((form == "--json").then(|| serde_json::from_str(&ran.stdout).unwrap()));
    }
    json.unwrap()
}

#[test]
fn a_history_has_no_name_and_the_same_pseudonyms_as_a_fleet() {
    let (folder, state) = (folder(), folder());
    let host = format!("{MARK}db.example");
    for day in 1..=16 {
        let wobble = [0.0, 4e6, -3e6, 2e6][day % 4];
        keep(folder.path(), "db", day, if day <= 10 { 3.0e9 } else { 2.7e9 } + wobble);
    }
    keep(folder.path(), "other", 1, 3e9);
    std::fs::write(folder.path().join(format!("{MARK}half.json")), "{").unwrap();
    let from = folder.path().to_str().unwrap();
    let words = ["history", "core", "--redact", "--host", &host, "--from", from];
    let said = all_forms(&words, state.path());
    let machine = said["machine"].as_str().unwrap();
    assert!(machine.starts_with("host-") && said["records"].as_array().unwrap().len() == 16, "{said}");
    // The change is found and told as without.
    assert!(said["lines"][0]["changes"][0]["differences"].to_string().contains("option-"), "{said}");
    let record = said["records"][0]["record"].as_str().unwrap();
    assert_eq!(record, format!("{machine}-20260101T030405Z.json"));
    let fleet = all_forms(&["fleet", "--redact", from], state.path());
    assert!(fleet["instead"].to_string().contains(machine) || fleet.to_string().contains(machine), "{fleet}");
    // Another key has other names, and so has a state folder that nothing can be written in.
    let elsewhere = all_forms(&words, &folder.path().join("state"));
    assert_ne!(elsewhere["machine"], said["machine"]);
    let mut command = linespeed(words.iter().copied().chain(["--json"]));
    std::fs::write(folder.path().join("linespeed"), "").unwrap();
    command.env("XDG_STATE_HOME", folder.path());
    let nowhere = run(command);
    assert!(nowhere.code == Some(0) && nowhere.stderr.contains("for this call only"), "{nowhere:?}");
    assert!(nowhere.stdout.contains("host-") && !nowhere.stdout.contains(machine));
    is_clean("without a state folder", &nowhere.stdout);
}

#[test]
fn a_fleet_has_no_name_in_what_it_tells_of_the_slow_ones() {
    let (folder, state) = (folder(), folder());
    for number in 0..12 {
        let hz = if number == 7 { 2.4e9 } else { 3.0e9 + f64::from(number) * 1e6 };
        keep(folder.path(), &format!("node{number:02}"), 1, hz);
    }
    let from = folder.path().to_str().unwrap();
    let baseline = folder.path().join("base.line");
    let words = ["fleet", "--redact", "--baseline", baseline.to_str().unwrap(), from];
    let said = all_forms(&words, state.path());
    let slow = said["slow"].as_array().unwrap();
    assert!(slow.len() == 1 && slow[0]["machine"].as_str().unwrap().starts_with("host-"), "{said}");
    assert!(!said["confirm"].as_array().unwrap().is_empty());
    is_clean("baseline", &std::fs::read_to_string(&baseline).unwrap());
    // The key is the owner's alone, and lies beside the records.
    let key = std::fs::metadata(state.path().join("linespeed/redaction.key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
}

#[test]
fn this_machines_records_are_its_own_with_their_names_and_without() {
    let state = folder();
    let kept = state.path().join("linespeed");
    std::fs::create_dir(&kept).unwrap();
    let call = |words: &[&str]| {
        let mut command = linespeed(words);
        command.env("XDG_STATE_HOME", state.path());
        run(command)
    };
    let plain = kept.join("plain.json");
    let inspected = call(&["inspect", "--json"]).succeeds().stdout;
    let write = |day: u32| {
        let mut record = Record::from_json(inspected.as_bytes()).unwrap();
        record.started = format!("2026-01-{day:02}T03:04:05Z");
        let place = Labels::new().with_label(Label::Cpu, 0u32).with_label(Label::Bytes, 1u64 << 16);
        record.measurements.push(Measurement::new("load.latency", place, vec![4.0; 8]));
        std::fs::write(&plain, record.to_json().unwrap()).unwrap();
    };
    let redacted = kept.join("redacted-20260102T030405Z.json");
    let (plain, redacted) = (plain.to_str().unwrap(), redacted.to_str().unwrap());
    write(2);
    call(&["show", plain, "--redact", "-o", redacted, "-q"]).succeeds();
    assert_ne!(
        Record::read(Path::new(redacted)).unwrap().machine.hostname,
        Record::read(Path::new(plain)).unwrap().machine.hostname
    );
    write(3);
    let json = |words: &[&str]| -> Value { serde_json::from_str(&call(words).succeeds().stdout).unwrap() };
    let compared = json(&["compare", plain, redacted, "--json"]);
    assert_eq!(compared["relation"], "same-machine", "{compared}");
    let fleet = json(&["fleet", kept.to_str().unwrap(), "--json"]);
    assert_eq!(
        (&fleet["reading"]["machines"], &fleet["reading"]["earlier"]),
        (&json!(1), &json!(1)),
        "{fleet}"
    );
    let pruned = call(&["records", "prune", "--keep", "1"]).succeeds().stdout;
    assert!(pruned.lines().count() == 1 && pruned.contains(redacted), "{pruned}");
    // The redacted one alone.
    call(&["show", plain, "--redact", "-o", redacted, "-q"]).succeeds();
    std::fs::remove_file(plain).unwrap();
    let plan = json(&["plan", "--json"]);
    assert!(plan["sources"].to_string().contains("redacted-20260102"), "{plan}");
}

#[test]
fn a_watch_has_no_name_on_the_screen_in_prometheus_and_when_it_is_kept() {
    let (folder, state) = (folder(), folder());
    let program = folder.path().join(format!("{MARK}d"));
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut sleeping = Command::new(&program).arg("60").spawn().unwrap();
    let pid = sleeping.id().to_string();
    let watched = |number: usize, more: &[&str]| {
        let [kept, prom] = ["json", "prom"].map(|kind| folder.path().join(format!("watch{number}.{kind}")));
        let mut command = linespeed(["live", "--once", "1s", "--redact", "--output"]);
        command.arg(&kept).arg("--prom").arg(&prom).args(more);
        command.env("XDG_STATE_HOME", state.path()).env("USER", MARK);
        let ran = run(command);
        // A process of somebody else may be called as a word of our sentences, which is said.
        let said = ran.stderr.lines().collect::<Vec<_>>();
        let allowed = |line: &&str| line.starts_with("linespeed: --redact: ");
        assert!(ran.code == Some(0) && said.len() <= 1 && said.iter().all(allowed), "{ran:?}");
        is_clean(&format!("live {more:?}"), &ran.stdout);
        assert!(!ran.stderr.contains(MARK), "{}", ran.stderr);
        is_clean("prom", &std::fs::read_to_string(&prom).unwrap());
        let text = std::fs::read_to_string(&kept).unwrap();
        is_clean("the watch", &text);
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let record = Record::from_json(text.as_bytes()).unwrap();
        assert!(record.watch.is_some() && record.machine.hostname.as_deref() != Some(host.trim()));
        is_clean("the watch shown", &crate::support::ran(["show", kept.to_str().unwrap()]).succeeds().stdout);
    };
    // At the same time: each waits for three seconds.
    let forms = [&[][..], &["--json"], &["-p", &pid], &["-p", &pid, "--json"]];
    std::thread::scope(|scope| {
        for (number, more) in forms.into_iter().enumerate() {
            let watched = &watched;
            scope.spawn(move || watched(number, more));
        }
    });
    sleeping.kill().unwrap();
    sleeping.wait().unwrap();
}
