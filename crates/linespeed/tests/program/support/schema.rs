//! Holds a JSON value against a JSON Schema, as far as the schema of a record uses that language, and stricter in one
//! point: a field that an object's schema does not name is a fault.

use serde_json::Value;

/// What is wrong with `value`, one line each; empty when it is as `schema` says.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    hold(schema, schema, value, "record", &mut found);
    found
}

fn hold(whole: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        match whole.pointer(name.trim_start_matches('#')) {
            Some(target) => hold(whole, target, value, at, found),
            None => found.push(format!("{at}: the schema refers to {name}, which it has not")),
        }
    }
    if !schema["type"].is_null() && !type_names(&schema["type"]).any(|name| is_of(value, name)) {
        found.push(format!("{at}: {value} is not of type {}", schema["type"]));
        return;
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        found.push(format!("{at}: {value} is not {only}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        found.push(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        found.push(format!("{at}: {number} is below {least}"));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(ways) = schema[key].as_array() {
            let best = ways.iter().map(|way| faults_of(whole, way, value, at)).min_by_key(Vec::len);
            found.extend(best.unwrap_or_default());
        }
    }
    hold_fields(whole, schema, value, at, found);
    hold_items(whole, schema, value, at, found);
}

fn faults_of(whole: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    hold(whole, schema, value, at, &mut found);
    found
}

fn hold_fields(whole: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(fields) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    let others = schema.get("additionalProperties");
    if schema.get("properties").is_none() && others.is_none() {
        return;
    }
    for (name, field) in fields {
        let at = format!("{at}.{name}");
        // Maps by a number, the only pattern there is.
        let number = name.bytes().all(|byte| byte.is_ascii_digit());
        let numbered = schema["patternProperties"].get(r"^\d+$").filter(|_| number);
        match (schema["properties"].get(name).or(numbered), others) {
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                hold(whole, schema, field, &at, found)
            }
            (None, Some(Value::Bool(true))) => {}
            (None, _) => found.push(format!("{at} is not in the schema")),
        }
    }
}

fn hold_items(whole: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(items) = value.as_array() else { return };
    let bound = |key: &str| schema[key].as_u64();
    if bound("minItems").is_some_and(|least| (items.len() as u64) < least)
        || bound("maxItems").is_some_and(|most| items.len() as u64 > most)
    {
        found.push(format!("{at}: {} items", items.len()));
    }
    let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
    for (i, item) in items.iter().enumerate() {
        if let Some(schema) = first.get(i).or(schema.get("items")) {
            hold(whole, schema, item, &format!("{at}[{i}]"), found);
        }
    }
    if schema["uniqueItems"] == true && (1..items.len()).any(|i| items[..i].contains(&items[i])) {
        found.push(format!("{at}: an item twice"));
    }
}

fn type_names(names: &Value) -> impl Iterator<Item = &str> {
    names.as_str().into_iter().chain(names.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[test]
fn faults_are_found() {
    let schema = record::Record::json_schema();
    let record = record::Record::new("1", "2026-01-01T00:00:00Z".to_owned(), vec![]);
    let right: Value = serde_json::from_str(&record.to_json().unwrap()).unwrap();
    assert_eq!(faults(&schema, &right), [""; 0]);
    for (pointer, value) in [
        ("/machine/warp", serde_json::json!(9)),
        ("/ended/how", serde_json::json!("tired")),
        ("/schema", serde_json::json!(-1)),
        ("/command", serde_json::json!([1])),
        ("/coverage", serde_json::json!([{"what": "clock"}])),
    ] {
        let mut wrong = right.clone();
        let (object, key) = pointer.rsplit_once('/').unwrap();
        wrong.pointer_mut(object).unwrap()[key] = value;
        assert_ne!(faults(&schema, &wrong), [""; 0], "{pointer}");
    }
}
