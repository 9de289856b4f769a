//! The machine's shape drawn with lines, followed by the mapping of CPU numbers.

use record::phrase::count_noun;
use record::{CpuList, Machine};

use super::screen::Screen;
use crate::contents::placement;
use crate::contents::shape::{self, Part};
use crate::contents::summary::counts;
use crate::paint::{Span, Tone};

/// On machines with more CPUs than this, similar caches, clusters or cores share one row.
const WIDE: usize = 64;
/// Maximum number of listed members of a row.
const MEMBERS: usize = 32;

/// A drawing of the machine's shape, followed by the mapping of CPU numbers to packages, cores, siblings and nodes.
pub fn tree(screen: &mut Screen, machine: &Machine) {
    let root = shape::tree(machine);
    if root.cpus.is_empty() {
        screen.line(&[Span::plain("The record lists no CPUs of this machine.")]);
    } else {
        let cpus = || count_noun(root.cpus.len(), "CPU");
        screen.paragraph(&[], Tone::Strong, counts(machine).unwrap_or_else(cpus));
        let wide = root.cpus.len() > WIDE;
        branches(screen, &root, "", wide, shape::without_cpus(machine).collect());
    }
    let offline: CpuList = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    if !offline.is_empty() {
        screen.blank();
        screen.paragraph(&[Span::plain("Offline: ")], Tone::Plain, format!("CPUs {offline}"));
    }
    let packages = placement::packages(machine);
    if !packages.is_empty() {
        screen.heading("CPU numbers");
        for fact in packages {
            screen.paragraph(&[Span::plain(format!("{}: ", fact.key))], Tone::Plain, &fact.value);
        }
    }
}

/// The contents of a part, with a branch for each item. `more` contains further branches that consist only of text.
fn branches(screen: &mut Screen, part: &Part, before: &str, wide: bool, more: Vec<String>) {
    let runs = part.runs();
    let mut rows: Vec<(String, Option<&Part>)> = Vec::new();
    for run in &runs {
        if run.joined(wide) {
            let inside = run.inside().map(|inside| format!(", each {inside}")).unwrap_or_default();
            let count = if run.parts.len() > 1 { format!("{} × ", run.parts.len()) } else { String::new() };
            let is_one = run.parts.len() == 1 && run.parts[0].cpus.len() == 1;
            let word = if is_one { "CPU" } else { "CPUs" };
            let members = run.members(MEMBERS).join(" | ");
            rows.push((format!("{count}{}{inside}: {word} {members}", run.what()), None));
        } else {
            rows.extend(run.parts.iter().map(|part| (part.name(), Some(part))));
        }
    }
    rows.extend(more.into_iter().map(|words| (words, None)));
    let last = rows.len().saturating_sub(1);
    for (number, (text, part)) in rows.into_iter().enumerate() {
        let (branch, below) = if number == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        screen.hanging(&format!("{before}{branch}"), &format!("{before}{below}  "), &text);
        if let Some(part) = part {
            branches(screen, part, &format!("{before}{below}"), wide, Vec::new());
        }
    }
}
