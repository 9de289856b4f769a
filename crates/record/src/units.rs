//! Formats values for display (`3.42 GHz`, `98.4 ns`, `2 MiB`, `21.3 GB/s`), and parses sizes and durations as typed by
//! users (`64M`, `64MiB`, `5s`, `2m`).

/// A value with its unit, with three significant digits and a suitable prefix.
///
/// Units of a record: `Hz`, `B/s` (decimal prefixes, as in every bandwidth tool), `B` (binary prefixes), `ns`, `s`, `cycles`, `ratio`. Any
/// other unit is printed unchanged.
pub fn figure(value: f64, unit: &str) -> String {
    figure_to(value, unit, DIGITS)
}

/// Like [`figure`], with the given number of significant digits.
pub fn figure_to(value: f64, unit: &str, digits: usize) -> String {
    let significant = |value: f64| significant_to(value, digits);
    let scaled = |value: f64, steps: &[(f64, &str)]| {
        let last = steps[steps.len() - 1];
        // 999.6 of a unit rounds to 1000: use the larger prefix from 999.5 upwards.
        let step = steps.iter().find(|(scale, _)| value.abs() >= scale * 0.9995).unwrap_or(&last);
        format!("{} {}", significant(value / step.0), step.1)
    };
    if !value.is_finite() {
        return "-".to_owned();
    }
    match unit {
        "s" if value == 0.0 => "0 s".to_owned(),
        "Hz" => scaled(value, &[(1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz")]),
        "B/s" => scaled(value, &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")]),
        "ns" => scaled(value, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]),
        "ms" => scaled(value, &[(3.6e6, "h"), (1e3, "s"), (1.0, "ms")]),
        "s" => scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]),
        "cycles" => scaled(value, &[(1e9, "G cycles"), (1e6, "M cycles"), (1.0, "cycles")]),
        "B" => bytes(value.max(0.0) as u64),
        "ratio" => significant(value),
        "work/s" => scaled(value, &[(1e12, "T/s"), (1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")]),
        "count" => thousands(value),
        "CPUs" => format!("{value:.2} CPUs"),
        _ => format!("{} {unit}", significant(value)),
    }
}

/// A whole number with commas, as perf prints it: `12,345,678`.
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < -0.5 { format!("-{text}") } else { text }
}

/// Significant digits of a value of unknown precision.
const DIGITS: usize = 3;

/// The number of digits that the interval of a value justifies: two or three, and three without an interval. The last digit
/// varies within the interval.
pub fn digits_within(value: f64, interval: Option<(f64, f64)>) -> usize {
    let half = interval.map_or(0.0, |(low, high)| (high - low).abs() / 2.0);
    if !(half.is_finite() && half > 0.0 && value.is_finite() && value != 0.0) {
        return DIGITS;
    }
    let beyond = value.abs().log10().floor() - half.log10().floor();
    let digits = (beyond + 1.0).clamp(2.0, DIGITS as f64) as usize;
    // The printed value must be within the interval printed next to it.
    let (low, high) = interval.map_or((value, value), |(a, b)| (a.min(b), a.max(b)));
    let scale = 10f64.powf(digits as f64 - 1.0 - value.abs().log10().floor());
    if (low..=high).contains(&((value * scale).round() / scale)) { digits } else { DIGITS }
}

/// Like [`digits_within`], but for a lost share of speed; two digits if there is no interval.
pub fn digits_of_share(share: f64, (low, high): (f64, f64)) -> usize {
    if high > low { digits_within(share, Some((low, high))) } else { 2 }
}

/// Numbers of at least this value are written with an exponent, because so many digits are hard to read.
const LONG: f64 = 1e15;

/// A count of CPUs: `1 CPU`, `2 CPUs`.
pub fn cpus(count: u32) -> String {
    format!("{count} {}", if count == 1 { "CPU" } else { "CPUs" })
}

/// Average number of CPUs in use, as precisely as timer ticks allow.
pub fn cpus_in_use(used: f64) -> String {
    format!("{used:.2}")
}

/// Three significant digits, without an exponent below a quadrillion (10^15): `1234`, `123`, `12.3`, `1.23`, `0.123`.
pub fn significant(value: f64) -> String {
    significant_to(value, DIGITS)
}

fn significant_to(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    } else if size >= LONG {
        return format!("{value:.2e}");
    }
    let after = digits as f64 - 1.0 - (size / (1.0 - 0.5 * 10f64.powi(-(digits as i32)))).log10().floor();
    let decimals = after.clamp(0.0, 12.0) as usize;
    // Unknown digits of a whole number are replaced by zeros if fewer than three digits are known.
    let scale = 10f64.powf(-after.min(0.0));
    let value = if digits < DIGITS && after < 0.0 { (value / scale).round() * scale } else { value };
    let text = format!("{value:.decimals$}");
    if size >= 0.9995 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Bytes with a binary prefix: `512 B`, `32 KiB`, `1.25 MiB`, `23.5 GiB`. Exact multiples have no decimals; eighths, which occur in cache
/// sizes, are printed exactly.
pub fn bytes(value: u64) -> String {
    const STEPS: [(u64, &str); 5] =
        [(1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (scale, unit) in STEPS {
        if value >= scale {
            let scaled = value as f64 / scale as f64;
            if value.is_multiple_of(scale) {
                return format!("{} {unit}", value / scale);
            }
            let text = match scaled {
                scaled if scaled >= 100.0 => format!("{scaled:.0}"),
                scaled if value.is_multiple_of(scale / 8) => format!("{scaled}"),
                _ => format!("{scaled:.1}"),
            };
            return format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text));
        }
    }
    format!("{value} B")
}

/// A share as a percentage: `3.2 %`, or `< 0.1 %` if it is below a tenth of a percent.
pub fn percent(share: f64) -> String {
    percent_to(share, DIGITS)
}

/// Like [`percent`], with the given number of significant digits.
pub fn percent_to(share: f64, digits: usize) -> String {
    if is_negligible(share) && share != 0.0 {
        return "< 0.1 %".to_owned();
    }
    format!("{} %", significant_to(share * 100.0, digits))
}

/// A share with a sign: `+3.2 %`, `-3.2 %`; a negligible share has no sign.
pub fn signed_percent(share: f64) -> String {
    let rises = share >= 0.0 && !(is_negligible(share) && share != 0.0);
    format!("{}{}", if rises { "+" } else { "" }, percent(share))
}

/// The smallest share worth acting on.
const LEAST: f64 = 1e-3;

/// Whether a share is too small to act on: below a tenth of a percent.
pub fn is_negligible(share: f64) -> bool {
    share.abs() < LEAST
}

/// An upper bound or a precision for texts that already contain `<` or `±`, limited so that they show at least `< 0.1
/// %` or `±0.1 %`.
pub fn bound(share: f64) -> f64 {
    share.max(LEAST)
}

/// The text is not a size or duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is not a size.
    #[error("{0:?} is not a size; use 64K, 64MiB, 1.5G or a number of bytes")]
    NotASize(String),
    /// The text is not a duration.
    #[error("{0:?} is not a duration; use 500ms, 5s or 2m")]
    NotADuration(String),
}

/// The size of a unit relative to the first unit of its row in `units.txt`, as a power of ten and a factor. `None` if the
/// row does not contain the unit.
pub fn scale_of(unit: &str, into: &str) -> Option<(i32, f64)> {
    let mut rows = include_str!("units.txt").lines();
    let units = rows.find_map(|row| row.strip_prefix(into)?.strip_prefix(": "))?;
    let scale = units.split(' ').find_map(|one| one.strip_prefix(unit)?.strip_prefix('='))?;
    match scale.strip_prefix('e') {
        Some(exponent) => Some((exponent.parse().ok()?, 1.0)),
        None => Some((0, scale.parse().ok()?)),
    }
}

/// The number at the beginning of a text, and the unit after it.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    Some((number.parse().ok()?, unit.trim()))
}

/// Parses a size as typed by users: `4096`, `64K`, `64M`, `64MiB`, `1.5G`, `10MB` (decimal).
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::NotASize(text.to_owned());
    let (number, unit) = split_number(text).ok_or_else(wrong)?;
    let unit = if unit.is_empty() { "b".to_owned() } else { unit.to_ascii_lowercase() };
    let (_, scale) = scale_of(&unit, "size").ok_or_else(wrong)?;
    let bytes = number * scale;
    if (0.0..=9e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Parses a duration as typed by users: `5s`, `2m`, `500ms`, `1h`, `250us`; a bare number means seconds.
pub fn parse_seconds(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError::NotADuration(text.to_owned());
    let (number, unit) = split_number(text).ok_or_else(wrong)?;
    let (_, scale) = scale_of(if unit.is_empty() { "s" } else { unit }, "duration").ok_or_else(wrong)?;
    let seconds = number * scale;
    if seconds.is_finite() && seconds <= 1e7 { Ok(seconds) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_lies_within_the_interval_that_stands_beside_it() {
        let shown = |value: f64, interval| significant_to(value, digits_within(value, Some(interval)));
        assert_eq!(shown(163.4, (163.2, 211.0)), "163");
        assert_eq!(shown(163.4, (120.0, 211.0)), "160");
        assert_eq!(shown(-0.124, (-0.5, -0.122)), "-0.124");
    }

    #[test]
    fn one_cpu_is_no_plural() {
        assert_eq!([cpus(1), cpus(2)], ["1 CPU", "2 CPUs"]);
    }

    #[test]
    fn a_figure_of_hundreds_of_digits_is_short() {
        assert_eq!(significant(1e308), "1.00e308");
        assert_eq!(figure(-1e30, "work/s"), "-1.00e18 T/s");
        assert_eq!(significant(1234567890.0), "1234567890");
    }

    #[test]
    fn two_digits_are_two_digits_above_and_below_one() {
        assert_eq!(
            (figure_to(3.44e9, "Hz", 2), figure_to(304.0, "ns", 2)),
            ("3.4 GHz".into(), "300 ns".into())
        );
        assert_eq!((percent_to(0.001_62, 2), percent_to(0.67, 2)), ("0.16 %".into(), "67 %".into()));
    }

    #[test]
    fn a_share_in_either_direction_has_one_sign() {
        let all = [0.00263, -0.00263, 0.0, 1e-5, -1e-5].map(signed_percent);
        assert_eq!(all, ["+0.263 %", "-0.263 %", "+0 %", "< 0.1 %", "< 0.1 %"]);
    }

    #[test]
    fn what_is_smaller_than_a_share_says_so_once() {
        assert_eq!(
            [0.02, 1e-5, 0.0].map(|share| format!("< {}", percent(bound(share)))),
            ["< 2.00 %", "< 0.1 %", "< 0.1 %"]
        );
    }

    #[test]
    fn counts_carry_commas() {
        assert_eq!(figure(0.0, "count"), "0");
        assert_eq!(figure(999.0, "count"), "999");
        assert_eq!(figure(1234567.0, "count"), "1,234,567");
        assert_eq!(thousands(-1234.0), "-1,234");
        assert_eq!(figure(2.5e6, "work/s"), "2.50 M/s");
    }
    use proptest::prelude::*;

    #[test]
    fn figures_carry_three_digits_and_a_fitting_prefix() {
        for (value, unit, text) in [
            (3.4159e9, "Hz", "3.42 GHz"),
            (98.42, "ns", "98.4 ns"),
            (1234.0, "ns", "1.23 µs"),
            (999.7, "ns", "1.00 µs"),
            (2.13e10, "B/s", "21.3 GB/s"),
            (5.0, "cycles", "5.00 cycles"),
            (0.00123, "ratio", "0.00123"),
            (312_345_678.0, "ms", "86.8 h"),
            (340.0, "ms", "340 ms"),
            (0.0, "ns", "0 ns"),
            (0.0, "s", "0 s"),
            (f64::NAN, "ns", "-"),
        ] {
            assert_eq!(figure(value, unit), text);
        }
    }

    #[test]
    fn sizes_read_and_write_as_people_do() {
        assert_eq!(parse_bytes("64M"), Ok(64 << 20));
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("10MB"), Ok(10_000_000));
        assert!(parse_bytes("-1").is_err() && parse_bytes("x").is_err() && parse_bytes("1e99T").is_err());
        assert_eq!(bytes(32 << 10), "32 KiB");
        assert_eq!(bytes(1280 << 10), "1.25 MiB");
        assert_eq!(bytes(25344 << 10), "24.75 MiB");
        assert_eq!(bytes(1300 << 10), "1.3 MiB");
        assert_eq!(parse_seconds("2m"), Ok(120.0));
        assert!(parse_seconds("2y").is_err());
    }

    proptest! {
        #[test]
        fn nothing_typed_panics(text in "\\PC{0,30}") {
            let _ = parse_bytes(&text);
            let _ = parse_seconds(&text);
        }

        #[test]
        fn nothing_measured_panics(value in proptest::num::f64::ANY) {
            for unit in ["Hz", "B/s", "ns", "s", "B", "ratio", "cycles"] {
                prop_assert!(!figure(value, unit).is_empty());
            }
        }
    }
}
