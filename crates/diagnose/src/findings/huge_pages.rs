//! Huge pages: whether this process was refused them, and how programs get them.

use record::State;

use super::Case;
use crate::figures::{restore_command, write_command};

/// Where the kernel keeps which programs get transparent huge pages.
pub(super) const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The refusal that the measurement of latency took back.
pub(super) const LIFTED: &str = "latency huge pages";

/// Whether huge pages were refused to this process, and measured all the same.
pub(super) fn is_refusal_lifted(case: &Case) -> bool {
    case.record.coverage.iter().any(|coverage| coverage.what == LIFTED && coverage.state == State::Degraded)
}

/// How programs get larger pages, and the way back.
pub(super) fn remedy(thp: Option<&str>) -> (Vec<String>, Vec<String>) {
    let Some(old) = thp else {
        return (
            vec!["reserve pages for programs that ask for them: sudo sysctl vm.nr_hugepages=N".to_owned()],
            vec!["sudo sysctl vm.nr_hugepages=0".to_owned()],
        );
    };
    let mut remedy = Vec::new();
    if old == "never" {
        remedy.push(write_command("madvise", ENABLED));
    }
    remedy.push(
        "in the program: madvise(…, MADV_HUGEPAGE), or GLIBC_TUNABLES=glibc.malloc.hugetlb=1".to_owned(),
    );
    remedy.push(format!("for every program: {}", write_command("always", ENABLED)));
    (remedy, vec![restore_command(old, ENABLED)])
}
