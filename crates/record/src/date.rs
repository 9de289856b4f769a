//! Times in records: RFC 3339 in UTC, with a resolution of one second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second of the year 9999, in seconds since 1970.
const LAST: u64 = 253_402_300_799;

/// A point in time, `2026-01-02T03:04:05Z`.
pub fn rfc3339(time: SystemTime) -> String {
    text(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// The time this many seconds after another; `None` if out of range.
pub fn later(started: &str, after: f64) -> Option<String> {
    Some(text(seconds(started)?.saturating_add(after.max(0.0) as u64)))
}

fn text(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(LAST))).to_string()
}

/// Seconds since 1970 of a time in UTC.
pub fn seconds(text: &str) -> Option<u64> {
    humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::{later, seconds as seconds_of, text};

    #[test]
    fn seconds_later_are_those_of_the_calendar() {
        for seconds in [0, 951_782_399, 951_868_800, 1_000_000_000, 1_735_689_599, 4_107_542_400] {
            assert_eq!(later(&text(seconds), 86_401.5), Some(text(seconds + 86_401)));
        }
        for none in ["", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-é1T00:00:00Z", "0001-01-01T00:00:00Z"]
        {
            assert_eq!(later(none, 1.0), None, "{none}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!((text(seconds).as_str(), seconds_of(date)), (date, Some(seconds)));
        }
        assert!(text(u64::MAX).ends_with('Z'));
        for none in
            ["", "now", "2026-01-02", "2026-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-01T00:00:00"]
        {
            assert_eq!(seconds_of(none), None, "{none}");
        }
    }
}
