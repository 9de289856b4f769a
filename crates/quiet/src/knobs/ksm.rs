//! Merging of equal pages.

use crate::knob::{FileValue, Inspect, Knob, KnobClass};
use record::Template;

/// `/sys/kernel/mm/ksm/run` (Documentation/admin-guide/mm/ksm.rst): 0 stops the thread and keeps what is merged.
pub(super) const KNOB: Knob = Knob {
    name: "ksm",
    class: KnobClass::Kernel,
    effect: Template {
        code: "quiet-ksm-effect",
        words: "a kernel thread scans memory for equal pages, and the first write to a merged page copies it",
    },
    absent: Template { code: "quiet-ksm-absent", words: "the kernel does not merge equal pages" },
    inspect: Inspect::File(FileValue::word("/sys/kernel/mm/ksm/run", "0")),
    ..Knob::ORDINARY
};
