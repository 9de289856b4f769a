//! What each text of a record holds, by the end of its path.

use super::Kind;
use Holds::{Argv, BuildLine, Name, Own, Sentence, Technical};

/// What a text holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// A word of a fixed vocabulary, a value of the hardware or of a setting.
    Technical,
    /// A sentence or command of linespeed's, which may quote a name.
    Sentence,
    /// A name.
    Name(Kind),
    /// A kernel's build line, which says who built it, and where.
    BuildLine,
    /// The words of a command line: linespeed's own, up to `--`.
    Own,
    /// The words of somebody's command line.
    Argv,
}

/// Texts by the end of their path; `[]` is an element of a list, `*` what a map holds under a key. The longest end counts.
const TEXTS: &[(&str, Holds)] = &[
    (".command[]", Own),
    (".verification.command[]", Argv),
    (".machine.hostname", Name(Kind::Host)),
    (".kernel.version", BuildLine),
    (".kernel.options[]", Name(Kind::Option)),
    (".import.name", Name(Kind::Host)),
    (".import.texts[].name", Name(Kind::File)),
    (".import.outputs[].command", Name(Kind::Line)),
    (".text", Name(Kind::File)),
    (".origin.says", Name(Kind::Line)),
    (".origins[].says", Name(Kind::Line)),
    (".examples[].says", Name(Kind::Line)),
    (".inventory.*.says", Name(Kind::Line)),
    (".processes[].name", Name(Kind::Process)),
    (".threads[].name", Name(Kind::Process)),
    (".throttled.group", Name(Kind::Group)),
    (".watch.of", Name(Kind::Group)),
    (".ceilings.records.*", Name(Kind::File)),
    (".gains[].program", Name(Kind::Command)),
    (".plan.record", Name(Kind::File)),
    (".plan.sources[]", Sentence),
    (".where.*", Sentence),
    (".where.thread", Name(Kind::Process)),
    // Sentences.
    (".advice[]", Sentence),
    (".about", Sentence),
    (".beside[]", Sentence),
    (".beside", Sentence),
    (".cause", Sentence),
    (".cautions[]", Sentence),
    (".ceiling_is", Sentence),
    (".claim", Sentence),
    (".commands[]", Sentence),
    (".delivered_is", Sentence),
    (".distance_mismatches[]", Sentence),
    (".doubt", Sentence),
    (".each", Sentence),
    (".explained[]", Sentence),
    (".floor_says", Sentence),
    (".from", Sentence),
    (".how", Sentence),
    (".judgement", Sentence),
    (".line_speed", Sentence),
    (".lines[]", Sentence),
    (".meaning", Sentence),
    (".method", Sentence),
    (".missing", Sentence),
    (".not_reached[]", Sentence),
    (".not_set", Sentence),
    (".notes[]", Sentence),
    (".reason", Sentence),
    (".remedy", Sentence),
    (".remedy[]", Sentence),
    (".remedy_commands[]", Sentence),
    (".says", Sentence),
    (".summary", Sentence),
    (".undo[]", Sentence),
    (".undo_commands[]", Sentence),
    (".unknown[]", Sentence),
    (".usual", Sentence),
    (".what", Sentence),
    (".where", Sentence),
    (".why", Sentence),
    (".with", Sentence),
    (".without", Sentence),
    (".workload", Sentence),
    // Details of measurements, by their keys.
    (".detail.attached_ended", Technical),
    (".detail.attached_to", Technical),
    (".detail.command[]", Argv),
    (".detail.left_behind[]", Name(Kind::Process)),
    (".detail.program", Name(Kind::Command)),
    (".detail.run_under", Name(Kind::Command)),
    (".detail.within", Name(Kind::Group)),
    (".detail.*", Sentence),
    // Words of a fixed vocabulary, hardware and settings.
    (".architecture", Technical),
    (".bank", Technical),
    (".board", Technical),
    (".boost_source", Technical),
    (".bound", Technical),
    (".by", Technical),
    (".channel", Technical),
    (".clocksource", Technical),
    (".clocksources[]", Technical),
    (".code", Technical),
    (".container", Technical),
    (".days.*", Technical),
    (".distribution", Technical),
    (".doubt_code", Technical),
    (".driver", Technical),
    (".epp", Technical),
    (".features[]", Technical),
    (".firmware", Technical),
    (".firmware_name", Technical),
    (".form", Technical),
    (".governor", Technical),
    (".hypervisor", Technical),
    (".idle_states[].name", Technical),
    (".interrupts", Technical),
    (".kind", Technical),
    (".knobs[].name", Technical),
    (".layer", Technical),
    (".levels[].name", Technical),
    (".locator", Technical),
    (".metric", Technical),
    (".microarchitecture", Technical),
    (".microcode", Technical),
    (".mitigations.*", Technical),
    (".model_name", Technical),
    (".own_policy", Technical),
    (".part", Technical),
    (".placement", Technical),
    (".power_supply", Technical),
    (".preemption", Technical),
    (".product", Technical),
    (".release", Technical),
    (".resource", Technical),
    (".resources[].name", Technical),
    (".revision", Technical),
    (".rule", Technical),
    (".set_to", Technical),
    (".smt", Technical),
    (".source", Technical),
    (".started", Technical),
    (".state", Technical),
    (".thp", Technical),
    (".thp_defrag", Technical),
    (".tool", Technical),
    (".tool.name", Technical),
    (".unit", Technical),
    (".value", Technical),
    (".vendor", Technical),
    (".version", Technical),
    (".was", Technical),
];

/// What the text at a path holds; `None` where nothing declares it.
pub(super) fn declared(path: &str) -> Option<Holds> {
    // The element of a list or map is what its end says, or as the list is.
    let fits = TEXTS.iter().filter(|(end, _)| matches(path, end));
    fits.max_by_key(|(end, _)| end.len()).map(|(_, holds)| *holds)
}

/// Whether a path ends so; a `*` at the end of `end` stands for any key.
fn matches(path: &str, end: &str) -> bool {
    if path.ends_with(end) {
        return true;
    }
    let Some(before) = end.strip_suffix('*') else { return false };
    path.rfind(before).is_some_and(|at| !path.get(at + before.len()..).unwrap_or_default().is_empty())
}
