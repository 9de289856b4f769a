//! Paths in the record and their expected values, from a shape's `[expect]`: `"machine.counts.packages" =
//! 2`. A part of a path is a field name, an index in a list, or `*` for a list of all
//! elements.

use serde_json::Value;

use super::verdicts::Verdicts;

/// Looks up each path.
pub fn check(expect: &toml::Table, json: &[u8], verdicts: &mut Verdicts) {
    let Ok(record) = serde_json::from_slice::<Value>(json) else { return };
    for (place, expected) in expect {
        let expected = serde_json::to_value(expected).unwrap_or(Value::Null);
        let found = look_up(&record, place);
        verdicts.hold(same(&found, &expected), format!("{place} is {expected}"), || found.to_string());
    }
}

/// The value at a path; null if absent.
fn look_up(value: &Value, place: &str) -> Value {
    let (part, rest) = match place.split_once('.') {
        Some((part, rest)) => (part, Some(rest)),
        None => (place, None),
    };
    let below = |value: &Value| rest.map_or_else(|| value.clone(), |rest| look_up(value, rest));
    match (value, part) {
        (Value::Array(list), "*") => Value::Array(list.iter().map(below).collect()),
        (Value::Array(list), number) => {
            number.parse().ok().and_then(|index: usize| list.get(index)).map_or(Value::Null, below)
        }
        (value, name) => value.get(name).map_or(Value::Null, below),
    }
}

/// Whether two values are equal; a whole number equals its decimal form.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str =
        r#"{"machine": {"counts": {"nodes": 2}, "nodes": [{"id": 0, "bytes": 1}, {"id": 2}]}}"#;

    fn lines(expect: &str) -> Vec<String> {
        let mut verdicts = Verdicts::default();
        check(&toml::from_str(expect).unwrap(), RECORD.as_bytes(), &mut verdicts);
        verdicts.lines(false)
    }

    #[test]
    fn places_are_found_in_objects_and_lists() {
        let held = r#"
            "machine.counts.nodes" = 2
            "machine.nodes.*.id" = [0, 2]
            "machine.nodes.0.bytes" = 1.0
        "#;
        assert!(lines(held).is_empty(), "{:?}", lines(held));
    }

    #[test]
    fn what_is_missing_or_different_is_reported() {
        assert_eq!(lines("'machine.counts.packages' = 1"), ["not: machine.counts.packages is 1: found null"]);
        assert_eq!(
            lines("'machine.nodes.*.bytes' = [1]"),
            ["not: machine.nodes.*.bytes is [1]: found [1,null]"]
        );
        assert_eq!(lines("'machine.nodes.7.id' = 1"), ["not: machine.nodes.7.id is 1: found null"]);
    }
}
