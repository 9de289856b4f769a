//! Groups the lines of a text by host. The host's name may be before each line (pdsh, srun, clush), in the time stamps of a log, between two
//! rulers above the lines (dshbak, `clush -b`), or above indented lines (salt).

use std::borrow::Cow;

use crate::scan;

use super::shared::{FEWEST, is_part, is_place, split_stamps, without_stamps};
use crate::prompts::{Mark, find_mark, is_telling};

/// Maximum number of hosts whose lines are grouped.
const MOST_HOSTS: usize = 256;

/// A line of a text with its number.
pub(super) type Numbered<'a> = (u64, Cow<'a, str>);

/// A host's name and its lines; the name is empty before the first host.
type Block<'a> = (&'a str, Vec<(u64, &'a str)>);

/// The lines of a text, host by host. Each group follows an added line: a heading in Ansible's format or, if the command is known, a prompt
/// with the command. `None` if the text is not from several hosts.
pub(super) fn gather(text: &str) -> Option<Vec<Numbered<'_>>> {
    let blocks = by_prefix(text).or_else(|| by_log(text)).or_else(|| by_heads(text))?;
    let command = blocks[0].1.last().and_then(|(_, line)| match find_mark(line, true)? {
        Mark::Prompt { command, .. } | Mark::Command(command) => Some(command),
        Mark::Heading { .. } => None,
    });
    let of_block = |(host, lines): Block<'_>| {
        let number = lines.first().map_or(1, |line| line.0);
        let head = command.map_or_else(|| format!("{host} | >>"), |command| format!("-@{host}:~$ {command}"));
        let head = (!host.is_empty()).then_some((number, head.into()));
        head.into_iter()
            .chain(lines.into_iter().map(|(number, line)| (number, Cow::Owned(line.to_owned()))))
            .collect::<Vec<_>>()
    };
    Some(blocks.into_iter().flat_map(of_block).collect())
}

/// Whether these blocks are the output of hosts: either all their names are host names, or the output of every host begins with the same
/// word.
fn are_hosts(blocks: &[Block]) -> bool {
    let word = |block: &Block| {
        let first = block.1.iter().find(|(_, line)| !line.trim().is_empty());
        first.and_then(|(_, line)| line.trim_start().split([':', '\t', ' ']).next().map(str::to_owned))
    };
    let first = blocks.get(1).and_then(word).filter(|word| !word.is_empty());
    let is_named = |block: &Block| is_place(block.0) && block.0.contains(|c: char| c.is_ascii_alphabetic());
    blocks[1..].iter().all(is_named)
        || blocks.len() > 2 && first.is_some() && blocks[1..].iter().all(|block| word(block) == first)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.len() <= 64
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-[],".contains(c))
        && !is_part(word)
}

/// Splits a line into the host name and the rest.
fn split_name(line: &str) -> Option<(&str, &str)> {
    let line = without_stamps(line);
    let (name, rest) = line.split_at(line.find([':', '\t', '|', ' '])?);
    let after = rest.trim_start_matches(' ').strip_prefix([':', '\t', '|'])?;
    let is_apart = after.is_empty() || after.starts_with([' ', '\t']) || rest.starts_with('\t');
    // The lines that Ansible joined are separated later.
    (is_name(name) && is_apart && !after.contains(" | (stdout) "))
        .then(|| (name, after.strip_prefix(' ').unwrap_or(after)))
}

/// Words that, with a number, may also name something else than a host.
const PARTS: &str = "node|numa|socket|package|die|dimm|channel|bank|gpu|disk|nvme|zone|fan|run|test|round|pass|trial|step|sample|try|case|iteration|benchmark|job|rank";

fn by_prefix(text: &str) -> Option<Vec<Block<'_>>> {
    let mut blocks: Vec<Block> = vec![Block::default()];
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        // The command may be above the lines of all hosts.
        let is_above = || blocks.len() == 1 && find_mark(line, true).is_some();
        let (name, rest) = split_name(line).or_else(|| is_above().then_some(("", line)))?;
        match blocks.iter().position(|(host, _)| *host == name) {
            Some(at) => blocks[at].1.push((number, rest)),
            // Too many words: these are not host names. In most texts, each line begins with a different word.
            None if blocks.len() > MOST_HOSTS => return None,
            None => blocks.push((name, vec![(number, rest)])),
        }
    }
    // One or two lines are from a host if its name ends with a digit; `spectre_v2` is no host, and `node0` and `run1` may be none.
    let is_certain = |(host, lines): &Block| {
        let letters = host.trim_end_matches(|c: char| c.is_ascii_digit());
        let may_be_part = letters.contains('_') || scan::is_one_of(&letters.to_lowercase(), PARTS);
        lines.len() >= FEWEST || letters.len() < host.len() && !may_be_part
    };
    (blocks.len() > 2 && blocks[1..].iter().all(is_certain) && are_hosts(&blocks)).then_some(blocks)
}

/// The lines of logs by the host in their stamps. Lines without a host belong to the host of the line above.
fn by_log(text: &str) -> Option<Vec<Block<'_>>> {
    let mut blocks: Vec<Block> = vec![Block::default()];
    let mut at = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let of_json = || line.split_once("\"_HOSTNAME\":\"")?.1.split('"').next();
        // A machine may log as `localhost` until it has its name.
        let host = split_stamps(line).0.or_else(of_json).filter(|host| is_name(host) && is_telling(host));
        if let Some(host) = host {
            // The number of hosts is limited later.
            at = blocks.iter().take(MOST_HOSTS).position(|(known, _)| *known == host).unwrap_or(blocks.len());
            blocks.extend((at == blocks.len()).then(|| (host, Vec::new())));
        }
        blocks[at].1.push((number, line));
    }
    (blocks.len() > 2).then_some(blocks)
}

fn by_heads(text: &str) -> Option<Vec<Block<'_>>> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let is_ruled = first.starts_with("----------") || text.contains("\n----------");
    (first.ends_with(':') || is_ruled).then_some(())?;
    let lines: Vec<&str> = text.lines().collect();
    let is_ruler = |index: usize| {
        let line = lines.get(index).map_or("", |line| line.trim_end());
        line.len() >= 10 && line.bytes().all(|b| b == b'-')
    };
    let mut blocks: Vec<Block> = vec![Block::default()];
    for (index, line) in lines.iter().enumerate() {
        let is_between = index > 0 && is_ruler(index - 1) && is_ruler(index + 1);
        let name =
            if is_ruled { line.split(" (").next().filter(|_| is_between) } else { line.strip_suffix(':') };
        match name.filter(|name| is_name(name.trim_end())) {
            Some(name) => blocks.push((name.trim_end(), Vec::new())),
            // Below a name between rulers, every line is from that host; otherwise, only blank and indented lines are.
            None if is_ruled || line.trim().is_empty() || blocks.len() > 1 && line.starts_with("    ") => {
                blocks.last_mut()?.1.push((index as u64 + 1, line));
            }
            None => return None,
        }
    }
    let says_any = blocks.iter().skip(1).any(|(_, lines)| !lines.is_empty());
    (says_any && are_hosts(&blocks)).then_some(blocks)
}
