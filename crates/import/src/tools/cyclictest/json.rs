//! cyclictest's `--json`.

use serde_json::Value;

use super::figures::{Distribution, Seen, Thread};
use super::options::Options;
use crate::reading::*;

/// Reads a complete file. A truncated or damaged file yields only a note.
pub(super) fn read(document: &Document, seen: &mut Seen, sink: &mut Sink) {
    let line = document.first.line();
    let Some(file) = document.value() else {
        return sink.withhold(metrics::WAKEUP_LATENCY, "the JSON file is truncated or damaged", line);
    };
    // rt-tests itself writes the colon inside the quoted key.
    let word = |key: &str| file.get(key).or_else(|| file.get(format!("{key}:"))).and_then(Value::as_str);
    if let Some(command) = word("cmdline") {
        seen.options = Options::read(command);
        // The other programs of rt-tests write files in the same format.
        if !seen.options.known {
            return sink.withhold(metrics::WAKEUP_LATENCY, format!("the file is from {command}"), line);
        }
    }
    // The machine and its system.
    let system = |key: &str| {
        let text = file.get("sysinfo")?.get(key)?.as_str()?;
        Some(machine::text::clean_to(text, 200)).filter(|text| !text.is_empty())
    };
    for (key, file) in [("nodename", "hostname"), ("release", "osrelease"), ("machine", "arch")] {
        if let Some(text) = system(key) {
            sink.add_file(format!("/proc/sys/kernel/{file}"), text, line);
        }
    }
    if let Some((release, version)) = system("release").zip(system("version")) {
        sink.add_file("/proc/version".to_owned(), format!("Linux version {release} {version}"), line);
    }
    word("rt_test_version").into_iter().for_each(|version| sink.version(version));
    seen.options.nanoseconds |= file.get("resolution_in_ns").and_then(Value::as_u64) == Some(1);
    for (number, figures) in file.get("thread").and_then(Value::as_object).into_iter().flatten() {
        let Some(number) = number.parse().ok().filter(|number: &u32| *number < 65536) else { continue };
        let whole = |key: &str| figures.get(key).and_then(Value::as_u64);
        let average = figures.get("avg").and_then(Value::as_f64);
        let (Some(cycles), Some(min), Some(max), Some(average)) =
            (whole("cycles"), whole("min"), whole("max"), average)
        else {
            continue;
        };
        let mut distribution = Distribution::default();
        for (latency, count) in figures.get("histogram").and_then(Value::as_object).into_iter().flatten() {
            if let (Some(latency), Some(count)) = (parse_whole(latency), count.as_u64()) {
                distribution.add(latency, count);
            }
        }
        distribution.overflow = cycles.saturating_sub(distribution.inside());
        if distribution.inside() > 0 {
            seen.distributions.insert(number, distribution);
        }
        let cpu = whole("cpu").and_then(|cpu| u32::try_from(cpu).ok());
        let line = document.first.clone();
        let thread = Thread { number, cycles, min, max, average, cpu, line, ..Thread::default() };
        seen.threads.insert(number, thread);
    }
}
