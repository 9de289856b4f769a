//! Knobs that are one file with one value.

use crate::change::Change;
use crate::knob::{Adjustment, Inspection, Knob, KnobClass, KnobContext};
use crate::value_syntax::ValueSyntax;
use record::{Template, Text};

/// A file with a value, and the one that is steadier.
#[derive(Debug)]
pub struct FileKnob {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is, for the glossary; empty where the inventory has it.
    pub glossary: &'static str,
    /// By what it moves figures.
    pub class: KnobClass,
    /// The file.
    pub path: &'static str,
    /// How it is spelled.
    pub syntax: ValueSyntax,
    /// What is steadier.
    pub steadier: &'static str,
    /// Other values that are as steady.
    pub as_steady: fn(&str) -> bool,
    /// What it does to measurements.
    pub effect: Template,
    /// Why some would not set it; empty where nobody disagrees.
    pub disputed: Option<Template>,
    /// What a machine without it lacks.
    pub absent: Template,
    /// Whether it is set only when it is named.
    pub only_when_named: bool,
}

impl Knob for FileKnob {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glossary(&self) -> &'static str {
        self.glossary
    }

    fn class(&self) -> KnobClass {
        self.class
    }

    fn effect(&self) -> Text {
        self.effect.into()
    }

    fn only_when_named(&self) -> bool {
        self.only_when_named
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        let inspection = match Change::plan(context.files, self.name, self.path, self.syntax, self.steadier) {
            Ok(None) => Inspection::steady(self.steadier),
            Ok(Some(change)) if (self.as_steady)(&change.old) => Inspection::steady(change.old),
            Ok(Some(change)) => {
                Inspection::noisy(change.old.clone(), self.steadier, Adjustment::Write(vec![change]))
            }
            Err(refusal) if refusal.is_missing() => return Inspection::absent(self.absent),
            Err(refusal) => return Inspection::unseen(&refusal),
        };
        // What speaks against turning it concerns nobody where it is not to be set.
        match self.disputed.filter(|_| inspection.steadier.is_some()) {
            Some(disputed) => inspection.note(disputed),
            None => inspection,
        }
    }
}

/// No other value is as steady.
pub fn none(_: &str) -> bool {
    false
}
