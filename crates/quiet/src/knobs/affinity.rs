//! The CPUs of the command.

use crate::knob::{Adjustment, Inspection, Knob, KnobContext, ProcessSetting};
use crate::value_syntax::name_cpus as in_words;
use record::{Text, text};

/// The command bound to the quiet CPUs (sched_setaffinity(2)).
#[derive(Debug)]
pub struct Affinity;

impl Knob for Affinity {
    fn name(&self) -> &'static str {
        "affinity"
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-affinity-effect",
            "a task that migrates to another CPU finds cold caches there, and its memory may be remote"
        )
    }

    fn needs_cpus(&self) -> bool {
        true
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        if context.quiet.is_empty() {
            return Inspection::steady("on all CPUs")
                .note(text!("quiet-affinity-needs-cpus", "--cpus LIST binds a command to those CPUs"));
        }
        let quiet = &context.quiet;
        let bound = context.own.as_ref().map(|own| &own.affinity).filter(|cpus| !cpus.is_empty());
        if let Some(cpus) = bound.filter(|cpus| cpus.is_subset(quiet)) {
            return Inspection::steady(format!("on {}", in_words(cpus)));
        }
        Inspection::noisy(
            "on all CPUs",
            format!("on {}", in_words(quiet)),
            Adjustment::ProcessSetting(ProcessSetting::Affinity(quiet.clone())),
        )
    }
}
