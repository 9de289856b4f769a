//! Parsers for single fields of a recipe file.

use serde::de::{Deserialize, Deserializer, Error};

/// The usual value of a factor.
pub(super) fn one() -> f64 {
    1.0
}

/// Reads a number above 0.
pub(super) fn read_positive<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let positive = number.is_finite() && number > 0.0;
    if positive { Ok(number) } else { Err(D::Error::custom("must be a number above 0")) }
}

/// Reads a setting's value: text, or a number exactly as written.
pub(super) fn read_plain<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match toml::Value::deserialize(from)? {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        _ => Err(D::Error::custom("must be a string or a number")),
    }
}

/// Reads the name of a program, or a list of names.
pub(super) fn read_programs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Programs {
        One(String),
        Several(Vec<String>),
    }
    let programs = match Programs::deserialize(from)? {
        Programs::One(name) => vec![name],
        Programs::Several(names) => names,
    };
    let named = !programs.is_empty() && programs.iter().all(|name| !name.is_empty());
    if named { Ok(programs) } else { Err(D::Error::custom("must be the name of a program")) }
}
