//! What is asked of the machine over its serial port, and what it answers: a line each. A piece of a file follows its line.

use std::fmt;
use std::ops::Range;

use record::{Text, text};
use serde_json::{Value, json};

use crate::{Disturbed, Pass, Unavailable};

/// Longest line that the machine reads.
pub(super) const LINE: u64 = 256;
/// Longest piece of a file, bytes: as many as a terminal's line discipline holds.
pub(super) const PIECE: usize = 4096;

/// Where in the machine the routine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// In a thread of its kernel; otherwise in its only program.
    pub kernel: bool,
    /// Bound to its first CPU; otherwise free on all of them.
    pub bound: bool,
    /// Whether interrupts reach it.
    pub interrupts: bool,
}

/// What can be asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GuestCommand {
    /// What kernel it runs.
    About,
    /// To take so many bytes more of the kernel module, which follow.
    Piece(usize),
    /// To load the module.
    Load,
    /// To count the primes of a range there.
    Pass(Place, Range<u64>),
}

impl fmt::Display for GuestCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuestCommand::About => f.write_str("about"),
            GuestCommand::Piece(bytes) => write!(f, "piece {bytes}"),
            GuestCommand::Load => f.write_str("load"),
            GuestCommand::Pass(place, range) => write!(
                f,
                "{} {} {} {} {}",
                if place.kernel { "kernel" } else { "user" },
                if place.bound { "bound" } else { "free" },
                if place.interrupts { "on" } else { "off" },
                range.start,
                range.end
            ),
        }
    }
}

impl GuestCommand {
    /// What a line asks; `None` where it is nothing that can be asked.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let one_of = |word: &str, yes: &str, no: &str| match word {
            word if word == yes => Some(true),
            word if word == no => Some(false),
            _ => None,
        };
        match words.as_slice() {
            ["about"] => Some(GuestCommand::About),
            ["load"] => Some(GuestCommand::Load),
            ["piece", bytes] => bytes.parse().ok().filter(|bytes| *bytes <= PIECE).map(GuestCommand::Piece),
            [mode, bound, interrupts, start, end] => {
                let place = Place {
                    kernel: one_of(mode, "kernel", "user")?,
                    bound: one_of(bound, "bound", "free")?,
                    interrupts: one_of(interrupts, "on", "off")?,
                };
                Some(GuestCommand::Pass(place, start.parse().ok()?..end.parse().ok()?))
            }
            _ => None,
        }
    }
}

/// An answer as a line of JSON.
pub(super) fn line(answer: &Result<Value, Unavailable>) -> String {
    let value = match answer {
        Ok(value) => value.clone(),
        Err(failure) => json!({ "failed": failure.reason, "remedy": failure.remedy }),
    };
    format!("{value}\n")
}

/// A pass, for an answer.
pub(super) fn pass(pass: &Pass) -> Value {
    json!({
        "primes": pass.primes,
        "seconds": pass.seconds,
        "clock": pass.clock,
        "clock_moved": pass.clock_moved,
        "crc": pass.crc,
        "page_offset": pass.page_offset,
        "interrupts": pass.disturbed.interrupts,
        "softirqs": pass.disturbed.softirqs,
        "involuntary": pass.disturbed.involuntary,
        "voluntary": pass.disturbed.voluntary,
        "migrations": pass.disturbed.migrations,
    })
}

fn unclear(line: &str) -> Unavailable {
    let line = format!("{:?}", line.chars().take(80).collect::<String>());
    Unavailable::new(text!("the guest answered {line}", line))
}

/// The answer of a line, or why the machine did not do it.
pub(super) fn answer(line: &str) -> Result<Value, Unavailable> {
    let value: Value = serde_json::from_str(line).map_err(|_| unclear(line))?;
    let word = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    match word("failed") {
        Some(reason) => Err(Unavailable {
            reason: text!("in the guest: {reason}", reason),
            remedy: word("remedy").map(Text::from),
        }),
        None => Ok(value),
    }
}

/// The release of the machine's kernel in its answer.
pub(super) fn release(value: &Value) -> Result<String, Unavailable> {
    let release = value.get("release").and_then(Value::as_str);
    release.map(str::to_owned).ok_or_else(|| unclear(&value.to_string()))
}

/// The pass in an answer; what disturbed the machine's thread is the machine's own count. Its CPUs are not the host's.
pub(super) fn read_pass(value: &Value) -> Result<Pass, Unavailable> {
    let whole = |key: &str| value.get(key).and_then(Value::as_u64);
    let figure = |key: &str| value.get(key).and_then(Value::as_f64);
    let read = || {
        Some(Pass {
            primes: whole("primes")?,
            seconds: figure("seconds")?,
            clock: figure("clock")?,
            clock_moved: figure("clock_moved")?,
            crc: whole("crc")?.try_into().ok()?,
            page_offset: whole("page_offset")?.try_into().ok()?,
            cpu_from: None,
            cpu_to: None,
            disturbed: Disturbed {
                interrupts: whole("interrupts"),
                softirqs: whole("softirqs"),
                involuntary: whole("involuntary"),
                voluntary: whole("voluntary"),
                migrations: whole("migrations"),
                stolen: None,
            },
        })
    };
    read().ok_or_else(|| unclear(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked() -> impl Strategy<Value = GuestCommand> {
        let place = (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(kernel, bound, interrupts)| Place { kernel, bound, interrupts });
        prop_oneof![
            Just(GuestCommand::About),
            Just(GuestCommand::Load),
            (0..=PIECE).prop_map(GuestCommand::Piece),
            (place, any::<u64>(), any::<u64>())
                .prop_map(|(place, start, end)| GuestCommand::Pass(place, start..end)),
        ]
    }

    proptest! {
        #[test]
        fn what_is_asked_is_what_is_read(asked in asked()) {
            let line = asked.to_string();
            prop_assert!(line.len() < LINE as usize);
            prop_assert_eq!(GuestCommand::read(&line), Some(asked));
        }

        #[test]
        fn no_line_panics(line in "\\PC{0,60}") {
            let _ = GuestCommand::read(&line);
            let _ = answer(&line).and_then(|value| read_pass(&value).map(|_| release(&value)));
        }
    }

    #[test]
    fn a_failure_comes_back_with_its_way_out() {
        let failure = Unavailable::new("no such CPU").with_remedy("name another");
        let reported = answer(&line(&Err(failure))).unwrap_err();
        assert_eq!(
            (reported.reason.value("reason"), reported.remedy),
            (Some(&"no such CPU".into()), Some("name another".into()))
        );
        assert!(GuestCommand::read(&format!("piece {}", PIECE + 1)).is_none());
    }
}
