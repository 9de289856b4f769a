//! Memory compaction ahead of need.

use crate::knob::{FileValue, Inspect, Knob, KnobClass};
use record::Template;

/// `vm.compaction_proactiveness` (Documentation/admin-guide/sysctl/vm.rst): 0 leaves compaction to whoever needs a huge page.
/// Linux 5.9 and later.
pub(super) const KNOB: Knob = Knob {
    name: "compaction",
    glossary: "
        How eagerly the kernel moves pages in the background to keep huge pages free, 0 to 100.
        How: `/proc/sys/vm/compaction_proactiveness`.
    ",
    class: KnobClass::Kernel,
    effect: Template {
        code: "quiet-compaction-effect",
        words: "kcompactd moves pages in the background, and a program that touches one waits until it has moved",
    },
    absent: Template {
        code: "quiet-compaction-absent",
        words: "the kernel does not compact memory ahead of need",
    },
    inspect: Inspect::File(FileValue::word("/proc/sys/vm/compaction_proactiveness", "0")),
    ..Knob::ORDINARY
};
