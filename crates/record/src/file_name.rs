//! File names of records.

/// Maximum length of the host name in bytes: a file name has at most 255 bytes, and the rest is needed for the time, a
/// number and the extension.
const MOST_OF_HOST: usize = 200;

/// Replaces the host in the file name of a redacted record.
pub const REDACTED: &str = "redacted";

/// A record's file name: host and time, so that a directory with the records of many machines is sorted by host.
pub fn record_name(hostname: Option<&str>, started: &str) -> String {
    let mut host: String = hostname
        .unwrap_or("machine")
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .take(64)
        .collect();
    while host.len() > MOST_OF_HOST {
        host.pop();
    }
    // A name that begins with a dash would be mistaken for an option.
    let host = host.trim_start_matches(['.', '-']);
    let time: String = started.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    format!("{}-{time}", if host.is_empty() { "machine" } else { host })
}

/// The host in a file name that [`record_name`] generated, given the name without its extension; `None` for any other
/// name.
pub fn host_of(stem: &str) -> Option<&str> {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let is_time = |text: &str| {
        let parts = text.strip_suffix('Z').and_then(|text| text.split_once('T'));
        parts.is_some_and(|(day, time)| digits(day, 8) && digits(time, 6))
    };
    let (before, last) = stem.rsplit_once('-')?;
    let (host, time) = if is_time(last) {
        (before, last)
    } else {
        // If several records have the same time, a number follows the time.
        let (host, time) = before.rsplit_once('-')?;
        (host, if !last.is_empty() && digits(last, last.len()) { time } else { last })
    };
    (is_time(time) && !host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_no_path_of_the_machines_choosing() {
        assert_eq!(record_name(Some("db-1"), "2026-01-02T03:04:05Z"), "db-1-20260102T030405Z");
        assert_eq!(record_name(Some("../../etc/x\n"), "t"), "etcx-t");
        assert_eq!(record_name(None, "t"), "machine-t");
        assert_eq!(record_name(Some("-rf"), "t"), "rf-t");
        assert_eq!(record_name(Some("--"), "t"), "machine-t");
        assert!(record_name(Some(&"\u{20000}".repeat(64)), "2026-01-02T03:04:05Z").len() < 230);
        assert_eq!(host_of("db-1-20260102T030405Z"), Some("db-1"));
        assert_eq!(host_of("db-1-20260102T030405Z-12"), Some("db-1"));
        for other in ["db-1", "-20260102T030405Z", "q1-run-2", "20260102T030405Z", "db1-20260102T0304Z", ""] {
            assert_eq!(host_of(other), None, "{other}");
        }
    }
}
