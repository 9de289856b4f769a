//! The JSON Schemas of linespeed's output. They are stored in `schema/`, so the program does not contain the code that
//! derives them from the types; a test derives the schemas again and compares them with the files.
//!
//! After changing a type, run `RENEW_SCHEMA=1 cargo test -p linespeed-record schema`, which also regenerates the Python
//! classes.

use serde_json::Value;

/// The schema of a record.
pub const RECORD: &str = include_str!("schema/record.json");
/// The schemas of the `--json` output of other commands, by command name.
pub const COMMANDS: [(&str, &str); 5] = [
    ("compare", include_str!("schema/comparison.json")),
    ("fleet", include_str!("schema/fleet.json")),
    ("history", include_str!("schema/history.json")),
    ("check", include_str!("schema/check.json")),
    ("live", include_str!("schema/live.json")),
];

/// The schema of a command's `--json` output; for commands without a schema of their own, that of a record.
pub fn of_command(name: &str) -> Value {
    read(COMMANDS.iter().find(|(known, _)| *known == name).map_or(RECORD, |(_, schema)| schema))
}

/// Parses one of these schemas.
pub fn read(text: &str) -> Value {
    // The test below verifies that these texts are valid JSON.
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl schemars::JsonSchema for crate::CpuList {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "CpuList".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "description": "CPU or node numbers in ascending order.",
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": crate::cpu_list::MAX_CPU},
                "uniqueItems": true
            })
        }
    }

    impl schemars::JsonSchema for crate::Text {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            String::schema_name()
        }

        fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            String::json_schema(generator)
        }

        fn inline_schema() -> bool {
            true
        }
    }

    /// The text of a schema with one definition per line, so that a change to one type changes one line.
    fn text(schema: &Value) -> String {
        let mut rest = schema.clone();
        let definitions = rest.as_object_mut().and_then(|whole| whole.remove("$defs"));
        let definitions = definitions.as_ref().and_then(Value::as_object).into_iter().flatten();
        let lines: Vec<String> = definitions
            .map(|(name, definition)| format!("{}:{definition}", Value::from(name.as_str())))
            .collect();
        let rest = rest.to_string();
        let rest = rest.strip_prefix('{').expect("a schema is an object");
        format!("{{\"$defs\":{{\n{}\n}},\n{rest}\n", lines.join(",\n"))
    }

    /// The schema of a type that is only written, never read.
    fn of_written<T: schemars::JsonSchema>() -> Value {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<T>().to_value()
    }

    #[test]
    fn the_schemas_are_those_of_the_types() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema");
        let schemas = [
            ("record.json", RECORD, schemars::schema_for!(crate::Record).to_value()),
            ("comparison.json", COMMANDS[0].1, schemars::schema_for!(crate::Comparison).to_value()),
            ("fleet.json", COMMANDS[1].1, of_written::<crate::fleet::Fleet>()),
            ("history.json", COMMANDS[2].1, of_written::<crate::history::History>()),
            ("check.json", COMMANDS[3].1, of_written::<crate::check::Checked>()),
            ("live.json", COMMANDS[4].1, of_written::<crate::live::Said>()),
        ];
        for (name, known, schema) in schemas {
            let reported = text(&schema);
            assert_eq!(serde_json::from_str::<Value>(&reported).unwrap(), schema, "{name}");
            if std::env::var_os("RENEW_SCHEMA").is_some() {
                std::fs::write(folder.join(name), &reported).expect("the schema's file can be written");
                // The Python classes are generated from the schema.
                let classes = folder.join("../../../../python/classes");
                assert!(
                    std::process::Command::new(classes).status().is_ok_and(|status| status.success()),
                    "python/classes failed"
                );
            } else {
                let renew = "RENEW_SCHEMA=1 cargo test -p linespeed-record schema";
                assert!(
                    known == reported,
                    "src/schema/{name} no longer matches the types; renew it: {renew}"
                );
            }
        }
    }
}
