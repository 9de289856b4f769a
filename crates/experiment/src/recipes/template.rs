//! Strings with placeholders: `--threads={threads}`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The values for the placeholders of a [`Template`], by name.
pub type Values = BTreeMap<String, String>;

/// Names that linespeed fills in, in addition to a recipe's settings; they are listed in docs/recipes.md.
pub const GIVEN: [&str; 5] = ["threads", "cpus", "folder", "socket", "user"];

/// A string in which `{name}` is a placeholder for a value. Other text in braces is literal (`awk '{print $1}'`), and
/// `{{name}}` is the literal text `{name}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(OsString),
    Place(String),
}

/// The name at the beginning of `text` up to `close`, and the rest.
fn split_name<'a>(text: &'a str, close: &str) -> Option<(&'a str, &'a str)> {
    let (name, rest) = text.split_once(close)?;
    let lower = |c: char| c.is_ascii_lowercase() || c == '_';
    let sound = name.starts_with(lower) && name.chars().all(|c| lower(c) || c.is_ascii_digit() || c == '-');
    sound.then_some((name, rest))
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let argument = String::deserialize(from)?;
        let sound = !argument.contains('\0');
        if sound {
            Ok(Self::new(&argument))
        } else {
            Err(D::Error::custom("an argument cannot contain a NUL byte"))
        }
    }
}

impl Template {
    /// Parses a string. Every name in braces is a placeholder.
    pub fn new(text: &str) -> Self {
        Self::parse_places(text, |_| true)
    }

    /// Reads an argument of a command typed by the user: only `{threads}` and `{cpus}` are placeholders, and other
    /// braces remain unchanged.
    pub fn typed(argument: &OsStr) -> Self {
        Self::typed_with(argument, &["threads", "cpus"])
    }

    /// Like [`Self::typed`], but `names` are the placeholders.
    pub fn typed_with(argument: &OsStr, names: &[&str]) -> Self {
        match argument.to_str() {
            Some(text) => Self::parse_places(text, |name| names.contains(&name)),
            None => Self { parts: vec![Part::Text(argument.to_owned())] },
        }
    }

    fn parse_places(text: &str, is_place: impl Fn(&str) -> bool) -> Self {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            plain.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            if let Some((name, behind)) = after.strip_prefix('{').and_then(|inner| split_name(inner, "}}"))
                && is_place(name)
            {
                plain.push_str(&format!("{{{name}}}"));
                rest = behind;
            } else if let Some((name, behind)) = split_name(after, "}").filter(|(name, _)| is_place(name)) {
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain).into()));
                }
                parts.push(Part::Place(name.to_owned()));
                rest = behind;
            } else {
                plain.push('{');
                rest = after;
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain.into()));
        }
        Self { parts }
    }

    /// The names of the placeholders.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Place(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The string with its placeholders replaced; a placeholder without a value becomes empty.
    pub fn fill(&self, values: &Values) -> OsString {
        let mut filled = OsString::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push(text),
                Part::Place(name) => filled.push(values.get(name).map_or("", String::as_str)),
            }
        }
        filled
    }

    /// The filled-in string as an argument of a command. `None` if the string consists only of empty placeholders,
    /// which lets a setting represent an optional argument.
    pub fn argument(&self, values: &Values) -> Option<OsString> {
        let filled = self.fill(values);
        let optional = !self.parts.is_empty() && self.parts.iter().all(|part| matches!(part, Part::Place(_)));
        (!optional || !filled.is_empty()).then_some(filled)
    }
}

/// The arguments of a command, filled in.
pub fn fill_all(command: &[Template], values: &Values) -> Vec<OsString> {
    command.iter().filter_map(|template| template.argument(values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn names_in_braces_are_filled_in_and_other_braces_stay() {
        let values = values(&[("threads", "4"), ("size", "1M")]);
        let filled = |text: &str| Template::new(text).fill(&values).into_string().unwrap();
        assert_eq!(filled("--threads={threads}"), "--threads=4");
        assert_eq!(filled("{threads}x{size}"), "4x1M");
        assert_eq!(filled("awk '{print $1}' {"), "awk '{print $1}' {");
        assert_eq!(filled("{{threads}} {{threads"), "{threads} {{threads");
    }

    #[test]
    fn a_typed_command_keeps_its_own_braces() {
        let typed = Template::typed(OsStr::new("{print} {size} {threads}"));
        assert_eq!(typed.places().collect::<Vec<_>>(), ["threads"]);
        assert_eq!(typed.fill(&values(&[("threads", "2")])), "{print} {size} 2");
    }

    #[test]
    fn an_argument_that_is_only_an_empty_setting_is_left_out() {
        let command: Vec<Template> = ["-x", "{evp}", "", "-a{evp}"].map(Template::new).into();
        assert_eq!(fill_all(&command, &values(&[("evp", "")])), ["-x", "", "-a"]);
        assert_eq!(fill_all(&command, &values(&[("evp", "e")])), ["-x", "e", "", "-ae"]);
    }

    proptest! {
        #[test]
        fn text_without_known_names_survives(text in "[ -~{}]{0,40}") {
            let typed = Template::typed(OsStr::new(&text));
            if !text.contains("threads") && !text.contains("cpus") {
                prop_assert_eq!(typed.fill(&Values::new()), text.as_str());
            }
        }
    }
}
