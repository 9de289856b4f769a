//! What to do about a finding: words, a command to paste, or both.

use std::fmt;

use crate::text::Text;

/// Something to do, or to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What to do, or when the command is the one to take.
    pub text: Option<Text>,
    /// A command to paste.
    pub command: Option<String>,
}

impl Remedy {
    /// A command that needs no words.
    pub fn command(command: impl Into<String>) -> Self {
        Self { text: None, command: Some(command.into()) }
    }

    /// Words alone.
    pub fn advice(text: impl Into<Text>) -> Self {
        Self { text: Some(text.into()), command: None }
    }

    /// What a command is for, and the command.
    pub fn both(text: impl Into<Text>, command: impl Into<String>) -> Self {
        Self { text: Some(text.into()), command: Some(command.into()) }
    }

    /// As a record has them: the words of each, and which part of them is a command.
    pub(crate) fn read_all(words: Vec<String>, commands: Vec<Option<String>>) -> Vec<Self> {
        if commands.len() != words.len() {
            return words.iter().map(|words| Self::of_words(words)).collect();
        }
        let read = |(words, command): (String, Option<String>)| {
            let before = command.as_ref().and_then(|command| words.strip_suffix(command.as_str()));
            match before.map(|before| before.strip_suffix(": ")) {
                Some(None) => Self { text: None, command },
                Some(Some(before)) => Self { text: Some(before.into()), command },
                None => Self::advice(words),
            }
        };
        words.into_iter().zip(commands).map(read).collect()
    }

    /// Of words alone, as in records of 0.1: a command is what begins with a program that remedies name.
    pub fn of_words(words: &str) -> Self {
        if is_command(words) {
            return Self::command(words);
        }
        match words.split_once(": ") {
            Some((text, command)) if is_command(command) => Self::both(text, command),
            _ => Self::advice(words),
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.text, &self.command) {
            (Some(text), Some(command)) => write!(f, "{text}: {command}"),
            (Some(text), None) => text.fmt(f),
            (None, command) => f.write_str(command.as_deref().unwrap_or_default()),
        }
    }
}

/// Programs and words of the shell that a command in a record of 0.1 begins with.
const PROGRAMS: &[&str] = &[
    "cat",
    "chrt",
    "cpupower",
    "docker",
    "echo",
    "export",
    "for",
    "grep",
    "linespeed",
    "mount",
    "nice",
    "numactl",
    "numastat",
    "perf",
    "ps",
    "sudo",
    "sysctl",
    "systemctl",
    "taskset",
    "top",
    "ulimit",
];

fn is_command(words: &str) -> bool {
    let begins = |step: &str| {
        let first = step.trim_start().split(' ').next().unwrap_or_default();
        PROGRAMS.contains(&first) || first.starts_with('/')
    };
    // Prose goes on after a comma, or names another thing to do behind a semicolon or a colon.
    let mut steps = words.split("; ");
    steps.next().is_some_and(begins)
        && steps.all(|step| begins(step) || ["do ", "done"].iter().any(|word| step.starts_with(word)))
        && !words.contains(", ")
        && !words.contains(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let all = vec![
            Remedy::command("sudo sysctl a=1"),
            Remedy::advice("fit equal devices: on every channel"),
            Remedy::both("for every program", "echo always | sudo tee /sys/x"),
        ];
        let words = all.iter().map(Remedy::to_string).collect();
        let commands = all.iter().map(|one| one.command.clone()).collect();
        assert_eq!(Remedy::read_all(words, commands), all);
    }

    #[test]
    fn in_words_alone_only_commands_are_offered_for_pasting() {
        let paste = "echo always | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
        assert_eq!(Remedy::read_all(vec![paste.to_owned()], Vec::new()), [Remedy::command(paste)]);
        assert_eq!(Remedy::of_words("at boot: sudo x --args=x"), Remedy::both("at boot", "sudo x --args=x"));
        for advice in
            ["size working sets by what is measured", "who: ps -e | head; which: cat /proc/interrupts"]
        {
            assert_eq!(Remedy::of_words(advice), Remedy::advice(advice));
        }
    }
}
