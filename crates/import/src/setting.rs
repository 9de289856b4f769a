//! A label specified by the user for all results in a text that lack this label: `threads=32`.

use record::{Key, Label, Measurement};

use crate::sink::add_key;
use crate::tools::published::parse_label;

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting(Label, Key);

/// The reason why the label cannot be set.
#[derive(Debug, thiserror::Error)]
#[error("--set {0}: {1}; use KEY=VALUE, such as threads=32")]
pub struct SettingError(String, String);

impl Setting {
    /// Parses a setting, such as `threads=32`.
    ///
    /// # Errors
    ///
    /// There is no such key, or the key cannot have this value.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let wrong = |why: String| SettingError(text.to_owned(), why);
        let (name, value) = text.split_once('=').ok_or_else(|| wrong("a value is missing".to_owned()))?;
        let label =
            Label::from_name(name.trim()).ok_or_else(|| wrong(format!("no metric has the key {name}")))?;
        let value = parse_label(label.name(), value.trim()).map_err(wrong)?;
        Ok(Self(label, value))
    }

    /// Adds the label to a result that may have this key but lacks it.
    pub(crate) fn apply(&self, m: &mut Measurement) {
        if m.metric.keys().contains(&self.0) {
            let tool = m.origin.as_ref().map_or("", |origin| origin.tool.as_str()).to_owned();
            add_key(m, self.0, self.1.clone(), &tool);
        }
    }
}
