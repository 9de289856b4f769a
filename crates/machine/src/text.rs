//! Cleans names from firmware and the kernel, and parses the two line formats of procfs.

use record::CpuList;

/// Maximum length of a stored name, in characters.
const MAX_NAME: usize = 200;

/// A name for display, with at most 200 characters. Control characters and characters that are invisible or change the
/// text direction are removed, and each run of white space becomes one space.
pub fn clean(text: &str) -> String {
    clean_to(text, MAX_NAME)
}

/// Like [`clean`], with at most `max` characters.
pub fn clean_to(text: &str, max: usize) -> String {
    let mut cleaned = String::with_capacity(text.len().min(max * 4));
    let mut kept = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = true;
        } else if !c.is_control() && !invisible(c) {
            if kept >= max {
                break;
            }
            if gap && kept > 0 && kept + 1 < max {
                cleaned.push(' ');
                kept += 1;
            }
            gap = false;
            cleaned.push(c);
            kept += 1;
        }
    }
    cleaned
}

/// A cleaned name; `None` if it is empty afterwards.
pub fn name(text: &str) -> Option<String> {
    Some(clean(text)).filter(|name| !name.is_empty())
}

/// Characters that are invisible or change the text direction.
fn invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffd}' | '\u{e0000}'..='\u{e007f}')
}

/// The value of the first line `key : value`, as in `/proc/cpuinfo` and `/proc/meminfo`.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    fields(text, key).next()
}

/// The values of all lines `key : value`, in order.
pub fn fields<'a>(text: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.strip_prefix(key)?.split_once(':')?;
        name.trim().is_empty().then(|| value.trim())
    })
}

/// The value of the first line `NAME=value` of a shell-like file (`os-release`), without its quotes.
pub fn assignment<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let value = line.trim().strip_prefix(key)?.strip_prefix('=')?.trim();
        let quoted = ['"', '\''].into_iter().find_map(|q| value.strip_prefix(q)?.strip_suffix(q));
        Some(quoted.unwrap_or(value))
    })
}

/// A number in decimal, or in hexadecimal after `0x`.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((text, 10), |digits| (digits, 16));
    // The standard parser would accept a sign.
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
}

/// A CPU list that may be absent, or `(null)`, which some kernels print for an empty list.
pub fn cpu_list(text: Option<String>) -> CpuList {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// A line of a meminfo file in bytes: `MemAvailable:   2048 kB`. A value above 2^57 bytes means that the file is
/// corrupt: physical addresses have at most 52 bits, and five-level page tables cover 57 bits.
pub fn bytes_field(text: &str, key: &str) -> Option<u64> {
    let value = field(text, key)?.strip_suffix("kB")?.trim();
    value.parse::<u64>().ok()?.checked_mul(1024).filter(|bytes| *bytes <= 1 << 57)
}

/// Undoes the octal escapes of mount tables and lists of swap areas: a space is `\040`.
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if *first == b'\\' => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_cannot_drive_a_terminal() {
        assert_eq!(clean("\x1b]0;owned\x07 DIMM\u{202e}A1 \r\n"), "]0;owned DIMMA1");
        assert_eq!(clean("  Intel(R)   Xeon(R)\tCPU  "), "Intel(R) Xeon(R) CPU");
        assert_eq!(name("\0\0 \n"), None);
        assert_eq!(clean(&"ä".repeat(1000)).chars().count(), 200);
    }

    #[test]
    fn fields_are_matched_by_their_whole_name() {
        let cpuinfo = "model name\t: A\nmodel\t\t: 7\nflags : \nmodel\t: 8\n";
        assert_eq!(field(cpuinfo, "model"), Some("7"));
        assert_eq!(field(cpuinfo, "model name"), Some("A"));
        assert_eq!(fields(cpuinfo, "model").count(), 2);
        assert_eq!(field(cpuinfo, "flags"), Some(""));
        assert_eq!(field(cpuinfo, "stepping"), None);
    }

    #[test]
    fn os_release_values_lose_their_quotes() {
        let text = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME='X 1'\nID=debian\n";
        assert_eq!(assignment(text, "PRETTY_NAME"), Some("X 1"));
        assert_eq!(assignment(text, "NAME"), Some("Debian GNU/Linux"));
        assert_eq!(assignment(text, "ID"), Some("debian"));
        assert_eq!(assignment(text, "ID_LIKE"), None);
    }

    proptest! {
        #[test]
        fn whatever_the_firmware_says_is_clean(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(cleaned.chars().count() <= 200);
            prop_assert!(!cleaned.chars().any(char::is_control));
            prop_assert_eq!(cleaned.trim(), cleaned.as_str());
            prop_assert_eq!(&clean(&cleaned), &cleaned);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,200}", key in "\\PC{0,8}") {
            let _ = (field(&text, &key), assignment(&text, &key), number(&text), cpu_list(Some(text.clone())));
        }
    }
}
