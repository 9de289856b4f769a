//! Finds a program's score in its output.

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

use super::fields::{one, read_positive};
use super::template::{Template, Values};
use crate::failure::shorten;

/// Maximum size of the searched output. The beginning and the end of longer output are saved, because a score is near one of them.
pub const MOST_OUTPUT: usize = 256 << 10;

/// The meaning of a number printed by a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Work per second.
    #[default]
    Rate,
    /// Seconds for the work of one run.
    Seconds,
    /// Work done while the program ran. linespeed measures the wall time.
    Work,
}

/// A pattern for finding a score.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The pattern as written.
    pub pattern: String,
    /// The meaning of the number.
    #[serde(default)]
    pub kind: Kind,
    /// The factor for the number, for example 1000 for a program that prints kB/s.
    #[serde(default = "one", deserialize_with = "read_positive")]
    pub scale: f64,
    /// One unit of the work: `B`, `events`, `transactions`.
    pub unit: String,
}

/// A score that a program printed, after scaling.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The number times [`Score::scale`].
    pub value: f64,
    /// The meaning of the number.
    pub kind: Kind,
    /// Unit of the work.
    pub unit: String,
}

/// Maximum number of placeholders and of characters in a pattern; the search time per line grows with both.
const MOST_PLACES: usize = 20;
const MOST_CHARACTERS: usize = 500;

/// The regular expression for a number, or for the word that programs print if they have no valid number.
const NUMBER: &str = r"([-+]?(?:nan\b|inf(?:inity)?\b|[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?))";

/// Placeholders of a pattern that are not settings, with their regular expressions.
const PLACES: [(&str, &str); 3] = [("{score}", NUMBER), ("{word}", r"[^ \t\r\n]+"), ("{...}", r"[^\r\n]*?")];

/// Compiles a pattern to a regular expression. Text matches case-insensitively, and white space matches any white space. `{score}` matches
/// the number, `{word}` a word, and `{...}` any text on the line; other names in braces are settings.
pub fn compile(pattern: &str, values: &Values, wants_score: bool) -> Result<Regex, String> {
    if pattern.matches('{').count() > MOST_PLACES || pattern.chars().count() > MOST_CHARACTERS {
        let beginning: String = pattern.chars().take(40).collect();
        return Err(format!(
            "the pattern has more than {MOST_PLACES} placeholders or {MOST_CHARACTERS} characters: {beginning}…"
        ));
    }
    let mut expression = String::from("(?im)");
    let mut rest = pattern.trim();
    while let Some(c) = rest.chars().next() {
        if let Some((place, part)) = PLACES.into_iter().find(|(place, _)| rest.starts_with(place)) {
            expression.push_str(part);
            rest = &rest[place.len()..];
        } else if c == '{'
            && let Some(end) = rest.find('}')
            && Template::new(rest).places().next().is_some()
        {
            // Only this one setting is filled in, because the rest of the pattern may contain placeholders that are not settings.
            let filled = Template::new(&rest[..=end]).fill(values);
            expression.push_str(&regex_lite::escape(&filled.to_string_lossy()));
            rest = &rest[end + 1..];
        } else if c.is_whitespace() {
            expression.push_str(r"[ \t]+");
            rest = rest.trim_start();
        } else {
            expression.push_str(&regex_lite::escape(c.encode_utf8(&mut [0; 4])));
            rest = &rest[c.len_utf8()..];
        }
    }
    let scores = expression.matches(NUMBER).count();
    if wants_score && scores != 1 {
        return Err(format!(
            "the pattern {pattern:?} must contain {{score}} exactly once, but contains it {scores} times"
        ));
    }
    let built = RegexBuilder::new(&expression).size_limit(1 << 20).build();
    built.map_err(|error| format!("the pattern {pattern:?} cannot be used: {error}"))
}

/// The names of the settings used in a pattern.
pub fn list_settings(pattern: &str) -> Vec<String> {
    let plain = pattern.replace("{...}", "");
    let places: Vec<String> = Template::new(&plain).places().map(str::to_owned).collect();
    places.into_iter().filter(|name| !matches!(name.as_str(), "score" | "word")).collect()
}

/// The line of a text that contains the byte at this offset.
fn line_at(text: &str, at: usize) -> &str {
    let from = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let to = text[at..].find('\n').map_or(text.len(), |end| at + end);
    text[from..to].trim()
}

impl Score {
    /// Finds the score in a program's output, searching standard output first. Returns `None` if nothing matches, and an error with the
    /// reason if the match is unusable, that is, negative, zero, `nan` or out of range.
    pub fn read(&self, stdout: &str, stderr: &str, values: &Values) -> Result<Option<Scored>, String> {
        let Ok(pattern) = compile(&self.pattern, values, true) else { return Ok(None) };
        let first = [stdout, stderr].into_iter().find_map(|t| Some((t, pattern.captures(t)?.get(1)?)));
        let Some((whole, found)) = first else { return Ok(None) };
        // Programs may print thousands separators.
        let value = found.as_str().replace(',', "").parse().unwrap_or(f64::NAN) * self.scale;
        // A score of zero is unusable: a rate of 0 has no speedup, and a time of 0 has no rate.
        if value.is_finite() && value > 0.0 {
            return Ok(Some(Scored { value, kind: self.kind, unit: self.unit.clone() }));
        }
        Err(format!(
            "the score {} is not a usable number (it must be above 0). The command's output line: {}",
            found.as_str(),
            shorten(line_at(whole, found.start()))
        ))
    }
}

/// The score from the first pattern with a usable match in a program's output; an error if all matches are unusable, and `None` if nothing
/// matches.
pub fn find_first(
    scores: &[Score],
    stdout: &str,
    stderr: &str,
    values: &Values,
) -> Result<Option<Scored>, String> {
    let mut unusable = Ok(None);
    for score in scores {
        match score.read(stdout, stderr, values) {
            Ok(Some(scored)) => return Ok(Some(scored)),
            other => unusable = unusable.and(other),
        }
    }
    unusable
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(pattern: &str) -> Score {
        Score { pattern: pattern.to_owned(), kind: Kind::Rate, scale: 1.0, unit: "events".to_owned() }
    }

    fn read(pattern: &str, text: &str) -> Option<f64> {
        score(pattern).read(text, "", &Values::new()).unwrap().map(|scored| scored.value)
    }

    fn unusable(pattern: &str, text: &str) -> String {
        score(pattern).read(text, "", &Values::new()).unwrap_err()
    }

    #[test]
    fn scores_are_found_as_programs_print_them() {
        assert_eq!(
            read("events per second: {score}", "CPU speed:\n    events per second:  7034.20\n"),
            Some(7034.2)
        );
        let sysbench = "    transactions:                        3815   (3807.57 per sec.)\n";
        assert_eq!(read("transactions: {word} ({score} per sec.)", sysbench), Some(3807.57));
        let stream = "Function    Best Rate MB/s  Avg time\nTriad:          51,098.1     0.0313\n";
        assert_eq!(read("Triad: {score}", stream), Some(51098.1));
        let rsa = "rsa 2048 bits 0.000129s 0.000007s   7750.0 140815.0\n";
        assert_eq!(read("rsa {word} bits {word} {word} {score}", rsa), Some(7750.0));
        let table = "stressor bogo ops\nstress-ng: metrc: [1] matrix            11558      1.00      2.00      0.00     11556.39\n";
        assert_eq!(read("] matrix {word} {word} {word} {word} {score}", table), Some(11556.39));
        assert_eq!(read("rate {...} = {score}", "rate of all = 1e3 x"), Some(1000.0));
    }

    #[test]
    fn a_setting_may_stand_in_a_pattern_and_means_itself() {
        let values: Values = [("algorithm".to_owned(), "AES-256+CBC".to_owned())].into();
        let found = score("{algorithm} {score}k").read("aes-256+cbc    1474863.10k\n", "", &values);
        assert_eq!(found.unwrap().map(|scored| scored.value), Some(1474863.10));
        for long in ["{...} ".repeat(3000), "a".repeat(600)] {
            let refused = compile(&format!("{long}{{score}}"), &Values::new(), true);
            assert!(refused.unwrap_err().contains("has more than 20 placeholders"));
        }
        assert_eq!(list_settings("{algorithm} {...} {word} {score}k"), ["algorithm"]);
    }

    #[test]
    fn what_is_no_score_is_none() {
        assert_eq!(read("t {score}", "t -\nt nano\nt information\n"), None);
        assert_eq!(read("t {score}", &"t ".repeat(100_000)), None);
        assert!(compile("no number", &Values::new(), true).is_err());
        assert!(compile("{score} {score}", &Values::new(), true).is_err());
    }

    #[test]
    fn a_score_that_is_no_usable_number_is_shown_with_its_line() {
        for number in ["nan", "-nan", "inf", "Infinity", "0", "0.00", "-5", "1e999"] {
            let text = format!("begin\n  rate: {number} /s \nend\n");
            let said = unusable("rate: {score}", &text);
            assert!(said.contains(&format!("the score {number} is")), "{said}");
            assert!(said.ends_with(&format!("line: rate: {number} /s")), "{said}");
        }
        // The first pattern that matches counts.
        assert_eq!(read("t {score}", "t 4\nt nan\n"), Some(4.0));
        assert!(unusable("t {score}", "t nan\nt 4\n").ends_with("line: t nan"));
        // Another pattern may still find a score.
        let two = [score("a {score}"), score("b {score}")];
        assert_eq!(find_first(&two, "a -1\nb 2\n", "", &Values::new()).unwrap().map(|s| s.value), Some(2.0));
        assert!(find_first(&two, "a -1\nb 0\n", "", &Values::new()).unwrap_err().ends_with("line: a -1"));
    }

    #[test]
    fn standard_error_is_read_where_standard_output_has_no_score() {
        let read = |out, err| score("t {score}").read(out, err, &Values::new()).unwrap().map(|s| s.value);
        assert_eq!((read("", "t 3"), read("t 2", "t 3")), (Some(3.0), Some(2.0)));
    }
}
