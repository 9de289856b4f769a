//! cyclictest, in all versions of rt-tests: the lines for each thread and for each wake-up (`-v`), the histogram (`-h`,
//! `-H`), and JSON (`--json`).
//!
//! Results are comparable only if CPUs were in the same idle state. If cyclictest reports that it set
//! `/dev/cpu_dma_latency` to 0, real-time threads, which have no timer slack, ran under the conditions that linespeed
//! calls `tuned`. Ordinary threads kept their slack of 50 µs, so their conditions are neither `tuned` nor `as-is`, but
//! `awake`.

mod figures;
mod json;
mod options;

#[cfg(test)]
mod tests;

use self::figures::{ENDS, Seen, Thread};
use self::options::Options;
use crate::reading::*;

/// Minimum number of digits in each number of a histogram row.
const LEAST_DIGITS: usize = 6;

const LATENCY: &str = "/dev/cpu_dma_latency set to ";
/// The beginning of cyclictest's JSON, after the brace.
const JSON: &str = "\"cmdline:\"|\"file_version\": ";

/// cyclictest.
pub(super) const CYCLICTEST: Tool = Tool {
    name: "cyclictest",
    opens,
    reader: |command| {
        let options = command.map(|command| Options::read(&command.text)).unwrap_or_default();
        Box::new(CyclicReader { seen: Seen { options, ..Seen::default() }, ..CyclicReader::default() })
    },
};

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text.trim();
    // Every line that cyclictest prints begins with one of these.
    if !text.starts_with(|c: char| c.is_ascii_digit() || "T#p\"{WM".contains(c)) {
        return false;
    }
    text.starts_with("T:") && (thread(line).is_some() || is_half(text))
        || text.starts_with('#') && (text.contains(LATENCY) || text == "# Histogram")
        || text.starts_with("policy: ") && text.contains("loadavg:")
        || scan::begins(text, JSON) && (text.contains("cyclictest") || text.starts_with("\"file"))
        || text.strip_prefix("Max CPUs = ").is_some_and(|count| parse_whole(count).is_some())
        || is_row(text)
        || (text == "{" || text.starts_with("WARN: ") || wake_up(text).is_some())
            && command.is_some_and(|command| command.text.contains("cyclictest"))
}

/// `T: 0 ( 9136) P: 0 I:1000 C: 299848 Min:      5 Act:   11 Avg:   11 Max:   21205`
fn thread(line: Line) -> Option<Thread> {
    let mut rest = line.text.trim();
    let mut value = |label: &str| {
        let after = rest.trim_start().strip_prefix(label)?.trim_start();
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        rest = &after[end..];
        after[..end].parse::<u64>().ok()
    };
    let thread = Thread {
        number: u32::try_from(value("T:")?).ok()?,
        tid: value("(")?,
        priority: value(") P:").or_else(|| value(")P:")),
        interval: value("I:"),
        cycles: value("C:")?,
        min: value("Min:")?,
        act: value("Act:"),
        average: value("Avg:")? as f64,
        max: value("Max:")?,
        cpu: None,
        line: line.into(),
    };
    // Rejects the line if a value is impossible, because part of the line is then missing, or if a unit is attached to
    // the last value, because the unit would change the meaning of the value.
    let between = |value: f64| thread.min as f64 <= value && value <= thread.max as f64;
    let ordered = between(thread.average) && thread.act.is_none_or(|act| between(act as f64));
    let priority = thread.priority.is_some_and(|priority| priority <= 99);
    let ends = rest.is_empty() || rest.starts_with(' ') && !rest.contains(|c: char| c.is_ascii_digit());
    (ends && priority && (thread.cycles == 0 || ordered)).then_some(thread)
}

/// Whether a thread's line was wrapped at a margin.
fn is_half(text: &str) -> bool {
    text.starts_with("T:") && text.contains(") P:") && (!text.contains("Max:") || text.ends_with("Max:"))
}

/// `       0:       4:      66`: thread, cycle, latency.
fn wake_up(text: &str) -> Option<(u32, u64, u64)> {
    let mut fields = text.splitn(4, ':').map(parse_whole);
    let (thread, cycle, latency) = (fields.next()??, fields.next()??, fields.next()??);
    fields.next().is_none().then_some((u32::try_from(thread).ok()?, cycle, latency))
}

/// A row of a histogram whose header is missing: `000058 000003\t000004`.
fn is_row(text: &str) -> bool {
    let number = |word: &str| word.len() >= LEAST_DIGITS && word.bytes().all(|b| b.is_ascii_digit());
    text.starts_with('0') && text.contains([' ', '\t']) && text.split_whitespace().all(number)
}

#[derive(Default)]
struct CyclicReader {
    seen: Seen,
    /// A thread's line, which may have been wrapped at a margin.
    above: PendingLine,
    in_histogram: bool,
    json: Document,
}

impl CyclicReader {
    /// `# Min Latencies: 00062 00055`
    fn totals(&mut self, text: &str) -> Option<()> {
        let (label, rest) = scan::pair(text.trim_start_matches(['#', ' ']))?;
        // Numbers have at least five digits; more digits indicate two numbers without a space between them.
        let whole = |word: &str| parse_whole(word).filter(|_| (5..10).contains(&word.len()));
        let ends = &mut self.seen.histogram.ends;
        let Some(at) = ENDS.iter().position(|end| *end == label) else {
            let known = label.starts_with("Thread ") && !ends[0].is_empty();
            return (known || label == "Histogram Overflow at cycle number").then_some(());
        };
        ends[at] = scan::all(rest.split_whitespace(), whole)?;
        Some(())
    }

    /// `000058 000003    000004`
    fn row(&mut self, line: Line) -> Option<()> {
        // Numbers are padded with zeros to six digits: a longer number that begins with zeros is two numbers without a
        // space between them.
        let whole =
            |word: &str| parse_whole(word).filter(|_| word.len() <= LEAST_DIGITS || !word.starts_with('0'));
        let (first, counts) = line.text.trim().split_once([' ', '\t'])?;
        let latency = parse_whole(first).filter(|_| first.len() >= LEAST_DIGITS)?;
        let counts = scan::all(counts.split_whitespace(), whole)?;
        let histogram = &mut self.seen.histogram;
        let columns = histogram.columns.len();
        (!counts.is_empty() && (columns == 0 || columns == counts.len())).then_some(())?;
        histogram.columns.resize_with(counts.len(), Default::default);
        histogram.line.get_or_insert_with(|| PendingLine::from(line));
        for (column, count) in histogram.columns.iter_mut().zip(counts) {
            column.add(latency, count);
        }
        Some(())
    }

    /// Whether results have been read, in which case a new header begins another output.
    fn begun(&self) -> bool {
        !self.seen.threads.is_empty()
            || !self.seen.histogram.columns.is_empty()
            || !self.seen.last_cycles.is_empty()
    }
}

impl Reader for CyclicReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = line.text.trim();
        if self.json.begun() {
            return self.json.take(line, line.text, "\"\"");
        }
        if !self.begun() && (text == "{" || scan::begins(text, JSON)) {
            // The output may begin below the line with the opening brace.
            return self.json.take(line, &format!("{{{}", text.trim_start_matches('{')), "\"\"");
        }
        // In most long outputs, nearly every line is a row of the histogram.
        self.in_histogram |= self.seen.histogram.columns.is_empty() && is_row(text);
        if self.in_histogram && self.row(line).is_some() {
            return Fit::Taken;
        }
        let above = std::mem::take(&mut self.above);
        let cut = is_half(above.line().text);
        let ends = cut || !above.line().text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let whole = if ends { format!("{}{text}", above.line().text) } else { String::new() };
        let joined = Line { number: above.line().number, text: &whole };
        let thread = thread(joined).or_else(|| thread(line));
        self.seen.lost |= cut && !is_half(&whole) && thread.is_none();
        if is_half(&whole) || text.starts_with("T:") {
            self.above = if text.starts_with("T:") { line.into() } else { joined.into() };
            if thread.is_none() && is_half(self.above.line().text) {
                return Fit::Taken;
            }
        }
        let seen = &mut self.seen;
        if let Some(thread) = thread {
            // Lines are printed repeatedly; a decreasing count belongs to another run. Before a thread has started, its
            // thread ID is 0.
            let is_of_another =
                |known: &Thread| thread.cycles < known.cycles || known.tid != 0 && thread.tid != known.tid;
            if seen.threads.get(&thread.number).is_some_and(is_of_another) {
                return Fit::Over;
            }
            seen.threads.insert(thread.number, thread);
        } else if let Some((thread, cycle, latency)) = wake_up(text) {
            if seen.last_cycles.insert(thread, cycle).is_some_and(|last| last > cycle && cycle == 0) {
                return Fit::Over;
            }
            seen.distributions.entry(thread).or_default().add(latency, 1);
            seen.wake_up_line.get_or_insert_with(|| PendingLine::from(line));
        } else if let Some((_, value)) = text.split_once(LATENCY).filter(|_| text.starts_with('#')) {
            if self.begun() || self.seen.dma_latency.is_some() {
                return Fit::Over;
            }
            self.seen.dma_latency = parse_whole(value.trim_end_matches("us"));
        } else if let Some((policy, load)) =
            text.strip_prefix("policy: ").and_then(|rest| rest.split_once(": loadavg:"))
        {
            seen.policy = policy.split('/').next().map(|policy| policy.trim().to_owned());
            seen.load = Some(load.trim().to_owned());
        } else if text == "# Histogram" {
            if !seen.histogram.columns.is_empty() {
                return Fit::Over;
            }
            self.in_histogram = true;
        } else if !(self.in_histogram && text.starts_with('#') && self.totals(text).is_some()) {
            self.seen.lost |= text.starts_with("T: ");
            let known = "WARN: |Max CPUs =|Online CPUs =|Thread |# Thread |# Break |INFO: ";
            return if scan::begins(text, known) { Fit::Taken } else { Fit::Between };
        }
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        self.seen.lost |= is_half(self.above.line().text);
        if self.json.begun() {
            json::read(&self.json, &mut self.seen, sink);
        }
        std::mem::take(&mut self.seen).into_sink(sink);
    }
}
