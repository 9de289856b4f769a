//! Transparent huge pages.

use super::file_knob::FileKnob;
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;

/// `/sys/kernel/mm/transparent_hugepage/enabled` (Documentation/admin-guide/mm/transhuge.rst).
pub const KNOB: FileKnob = FileKnob {
    name: "thp",
    glossary: "",
    class: KnobClass::Other,
    path: "/sys/kernel/mm/transparent_hugepage/enabled",
    syntax: ValueSyntax::Chosen,
    steadier: "madvise",
    as_steady: |value| value == "never",
    effect: "whether a program gets huge pages depends on how much free memory lies together at that moment",
    disputed: "with madvise a program that does not ask for huge pages is measured without them: compare like with like",
    absent: "this kernel has no transparent huge pages",
    only_when_named: true,
};
