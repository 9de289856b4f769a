use serde_json::json;

use super::*;

/// Every path of the record's schema at which a text may stand.
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
    assert!(missing.is_empty(), "declare these in TEXTS: {missing:?}");
}

fn redacted(edit: impl FnOnce(&mut Value)) -> (String, Record) {
    let record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
    let mut value = serde_json::to_value(record).unwrap();
    edit(&mut value);
    let record = Record::from_json(&serde_json::to_vec(&value).unwrap()).unwrap();
    let redacted = record.redacted(&mut Pseudonyms::default()).unwrap();
    (redacted.to_json().unwrap(), redacted)
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
    assert_eq!(record.machine.hostname.as_deref(), Some("host-1"));
    assert!(text.contains("command-1 of argument-2 on host-1"), "{text}");
}

#[test]
fn a_name_has_one_pseudonym_in_all_records_and_figures_stay() {
    let mut pseudonyms = Pseudonyms::default();
    let mut of = |host: &str| {
        let mut record = Record::new("0", "2026-01-02T03:04:05Z".to_owned(), Vec::new());
        record.machine.hostname = Some(host.to_owned());
        record.seconds = Some(1.5);
        record.redacted(&mut pseudonyms).unwrap()
    };
    let (one, other, again) = (of("a-machine"), of("another"), of("a-machine"));
    assert_eq!(one, again);
    assert_eq!(
        (one.machine.hostname.as_deref(), other.machine.hostname.as_deref()),
        (Some("host-1"), Some("host-2"))
    );
    assert_eq!(one.seconds, Some(1.5));
}

#[test]
fn words_that_only_look_alike_stay() {
    let mut pseudonyms = Pseudonyms::default();
    pseudonyms.of(Kind::Command, "load");
    pseudonyms.of(Kind::Command, "/usr/bin/read");
    let kept = "wakeup.latency cpu=0: 12.5 ns of 1.2.3, loads and reads, CPUs 0-3,8; 10:20:30";
    assert_eq!(pseudonyms.sentence(kept), kept);
    assert_eq!(pseudonyms.sentence("load, read: thread=load."), "command-1, command-2: thread=command-1.");
}

#[test]
fn a_word_of_a_million_equals_signs_is_looked_through() {
    let mut pseudonyms = Pseudonyms::default();
    let hostile = "=".repeat(1_000_000);
    assert_eq!(pseudonyms.sentence(&hostile), hostile);
    pseudonyms.word("--define=key=secret", false, false);
    assert_eq!(pseudonyms.sentence("got x=key=secret and key=secret"), "got x=argument-1 and argument-1");
}
