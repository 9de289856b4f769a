//! Prefixes added to the lines of a text by the program through which it passed: time stamps of logs, line numbers, comment signs.

use std::sync::OnceLock;

use regex_lite::Regex;
use serde_json::Value;

use crate::prompts::{Mark, find_mark};
use crate::scan;

/// Beginnings of the header lines of `diff` output and of scripts.
const HEADS: &str = "#!|--- |+++ |@@ |diff --git |index |new file mode ";

/// The number of lines searched for a shared prefix.
const LOOKED_AT: usize = 400;

/// Minimum number of lines with a shared prefix; fewer lines may share one by chance.
pub(super) const FEWEST: usize = 3;

/// Time stamps that no supported tool prints itself: those of the kernel's log, GitHub, GitLab, Docker, Kubernetes and journald, and those
/// of other loggers if they have fractions of seconds or are in brackets.
const STAMPS: &str = r"^(\[ *\d+\.\d{6}\](\[ *[TC]\d+\])? |<\d+>|(kern|user|daemon|syslog) *:\w+ *: |([^\t]{1,60}\t[^\t]{1,60}\t)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d) ?(\d\d[OE]\+? ?|(stdout|stderr) [FP] |[\w.-]+ (kernel|[\w./-]+\[\d+\]): )?|(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d[.,]\d{3,9} ((TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR) +)?|\[(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d([.,]\d+)?\] |\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\] |\[\w{3}\d\d \d\d:\d\d\] |\[ *\+\d+\.\d{6}\] |\[kernel\] |\S{3,5} +\d{1,2} \d\d:\d\d:\d\d(\.\d+)? (\S+ (kernel|[\w./-]+\[\d+\])|[a-z\d][\w.-]* [\w./()-]+): |[\w.-]+ kernel: )";

/// Signs that precede each line in comments, diffs, logs with time stamps, service logs and scripts.
const SIGNS: &str = include_str!("signs.txt");

fn stamp() -> Option<&'static Regex> {
    static STAMP: OnceLock<Option<Regex>> = OnceLock::new();
    STAMP.get_or_init(|| Regex::new(STAMPS).ok()).as_ref()
}

/// The prefix shared by all lines of a text.
#[derive(Default)]
pub(super) struct Shared {
    sign: Option<Regex>,
    numbered: bool,
    printed: bool,
}

impl Shared {
    /// Finds the prefix in a text's first lines.
    pub(super) fn find<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let is_prompt = |line: &str| matches!(find_mark(line, true), Some(Mark::Prompt { .. }));
        let is_read = |line: &&str| !line.trim().is_empty() && !scan::begins(line, HEADS) && !is_prompt(line);
        let read: Vec<&str> = lines.map(without_stamps).filter(is_read).take(LOOKED_AT).collect();
        let all = || read.iter().copied();
        if all().nth(FEWEST - 1).is_none() {
            return Self::default();
        }
        let mut numbers = all().map(|line| split_number(line).map(|(number, _)| number));
        let first = numbers.next().flatten();
        let numbered = first.is_some()
            && numbers.try_fold(first, |last, next| next.filter(|_| next > last).map(Some)).is_some();
        let rest = |line| if numbered { split_number(line).map_or(line, |(_, rest)| rest) } else { line };
        let sign = SIGNS.lines().filter_map(|sign| Regex::new(sign).ok());
        let shares = |sign: &Regex| {
            all().map(rest).filter(|line| !line.trim().is_empty()).all(|line| sign.is_match(front(line)))
        };
        // pdsh, srun and mpirun print the host name or the task number before each line; grep prints the file name.
        let first = all().next().map(rest).unwrap_or_default();
        // `openssl speed -mr` itself prints these prefixes, so they are part of its output.
        if scan::begins(first, "+H:|+F:|+F2:|+F3:|+F4:|+F5:|+F6:|+DT|+R:|+R1:|+R2:") {
            return Self { numbered, ..Self::default() };
        }
        let ends = [": ", "\t", "] ", "]<stdout>:", ".txt:", ".log:", ".out:"]
            .iter()
            .filter_map(|end| Some(first.find(end)? + end.len()));
        let name = ends.min().and_then(|end| first.get(..end)).filter(|name| is_place(name));
        let host = name
            .and_then(|name| Regex::new(&format!("^{}( |\\d+:)?", regex_lite::escape(name.trim_end()))).ok());
        let sign = sign.chain(host).find(shares);
        Self { printed: sign.as_ref().is_some_and(|sign| sign.as_str().contains("print")), sign, numbered }
    }

    /// A line without the prefix.
    pub(super) fn strip<'a>(&self, line: &'a str) -> &'a str {
        let mut rest = without_stamps(line);
        if self.numbered {
            rest = split_number(rest).map_or(rest, |(_, rest)| rest);
        }
        let sign = self.sign.as_ref().and_then(|sign| sign.find(front(rest)));
        let rest = sign.map_or(rest, |found| without_stamps(&rest[found.end()..]));
        match self.printed {
            true => {
                let ends = ["\\n\")", "\\n')", "\\n\"", "\\n'", "\")", "')", "\"", "'"];
                let rest = rest.trim_end_matches([';', ' ']);
                ends.iter().find_map(|end| rest.strip_suffix(end)).unwrap_or(rest)
            }
            false => rest,
        }
    }
}

/// Whether a prefix identifies the source of a line (a host, a task or a file), not the subject of the line.
pub(super) fn is_place(prefix: &str) -> bool {
    let word = prefix.trim_end().trim_end_matches(':');
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let named = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
        && (letters.len() < word.len() || word.contains('.'))
        && !is_part(word);
    named || letters.is_empty() && !word.is_empty() || word.starts_with('[') && word.len() <= 40
}

/// Whether a word names a part of a machine: `cpu0`.
pub(super) fn is_part(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    scan::is_one_of(&letters.to_lowercase(), "cpu|pkg|core|policy|eth|usb|sd|ata|thread")
}

/// The first 120 characters of a line.
fn front(line: &str) -> &str {
    let end = Some(line).filter(|line| line.len() > 120).and_then(|line| line.char_indices().nth(120));
    end.map_or(line, |(end, _)| &line[..end])
}

/// A line without leading time stamps.
pub(super) fn without_stamps(line: &str) -> &str {
    split_stamps(line).1
}

/// The host named in a line's time stamps, and the line without them.
pub(super) fn split_stamps(line: &str) -> (Option<&str>, &str) {
    let (mut host, mut rest) = (None, line);
    // The kernel's own stamp may follow journald's.
    for _ in 0..3 {
        // The line may be indented or quoted.
        let text = rest.trim_start_matches([' ', '\t', '>']);
        if let Some(after) = after_kernel_stamp(text) {
            rest = after;
            continue;
        }
        let Some(found) =
            stamp().filter(|_| may_be_stamped(front(text))).and_then(|stamp| stamp.find(front(text)))
        else {
            break;
        };
        rest = &text[found.end()..];
        // Before the program. Without a time, the word before `kernel` may be any word.
        let named = found.as_str().strip_suffix(": ").and_then(|words| words.rsplit_once(' '));
        let named = named.filter(|(words, _)| words.contains(' ') || after_kernel_stamp(rest).is_some());
        host = named.and_then(|(words, _)| words.rsplit(' ').next()).or(host);
    }
    (host, rest)
}

/// The text after `[    0.001344] `, the most frequent stamp.
fn after_kernel_stamp(text: &str) -> Option<&str> {
    let (stamp, after) = text.strip_prefix('[')?.split_once("] ")?;
    let (seconds, fraction) = stamp.trim_start_matches(' ').split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(seconds) && is_number(fraction) && fraction.len() == 6).then_some(after)
}

/// Whether a line may begin with a stamp; a quick check that excludes most lines.
fn may_be_stamped(line: &str) -> bool {
    let is_time = |of: &[u8]| {
        of[2] == b':' && of[5] == b':' && [0, 1, 3, 4, 6, 7].iter().all(|at| of[*at].is_ascii_digit())
    };
    // sar's times have no fractions.
    let of_sar = line.as_bytes().get(2) == Some(&b':') && line.as_bytes().get(8) == Some(&b' ');
    let begins = || scan::begins(line, "[|<|kern|user|daemon|syslog");
    let timed = || line.as_bytes().windows(8).any(is_time);
    !of_sar && (begins() || timed() || line.len() > 9 && line.contains(" kernel: "))
}

/// A line number, and the line after it: ` 12 text`, `12: text`, `12|text`.
fn split_number(line: &str) -> Option<(u64, &str)> {
    let text = line.trim_start();
    let text = text
        .strip_prefix('L')
        .filter(|rest| rest.split_once(": ").is_some_and(|(front, _)| front.len() <= 6))
        .unwrap_or(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    let dotted = rest.strip_prefix('.').filter(|rest| rest.starts_with(' '));
    let marked = dotted
        .or_else(|| rest.strip_prefix([':', '|', ')', '\t']))
        .map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
    Some((number, marked.or_else(|| rest.strip_prefix("  ").or(rest.strip_prefix(' ')))?))
        .or_else(|| rest.is_empty().then_some((number, "")))
}

/// The keys under which the JSON logs of Docker, journald and loggers contain the printed text.
const LOGGED: [&str; 4] = ["\"log\"", "\"MESSAGE\"", "\"message\"", "\"msg\""];

/// The lines in a JSON string that fills the line (as in notebooks), in Ansible's output for one host, or in a log object; otherwise, the
/// lines in the string that contains the most line ends.
pub(super) fn without_escapes(line: &str) -> Option<Vec<String>> {
    let text = line.trim();
    // Ansible prints one line per host.
    if let Some((host, lines)) = text.split_once(" | (stdout) ") {
        let lines = lines.split("\\n").map(|line| line.replace("\\t", "\t"));
        return Some([format!("{host} >>")].into_iter().chain(lines).collect());
    }
    line.contains('"').then_some(())?;
    let alone = text.strip_suffix(',').unwrap_or(text);
    if alone.len() > 1
        && let Ok(inner) = serde_json::from_str::<String>(alone)
    {
        return Some(inner.lines().map(str::to_owned).collect());
    }
    if text.matches("\\n").nth(2).is_none() {
        // A log with one JSON object per line.
        let key = LOGGED.iter().find(|key| text.starts_with('{') && text.contains(**key))?;
        let object: Value = serde_json::from_str(text).ok()?;
        return Some(object.get(key.trim_matches('"'))?.as_str()?.lines().map(str::to_owned).collect());
    }
    // The string with the most line ends.
    let starts =
        text.match_indices('"').map(|(at, _)| at).filter(|at| *at == 0 || text.as_bytes()[at - 1] != b'\\');
    let mut best: Option<String> = None;
    for at in starts.take(200) {
        let string = serde_json::Deserializer::from_str(&text[at..]).into_iter::<String>().next();
        if let Some(Ok(string)) = string
            && string.matches('\n').count() > best.as_ref().map_or(2, |best| best.matches('\n').count())
        {
            best = Some(string);
        }
    }
    best.map(|best| best.lines().map(str::to_owned).collect())
}
