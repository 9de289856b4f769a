//! The CPUs of the command.

use crate::form::cpus as in_words;
use crate::knob::{Hold, Knob, Look, Scene, Way};

/// The command bound to the quiet CPUs (sched_setaffinity(2)).
#[derive(Debug)]
pub struct Affinity;

impl Knob for Affinity {
    fn name(&self) -> &'static str {
        "affinity"
    }

    fn effect(&self) -> &'static str {
        "a command that moves to another CPU finds its caches cold there, and maybe its memory far away"
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn look(&self, scene: &Scene) -> Look {
        if scene.quiet.is_empty() {
            return Look::steady("on all CPUs").note("with --cpus LIST a command is bound to them");
        }
        let quiet = &scene.quiet;
        let bound = scene.own.as_ref().map(|own| &own.affinity).filter(|cpus| !cpus.is_empty());
        if let Some(cpus) = bound.filter(|cpus| cpus.is_subset(quiet)) {
            return Look::steady(format!("on {}", in_words(cpus)));
        }
        Look::noisy(
            "on all CPUs",
            format!("on {}", in_words(quiet)),
            Way::Hold(Hold::Affinity(quiet.clone())),
        )
    }
}
