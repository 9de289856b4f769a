//! Merging of equal pages.

use super::file_knob::{FileKnob, none};
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;
use record::Template;

/// `/sys/kernel/mm/ksm/run` (Documentation/admin-guide/mm/ksm.rst): 0 stops the thread and keeps what is merged.
pub const KNOB: FileKnob = FileKnob {
    name: "ksm",
    glossary: "",
    class: KnobClass::Kernel,
    path: "/sys/kernel/mm/ksm/run",
    syntax: ValueSyntax::Word,
    steadier: "0",
    as_steady: none,
    effect: Template {
        code: "quiet-ksm-effect",
        words: "a kernel thread scans memory for equal pages, and the first write to a merged page copies it",
    },
    disputed: None,
    absent: Template { code: "quiet-ksm-absent", words: "the kernel does not merge equal pages" },
    only_when_named: false,
};
