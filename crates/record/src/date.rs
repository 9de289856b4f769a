//! The time of day in records: RFC 3339 in UTC, whole seconds.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;
/// Days of 400 years, after which the Gregorian calendar repeats.
const ERA: u64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const EPOCH: u64 = 719_468;

/// A time; the beginning of 1970 for one before that.
pub fn rfc3339(time: SystemTime) -> String {
    text(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// So many seconds after a time that [`rfc3339`] wrote; `None` for another text.
pub fn later(started: &str, after: f64) -> Option<String> {
    Some(text(seconds(started)? + after.max(0.0) as u64))
}

/// So many seconds after the beginning of 1970.
fn text(seconds: u64) -> String {
    // Years that begin with March end with the leap day. By Howard Hinnant's `civil_from_days`.
    let days = seconds / DAY + EPOCH;
    let of_era = days % ERA;
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = years + days / ERA * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds % DAY / 3_600, seconds % 3_600 / 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The seconds after the beginning of 1970 of a time as [`rfc3339`] writes it; `None` for a text that is none.
pub fn seconds(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, sign: char| -> Option<[u64; 3]> {
        let numbers = text.split(sign).map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
        numbers.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let possible = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !possible {
        return None;
    }
    // By Howard Hinnant's `days_from_civil`.
    let (year, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_era = year % 400;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = year / 400 * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some((days - EPOCH) * DAY + hour * 3_600 + minute * 60 + second)
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
