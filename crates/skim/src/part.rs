//! The part of a JSON text that is wanted.

use std::borrow::Cow;

use crate::reader::Reader;

/// What of a value is kept.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// All of it.
    Whole,
    /// Of an object these entries so, and nothing else.
    Only(&'a [(&'a str, Part<'a>)]),
    /// Of a list each item so.
    Each(&'a Part<'a>),
}

/// The text with no more than this part of it. What is passed over is not held against JSON's rules; where the rest does not
/// follow them the text is as it was, for the parser to say why.
pub fn skim<'t>(text: &'t [u8], part: &Part) -> Cow<'t, [u8]> {
    let (mut reader, mut out) = (Reader::new(text), Vec::with_capacity(text.len() / 8));
    match keep(&mut reader, part, &mut out) {
        Some(()) if reader.peek().is_none() => Cow::Owned(out),
        _ => Cow::Borrowed(text),
    }
}

fn keep(reader: &mut Reader, part: &Part, out: &mut Vec<u8>) -> Option<()> {
    match (part, reader.peek()?) {
        (Part::Only(entries), b'{') => {
            let mut open = reader.object()?;
            let begin = out.len();
            while let Some(key) = reader.key(&mut open)? {
                // A name that is written with an escape may be any.
                let named = match key.contains(&b'\\') {
                    true => Some(&Part::Whole),
                    false => entries.iter().find(|(name, _)| name.as_bytes() == key).map(|(_, part)| part),
                };
                let Some(part) = named else {
                    reader.value()?;
                    continue;
                };
                out.push(if out.len() > begin { b',' } else { b'{' });
                out.push(b'"');
                out.extend_from_slice(key);
                out.extend_from_slice(b"\":");
                keep(reader, part, out)?;
            }
            out.extend_from_slice(if out.len() > begin { b"}" } else { b"{}" });
        }
        (Part::Each(part), b'[') => {
            let mut open = reader.list()?;
            let begin = out.len();
            while reader.item(&mut open)? {
                out.push(if out.len() > begin { b',' } else { b'[' });
                keep(reader, part, out)?;
            }
            out.extend_from_slice(if out.len() > begin { b"]" } else { b"[]" });
        }
        _ => out.extend_from_slice(reader.value()?),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part = Part::Only(&[
        ("a", Part::Whole),
        ("b", Part::Each(&Part::Only(&[("c", Part::Whole), ("e", Part::Whole)]))),
    ]);

    fn skimmed(text: &str) -> String {
        String::from_utf8(skim(text.as_bytes(), &PART).into_owned()).unwrap()
    }

    #[test]
    fn what_is_named_stays_whatever_the_form() {
        let text = r#"{"x": [1, "]"], "a": {"x": 1}, "b": [{"d": "}", "c": 2}, {}, 3, {"e": null, "c": "\\"}], "\u0061b": 1}"#;
        let kept = r#"{"a":{"x": 1},"b":[{"c":2},{},3,{"e":null,"c":"\\"}],"\u0061b":1}"#;
        assert_eq!(skimmed(text), kept);
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut kept: serde_json::Value = serde_json::from_str(kept).unwrap();
        // Written without the escape it is not the one that is wanted.
        kept.as_object_mut().unwrap().remove("ab");
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            assert_eq!(serde_json::from_str::<serde_json::Value>(&skimmed(&text)).unwrap(), kept);
        }
        assert_eq!(skimmed("{\"x\":1}"), "{}");
        assert_eq!(skimmed("{\"b\":[]}"), "{\"b\":[]}");
    }

    #[test]
    fn what_is_no_json_is_left_to_the_parser() {
        for text in [
            "{\"x\": 1",
            "{\"x\": [1}",
            "{\"x\": 1} 2",
            "{\"x\" 1}",
            "{\"x\": 1,}",
            "[1, 2]",
            "",
            "{\"x\": \"a}",
        ] {
            assert_eq!(skimmed(text), text);
        }
    }
}
