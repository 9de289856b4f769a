//! Prefixes before the lines of a text, added by its carrier: time stamps of logs, line numbers, comment signs.

use std::sync::OnceLock;

use regex_lite::Regex;

/// The number of lines searched for a shared prefix.
const LOOKED_AT: usize = 400;

/// Fewer lines share a prefix by chance.
const FEWEST: usize = 3;

/// Time stamps that no supported tool prints itself: the kernel's log, GitHub's, Docker's and Kubernetes', journald's, those of loggers
/// with fractions of seconds or in brackets.
const STAMPS: &str = r"^(\[ *\d+\.\d{6}\](\[ *[TC]\d+\])? |<\d+>|([^\t]{1,60}\t[^\t]{1,60}\t)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d) ?((stdout|stderr) [FP] )?|(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d[.,]\d{3,9} ((TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR) +)?|\[(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d([.,]\d+)?\] |\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\] |\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ \S+: |[\w.-]+ kernel: )";

/// Signs before each line, of comments and of a service's log.
const SIGNS: [&str; 8] = [
    r"^\s*# ?",
    r"^\s*// ?",
    r"^\s*;+ ?",
    r"^\s*\* ?",
    r"^\s*-- ?",
    r"^\s*% ?",
    r"^[\w.-]+\s*\| ?",
    r"^\s*! ?",
];

fn stamp() -> Option<&'static Regex> {
    static STAMP: OnceLock<Option<Regex>> = OnceLock::new();
    STAMP.get_or_init(|| Regex::new(STAMPS).ok()).as_ref()
}

/// The prefix shared by all lines of a text.
#[derive(Default)]
pub(super) struct Shared {
    sign: Option<Regex>,
    numbered: bool,
}

impl Shared {
    /// From a text's first lines.
    pub(super) fn find(text: &str) -> Self {
        let all = || text.lines().map(without_stamps).filter(|line| !line.trim().is_empty()).take(LOOKED_AT);
        if all().nth(FEWEST - 1).is_none() {
            return Self::default();
        }
        let mut numbers = all().map(|line| split_number(line).map(|(number, _)| number));
        let first = numbers.next().flatten();
        let numbered = first.is_some()
            && numbers.try_fold(first, |last, next| next.filter(|_| next > last).map(Some)).is_some();
        let rest = |line| if numbered { split_number(line).map_or(line, |(_, rest)| rest) } else { line };
        let sign = SIGNS.iter().filter_map(|sign| Regex::new(sign).ok());
        let shares = |sign: &Regex| {
            all().map(rest).filter(|line| !line.trim().is_empty()).all(|line| sign.is_match(front(line)))
        };
        // pdsh and others print the host's name before each line.
        let host = all().next().map(rest).and_then(|line| line.split_once(": ")).map(|(name, _)| name);
        let host = host
            .filter(|name| is_host(name))
            .and_then(|name| Regex::new(&format!("^{}: ?", regex_lite::escape(name))).ok());
        Self { sign: sign.into_iter().chain(host).find(shares), numbered }
    }

    /// A line without it.
    pub(super) fn strip<'a>(&self, line: &'a str) -> &'a str {
        let mut rest = without_stamps(line);
        if self.numbered {
            rest = split_number(rest).map_or(rest, |(_, rest)| rest);
        }
        let sign = self.sign.as_ref().and_then(|sign| sign.find(front(rest)));
        without_stamps(sign.map_or(rest, |found| &rest[found.end()..]))
    }
}

/// Whether a word is a host's name and not an architecture's.
fn is_host(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        && (letters.len() < word.len() || word.contains('.'))
        && !matches!(letters, "cpu" | "pkg" | "core" | "policy" | "node" | "eth" | "usb" | "sd" | "ata")
}

/// The beginning of a line, which contains all of this.
fn front(line: &str) -> &str {
    line.char_indices().nth(120).map_or(line, |(end, _)| &line[..end])
}

fn without_stamps(line: &str) -> &str {
    let mut rest = line;
    // journald's before the kernel's own.
    for _ in 0..3 {
        let may_be = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '[' | '<'));
        let Some(found) = stamp().filter(|_| may_be).and_then(|stamp| stamp.find(front(rest))) else { break };
        rest = &rest[found.end()..];
    }
    rest
}

/// `   12  text`, `12: text`, `12|text`: the number of a line and the line.
fn split_number(line: &str) -> Option<(u64, &str)> {
    let text = line.trim_start();
    let text = text
        .strip_prefix('L')
        .filter(|rest| rest.split_once(": ").is_some_and(|(front, _)| front.len() <= 6))
        .unwrap_or(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    let marked = rest.strip_prefix([':', '|', ')', '\t']).map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
    Some((number, marked.or_else(|| rest.strip_prefix("  ").or(rest.strip_prefix(' ')))?))
        .or_else(|| rest.is_empty().then_some((number, "")))
}

/// The lines of a string of JSON: a string on a line of its own, as in notebooks and Ansible, or a long one with line ends
/// inside.
pub(super) fn without_escapes(line: &str) -> Option<Vec<String>> {
    if !line.contains('"') {
        return None;
    }
    let text = line.trim();
    let alone = text.strip_suffix(',').unwrap_or(text);
    if alone.len() > 1
        && let Ok(inner) = serde_json::from_str::<String>(alone)
    {
        return Some(inner.lines().map(str::to_owned).collect());
    }
    text.matches("\\n").nth(2)?;
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
