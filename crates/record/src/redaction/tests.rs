use serde_json::json;

use super::*;

/// All paths in the record's schema that may contain text.
fn texts(schema: &Value, at: &Value, path: &str, seen: &mut Vec<String>, found: &mut Vec<String>) {
    if let Some(name) = at["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        if !seen.iter().any(|one| one == name) {
            seen.push(name.to_owned());
            texts(schema, &schema["$defs"][name], path, seen, found);
            seen.pop();
        }
        return;
    }
    for kind in ["anyOf", "oneOf", "allOf"] {
        for one in at[kind].as_array().into_iter().flatten() {
            texts(schema, one, path, seen, found);
        }
    }
    let is_text =
        at["type"] == "string" || at["type"].as_array().is_some_and(|types| types.contains(&json!("string")));
    if is_text && at.get("enum").is_none() && at.get("const").is_none() {
        found.push(path.to_owned());
    }
    for (key, one) in at["properties"].as_object().into_iter().flatten() {
        texts(schema, one, &format!("{path}.{key}"), seen, found);
    }
    if at["items"].is_object() {
        texts(schema, &at["items"], &format!("{path}[]"), seen, found);
    }
    if at["additionalProperties"].is_object() {
        texts(schema, &at["additionalProperties"], &format!("{path}.*"), seen, found);
    }
}

#[test]
fn every_text_of_a_record_is_declared_as_technical_or_redacted() {
    let schema = Record::json_schema();
    let mut found = Vec::new();
    texts(&schema, &schema, "", &mut Vec::new(), &mut found);
    assert!(found.len() > 150, "the schema is not understood: {found:?}");
    let missing: Vec<_> = found.iter().filter(|path| declared(path).is_none()).collect();
    assert!(missing.is_empty(), "declare these in texts.txt: {missing:?}");
}

fn pseudonyms() -> Pseudonyms {
    Pseudonyms::new(Key::new([7; 32]))
}

fn redacted(edit: impl FnOnce(&mut Value)) -> (String, Record) {
    let record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
    let mut value = serde_json::to_value(record).unwrap();
    edit(&mut value);
    let record = Record::from_json(&serde_json::to_vec(&value).unwrap()).unwrap();
    let redacted = record.redacted(&mut pseudonyms()).unwrap();
    (redacted.to_json().unwrap(), redacted)
}

#[test]
fn a_kernel_says_not_who_built_it_and_where() {
    let line = "Linux version 6.1.0-18-amd64 (ann@build7) (gcc 12.2) #1 SMP PREEMPT_RT Debian 6.1.76-1";
    let (text, record) = redacted(|value| value["machine"]["kernel"] = json!({ "version": line }));
    assert!(!text.contains("ann") && !text.contains("build7"), "{text}");
    assert_eq!(record.machine.kernel.version, Some(line.replace("(ann@build7)", "(hidden)")));
}

#[test]
fn names_go_wherever_a_sentence_quotes_them() {
    let (text, record) = redacted(|value| {
        value["command"] = json!([
            "/opt/bin/linespeed",
            "stat",
            "--label=secretlabel",
            "-n",
            "5",
            "--",
            "/srv/secretd",
            "--user=secretuser",
            "secretfile"
        ]);
        value["machine"]["hostname"] = json!("secrethost.example.org");
        value["machine"]["kernel"]["options"] = json!(["root=UUID=secretdisk", "quiet"]);
        value["coverage"] = json!([{"what": "load", "state": "skipped", "reason":
            "secretd of secretuser on secrethost.example.org: /home/someone/x, 10.1.2.3, 00:1a:2b:3c:4d:5e, \
             secrethost.example.org-20260102T030405Z.json, 1b4e28ba-2fa1-11d2-883f-0016d3cca427"}]);
    });
    for name in ["secret", "someone", "10.1.2.3", "1a:2b", "1b4e28ba", "/opt"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    assert_eq!(record.command[..2], ["linespeed", "stat"]);
    assert_eq!(record.command[3..6], ["-n", "5", "--"]);
    let mut known = pseudonyms();
    let mut of = |kind, name| known.of(kind, name);
    let host = of(Kind::Host, "secrethost.example.org");
    assert_eq!(record.machine.hostname.as_ref(), Some(&host));
    let (command, argument) = (of(Kind::Command, "/srv/secretd"), of(Kind::Argument, "--user=secretuser"));
    assert!(text.contains(&format!("{command} of {argument} on {host}:")), "{text}");
}

#[test]
fn words_of_linespeeds_own_that_name_nothing_stay() {
    let (text, record) = redacted(|value| {
        value["command"] = json!([
            "linespeed",
            "stat",
            "--redact",
            "--fail-on",
            "slower:5%",
            "--fail-on=noisy",
            "--for",
            "1s",
            "--",
            "secretold",
            "5%",
            ":::",
            "secretnew"
        ]);
        value["measurements"] = json!([{"metric": "workload.time", "unit": "s", "where": {}, "summary":
            {"n": 1, "median": 1.0, "mad": 0.0, "min": 1.0, "max": 1.0}, "samples": [1.0], "detail":
            {"attached_to": "17,18", "command": ["secretold", "x", ":::", "secretnew"]}}]);
    });
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(
        record.command[..9],
        ["linespeed", "stat", "--redact", "--fail-on", "slower:5%", "--fail-on=noisy", "--for", "1s", "--"]
    );
    // A user's words are hidden, regardless of their form.
    let kinds: Vec<&str> = record.command[9..].iter().filter_map(|word| word.split('-').next()).collect();
    assert_eq!(kinds, ["command", "argument", ":::", "command"]);
    assert_eq!(record.measurements[0].detail.get(crate::detail::ATTACHED_TO), Some("17,18"));
    for (word, own) in [
        ("load.latency,latency", true),
        ("0-3,8", true),
        ("10.1.2.3", false),
        ("00:1a:2b:3c:4d:5e", false),
        ("db:5", false),
    ] {
        assert_eq!(is_own(word), own, "{word}");
    }
}

#[test]
fn a_name_has_one_pseudonym_in_all_records_and_figures_stay() {
    let mut pseudonyms = pseudonyms();
    let mut of = |host: &str| {
        let mut record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
        record.machine.hostname = Some(host.to_owned());
        record.seconds = Some(1.5);
        record.redacted(&mut pseudonyms).unwrap()
    };
    let (one, other, again) = (of("a-machine"), of("another"), of("a-machine"));
    assert_eq!(one, again);
    assert_ne!(one.machine.hostname, other.machine.hostname);
    // Also in another run with the same key, but not with another key.
    let mut same = Pseudonyms::new(Key::new([7; 32]));
    same.of(Kind::Host, "something else");
    assert_eq!(one.machine.hostname, Some(same.of(Kind::Host, "a-machine")));
    assert_ne!(one.machine.hostname, Some(Pseudonyms::new(Key::new([8; 32])).of(Kind::Host, "a-machine")));
    assert_eq!(one.seconds, Some(1.5));
}

#[test]
fn words_that_only_look_alike_stay() {
    let mut pseudonyms = pseudonyms();
    let load = pseudonyms.of(Kind::Command, "load");
    let read = pseudonyms.of(Kind::Command, "/usr/bin/read");
    let kept = "wakeup.latency cpu=0: 12.5 ns of 1.2.3, loads and reads, CPUs 0-3,8; 10:20:30";
    assert_eq!(pseudonyms.sentence(kept), kept);
    assert_eq!(pseudonyms.sentence("load, read: thread=load."), format!("{load}, {read}: thread={load}."));
}

#[test]
fn a_word_of_a_million_equals_signs_is_looked_through() {
    let mut pseudonyms = pseudonyms();
    let hostile = "=".repeat(1_000_000);
    assert_eq!(pseudonyms.sentence(&hostile), hostile);
    let argument = pseudonyms.word("--define=key=secret", false, false);
    assert_eq!(
        pseudonyms.sentence("got x=key=secret and key=secret"),
        format!("got x={argument} and {argument}")
    );
}

#[test]
fn a_short_name_is_hidden_unless_sentences_have_the_word_which_is_said() {
    let mut pseudonyms = pseudonyms();
    let host = pseudonyms.of(Kind::Host, "n1.example");
    let command = pseudonyms.of(Kind::Command, "/bin/sh");
    assert_eq!(
        pseudonyms.sentence("sh on n1: no n10, n1-a"),
        format!("{command} on {host}: no n10, {host}-a")
    );
    assert!(pseudonyms.remark().is_none());
    // A host whose name is a common word in sentences.
    let no = pseudonyms.of(Kind::Host, "no");
    assert!(no.starts_with("host-"));
    assert_eq!(pseudonyms.sentence("no PMU"), "no PMU");
    pseudonyms.of(Kind::Process, "in");
    let remark = pseudonyms.remark().unwrap();
    assert_eq!(remark.code(), Some("redaction-common-words"));
    assert!(!remark.to_string().contains("no,") && remark.to_string().contains("host, process"), "{remark}");
}

#[test]
fn names_within_a_word_are_hidden_the_longest_first() {
    let mut pseudonyms = pseudonyms();
    let long = pseudonyms.of(Kind::Host, "db-1-a");
    let short = pseudonyms.of(Kind::Host, "db-1");
    let said = "db-1-a-20260102T010000Z.json /srv/db-1/x db-1-ab db-12 xdb-1 (db-1)";
    let expected = format!("{long}-20260102T010000Z.json /srv/{short}/x {short}-ab db-12 xdb-1 ({short})");
    assert_eq!(pseudonyms.sentence(said), expected);
}

#[test]
fn a_file_is_called_as_its_host_and_time_or_as_nothing_else() {
    let mut pseudonyms = pseudonyms();
    let host = pseudonyms.of(Kind::Host, "db-1");
    let named = pseudonyms.file(Path::new("/srv/alice/db-1-20260102T030405Z-2.json"));
    assert_eq!(named, PathBuf::from(format!("{host}-20260102T030405Z-2.json")));
    let other = pseudonyms.file(Path::new("/srv/alice/monday.json"));
    assert!(
        other.to_str().is_some_and(|name| name.starts_with("file-") && name.ends_with(".json")),
        "{other:?}"
    );
    assert_ne!(other, pseudonyms.file(Path::new("/srv/bob/monday.json")));
}

#[test]
fn a_part_of_a_record_is_redacted_as_in_the_whole() {
    let mut pseudonyms = pseudonyms();
    let mut machine = crate::Machine { hostname: Some("secrethost".to_owned()), ..Default::default() };
    machine.kernel.options = vec!["root=secretdisk".to_owned()];
    let redacted = pseudonyms.redact(&machine, ".machine").unwrap();
    assert_eq!(redacted.hostname, Some(pseudonyms.of(Kind::Host, "secrethost")));
    assert!(redacted.kernel.options[0].starts_with("option-"));
    let mut interval = crate::live::Interval::default();
    interval.processes.push(crate::live::Process { name: "secretd".to_owned(), ..Default::default() });
    interval.throttled =
        Some(crate::live::Throttled { group: "/secret.slice".to_owned(), ..Default::default() });
    let text = serde_json::to_string(&pseudonyms.redact(&interval, ".interval").unwrap()).unwrap();
    assert!(text.contains("process-") && text.contains("group-") && !text.contains("secret"), "{text}");
}

#[test]
fn commands_that_other_tools_timed_and_lines_of_files_are_names() {
    let mut record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
    let origin = |tool: &str, says: &str| crate::import::Origin {
        tool: tool.to_owned(),
        text: "text".to_owned(),
        line: 1,
        says: says.to_owned(),
    };
    for (tool, workload) in [("hyperfine", "secretprog --token=secretword"), ("sysbench", "sysbench cpu")] {
        let place = crate::Labels::new().with_label(crate::Label::Workload, workload);
        let mut m = crate::Measurement::exact(crate::metrics::WORKLOAD_TIME, place, vec![1.0]);
        m.origin = Some(origin(tool, "it took 1.0 s"));
        record.measurements.push(m);
    }
    let mut import = crate::import::Import::default();
    import.inventory.insert("/proc/cmdline".to_owned(), origin("cat", "BOOT_IMAGE=/secretimage"));
    record.import = Some(import);
    let redacted = record.redacted(&mut pseudonyms()).unwrap();
    let text = redacted.to_json().unwrap();
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(redacted.measurements[1].labels.word(crate::Label::Workload), Some("sysbench cpu"));
}
