//! Ready-to-paste commands that measure specific machines, for common schedulers.

use std::path::Path;

use record::phrase::{quote_word, visible};

/// Lines for Slurm, pdsh and Ansible that measure these machines again.
pub(crate) fn confirm(machines: &[&str]) -> Vec<String> {
    if machines.is_empty() {
        return Vec::new();
    }
    let (names, count) = (quote_word(&machines.join(",")), machines.len());
    vec![
        format!("srun -N {count} -w {names} linespeed"),
        format!("pdsh -w {names} linespeed"),
        format!("ansible all -l {names} -a linespeed"),
    ]
}

/// Maximum number of records shown side by side in a comparison.
const SIDE_BY_SIDE: usize = 4;

/// Alternatives to `fleet` if there are too few machines: a command that compares the records with each other, and a command that uses one
/// of the records as the baseline for another machine.
pub(crate) fn hold_against_each_other(records: &[&Path]) -> Vec<String> {
    let words: Vec<String> = records.iter().map(|path| quote_word(&visible(path))).collect();
    let shown = words.iter().take(SIDE_BY_SIDE).map(String::as_str).collect::<Vec<_>>().join(" ");
    let compare = (words.len() > 1).then(|| format!("linespeed compare {shown}"));
    let check = words.first().map(|first| format!("linespeed check --baseline {first}"));
    compare.into_iter().chain(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_machines_are_quoted_for_a_shell() {
        let lines = confirm(&["a b", "$(reboot)"]);
        assert!(lines.iter().all(|line| line.contains("'a b,$(reboot)'")), "{lines:?}");
        assert!(confirm(&[]).is_empty());
    }
}
