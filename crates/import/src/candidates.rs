//! Which tools a line could begin the output of, told at a glance.

use memchr::memmem::Finder;

use crate::blanks::trimmed;
use crate::tools::Tool;

/// Tools by what [`Tool::opening`] says of them, each a bit at its place in the list.
pub struct Candidates {
    /// Those whose output may begin with this byte.
    by_first: [u32; 256],
    /// Those whose opening line may begin with any byte where it has these words.
    by_word: Vec<(Finder<'static>, u32)>,
}

impl Candidates {
    /// Of these tools, at most 32.
    pub fn new(tools: &[&'static dyn Tool]) -> Self {
        debug_assert!(tools.len() <= 32, "each tool has its bit");
        let mut by_first = [0; 256];
        let mut by_word: Vec<(Finder, u32)> = Vec::new();
        for (at, tool) in tools.iter().enumerate() {
            let (bit, opening) = (1 << at, tool.opening());
            for (tools, byte) in by_first.iter_mut().zip(0..=255) {
                *tools |= if (opening.first)(byte) { bit } else { 0 };
            }
            for word in opening.within {
                match by_word.iter_mut().find(|(finder, _)| finder.needle() == word.as_bytes()) {
                    Some((_, tools)) => *tools |= bit,
                    None => by_word.push((Finder::new(word), bit)),
                }
            }
        }
        Self { by_first, by_word }
    }

    /// The places of the tools that are to be asked about a line, in their order.
    pub fn of(&self, line: &str) -> Asked {
        let line = trimmed(line).as_bytes();
        let Some(first) = line.first() else { return Asked::default() };
        let mut asked = self.by_first[usize::from(*first)];
        for (finder, tools) in &self.by_word {
            if tools & !asked != 0 && finder.find(line).is_some() {
                asked |= tools;
            }
        }
        Asked(asked)
    }
}

/// Places of tools in their list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked(u32);

impl Iterator for Asked {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = self.0.trailing_zeros();
        // The lowest bit goes.
        self.0 &= self.0.checked_sub(1)?;
        Some(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use proptest::prelude::*;
    use record::Shared;

    use super::*;
    use crate::damaged::texts;
    use crate::tools::{Command, Line, TOOLS};

    /// Command lines under which tools take more for theirs.
    const COMMANDS: &[&str] = &[
        "perf stat -x, ls",
        "openssl speed -multi 4",
        "cyclictest -v",
        "dmidecode -t memory | grep Speed",
        "lscpu",
        "./stream",
    ];

    /// The tools that say of the line that it begins their output, and were not to be asked.
    fn missed(line: &str) -> Vec<&'static str> {
        static CANDIDATES: OnceLock<Candidates> = OnceLock::new();
        let asked: Vec<usize> = CANDIDATES.get_or_init(|| Candidates::new(TOOLS)).of(line).collect();
        let commands: Vec<Command> =
            COMMANDS.iter().map(|text| Command { text: Shared::known(text), line: 1 }).collect();
        let opens = |tool: &&dyn Tool| {
            let line = Line { number: 2, text: line };
            tool.opens(line, None) || commands.iter().any(|command| tool.opens(line, Some(command)))
        };
        let others = TOOLS.iter().enumerate().filter(|(at, _)| !asked.contains(at));
        others.filter(|(_, tool)| opens(tool)).map(|(_, tool)| tool.name()).collect()
    }

    #[test]
    fn a_tool_is_asked_about_every_line_of_the_captured_outputs_that_opens_it() {
        for text in texts() {
            for line in String::from_utf8_lossy(text).lines() {
                assert_eq!(missed(line), Vec::<&str>::new(), "{line}");
                for cell in line.split('|') {
                    assert_eq!(missed(cell), Vec::<&str>::new(), "{cell}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_tool_is_asked_about_every_damaged_line_that_opens_it(
            text: usize,
            line: usize,
            cut in 0usize..80,
            put in "\\PC{0,4}|[ \t]{1,3}|[-+\"#*<{:：︰0-9A-Za-z]{1,3}",
        ) {
            let text = String::from_utf8_lossy(&texts()[text % texts().len()]).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let line = lines[line % lines.len()];
            let rest: String = line.chars().skip(cut).collect();
            let front: String = line.chars().take(cut).collect();
            for line in [format!("{put}{rest}"), format!("{front}{put}{rest}"), format!("{front}{put}"), put] {
                prop_assert_eq!(missed(&line), Vec::<&str>::new(), "{}", line);
            }
        }
    }
}
