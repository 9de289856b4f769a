//! Knobs that are one file with one value.

use crate::change::Change;
use crate::form::Form;
use crate::knob::{Knob, Look, Scene, Way};

/// A file with a value, and the one that is steadier.
#[derive(Debug)]
pub struct Single {
    /// Name on the command line.
    pub name: &'static str,
    /// The file.
    pub path: &'static str,
    /// How it is spelled.
    pub form: Form,
    /// What is steadier.
    pub steadier: &'static str,
    /// Other values that are as steady.
    pub as_steady: fn(&str) -> bool,
    /// What it does to measurements.
    pub effect: &'static str,
    /// Why some would not turn it; empty where nobody disagrees.
    pub disputed: &'static str,
    /// What a machine without it lacks.
    pub absent: &'static str,
    /// Whether it is turned only when it is named.
    pub only_when_named: bool,
}

impl Knob for Single {
    fn name(&self) -> &'static str {
        self.name
    }

    fn effect(&self) -> &'static str {
        self.effect
    }

    fn only_when_named(&self) -> bool {
        self.only_when_named
    }

    fn look(&self, scene: &Scene) -> Look {
        let look = match Change::to(scene.files, self.name, self.path, self.form, self.steadier) {
            Ok(None) => Look::steady(self.steadier),
            Ok(Some(change)) if (self.as_steady)(&change.old) => Look::steady(change.old),
            Ok(Some(change)) => Look::noisy(change.old.clone(), self.steadier, Way::Write(vec![change])),
            Err(refusal) if refusal.is_missing() => return Look::absent(self.absent),
            Err(refusal) => return Look::unseen(&refusal),
        };
        // What speaks against turning it concerns nobody where it is not to be turned.
        let disputed = look.steadier.is_some() && !self.disputed.is_empty();
        if disputed { look.note(self.disputed) } else { look }
    }
}

/// No other value is as steady.
pub fn none(_: &str) -> bool {
    false
}
