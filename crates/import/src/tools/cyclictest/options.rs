//! The relevant options of cyclictest's command line: the CPU of a thread, its policy, and the unit.

use record::CpuList;
use record::command_line::CommandLine;

use crate::reading::*;

/// The relevant options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Whether the command line is known at all.
    pub known: bool,
    /// `-N`: latencies are printed in nanoseconds.
    pub nanoseconds: bool,
    /// Threads are bound to one CPU each, in order.
    pub bound: bool,
    /// The CPUs that the threads were bound to, if specified.
    pub cpus: Option<CpuList>,
    /// `-p`.
    pub priority: Option<u64>,
    /// `--policy`.
    pub policy: Option<String>,
    /// `-H`: the histogram has a column for the sum of all threads.
    pub summed: bool,
}

/// Short options with a value, in all versions; for `-a` the value is optional.
const VALUED: &str = "abcdDFhHilopTytwPABC";

/// The short forms of long options; `Y` represents an option for which cyclictest has no short form.
const LONG: &str = "smp=S|affinity=a|nsecs=N|histofall=H|priority=p|prio=p|policy=Y";

impl Options {
    /// Reads a command line; other programs' command lines are ignored.
    pub(super) fn read(text: &str) -> Self {
        let line = CommandLine::read(text);
        let mut options = Self { known: line.program() == "cyclictest", ..Self::default() };
        let mut words = line.words.iter().skip(1).filter(|_| line.program() == "cyclictest").peekable();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').unwrap_or((long, ""));
                let letters = scan::renamed(LONG, name).unwrap_or_default().chars();
                letters.for_each(|letter| options.set(letter, value));
                continue;
            }
            let Some(cluster) = word.strip_prefix('-') else { continue };
            for (at, letter) in cluster.char_indices() {
                let rest = &cluster[at + letter.len_utf8()..];
                if !VALUED.contains(letter) {
                    options.set(letter, "");
                    continue;
                }
                let is_value = |next: &&String| match letter {
                    'a' => next.starts_with(|c: char| c.is_ascii_digit()),
                    _ => !next.starts_with('-'),
                };
                let next = if rest.is_empty() { words.next_if(is_value) } else { None };
                options.set(letter, next.map_or(rest, String::as_str));
                break;
            }
        }
        options
    }

    fn set(&mut self, letter: char, value: &str) {
        match letter {
            'S' => self.bound = true,
            'N' => self.nanoseconds = true,
            'H' => self.summed = true,
            'p' => self.priority = parse_whole(value),
            'Y' => self.policy = Some(value.to_owned()),
            'a' => (self.bound, self.cpus) = (true, value.parse().ok()),
            _ => {}
        }
    }

    /// The CPU of a thread.
    pub(super) fn cpu(&self, thread: u32) -> Option<u32> {
        match &self.cpus {
            _ if !self.bound => None,
            Some(cpus) if !cpus.is_empty() => cpus.iter().nth(thread as usize % cpus.len()),
            _ => Some(thread),
        }
    }

    /// The policy, if determined by the options: a priority without a policy means FIFO.
    pub(super) fn policy(&self) -> Option<&str> {
        match (&self.policy, self.priority) {
            (Some(policy), _) => Some(policy.trim_start_matches("SCHED_")),
            (None, Some(1..)) => Some("fifo"),
            _ => self.known.then_some("other"),
        }
    }
}
