//! A human-readable line of `perf stat`, in the layouts of all versions since 2.6.32:
//!
//! ```text
//! [  INTERVAL ][CPU0|S0  2|comm-123]   VALUE [UNIT] EVENT [(msec)]  [#  METRIC]  [( +-  0.51% )]  [(25.02%)]
//! ```

use crate::reading::*;

/// The content of a counter's line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counter {
    /// Seconds since the start, with `-I`.
    pub interval: Option<f64>,
    /// The counted part of the machine, if not all of it was counted.
    pub part: Part,
    /// The count as printed (a time in its unit); `None` for `<not counted>` and `<not supported>`.
    pub value: Option<f64>,
    /// `msec`, `Joules`, `MiB`; empty for counts.
    pub unit: String,
    /// The event as printed.
    pub event: String,
    /// The text after `#`.
    pub comment: String,
    /// Standard error of the mean of several runs, as a share.
    pub spread: Option<f64>,
    /// The counting share, percent.
    pub percent: Option<f64>,
}

/// The counted part.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    /// The command or the whole machine.
    #[default]
    All,
    /// One CPU (`-A`).
    Cpu(u32),
    /// One socket, die, core or node: `S0-D0-C1`.
    Group(String),
    /// One thread (`--per-thread`): `comm-123`.
    Thread(String),
}

/// A unit of counts: its factor, and the unit in records. The task clock is counted in nanoseconds.
pub(super) fn scale(unit: &str) -> Option<(f64, &'static str)> {
    let known = [("perf count", ""), ("perf ns", "ns"), ("perf B", "B"), ("perf J", "J")];
    known.into_iter().find_map(|(of, into)| Some((record::units::scale_of(unit, of)?.1, into)))
}

/// Reads the line of a counter; `None` for any other line.
pub(super) fn counter(text: &str) -> Option<Counter> {
    let mut counter = Counter::default();
    // The tail follows the metric or, if there is no metric, the event.
    let (left, right) = match text.split_once('#') {
        Some((left, right)) => (left, tail(right, &mut counter)),
        None => (tail(text, &mut counter), ""),
    };
    counter.comment = right.trim().to_owned();
    let mut rest = left.trim_start();
    if let Some((seconds, after)) = interval(rest) {
        (counter.interval, rest) = (Some(seconds), after.trim_start());
    }
    if let Some((part, after)) = part(rest) {
        (counter.part, rest) = (part, after.trim_start());
    }
    let (value, rest) = match rest.strip_prefix("<not ") {
        Some(after) => (None, after.split_once('>')?.1),
        None => numbers::split_leading(rest).map(|(number, after)| (Some(number), after))?,
    };
    let mut words = rest.strip_prefix(char::is_whitespace)?.split_whitespace();
    let first = words.next()?;
    let (unit, event) = match scale(first) {
        Some(_) => (first, words.next()?),
        // Up to Linux 4.17, the unit followed the event: `task-clock (msec)`.
        None => (words.clone().next().map_or("", |word| word.trim_matches(['(', ')'])), first),
    };
    let unit = scale(unit).map_or("", |_| unit);
    (is_event(event) && words.count() <= 1 && first != "C").then_some(())?;
    // A fraction is accepted only with a unit or for a clock event, because counts have none. `msectask-clock` (space missing) is rejected.
    let timed = !unit.is_empty() || scan::begins(event, "task-clock|cpu-clock");
    let whole = |number| numbers::parse_whole(number).map(|count| count as f64).filter(|_| unit.is_empty());
    let read = |number| whole(number).or_else(|| numbers::parse_decimal(number).filter(|_| timed));
    counter.value = match value {
        Some(number) => Some(read(number)?),
        None => None,
    };
    (counter.unit, counter.event) = (unit.to_owned(), event.to_owned());
    Some(counter)
}

/// A line that follows a counter's line and contains only a further metric and the percentages.
pub(super) fn continuation(text: &str) -> Option<Counter> {
    let mut counter = Counter::default();
    let comment = tail(text.trim_start().strip_prefix('#')?, &mut counter);
    counter.comment = comment.trim().to_owned();
    numbers::split_leading(&counter.comment)?;
    Some(counter)
}

/// Removes `( +-  0.51% )  (25.02%)` from the end.
fn tail<'a>(text: &'a str, counter: &mut Counter) -> &'a str {
    let mut rest = text.trim_end();
    while let Some((front, inner)) = rest.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        let Some(figure) = inner.trim().strip_suffix('%') else { break };
        let (spread, figure) = figure.strip_prefix("+-").map_or((false, figure), |figure| (true, figure));
        let Some(percent) = numbers::parse_decimal(figure) else { break };
        match spread {
            true if counter.spread.is_none() => counter.spread = Some(percent / 100.0),
            false if counter.percent.is_none() => counter.percent = Some(percent),
            _ => break,
        }
        rest = front.trim_end();
    }
    rest
}

/// Whether a text begins with a count.
fn counts(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '<')
}

/// The seconds that `-I` prints: nine decimals, followed by another column.
fn interval(text: &str) -> Option<(f64, &str)> {
    let (number, after) = text.split_once(char::is_whitespace)?;
    let (_, fraction) = number.split_once(['.', ','])?;
    let next = after.trim_start();
    // `0.123456789 seconds time elapsed` has the same form.
    let further = counts(after) || next.starts_with(|c: char| c.is_ascii_alphabetic());
    let fits = further && !next.starts_with("seconds") && fraction.len() == 9;
    Some((numbers::parse_decimal(number).filter(|_| fits)?, after))
}

/// The counted part before the value: `CPU0`, `S0-D0 2`, `comm-123`.
fn part(text: &str) -> Option<(Part, &str)> {
    let (word, after) = text.split_once(char::is_whitespace)?;
    (counts(after) && word.starts_with(|c: char| c.is_alphabetic())).then_some(())?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // The number of CPUs in a group.
    let size =
        after.trim_start().split_once("  ").filter(|(number, behind)| is_number(number) && counts(behind));
    if let Some(cpu) = word.strip_prefix("CPU").and_then(|cpu| cpu.parse().ok()) {
        return Some((Part::Cpu(cpu), size.map_or(after, |(_, behind)| behind)));
    }
    let piece = |piece: &str| {
        let digits = piece.trim_start_matches(|c: char| c.is_ascii_uppercase());
        digits.len() < piece.len() && is_number(digits)
    };
    if word.split('-').all(piece) {
        return Some((Part::Group(word.to_owned()), size?.1));
    }
    let (_, tid) = word.rsplit_once('-')?;
    is_number(tid).then(|| (Part::Thread(word.to_owned()), after))
}

/// Whether a word may be the name of an event: `cycles`, `cpu_core/cycles/u`, `r01c2`, `L1-dcache-loads:u`. Text in square brackets is not part
/// of the name: perf 6.12 appends the PMU, `cpu-migrations [software]`. A unit is not an event name
/// either; it may have been wrapped to the next line: `0.107 CPUs utilized`.
pub(super) fn is_event(word: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-:/.,=@+!{}~#*".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '{')
        && word.chars().all(allowed)
        && !word.ends_with('.')
        && !word.ends_with("/sec")
        && !word.starts_with("seconds")
        && !scan::is_one_of(word, "CPUs|GHz|MHz|insn|IPC|of|stalled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (Option<f64>, String, String, Option<f64>) {
        let counter = counter(text).unwrap_or_else(|| panic!("{text} is not read"));
        (counter.value, counter.unit, counter.event, counter.percent)
    }

    #[test]
    fn every_layout_says_the_same() {
        let of = |value: f64, unit: &str, event: &str, percent: Option<f64>| {
            (Some(value), unit.to_owned(), event.to_owned(), percent)
        };
        for (text, wanted) in [
            (
                "     1,200,086,175      branch-misses             #    4.78% of all branches          (14.29%)",
                of(1_200_086_175.0, "", "branch-misses", Some(14.29)),
            ),
            (
                "        2552812813      branch-misses            (38.08%)",
                of(2_552_812_813.0, "", "branch-misses", Some(38.08)),
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
                of(25_130_886_211.0, "", "cycles", Some(83.31)),
            ),
            ("    0   context-switches", of(0.0, "", "context-switches", None)),
            ("              2.50 Joules power/energy-pkg/", of(2.5, "Joules", "power/energy-pkg/", None)),
            ("     1.000123456        1,234,567      cycles", of(1_234_567.0, "", "cycles", None)),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
        let missing = counter("   <not supported>      cycles   ").expect("is read");
        assert_eq!((missing.value, missing.event.as_str()), (None, "cycles"));
        let several = counter("  12,345 cycles # 2.7 GHz ( +-  0.51% )  (62.50%)").expect("is read");
        assert_eq!((several.spread, several.percent), (Some(0.0051), Some(62.50)));
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
