//! Transparent huge pages.

use crate::knob::{FileValue, Inspect, Knob, SetWhen};
use crate::value_syntax::ValueSyntax;
use record::Template;

/// `/sys/kernel/mm/transparent_hugepage/enabled` (Documentation/admin-guide/mm/transhuge.rst).
pub(super) const KNOB: Knob = Knob {
    name: "thp",
    set: SetWhen::Named,
    effect: Template {
        code: "quiet-thp-effect",
        words: "whether a program gets huge pages depends on how much contiguous memory is free at that moment",
    },
    disputed: Some(Template {
        code: "quiet-thp-disputed",
        words: "with madvise a program that does not ask for huge pages is measured without them: compare like with like",
    }),
    absent: Template { code: "quiet-thp-absent", words: "the kernel has no THP" },
    inspect: Inspect::File(FileValue {
        path: "/sys/kernel/mm/transparent_hugepage/enabled",
        syntax: ValueSyntax::Chosen,
        steadier: "madvise",
        as_steady: |value| value == "never",
    }),
    ..Knob::ORDINARY
};
