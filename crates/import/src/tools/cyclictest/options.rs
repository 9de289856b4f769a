//! What cyclictest's command line decides: which CPU a thread was bound to, its policy, and the unit.

use record::CpuList;

use crate::numbers;
use record::command_line::CommandLine;

/// The options that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Whether the command line is known at all.
    pub known: bool,
    /// `-N`: latencies are printed in nanoseconds.
    pub nanoseconds: bool,
    /// Threads are bound, one a CPU in order.
    pub bound: bool,
    /// The CPUs that they were bound to, where they were named.
    pub cpus: Option<CpuList>,
    /// `-p`.
    pub priority: Option<u64>,
    /// `--policy`.
    pub policy: Option<String>,
    /// `-H`: the histogram has a column for all threads together.
    pub summed: bool,
}

/// Short options that take a value, in all versions.
const VALUED: &str = "bcdDFhHilopTytwPABC";

impl Options {
    /// Reads a command line; of another program's nothing is known.
    pub(super) fn read(text: &str) -> Self {
        let line = CommandLine::read(text);
        let mut options = Self { known: line.program() == "cyclictest", ..Self::default() };
        if !options.known {
            return options;
        }
        let mut words = line.words.iter().skip(1).peekable();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                match name {
                    "smp" => options.bound = true,
                    "affinity" => options.bind(value),
                    "nsecs" => options.nanoseconds = true,
                    "histofall" => options.summed = true,
                    "priority" | "prio" => options.priority = value.and_then(numbers::parse_whole),
                    "policy" => options.policy = value.map(str::to_owned),
                    _ => {}
                }
                continue;
            }
            let Some(cluster) = word.strip_prefix('-') else { continue };
            for (at, letter) in cluster.char_indices() {
                let rest = &cluster[at + letter.len_utf8()..];
                match letter {
                    'S' => options.bound = true,
                    'N' => options.nanoseconds = true,
                    'a' => {
                        let next = words.next_if(|next| {
                            rest.is_empty() && next.starts_with(|c: char| c.is_ascii_digit())
                        });
                        options.bind(Some(rest).filter(|rest| !rest.is_empty()).or(next.map(String::as_str)));
                        break;
                    }
                    'p' | 'H' => {
                        let next = words.next_if(|next| rest.is_empty() && !next.starts_with('-'));
                        let value = if rest.is_empty() { next.map_or("", String::as_str) } else { rest };
                        match letter {
                            'p' => options.priority = numbers::parse_whole(value),
                            _ => options.summed = true,
                        }
                        break;
                    }
                    letter if VALUED.contains(letter) => {
                        if rest.is_empty() {
                            words.next_if(|next| !next.starts_with('-'));
                        }
                        break;
                    }
                    _ => {}
                }
            }
        }
        options
    }

    fn bind(&mut self, list: Option<&str>) {
        self.bound = true;
        self.cpus = list.and_then(|list| list.parse().ok());
    }

    /// The CPU of a thread.
    pub(super) fn cpu(&self, thread: u32) -> Option<u32> {
        if !self.bound {
            return None;
        }
        match &self.cpus {
            Some(cpus) if !cpus.is_empty() => cpus.iter().nth(thread as usize % cpus.len()),
            _ => Some(thread),
        }
    }

    /// The policy as far as the options tell it: a priority alone means FIFO.
    pub(super) fn policy(&self) -> Option<&str> {
        match (&self.policy, self.priority) {
            (Some(policy), _) => Some(policy.trim_start_matches("SCHED_")),
            (None, Some(1..)) => Some("fifo"),
            _ => self.known.then_some("other"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clusters_of_options_are_read_as_getopt_does() {
        let options = Options::read("sudo cyclictest -Smp98 -i200 -h400 -q -D1h");
        assert!(options.bound && !options.summed && !options.nanoseconds);
        assert_eq!((options.priority, options.policy(), options.cpu(3)), (Some(98), Some("fifo"), Some(3)));
        let options = Options::read("cyclictest -t2 -a 4-5 -N --policy=rr");
        assert_eq!((options.cpu(0), options.cpu(1), options.cpu(2)), (Some(4), Some(5), Some(4)));
        assert_eq!((options.policy(), options.nanoseconds), (Some("rr"), true));
        let options = Options::read("cyclictest -D 300s q");
        assert_eq!((options.cpu(0), options.policy()), (None, Some("other")));
        let options = Options::read("cyclictest -a -t -H 60 -p 80");
        assert!(options.summed && options.bound && options.cpus.is_none());
        assert_eq!(Options::read("").policy(), None);
    }

    proptest! {
        #[test]
        fn no_option_panics(text in "[-a-zA-Z0-9 =,µ]{0,60}") {
            let options = Options::read(&format!("cyclictest {text}"));
            let _ = (options.cpu(7), options.policy());
        }
    }
}
