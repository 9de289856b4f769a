//! `perf stat -x SEPARATOR` and `perf stat -j`: a counter a line, in fields or as a JSON object.
//!
//! Fields, those in brackets only with the options that add them (perf-stat(1), "CSV FORMAT"):
//! `[interval] [CPU0 | S0,2 | comm-123] value unit event [variance] run-time percentage [metric metric-unit]`.

use serde_json::Value;

use super::text::{Counter, Part, is_event};
use crate::numbers;

/// Separators that are recognised without the command line; `-x` takes any other.
pub(super) const USUAL: &[char] = &[',', ';', '|', '\t', ':', '^'];

/// Fields of a line that no option made shorter.
const LEAST_FIELDS: usize = 5;

/// Reads a line of fields. Without a known separator it must stand in the line so that nothing else can be meant.
pub(super) fn fields<'a>(text: &'a str, separator: Option<&str>) -> Option<Counter<'a>> {
    match separator {
        Some(separator) => split(text.trim_end_matches(['\r', '\n']), separator, false),
        None => {
            // Value, unit, event, time and share are five fields.
            let many = |separator: &&char| text.matches(**separator).count() >= LEAST_FIELDS - 1;
            USUAL
                .iter()
                .filter(many)
                .find_map(|separator| split(text.trim(), separator.encode_utf8(&mut [0; 4]), true))
                .or_else(|| blanks(text))
        }
    }
}

/// Reads a line whose separator is a blank: `0.68 msec cpu-clock 680617 100.00 0.505 CPUs utilized`, `0  cs 680617 100.00`.
pub(super) fn blanks(text: &str) -> Option<Counter<'_>> {
    let first = text.split(' ').next()?;
    let plain = first.starts_with('<') || numbers::parse_plain(first).is_some();
    plain.then(|| split(text.trim_end(), " ", true)).flatten()
}

fn split<'a>(text: &'a str, separator: &str, strict: bool) -> Option<Counter<'a>> {
    let fields: Vec<&str> = text.split(separator).map(str::trim).take(32).collect();
    let is_value = |field: &str| field.starts_with("<not ") || numbers::parse_decimal(field).is_some();
    // The value is the first figure that a unit (which is no figure) and an event follow.
    let at = (0..fields.len().min(4)).find(|at| {
        let event = fields.get(at + 2).is_some_and(|event| is_event(event));
        is_value(fields[*at])
            && event
            && fields.get(at + 1).is_some_and(|unit| !is_value(unit) && unit.len() <= 12)
    })?;
    let mut counter =
        Counter { unit: fields[at + 1].into(), event: fields[at + 2].into(), ..Counter::default() };
    let mut rest = &fields[at + 3..];
    if let Some(spread) = rest.first().and_then(|field| numbers::parse_decimal(field.strip_suffix('%')?)) {
        counter.spread = Some(spread / 100.0);
        rest = &rest[1..];
    }
    let run_time = rest.first().and_then(|field| numbers::parse_whole(field));
    let percent = rest.get(1).filter(|field| numbers::parse_decimal(field).is_some());
    if strict && (run_time.is_none() || percent.is_none()) {
        return None;
    }
    // With full coverage nothing was scaled.
    counter.percent = percent.filter(|_| run_time.is_some()).map(|field| (*field).into());
    counter.value = numbers::parse_decimal(fields[at]);
    counter.comment = rest.get(2..).unwrap_or_default().join(" ").into();
    for front in &fields[..at] {
        if let Some(cpu) = front.strip_prefix("CPU").and_then(|cpu| cpu.parse().ok()) {
            counter.part = Part::Cpu(cpu);
        } else if front.starts_with(['S', 'D', 'C', 'N', 'L'])
            && front.ends_with(|c: char| c.is_ascii_digit())
        {
            counter.part = Part::Group((*front).to_owned());
        } else if front.starts_with(|c: char| c.is_alphabetic()) {
            counter.part = Part::Thread((*front).to_owned());
        } else if front.contains(['.', ',']) {
            counter.interval = numbers::parse_decimal(front);
        }
    }
    Some(counter)
}

/// Reads a JSON line.
pub(super) fn json(text: &str) -> Option<Counter<'static>> {
    let text = text.trim();
    if !text.starts_with('{') || !text.contains("\"counter-value\"") {
        return None;
    }
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { return None };
    let word = |key: &str| object.get(key).and_then(Value::as_str);
    let number = |key: &str| match object.get(key) {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => numbers::parse_decimal(text),
        _ => None,
    };
    let groups = ["socket", "die", "core", "node", "cluster", "cache"];
    let cpu = number("cpu").filter(|cpu| *cpu >= 0.0).map(|cpu| cpu as u32);
    let cpu = cpu.or_else(|| word("cpu")?.trim_start_matches("CPU").parse().ok());
    let thread = || Some(Part::Thread(word("thread")?.to_owned()));
    let group = || Some(Part::Group(groups.iter().find_map(|key| word(key))?.to_owned()));
    let part = cpu.map(Part::Cpu).or_else(thread).or_else(group).unwrap_or_default();
    let metric =
        number("metric-value").map(|value| format!("{value} {}", word("metric-unit").unwrap_or_default()));
    Some(Counter {
        interval: number("interval"),
        part,
        value: number("counter-value"),
        unit: word("unit").unwrap_or_default().to_owned().into(),
        event: word("event").filter(|event| is_event(event))?.to_owned().into(),
        comment: metric.unwrap_or_default().into(),
        spread: number("variance").map(|percent| percent / 100.0),
        percent: number("pcnt-running").map(|percent| percent.to_string().into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_of_every_option_are_read() {
        let counter =
            fields("0.59,msec,task-clock,585703,100.00,0.296,CPUs utilized", None).expect("is read");
        assert_eq!((counter.value, &*counter.unit), (Some(0.59), "msec"));
        assert_eq!(counter.percent.as_deref(), Some("100.00"));
        let counter = fields("<not supported>,,cycles,0,100.00,,", None).expect("is read");
        assert_eq!((counter.value, &*counter.event), (None, "cycles"));
        let counter = fields("49;;page-faults;1.02%;533414;100.00;99.335;K/sec", Some(";")).expect("is read");
        assert_eq!((counter.value, counter.spread), (Some(49.0), Some(0.0102)));
        let counter = fields("     1.001231235,CPU3,1234567,,cycles,1001,25.02,,", None).expect("is read");
        assert_eq!((counter.interval, counter.part), (Some(1.001231235), Part::Cpu(3)));
        assert_eq!(counter.value, Some(1_234_567.0));
        let counter = fields("S0-D0,2,74,,cs,202960000,100.00,364.600,/sec", None).expect("is read");
        assert_eq!((counter.part, counter.value), (Part::Group("S0-D0".to_owned()), Some(74.0)));
        let counter =
            fields("0,59;msec;task-clock;585703;100,00;0,296;CPUs utilized", None).expect("is read");
        assert_eq!(counter.value, Some(0.59));
    }

    #[test]
    fn other_tables_are_no_counters() {
        for text in ["", "a,b,c", "1,2,3,4,5", "cpu,node,socket", "2024,Q1,sales,12,30.5x", "# CPU,Core"] {
            assert_eq!(fields(text, None), None, "{text}");
            assert_eq!(json(text), None, "{text}");
        }
    }

    #[test]
    fn json_lines_say_what_the_text_says() {
        let counter = json(
            r#"{"counter-value" : "49.000000", "unit" : "", "event" : "page-faults", "event-runtime" : 499063, "pcnt-running" : 25.02, "metric-value" : 98.183997, "metric-unit" : "K/sec"}"#,
        )
        .expect("is read");
        assert_eq!((counter.value, &*counter.event), (Some(49.0), "page-faults"));
        assert_eq!(counter.percent.as_deref(), Some("25.02"));
        let missing = json(r#"{"counter-value" : "<not supported>", "event" : "cycles"}"#).expect("is read");
        assert_eq!(missing.value, None);
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,100}", rest in "[0-9a-z,;%<> .-]{0,60}") {
            for text in [text, rest] {
                let _ = (fields(&text, None), fields(&text, Some(",")), fields(&text, Some("::")), json(&text));
                let _ = json(&format!("{{\"counter-value\" : \"{text}\", \"event\" : \"cycles\"}}"));
            }
        }
    }
}
