//! Values as JSON text: indented, with a newline at the end and without terminal control characters.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

/// A value as indented JSON text.
///
/// # Errors
///
/// The value cannot be represented in JSON.
pub fn write_text(value: &impl Serialize) -> io::Result<String> {
    write(value, Indented::default())
}

/// A value as a single line of JSON text.
///
/// # Errors
///
/// The value cannot be represented in JSON.
pub fn write_line(value: &impl Serialize) -> io::Result<String> {
    write(value, CompactFormatter)
}

fn write(value: &impl Serialize, formatter: impl Formatter) -> io::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map(escape).map_err(io::Error::other)
}

/// Escapes characters that a terminal would interpret: JSON may contain raw DEL, C1 controls and bidirectional overrides. These occur only
/// in strings, where an escape has the same meaning.
fn escape(text: String) -> String {
    let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(acts) {
        return text;
    }
    let shown = |c: char| if acts(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Number of levels written on separate lines. In a record, these levels are its parts, the lists in the parts, and the
/// keys of each list item. Labels, a summary, samples, a CPU or a finding are written on one line each, because half of the text
/// would otherwise be indentation.
const LINES: usize = 3;

/// Indents by two blanks per level, down to [`LINES`]; deeper values stay on one line.
#[derive(Default)]
struct Indented {
    depth: usize,
    /// Whether the innermost list or object is not empty.
    filled: bool,
}

impl Indented {
    fn next<W: Write + ?Sized>(&self, out: &mut W, comma: bool) -> io::Result<()> {
        if comma {
            out.write_all(b",")?;
        }
        if self.depth <= LINES {
            return write!(out, "\n{:1$}", "", 2 * self.depth);
        }
        if comma { out.write_all(b" ") } else { Ok(()) }
    }

    fn begin<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let lines = self.filled && self.depth <= LINES;
        self.depth -= 1;
        if lines {
            self.next(out, false)?;
        }
        out.write_all(bracket)
    }
}

impl Formatter for Indented {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, !first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, !first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            proptest::sample::select(&[0.0, -0.0, 1.5][..]).prop_map(Value::from),
            "[a-c\"\\\\\n\u{e9}\u{2019}海]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-c]{0,2}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// A text without blanks and line ends, except in strings.
    fn bare(text: &str) -> String {
        let (mut inside, mut escaped) = (false, false);
        let stays = |c: &char| {
            let was = inside;
            if *c == '"' && !escaped {
                inside = !inside;
            }
            escaped = *c == '\\' && !escaped;
            was || !c.is_ascii_whitespace()
        };
        text.chars().filter(stays).collect()
    }

    #[test]
    fn figures_stand_on_one_line() {
        let value = json!({"a": [{"b": {"c": [1, 2.5], "d": {}}, "e": []}], "f": {"g": [[], [3]]}});
        let lines = [
            "{",
            "  \"a\": [",
            "    {",
            "      \"b\": {\"c\": [1, 2.5], \"d\": {}},",
            "      \"e\": []",
            "    }",
            "  ],",
            "  \"f\": {",
            "    \"g\": [",
            "      [],",
            "      [3]",
            "    ]",
            "  }",
            "}",
        ];
        assert_eq!(write_text(&value).unwrap().lines().collect::<Vec<_>>(), lines);
    }

    proptest! {
        #[test]
        fn the_text_is_what_everybody_writes(value in values()) {
            let written = write_text(&value).unwrap();
            prop_assert_eq!(bare(&written), serde_json::to_string(&value).unwrap());
            prop_assert!(written.ends_with('\n') && !written.contains(" \n"), "{}", written);
        }

        #[test]
        fn no_character_reaches_a_terminal_and_none_is_lost(words in "\\PC{0,9}|[\u{7f}-\u{a1}\u{200d}-\u{2010}\u{2029}-\u{2030}\u{2060}-\u{206a}]{0,9}") {
            let json = write_text(&words).unwrap();
            let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}');
            prop_assert!(!json.contains(acts), "{}", json);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), words.clone());
            // Characters are escaped only if necessary.
            prop_assert_eq!(json.replace("\\\\", "").contains("\\u"), words.contains(acts));
        }
    }

    #[test]
    fn deep_values_and_long_texts_are_written_whole() {
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(bare(&write_text(&deep).unwrap()), serde_json::to_string(&deep).unwrap());
        let long = json!(["海\u{9b}".repeat(1 << 16), "x".repeat(3 << 16)]);
        assert_eq!(serde_json::from_str::<Value>(&write_text(&long).unwrap()).unwrap(), long);
    }
}
