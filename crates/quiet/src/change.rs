//! Changes one value in one file to a steadier value.

use serde::{Deserialize, Serialize};

use crate::files::{Files, Refusal};
use crate::value_syntax::ValueSyntax;

/// A value to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The knob to which the value belongs.
    pub knob: String,
    /// The file's path on the machine.
    pub path: String,
    /// The format of the file's value.
    #[serde(rename = "form")]
    pub syntax: ValueSyntax,
    /// The previous value.
    pub old: String,
    /// The new value.
    pub new: String,
}

impl Change {
    /// The change of a file to a value; `None` if it already has that value.
    pub fn plan(
        files: &dyn Files,
        knob: &str,
        path: &str,
        syntax: ValueSyntax,
        new: &str,
    ) -> Result<Option<Self>, Refusal> {
        let text = files.read(path)?;
        let old = syntax.parse(&text).ok_or_else(|| Refusal {
            path: path.to_owned(),
            errno: None,
            why: "its value has an unknown format; check the file and set the value manually".to_owned(),
        })?;
        let change = Self { knob: knob.to_owned(), path: path.to_owned(), syntax, old, new: new.to_owned() };
        Ok((!syntax.are_equal(&change.old, new)).then_some(change))
    }

    /// A watched file, which another change may affect: the new value is the current
    /// one.
    pub fn watch(files: &dyn Files, knob: &str, path: &str, syntax: ValueSyntax) -> Option<Self> {
        let old = syntax.parse(&files.read(path).ok()?)?;
        Some(Self { knob: knob.to_owned(), path: path.to_owned(), syntax, new: old.clone(), old })
    }

    /// Whether this is a watched value.
    pub fn is_watched(&self) -> bool {
        self.syntax.are_equal(&self.old, &self.new)
    }

    /// Whether writing the value also changes another one. For example, setting a governor of intel_pstate resets
    /// `no_turbo`.
    pub fn moves_others(&self) -> bool {
        self.path.ends_with("/scaling_governor")
    }

    /// The current value of the file.
    pub fn read_current(&self, files: &dyn Files) -> Result<String, Refusal> {
        let text = files.read(&self.path)?;
        Ok(self.syntax.parse(&text).unwrap_or(text))
    }

    /// Whether the path is allowed in a journal: it must be a kernel file's path and must not contain `..`.
    pub fn is_of_the_kernel(&self) -> bool {
        ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|start| self.path.starts_with(start))
            && !self.path.split('/').any(|part| part == "..")
    }
}
