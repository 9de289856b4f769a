//! The kinds of values in patterns, with their names in `patterns.txt`.

use record::command_line::comparable_name;
use record::units::scale_of;

use super::super::{lscpu, numactl};
use crate::reading::*;

/// `text` as this kind of value; `Some(None)` if its unit is unknown, and `None` if it is of another kind.
pub(super) fn value_of(kind: &str, text: &str, command: Option<&Command>) -> Option<Option<String>> {
    let whole = |fits: bool| fits.then(|| Some(text.to_owned()));
    let number = |number: Option<f64>| number.map(|number| Some(format!("{number:?}")));
    let is_word = !text.is_empty() && !text.contains(' ');
    match kind {
        "n" => whole(is_word && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit())),
        "w" => whole(is_word),
        "key" => {
            whole(is_word && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
        }
        "r" => whole(!text.is_empty()),
        "num" => number(parse_decimal(text).filter(|_| is_word)),
        // A number of a fixed width.
        "padded" => number(parse_decimal(text)),
        // A truncated number has fewer decimals.
        "hundredths" => {
            let whole = text.split_once(['.', ',']).filter(|(_, fraction)| fraction.len() == 2);
            number(whole.and_then(|_| parse_decimal(text)))
        }
        // A number in a larger unit, converted to KiB.
        factor if factor.starts_with('x') => {
            let factor = parse_plain(factor.trim_start_matches('x'))?;
            parse_decimal(text).filter(|_| is_word).map(|value| Some(format!("{:.0}", value * factor)))
        }
        "plain" => number(parse_plain(text).filter(|_| is_word)),
        "list" => {
            let list = numactl::cpus(text).filter(|list| !list.is_empty())?;
            let plain = text.bytes().all(|b| b.is_ascii_digit() || b" -,".contains(&b));
            plain.then(|| Some(format!("{:?}", list.iter().collect::<Vec<_>>())))
        }
        "cpus" => whole(scan::all(text.split(' '), parse_whole).is_some()),
        "release" => whole(is_word && text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.')),
        "arch" => whole(lscpu::is_architecture(text)),
        "hex" => {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            u64::from_str_radix(digits, 16).ok().map(|value| Some(value.to_string()))
        }
        // The requested type of page. Its size is unknown.
        "page" => scan::find(&[("MADV_NOHUGEPAGE", "base"), ("MADV_HUGEPAGE", "huge")], text)
            .map(|page| Some(page.to_owned())),
        "khz" => {
            let khz = scan::quantity(text, &[("GHz", 6), ("MHz", 3), ("kHz", 0)])?;
            (text.split(' ').count() == 2).then(|| Some(format!("{khz:.0}")))
        }
        "kib" => memory(text, command),
        "kbytes" => {
            parse_whole(text).and_then(|kib| kib.checked_mul(1024)).map(|bytes| Some(bytes.to_string()))
        }
        "time" => number(time(text)),
        "clock" => number(seconds(text)),
        // `0:00.12` has hundredths of a second, `1:02:03` has two-digit minutes and seconds; anything else was truncated.
        "gnu-clock" => {
            let (front, last) = text.rsplit_once(':')?;
            number(seconds(text).filter(|_| last.len() == if front.contains(':') { 2 } else { 5 }))
        }
        "command" => Some(comparable_name(text.trim_matches('"'))).filter(|name| !name.is_empty()).map(Some),
        // Within a table cell, a bar is escaped with a backslash.
        "cell" => Some(comparable_name(&text.replace("\\|", "|"))).filter(|name| !name.is_empty()).map(Some),
        "mib" => mebibytes(text),
        words => whole(words.contains('|') && scan::is_one_of(text, words)),
    }
}

/// `101.3 ms`, `0.92 millis`, in seconds.
fn time(text: &str) -> Option<f64> {
    let (amount, unit) = text.split_once(' ')?;
    let (exponent, factor) = scale_of(unit, "s")?;
    Some(parse_scaled(amount, exponent)? * factor)
}

/// `0m39.763s`, `1h2m3s`, `39.763`, `2,57`, `0.01s`, `0:00.01`, `1:02:03`.
fn seconds(text: &str) -> Option<f64> {
    text.strip_suffix('s').unwrap_or(text).split(['h', 'm', ':']).try_fold(0.0, |total, part| {
        let blank = part.contains(char::is_whitespace) || part.starts_with('-');
        Some(total * 60.0 + parse_decimal(part).filter(|_| !blank)?)
    })
}

/// The number of bytes for a size in MiB that lmbench rounded to five decimals. Of all possible values, this is the multiple of the
/// largest power of two. `Some(None)` for an impossible size.
fn mebibytes(text: &str) -> Option<Option<String>> {
    const ROUNDED_BY: f64 = 0.5e-5 * 1_048_576.0;
    text.split_once(['.', ',']).filter(|(_, fraction)| fraction.len() == 5)?;
    let bytes = parse_decimal(text)? * 1_048_576.0;
    let multiple = |shift: u32| {
        let step = (1_u64 << shift) as f64;
        (bytes / step).round() * step
    };
    let fits = |size: &f64| (size - bytes).abs() <= ROUNDED_BY;
    let roundest = (3..=30).rev().map(multiple).find(fits).unwrap_or(bytes.round());
    Some((1.0..1e15).contains(&bytes).then(|| format!("{roundest:.0}")))
}

/// The options of `free` in a command line.
fn options_of_free(command: Option<&Command>) -> Option<&str> {
    let mut parts = command?.text.split(['|', ';', '&', '(', ')']);
    parts.find_map(|part| {
        let (before, after) = part.split_once("free")?;
        let is_word = before.is_empty() || before.ends_with([' ', '/']);
        (is_word && (after.is_empty() || after.starts_with(' '))).then_some(after)
    })
}

/// If the text contains no command, infers the options of `free` from the sizes in one of its rows: only one unit gives a plausible
/// amount of memory. The kernel counts pages of at least 4 KiB.
pub(super) fn assumed_command(row: &str, command: Option<&Command>) -> Option<Command> {
    const ROWS: &str = "Mem|Speicher|内存|Память|Pamięć";
    (scan::begins(row, ROWS) && options_of_free(command).is_none()).then_some(())?;
    let sizes: Vec<u64> = row.split(' ').filter_map(parse_whole).collect();
    let are_multiples = |of: u64| sizes.iter().all(|size| size % of == 0);
    let unit = match sizes.first()? {
        8_192..400_000 => "-m",
        400_000.. if are_multiples(4096) => "-b",
        400_000..4_000_000 if !are_multiples(4) => return None,
        400_000.. => "-k",
        _ => return None,
    };
    Some(Command { text: format!("free {unit}"), ..Command::default() })
}

/// KiB for a size printed by `free`: the unit follows the number, or is specified in the command.
fn memory(text: &str, command: Option<&Command>) -> Option<Option<String>> {
    const UNITS: [&str; 5] = ["B", "K", "M", "G", "T"];
    const LONG: [&str; 5] = ["--bytes", "--ki", "--me", "--gi", "--te"];
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value = parse_decimal(digits).filter(|value| *value >= 0.0)?;
    let command = options_of_free(command);
    let flags: Vec<&str> = command.iter().flat_map(|options| options.split_whitespace()).collect();
    let suffix = text[digits.len()..].trim_end_matches(['i', 'B']);
    let asked = || {
        let short = flags.iter().filter_map(|f| f.strip_prefix('-')).filter(|f| !f.starts_with('-'));
        let letters: String = short.collect();
        let long = LONG.iter().position(|unit| flags.iter().any(|flag| flag.starts_with(unit)));
        // -t prints a total.
        let short = UNITS[..4].iter().position(|unit| letters.contains(&unit.to_lowercase()));
        short.or(long).or(command.map(|_| 1))
    };
    let known = UNITS.iter().position(|unit| suffix.is_empty() || *unit == suffix);
    let at = if digits == text { asked() } else { Some(known?) };
    let decimal = flags.iter().any(|flag| scan::is_one_of(flag, "--si|--kilo|--mega|--giga|--tera"));
    let base: f64 = if decimal { 1000.0 } else { 1024.0 };
    // `free -g` prints 0 for less than a GiB.
    let at = at.filter(|at| *at < 3 || value > 0.0 || digits != text);
    Some(at.map(|at| format!("{:.0}", value * base.powi(at as i32) / 1024.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_of_memory_have_the_unit_that_was_asked_for() {
        let command = |text: &str| Some(Command { text: text.to_owned(), folder: String::new() });
        for (text, asked, kib) in [
            ("16265488", Some("free"), Some("16265488")),
            ("15884", Some("free -m"), Some("16265216")),
            ("15884", Some("free -mt"), Some("16265216")),
            ("15", Some("free -g"), Some("15728640")),
            ("15Gi", Some("free -h"), Some("15728640")),
            ("15Gi", None, Some("15728640")),
            ("7.6G", Some("free -h"), Some("7969178")),
            ("0B", Some("free -h"), Some("0")),
            ("15884", None, None),
            ("15884", Some("free --mebi"), Some("16265216")),
            ("67", Some("free --giga --total"), Some("65429688")),
            ("16265488", Some("free | grep -m1 Mem"), Some("16265488")),
            ("16265488", Some("./report.sh -m"), None),
        ] {
            let said = memory(text, asked.and_then(command).as_ref());
            assert_eq!(said, Some(kib.map(str::to_owned)), "{text} {asked:?}");
        }
    }

    #[test]
    fn sizes_without_a_command_have_the_only_unit_that_fits() {
        for (row, expected) in [
            ("Mem: 65771212 1234567 60000000 12345 4536645 63900000", Some("free -k")),
            ("Mem: 64229 1205 58593 12 4430 62402", Some("free -m")),
            ("Mem: 67349721088 1264197632 61440000000 12640256 4645523456 65433600000", Some("free -b")),
            ("Mem: 2014616 201460 1200000 1224 613156 1700000", Some("free -k")),
            ("Mem: 2014617 201460 1200000 1224 613156 1700000", None),
            ("Mem: 7821 1205 5000 12 1616 6402", None),
            ("Mem: 62Gi 1.2Gi 57Gi 12Mi 4.3Gi 60Gi", None),
        ] {
            assert_eq!(assumed_command(row, None).map(|command| command.text).as_deref(), expected, "{row}");
        }
        let own = Command { text: "sudo free -g".to_owned(), ..Command::default() };
        assert_eq!(assumed_command("Mem: 64229 1205 58593 12 4430 62402", Some(&own)), None);
    }

    #[test]
    fn times_are_read_in_the_forms_of_every_shell() {
        for (text, expected) in [
            ("0m39.763s", Some(39.763)),
            ("1h2m3,5s", Some(3723.5)),
            ("2,57", Some(2.57)),
            ("0:39.763", Some(39.763)),
            ("estate", None),
            ("1e5", None),
            ("-m1s", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        assert_eq!(time("10.05 millis"), Some(0.01005));
        assert_eq!((time("2.5 mins"), time("5")), (Some(150.0), None));
    }

    proptest! {
        #[test]
        fn no_value_panics(text in "\\PC{0,40}", times in "[0-9a-z:.,% -]{0,30}") {
            for kind in ["n", "num", "cpus", "hex", "khz", "kib", "time", "clock", "gnu-clock", "command", "mib", "a|b"] {
                let _ = (value_of(kind, &text, None), value_of(kind, &times, None));
            }
        }
    }
}
