//! cyclictest: its lines for each thread, each wake-up (`-v`), the histogram (`-h`, `-H`) and JSON (`--json`), of all
//! versions of rt-tests.
//!
//! Whether CPUs were kept awake decides what may be compared. cyclictest says that it set `/dev/cpu_dma_latency` to 0: real-time
//! threads, which have no timer slack, then ran under what linespeed calls `tuned`. Ordinary threads kept their slack
//! of 50 µs: that is neither `tuned` nor `as-is`, and is called `awake`.

mod figures;
mod json;
mod options;

#[cfg(test)]
mod tests;

use self::figures::{Distribution, Seen, Thread};
use self::options::Options;
use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};

/// Most columns of a histogram: threads.
const MOST_THREADS: usize = 8192;
/// Most bytes of a JSON file that are kept.
const MOST_JSON: usize = 64 << 20;

/// Digits that each number of a histogram's row has at least.
const LEAST_DIGITS: usize = 6;

const LATENCY: &str = "/dev/cpu_dma_latency set to ";

/// cyclictest.
pub(super) const CYCLICTEST: Tool = Tool { name: "cyclictest", opens, reader };

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text.trim();
    // Every line of it begins with one of these.
    if !text.starts_with(|c: char| c.is_ascii_digit() || "T#p\"{WM".contains(c)) {
        return false;
    }
    if text.starts_with("T:") && (thread(line).is_some() || is_cut(text))
        || text.starts_with('#') && (text.contains(LATENCY) || text == "# Histogram")
        || text.starts_with("policy: ") && text.contains("loadavg:")
        || text.starts_with("\"cmdline:\"") && text.contains("cyclictest")
        || text.starts_with("\"file_version\": ")
        || text.strip_prefix("Max CPUs = ").is_some_and(|count| numbers::parse_whole(count).is_some())
    {
        return true;
    }
    if is_row(text) {
        return true;
    }
    let may = text == "{" || text.starts_with("WARN: ") || wake_up(text).is_some();
    may && command.is_some_and(|command| command.text.contains("cyclictest"))
}

fn reader(command: Option<&Command>) -> Box<dyn Reader> {
    let options = command.map(|command| Options::read(&command.text)).unwrap_or_default();
    let seen = Seen { options, ..Seen::default() };
    Box::new(CyclicReader { seen, ..CyclicReader::default() })
}

/// `T: 0 ( 9136) P: 0 I:1000 C: 299848 Min:      5 Act:   11 Avg:   11 Max:   21205`
fn thread(line: Line) -> Option<Thread> {
    let rest = line.text.trim().strip_prefix("T:")?;
    let mut thread = Thread { line: PendingLine::from(line), ..Thread::default() };
    let (number, rest) = rest.split_once('(')?;
    let (tid, rest) = rest.split_once(')')?;
    thread.number = u32::try_from(numbers::parse_whole(number)?).ok()?;
    thread.tid = numbers::parse_whole(tid)?;
    let value = |label: &str| value_after(rest, label);
    thread.priority = Some(value("P:")?);
    thread.interval = value("I:");
    thread.cycles = value("C:")?;
    thread.min = value("Min:")?;
    thread.act = value("Act:");
    thread.average = value("Avg:")? as f64;
    thread.max = value("Max:")?;
    is_possible(&thread).then_some(thread)
}

/// What no thread has is a line that lost a label: two values ran into one.
fn is_possible(thread: &Thread) -> bool {
    let between = |value: f64| thread.min as f64 <= value && value <= thread.max as f64;
    let ordered = between(thread.average) && thread.act.is_none_or(|act| between(act as f64));
    thread.priority <= Some(99) && (thread.cycles == 0 || ordered)
}

/// What may follow a value of a thread's line without a blank, where the columns were pushed together.
const LABELS: [&str; 6] = ["I:", "C:", "Min:", "Act:", "Avg:", "Max:"];

/// The number behind a label.
fn value_after(text: &str, label: &str) -> Option<u64> {
    let (_, after) = text.split_once(label)?;
    let after = after.trim_start();
    let end = after.find(|c: char| c.is_whitespace() || c.is_alphabetic()).unwrap_or(after.len());
    let (number, rest) = after.split_at(end);
    // A unit would make it another number, and one that a margin broke is two.
    let ends = match rest.trim_start() {
        next if next.len() == rest.len() => {
            rest.is_empty() || LABELS.iter().any(|label| rest.starts_with(label))
        }
        next => next.is_empty() || next.starts_with(|c: char| c.is_alphabetic()),
    };
    numbers::parse_whole(number).filter(|_| ends)
}

/// Whether a thread's line was broken before its end.
fn is_cut(text: &str) -> bool {
    text.starts_with("T:") && (text.contains(") P:") || text.contains(")P:")) && !text.contains("Max:")
}

/// `       0:       4:      66`: thread, cycle, latency.
fn wake_up(text: &str) -> Option<(u32, u64, u64)> {
    let mut fields = text.split(':').map(numbers::parse_whole);
    let (thread, cycle, latency) = (fields.next()??, fields.next()??, fields.next()??);
    fields.next().is_none().then_some((u32::try_from(thread).ok()?, cycle, latency))
}

/// A row of the histogram, of which nothing above says so: `000058 000003\t000004`.
fn is_row(text: &str) -> bool {
    let number = |word: &str| word.len() >= 6 && word.bytes().all(|b| b.is_ascii_digit());
    text.starts_with('0') && text.split_whitespace().count() > 1 && text.split_whitespace().all(number)
}

#[derive(Default)]
struct CyclicReader {
    seen: Seen,
    in_histogram: bool,
    /// A JSON file so far, and how deep in braces it is.
    json: Option<(String, i64, PendingLine)>,
}

impl CyclicReader {
    /// A line of a JSON file.
    fn json(&mut self, line: Line) -> Fit {
        let Some((text, depth, _)) = &mut self.json else { return Fit::Between };
        if *depth <= 0 {
            return Fit::Over;
        }
        if text.len() + line.text.len() > MOST_JSON {
            *depth = 0;
            text.clear();
            return Fit::Over;
        }
        // Its words hold no braces but those of the command line, where cyclictest has none.
        *depth += line.text.matches('{').count() as i64 - line.text.matches('}').count() as i64;
        text.push_str(line.text);
        text.push('\n');
        Fit::Taken
    }

    /// `# Min Latencies: 00062 00055`
    fn totals(&mut self, text: &str) -> bool {
        let Some((label, rest)) = text.trim_start_matches(['#', ' ']).split_once(':') else { return false };
        // Five digits are the least that it prints, and two of them without a blank between are more than it has.
        let whole = |word: &str| numbers::parse_whole(word).filter(|_| (5..10).contains(&word.len()));
        let values: Option<Vec<u64>> = rest.split_whitespace().take(MOST_THREADS).map(whole).collect();
        let histogram = &mut self.seen.histogram;
        match (label, values) {
            ("Total", Some(values)) => histogram.totals = values,
            ("Min Latencies", Some(values)) => histogram.minima = values,
            ("Avg Latencies", Some(values)) => histogram.averages = values,
            ("Max Latencies", Some(values)) => histogram.maxima = values,
            ("Histogram Overflows", Some(values)) => histogram.overflows = values,
            ("Histogram Overflow at cycle number", _) => {}
            (label, _) => return label.starts_with("Thread ") && !histogram.totals.is_empty(),
        }
        true
    }

    /// `000058 000003    000004`
    fn row(&mut self, line: Line) -> bool {
        let mut words = line.text.split_whitespace();
        let Some(first) = words.next().filter(|word| word.len() >= LEAST_DIGITS) else { return false };
        // Zeros fill six digits up: a longer one that begins with them is two without a blank between.
        let count = |word: &str| {
            numbers::parse_whole(word).filter(|_| word.len() <= LEAST_DIGITS || !word.starts_with('0'))
        };
        let counts: Option<Vec<u64>> = words.take(MOST_THREADS).map(count).collect();
        let (Some(latency), Some(counts)) = (numbers::parse_whole(first), counts) else { return false };
        let histogram = &mut self.seen.histogram;
        if counts.is_empty() || !histogram.columns.is_empty() && histogram.columns.len() != counts.len() {
            return false;
        }
        histogram.columns.resize_with(counts.len(), Distribution::default);
        histogram.line.get_or_insert_with(|| PendingLine::from(line));
        for (column, count) in histogram.columns.iter_mut().zip(counts) {
            column.add(latency, count, &mut self.seen.kept);
        }
        true
    }

    /// Whether figures were read, so that what begins another output is one.
    fn begun(&self) -> bool {
        !self.seen.threads.is_empty()
            || !self.seen.histogram.columns.is_empty()
            || !self.seen.wake_ups.is_empty()
    }
}

impl Reader for CyclicReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = line.text.trim();
        if self.json.is_some() {
            return self.json(line);
        }
        if text.is_empty() {
            return Fit::Between;
        }
        let of_json = ["\"cmdline:\"", "\"file_version\": "].iter().any(|start| text.starts_with(start));
        if !self.begun() && (text == "{" || of_json) {
            if text == "{" {
                self.json = Some(("{\n".to_owned(), 1, PendingLine::from(line)));
                return Fit::Taken;
            }
            // Its first lines stood outside of what opens an output.
            self.json = Some(("{".to_owned(), 1, PendingLine::from(line)));
            return self.json(line);
        }
        // Of most outputs that are long this is nearly every line.
        self.in_histogram |= self.seen.histogram.columns.is_empty() && is_row(text);
        if self.in_histogram && self.row(line) {
            return Fit::Taken;
        }
        if is_cut(text) {
            return Fit::Unfinished;
        }
        if let Some(thread) = thread(line) {
            // Lines are printed again as time goes on; a count that falls is another run's.
            if self
                .seen
                .threads
                .get(&thread.number)
                // Before a thread has begun, its number is 0.
                .is_some_and(|known| {
                    thread.cycles < known.cycles || known.tid != 0 && thread.tid != known.tid
                })
            {
                return Fit::Over;
            }
            if self.seen.threads.len() < MOST_THREADS {
                self.seen.threads.insert(thread.number, thread);
            }
            return Fit::Taken;
        }
        self.seen.lost |= text.starts_with("T: ");
        if text.starts_with('#')
            && let Some((_, value)) = text.split_once(LATENCY)
        {
            if self.begun() || self.seen.dma_latency.is_some() {
                return Fit::Over;
            }
            self.seen.dma_latency = numbers::parse_whole(value.trim_end_matches("us"));
            return Fit::Taken;
        }
        if let Some(rest) = text.strip_prefix("policy: ").filter(|text| text.contains("loadavg:")) {
            let (policy, load) = rest.split_once(':').unwrap_or((rest, ""));
            self.seen.policy = Some(policy.split('/').next().unwrap_or(policy).trim().to_owned());
            self.seen.load = load.split_once("loadavg:").map(|(_, load)| load.trim().to_owned());
            return Fit::Taken;
        }
        if text == "# Histogram" {
            if !self.seen.histogram.columns.is_empty() {
                return Fit::Over;
            }
            self.in_histogram = true;
            return Fit::Taken;
        }
        if self.in_histogram && text.starts_with('#') && self.totals(text) {
            return Fit::Taken;
        }
        if let Some((thread, cycle, latency)) = wake_up(text) {
            if self.seen.wake_ups.len() >= MOST_THREADS && !self.seen.wake_ups.contains_key(&thread) {
                return Fit::Between;
            }
            let (last, distribution) = self.seen.wake_ups.entry(thread).or_default();
            if *last > cycle && cycle == 0 {
                return Fit::Over;
            }
            *last = cycle;
            distribution.add(latency, 1, &mut self.seen.kept);
            self.seen.wake_up_line.get_or_insert_with(|| PendingLine::from(line));
            return Fit::Taken;
        }
        let known = ["WARN: ", "Max CPUs =", "Online CPUs =", "Thread ", "# Thread ", "# Break ", "INFO: "];
        if known.iter().any(|start| text.starts_with(start)) { Fit::Taken } else { Fit::Between }
    }

    fn end(&mut self, sink: &mut Sink) {
        if let Some((text, _, line)) = self.json.take() {
            json::read(&text, &line, &mut self.seen, sink);
        }
        std::mem::take(&mut self.seen).into_sink(sink);
    }
}
