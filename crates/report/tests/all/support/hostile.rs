//! A made-up record in which every string of the machine is an attack on whoever prints it.

use record::Record;

use super::{empty, named};

/// A string that tries everything: terminal escapes of both kinds, reordering, invisible characters, markup.
pub const EVIL: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}evil\u{2066}\u{200b}\u{feff}\r\n<script>alert(1)</script>\
    \"'><img src=http://evil.example/x onerror=alert(1)></style></title><!--&amp; ]]>";

/// The small machine with that string wherever a string can stand.
pub fn hostile() -> Record {
    let json = named("small").unwrap_or_else(empty).to_json().unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    poison(&mut value, "");
    Record::from_json(value.to_string().as_bytes()).unwrap_or_else(|_| empty())
}

/// Strings that are words of the record's own form and would make it unreadable; every other one is replaced.
fn poison(value: &mut serde_json::Value, key: &str) {
    const FIXED: &[&str] = &[
        "severity",
        "relevance",
        "confidence",
        "verdict",
        "how",
        "state",
        "better",
        "mark",
        "source",
        "kind",
        "metric",
        "page",
        "op",
        "stores",
        "bytes_counted",
        "policy",
        "setting",
        "active",
        "vector",
        "cause",
        "mode",
    ];
    match value {
        serde_json::Value::String(text) if !FIXED.contains(&key) => *text = format!("{text}{EVIL}"),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| poison(item, key)),
        serde_json::Value::Object(map) => {
            // Words of free text under a fixed key's name.
            for (key, item) in map.iter_mut() {
                poison(item, key);
            }
            // Map keys of the machine's own making: sensors, vulnerabilities.
            for name in ["mitigations", "temperatures", "pressure", "detail"] {
                if let Some(serde_json::Value::Object(inner)) = map.get_mut(name) {
                    let first = inner.values().next().cloned();
                    inner.extend(first.map(|value| (EVIL.to_owned(), value)));
                }
            }
            if key == "where" {
                map.insert(EVIL.to_owned(), EVIL.into());
            }
        }
        _ => {}
    }
}
