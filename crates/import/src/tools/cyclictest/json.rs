//! cyclictest's `--json`.

use serde_json::Value;

use super::figures::{Distribution, Seen, Thread};
use super::options::Options;
use crate::line::PendingLine;
use crate::numbers;
use crate::sink::Sink;

/// Which machine it is and what it runs.
fn system(file: &Value, line: &PendingLine, sink: &mut Sink) {
    let machine = &sink.draft.machine;
    let word = |key: &str| {
        let text = file.get("sysinfo")?.get(key)?.as_str()?;
        Some(machine::text::clean_to(text, 200)).filter(|text| !text.is_empty())
    };
    let (name, release, version, architecture) =
        (word("nodename"), word("release"), word("version"), word("machine"));
    let known = (!machine.architecture.is_empty(), machine.kernel.release.is_some());
    let mut paths = Vec::new();
    let draft = &mut sink.draft.machine;
    if draft.hostname.is_none() && name.is_some() {
        draft.hostname = name;
        paths.push("machine.hostname");
    }
    if !known.1 && release.is_some() {
        (draft.kernel.release, draft.kernel.version) = (release, version);
        paths.push("machine.kernel.release");
    }
    if let Some(architecture) = architecture.filter(|_| !known.0) {
        draft.architecture = architecture;
        paths.push("machine.architecture");
    }
    for path in paths {
        sink.note(path, line.line());
    }
}

/// Reads a whole file. One that is cut or damaged gives nothing but the note that it is so.
pub(super) fn read(text: &str, line: &PendingLine, seen: &mut Seen, sink: &mut Sink) {
    let Ok(file) = serde_json::from_str::<Value>(text) else {
        sink.withhold("wakeup.latency", "the JSON file is cut off or damaged".to_owned(), line.line());
        return;
    };
    // The colon within the key is rt-tests' own.
    let word = |key: &str| file.get(key).or_else(|| file.get(format!("{key}:"))).and_then(Value::as_str);
    if let Some(command) = word("cmdline") {
        seen.options = Options::read(command);
        // The other programs of rt-tests write files of the same form.
        if !seen.options.known {
            sink.withhold("wakeup.latency", format!("the file is of {command}"), line.line());
            return;
        }
    }
    system(&file, line, sink);
    if let Some(version) = word("rt_test_version") {
        sink.version(version);
    }
    if file.get("resolution_in_ns").and_then(Value::as_u64) == Some(1) {
        seen.options.nanoseconds = true;
    }
    let Some(threads) = file.get("thread").and_then(Value::as_object) else { return };
    for (number, figures) in threads {
        let Some(number) = number.parse().ok().filter(|number: &u32| *number < 65536) else { continue };
        let whole = |key: &str| figures.get(key).and_then(Value::as_u64);
        let average = figures.get("avg").and_then(Value::as_f64);
        let (Some(cycles), Some(min), Some(max), Some(average)) =
            (whole("cycles"), whole("min"), whole("max"), average)
        else {
            continue;
        };
        let cpu = whole("cpu").and_then(|cpu| u32::try_from(cpu).ok());
        let line = line.clone();
        let thread = Thread { number, cycles, min, max, average, cpu, line, ..Thread::default() };
        let mut distribution = Distribution::default();
        for (latency, count) in figures.get("histogram").and_then(Value::as_object).into_iter().flatten() {
            if let (Some(latency), Some(count)) = (numbers::parse_whole(latency), count.as_u64()) {
                distribution.add(latency, count, &mut seen.kept);
            }
        }
        distribution.overflow = cycles.saturating_sub(distribution.inside());
        if distribution.inside() > 0 {
            seen.distributions.insert(number, distribution);
        }
        seen.threads.insert(number, thread);
    }
}
