//! Transparent huge pages.

use super::single::Single;
use crate::form::Form;

/// `/sys/kernel/mm/transparent_hugepage/enabled` (Documentation/admin-guide/mm/transhuge.rst).
pub const KNOB: Single = Single {
    name: "thp",
    path: "/sys/kernel/mm/transparent_hugepage/enabled",
    form: Form::Chosen,
    steadier: "madvise",
    as_steady: |value| value == "never",
    effect: "whether a program gets huge pages depends on how much free memory lies together at that moment",
    disputed: "with madvise a program that does not ask for huge pages is measured without them: compare like with like",
    absent: "this kernel has no transparent huge pages",
    only_when_named: true,
};
