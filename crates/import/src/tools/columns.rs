//! Tools that print a row per interval or CPU below a header: turbostat, vmstat, iostat, mpstat and sar. `columns.txt`
//! defines the meaning of each column.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use crate::reading::*;

/// Columns that identify the CPU of a row.
pub(crate) const IDS: &str = "pk|cr|cor|CPU|Package|Die|L3|Node|Module|Core|cpu|usec|Time_Of_Day_Seconds|APIC|X2APIC|cpu.PKG|cpu.CORE|cpu.CPU";

/// Declares a tool whose tables have these headers.
const fn tool(name: &'static str, opens: fn(Line, Option<&Command>) -> bool) -> Tool {
    let reader: fn(Option<&Command>) -> Box<dyn Reader> = |command| {
        let text = command.map_or("", |command| &command.text);
        let are_letters = |word: &&str| word.bytes().all(|b| b.is_ascii_alphabetic());
        let options: String =
            text.split(' ').filter_map(|w| w.strip_prefix('-')).filter(are_letters).collect();
        // With -y, neither vmstat nor iostat prints the averages since boot.
        let (begun, summary) = (options.contains('y'), options.contains('S') || text.contains("--Summary"));
        let unit = ["-S", "S ", "--unit"].iter().find_map(|option| Some(text.split_once(option)?.1));
        let unit = unit.unwrap_or_default().trim_start_matches([' ', '=']);
        let units = [("k", 1000.0 / 1024.0), ("m", 1e6 / 1024.0), ("M", 1024.0)];
        let kib = scan::find_start(&units, unit).map_or(1.0, |(kib, _)| kib);
        Box::new(ColumnsReader { begun, summary, kib, ..ColumnsReader::default() })
    };
    Tool { name, opens, reader }
}

/// turbostat.
pub(super) const TURBOSTAT: Tool = tool("turbostat", |line, _| {
    line.text.starts_with("turbostat version ")
        || head(line.text).is_some_and(|columns| is_turbostat(&columns))
});

/// vmstat.
pub(super) const VMSTAT: Tool = tool("vmstat", |line, _| {
    scan::begins(line.text, "procs -|--procs-|procs  ")
        || head(line.text).is_some_and(|columns| is_vmstat(&columns))
});

/// cpupower monitor.
pub(super) const MONITOR: Tool =
    tool("cpupower monitor", |line, _| line.text.contains("CPU|") && head(line.text).is_some());

/// mpstat, sar and iostat.
pub(super) const SYSSTAT: Tool = tool("sar, mpstat and iostat", |line, _| head(line.text).is_some());

/// The quantity in a column, and its name in the record.
fn meaning(column: &str) -> Option<(&'static str, String)> {
    static NAMES: OnceLock<HashMap<&str, (&str, &str)>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let rows = scan::rows::<3>(include_str!("columns.txt"));
        rows.map(|[name, kind, word]| (name, (kind, word))).collect()
    });
    let known = names.get(column).map(|(kind, word)| (*kind, (*word).to_owned()));
    // `CPU%c6`, `%c6`, `Pkg%pc6`, `%pc6`.
    let starts = [("CPU%c", "core c"), ("%c", "core c"), ("Pkg%pc", "package pc"), ("%pc", "package pc")];
    let numbered = scan::find_start(&starts, column).filter(|(_, number)| parse_whole(number).is_some());
    // `C6%`, `POLL%`, and the states that cpupower shows for the kernel.
    let named = column.strip_suffix('%').filter(|name| name.starts_with('C') || *name == "POLL");
    let named = named.or(column.strip_prefix("idle.")).map(str::to_owned);
    let state = numbered.map(|(name, number)| format!("{name}{number}")).or(named);
    known.or(state.map(|state| ("state", state)))
}

/// The words of a row after the leading time of day, and whether the row contains the averages over all rows.
fn without_time(text: &str) -> (Vec<&str>, bool) {
    let words = scan::words(text);
    let is_time = |word: &&&str| {
        word.contains(':') && word.bytes().all(|b| b.is_ascii_digit() || b == b':')
            || word.ends_with('秒') && word.starts_with(|c: char| c.is_ascii_digit())
            || scan::is_one_of(word, "AM|PM|上午|下午")
    };
    // The word for `Average:` in any language. A word with a digit is a host name instead.
    let is_mean = |word: &&str| word.ends_with([':', '：']) && !word.contains(|c: char| c.is_ascii_digit());
    let mean = words.first().is_some_and(is_mean);
    let times = words.iter().take(2).take_while(is_time).count();
    (words[times.max(usize::from(mean))..].to_vec(), mean)
}

/// The columns of a header line.
fn head(text: &str) -> Option<Vec<String>> {
    // A quick check that excludes most lines.
    let marks = |text: &str| text.len() > 16 && ["ldavg-", " swpd ", "CPU|"].iter().any(|m| text.contains(m));
    (text.bytes().any(|b| matches!(b, b'%' | b'_' | b'/')) || marks(text)).then_some(())?;
    // Some versions of turbostat print these two headers without a space between them.
    let text = text.replace("WattRAMWatt", "Watt RAMWatt").replace("CPU|", "CPU||");
    // The names of vmstat's columns are common words, so they get a prefix. In cpupower's output, C6 is a hardware
    // state or a state that the kernel requested; the latter is in the group that also contains POLL.
    let of = if text.contains(" swpd ") { "vm." } else { ["", "cpu."][usize::from(text.contains("CPU|"))] };
    let mut columns = Vec::new();
    for group in text.split("||") {
        let of = if of == "cpu." && group.contains("POLL") { "idle." } else { of };
        let group = group.replace('|', " ");
        columns.extend(without_time(&group).0.iter().map(|word| format!("{of}{word}")));
    }
    // vmstat -t ends the header with the time zone.
    if is_vmstat(&columns) && columns.last().is_some_and(|last| last.contains(char::is_uppercase)) {
        columns.pop();
    }
    let known = columns.iter().filter(|column| meaning(column).is_some()).count();
    // pidstat prints one row per process.
    let is_name = |column: &String| column.len() <= 20 && parse_decimal(column).is_none() && column != "PID";
    let names = columns.iter().all(is_name);
    // A single known column is accepted only next to a CPU column.
    let enough = known >= 2 || known == 1 && columns.len() == 2 && columns[0].ends_with("CPU");
    (enough && names && columns.len() < 200).then_some(columns)
}

fn is_vmstat(columns: &[String]) -> bool {
    columns.iter().any(|column| column == "vm.swpd")
}

fn is_turbostat(columns: &[String]) -> bool {
    columns.iter().any(|column| matches!(column.as_str(), "Bzy_MHz" | "TSC_MHz" | "Avg_MHz" | "TSC"))
}

/// The results of a column for one CPU: one per interval, and the mean printed at the end.
#[derive(Default)]
struct Column {
    samples: Vec<f64>,
    mean: Option<f64>,
    line: PendingLine,
}

#[derive(Default)]
struct ColumnsReader {
    columns: Vec<String>,
    found: BTreeMap<(String, Option<u32>), Column>,
    /// Whether the averages since boot have already been read, or are missing from the output; for turbostat, whether a row below the
    /// header has been read.
    begun: bool,
    /// Whether turbostat prints only rows for the whole machine.
    summary: bool,
    /// The unit of vmstat's memory columns, in KiB.
    kib: f64,
    /// Reads the lines above turbostat's table.
    preface: Option<Box<dyn Reader>>,
    /// The number of columns of iostat's table of devices.
    devices: usize,
    /// The first word of the last header: a time, or `avg-cpu:` of iostat.
    lead: String,
    /// The first row that is not read, and the reason.
    skipped: Option<(&'static str, PendingLine)>,
    /// The header or row directly above, which may have been wrapped at a margin.
    above: PendingLine,
    /// Whether the line above was a header.
    below_head: bool,
    /// Whether the header was wrapped at a margin.
    cut: bool,
    /// The column of the last value in the row above, if that row seemed complete.
    last: Option<(String, Option<u32>)>,
}

impl ColumnsReader {
    /// Reads a row, if it is complete.
    fn row(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.replace('|', " ");
        let (mut words, mean) = without_time(&text);
        if is_vmstat(&self.columns) {
            words.truncate(self.columns.len());
        }
        if self.columns.is_empty() {
            // turbostat describes the processor above its table.
            self.preface.get_or_insert_with(|| (super::files::TURBOSTAT.reader)(None)).line(line, sink);
            return Fit::Taken;
        }
        let last = self.columns.iter().rposition(|column| scan::is_one_of(column, IDS));
        let ids = last.map_or(0, |last| last + 1);
        // Older versions leave the CPU columns blank in the row for all CPUs.
        let timed = self.columns.iter().take(2).any(|column| column == "Time_Of_Day_Seconds");
        let blank = if !timed && words.first().is_some_and(|w| w.contains(['.', ','])) { ids } else { 0 };
        let columns = &self.columns[blank..];
        // Rows for nodes, devices and networks are not recorded.
        let first = self.columns.first().is_some_and(|column| meaning(column).is_none());
        let of_a_part = ids == 0 && first && !is_turbostat(&self.columns);
        if of_a_part && words.first().is_none_or(|word| *word != "all") {
            return Fit::Taken;
        }
        let is_id = |word: &&str| parse_decimal(word).is_some() || matches!(*word, "-" | "all");
        if blank == 0 && !words.iter().take(ids).all(is_id) {
            return Fit::Between;
        }
        // turbostat omits trailing columns that hyperthread siblings share. A row without the per-CPU columns is
        // truncated.
        let own = columns.iter().rposition(|column| scan::is_one_of(column, "Bzy_MHz|TSC_MHz|GHz|TSC"));
        let fits = words.len() == columns.len()
            || words.len() < columns.len() && own.is_some_and(|last| words.len() > last);
        let number = |word: &&str| parse_decimal(word).is_some();
        // iostat also prints a table of devices.
        let of_device = words.len() == self.devices && words.first().is_some_and(|word| !number(word));
        if of_device || text.starts_with("Device") {
            self.devices = words.len();
            return Fit::Taken;
        }
        if !fits || !words.iter().any(number) || !words.iter().all(is_id) {
            return Fit::Between;
        }
        // The first row of vmstat and iostat covers the time since boot, as do all rows of mpstat without an interval.
        let first = !std::mem::replace(&mut self.begun, true);
        let timeless = self.lead.contains(':') && line.text.trim_start().starts_with(&self.lead) && !mean;
        let is_old = first && (is_vmstat(&self.columns) || self.lead.starts_with("avg")) || timeless;
        let is_cpu = |column: &String| scan::is_one_of(column, "CPU|cpu|cpu.CPU");
        // turbostat's first row below a header is for the whole machine.
        let is_placed = first || self.summary || self.columns.iter().any(is_cpu);
        if is_old || is_turbostat(&self.columns) && !is_placed {
            let why =
                ["its CPU is unknown", "an average since boot, not of an interval"][usize::from(is_old)];
            self.skipped.get_or_insert((why, line.into()));
            return Fit::Taken;
        }
        let at = columns.iter().position(is_cpu);
        let cpu = at.and_then(|at| words.get(at)?.parse().ok());
        for (name, value) in columns.iter().zip(words) {
            self.last = None;
            let Some((kind, word)) = meaning(name) else { continue };
            let exponent = match kind {
                "state" => -2,
                "clock" | "tsc" => scan::find(&[("in GHz", 9)], &word).unwrap_or(6),
                _ => 0,
            };
            let unit = if scan::is_one_of(name, "vm.si|vm.so|vm.swpd") { self.kib } else { 1.0 };
            let Some(value) = parse_scaled(value, exponent).map(|value| value * unit) else { continue };
            // A TSC with a different rate belongs to another machine.
            let key = (name.clone(), cpu);
            let rate = Some(&key).filter(|_| kind == "tsc" && cpu.is_none()).and_then(|k| self.found.get(k));
            if let Some((known, line_of)) = rate.and_then(|known| Some((known.samples.first()?, &known.line)))
                && (known - value).abs() > 0.1 * known
            {
                let origins = [sink.origin(line_of.line()), sink.origin(line)];
                sink.draft.facts.clash.get_or_insert(origins);
            }
            let fresh = || Column { line: line.into(), ..Column::default() };
            let column = self.found.entry(key).or_insert_with(fresh);
            self.last = Some((name.clone(), cpu)).filter(|_| !mean);
            if mean { column.mean = Some(value) } else { column.samples.push(value) }
        }
        Fit::Taken
    }
}

impl Reader for ColumnsReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let above = std::mem::take(&mut self.above);
        let below_head = std::mem::take(&mut self.below_head);
        let last = self.last.take();
        if line.text.trim().is_empty() {
            return Fit::Between;
        }
        // The line break may have split a word.
        let front = above.line().text;
        let (ends, _) = without_time(line.text);
        let is_part = !front.is_empty() && (below_head || ends.len() < self.columns.len());
        let joined = ["", " "].into_iter().filter(|_| is_part);
        let joined: Vec<String> = joined.map(|blank| format!("{front}{blank}{}", line.text.trim())).collect();
        let number = |word: &&str| parse_decimal(word).is_some();
        let known = |columns: &Vec<String>| columns.iter().filter(|name| meaning(name).is_some()).count();
        let whole = joined.iter().filter(|_| below_head).filter_map(|text| head(text)).max_by_key(known);
        let whole = whole.filter(|whole| known(whole) > known(&self.columns));
        if let Some(columns) = whole.filter(|_| !ends.iter().any(number)) {
            // turbostat omits the last columns in the row of a hyperthread sibling, so its wrapped rows cannot be
            // joined reliably.
            self.columns = if is_turbostat(&columns) { Vec::new() } else { columns };
            self.cut = true;
            return Fit::Taken;
        }
        if let Some(columns) = head(line.text) {
            let other = !self.columns.is_empty() && is_turbostat(&columns) != is_turbostat(&self.columns);
            self.begun &= !is_turbostat(&columns);
            (self.columns, self.cut, self.above, self.below_head) = (columns, false, line.into(), true);
            self.lead = line.text.split_whitespace().next().unwrap_or_default().to_owned();
            return if other { Fit::Over } else { Fit::Taken };
        }
        if let (Some(last), true) = (last, ends.len() == 1 && ends.iter().all(number)) {
            // The number may be the end of the value above.
            self.found.get_mut(&last).map(|column| column.samples.pop());
            return Fit::Between;
        }
        let is_end = ends.iter().all(number) && ends.len() < self.columns.len();
        let is_whole = |text: &&String| is_end && without_time(text).0.len() == self.columns.len();
        let joined = joined.iter().find(is_whole);
        let fit = match joined {
            Some(text) => self.row(Line { number: above.line().number, text }, sink),
            // If the header was wrapped, every row was wrapped as well.
            None if self.cut => Fit::Between,
            None => self.row(line, sink),
        };
        if fit == Fit::Between && !is_turbostat(&self.columns) {
            self.above = line.into();
        }
        let is_half =
            self.cut && fit == Fit::Between && ends.iter().all(|word| number(word) || *word == "all");
        if is_half { Fit::Taken } else { fit }
    }

    fn end(&mut self, sink: &mut Sink) {
        self.preface.iter_mut().for_each(|preface| preface.end(sink));
        let is_lost = self.found.is_empty() || is_turbostat(&self.columns);
        if let Some((why, line)) = self.skipped.take().filter(|_| is_lost) {
            sink.withhold(metrics::CPU_STATE, why, line.line());
        }
        // Three load averages, then the number of runnable threads and the number of all threads.
        let mut load = BTreeMap::new();
        for ((name, cpu), Column { mut samples, mean, line }) in std::mem::take(&mut self.found) {
            if samples.is_empty() {
                samples.extend(mean);
            }
            let (Some((kind, word)), Some(last)) = (meaning(&name), samples.last().copied()) else {
                continue;
            };
            let place = Labels::new().with_known(Label::Cpu, cpu);
            let (metric, place) = match kind {
                "state" => (metrics::CPU_STATE, place.with_label(Label::State, word)),
                "rate" => (metrics::EVENT_RATE, place.with_label(Label::Event, word)),
                // turbostat repeats the package power in the row of each CPU.
                "watts" if cpu.is_none() => (metrics::POWER_PACKAGE, place.with_label(Label::Scope, word)),
                "clock" => (metrics::CORE_CLOCK, place),
                "ipc" => (
                    metrics::CORE_IPC,
                    place.with_label(Label::Source, "pmu").with_label(Label::Scope, "system"),
                ),
                "tsc" if cpu.is_none() => {
                    if (1e6..=1e10).contains(&last) {
                        sink.draft.machine.processor.counter_hz = Some(last.round() as u64);
                        sink.note("machine.processor.counter_hz", line.line());
                    }
                    continue;
                }
                path if path.starts_with('/') => {
                    let text = word.replace('#', &format!("{last:.0}"));
                    sink.add_file(path.to_owned(), text + "\n", line.line());
                    continue;
                }
                "load" => {
                    load.insert(word, (last, line));
                    continue;
                }
                _ => continue,
            };
            // A CPU that was always idle has no clock value.
            let slept = kind == "clock" && samples.iter().all(|hz| *hz == 0.0);
            if !slept {
                sink.add_figure(Measurement::exact(metric, place, samples), line.line());
            }
        }
        let count = |at: &str| load.get(at).map_or("?".to_owned(), |(count, _)| count.to_string());
        if let Some((_, line)) = load.get("0").filter(|_| load.contains_key("1") && load.contains_key("2")) {
            let [one, five, fifteen, running, all] = ["0", "1", "2", "3", "4"].map(count);
            let text = format!("{one} {five} {fifteen} {running}/{all}\n");
            sink.add_file("/proc/loadavg".to_owned(), text, line.line());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::testing::{figures, import};

    #[test]
    fn turbostat_tells_the_clock_while_busy_watts_and_idle_states() {
        let text = "CPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tC1%\tC6%\tPkgWatt\n\
            -\t120\t10.00\t1200\t2400\t5.00\t85.00\t45.50\n0\t240\t20.00\t1200\t2400\t5.00\t75.00\t45.50\n\
            1\t0\t0.00\t1200\t2400\t5.00\t95.00\n";
        let imported = import(text);
        let all = figures(&imported);
        for figure in [
            "core.clock: 1200000000",
            "core.clock cpu=1: 1200000000",
            "power.package scope=package: 45.5",
            "cpu.state state=C6: 0.85",
            "cpu.state cpu=1 state=C6: 0.95",
            "cpu.state state=busy: 0.1",
        ] {
            assert!(all.iter().any(|one| one == figure), "{figure} in {all:#?}");
        }
        assert_eq!(imported.machine.processor.counter_hz, Some(2_400_000_000));
        let old = "pk cor CPU    %c0  GHz  TSC SMI    %c1    %c6\n             0.57 1.21 2.49   0   2.13  97.21\n 0   0   0   \
            0.74 1.30 2.49   0   2.80  96.31\n";
        let all = figures(&import(old));
        assert!(
            all.contains(&"core.clock: 1210000000".to_owned())
                && all.contains(&"core.clock cpu=0: 1300000000".to_owned()),
            "{all:?}"
        );
        assert!(all.contains(&"cpu.state state=core c6: 0.9721".to_owned()), "{all:?}");
        assert_eq!(imported.import.not_understood.lines, 0);
        // Columns of a core between those of package and CPU; two columns that were printed without a blank.
        let older = "pk cr CPU    %c0  GHz  TSC    %c1    %c6\n               0.25 1.67 3.38   0.39  99.33\n 0  1   6   0.15 1.76 3.38   0.92\n";
        let imported = import(older);
        assert_eq!(imported.machine.processor.counter_hz, Some(3_380_000_000));
        let all = figures(&imported);
        assert!(
            all.contains(&"core.clock: 1670000000".to_owned())
                && all.contains(&"core.clock cpu=6: 1760000000".to_owned()),
            "{all:?}"
        );
        let glued = "Core CPU Bzy_MHz TSC_MHz GFXWattRAMWatt PKG_%\n- - 1562 2808 0.06 1.30 0.00\n";
        assert!(figures(&import(glued)).contains(&"power.package scope=memory: 1.3".to_owned()));
        // A row that was truncated within the clock.
        let cut = import("Core CPU Bzy_MHz TSC_MHz PkgWatt\n- - 2400 2000 125.00\n0 0 24\n");
        assert_eq!(figures(&cut), ["core.clock: 2400000000", "power.package scope=package: 125"]);
        // The marks of a list are not columns.
        let listed = import("- `Core CPU Bzy_MHz TSC_MHz`\n- `- - 2400 2000`\n- `1 7 2500 2000`\n");
        assert_eq!(figures(&listed), ["core.clock: 2400000000", "core.clock cpu=7: 2500000000"]);
        // A Markdown table with turbostat's columns is from one machine.
        let table = "| Core | CPU | Bzy_MHz | TSC_MHz |\n|---|---|---|---|\n| - | - | 2400 | 2000 |\n| 1 | 7 | 2500 | 2000 |\n";
        assert_eq!(figures(&import(table)), ["core.clock: 2400000000", "core.clock cpu=7: 2500000000"]);
    }

    #[test]
    fn each_interval_of_sysstat_is_a_sample_and_the_mean_is_not_another() {
        let text = "Linux 5.15.0-91-generic (db1) \t01/18/2023 \t_x86_64_\t(4 CPU)\n\n\
            12:00:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
            12:10:01 AM     all      1.00      0.00      2.00      3.00     10.00     84.00\n\
            12:20:01 AM     all      3.00      0.00      2.00      3.00     20.00     72.00\n\
            Average:        all      2.00      0.00      2.00      3.00     15.00     78.00\n";
        let imported = import(text);
        let steal = imported
            .measurements
            .iter()
            .find(|m| m.labels.get(record::Label::State).is_some_and(|state| state.to_string() == "steal"));
        assert_eq!(steal.map(|m| m.samples.clone()), Some(vec![0.1, 0.2]));
        assert_eq!(imported.machine.kernel.release.as_deref(), Some("5.15.0-91-generic"));
        let chinese = import(
            "12时00分01秒     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
             12时10分01秒     all      1.00      0.00      2.00      3.00     10.00     84.00\n\
             平均时间:        all      1.00      0.00      2.00      3.00     10.00     84.00\n",
        );
        assert!(figures(&chinese).contains(&"cpu.state state=steal: 0.1".to_owned()), "{chinese:?}");
        let rates = import("00:00:01       proc/s   cswch/s\n00:10:01         1,50   1200,00\n");
        assert_eq!(
            figures(&rates),
            ["event.rate event=context-switches: 1200", "event.rate event=forks: 1.5"]
        );
        // The first row is the mean since boot.
        let waits = import(
            "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    \
             bi    bo   in   cs us sy id wa st\n 3  0      0 234567  12345 3456789    0    0     1     2   50  100 10  2 87  1  0\n 9  1      0 \
             234567  12345 3456789    0    0     0   120 5000 9000 60 20  5  5 10\n 8  0      0 234567  12345 3456789    0    0     0     0 \
             5100 9100 70 20  0  0 10\n",
        );
        // With time stamps; the first row does not cover an interval.
        let timed = import(
            " r b swpd free inact active si so bi bo in cs us sy id wa st UTC\n 2 0 0 1 2 3 0 0 0 0 100 200 10 5 85 0 0 2024-03-02 \
            10:00:00\n 2 0 0 1 2 3 0 0 0 0 100 200 20 5 75 0 0 2024-03-02 10:00:01\n",
        );
        assert!(figures(&timed).contains(&"cpu.state state=user: 0.2".to_owned()), "{:?}", figures(&timed));
        let processes = "10:00:01 UID PID %usr %system %guest %CPU CPU Command\n10:00:02 0 998 1.00 2.00 0.00 3.00 0 123\n";
        assert!(figures(&import(processes)).is_empty());
        let steal = waits.measurements.iter().find(|m| format!("{:?}", m.labels).contains("steal"));
        assert_eq!(steal.map(|m| m.samples.clone()), Some(vec![0.1, 0.1]));
        assert!(
            figures(&waits).contains(&"event.rate event=context-switches: 9050".to_owned()),
            "{waits:#?}"
        );
        let queue = import(
            "10:00:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n10:10:01            1       300      0.50      0.40      0.30         0\n\
             10:20:01            3       310      2.50      1.40      0.70         1\nAverage:            2       305      1.50      0.90      0.50         0\n",
        );
        assert_eq!((queue.state.load, queue.state.running), (Some([2.5, 1.4, 0.7]), Some(3)));
    }
}
