//! The lines of several hosts in one text, brought together: printed alternately after each host's name (pdsh, srun, clush), below its name
//! between two rulers (dshbak, `clush -b`), or indented below it (salt).

use std::borrow::Cow;

use super::shared::{FEWEST, is_place, without_stamps};
use crate::prompts;

/// The most hosts whose lines are brought together.
const MOST_HOSTS: usize = 256;

/// A line of a text with its number.
pub(super) type Numbered<'a> = (u64, Cow<'a, str>);

/// A host's name, or none before the first, and its lines.
type Block<'a> = (Option<&'a str>, Vec<(u64, &'a str)>);

/// The lines of a text in their order, or host by host, each below the line that Ansible prints above them.
pub(super) fn gather(text: &str) -> Vec<Numbered<'_>> {
    let lines: Vec<(u64, &str)> = (1..).zip(text.lines()).collect();
    let Some(blocks) = by_prefix(&lines).or_else(|| by_heads(&lines)) else {
        return lines.into_iter().map(|(number, line)| (number, line.into())).collect();
    };
    let of_block = |(host, lines): Block<'_>| {
        let number = lines.first().map_or(1, |line| line.0);
        let head = host.map(|host| (number, Cow::from(format!("{host} | >>"))));
        let lines = lines.into_iter().map(|(number, line)| (number, Cow::Owned(line.to_owned())));
        head.into_iter().chain(lines).collect::<Vec<_>>()
    };
    blocks.into_iter().flat_map(of_block).collect()
}

/// The label at the beginning of a line.
fn label(line: &str) -> &str {
    line.trim_start().split([':', '\t']).next().unwrap_or_default()
}

/// Whether these are the same output of several hosts, whose names are not certain to be some: their first labels are the same.
fn are_alike(blocks: &[Block]) -> bool {
    let of_hosts = blocks.iter().filter(|(host, _)| host.is_some());
    let mut labels = of_hosts.map(|(_, lines)| {
        lines.iter().find(|(_, line)| !line.trim().is_empty()).map(|(_, line)| label(line))
    });
    let first = labels.next().flatten();
    first.is_some_and(|first| !first.is_empty()) && labels.all(|label| label == first)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.len() <= 64
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-[],".contains(c))
}

/// The host before a line, and the line.
fn split_name(line: &str) -> Option<(&str, &str)> {
    let line = without_stamps(line);
    let end = line.find([':', '\t', '|', ' ']).filter(|end| *end > 0)?;
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(' ');
    let mark = rest.chars().next()?;
    let after = rest.strip_prefix([':', '\t', '|'])?;
    let spaced = after.is_empty() || after.starts_with([' ', '\t']) || mark == '\t';
    (is_name(name) && spaced).then(|| (name, after.strip_prefix(' ').unwrap_or(after)))
}

fn by_prefix<'a>(lines: &[(u64, &'a str)]) -> Option<Vec<Block<'a>>> {
    let mut blocks: Vec<Block> = vec![(None, Vec::new())];
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        let Some((name, rest)) = split_name(line) else {
            // The command above them.
            let is_above = blocks.len() == 1 && prompts::find_mark(line, true).is_some();
            is_above.then(|| blocks[0].1.push((*number, line)))?;
            continue;
        };
        match blocks.iter().position(|(host, _)| *host == Some(name)) {
            Some(at) => blocks[at].1.push((*number, rest)),
            // In most texts each line begins with another word.
            None if blocks.len() > MOST_HOSTS => return None,
            None => blocks.push((Some(name), vec![(*number, rest)])),
        }
    }
    let hosts = || blocks.iter().filter_map(|(host, lines)| Some(((*host)?, lines)));
    let words = |name: &str| is_place(name) && !name.bytes().all(|b| b.is_ascii_digit());
    let is_certain = hosts().all(|(name, lines)| lines.len() >= FEWEST && words(name));
    let is_likely = || hosts().all(|(_, lines)| lines.len() >= FEWEST) && are_alike(&blocks);
    (hosts().count() >= 2 && (is_certain || is_likely())).then_some(blocks)
}

fn by_heads<'a>(lines: &[(u64, &'a str)]) -> Option<Vec<Block<'a>>> {
    let is_ruler = |line: &str| line.len() >= 10 && line.trim_end().bytes().all(|b| b == b'-');
    let at = |at: usize| lines.get(at).map_or("", |line| line.1);
    let ruled = |index: usize| index > 0 && is_ruler(at(index - 1)) && is_ruler(at(index + 1));
    let names = |index: usize| -> Option<&'a str> {
        let line = lines.get(index)?.1.trim_end();
        let name = match line.strip_suffix(':') {
            Some(name) => name,
            None => line.split(" (").next().filter(|_| ruled(index))?,
        };
        Some(name).filter(|name| is_name(name))
    };
    let is_ruled = (1..lines.len()).any(|index| ruled(index) && names(index).is_some());
    let mut blocks: Vec<Block> = vec![(None, Vec::new())];
    for (index, (number, line)) in lines.iter().enumerate() {
        let head = names(index).filter(|_| ruled(index) == is_ruled);
        match head {
            Some(name) => blocks.push((Some(name), Vec::new())),
            None if is_ruled && is_ruler(line) && (ruled(index + 1) || index > 0 && ruled(index - 1)) => {}
            // What is indented below a name.
            None if !is_ruled
                && !line.trim().is_empty()
                && (blocks.len() == 1 || !line.starts_with("    ")) =>
            {
                return None;
            }
            None => blocks.last_mut()?.1.push((*number, line)),
        }
    }
    let is_one = blocks.len() == 2 && is_ruled && blocks[1].0.is_some_and(is_place);
    (is_one || blocks.len() > 2 && are_alike(&blocks)).then_some(blocks)
}
