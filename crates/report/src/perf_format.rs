//! The counts of a command in the format of `perf stat`, so that scripts for perf's output work. There is a
//! human-readable layout and a layout for programs (`-x`).
//!
//! The layout is that of tools/perf/util/stat-display.c. A line consists of a value in 18 columns (times in
//! milliseconds, with two decimals and the unit), the event in 32 columns, then `#` and the metric. `<not supported>` and `<not counted>`
//! are right-aligned in 18 columns. `( +-  x% )` is the standard error of the mean, and is printed for several runs.
//! `(83.33%)` is the share of time in which the event was counted. The fields of `-x` are value, unit, event, deviation
//! of several runs, counted time in ns, the counted share of the time in percent, metric, and unit of the metric.

use record::metrics::USUAL_EVENTS;
use record::{Coverage, Label, Measurement, Record, detail};

use crate::contents::command::{figures, find_state, find_time};

/// Events that perf counts only on request.
const OURS: [&str; 4] = ["voluntary-switches", "involuntary-switches", "minor-faults", "major-faults"];
/// The events of [`USUAL_EVENTS`] that require a PMU.
const HARDWARE: [&str; 4] = ["cycles", "instructions", "branches", "branch-misses"];

/// One line: an event with its count, or the reason why there is none.
type Row<'a> = (&'a str, Result<&'a Measurement, &'static str>);

/// The lines, with the usual events first.
fn rows(record: &Record) -> Vec<Row<'_>> {
    let counted = figures(record, record::metrics::COUNTER_COUNT).filter(|m| m.summary.n > 0);
    let counted = counted.filter_map(|m| Some((m.labels.word(Label::Event)?, Ok(m))));
    let lost = record.coverage.iter().filter_map(|c| {
        let event = Some(c.part()).filter(|_| c.topic() == Coverage::COUNTER)?;
        let counted = c.state != record::State::Impossible;
        Some((event, Err(if counted { "<not counted>" } else { "<not supported>" })))
    });
    let no_pmu = |c: &Coverage| c.what == Coverage::COUNTERS && c.state == record::State::Impossible;
    let no_pmu = record.coverage.iter().any(no_pmu);
    let hardware = HARDWARE.into_iter().filter(|_| no_pmu).map(|event| (event, Err("<not supported>")));
    let mut rows: Vec<Row> = Vec::new();
    for (event, found) in counted.chain(lost).chain(hardware) {
        if !OURS.contains(&event) && rows.iter().all(|(known, _)| *known != event) {
            rows.push((event, found));
        }
    }
    rows.sort_by_key(|(event, _)| {
        USUAL_EVENTS.iter().position(|usual| usual == event).unwrap_or(USUAL_EVENTS.len())
    });
    rows
}

/// The value to print: like perf, the mean of several runs.
fn mean(m: &Measurement) -> f64 {
    m.summary.mean.unwrap_or(m.summary.median)
}

/// Standard error of the mean as a share of the mean, like perf's `+-`; `None` for one run.
fn error(m: &Measurement) -> Option<f64> {
    (m.summary.n > 1).then(|| m.summary.variation.unwrap_or(0.0) / (m.summary.n as f64).sqrt())
}

fn coverage(m: &Measurement) -> f64 {
    m.detail.get(detail::COVERAGE).unwrap_or(1.0)
}

/// The event's name with perf's modifier.
fn name(event: &str, m: &Measurement) -> String {
    if m.detail.get(detail::MODE) == Some("user") { format!("{event}:u") } else { event.to_owned() }
}

fn value_of(record: &Record, event: &str) -> Option<f64> {
    rows(record).into_iter().find(|(name, _)| *name == event).and_then(|(_, found)| found.ok()).map(mean)
}

/// Two digits after the decimal point, and commas as thousands separators.
fn hundredths(value: f64) -> String {
    let text = format!("{value:.2}");
    let (_, digits) = text.split_once('.').unwrap_or((&text, "00"));
    format!("{}.{digits}", record::units::thousands(value.trunc()))
}

/// The result that perf prints after `#`, with its unit.
fn metric(record: &Record, event: &str, value: f64) -> Option<(String, &'static str)> {
    let of = |whole: &str| value_of(record, whole).filter(|whole| *whole > 0.0);
    let percent = |all: &str, unit: &'static str| Some((format!("{:.2}%", value / of(all)? * 100.0), unit));
    match event {
        "task-clock" => {
            let wall = find_time(record)?;
            (mean(wall) > 0.0).then(|| (format!("{:.3}", value / 1e9 / mean(wall)), "CPUs utilized"))
        }
        "cycles" => Some((format!("{:.3}", value / of("task-clock")?), "GHz")),
        "instructions" => Some((format!("{:.2}", value / of("cycles")?), "insn per cycle")),
        "branch-misses" => percent("branches", "of all branches"),
        "cache-misses" => percent("cache-references", "of all cache refs"),
        "L1-dcache-load-misses" => percent("L1-dcache-loads", "of all L1-dcache accesses"),
        "LLC-load-misses" => percent("LLC-loads", "of all LL-cache accesses"),
        "dTLB-load-misses" => percent("dTLB-loads", "of all dTLB cache accesses"),
        "stalled-cycles-frontend" => percent("cycles", "frontend cycles idle"),
        "stalled-cycles-backend" => percent("cycles", "backend cycles idle"),
        _ => {
            // The rate per second of CPU time; `task-clock` is in ns.
            let rate = value / of("task-clock")? * 1e9;
            Some(match rate {
                rate if rate >= 1e9 => (format!("{:.3}", rate / 1e9), "G/sec"),
                rate if rate >= 1e6 => (format!("{:.3}", rate / 1e6), "M/sec"),
                rate if rate >= 1e3 => (format!("{:.3}", rate / 1e3), "K/sec"),
                rate => (format!("{rate:.3}"), "/sec"),
            })
        }
    }
}

fn command(time: &Measurement) -> String {
    crate::text::clean(&time.detail.get(detail::COMMAND).unwrap_or_default().join(" "))
}

/// The human-readable layout of `perf stat`; `None` for a record without a command.
pub fn text(record: &Record) -> Option<String> {
    let time = find_time(record)?;
    let runs = if time.summary.n > 1 { format!(" ({} runs)", time.summary.n) } else { String::new() };
    let mut text = format!("\n Performance counter stats for '{}'{runs}:\n\n", command(time));
    for (event, found) in rows(record) {
        let m = match found {
            Ok(m) => m,
            Err(why) => {
                text.push_str(&format!("{why:>18}      {event:<60}\n"));
                continue;
            }
        };
        let value = mean(m);
        let shown = name(event, m);
        let line = if event == "task-clock" {
            format!("{:>18} msec {shown:<32}", hundredths(value / 1e6))
        } else {
            format!("{:>18}      {shown:<32}", record::units::thousands(value))
        };
        text.push_str(&line);
        match metric(record, event, value) {
            Some((figure, unit)) => text.push_str(&format!(" # {figure:>8} {unit:<23}")),
            None => text.push_str(&" ".repeat(36)),
        }
        if let Some(error) = error(m).filter(|error| *error > 0.0) {
            text.push_str(&format!("  ( +-{:>6.2}% )", error * 100.0));
        }
        if coverage(m) < 0.99995 {
            text.push_str(&format!("  ({:.2}%)", coverage(m) * 100.0));
        }
        text.push('\n');
    }
    text.push('\n');
    let seconds = |name: &str| find_state(record, name).map_or(0.0, mean);
    match error(time) {
        None => {
            text.push_str(&format!("{:>18.9} seconds time elapsed\n\n", mean(time)));
            text.push_str(&format!("{:>18.9} seconds user\n", seconds("user")));
            text.push_str(&format!("{:>18.9} seconds sys\n\n\n", seconds("system")));
        }
        Some(error) => {
            let (mean, spread) = (mean(time), mean(time) * error);
            // perf prints only the digits that the error allows.
            let digits =
                if spread > 0.0 { (2.0 - spread.log10().floor()).clamp(2.0, 9.0) as usize } else { 9 };
            let mean = format!("{mean:.digits$}");
            let figure = format!("{mean:>18} +- {spread:.digits$}");
            text.push_str(&format!("{figure} seconds time elapsed  ( +-{:>6.2}% )\n\n", error * 100.0));
        }
    }
    Some(text)
}

/// `perf stat -x`'s lines, with `separator` between the fields; `None` for a record without a command.
pub fn fields(record: &Record, separator: &str) -> Option<String> {
    let several = find_time(record)?.summary.n > 1;
    let mut text = String::new();
    for (event, found) in rows(record) {
        let mut fields: Vec<String> = Vec::new();
        match found {
            Err(why) => {
                fields.extend([why.to_owned(), String::new(), event.to_owned()]);
                fields.extend(several.then(|| "0.00%".to_owned()));
                fields.extend(["0".to_owned(), "100.00".to_owned(), String::new(), String::new()]);
            }
            Ok(m) => {
                let value = mean(m);
                let clock = event == "task-clock";
                let figure = if clock { format!("{:.2}", value / 1e6) } else { format!("{value:.0}") };
                let unit = if clock { "msec" } else { "" };
                fields.extend([figure, unit.to_owned(), name(event, m)]);
                fields.extend(error(m).map(|error| format!("{:.2}%", error * 100.0)));
                let counted = value_of(record, "task-clock").unwrap_or(0.0) * coverage(m);
                fields.extend([format!("{counted:.0}"), format!("{:.2}", coverage(m) * 100.0)]);
                let (figure, unit) = metric(record, event, value).unwrap_or_default();
                fields.extend([figure.trim_end_matches('%').to_owned(), unit.to_owned()]);
            }
        }
        text.push_str(&fields.join(separator));
        text.push('\n');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Coverage, Labels};

    fn example(runs: usize) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let place = || Labels::new().with_label(Label::Workload, "command");
        let samples = |value: f64| (0..runs).map(|run| value * (1.0 + 0.01 * run as f64)).collect::<Vec<_>>();
        record.measurements.push(
            Measurement::new("workload.time", place(), samples(2.0))
                .with_detail(detail::COMMAND, vec!["sh".to_owned(), "-c\u{1b}".to_owned()]),
        );
        for (state, value) in [("user", 1.5), ("system", 0.25)] {
            let place = place().with_label(Label::State, state);
            record.measurements.push(Measurement::new("workload.cpu_time", place, samples(value)));
        }
        for (event, value, coverage) in [
            ("task-clock", 1.75e9, 1.0),
            ("instructions", 9e9, 0.8333),
            ("page-faults", 74.0, 1.0),
            ("cycles", 4.5e9, 1.0),
            ("involuntary-switches", 3.0, 1.0),
        ] {
            let m =
                Measurement::new("counter.count", place().with_label(Label::Event, event), samples(value));
            record.measurements.push(m.with_detail(detail::COVERAGE, coverage));
        }
        record.coverage.push(Coverage::impossible("counter branches", "this CPU's PMU does not count it"));
        record.coverage.push(Coverage::skipped("counter branch-misses", "not counted: no turn"));
        record
    }

    #[test]
    fn one_run_is_laid_out_as_perf_does() {
        let text = text(&example(1)).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "",
                " Performance counter stats for 'sh -c\\x1b':",
                "",
                "          1,750.00 msec task-clock                       #    0.875 CPUs utilized",
                "                74      page-faults                      #   42.286 /sec",
                "     4,500,000,000      cycles                           #    2.571 GHz",
                "     9,000,000,000      instructions                     #     2.00 insn per cycle           (83.33%)",
                "   <not supported>      branches",
                "     <not counted>      branch-misses",
                "",
                "       2.000000000 seconds time elapsed",
                "",
                "       1.500000000 seconds user",
                "       0.250000000 seconds sys",
                "",
                "",
            ]
        );
    }

    #[test]
    fn several_runs_carry_their_error_and_no_user_time() {
        let text = text(&example(4)).unwrap();
        assert!(text.contains("(4 runs):") && text.contains("( +-  0.64% )"), "{text}");
        assert!(text.contains("seconds time elapsed  ( +-"), "{text}");
        assert!(!text.contains("seconds user"));
    }

    #[test]
    fn fields_stand_where_scripts_look_for_them() {
        let text = fields(&example(1), ",").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "1750.00,msec,task-clock,1750000000,100.00,0.875,CPUs utilized");
        assert_eq!(lines[3], "9000000000,,instructions,1458275000,83.33,2.00,insn per cycle");
        assert_eq!(lines[4], "<not supported>,,branches,0,100.00,,");
        assert!(fields(&example(3), ";").unwrap().lines().all(|line| line.split(';').count() == 8));
        assert_eq!(fields(&Record::new("0", String::new(), Vec::new()), ","), None);
    }
}
