//! Sentences as data: a template, declared where it is used, and the values of its placeholders. The text is generated
//! when it is displayed. A template needs a code only if program code depends on the sentence.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{phrase, units};

/// A sentence with named placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// The template's code, which never changes: `siblings-off`. Empty if no program code depends on the sentence.
    pub code: &'static str,
    /// The text of the sentence, with placeholders like `{cpus}`.
    pub words: &'static str,
}

impl Template {
    /// A sentence with its code.
    pub const fn new(code: &'static str, words: &'static str) -> Self {
        Self { code, words }
    }
}

/// The value of a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A name, a list of CPUs, or another program's text.
    Text(Cow<'static, str>),
    /// A number of things.
    Count(u64),
    /// A size; shown as `64 KiB`.
    Bytes(u64),
    /// A share from 0 to 1; shown as a percentage.
    Share(f64),
    /// A value in a unit; shown as `3.21 GHz`.
    Figure(f64, &'static str),
    /// A ratio; shown as `1.14×`.
    Factor(f64),
    /// A share, a value or a factor, with the number of digits to show.
    Rounded(Box<Value>, usize),
    /// Another sentence, or part of a sentence.
    Sentence(Box<Text>),
    /// Several values; shown as `a, b and c`.
    List(Vec<Text>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Count(count) => write!(f, "{count}"),
            Value::Bytes(bytes) => f.write_str(&units::bytes(*bytes)),
            Value::Share(share) => f.write_str(&units::percent(*share)),
            Value::Figure(value, unit) => f.write_str(&units::figure(*value, unit)),
            Value::Rounded(value, digits) => match value.as_ref() {
                Value::Share(share) => f.write_str(&units::percent_to(*share, *digits)),
                Value::Figure(value, unit) => f.write_str(&units::figure_to(*value, unit, *digits)),
                Value::Factor(factor) => write!(f, "{}×", units::figure_to(*factor, "ratio", *digits)),
                other => other.fmt(f),
            },
            Value::Factor(factor) => write!(f, "{}×", units::significant(*factor)),
            Value::Sentence(text) => text.fmt(f),
            Value::List(all) => {
                let words: Vec<String> = all.iter().map(Text::to_string).collect();
                f.write_str(&phrase::join_list(&words))
            }
        }
    }
}

macro_rules! counts {
    ($($type:ty),*) => {
        $(impl From<$type> for Value {
            fn from(count: $type) -> Self {
                Value::Count(count as u64)
            }
        }

        impl From<&$type> for Value {
            fn from(count: &$type) -> Self {
                Value::from(*count)
            }
        })*
    };
}
counts!(u8, u16, u32, u64, usize);

macro_rules! shown {
    ($($type:ty),*) => {
        $(impl From<$type> for Value {
            fn from(shown: $type) -> Self {
                Value::Text(Cow::Owned(shown.to_string()))
            }
        })*
    };
}
shown!(&str, String, &String, &crate::CpuList, crate::CpuList, std::io::Error, &std::io::Error);

impl From<Text> for Value {
    fn from(text: Text) -> Self {
        Value::Sentence(Box::new(text))
    }
}

impl From<&Text> for Value {
    fn from(text: &Text) -> Self {
        Value::Sentence(Box::new(text.clone()))
    }
}

impl From<Vec<Text>> for Value {
    fn from(all: Vec<Text>) -> Self {
        Value::List(all)
    }
}

#[derive(Clone, Debug)]
enum Source {
    /// A sentence that this program created.
    Declared(Template, Vec<(&'static str, Value)>),
    /// A sentence from a record: its text, and its code if the record contains one.
    Read(Option<String>, String),
    /// Several sentences in sequence.
    Sequence(Vec<Text>),
}

/// A sentence: its template and values, or the text from a record. JSON contains the text; if program code depends on a sentence, the
/// containing type also writes the code.
#[derive(Clone, Debug)]
pub struct Text(Box<Source>);

impl Text {
    /// A sentence from this program; use [`text!`](crate::text!) to create it.
    pub fn declared(template: Template, values: Vec<(&'static str, Value)>) -> Self {
        Self(Box::new(Source::Declared(template, values)))
    }

    /// A sentence from a record, with its code if it has one.
    pub fn read(code: Option<String>, words: String) -> Self {
        Self(Box::new(Source::Read(code, words)))
    }

    /// Several sentences, separated by blanks.
    pub fn sequence(all: impl IntoIterator<Item = Text>) -> Self {
        Self(Box::new(Source::Sequence(all.into_iter().filter(|text| !text.is_empty()).collect())))
    }

    /// Adds one or several sentences.
    pub fn push(&mut self, more: impl Into<Text>) {
        let before = std::mem::take(self);
        *self = Self::sequence([before, more.into()].iter().flat_map(Text::sentences).cloned());
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        match self.0.as_ref() {
            Source::Declared(template, _) => template.words.is_empty(),
            Source::Read(_, words) => words.is_empty(),
            Source::Sequence(all) => all.is_empty(),
        }
    }

    /// The sentence's code, if it has one; for several sentences, the code of the first.
    pub fn code(&self) -> Option<&str> {
        match self.0.as_ref() {
            Source::Declared(template, _) => Some(template.code).filter(|code| !code.is_empty()),
            Source::Read(code, _) => code.as_deref(),
            Source::Sequence(all) => all.first()?.code(),
        }
    }

    /// The sentences of this text.
    pub fn sentences(&self) -> &[Text] {
        if let Source::Sequence(all) = self.0.as_ref() { all } else { std::slice::from_ref(self) }
    }

    /// Whether the sentence was created from this template. Records of version 0.1 have no codes: their text is
    /// compared with the part of the template before the first placeholder, which has not changed since.
    pub fn is(&self, template: &Template) -> bool {
        match self.0.as_ref() {
            Source::Declared(own, _) => own == template,
            Source::Read(Some(code), _) => code == template.code,
            Source::Read(None, words) => {
                let begins = template.words.split('{').next().unwrap_or_default();
                !begins.is_empty() && words.starts_with(begins)
            }
            Source::Sequence(all) => all.iter().any(|text| text.is(template)),
        }
    }

    /// The value of a placeholder.
    pub fn value(&self, name: &str) -> Option<&Value> {
        match self.0.as_ref() {
            Source::Declared(_, values) => {
                values.iter().find(|(own, _)| *own == name).map(|(_, value)| match value {
                    Value::Rounded(value, _) => value,
                    value => value,
                })
            }
            Source::Read(..) => None,
            Source::Sequence(all) => all.iter().find_map(|text| text.value(name)),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (template, values) = match self.0.as_ref() {
            Source::Declared(template, values) => (template, values),
            Source::Read(_, words) => return f.write_str(words),
            Source::Sequence(all) => {
                for (index, text) in all.iter().enumerate() {
                    f.write_str(if index > 0 { " " } else { "" })?;
                    text.fmt(f)?;
                }
                return Ok(());
            }
        };
        let mut rest = template.words;
        while let Some((before, after)) = rest.split_once('{') {
            f.write_str(before)?;
            let Some((name, after)) = after.split_once('}') else { break };
            match values.iter().find(|(own, _)| *own == name) {
                Some((_, value)) => write!(f, "{value}")?,
                None => write!(f, "{{{name}}}")?,
            }
            rest = after;
        }
        f.write_str(rest)
    }
}

/// Two texts are equal if they are displayed identically.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Text {}

/// An empty text.
impl Default for Text {
    fn default() -> Self {
        Self::read(None, String::new())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl From<Template> for Text {
    fn from(template: Template) -> Self {
        Self::declared(template, Vec::new())
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::read(None, words)
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::read(None, words.to_owned())
    }
}

/// A sentence: `text!("SMT is off on {cpus}", cpus = list)`, with a code before the text if tests or other programs
/// need one: `text!("siblings-off", "SMT is off on {cpus}", cpus = list)`, or from a separately declared template,
/// which program code can test for: `text!(SIBLINGS_OFF, cpus = list)`. If the call contains the text, a placeholder
/// without a value or a value without a placeholder is a compile-time error. A placeholder without an explicit value
/// uses the variable of the same name: `text!("SMT is off on {cpus}")`. For a separately declared template, a bare name
/// does the same: `text!(SIBLINGS_OFF, cpus)`.
#[macro_export]
macro_rules! text {
    // The value of a placeholder: the expression, or the variable of the same name.
    (@value $name:ident) => { $crate::text::Value::from($name) };
    (@value $name:ident $value:expr) => { $crate::text::Value::from($value) };
    (@all $code:literal, $words:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        // The compiler checks here that placeholders and names match.
        if false {
            let _ = ::std::format_args!($words $(, $name = "")*);
        }
        $crate::Text::declared(
            $crate::Template { code: $code, words: $words },
            ::std::vec![$((stringify!($name), $crate::text!(@value $name $($value)?))),*],
        )
    }};
    ($code:literal, $words:literal $(, $($values:tt)*)?) => {
        $crate::with_captured!($crate; $code, $words $(, $($values)*)?)
    };
    ($words:literal $(, $($values:tt)*)?) => {
        $crate::with_captured!($crate; "", $words $(, $($values)*)?)
    };
    ($template:expr $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::Text::declared($template, ::std::vec![$((stringify!($name), $crate::text!(@value $name $($value)?))),*])
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BUSY: Template = Template::new("busy", "{cpus} CPUs were busy for {share} of it");
    const OFF: Template = Template::new("off", "switched off: {why}");

    #[test]
    fn the_words_are_made_of_the_figures() {
        let busy = text!(BUSY, cpus = 3u32, share = Value::Share(0.25));
        assert_eq!(busy.to_string(), format!("3 CPUs were busy for {} of it", units::percent(0.25)));
        assert_eq!(busy.value("cpus"), Some(&Value::Count(3)));
        let sizes = text!("sizes", "{a} of {b}", a = Value::Bytes(1 << 20), b = "all");
        assert_eq!(sizes.to_string(), "1 MiB of all");
    }

    #[test]
    fn sentences_stand_in_sentences_and_one_after_the_other() {
        let (share, which) = (Value::Share(0.5), text!("first", "the first"));
        let both = text!(
            "both",
            "{which} took {share}, {factor} of {list}.",
            which,
            share,
            factor = Value::Factor(1.144),
            list = vec![Text::from("a"), Text::from("b")]
        );
        assert_eq!(both.to_string(), format!("the first took {}, 1.14× of a and b.", units::percent(0.5)));
        let all = Text::sequence([both.clone(), Text::default(), text!(OFF, why = "root did")]);
        assert_eq!(all.to_string(), format!("{both} switched off: root did"));
        assert!(all.code() == Some("both") && all.is(&OFF) && all.sentences().len() == 2);
        assert_eq!(all.value("why"), Some(&Value::from("root did")));
        let written = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Text>(&written).unwrap(), all);
    }

    #[test]
    fn a_sentence_is_known_by_its_code_and_in_records_of_old_by_its_beginning() {
        let off = text!(OFF, why = "root did");
        assert!(off.is(&OFF) && !off.is(&BUSY));
        assert!(Text::read(Some("off".into()), "other words".into()).is(&OFF));
        assert!(Text::from("switched off: long ago").is(&OFF) && !Text::from("on").is(&OFF));
        // A template without words before the first placeholder cannot be recognized.
        assert!(!Text::from("3 CPUs were busy").is(&BUSY));
    }

    proptest! {
        #[test]
        fn what_stands_in_a_place_is_never_read_as_a_place(value in "\\PC{0,40}") {
            prop_assert_eq!(text!(OFF, why = value.clone()).to_string(), format!("switched off: {value}"));
        }
    }
}
