//! A line of `perf stat` as people read it, in the layouts of all versions since 2.6.32:
//!
//! ```text
//! [  INTERVAL ][CPU0|S0  2|comm-123]   VALUE [UNIT] EVENT [(msec)]  [#  METRIC]  [( +-  0.51% )]  [(25.02%)]
//! ```

use std::borrow::Cow;

use crate::numbers;

/// What a counter's line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counter<'a> {
    /// Seconds since the start, with `-I`.
    pub interval: Option<f64>,
    /// Whose count it is, where it is not everything's.
    pub part: Part,
    /// The count as printed (a time in its unit); `None` for `<not counted>` and `<not supported>`.
    pub value: Option<f64>,
    /// `msec`, `Joules`, `MiB`; empty for counts.
    pub unit: Cow<'a, str>,
    /// The event as printed.
    pub event: Cow<'a, str>,
    /// What stands behind `#`.
    pub comment: Cow<'a, str>,
    /// Standard error of the mean of several runs, as a share.
    pub spread: Option<f64>,
    /// The share of time that it was counted for, as printed: `25.02`.
    pub percent: Option<Cow<'a, str>>,
}

/// Whose count a line is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    /// The command's, or the whole machine's.
    #[default]
    All,
    /// One CPU's (`-A`).
    Cpu(u32),
    /// One socket's, die's, core's or node's: `S0-D0-C1`.
    Group(String),
    /// One thread's (`--per-thread`): `comm-123`.
    Thread(String),
}

/// Units that stand between a value and its event.
const UNITS: &[&str] = &["msec", "ns", "us", "sec", "Joules", "MiB", "KiB", "GiB", "Bytes", "B", "C", "%"];

/// Reads a counter's line; `None` for any other.
pub(super) fn counter(text: &str) -> Option<Counter<'_>> {
    let mut counter = Counter::default();
    // The tail stands behind the metric, or where there is none behind the event.
    let (left, right) = match text.split_once('#') {
        Some((left, right)) => (left, tail(right, &mut counter)),
        None => (tail(text, &mut counter), ""),
    };
    counter.comment = right.trim().into();
    let mut rest = left.trim_start();
    if let Some((seconds, after)) = interval(rest) {
        counter.interval = Some(seconds);
        rest = after.trim_start();
    }
    if let Some((part, after)) = part(rest) {
        counter.part = part;
        rest = after.trim_start();
    }
    let (value, rest) = match rest.strip_prefix("<not ") {
        Some(after) => {
            let (_, after) = after.split_once('>')?;
            (None, after)
        }
        None => {
            let (number, after) = numbers::split_leading(rest)?;
            (Some(number), after)
        }
    };
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let mut words = rest.split_whitespace();
    let first = words.next()?;
    let (unit, event) = match UNITS.contains(&first) {
        true => (first, words.next()?),
        false => (
            words.clone().next().and_then(|word| word.strip_prefix('(')?.strip_suffix(')')).unwrap_or(""),
            first,
        ),
    };
    if !is_event(event) || words.count() > 1 {
        return None;
    }
    counter.value = match value {
        None => None,
        Some(number) => {
            let count = numbers::parse_whole(number).map(|count| count as f64);
            Some(if unit.is_empty() {
                // A fraction of an event is a time whose unit is lost; `msectask-clock` lost the blank between them.
                let clock = event.starts_with("task-clock") || event.starts_with("cpu-clock");
                count.or_else(|| numbers::parse_decimal(number).filter(|_| clock))?
            } else {
                numbers::parse_decimal(number)?
            })
        }
    };
    counter.unit = unit.into();
    counter.event = event.into();
    Some(counter)
}

/// The line below a counter's, that holds only a further metric and the counter's tail.
pub(super) fn continuation(text: &str) -> Option<Counter<'_>> {
    let rest = text.trim_start().strip_prefix('#')?;
    let mut counter = Counter::default();
    let comment = tail(rest, &mut counter);
    counter.comment = comment.trim().into();
    numbers::split_leading(&counter.comment)?;
    Some(counter)
}

/// Takes `( +-  0.51% )  (25.02%)` off the end.
fn tail<'a>(text: &'a str, counter: &mut Counter<'a>) -> &'a str {
    let mut rest = text.trim_ascii_end().trim_end();
    let open = |rest: &str| rest.rfind(['(', '[']);
    for _ in 0..2 {
        let Some(at) = rest.ends_with([')', ']']).then(|| open(rest)).flatten() else { break };
        let inner = rest[at + 1..rest.len() - 1].trim();
        let Some(figure) = inner.strip_suffix('%') else { break };
        if let Some(spread) = figure.strip_prefix("+-") {
            let Some(spread) = numbers::parse_decimal(spread) else { break };
            counter.spread = Some(spread / 100.0);
        } else {
            let figure = figure.strip_prefix("scaled from").unwrap_or(figure).trim();
            if numbers::parse_decimal(figure).is_none() {
                break;
            }
            counter.percent = Some(figure.into());
        }
        rest = rest[..at].trim_end();
    }
    rest
}

/// Seconds of `-I`: nine digits behind the point, and a further column.
fn interval(text: &str) -> Option<(f64, &str)> {
    let (number, after) = text.split_once(char::is_whitespace)?;
    let (_, fraction) = number.split_once(['.', ','])?;
    let further =
        after.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '<' || c.is_ascii_alphabetic());
    let nine = fraction.len() == 9 && fraction.bytes().all(|b| b.is_ascii_digit());
    // `0.123456789 seconds time elapsed` has the same form.
    let elapsed = after.trim_start().starts_with("seconds");
    (nine && further && !elapsed).then(|| Some((numbers::parse_decimal(number)?, after))).flatten()
}

/// `CPU0`, `S0-D0 2`, `comm-123`, before the value.
fn part(text: &str) -> Option<(Part, &str)> {
    let (word, after) = text.split_once(char::is_whitespace)?;
    let next = after.trim_start();
    let figure = next.starts_with(|c: char| c.is_ascii_digit() || c == '<');
    if !figure || !word.starts_with(|c: char| c.is_alphabetic()) {
        return None;
    }
    if let Some(cpu) = word.strip_prefix("CPU").and_then(|cpu| cpu.parse().ok()) {
        // Behind it may stand how many CPUs it has, as behind a group.
        let count = next.split_once("  ").filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
        let behind = count
            .map(|(_, behind)| behind)
            .filter(|behind| behind.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '<'));
        return Some((Part::Cpu(cpu), behind.unwrap_or(after)));
    }
    let piece = |piece: &str| {
        let digits = piece.trim_start_matches(|c: char| c.is_ascii_uppercase());
        digits.len() < piece.len() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    if word.split('-').all(piece) {
        // Behind it stands how many CPUs it has.
        let (number, after) = next.split_once(char::is_whitespace)?;
        return number.bytes().all(|b| b.is_ascii_digit()).then(|| (Part::Group(word.to_owned()), after));
    }
    let (_, tid) = word.rsplit_once('-')?;
    tid.bytes().all(|b| b.is_ascii_digit()).then(|| (Part::Thread(word.to_owned()), after))
}

/// Whether a word is a unit of what stands behind `#`, which a margin may have broken off: `0.107 CPUs utilized`.
fn is_metric_unit(word: &str) -> bool {
    matches!(word, "CPUs" | "GHz" | "MHz" | "insn" | "IPC" | "of" | "stalled")
        || word.ends_with("/sec")
        || word.starts_with("seconds")
}

/// Whether a word may be an event's name: `cycles`, `cpu_core/cycles/u`, `r01c2`, `L1-dcache-loads:u`. What stands in square
/// brackets is no part of it: perf 6.12 prints who counts behind it, `cpu-migrations [software]`.
pub(super) fn is_event(word: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-:/.,=@+!{}~#*".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '{')
        && word.chars().all(allowed)
        && !word.ends_with('.')
        && !is_metric_unit(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (Option<f64>, String, String, Option<String>) {
        let counter = counter(text).unwrap_or_else(|| panic!("{text} is not read"));
        let percent = counter.percent.map(Cow::into_owned);
        (counter.value, counter.unit.into_owned(), counter.event.into_owned(), percent)
    }

    #[test]
    fn every_layout_says_the_same() {
        let of = |value: f64, unit: &str, event: &str, percent: Option<&str>| {
            (Some(value), unit.to_owned(), event.to_owned(), percent.map(str::to_owned))
        };
        for (text, wanted) in [
            (
                "     1,200,086,175      branch-misses             #    4.78% of all branches          (14.29%)",
                of(1_200_086_175.0, "", "branch-misses", Some("14.29")),
            ),
            (
                "        2552812813      branch-misses            (38.08%)",
                of(2_552_812_813.0, "", "branch-misses", Some("38.08")),
            ),
            (
                "    11984.691958  task-clock (msec) #    1.000 CPUs utilized",
                of(11984.691958, "msec", "task-clock", None),
            ),
            (
                "          1,000.23 msec task-clock                #    1.000 CPUs utilized            ( +-  2.18% )",
                of(1000.23, "msec", "task-clock", None),
            ),
            ("          1.000,23 msec task-clock:u", of(1000.23, "msec", "task-clock:u", None)),
            (
                "   25\u{202f}130\u{202f}886\u{202f}211      cycles   (83,31%)",
                of(25_130_886_211.0, "", "cycles", Some("83,31")),
            ),
            (
                "   436,989,474  instructions  #  0.03 insn per cycle  [83.31%]",
                of(436_989_474.0, "", "instructions", Some("83.31")),
            ),
            (
                "   436989474  instructions  #  0.03 IPC  (scaled from 66.67%)",
                of(436_989_474.0, "", "instructions", Some("66.67")),
            ),
            ("    0   context-switches", of(0.0, "", "context-switches", None)),
            ("              2.50 Joules power/energy-pkg/", of(2.5, "Joules", "power/energy-pkg/", None)),
            ("     1.000123456        1,234,567      cycles", of(1_234_567.0, "", "cycles", None)),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
        let missing = counter("   <not supported>      cycles   ").expect("is read");
        assert_eq!((missing.value, &*missing.event), (None, "cycles"));
        let several = counter("  12,345 cycles # 2.7 GHz ( +-  0.51% )  (62.50%)").expect("is read");
        assert_eq!((several.spread, several.percent.as_deref()), (Some(0.0051), Some("62.50")));
        assert_eq!(several.comment, "2.7 GHz");
    }

    #[test]
    fn parts_of_the_machine_are_reported_apart() {
        let part = |text: &str| counter(text).map(|counter| (counter.part, counter.value));
        assert_eq!(part("CPU1                   101.47 msec cpu-clock"), Some((Part::Cpu(1), Some(101.47))));
        let socket = Part::Group("S0-D0".to_owned());
        assert_eq!(part("S0-D0        2                 74      cs"), Some((socket, Some(74.0))));
        let thread = Part::Thread("mysqld-61238".to_owned());
        assert_eq!(part("   mysqld-61238    123,456   cycles"), Some((thread, Some(123_456.0))));
        let interval =
            counter("     0.251600346 CPU0       0.06 msec task-clock").map(|c| (c.interval, c.part));
        assert_eq!(interval, Some((Some(0.251600346), Part::Cpu(0))));
    }

    #[test]
    fn prose_and_times_are_no_counters() {
        for text in [
            "",
            "      18.603323495 seconds time elapsed",
            "real 2,57",
            "耗时18.60秒,ipc 2.19",
            "# 12 cycles",
            "12",
            "3 of the machines were slow",
            "Architecture:          x86_64",
            "CPU1                    5      cpu-migrations[software]        #   13.719 /sec",
            "              0.54 msectask-clock                       #    0.107 CPUs utilized",
        ] {
            assert_eq!(counter(text).filter(|c| c.event != "seconds"), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,100}", tail in "[0-9 #()%+.,\\[\\]-]{0,30}") {
            let _ = (counter(&text), continuation(&text));
            let _ = counter(&format!("  12 cycles {tail}"));
            let _ = continuation(&format!("  # {tail}"));
        }
    }
}
