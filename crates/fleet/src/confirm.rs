//! Commands to paste that name machines, for the engines that people have.

use std::path::Path;

use record::phrase::{quote_word, visible};

/// Lines for Slurm, pdsh and Ansible that measure these machines again.
pub(crate) fn confirm(machines: &[&str]) -> Vec<String> {
    if machines.is_empty() {
        return Vec::new();
    }
    let (short, plain) = (quote_word(&fold(machines)), quote_word(&machines.join(",")));
    let count = machines.len();
    vec![
        format!("srun -N {count} -w {short} linespeed"),
        format!("pdsh -w {short} linespeed"),
        format!("ansible all -l {plain} -a linespeed"),
    ]
}

/// Records that one comparison shows side by side.
const SIDE_BY_SIDE: usize = 4;

/// Lines that hold records against each other, and a machine against one of them: of so few `fleet` can say nothing.
pub(crate) fn hold_against_each_other(records: &[&Path]) -> Vec<String> {
    let words: Vec<String> = records.iter().map(|path| quote_word(&visible(path))).collect();
    let shown = words.iter().take(SIDE_BY_SIDE).map(String::as_str).collect::<Vec<_>>().join(" ");
    let compare = (words.len() > 1).then(|| format!("linespeed compare {shown}"));
    let check = words.first().map(|first| format!("linespeed check --baseline {first}"));
    compare.into_iter().chain(check).collect()
}

/// Names with a number in brackets where several differ in that alone, as Slurm and pdsh write them: `node[01-03,17]`.
fn fold(machines: &[&str]) -> String {
    let mut names: Vec<&str> = machines.to_vec();
    names.sort_unstable();
    names.dedup();
    let split = |name: &str| {
        let at = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // Longer numbers are no numbers of machines.
        let (prefix, number) = name.split_at(at);
        (1..=9)
            .contains(&number.len())
            .then(|| (prefix.to_owned(), number.len(), number.parse::<u64>().unwrap_or(0)))
    };
    let mut groups: Vec<(String, usize, Vec<u64>)> = Vec::new();
    let mut alone: Vec<String> = Vec::new();
    for name in names {
        match split(name) {
            None => alone.push(name.to_owned()),
            Some((prefix, digits, number)) => {
                match groups.iter_mut().find(|(known, width, _)| *known == prefix && *width == digits) {
                    Some((_, _, numbers)) => numbers.push(number),
                    None => groups.push((prefix, digits, vec![number])),
                }
            }
        }
    }
    let folded = groups.into_iter().map(|(prefix, digits, mut numbers)| {
        numbers.sort_unstable();
        let runs = numbers.chunk_by(|a, b| a + 1 == *b).filter_map(|run| {
            let (first, last) = (run.first()?, run.last()?);
            Some(match first == last {
                true => format!("{first:0digits$}"),
                false => format!("{first:0digits$}-{last:0digits$}"),
            })
        });
        let runs: Vec<String> = runs.collect();
        match numbers.len() {
            1 => format!("{prefix}{}", runs.join(",")),
            _ => format!("{prefix}[{}]", runs.join(",")),
        }
    });
    folded.chain(alone).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_hosts_are_folded_as_slurm_writes_them() {
        assert_eq!(fold(&["n01", "n03", "n02", "n17", "login", "m9"]), "m9,n[01-03,17],login");
        assert_eq!(fold(&["n9", "n10"]), "n10,n9", "another width is another name");
        let lines = confirm(&["a b", "$(reboot)"]);
        assert!(lines[2].contains("'a b,$(reboot)'") || lines[2].contains("'$(reboot),a b'"), "{lines:?}");
        assert!(confirm(&[]).is_empty());
    }
}
