//! Texts that many hold: names that the program knows, and words of which one copy serves all.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use arcstr::ArcStr;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A text that costs nothing to hold once more. A record of many figures says the same few words again and again: metrics,
/// units, keys, a text's name, the line that several figures stood on.
#[derive(Clone)]
pub struct Shared(Held);

/// A copy knows its length itself, so that this is no longer than a known one.
#[derive(Clone)]
enum Held {
    Known(&'static str),
    Made(ArcStr),
}

impl Shared {
    /// A text of the program itself.
    pub const fn known(text: &'static str) -> Self {
        Self(Held::Known(text))
    }

    /// A copy of a text, which all clones share.
    pub fn copied(text: &str) -> Self {
        if text.is_empty() { Self::known("") } else { Self(Held::Made(text.into())) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Held::Known(text) => text,
            Held::Made(text) => text,
        }
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self::known("")
    }
}

impl Deref for Shared {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Shared {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Shared {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl From<&'static str> for Shared {
    fn from(text: &'static str) -> Self {
        Self::known(text)
    }
}

impl From<String> for Shared {
    fn from(text: String) -> Self {
        Self::copied(&text)
    }
}

impl From<Shared> for String {
    fn from(text: Shared) -> Self {
        text.as_str().to_owned()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Eq for Shared {}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl PartialEq<str> for Shared {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Shared {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for Shared {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other.as_str()
    }
}

impl PartialEq<Shared> for str {
    fn eq(&self, other: &Shared) -> bool {
        self == other.as_str()
    }
}

impl PartialEq<Shared> for &str {
    fn eq(&self, other: &Shared) -> bool {
        *self == other.as_str()
    }
}

impl PartialEq<Shared> for String {
    fn eq(&self, other: &Shared) -> bool {
        self.as_str() == other.as_str()
    }
}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Shared {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Serialize for Shared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Shared {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Words)
    }
}

struct Words;

impl Visitor<'_> for Words {
    type Value = Shared;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Shared, E> {
        Ok(Shared::copied(text))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Shared {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same_text_as_a_known_one() {
        let (known, made) = (Shared::known("load.latency"), Shared::from("load.latency".to_owned()));
        assert_eq!(known, made);
        assert_eq!(made, "load.latency");
        assert_eq!(known.cmp(&Shared::known("load.m")), Ordering::Less);
        assert_eq!(
            std::collections::HashSet::from([known, made, Shared::default(), Shared::copied("")]).len(),
            2
        );
    }

    #[test]
    fn it_takes_no_more_than_a_borrowed_text() {
        assert_eq!(size_of::<Shared>(), size_of::<&str>());
    }

    #[test]
    fn it_reads_as_it_was_written() {
        for text in ["", "plain", "a \"quote\" and a\nline", "µs 海光"] {
            let json = serde_json::to_string(&Shared::copied(text)).unwrap();
            assert_eq!(json, serde_json::to_string(text).unwrap());
            assert_eq!(serde_json::from_str::<Shared>(&json).unwrap(), text);
        }
        assert!(serde_json::from_str::<Shared>("3").is_err());
    }
}
