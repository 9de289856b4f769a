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

/// Ends of paths of texts, by what these hold; `[]` is an element of a list, `*` what a map holds under a key. The longest end counts.
const TEXTS: &[(Holds, &str)] = &[
    (Own, ".command[]"),
    (Argv, ".verification.command[] .detail.command[]"),
    (Name(Kind::Host), ".machine.hostname .import.name"),
    (Name(Kind::Option), ".kernel.options[]"),
    (Name(Kind::File), ".import.texts[].name .text .ceilings.records.* .plan.record"),
    (
        Name(Kind::Line),
        "
        .import.outputs[].command .origin.says .origins[].says .examples[].says .inventory.*.says
        ",
    ),
    (Name(Kind::Process), ".processes[].name .beside[].name .takers[].name .threads[].name .where.thread .detail.left_behind[]"),
    (Name(Kind::Group), ".throttled.group .watch.of .detail.within .processes[].within .beside[].within"),
    (Name(Kind::Command), ".gains[].program .detail.program .detail.run_under"),
    (BuildLine, ".kernel.version"),
    (
        Sentence,
        "
        .plan.sources[] .where.* .advice[] .about .beside[] .beside .cause .cautions[] .ceiling_is .claim
        .commands[] .delivered_is .distance_mismatches[] .doubt .each .explained[] .floor_says .from .how
        .judgement .line_speed .lines[] .meaning .method .missing .not_reached[] .not_set .notes[] .reason
        .remedy .remedy[] .remedy_commands[] .says .summary .undo[] .undo_commands[] .unknown[] .what
        .where .why .with .without .workload .detail.*
        ",
    ),
    (
        Technical,
        "
        .detail.attached_ended .detail.attached_to .architecture .bank .board .boost_source .bound .by
        .channel .class .clock_holders.* .clocksource .clocksources[] .code .container .days.* .distribution .doubt_code .driver
        .epp .features[] .firmware .firmware_name .form .governor .hypervisor .idle_states[].name
        .interrupts .kind .knobs[].name .layer .level .levels[].name .locator .long_gaps[].kind .long_gaps[].witness .long_gaps[].woken .metric .microarchitecture .microcode
        .mitigations.* .model_name .own_policy .part .placement .power_supply .preemption .product .release
        .resource .resources[].name .revision .rule .set_to .smt .source .started .shape.looked_at .state .thp .thp_defrag
        .tool .tool.name .typical.of .typical.sources[] .position .unit .value .vendor .version .was
        ",
    ),
];

/// What the text at a path holds; `None` where nothing declares it.
pub(super) fn declared(path: &str) -> Option<Holds> {
    // The element of a list or map is what its end says, or as the list is.
    let ends = TEXTS.iter().flat_map(|(holds, ends)| ends.split_whitespace().map(|end| (*holds, end)));
    ends.filter(|(_, end)| matches(path, end)).max_by_key(|(_, end)| end.len()).map(|(holds, _)| holds)
}

/// Whether a path ends so; a `*` at the end of `end` stands for any key.
fn matches(path: &str, end: &str) -> bool {
    if path.ends_with(end) {
        return true;
    }
    let Some(before) = end.strip_suffix('*') else { return false };
    path.rfind(before).is_some_and(|at| !path.get(at + before.len()..).unwrap_or_default().is_empty())
}
