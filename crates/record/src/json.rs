//! Values as JSON text: indented down to where figures stand, with a newline at the end, and nothing in it that a terminal
//! would act on.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

/// How much is kept before it is handed on, in bytes.
const PIECE: usize = 1 << 16;

/// A value as a text.
pub(crate) fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Maps have text keys and numbers are finite or null, and memory takes every byte, so this cannot fail; an empty object
    // would say so.
    match write(value, &mut bytes) {
        Ok(()) => String::from_utf8(bytes).unwrap_or_else(|_| "{}\n".to_owned()),
        Err(_) => "{}\n".to_owned(),
    }
}

/// Writes a value to `out`, in pieces of some size.
pub(crate) fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut safe = Safe { piece: vec![0; PIECE], filled: 0, out };
    let mut serializer = serde_json::Serializer::with_formatter(&mut safe, Indented::default());
    value.serialize(&mut serializer)?;
    safe.write_all(b"\n")?;
    safe.hand_on()
}

/// Puts escapes for what a terminal would act on: JSON may hold DEL, C1 controls and bidirectional overrides as they are.
/// They occur in strings only, where an escape means the same.
struct Safe<'a> {
    /// Of [`PIECE`] bytes, of which the first `filled` are to be handed on: whole characters, since the serializer never
    /// writes a part of one.
    piece: Vec<u8>,
    filled: usize,
    out: &'a mut dyn Write,
}

impl Safe<'_> {
    fn hand_on(&mut self) -> io::Result<()> {
        let filled = std::mem::take(&mut self.filled);
        escaped(&self.piece[..filled], self.out)
    }

    /// What finds no room.
    #[cold]
    fn no_room_for(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hand_on()?;
        match self.piece.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.filled = bytes.len();
                Ok(())
            }
            None => escaped(bytes, self.out),
        }
    }
}

/// Writes whole characters to `out`, with escapes for what a terminal would act on.
fn escaped(characters: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut done = 0;
    // The first bytes of all those characters; others begin with them, too.
    for at in memchr::memchr3_iter(0x7f, 0xc2, 0xe2, characters) {
        let (code, length) = match characters[at..] {
            [0x7f, ..] => (0x7f, 1),
            [0xc2, second @ 0x80..=0x9f, ..] => (u32::from(second), 2),
            [0xe2, 0x80, third @ (0x8e | 0x8f | 0xaa..=0xae), ..] | [0xe2, 0x81, third @ 0xa6..=0xa9, ..] => {
                (0x2000 | u32::from(characters[at + 1] & 0x3f) << 6 | u32::from(third & 0x3f), 3)
            }
            _ => continue,
        };
        out.write_all(&characters[done..at])?;
        write!(out, "\\u{code:04x}")?;
        done = at + length;
    }
    out.write_all(&characters[done..])
}

impl Write for Safe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    // The serializer writes brackets, names and quotes one by one.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.piece.get_mut(self.filled..self.filled + bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.filled += bytes.len();
                Ok(())
            }
            None => self.no_room_for(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Levels that have lines of their own. Of a record these are its parts, their lists, and what each item says; a place, a
/// summary, samples, a CPU, a finding stand on one line: half of the text would be blanks otherwise.
const LINES: usize = 3;

/// Indented by two blanks a level, a line in one go, down to [`LINES`]; what is deeper stands on the line that it is in.
#[derive(Default)]
struct Indented {
    depth: usize,
    /// Whether the innermost list or object has something in it.
    filled: bool,
    /// The last number and its text: a summary of one sample says the same number four times, and its sample once more.
    number: (u64, Vec<u8>),
}

/// What stands between two lines: the end of the one and the indentation of the other.
const BETWEEN: &[u8; 2 + 2 * LINES] = b",\n      ";

impl Indented {
    fn next<W: Write + ?Sized>(&self, out: &mut W, comma: bool) -> io::Result<()> {
        match (self.depth <= LINES, comma) {
            (true, _) => out.write_all(&BETWEEN[usize::from(!comma)..2 + 2 * self.depth]),
            (false, true) => out.write_all(b", "),
            (false, false) => Ok(()),
        }
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
    fn write_f64<W: Write + ?Sized>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        let (bits, text) = &mut self.number;
        if text.is_empty() || *bits != value.to_bits() {
            *bits = value.to_bits();
            text.clear();
            CompactFormatter.write_f64(text, value)?;
        }
        out.write_all(text)
    }

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

    /// A text without blanks and line ends, but for those in strings.
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
        assert_eq!(text(&value).lines().collect::<Vec<_>>(), lines);
    }

    proptest! {
        #[test]
        fn the_text_is_what_everybody_writes(value in values()) {
            let written = text(&value);
            prop_assert_eq!(bare(&written), serde_json::to_string(&value).unwrap());
            prop_assert!(written.ends_with('\n') && !written.contains(" \n"), "{}", written);
        }

        #[test]
        fn no_character_reaches_a_terminal_and_none_is_lost(words in "\\PC{0,9}|[\u{7f}-\u{a1}\u{200d}-\u{2010}\u{2029}-\u{2030}\u{2060}-\u{206a}]{0,9}") {
            let json = text(&words);
            let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}');
            prop_assert!(!json.contains(acts), "{}", json);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), words.clone());
            // Whatever needs no escape has none.
            prop_assert_eq!(json.replace("\\\\", "").contains("\\u"), words.contains(acts));
        }
    }

    #[test]
    fn deep_values_and_long_texts_are_written_whole() {
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(bare(&text(&deep)), serde_json::to_string(&deep).unwrap());
        let long = json!(["海\u{9b}".repeat(PIECE), "x".repeat(3 * PIECE)]);
        assert_eq!(serde_json::from_str::<Value>(&text(&long)).unwrap(), long);
    }

    #[test]
    fn a_full_disk_is_told() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert_eq!(write(&json!({"a": 1}), &mut Full).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
